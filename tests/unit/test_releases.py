"""Treebanks by name and by pattern: an unpacked release, the cache, and a small server in place of GitHub."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from attentionology.corpora_loaders import CorpusError, load_treebank
from attentionology.corpora_loaders.releases import files, matching_treebanks, names, treebank_path
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.surveying.options import GridOptions, SurveyOptions
from attentionology.engine.surveying.plan import plan_survey
from attentionology.reports.streams import messages_printed
from attentionology.scripts.cli import main
from tests import tiny

SAMPLE = SAMPLE_TREEBANK.read_bytes()
README = b"# Summary\n\nLicense: see below\n\n=== Machine-readable metadata ===\nLicense: CC BY-NC-SA 4.0\n"
FILE = "UD_English-ParTUT/r2.17/en_partut-ud-dev.conllu"


class Server(ThreadingHTTPServer):
    """Serves ``files`` by path; ``faults`` has a status, or ``cut``, for some of them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {FILE: SAMPLE, "UD_English-ParTUT/r2.17/README.md": README}
        self.faults: dict[str, int | str] = {}
        self.log: list[str] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        self.server.log.append(name)
        fault = self.server.faults.get(name)
        body = self.server.files.get(name)
        self.send_response(fault if isinstance(fault, int) else 404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if body is not None:
            self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    server = Server()
    for variable in ("UD_HOME", "HF_HUB_OFFLINE", "ATTENTIONOLOGY_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("UD_MIRROR", server.address)
    monkeypatch.setenv("ATTENTIONOLOGY_CACHE", str(tmp_path / "cache"))
    files._local_path.cache_clear()
    yield server
    server.shutdown()
    server.server_close()
    files._local_path.cache_clear()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Path:
    """An unpacked release with one treebank."""
    folder = tmp_path / "ud-treebanks-v2.16" / "UD_English-ParTUT"
    folder.mkdir(parents=True)
    (folder / "en_partut-ud-dev.conllu").write_bytes(SAMPLE)
    (folder / "README.txt").write_bytes(README.replace(b"NC-SA 4.0", b"SA 3.0"))
    monkeypatch.setenv("UD_HOME", str(folder.parent))
    return folder.parent


def forget() -> None:
    """Forget what was found, as a new process would."""
    files._local_path.cache_clear()


def test_a_file_is_fetched_once(server, monkeypatch, capsys):
    with messages_printed():
        path = treebank_path("ud:en_partut:dev")
    assert path.read_bytes() == SAMPLE
    assert server.log == [FILE, "UD_English-ParTUT/r2.17/README.md"]
    assert capsys.readouterr().err.startswith("Downloading ud:en_partut:dev of release 2.17 from http://")
    forget()
    assert treebank_path("ud:en_partut:dev@2.17") == path
    monkeypatch.setenv("ATTENTIONOLOGY_OFFLINE", "1")
    forget()
    assert treebank_path("ud:en_partut:dev") == path
    assert len(server.log) == 2
    assert capsys.readouterr().err == ""


def test_what_was_fetched_is_recorded(server):
    treebank = load_treebank("ud:en_partut:dev")
    assert treebank.counts() == load_treebank(SAMPLE_TREEBANK).counts()
    assert treebank.files[0].source == {
        "name": "ud:en_partut:dev",
        "release": "2.17",
        "license": "CC BY-NC-SA 4.0",
        "url": f"{server.address}/{FILE}",
    }
    assert load_treebank(["ud:en_partut:dev"]).files == treebank.files
    assert load_treebank(SAMPLE_TREEBANK).files[0].source == {}


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(SAMPLE[:100] + b"X" + SAMPLE[101:]),
        lambda path: path.with_suffix(".source.json").unlink(),
    ],
    ids=["another byte", "no record"],
)
def test_a_damaged_file_is_fetched_again(server, capsys, damage):
    damage(treebank_path("ud:en_partut:dev"))
    forget()
    capsys.readouterr()
    with messages_printed():
        assert treebank_path("ud:en_partut:dev").read_bytes() == SAMPLE
    warning, downloading = capsys.readouterr().err.splitlines()
    assert warning.startswith("Warning: ")
    assert warning.endswith("en_partut-ud-dev.conllu is damaged and is downloaded again.")
    assert downloading.startswith("Downloading ")
    assert server.log.count(FILE) == 2


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("cut", f"{len(SAMPLE) // 2} bytes read, {len(SAMPLE) - len(SAMPLE) // 2} more expected"),
        (500, "cannot be fetched .*500"),
        (403, "cannot be fetched .*403"),
        (404, "release 2.17 has no such file"),
        ("within a sentence", "not complete"),  # a CoNLL-U file that was cut is otherwise a shorter treebank
    ],
)
def test_what_does_not_arrive_is_not_kept(server, tmp_path, fault, message):
    server.faults[FILE] = fault
    if fault == "within a sentence":
        server.files[FILE] = SAMPLE.rstrip(b"\n") + b"\n"
    with pytest.raises(CorpusError, match=message):
        treebank_path("ud:en_partut:dev")
    assert not list((tmp_path / "cache").rglob("*.conllu"))
    server.faults.clear()
    server.files[FILE] = SAMPLE
    assert treebank_path("ud:en_partut:dev").read_bytes() == SAMPLE


def test_no_server(server, monkeypatch):
    monkeypatch.setenv("UD_MIRROR", "http://127.0.0.1:1")
    with pytest.raises(
        CorpusError, match=r"cannot be fetched .*; try again, set UD_HOME to an unpacked release, or give a"
    ):
        treebank_path("ud:en_partut:dev")
    monkeypatch.setenv("UD_MIRROR", "file:///etc")
    with pytest.raises(CorpusError, match="not an address of a web server"):
        treebank_path("ud:en_partut:dev")


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "ATTENTIONOLOGY_OFFLINE"])
def test_offline_nothing_is_asked(server, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    with pytest.raises(CorpusError, match=f"not in the cache .*{variable} is set"):
        treebank_path("ud:en_partut:dev")
    assert server.log == []


def test_an_unpacked_release_comes_first(server, home):
    assert treebank_path("ud:en_partut:dev") == home / "UD_English-ParTUT" / "en_partut-ud-dev.conllu"
    source = load_treebank("ud:en_partut:dev@2.16").files[0].source
    assert source == {"name": "ud:en_partut:dev", "release": "2.16", "license": "CC BY-SA 3.0"}
    assert server.log == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ud:en_partut:dev@2.17", r"UD_HOME=.* is release 2\.16"),
        ("ud:en_partut:test", r"no en_partut-ud-test\.conllu in UD_HOME=.*; there are: en_partut-ud-dev\.conllu"),
        ("ud:fr_gsd:dev", r"no fr_gsd-ud-dev\.conllu in UD_HOME=.*; there are: en_partut"),
    ],
)
def test_what_an_unpacked_release_lacks(server, home, name, message):
    with pytest.raises(CorpusError, match=message):
        treebank_path(name)
    assert server.log == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ud:en_xyz:dev", "unknown treebank 'en_xyz'; codes near to it are en_atis"),
        ("ud:xx_gsd:dev", "unknown treebank 'xx_gsd'; codes near to it are "),
        ("ud:en_ewt", "is not the name of a treebank"),
        ("ud:en_ewt:valid", "is not the name of a treebank"),
        ("ud:../../etc:dev", "is not the name of a treebank"),
        ("UD_English-EWT", "the files of this treebank are named ud:en_ewt:train, ud:en_ewt:dev, ud:en_ewt:test"),
    ],
)
def test_names_that_are_wrong(server, name, message):
    with pytest.raises(CorpusError, match=message):
        load_treebank(name)
    assert server.log == []


def test_a_folder_is_not_a_file(server, home):
    with pytest.raises(CorpusError, match=r"this is a folder; name the files in it: en_partut-ud-dev\.conllu"):
        load_treebank(home / "UD_English-ParTUT")


def test_words_that_were_not_released(server):
    blank = b"".join(
        b"\t".join([*line.split(b"\t")[:1], b"_", *line.split(b"\t")[2:]]) + b"\n" if b"\t" in line else line + b"\n"
        for line in SAMPLE.split(b"\n")[:-1]
    )
    server.files[FILE] = blank
    with pytest.raises(CorpusError, match="UD_English-ParTUT needs the text of the original corpus"):
        load_treebank("ud:en_partut:dev")


def test_the_command(capsys):
    assert main(["treebanks", "French"]) == 0
    by_name = capsys.readouterr().out
    assert "ud:fr_gsd " in by_name
    assert "en_ewt" not in by_name
    assert main(["treebanks", "fr"]) == 0
    assert capsys.readouterr().out == by_name
    assert main(["treebanks", "swedish_sign_language", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["treebanks"]
    assert [treebank["code"] for treebank in listed] == ["swl_sslc"]
    assert main(["treebanks", "Klingon"]) == 1
    assert "no treebank of the language 'Klingon'" in capsys.readouterr().err


TEXT = SAMPLE_TREEBANK.read_text("utf-8")
SENTENCES = "\n\n".join(TEXT.split("\n\n")[:4]) + "\n\n"
WITHOUT_WORDS = "1\t_\t_\tX\t_\t_\t0\troot\t_\t_\n\n1\t_\t_\tX\t_\t_\t0\troot\t_\t_\n2\t_\t_\tX\t_\t_\t1\tdep\t_\t_\n\n"


def codes_in_table(language: str) -> list[str]:
    """The codes of a language, read from the table as text."""
    table = Path(names.__file__).with_name("treebanks.tsv").read_text("utf-8").splitlines()
    rows = {row["language"]: row["treebanks"].split() for row in csv.DictReader(table, delimiter="\t")}
    return [f"{language}_{treebank.lower()}" for treebank in rows[language]]


@pytest.fixture
def french(tmp_path, monkeypatch):
    """A release with all French treebanks: one has only a test split, one has no words; one that no table knows."""
    release = tmp_path / "ud-treebanks-v2.17"
    for code in [*codes_in_table("fr"), "fr_zzz"]:
        folder = release / f"UD_French-{code[3:].upper()}"
        folder.mkdir(parents=True)
        split = "test" if code == "fr_pud" else "dev"
        content = WITHOUT_WORDS if code == "fr_parisstories" else SENTENCES
        (folder / f"{code}-ud-{split}.conllu").write_text(content, encoding="utf-8")
    monkeypatch.setenv("UD_HOME", str(release))
    return release


@pytest.mark.parametrize("release", ["", "@2.17"])
def test_a_pattern_stands_for_the_rows_of_the_table_and_names_what_it_leaves_out(french, release):
    (french / "UD_French-GSD" / "fr_gsd-ud-dev.conllu").unlink()
    matches = matching_treebanks(f"ud:fr_*:dev{release}")
    expected = [code for code in codes_in_table("fr") if code not in ("fr_pud", "fr_parisstories", "fr_gsd")]
    assert len(expected) > 3
    assert list(matches.names) == [f"ud:{code}:dev{release}" for code in [*expected, "fr_zzz"]]
    assert matches.left_out == {
        f"ud:fr_gsd:dev{release}": f"not in UD_HOME={french}",
        f"ud:fr_parisstories:dev{release}": "released without its words: every form is '_'",
        f"ud:fr_pud:dev{release}": "no dev split",
    }
    assert all(len(load_treebank(name)) == 4 for name in matches.names)


def test_the_pattern_is_compared_with_whole_codes(french):
    assert matching_treebanks("ud:fr_g?d:dev").names == ("ud:fr_gsd:dev",)
    assert matching_treebanks("ud:fr_p*:test").names == ("ud:fr_pud:test",)
    with pytest.raises(CorpusError, match=r"no treebank of release 2\.17 matches 'ud:r_gsd\*:dev'"):
        matching_treebanks("ud:r_gsd*:dev")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("ud:fr_x*:dev", "codes near to it are fr_alts, .*fr_gsd"),
        ("ud:ft_gsd*:dev", "codes near to it are .*fr_gsd"),
        ("ud:fr_*:valid", "is not the name of a treebank; .* and patterns of names like ud:fr_"),
        ("ud:../*:dev", "is not the name of a treebank"),
        ("ud:fr_*:dev@2.16", r"ud:fr_\*:dev@2\.16: UD_HOME=.* is release 2\.17"),
        ("ud:fr_p*:train", r"can be read: .*ud:fr_pud:train.* \(no train split\)"),
    ],
)
def test_patterns_that_name_nothing_are_one_error(french, pattern, message):
    with pytest.raises(CorpusError, match=message) as error:
        matching_treebanks(pattern)
    assert "\n" not in str(error.value)


def test_without_a_network_what_is_not_on_this_machine_is_left_out(tmp_path, monkeypatch):
    monkeypatch.delenv("UD_HOME", raising=False)
    monkeypatch.setenv("ATTENTIONOLOGY_CACHE", str(tmp_path))
    monkeypatch.setenv("ATTENTIONOLOGY_OFFLINE", "1")
    with pytest.raises(CorpusError, match="not in the cache, and ATTENTIONOLOGY_OFFLINE is set") as error:
        matching_treebanks("ud:he_*:dev")
    assert all(f"ud:{code}:dev" in str(error.value) for code in codes_in_table("he"))


def test_a_treebank_that_two_patterns_name_is_read_once(french):
    plan = plan_survey(SurveyOptions(GridOptions(treebanks=("ud:fr_gsd:dev", "ud:fr_g*:dev", "ud:fr_s*:dev"))))
    others = [f"ud:{code}:dev" for code in codes_in_table("fr") if code.startswith("fr_s")]
    assert list(plan.treebanks) == ["ud:fr_gsd:dev", *others]
    assert plan.cells == 1 + len(others)


def test_a_survey_reads_each_treebank_of_a_pattern_and_says_what_it_leaves_out(french, tmp_path, capsys):
    model = tiny.save(tmp_path / "model", max_position_embeddings=200)
    out = tmp_path / "out"
    command = ["survey", "--models", model, "--treebanks", "ud:fr_p*:dev", "ud:fr_s*:dev", "--replicates", "0"]
    assert main([*command, "--out", str(out)]) == 0
    terminal = " ".join(capsys.readouterr().out.split())
    record = json.loads((out / "run.json").read_text("utf-8"))
    left_out = {
        "ud:fr_parisstories:dev": "released without its words: every form is '_'",
        "ud:fr_pud:dev": "no dev split",
    }
    assert record["survey"]["left_out"] == left_out
    read = [f"ud:{code}:dev" for code in codes_in_table("fr") if code[3] in "ps" and f"ud:{code}:dev" not in left_out]
    assert len(read) > 1
    assert [each["name"] for each in record["survey"]["treebanks"]] == read
    page = (out / "report.html").read_text("utf-8")
    for name, reason in left_out.items():
        assert f"Warning: Left out: {name} ({reason})." in terminal
        assert f"Left out: {name} ({reason})." in page.replace("&#39;", "'")
    assert main([*command, "--dry-run"]) == 0
    dry = capsys.readouterr().out
    assert f"Cells: {len(read)} (1 model × {len(read)} treebanks)" in dry
    assert "Left out: ud:fr_pud:dev (no dev split)" in dry


def test_other_commands_refuse_patterns_and_name_survey(french, capsys):
    assert main(["analyze", "--corpus", "ud:fr_*:dev"]) == 1
    assert "'ud:fr_*:dev' may name several treebanks" in (error := " ".join(capsys.readouterr().err.split()))
    assert "survey --treebanks read each of them by itself" in error

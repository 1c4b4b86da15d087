"""Patterns of treebanks by name, in an unpacked release of small files: what they stand for, and what is left out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from attentionology.corpora_loaders import CorpusError, load_treebank
from attentionology.corpora_loaders.releases import matching_treebanks, names
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.surveying.options import GridOptions, SurveyOptions
from attentionology.engine.surveying.plan import plan_survey
from attentionology.scripts.cli import main
from tests import tiny

SAMPLE = SAMPLE_TREEBANK.read_text("utf-8")
SENTENCES = "\n\n".join(SAMPLE.split("\n\n")[:4]) + "\n\n"
WITHOUT_WORDS = "1\t_\t_\tX\t_\t_\t0\troot\t_\t_\n\n1\t_\t_\tX\t_\t_\t0\troot\t_\t_\n2\t_\t_\tX\t_\t_\t1\tdep\t_\t_\n\n"


def codes_in_table(language: str) -> list[str]:
    """The codes of a language, read from the table as text."""
    table = Path(names.__file__).with_name("treebanks.tsv").read_text("utf-8").splitlines()
    rows = {row["language"]: row["treebanks"].split() for row in csv.DictReader(table, delimiter="\t")}
    return [f"{language}_{treebank.lower()}" for treebank in rows[language]]


@pytest.fixture
def home(tmp_path, monkeypatch):
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
def test_a_pattern_stands_for_the_rows_of_the_table_and_names_what_it_leaves_out(home, release):
    (home / "UD_French-GSD" / "fr_gsd-ud-dev.conllu").unlink()
    matches = matching_treebanks(f"ud:fr_*:dev{release}")
    expected = [code for code in codes_in_table("fr") if code not in ("fr_pud", "fr_parisstories", "fr_gsd")]
    assert len(expected) > 3
    assert list(matches.names) == [f"ud:{code}:dev{release}" for code in [*expected, "fr_zzz"]]
    assert matches.left_out == {
        f"ud:fr_gsd:dev{release}": f"not in UD_HOME={home}",
        f"ud:fr_parisstories:dev{release}": "released without its words: every form is '_'",
        f"ud:fr_pud:dev{release}": "no dev split",
    }
    assert all(len(load_treebank(name)) == 4 for name in matches.names)


def test_the_pattern_is_compared_with_whole_codes(home):
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
def test_patterns_that_name_nothing_are_one_error(home, pattern, message):
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


def test_a_treebank_that_two_patterns_name_is_read_once(home):
    plan = plan_survey(SurveyOptions(GridOptions(treebanks=("ud:fr_gsd:dev", "ud:fr_g*:dev", "ud:fr_s*:dev"))))
    others = [f"ud:{code}:dev" for code in codes_in_table("fr") if code.startswith("fr_s")]
    assert list(plan.treebanks) == ["ud:fr_gsd:dev", *others]
    assert plan.cells == 1 + len(others)


def test_a_survey_reads_each_treebank_of_a_pattern_and_says_what_it_leaves_out(home, tmp_path, capsys):
    model = tmp_path / "model"
    tiny.model("bert", max_position_embeddings=200).save_pretrained(model)
    tiny.fresh_tokenizer("wordpiece").save_pretrained(model)
    out = tmp_path / "out"
    command = ["survey", "--models", str(model), "--treebanks", "ud:fr_p*:dev", "ud:fr_s*:dev", "--replicates", "0"]
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
    assert f"Cells: {len(read)} (1 models × {len(read)} treebanks)" in dry
    assert "Left out: ud:fr_pud:dev (no dev split)" in dry


def test_other_commands_refuse_patterns_and_name_survey(home, capsys):
    assert main(["analyze", "--corpus", "ud:fr_*:dev"]) == 1
    assert "'ud:fr_*:dev' may name several treebanks" in (error := " ".join(capsys.readouterr().err.split()))
    assert "survey --treebanks read each of them by itself" in error

"""The toolkit from outside: other folders, other people's analyses, and the examples of the documentation."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from attentionology.analyses.registry import load_analysis, registered_analyses
from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.corpora_loaders.sample.translation import SAMPLE_GOLD, SAMPLE_PAIRS, SAMPLE_TRANSLATOR
from attentionology.extractors import Encoder, extract
from attentionology.scripts.analyze import analyze_command
from attentionology.scripts.cli import main
from attentionology.storage.plugins import points_of
from tests import documentation, tiny
from tests.acceptance.conftest import REPOSITORY
from tests.corpora import sample_blocks, write_blocks
from tests.packages import install
from tests.programs import Programs

EXAMPLE, CONTRACT = "docs/how-to/extend.md", "docs/how-to/write-an-analysis.md"
DEMO = '"demo"'
CLI = (sys.executable, "-m", "attentionology")


def python(*arguments, folder: Path, paths: tuple[Path, ...] = ()):
    """Run a process in a folder with the toolkit and further folders on the import path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (REPOSITORY / "src", *paths)))}
    environment |= {"COLUMNS": "100", "OMP_NUM_THREADS": "1"}
    arguments = tuple(map(str, arguments))
    return subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def distance(tmp_path_factory):
    """The example of the documentation, installed in a folder of its own."""
    files = documentation.files(EXAMPLE)
    groups = tomllib.loads(files.pop("pyproject.toml"))["project"]["entry-points"]
    points = "".join(
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in named.items()) for group, named in groups.items()
    )
    files["attention_extras/__init__.py"] = ""
    return install(tmp_path_factory.mktemp("site"), "attention_extras", files, points)


def test_help_has_the_options_of_an_analysis_from_outside(distance, tmp_path):
    process = python(*CLI, "analyze", "--help-all", folder=tmp_path, paths=(distance,))
    assert process.returncode == 0, process.stderr
    text = " ".join(process.stdout.replace("│", " ").split())
    assert "distance: how many words away each head looks on average." in text
    assert "--farthest" in text
    assert "How many heads to list, those that look farthest first." in text
    assert "--farthest" not in python(*CLI, "analyze", "--help-all", folder=tmp_path).stdout


def naive_distances(model: str, limit: int) -> dict[tuple[int, int], float]:
    """Mean distance between words by head, one cell at a time."""
    encoder = Encoder.from_pretrained(model)
    weighted: dict[tuple[int, int], float] = {}
    attention: dict[tuple[int, int], float] = {}
    for batch in extract(encoder, load_treebank(SAMPLE_TREEBANK, limit=limit), batch_cells=1):
        for sentence, maps in batch.unpadded():
            words = range(1, len(sentence.words) + 1)
            for layer, heads in enumerate(maps, start=1):
                for head, cells in enumerate(heads, start=1):
                    for i in words:
                        for j in words:
                            key, cell = (layer, head), float(cells[i, j])
                            weighted[key] = weighted.get(key, 0.0) + cell * abs(i - j)
                            attention[key] = attention.get(key, 0.0) + cell
    return {key: weighted[key] / attention[key] for key in weighted}


SEVERAL = """
import contextlib, io, json, sys
from attentionology.scripts.cli import main

for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["analyze", *command])
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""


def analyze_commands(programs: Programs, *commands: tuple[str, ...], folder: Path, paths: tuple[Path, ...]):
    """Run commands one after the other in one process, and return the status and the two streams of each."""
    process = programs.run("-c", SEVERAL, json.dumps(commands), folder=folder, paths=paths)
    assert process.returncode == 0, process.stderr
    ends = [json.loads(line) for line in process.stdout.splitlines()]
    return [subprocess.CompletedProcess(command, *end) for command, end in zip(commands, ends, strict=True)]


@pytest.mark.slow
def test_an_analysis_from_outside_is_part_of_everything(distance, model, programs, tmp_path):
    options = ("--model", model, "--limit", "5", "--analyses", "distance", "--farthest", "3", "--out", "run")
    several = ("--model", model, "--limit", "5", "--analyses", "dependency,distance", "--map", "weight", "norm")
    process, of_kinds, too_near, unused = analyze_commands(
        programs,
        options,
        (*several, "--replicates", "0", "--out", "kinds"),
        ("--farthest", "0", "--analyses=distance"),
        ("--farthest", "2"),
        folder=tmp_path,
        paths=(distance,),
    )
    assert process.returncode == 0, process.stderr
    expected = naive_distances(model, 5)
    table = pd.read_csv(tmp_path / "run" / "tables" / "distance.csv")
    found = {(row.layer, row.head): row.distance for row in table.itertuples()}
    assert found == pytest.approx(expected, rel=1e-6)
    farthest = sorted(expected, key=lambda key: -expected[key])[:3]
    places = [process.stdout.index(f"{layer}-{head}") for layer, head in farthest]
    assert places == sorted(places)
    page = (tmp_path / "run" / "report.html").read_text()
    layer, head = farthest[0]
    assert "How far away heads look" in page
    assert f"<td>{layer}-{head}</td><td>{expected[layer, head]:.2f}</td>" in page
    assert (tmp_path / "run" / "figures" / "distance.svg").exists()
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["distance"]["mean"] == pytest.approx(sum(expected.values()) / len(expected), rel=1e-6)
    assert record["options"]["farthest"] == 3
    assert record["options"]["analyses"] == ["distance"]

    # several kinds of maps
    assert of_kinds.returncode == 0, of_kinds.stderr
    table = pd.read_csv(tmp_path / "kinds" / "tables" / "distance.csv")
    assert list(table.columns) == ["map", "layer", "head", "distance", "attention"]
    assert table["map"].value_counts().to_dict() == {"weight": 12, "norm": 12}
    weights = table[table["map"] == "weight"]
    found = {(row.layer, row.head): row.distance for row in weights.itertuples()}
    assert found == pytest.approx(expected, rel=1e-6)
    assert (tmp_path / "kinds" / "figures" / "distance-norm.svg").exists()
    assert "How far away heads look (map “norm”)" in (tmp_path / "kinds" / "report.html").read_text()

    # options that do not fit
    assert (too_near.returncode, too_near.stdout) == (2, "")
    assert too_near.stderr == "attentionology: --farthest must be at least 1, not 0\n"
    assert unused.returncode == 2
    assert "--farthest is for distance" in unused.stderr


@pytest.mark.slow
def test_python_and_the_follow_up_of_the_documentation_run(distance, model, programs, tmp_path):
    (follow_up,) = documentation.blocks(CONTRACT, "python")
    assert "def follow_up" in follow_up
    (run,) = (cell for cell in documentation.blocks(EXAMPLE, "{code-cell} python3") if "DistanceOptions(far" in cell)
    code = (
        "import numpy as np\n"
        f"{follow_up}\n"
        "from attention_extras.analysis import Distance\n"
        "Distance.follow_up = follow_up\n"
        "plain = Distance.results\n"
        "def results(self, options, plan_counts, needed, lookups):\n"
        "    global seen\n"
        "    seen = lookups\n"
        "    return plain(self, options, plan_counts, needed, lookups)\n"
        "Distance.results = results\n"
        f"{run.replace(DEMO, repr(model))}"
        "heads = run['distance'].heads\n"
        "assert len(heads) == 12 and len(seen) == 10, seen\n"
        "assert all(np.array(rows).ndim == 2 for rows in seen.values())\n"
        "print('done')\n"
    )
    process = programs.run("-c", code, folder=tmp_path, paths=(distance,))
    assert process.stdout.endswith("done\n"), process.stderr


@pytest.fixture
def forgetful():
    """The analyses are looked up anew before the test and after it."""

    def forget() -> None:
        for cached in (points_of, registered_analyses, load_analysis, analyze_command):
            cached.cache_clear()
        sys.modules.pop("wrong", None)

    forget()
    yield
    forget()


MINIMAL = """
from dataclasses import dataclass
from attentionology import MapOptions
from attentionology.analyses import Analysis


@dataclass(frozen=True)
class {group}:
    '''Options.'''

    {option}: int = 1
    '''A number.'''

    def check(self):
        '''Every value can be used.'''


class Wrong(Analysis):
    name = {name!r}
    needs = {needs!r}
    options = ({group},)

    def plan(self, options, setting): ...
    def results(self, options, counted, needed, looked): ...
    def section(self, results, titles): ...
    def show(self, results, width): ...
"""
WRONG = "[attentionology.analyses]\nwrong = wrong:Wrong\n"
USUAL = {"group": "WrongOptions", "option": "wrong", "name": "wrong", "needs": ()}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (MINIMAL.format(**{**USUAL, "name": "surface"}), "two analyses are called 'surface'"),
        (MINIMAL.format(**{**USUAL, "needs": ("zebra",)}), "'wrong' of the package wrong, wrong:Wrong needs 'zebra'"),
        (MINIMAL.format(**{**USUAL, "option": "seed"}), "wrong.WrongOptions has an option --seed"),
        (MINIMAL.format(**{**USUAL, "option": "n_clusters"}), "--n-clusters, which attentionology.analyses.clusters"),
        (MINIMAL.format(**{**USUAL, "option": "batch_cells"}), "has an option --batch-cells"),
        (MINIMAL.format(**{**USUAL, "group": "MapOptions"}), "wrong.MapOptions is taken"),
        (MINIMAL.format(**{**USUAL, "name": "two words"}), "has the name 'two words'"),
        (MINIMAL.format(**{**USUAL, "name": None}), "has the name None"),
        (MINIMAL.format(**USUAL).replace("@dataclass(frozen=True)", ""), "is not a dataclass"),
        (MINIMAL.format(**USUAL).replace("def plan", "def no_plan"), "lacks the methods: plan"),
        ("import no_such_module\n", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
        ("Wrong = (\n", "cannot be loaded: SyntaxError"),
        ("other = 1\n", "cannot be loaded: AttributeError"),
        ("class Wrong: ...\n", "wrong:Wrong is not a subclass of Analysis"),
        ("Wrong = 3\n", "wrong:Wrong is not a subclass of Analysis"),
    ],
)  # fmt: skip
def test_an_analysis_that_does_not_fit_gives_one_line(source, message, tmp_path, monkeypatch, capsys, forgetful):
    site = install(tmp_path / "site", "wrong", {"wrong.py": source}, WRONG)
    monkeypatch.syspath_prepend(site)
    assert main(["analyze", "--limit", "3", "--out", str(tmp_path / "run")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.startswith("attentionology: ")
    assert captured.err.count("\n") == 1


FIRST = (("Ann", "NNP", "(1)"), ("saw", "VBD", "-"), ("Bo", "NNP", "(2)"), (".", ".", "-"))
SECOND = (("She", "PRP", "(1)"), ("liked", "VBD", "-"), ("him", "PRP", "(2)"), (".", ".", "-"))


def conll2012(documents: int) -> str:
    """Documents of two sentences with two entities each."""
    lines = []
    for number in range(documents):
        lines += [f"#begin document (d{number}); part 000"]
        for words in (FIRST, SECOND):
            lines += [f"d{number} 0 {i} {word} {tag} {mention}" for i, (word, tag, mention) in enumerate(words)]
            lines.append("")
        lines.append("#end document")
    return "\n".join(lines) + "\n"


@pytest.fixture
def furnished(tmp_path):
    """A folder with files and models of the names that the pages use."""
    write_blocks(tmp_path / "en_ewt-ud-dev.conllu", sample_blocks()[:30])
    write_blocks(tmp_path / "en_ewt-ud-train.conllu", sample_blocks()[30:60])
    (tmp_path / "ontogum.v4_gold_conll").write_text(conll2012(8), encoding="utf-8")
    vectors = "".join(f"{word} {' '.join(['0.5', '-1'] * 25)}\n" for word in ("the", "a", "garden", "."))
    (tmp_path / "glove.6B.50d.txt").write_text(vectors, encoding="utf-8")
    models = {
        "google-bert/bert-base-uncased": tiny.model("bert", max_position_embeddings=512),
        "your/sequence-classifier": tiny.classifier("bert"),
        "your/model": tiny.model("bert", max_position_embeddings=200),
    }
    for name, model in models.items():
        model.save_pretrained(tmp_path / name)
        tiny.fresh_tokenizer("wordpiece").save_pretrained(tmp_path / name)
    tiny.language_model(tiny.encoder("gpt2"), "CausalLM").save_pretrained(tmp_path / "openai-community" / "gpt2")
    own = tiny.fresh_tokenizer(tiny.style("gpt2"))
    own.eos_token = own.pad_token
    own.save_pretrained(tmp_path / "openai-community" / "gpt2")
    pairs = [line.split(" ||| ") for line in SAMPLE_PAIRS.read_text(encoding="utf-8").splitlines()[:10]]
    links = SAMPLE_GOLD.read_text(encoding="utf-8").splitlines()[:10]
    sides = {"test.de": [pair[0] for pair in pairs], "test.en": [pair[1] for pair in pairs], "test.talp": links}
    sides["giza.talp"] = [line.split(" ")[0] for line in links]
    for name, lines in sides.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copytree(SAMPLE_TRANSLATOR, tmp_path / "Helsinki-NLP" / "opus-mt-de-en")
    return tmp_path


OF_TESTS = {CONTRACT}
"""Pages whose code has a test of its own above."""

OF_THE_DEMO_MODEL = {"docs/how-to/show.md", "docs/how-to/treebank-and-model.md"}
"""Pages whose code names a head that a tiny model does not have."""

WITH_PYTHON = sorted(
    {str(page.relative_to(REPOSITORY)) for page in documentation.USER_PAGES if documentation.python(page)} - OF_TESTS
)


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON)
def test_python_of_the_documentation_runs(page, furnished, programs, request):
    """The code of a page in one namespace, in a folder with stand-ins for the models and corpora that it names."""
    code = "\n".join(documentation.python(REPOSITORY / page))
    if page in OF_THE_DEMO_MODEL:
        request.getfixturevalue("demo_encoder")
    else:
        code = code.replace(DEMO, repr(str(furnished / "your" / "model")))
    code += "\nprint('done')\n"
    process = programs.run("-c", code, folder=furnished)
    assert process.returncode == 0, process.stderr
    assert process.stdout.endswith("done\n")

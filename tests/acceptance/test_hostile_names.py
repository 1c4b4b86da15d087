"""Names and words that mean something elsewhere, through every command: they are data, and are shown as they are."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from attentionology.scripts.cli import main
from attentionology.storage.characters import in_document, one_line
from tests import tiny
from tests.acceptance.explain.explaining import QUICK, SMALL
from tests.hostile import NAMES, RAW, SPACED
from tests.outlines import FIGURES

FEW = ("--replicates", "5", "--min-count", "1")
CLASSES = ("_{x}\x1b[31m", "$x$[red]<b>\u202e&\ty")


@dataclass(frozen=True)
class Ran:
    """What a command has printed and written."""

    printed: str
    out: Path


def batched(names: Sequence[str], size: int) -> list[Sequence[str]]:
    """The names in turn, some at a time."""
    return [names[start : start + size] for start in range(0, len(names), size)]


def trees(number: int) -> str:
    """A treebank in which every name is a word, a relation, and a part of the id of a sentence and of a document."""
    lines = []
    for block, names in enumerate(batched([*NAMES, *NAMES[:3]], 6)):
        words = ("the", "runs", *names, SPACED[block % len(SPACED)])
        relations = ("det", "root", *names, "obj")
        lines += [f"# newdoc id = {names[0]} {number}", f"# sent_id = {names[1]} {number}.{block}"]
        for index, (word, relation) in enumerate(zip(words, relations, strict=True), 1):
            head, tag = ("0", "VERB") if index == 2 else ("2", "NOUN")
            lines.append("\t".join([str(index), word, word, tag, word, "_", head, relation, "_", "_"]))
        lines.append("")
    return "\n".join(lines) + "\n"


def documents() -> str:
    """A corpus of coreference in which every name is a word and a part of the name of a document."""
    lines = []
    for name in NAMES:
        lines.append(f"#begin document ({name}); part 000")
        for words in (("Ann", name, "saw", "Bob"), ("she", name, "saw", name)):
            tags = ("NNP", "NN", "VBD", "NNP") if words[0] == "Ann" else ("PRP", "NN", "VBD", "NN")
            for index, (word, tag) in enumerate(zip(words, tags, strict=True)):
                entity = {0: "(1)", 3: "(2)"}.get(index, "-")
                lines.append("\t".join([name, "0", str(index), word, tag, *"*----*", entity]))
            lines.append("")
        lines.append("#end document")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module", params=["few", pytest.param("all", marks=pytest.mark.slow)])
def ran(request, tmp_path_factory) -> dict[str, Ran]:
    """Runs of all commands that write results, or of a few."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    models = [
        tiny.save(folder / name, "roberta", seed, max_position_embeddings=512)
        for seed, name in enumerate(("m{x}$y_z%&<b>", "_[red]\x1b[31m\nWarning: x"))
    ]
    banks = [folder / "a{x}<b>_.conllu", folder / "b$_%\x1b\u202e.conllu"]
    for number, bank in enumerate(banks):
        bank.write_text(trees(number), encoding="utf-8")
    (folder / "documents.conll").write_text(documents(), encoding="utf-8")
    words = [(CLASSES[n % 2], f"{'good' if n % 2 else 'bad'} {NAMES[n % len(NAMES)]} film") for n in range(60)]
    rows = [json.dumps({"label": label, "text": text}) for label, text in words]
    (folder / "texts{x}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    pairs = [" ".join(names) for names in batched(NAMES, 4)]
    (folder / "source.txt").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    (folder / "target.txt").write_text("\n".join(f"{pair} ." for pair in pairs) + "\n", encoding="utf-8")
    (folder / "gold.txt").write_text("0-0\n" * len(pairs), encoding="utf-8")
    done: dict[str, Ran] = {}

    def run(name: str, command: str, *options: object) -> Path:
        out, printed = folder / name, io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            status = main([command, *map(str, options), *(() if command == "cite" else ("--out", str(out)))])
        assert status == 0, printed.getvalue()
        done[name] = Ran(printed.getvalue(), out)
        return out

    sentence = " ".join(name for name in NAMES if len(name) < 20)
    asked = ("--group", "{core}=nsubj,obj,{x}", "$%_[red]\n=a:{b}", "--ensembles", 2, "--spanning-trees")
    of_trees = ("--analyses", "dependency", *asked, "--failures", "best", *FEW)
    runs = [run("run0", "analyze", "--model", models[0], "--corpus", banks[0], *of_trees)]
    with FIGURES.in_full():
        run("again", "report", runs[0])
    run("shown.txt", "show", sentence, "--head", "1-1", "--model", models[1])
    if request.param == "few":
        return done
    runs.append(run("run1", "analyze", "--model", models[1], "--corpus", banks[0], *of_trees))
    run("merged", "merge", runs[0], run("run2", "analyze", "--model", models[0], "--corpus", banks[1], *of_trees))
    run("norms", "analyze", "--model", models[1], "--corpus", banks[1], "--analyses", "surface", "norms", *FEW[:2])
    run("compared", "compare", *runs, "--names", "{a}[red]\x1b$_", "_b<b>\n\u202e", "--min-count", 1)
    run("cited", "cite", runs[1])
    of_mentions = ("--analyses", "coreference", "--ensembles", 2, "--failures", "best", *FEW)
    run("mentions", "analyze", "--model", models[0], "--corpus", folder / "documents.conll", *of_mentions)
    survey = ("--relation", "{x}", *FEW)
    run("survey", "survey", "--models", *models, "--treebanks", *banks, *survey)
    tests = (*SMALL, *QUICK[:2], "--tests", "correlation,permutation")
    run("explained", "explain", "--data", folder / "texts{x}.jsonl", *tests)
    probe = ("--folds", 2, "--epochs", 1, "--seeds", 1, *FEW[:2])
    run("probed", "probe", "--model", models[0], "--test", banks[0], *probe)
    sides = ("--source", folder / "source.txt", "--target", folder / "target.txt", "--gold", folder / "gold.txt")
    run("aligned", "align", *sides, "--controls", 0, *FEW[:2])
    for layout, ending in (("lines", "svg"), ("arcs", "html")):
        run(f"shown.{ending}", "show", sentence, "--head", "1-1", "--layout", layout, "--model", models[1])
    run("explored.html", "explore", sentence, "--model", models[1])
    return done


def files(ran: dict[str, Ran], ending: str) -> list[tuple[Path, str]]:
    """All files with this end, and their content."""
    found = [path for each in ran.values() for path in [each.out, *each.out.rglob("*")] if path.name.endswith(ending)]
    assert found
    return [(path, path.read_text(encoding="utf-8")) for path in found]


def test_terminals_get_no_control_characters(ran):
    for name, each in ran.items():
        assert not RAW.search(each.printed), name
        assert "\nWarning: x" not in each.printed, name
    for relation in set(NAMES) - {"x" * 300}:
        assert one_line(relation) in ran["run0"].printed, relation


@pytest.mark.parametrize("ending", ["svg", "tex", "html", "txt"])
def test_no_file_has_control_characters(ran, ending):
    for path, text in files(ran, ending):
        assert not RAW.search(text), path


def test_figures_are_xml(ran):
    parsed = {path: ElementTree.fromstring(text) for path, text in files(ran, ".svg")}  # noqa: S314
    words = {path: "".join(element.itertext()) for path, element in parsed.items()}
    for name in NAMES:
        shown = in_document(name)[:30]
        assert shown in words[ran["again"].out / "figures" / "dependency_best.svg"], name


class Page(HTMLParser):
    """The words of a page, the data of its explorer and the classes of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.open: list[str] = []
        self.data = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if ("id", "explorer-data") in attrs:
            self.open[-1] = "data"

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "data":
            self.data += data
        elif not {"script", "style"} & {*self.open}:
            self.words.append(data)


def test_pages_show_the_names(ran):
    pages = {path: Page(text) for path, text in files(ran, "report.html")}
    page = pages[ran["run0"].out / "report.html"]
    shown = " ".join(page.words)
    measures = json.loads(page.data)["runs"][0]["measures"]
    for name in NAMES:
        assert in_document(name) in page.words, name
        assert f"dependency/{name}/dep->head/accuracy/weight" in [measure["id"] for measure in measures]
    assert "{core}" in shown
    if "survey" in ran:
        for label in CLASSES:
            assert in_document(label) in "".join(pages[ran["explained"].out / "report.html"].words)
        survey = (ran["survey"].out / "report.html").read_text(encoding="utf-8")
        assert re.findall(r'data-name="([^"]*)" data-first', survey) == ["{x}"]


def test_tables_have_the_names_as_they_are(ran):
    with (ran["run0"].out / "tables" / "dependency_best.csv").open(encoding="utf-8", newline="") as file:
        assert {*NAMES, "{core}", "$%_[red]\n"} <= {row["relation"] for row in csv.DictReader(file)}


def test_rows_of_latex_have_the_cells_of_their_table(ran):
    for path, text in files(ran, ".tex"):
        columns = re.search(r"\\begin\{tabular\}\{(\w+)\}", text)
        assert columns
        title, _, *rows, end = text.rstrip("\n").split("\n")
        assert title.startswith("% ")
        assert end == r"\end{tabular}"
        for row in rows:
            if row not in (r"\toprule", r"\midrule", r"\bottomrule"):
                spanned = re.match(r"\\multicolumn\{(\d+)\}", row)  # a note below the rows
                separators = len(re.findall(r"(?<!\\)&", row)) + (int(spanned[1]) - 1 if spanned else 0)
                assert separators == len(columns[1]) - 1, path
                assert row.endswith(r" \\")

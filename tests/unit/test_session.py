"""What a Python session shows of an object, and what a run and the package offer by name."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, NamedTuple, get_overloads

import numpy as np
import pandas as pd
import pytest

import attentionology
from attentionology import CountOptions, Run, analyze, load_treebank
from attentionology.analyses.contract import Analysis, Titles
from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.norms.analysis import Norms
from attentionology.analyses.registry import find_analysis, registered_analyses
from attentionology.analyses.shared.previews import Previewed, tables_of
from attentionology.corpora_loaders import CorpusFile, Sentence, Treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.results.part import Part
from tests import tiny
from tests.documents import corpus, document

DOG = Sentence("s1", ("The", "dog", "barks"), heads=(2, 3, 0), relations=("det", "nsubj", "root"))


def file(path: str) -> CorpusFile:
    return CorpusFile(path, "0" * 64, 1, 3, {})


def test_sentences():
    assert repr(DOG) == "Sentence('s1', 'The dog barks', 3 words)"
    assert repr(Sentence("s2", ("Go",))) == "Sentence('s2', 'Go', 1 word)"
    long = Sentence("x" * 60, ("word",) * 1000)
    assert repr(long) == f"Sentence('{'x' * 49}…', '{('word ' * 10)[:49]}…', 1,000 words)"
    assert "\n" not in repr(Sentence("a\nb", ("c\u2028d", "e\n")))
    assert "\u2028" not in repr(Sentence("a\nb", ("c\u2028d", "e\n")))


def test_counts_of_a_corpus_in_a_notebook():
    html = Treebank((DOG,), (file("<b>&.conllu"),))._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;&amp;.conllu" in html
    assert ">words without head</th>" in html
    table = _cells(html)
    assert table["sentences"] == "1"
    assert table["words"] == "3"
    assert table["relations"] == "3"


def _cells(html: str) -> dict[str, str]:
    return dict(re.findall(r"<tr><th[^<>]*>([^<>]*)</th><td[^<>]*>([^<>]*)</td></tr>", html))


TABLE = pd.DataFrame({"relation": ["<script>alert(1)</script>", *"abcdefgh"], "a & b": range(9)})


class Inner(NamedTuple):
    heads: pd.DataFrame
    layers: int = 3


@dataclass(frozen=True, repr=False)
class Results(Previewed):
    tables: Inner
    best: pd.DataFrame
    controls: tuple[pd.DataFrame, ...]
    weights: dict[str, Inner]
    nothing: pd.DataFrame | None = None
    notes: tuple[str, ...] = ("a note",)


RESULTS = Results(Inner(TABLE), TABLE[:1], (TABLE, TABLE[:0]), {"'<i>": Inner(TABLE)})


def test_tables_are_named_as_they_are_reached():
    tables = tables_of(RESULTS)
    assert list(tables) == ["tables.heads", "best", "controls[0]", "controls[1]", 'weights["\'<i>"].heads']
    for path, table in tables.items():
        assert eval(f"RESULTS.{path}") is table  # noqa: S307
    assert repr(RESULTS) == (
        "Results(tables.heads: 9 × 2, best: 1 × 2, controls[0]: 9 × 2, controls[1]: 0 × 2, "
        'weights["\'<i>"].heads: 9 × 2)'
    )


def test_tables_in_a_notebook_are_escaped_and_short():
    html = RESULTS._repr_html_()
    assert "<script>" not in html
    assert "<i>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "a &amp; b" in html
    assert html.count("<table") == 5
    assert ">d</td>" in html
    assert ">e</td>" not in html
    assert "<b>best</b>, 1 × 2" in html
    wide = Results(Inner(pd.DataFrame(np.zeros((3, 500)))), TABLE, (), {})
    assert wide._repr_html_().count("<th>") < 50


def test_a_run():
    unknown: Any = None

    def part(analysis: Analysis[Any, Any], kind: str | None, results: object) -> Part:
        return Part(analysis, kind, (), unknown, results=results)

    parts = (part(Dependency(), "<weight>", RESULTS), part(Norms(), None, ["<b>results of another kind</b>"]))
    run = Run(parts, Titles("tiny bert", "<i>.conllu"))
    assert repr(run) == "Run(dependency, norms of tiny bert on <i>.conllu)"
    assert repr(parts[0]) == f"Part(dependency (<weight>): {RESULTS!r})"
    assert repr(parts[1]) == "Part(norms: ['<b>results of another kind</b>'])"


def test_a_run_has_its_results_tables_and_figures_by_name(tmp_path):
    corpus, options = load_treebank(SAMPLE_TREEBANK, limit=3), [CountOptions(replicates=0)]
    encoder, names, folder = tiny.encoder("bert"), ["dependency"], tmp_path / "run"
    written = analyze(encoder, corpus, analyses=names, maps=["weight", "norm"], options=options, out=folder)
    run = analyze(encoder, corpus, analyses=names, maps=["weight", "norm"], options=options)
    assert set(run.tables) == set(written.tables) == {path.stem for path in (folder / "tables").glob("*.csv")}
    assert set(run.figures) == set(written.figures) == {path.stem for path in (folder / "figures").glob("*.svg")}
    best = run.tables["dependency_best"]
    html = written._repr_html_()
    assert "<code>run[&#x27;dependency&#x27;, &#x27;norm&#x27;]</code>" in html
    accuracies = run["dependency", "weight"].cells.query("relation == 'all' and direction == 'dep->head'")["accuracy"]
    cells = re.findall(r'<td style="[^"]*">(.*?)</td>', html)
    assert cells == [f"{100 * accuracy:.0f}" for accuracy in accuracies]  # one small matrix, and no raw frames
    of_norms = best[best["map"] == "norm"].drop(columns="map").reset_index(drop=True)
    assert of_norms.equals(run["dependency", "norm"].best)
    with pytest.raises(
        AttributeError, match=r"several results for 'dependency'; choose from: .*\('dependency', 'norm'\)"
    ):
        run.dependency  # noqa: B018
    assert not hasattr(run, "coreference")
    single = analyze(encoder, Treebank(corpus.sentences), analyses="dependency", options=options)
    assert single.dependency is single["dependency"] is single["dependency", "weight"]
    assert (single.titles.corpus, written.titles.corpus) == ("3 sentences", "en_sample.conllu")


def test_documents_without_files_are_counted_and_not_their_windows():
    both = corpus(*(document(name, ["Ann saw her dog"], [(0, 1, "ann"), (2, 3, "ann")]) for name in "ab"))
    run = analyze(tiny.encoder("bert"), both, analyses="coreference", options=[CountOptions(replicates=0)])
    assert run.titles.corpus == "2 documents"


def test_every_analysis_that_comes_with_the_toolkit_has_typed_results():
    members = {name: member.fget for name, member in vars(Run).items() if isinstance(member, property)}
    typed = {name for name, member in members.items() if member.__annotations__["return"].endswith("Results")}
    assert typed == {*registered_analyses(), "alignment"}
    assert len(get_overloads(Run.__getitem__)) == len(typed) + 1


@pytest.mark.parametrize("name", registered_analyses())
def test_an_analysis_says_what_its_row_says(name):
    row, analysis = registered_analyses()[name], find_analysis(name)
    for field in dataclasses.fields(row):
        if field.name != "location":
            assert getattr(analysis, field.name) == getattr(row, field.name), field.name


def test_the_package_lists_public_names_only():
    assert dir(attentionology) == sorted([*attentionology.__all__, "__version__"])
    assert attentionology.__version__ == version("attentionology")


def test_few_names_are_at_the_root():
    assert len(dir(attentionology)) <= 43


def test_names_of_before_warn():
    room = attentionology.corpora_loaders
    for place, name, now in (
        (attentionology, "load_labelled", "load_labeled"),
        (room, "load_labelled", "load_labeled"),
        (room, "LabelledTexts", "LabeledTexts"),
    ):
        with pytest.warns(DeprecationWarning, match=f"^{name} is called {now}$") as warned:
            assert getattr(place, name) is getattr(place, now)
        assert [warning.filename for warning in warned] == [__file__]
        assert name not in dir(place)


def test_the_lists_are_those_that_the_commands_choose_from():
    lists: dict[str, Any] = {
        "dependency": attentionology.list_analyses(),
        "weight": attentionology.list_kinds(),
        "attention": attentionology.list_probes(),
        "permutation": attentionology.list_tests(),
    }
    assert all(name in names for name, names in lists.items())
    assert "states" not in lists["permutation"]  # it describes the model and cannot be chosen

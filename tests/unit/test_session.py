"""What a Python session shows of an object: one line, and in a notebook a table in which everything is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.contract import Analysis, Titles
from attentionology.analyses.coreference.results import CoreferenceResults
from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.dependency.section import DependencyResults
from attentionology.analyses.explanation.results import ExplainResults
from attentionology.analyses.norms.analysis import Norms
from attentionology.analyses.norms.shown_tables import NormResults
from attentionology.analyses.probing.results import ProbeResults
from attentionology.analyses.shared.previews import Previewed, tables_of
from attentionology.analyses.surface.shown_tables import SurfaceResults
from attentionology.analyses.surface.statistics import SurfaceTables
from attentionology.corpora_loaders import (
    Corpus,
    CorpusFile,
    LabelledTexts,
    PlainText,
    Sentence,
    Treebank,
    WordVectors,
)
from attentionology.corpora_loaders.coreference import Documents, load_documents
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.results import Part
from attentionology.engine.run import Run
from attentionology.extractors import (
    Encoder,
    GradientMaker,
    MapMaker,
    NormMaker,
    Segments,
    StageMaker,
    Windows,
    extract,
    get_kind,
    make_windows,
)
from attentionology.extractors.tokens.pieces import Pieces, Segment
from tests import tiny

DOG = Sentence("s1", ("The", "dog", "barks"), heads=(2, 3, 0), relations=("det", "nsubj", "root"))


def file(path: str) -> CorpusFile:
    return CorpusFile(path, "0" * 64, 1, 3, {})


def aligned(encoder: Encoder) -> Pieces:
    [pieces] = encoder.align([DOG])
    assert isinstance(pieces, Pieces)
    return pieces


def kinds_of(base: type) -> Iterator[type]:
    """Our own classes that are made from one."""
    yield base
    subclasses: list[type] = base.__subclasses__()
    for kind in subclasses:
        if kind.__module__.startswith("attentionology."):
            yield from kinds_of(kind)


@pytest.mark.parametrize("base", [Corpus, Sentence, Previewed])
def test_a_dataclass_keeps_the_line_of_its_base(base):
    kinds = list(kinds_of(base))
    assert len(kinds) > 2
    others = {kind.__name__ for kind in kinds if kind.__repr__ is not base.__repr__}
    assert others <= {"SentencePair"}  # whose line has both sentences


def test_sentences():
    assert repr(DOG) == "Sentence('s1', 'The dog barks', 3 words)"
    assert repr(Sentence("s2", ("Go",))) == "Sentence('s2', 'Go', 1 word)"
    long = Sentence("x" * 60, ("word",) * 1000)
    assert repr(long) == f"Sentence('{'x' * 49}…', '{('word ' * 10)[:49]}…', 1,000 words)"
    assert "\n" not in repr(Sentence("a\nb", ("c\u2028d", "e\n")))
    assert "\u2028" not in repr(Sentence("a\nb", ("c\u2028d", "e\n")))


def test_corpora():
    texts = (DOG, Sentence("s2", ("Go",)))
    assert repr(Treebank(texts, (file("data/a.conllu"),))) == "Treebank(2 sentences, 4 words, 'a.conllu')"
    assert repr(Treebank((DOG,))) == "Treebank(1 sentence, 3 words)"
    assert repr(PlainText((DOG,), (file("a"), file("b")))) == "PlainText(1 paragraph, 3 words, 'a' and 'b')"
    assert repr(Corpus(texts * 999, (file("a"),) * 3)) == "Corpus(1,998 sentences, 3,996 words, 3 files)"
    assert repr(LabelledTexts(texts, labels=("yes", "yes"))) == "LabelledTexts(2 texts, 4 words, 1 class)"
    assert repr(LabelledTexts(texts, labels=("yes", "no"))) == "LabelledTexts(2 texts, 4 words, 2 classes)"
    segment = Segment(id="a", words=("x", "y"), pieces=aligned(tiny.encoder()))
    assert repr(segment) == "Segment('a', 'x y', 2 words)"
    assert repr(Segments((segment,))) == "Segments(1 segment, 2 words)"
    assert repr(Documents(())) == "Documents(0 documents, 0 sentences, 0 words, 0 mentions)"


def test_documents_and_windows():
    corpus = load_documents(SAMPLE_TREEBANK, limit=1)
    mentions = len(corpus.documents[0].mentions)
    words = sum(len(sentence.words) for sentence in corpus.sentences)
    counted = f"14 sentences, {words} words, {mentions} mentions"
    assert repr(corpus) == f"Documents(1 document, {counted}, 'en_sample.conllu')"
    assert repr(corpus.documents[0]) == f"Document('garden', {counted})"
    windows = make_windows(tiny.encoder(), corpus, length=30, stride=0)
    assert isinstance(windows, Windows)
    assert repr(windows) == f"Windows(1 window, {len(windows[0])} words, 'en_sample.conllu')"
    assert repr(windows[0]).startswith("Window('garden', 'Harrow Lane Garden")


def test_word_vectors():
    array = np.zeros((2, 3), dtype=np.float32)
    vectors = WordVectors(array, {"a": 0, "b": 1}, "glove/g.txt")
    assert repr(vectors) == "WordVectors(2 words, 3 dimensions, 'g.txt')"
    assert repr(WordVectors(array[:1], {"a": 0})) == "WordVectors(1 word, 3 dimensions)"


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


def test_batches_and_what_makes_them():
    encoder = tiny.encoder()
    encoder.tokenizer.mask_token = "[MASK]"
    sentences = [DOG, Sentence("s2", ("Go",))]
    maps = next(extract(encoder, sentences))
    pieces = aligned(encoder)
    n = maps.maps.shape[-1]
    assert repr(maps) == f"MapBatch('weight', word level, 2 sentences, shape (2, 3, 4, {n}, {n}))"
    n = next(extract(encoder, sentences, level="token")).maps.shape[-1]
    expected = f"2 sentences, shape (2, 3, 4, {n}, {n}))"
    for maker, facts in (
        (NormMaker(), "NormBatch(token level"),
        (StageMaker(), "StageBatch(token level, FF→RES→LN"),
        (GradientMaker("hidden"), "GradientBatch(token level"),
    ):
        assert repr(next(tiny.batches(maker, encoder, sentences))) == f"{facts}, {expected}"
    assert repr(pieces).startswith("Pieces('[CLS] ")
    assert repr(pieces).endswith(f"', {len(pieces)} pieces, 5 positions)")
    assert repr(encoder.forward([pieces])) == f"Forward(1 input, {len(pieces)} pieces, 3 layers)"
    deep = encoder.forward([pieces], hidden_states=True)
    assert repr(deep) == f"Forward(1 input, {len(pieces)} pieces, 3 layers, hidden states)"
    assert repr(deep.model_layers) == "ModelLayers('bert', 3 layers)"
    assert repr(get_kind("norm")) == "MapKind('norm')"
    expected = "MapMaker(kind=MapKind('norm'), level='word', merge='norm', normalize='none', ff_bias='input')"
    assert repr(MapMaker(get_kind("norm"))) == expected


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


@pytest.mark.parametrize("kind", [CoreferenceResults, ProbeResults, ExplainResults])
def test_results_that_are_named_tuples_are_shown_like_the_others(kind):
    results = kind(*[TABLE] * len(kind._fields))
    names = [f"{name}: 9 × 2" for name in kind._fields]
    assert repr(results) == f"{kind.__name__}({', '.join(names)})"
    assert results._repr_html_().count("<table") == len(names)
    assert "<script>" not in results._repr_html_()


def test_results_of_the_analyses():
    assert repr(DependencyResults(TABLE, TABLE[:2])) == "DependencyResults(cells: 9 × 2, best: 2 × 2)"
    norms = NormResults(TABLE, TABLE, TABLE, TABLE, TABLE, amplified=TABLE[:3])
    assert repr(norms) == (
        "NormResults(shares: 9 × 2, mixing: 9 × 2, frequency: 9 × 2, expansion: 9 × 2, points: 9 × 2, amplified: 3 × 2)"
    )
    tables = SurfaceTables(TABLE, TABLE[:1], TABLE, TABLE)
    assert repr(SurfaceResults(tables, {}, TABLE[:4])) == (
        "SurfaceResults(tables.heads: 9 × 2, tables.layers: 1 × 2, tables.offsets: 9 × 2, tables.counts: 9 × 2, "
        "gradients: 4 × 2)"
    )


def test_a_run():
    unknown: Any = None

    def part(analysis: Analysis[Any, Any], kind: str | None, results: object) -> Part:
        return Part(analysis, kind, (), unknown, results=results)

    parts = (part(Dependency(), "<weight>", RESULTS), part(Norms(), None, ["<b>results of another kind</b>"]))
    run = Run(parts, Titles("tiny bert", "<i>.conllu"))
    assert repr(run) == "Run(dependency, norms of tiny bert on <i>.conllu)"
    assert repr(parts[0]) == f"Part(dependency (<weight>): {RESULTS!r})"
    assert repr(parts[1]) == "Part(norms: ['<b>results of another kind</b>'])"
    html = run._repr_html_()
    assert "Run(dependency, norms of tiny bert on &lt;i&gt;.conllu)" in html
    assert "<h3>dependency (&lt;weight&gt;)</h3><p><b>tables.heads</b>" in html
    assert "<h3>norms</h3>[&#x27;&lt;b&gt;results of another kind&lt;/b&gt;&#x27;]" in html
    assert html.count("<table") == 5

"""What a Python session shows of an object: one line, and in a notebook a table in which everything is escaped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attentionology.analyses.contract import Analysis, Titles
from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.norms.analysis import Norms
from attentionology.analyses.shared.previews import Previewed, tables_of
from attentionology.corpora_loaders import Corpus, CorpusFile, LabelledTexts, PlainText, Sentence, Treebank
from attentionology.corpora_loaders.coreference import Documents
from attentionology.engine.results import Part
from attentionology.engine.run import Run
from attentionology.extractors import Encoder, Segments
from attentionology.extractors.tokens.pieces import Pieces, Segment
from tests import tiny

DOG = Sentence("s1", ("The", "dog", "barks"), heads=(2, 3, 0), relations=("det", "nsubj", "root"))


def file(path: str) -> CorpusFile:
    return CorpusFile(path, "0" * 64, 1, 3, {})


def aligned(encoder: Encoder) -> Pieces:
    [pieces] = encoder.align([DOG])
    assert isinstance(pieces, Pieces)
    return pieces


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
    html = run._repr_html_()
    assert "Run(dependency, norms of tiny bert on &lt;i&gt;.conllu)" in html
    assert "<h3>dependency (&lt;weight&gt;)</h3><p><b>tables.heads</b>" in html
    assert "<h3>norms</h3>[&#x27;&lt;b&gt;results of another kind&lt;/b&gt;&#x27;]" in html
    assert html.count("<table") == 5

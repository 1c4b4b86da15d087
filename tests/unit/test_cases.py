"""Gold of an analysis: what an installed package judges is what the page shows, and its cases are sampled first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from attentionology import MapOptions, Sentence, analyze, extract, load_run, load_treebank
from attentionology.analyses import (
    Analysis,
    CountMaps,
    DependencyAccuracy,
    ExampleOptions,
    Guesses,
    Plan,
    Request,
    registry,
)
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.reports import Section
from attentionology.storage import plugins
from tests import tiny
from tests.maps import inflate
from tests.packages import install

STORED = 6
OTHERS = ("dep->head", "head->dep")


def distant_subjects(sentence: Sentence) -> Mapping[int, set[int]]:
    """The verbs whose subject is at least four words away, each with the subject."""
    arcs = enumerate(zip(sentence.heads, sentence.relations, strict=True))
    return {
        head - 1: {word}
        for word, (head, relation) in arcs
        if head and relation == "nsubj" and abs(head - 1 - word) >= 4
    }


def most_attended(batch: Any) -> torch.Tensor:
    """The other word that each word attends to most."""
    n = batch.maps.shape[-1]
    candidates = batch.words[:, None, None, None, :] & ~torch.eye(n, dtype=torch.bool)
    picked = batch.maps.masked_fill(~candidates, -1).argmax(-1)
    return torch.where(batch.words[:, None, None, :], picked, -1)[:, None]


class Agreement(Analysis[str, Any]):
    """Asks which heads lead from a verb to a distant subject."""

    name, options, of_trees = "agreement", (MapOptions,), True
    template: ClassVar[Path]

    def plan(self, options: Any, setting: Any) -> Plan[str]:
        """Count subjects, so that the sentences are read."""
        counting = CountMaps(DependencyAccuracy, (("relations", ("nsubj",)), ("replicates", 0)))
        name = f"agreement/{setting.maps.kind}"
        return Plan((Request(name, "agreement", setting.corpus, setting.maps, counting),), facts=name)

    def guesses(self, options: Any, setting: Any) -> Guesses:
        """What a verb attends to most is its subject, or it is wrong."""
        return Guesses(("verb->subject",), most_attended, cases="distant subject", right=distant_subjects)

    def results(self, options: Any, counted: Any, needed: Any, lookups: Any) -> Any:
        """The counts."""
        return counted.metric(counted.facts, DependencyAccuracy).compute()

    def section(self, results: Any, titles: Any) -> Section:
        """One sentence."""
        return Section("Agreement", self.template)

    def show(self, results: Any, width: int) -> str:
        """Nothing."""
        return ""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package that adds the analysis."""
    install(tmp_path / "site", "agreement", {}, f"[attentionology.analyses]\nagreement = {__name__}:Agreement\n")
    (tmp_path / "section.html.j2").write_text("<p>Subjects.</p>", encoding="utf-8")
    monkeypatch.setattr(Agreement, "template", tmp_path / "section.html.j2", raising=False)
    monkeypatch.syspath_prepend(tmp_path / "site")
    cached = (plugins.points_of, registry.registered_analyses)
    for each in cached:
        each.cache_clear()
    yield
    monkeypatch.undo()
    for each in cached:
        each.cache_clear()


def sample_of(run: Any) -> Any:
    """The stored sentences of a run."""
    sample = run.explorer().sample
    assert sample is not None
    return sample


def naive_picks(maps: np.ndarray, row: int) -> list[list[int]]:
    """The row that each head attends to most from a row, among the other words, one value at a time."""
    words = [column for column in range(1, maps.shape[-1] - 1) if column != row]
    return [[max(words, key=lambda column: (head[row, column], -column)) for head in layer] for layer in maps]


@pytest.mark.usefixtures("package")
def test_cases_come_first_and_are_judged_by_the_analysis(tmp_path: Path) -> None:
    """The page has the case, what is right and what each head guesses, also when the run is read from its folder."""
    treebank, encoder = load_treebank(SAMPLE_TREEBANK, limit=60), tiny.encoder(max_position_embeddings=256)
    having = {each.id: distant_subjects(each) for each in treebank if distant_subjects(each)}
    assert STORED // 2 < len(having) < len(treebank) // 2
    size = len(having) + 3
    run = analyze(
        encoder, treebank, analyses=["dependency", "agreement"], options=ExampleOptions(size), out=tmp_path / "run"
    )
    sample = sample_of(run)
    assert "Inputs with a case of distant subject come first." in sample.note
    stored = {each.id: each for each in sample.sentences}
    assert set(list(stored)[: len(having)]) == set(having)
    assert len(stored) == size
    right = 0
    for name, sentence in stored.items():
        assert set(sentence.guesses) == {f"weight/{each}" for each in (*OTHERS, "verb->subject")}
        cases = {case.row - 1: {row - 1 for row in case.right} for case in sentence.cases}
        assert cases == having.get(name, {})
        assert {(case.name, case.guesses) for case in sentence.cases} <= {("distant subject", ("verb->subject",))}
        (source,) = [each for each in treebank if each.id == name]
        ((_, maps),) = next(extract(encoder, [source])).unpadded()
        guesses = np.frombuffer(inflate(sentence.guesses["weight/verb->subject"]), "<u2").reshape(maps.shape[:3])
        for case in sentence.cases:
            picks = naive_picks(maps, case.row)
            assert guesses[..., case.row].tolist() == picks
            right += sum(pick in case.right for layer in picks for pick in layer)
    assert right
    assert sample_of(load_run(tmp_path / "run")) == sample


@pytest.mark.parametrize("index", [-1, 2])
def test_a_case_of_no_word_is_refused(index: int) -> None:
    """A negative index would silently be another word."""
    sentence = Sentence("s1", ("Birds", "sing"))
    guesses = Guesses(("verb->subject",), most_attended, cases="subject", right=lambda _: {1: {index}})
    with pytest.raises(ValueError, match=f"'subject' of the input 's1' names word {index}, but .* 0 to 1"):
        guesses.cases_of(sentence)
    with pytest.raises(ValueError, match="both the name of their cases and a function"):
        Guesses(("verb->subject",), most_attended, cases="subject")

"""Every use of a head in documents: what it picks for mentions, as the tables of coreference count it."""

from __future__ import annotations

from collections import Counter

import pytest

import attentionology
from attentionology.analyses import CoreferenceOptions, FailureOptions
from attentionology.analyses.shared.input_options import LimitOptions
from attentionology.analyses.shared.options import CountOptions
from attentionology.engine.corpus import CorpusOptions
from attentionology.engine.serving import live_model, server
from attentionology.engine.serving.concordance import Question
from attentionology.engine.serving.live_model import LiveModel
from attentionology.engine.serving.mention_uses import COREFERENCE, uses_of_mentions
from attentionology.engine.serving.served_run import ServedRun
from attentionology.engine.serving.texts import TypedSentence
from tests import approved_runs, tiny
from tests.serving import USES, Page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a run of documents, whose windows overlap, and with its corpus."""
    made = tmp_path_factory.mktemp("served")
    (made / "corpus.conll").write_text("".join(map(approved_runs.document, range(8))), encoding="utf-8")
    options = [
        CorpusOptions(),
        LimitOptions(max_length=40),
        CoreferenceOptions(stride=20),
        CountOptions(replicates=0, min_count=1),
        FailureOptions(failures=("2-1",)),
    ]
    corpus = str(made / "corpus.conll")
    attentionology.analyze(tiny.encoder("bert"), corpus, analyses=COREFERENCE, options=options, out=made / "run")
    return made


@pytest.fixture(scope="module")
def run(folder):
    return ServedRun(folder / "run")


@pytest.fixture(scope="module")
def live(run):
    return LiveModel(tiny.encoder("bert"), run.run.options)


def rows_of(live, run, question):
    """All uses, and the number of windows that were read."""
    *_, (n_read, _) = found = list(uses_of_mentions(live, run.windows(live.encoder), question))
    return n_read, [use for _, of_batch in found for use in of_batch]


def test_uses_count_what_the_tables_count(live, run):
    cells = run.run.coreference.tables.cells.query("candidates == 'preceding'")
    cells = cells.set_index(["direction", "type", "layer", "head"])
    right = set()
    for layer, head, direction in ((1, 0, "mention->antecedent"), (0, 2, "antecedent->mention")):
        n_read, uses = rows_of(live, run, Question((layer, head), "weight", COREFERENCE, direction))
        assert n_read == len(run.windows(live.encoder)) > 8  # of eight documents
        for kind in ("all", "pronoun", "nominal"):
            of_type = [use for use in uses if kind in ("all", use.tag)]
            row = cells.loc[direction, kind, layer + 1, head + 1]
            assert (sum(use.verdict == "right" for use in of_type), len(of_type)) == (row["correct"], row["total"])
            right.add(int(row["correct"]))
    assert len(right) > 3


def test_mistakes_are_those_of_the_table(live, run):
    picked = run.run.tables["coreference_picks"].query("type == 'all' and layer == 2 and head == 1")
    [direction] = set(picked["direction"])
    _, uses = rows_of(live, run, Question((1, 0), "weight", COREFERENCE, direction))
    counts = Counter(use.mistake or "antecedent" for use in uses)
    assert counts == {row.picked: row.count for row in picked.itertuples(index=False) if row.count}
    assert len(counts) > 2


def test_a_use_has_the_mentions_as_they_are_written(live, run):
    """What is picked is a mention before it, and what is right is the nearest of its entity."""
    windows = {window.id: window for window in run.windows(live.encoder)}
    _, uses = rows_of(live, run, Question((1, 0), "weight", COREFERENCE, "mention->antecedent"))
    for use in uses:
        window = windows[use.sentence]
        mentions = [each for each in window.source.mentions if window.start <= each.start and each.stop <= window.stop]
        named = {each.head - window.start: each for each in mentions}
        own = next(each for each in mentions if each.head == use.word + window.start and each.type == use.tag)
        assert use.form.split() == list(window.source.words[own.start : own.stop])
        assert use.picked == window.source.text(named[use.picked_index])
        assert use.gold == window.source.text(named[use.gold_index])
        assert named[use.gold_index].entity == own.entity
        assert (use.verdict == "right") == (named[use.picked_index].entity == own.entity)
        assert use.distance == use.picked_index - use.word < 0
        assert (use.weight >= use.gold_weight) or use.verdict == "right"


def test_a_window_is_drawn_with_its_mentions(live, run, monkeypatch):
    window = [*run.windows(live.encoder)][1]
    drawn = live.draw(TypedSentence(run.sentence(window.id, live.encoder)), ["weight"]).sentence
    assert (drawn.id, drawn.start) == (window.id, window.start)
    assert drawn.mentions
    assert {"weight/mention->antecedent", "weight/antecedent->mention"} <= {*drawn.guesses}
    assert {*drawn.maps} == {"weight"}
    monkeypatch.setattr(live_model, "MOST_ROWS", len(drawn.rows) - 1)  # a longer one is drawn as running text
    as_text = live.draw(TypedSentence(run.sentence(window.id, live.encoder)), ["weight"]).sentence
    assert (as_text.maps, as_text.guesses) == ({}, drawn.guesses)


def test_a_page_asks_for_uses_of_mentions(folder):
    asked = {**USES, "relation": COREFERENCE, "direction": "antecedent->mention"}
    with server.start([folder / "run"], [tiny.encoder("bert")]) as serving:
        page = Page(serving.address)
        status, lines = page.ask("concordance", asked)
        assert (status, lines[-1]["read"]) == (200, lines[-1]["of"])
        assert {line["relation"] for line in lines if "form" in line} == {COREFERENCE}
        assert page.ask("concordance", {**asked, "direction": "dep->head"})[0] == 400

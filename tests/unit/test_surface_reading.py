"""The notes of the surface analysis say how maps were read, and its options are the borders of the labels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from attentionology import analyze
from attentionology.analyses.contract import OptionSet
from attentionology.analyses.dependency.accuracy import TOTALS
from attentionology.analyses.shared.options import CountOptions
from attentionology.analyses.surface import relations
from attentionology.analyses.surface.gradients import Gradients
from attentionology.analyses.surface.options import ReadingOptions, SurfaceOptions
from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from tests import tiny

TREEBANK = load_treebank(SAMPLE_TREEBANK, limit=6)


def read(family: str = "bert", **reading):
    options = [ReadingOptions(**reading), SurfaceOptions(gradients="none"), CountOptions(replicates=2)]
    return analyze(tiny.encoder(family), TREEBANK, analyses="surface", options=options)["surface"]


def test_notes_say_how_maps_were_read():
    """The published code smooths rows for distances more than those for entropies."""
    pieces, words, smooth = read(), read(level="word"), read(smoothing="release")
    assert [note.partition(";")[0] for note in pieces.notes] == ["Positions are pieces"]
    assert [note.partition(";")[0] for note in words.notes] == ["Positions are words"]
    assert smooth.notes == (
        *pieces.notes,
        "As in the published code, 0.0001 of uniform attention was mixed into rows for the entropy, and 0.001 for the "
        "distances between heads.",
    )


def test_special_tokens_have_the_names_of_the_tokenizer():
    assert dict(read().specials) == {"first_special": "[CLS]", "last_special": "[SEP]"}


def test_heads_are_named_after_single_relations(monkeypatch):
    seen: set[str] = set()
    monkeypatch.setattr(relations, "best_relations", lambda best, least: seen.update(best["relation"]))
    analyze(tiny.encoder(), TREEBANK, analyses=["dependency", "surface"], options=[CountOptions(replicates=2)])
    assert seen
    assert not seen & {*TOTALS, "root"}


@pytest.mark.parametrize(("read_inputs", "number"), [(1500, "1,500"), (1200, "1,200 of the first 1,500")])
def test_the_note_on_gradients_counts_what_was_read(read_inputs, number):
    facts = SimpleNamespace(requests={}, asked={"gradients": 1500}, unit="sentences")
    metric = SimpleNamespace(total=read_inputs, compute=lambda: "table")
    counts: Any = SimpleNamespace(
        options=OptionSet([SurfaceOptions()]), facts=facts, failures={}, notes=[], metrics_of=lambda *_: [metric]
    )
    table: Any = Gradients().find(counts, None, {})
    (note,) = counts.notes
    start = "Gradients are those of the masked-LM loss, the mean over masked pieces, on "
    assert (table, note.startswith(f"{start}{number} sentences with 15 % of")) == ("table", True)


def test_of_causal_models_it_is_said_what_a_token_sees_and_what_an_input_begins_with():
    _, note = read("gpt2").notes
    assert note.startswith("The model is causal: a token sees itself and those before it. So nothing goes to the next")
    assert note.endswith("so attention that rests on the first position counts as attention to a word; see --prepend.")


@pytest.mark.parametrize("raised", ["position", "target", "broad"])
def test_each_threshold_is_that_of_its_labels(raised):
    """With one threshold at 1, only its labels are missing; with the others at 0, every head has theirs."""
    options: Any = {f"{name}_threshold": float(name == raised) for name in ("position", "target", "broad")}
    labels = {
        "position": {"next", "previous", "self"},
        "target": {"first-special", "last-special", "punctuation"},
        "broad": {"broad"},
    }
    (found,) = {frozenset(each.split()) for each in read(**options).tables.heads["labels"]}
    assert found == set().union(*(of_one for name, of_one in labels.items() if name != raised))

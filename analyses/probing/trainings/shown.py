"""Which tested sentences a report shows with the heads that probes predict in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy import ndarray

from ....corpora_loaders import Sentence
from ....corpora_loaders.tree import counted_relations
from ....probes import Decoding
from ....probes.splits import Split
from ....reports.drawing import TEXT
from ....reports.heads.figure import size_of_arcs
from ....reports.heads.view import HeadView
from ...counting.resampling import sentence_keys

SHOWN = 3
"""The number of sentences that are shown."""

_LEAST_WORDS = 5

ShownHeads = dict[int, tuple[Decoding, list[int]]]
"""The heads that are predicted in sentences that are shown, by their numbers, each with the way of decoding."""


def shown_heads(
    sentences: Sequence[Sentence],
    splits: Sequence[Split],
    predicted: Sequence[Mapping[Decoding, Sequence[ndarray]]],
    decoding: Decoding,
) -> ShownHeads:
    """Return the heads that are shown, given those of the tested sentences of each split."""
    shown = ShownHeads()
    for number in shown_sentences(sentences):
        for split, of_split in zip(splits, predicted, strict=True):
            if number in split.tested:
                shown[number] = decoding, of_split[decoding][list(split.tested).index(number)].tolist()
    return shown


def shown_sentences(sentences: Sequence[Sentence]) -> tuple[int, ...]:
    """Return the numbers of the sentences that are shown: the first by a hash of those that fit into a figure."""
    fitting = [number for number, sentence in enumerate(sentences) if len(sentence) >= _LEAST_WORDS and _fits(sentence)]
    keys = sentence_keys([sentences[number].id for number in fitting])
    return tuple(sorted(fitting[place] for place in np.argsort(keys, kind="stable")[:SHOWN]))


def _fits(sentence: Sentence) -> bool:
    """Return whether the drawing of a sentence is no wider than the text of a paper, whatever heads are predicted."""
    n, relations = len(sentence), tuple(counted_relations(sentence))
    view = HeadView("", sentence.words, (False,) * n, np.ones((n, n)), 1, None, "", None, (None,) * n, (), relations)
    return size_of_arcs(view).width <= TEXT

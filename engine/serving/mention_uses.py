"""Every use of a head in documents: for each mention that has an antecedent, which candidate the head picks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from torch import Tensor

from ...analyses.coreference.decisions import (
    DIRECTIONS,
    Choice,
    antecedent_hits,
    choices_of,
    picked_positions,
    traits,
)
from ...analyses.coreference.picks import PICKS, picks, relationships
from ...analyses.dependency.decisions import word_positions
from ...corpora_loaders import Sentence
from ...extractors import MapBatch, shared_batches
from ...storage.writing import running_text
from .concordance import Question, Use, of_one_head
from .live_model import LiveModel

COREFERENCE = "coreference"
"""What a question asks for whose uses are those of mentions, in place of a relation."""


def uses_of_mentions(
    model: LiveModel, windows: Iterable[Sentence], question: Question
) -> Iterator[tuple[int, list[Use]]]:
    """Yield the uses of a head in some windows, batch by batch, each with the number of windows read so far."""
    maker, n_read = model.maker(question.kind), 0
    policy, keeps_singletons = model.mentions.candidates, model.mentions.singletons == "keep"
    direction = DIRECTIONS.index(question.direction)
    for batch in shared_batches(model.encoder, windows, max_length=model.most_pieces):
        of_head = of_one_head(maker, batch, question.head)
        choices = choices_of(of_head, singletons=keeps_singletons)
        hits = antecedent_hits(of_head, choices, (policy,))[:, 0]
        picked = picked_positions(of_head, choices, policy, hits)[:, direction, 0, 0].tolist()
        kinds = _kinds(of_head, choices, policy)[:, direction, 0, 0].tolist()
        positions = word_positions(of_head).tolist()
        n_read += len(batch)
        found = []
        for (index, choice), position, kind in zip(choices, picked, kinds, strict=True):
            values = of_head.maps[index, 0, 0].cpu()
            read = values if direction == 0 else values.T
            word = choice.window.start + positions[index].index(position)
            rows = positions[index][: len(choice.window)]
            found.append(_use(choice, word, PICKS[kind], rows, read, model.encoder.causal, question.direction))
        yield n_read, found


def _kinds(of_head: MapBatch, choices: Sequence[tuple[int, Choice]], policy: str) -> np.ndarray:
    """Return what the picks are to the mentions, as indices of `PICKS`."""
    related = {}
    for index in dict.fromkeys(index for index, _ in choices):
        in_window = [choice for index_of_choice, choice in choices if index_of_choice == index]
        window = in_window[0].window
        by_mention = traits(window.source, window.start, window.stop)
        related[index] = relationships(window, in_window, by_mention)
    return picks(of_head, choices, related, policy)


def _use(
    choice: Choice, picked: int, kind: str, rows: Sequence[int], values: Tensor, causal: bool, direction: str
) -> Use:
    """Return the use for a mention. Words are counted through the document, and in the use from the window's start."""
    window, mention, head = choice.window, choice.mention, choice.head
    start = window.start
    nearest = min(choice.gold, key=lambda word: (abs(word - head), word))
    # Where a causal model cannot see any antecedent, a pick is neither right nor wrong.
    is_seen = not causal or any((word < head) == (direction == DIRECTIONS[0]) for word in choice.gold)
    is_right = picked in choice.gold
    document = window.source
    first = document.starts[document.sentence_of(mention.start)]
    last = next((stop for stop in document.starts if stop >= mention.stop), len(document.words))
    first, last = max(first, start), min(last, window.stop)
    of_mention = values[rows[head - start]]
    return Use(
        sentence=window.id,
        word=head - start,
        row=rows[head - start],
        left=running_text(document.words[first : mention.start]),
        form=running_text(document.words[mention.start : mention.stop]),
        right=running_text(document.words[mention.stop : last]),
        picked=_name_mention(choice, picked),
        picked_index=picked - start,
        gold=_name_mention(choice, nearest),
        gold_index=nearest - start,
        weight=float(of_mention[rows[picked - start]]),
        gold_weight=float(of_mention[rows[nearest - start]]),
        distance=picked - head,
        tag=mention.type,
        relation=COREFERENCE,
        verdict=None if not is_seen else "right" if is_right else "wrong",
        mistake=kind if is_seen and not is_right else "",
    )


def _name_mention(choice: Choice, word: int) -> str:
    """Return the text of the mention with a head word, an antecedent if one has it, or the word if none has it."""
    window, document = choice.window, choice.window.source
    in_window = (document.mentions[index] for index in document.starting(window.start, window.stop))
    headed = [each for each in (*choice.before, *in_window) if each.head == word and each.stop <= window.stop]
    named = next((each for each in headed if each.entity == choice.mention.entity), headed[0] if headed else None)
    return document.words[word] if named is None else document.text(named)

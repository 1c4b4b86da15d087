"""What each attention head picks for a word instead of its syntactic head, by how the two words are related.

A wrong pick may be near in the tree, near in the sentence, or neither. `picks` names one relationship of the picked
word for every word, direction and head. As in `attentionology.analyses.dependency.decisions`, float32 decides first,
and a sentence is decided again in float64 where words of different relationships are too close to each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from jaxtyping import Int

from ...corpora_loaders import Sentence, coarse_relation, is_punct
from ...corpora_loaders.tree import counted_relations
from ...extractors import DIRECTIONS, MapBatch
from ..shared.picks import picked_kinds, read_in
from .decisions import ScoredWords, head_hits, word_positions

Array = npt.NDArray[np.int64]

PICKS = (
    "head",
    "punctuation",
    "dependent",
    "argument",
    "sibling",
    "grandparent",
    "neighbor",
    "other",
    "itself",
    "out of reach",
    "none",
)
"""What is picked for a word. The first one that applies is counted: its syntactic head; punctuation; a dependent of the
word; another core argument of the verb that is its head; another dependent of its head; the head of its head; the word
before or after it; any other word; the word itself, which only a fixed offset picks, at the ends of a sentence. *Out of
reach* is every wrong pick where the value of the syntactic head is exactly 0, as in models that see only the words
before. *None* is the pick in a sentence of one word."""

CORE = frozenset({"nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp", "dobj", "nsubjpass", "csubjpass"})
"""The relations of core arguments, in Universal Dependencies and Stanford Dependencies."""

HEAD, _OTHER, _ITSELF = (PICKS.index(name) for name in ("head", "other", "itself"))
_OUT_OF_REACH, _NONE = (PICKS.index(name) for name in ("out of reach", "none"))


def relationships(sentence: Sentence) -> Int[np.ndarray, "n n"]:
    """Return what each word (the column) is to each other word (the row), as an index of `PICKS`."""
    n = len(sentence)
    numbers = np.arange(1, n + 1)
    heads = np.array([-1 if head is None else head for head in sentence.heads])
    head_or_0 = np.maximum(heads, 0)  # looks up entries of heads in arrays that begin with one of no word
    head_of_head = np.array([0, *heads])[head_or_0]
    is_core = np.array([coarse_relation(relation).lower() in CORE for relation in sentence.relations])
    is_punctuation = np.array([is_punct(relation) for relation in counted_relations(sentence)])
    # Without parts of speech, any word may be the verb.
    is_verb = np.array([False, *(tag in ("VERB", "AUX") for tag in sentence.tags or ["VERB"] * n)])
    has_head = (heads > 0)[:, None]
    sibling = (heads[:, None] == heads) & has_head
    cells_of_kinds = {
        "neighbor": np.abs(numbers[:, None] - numbers) == 1,
        "grandparent": (head_of_head[:, None] == numbers) & has_head,
        "sibling": sibling,
        "argument": sibling & is_core & is_verb[head_or_0][:, None],
        "dependent": heads[None] == numbers[:, None],
        "punctuation": np.broadcast_to(is_punctuation, (n, n)),
        "head": heads[:, None] == numbers,
        "itself": np.eye(n, dtype=bool),
    }
    result = np.full((n, n), _OTHER, dtype=np.int8)
    for kind, cells in cells_of_kinds.items():  # from the weakest to the strongest claim, which replaces it
        result[cells] = PICKS.index(kind)
    return result


def picks(
    batch: MapBatch, words: ScoredWords, readings: int = len(DIRECTIONS)
) -> Int[np.ndarray, "words readings layers heads"]:
    """Return what each head picks for each word in the first of the `READINGS`, as an index of `PICKS`."""
    hits = head_hits(batch, words, readings).cpu().numpy()
    position = word_positions(batch).numpy()
    maps = batch.maps.cpu().numpy()
    result = np.full(hits.shape, _NONE, dtype=np.int8)
    for row, sentence in enumerate(batch.sentences):
        scored = np.flatnonzero(words.sentence == row)
        if len(sentence) < 2 or not len(scored):
            continue
        places = position[row, : len(sentence)]
        number, head = words.number[scored] - 1, words.head[scored] - 1  # from 0, −1 for a root
        related = relationships(sentence)[number]  # word, candidate
        by_reading = [values[..., places[number], places[head]] for values in read_in(maps[row], readings)]
        gold_values = np.stack(by_reading).transpose(3, 0, 1, 2)  # word, reading, layer, head
        is_right = hits[scored]
        # Whether a word is out of reach is what float32 says even where a sentence is decided again in float64, so
        # that it does not depend on the doubts about other words.
        out_of_reach = (gold_values == 0) & (head >= 0)[:, None, None, None]
        barred = (related == HEAD) | (related == _ITSELF)
        kinds = picked_kinds(batch, row, places, number, related, barred, is_right | out_of_reach)
        kinds[out_of_reach] = _OUT_OF_REACH
        kinds[is_right] = HEAD
        result[scored] = kinds
    return result

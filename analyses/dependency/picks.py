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
from ...extractors import DIRECTIONS, MapBatch
from .decisions import ScoredWords, head_hits, read_in, word_positions

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

_OTHER, _REACH, _NONE = PICKS.index("other"), PICKS.index("out of reach"), PICKS.index("none")


def relationships(sentence: Sentence) -> Int[np.ndarray, "n n"]:
    """Return what each word (the column) is to each other word (the row), as an index of `PICKS`."""
    n = len(sentence)
    heads = np.array([-1 if head is None else head for head in sentence.heads])
    numbers = np.arange(1, n + 1)
    names = [coarse_relation(relation) for relation in sentence.relations]
    core = np.array([name.lower() in CORE for name in names])
    punctuation = np.array([is_punct(relation) for relation in sentence.relations])
    # Without parts of speech, any word may be the verb.
    verb = np.array([False, *(tag in ("VERB", "AUX") for tag in sentence.tags or ["VERB"] * n)])
    above = np.array([0, *heads])[np.maximum(heads, 0)]  # the heads of the heads, which for a root is no word
    has_head = (heads > 0)[:, None]
    sibling = (heads[:, None] == heads) & has_head
    kinds = {
        "neighbor": np.abs(numbers[:, None] - numbers) == 1,
        "grandparent": (above[:, None] == numbers) & has_head,
        "sibling": sibling,
        "argument": sibling & core & verb[np.maximum(heads, 0)][:, None],
        "dependent": heads[None] == numbers[:, None],
        "punctuation": np.broadcast_to(punctuation, (n, n)),
        "head": heads[:, None] == numbers,
        "itself": np.eye(n, dtype=bool),
    }
    result = np.full((n, n), _OTHER, dtype=np.int8)
    for name, cells in kinds.items():  # from the weakest to the strongest claim
        result[cells] = PICKS.index(name)
    return result


def picks(
    batch: MapBatch, words: ScoredWords, readings: int = len(DIRECTIONS)
) -> Int[np.ndarray, "words readings layers heads"]:
    """Return what each head picks for each word in the first of the `READINGS`, as an index of `PICKS`."""
    hits = head_hits(batch, words, readings).numpy()
    position = word_positions(batch).numpy()
    maps = batch.maps.cpu().numpy()
    result = np.full(hits.shape, _NONE, dtype=np.int8)
    for row, sentence in enumerate(batch.sentences):
        scored = np.flatnonzero(words.sentence == row)
        places = position[row, : len(sentence)]
        if len(places) < 2 or not len(scored):
            continue
        number, head = words.number[scored] - 1, words.head[scored] - 1
        related = relationships(sentence)[number]  # word, candidate
        inner = maps[row][..., places[:, None], places]
        of_gold = np.stack([each[..., number, head] for each in read_in(inner, readings)]).transpose(3, 0, 1, 2)
        # Whether a word is out of reach is what float32 says even where a sentence is decided again in float64, so
        # that it does not depend on the doubts about other words.
        beyond = (of_gold == 0) & (head >= 0)[:, None, None, None]
        kinds, in_doubt = _kinds(inner, number, related, batch.noise, readings)
        in_doubt &= ~hits[scored] & ~beyond
        if in_doubt.any():
            n_layers = int(np.flatnonzero(in_doubt.any((0, 1, 3)))[-1]) + 1
            exact = batch.exact([row], n_layers)[0].cpu().numpy()[:n_layers]
            kinds[:, :, :n_layers] = _kinds(exact[..., places[:, None], places], number, related, 0.0, readings)[0]
        kinds[beyond] = _REACH
        kinds[hits[scored]] = 0
        result[scored] = kinds
    return result


def _kinds(
    maps: npt.NDArray[np.floating], number: Array, related: npt.NDArray[np.int8], noise: float, readings: int
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.bool_]]:
    """Return what is picked if the syntactic head is not, and whether rounding may decide it."""
    n_layers, n_heads = maps.shape[:2]
    kinds = np.empty((len(number), readings, n_layers, n_heads), dtype=np.int8)
    in_doubt = np.empty(kinds.shape, dtype=bool)
    barred = (related == 0) | (related == PICKS.index("itself"))
    for layer, layer_maps in enumerate(maps):  # the arrays of one layer at a time take little memory
        for reading, view in enumerate(read_in(layer_maps, readings)):
            others = np.where(barred, -np.inf, view[:, number])  # head, word, candidate
            best = others.max(-1, keepdims=True)
            of_candidates = np.broadcast_to(related, others.shape)
            picked = np.take_along_axis(of_candidates, others.argmax(-1)[..., None], -1)
            # Values that are 0 are equal whatever the rounding, and those of the barred are no values.
            close = (others >= best - noise * np.abs(best)) & np.isfinite(best) & (best != 0)
            kinds[:, reading, layer] = picked[..., 0].T
            in_doubt[:, reading, layer] = (close & (of_candidates != picked)).any(-1).T
    return kinds, in_doubt

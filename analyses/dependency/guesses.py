"""The word that each head picks as the syntactic head of a word, for inputs that are kept to be looked at."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ...extractors import DIRECTIONS, MapBatch
from .decisions import ScoredWords, barred_cells, head_hits, word_positions


def head_guesses(batch: MapBatch) -> Int[Tensor, "batch 2 layers heads n"]:
    """Return the position that each head picks for each word, in both `DIRECTIONS`; −1 if there is no candidate."""
    # Whether a guess is right is what `attentionology.analyses.dependency.decisions.head_hits` says, which decides
    # close races in float64. Where the gold word is not picked, the guess is the best of the other candidates in
    # float32: a close race between two wrong candidates is not decided again.
    relations = {relation: 0 for sentence in batch.sentences for relation in sentence.relations}
    words = ScoredWords.of(batch.sentences, relations)
    hits = head_hits(batch, words).numpy()
    position = word_positions(batch).numpy()
    maps = batch.maps.cpu()
    picks = np.full((len(batch), len(DIRECTIONS), *maps.shape[1:4]), -1, dtype=np.int64)
    rooted = words.head > 0
    for row in range(len(batch)):
        scored = np.flatnonzero((words.sentence == row) & rooted)
        dependent, governor = (position[row, numbers[scored] - 1] for numbers in (words.number, words.head))
        allowed = maps[row].masked_fill(barred_cells(batch.words[row]), -torch.inf).numpy()
        for direction, view in enumerate((allowed, allowed.swapaxes(-1, -2))):
            others = view.copy()
            others[..., dependent, governor] = -np.inf
            picked = np.where(np.isinf(others.max(-1)), -1, others.argmax(-1))
            right = hits[scored, direction].transpose(1, 2, 0)
            picked[..., dependent] = np.where(right, governor, picked[..., dependent])
            picks[row, direction] = picked
    return torch.from_numpy(picks)

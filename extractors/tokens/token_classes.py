"""Classes of tokens that do not depend on what the model calls them or how its tokenizer marks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ...corpora_loaders.words import is_punctuation as is_punctuation
from .pieces import Pieces

TOKEN_CLASSES = ("[CLS]", "[SEP]", "[MASK]", "punctuation", "other")
"""The classes of tokens. Special tokens before the first word count as [CLS] and all others as [SEP], whatever the
model calls them. A piece is punctuation if all its characters are punctuation in Unicode."""


class PieceForms(dict[int, str]):
    """The text of each piece without the tokenizer's marks: ``ing`` for ``##ing``, ``.`` for ``Ġ.``."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._inside = getattr(tokenizer.backend_tokenizer.model, "continuing_subword_prefix", None) or ""

    def __missing__(self, piece: int) -> str:
        form = str(self._tokenizer.decode([piece], clean_up_tokenization_spaces=False)).strip()
        self[piece] = form.removeprefix(self._inside) if len(form) > len(self._inside) else form
        return self[piece]


def token_classes(forms: PieceForms, mask_id: int | None, batch: Sequence[Pieces]) -> Int[Tensor, "batch n"]:
    """Return the index into `TOKEN_CLASSES` of every piece, −1 on padding."""
    cls, sep, mask, punctuation, other = range(len(TOKEN_CLASSES))  # the indices of the classes
    rows = []
    for pieces in batch:
        first_word = pieces.special.index(False) if False in pieces.special else len(pieces.special)
        classes = []
        for piece, position in zip(pieces.ids, pieces.positions, strict=True):
            if piece == mask_id:
                classes.append(mask)
            elif pieces.special[position]:
                classes.append(cls if position < first_word else sep)
            else:
                classes.append(punctuation if is_punctuation(forms[piece]) else other)
        rows.append(torch.tensor(classes, dtype=torch.long))
    return pad_sequence(rows, batch_first=True, padding_value=-1)

"""Encoders: they turn the embeddings of words into states, to which attention is paid.

Every encoder takes embeddings of shape (batch, positions, dimensions), which are zero on padding, and the lengths of
the texts. It returns states of shape (batch, positions, size), which do not depend on how far a text was padded.
"""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

EncoderName = Literal["lstm", "cnn", "average", "none", "han"]

KERNELS = (1, 3, 5, 7)
_SIZES = {"lstm": 256, "han": 256, "cnn": 128, "average": 128}  # Jain & Wallace: 128 for each direction of the LSTM


class BiLSTM(nn.Module):
    """A bidirectional LSTM of one layer."""

    # Each direction is an LSTM over the padded batch. The second reads every text from its end, with the padding still
    # last, so that padding never influences a word. On a CPU this takes half the time of packed sequences.

    def __init__(self, dimensions: int, size: int) -> None:
        super().__init__()
        self.ahead = nn.LSTM(dimensions, size // 2, batch_first=True)
        self.back = nn.LSTM(dimensions, size // 2, batch_first=True)

    def forward(
        self, embedded: Float[Tensor, "batch positions dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch positions size"]:
        """Return the states of both directions, side by side, at each position."""
        # Padding stays where it is; only the words of each text, up to ``last``, change places.
        last = lengths[:, None] - 1
        position = torch.arange(embedded.shape[1])
        reversed_position = torch.where(position <= last, last - position, position)[..., None]
        ahead, _ = self.ahead(embedded)
        back, _ = self.back(embedded.gather(1, reversed_position.expand_as(embedded)))
        return torch.cat([ahead, back.gather(1, reversed_position.expand_as(back))], dim=-1)

    @torch.no_grad()
    def of_parts(
        self, table: Float[Tensor, "rows dim"], ids: Int[Tensor, "batch positions"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch positions size"]:
        """Return the states that `forward` gives for these rows of a table, but zeros at both ends and behind them.

        What texts have in common at their beginnings is read once in one direction, and what they have in common at
        their ends is read once in the other.
        """
        last = lengths[:, None] - 1
        position = torch.arange(ids.shape[1])
        reversed_position = torch.where(position <= last, last - position, position)
        is_inside = (position > 0) & (position < last)
        ahead, node_ahead = _read_parts(self.ahead, table, ids, lengths)
        back, node_back = _read_parts(self.back, table, ids.gather(1, reversed_position), lengths)
        node_ahead = node_ahead.masked_fill(~is_inside, 0)
        node_back = node_back.gather(1, reversed_position).masked_fill(~is_inside, 0)
        return torch.cat([functional.embedding(node_ahead, ahead), functional.embedding(node_back, back)], dim=-1)


def _read_parts(
    lstm: nn.LSTM, table: Float[Tensor, "rows dim"], ids: Int[Tensor, "batch positions"], lengths: Int[Tensor, " batch"]
) -> tuple[Float[Tensor, "nodes half"], Int[Tensor, "batch positions"]]:
    """Return the states of an LSTM after all different beginnings of texts, and which one is that at each position.

    The first state is that before all words. The last word of each text is not read.
    """
    # The beginnings are the nodes of a tree: the parent of a beginning is the one without its last word. The nodes of a
    # level, which are beginnings of the same length, are computed together from those of the level above.
    rows, word_of = torch.unique(ids, return_inverse=True)
    # A word adds the same to the gates wherever it occurs, so each word is multiplied by the weights only once.
    weights: dict[str, Tensor] = dict(lstm.named_parameters())
    bias = weights["bias_ih_l0"] + weights["bias_hh_l0"]
    of_words = functional.linear(table[rows], weights["weight_ih_l0"], bias)
    longest_first = lengths.argsort(descending=True, stable=True)
    word_of = word_of[longest_first]
    n_texts = (lengths[:, None] - 1 > torch.arange(ids.shape[1])).sum(0).tolist()  # that have a word at each position
    hidden = cell = of_words.new_zeros(1, lstm.hidden_size)
    levels, n_nodes = [hidden], 1
    node = torch.zeros_like(lengths)  # of each text, within the level
    node_at = torch.zeros_like(ids)  # among all levels
    for position, n in enumerate(n_texts):
        children, node = torch.unique(node[:n] * len(rows) + word_of[:n, position], return_inverse=True)
        parent, word = children // len(rows), children % len(rows)
        gates = of_words.index_select(0, word).addmm_(hidden.index_select(0, parent), weights["weight_hh_l0"].T)
        enter, keep, new, leave = gates.chunk(4, dim=-1)  # in the order of torch
        new = new.tanh()
        gates.sigmoid_()  # that of ``new`` is not used; in one go it takes less time than of three parts
        cell = new.mul_(enter).addcmul_(keep, cell.index_select(0, parent))
        hidden = cell.tanh().mul_(leave)
        node_at[longest_first[:n], position] = node + n_nodes
        levels.append(hidden)
        n_nodes += len(hidden)
    return torch.cat(levels), node_at


class CNN(nn.Module):
    """Convolutions over 1, 3, 5 and 7 positions with ReLU, a quarter of the size each."""

    def __init__(self, dimensions: int, size: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv1d(dimensions, size // len(KERNELS), kernel, padding=kernel // 2) for kernel in KERNELS
        )

    def forward(
        self, embedded: Float[Tensor, "batch positions dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch positions size"]:
        """Return the outputs of all convolutions, side by side and after ReLU, at each position."""
        channels = embedded.transpose(1, 2)
        return torch.cat([convolution(channels) for convolution in self.convolutions], dim=1).relu().transpose(1, 2)


class Projection(nn.Module):
    """A linear layer with tanh, applied to each word by itself ("average" in the paper of Jain & Wallace)."""

    def __init__(self, dimensions: int, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dimensions, size)

    def forward(
        self, embedded: Float[Tensor, "batch positions dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch positions size"]:
        """Return the tanh of the linear layer at each position."""
        states: Tensor = self.linear(embedded).tanh()
        return states


class Embeddings(nn.Module):
    """The embeddings themselves (the model without an encoder of Serrano & Smith)."""

    def __init__(self, dimensions: int, size: int) -> None:  # the arguments of all encoders
        super().__init__()

    def forward(
        self, embedded: Float[Tensor, "batch positions dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch positions size"]:
        """Return the embeddings as they are."""
        return embedded


def last_state(
    encoder: str, states: Float[Tensor, "batch positions size"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch size"]:
    """Return the state with which an encoder ends a text, as in the code of Jain & Wallace."""
    # These are the last states of both directions of an LSTM, the largest values of a CNN, and else the mean.
    inside = torch.arange(states.shape[1])[None, :, None] < lengths[:, None, None]
    if encoder == "lstm":
        half = states.shape[-1] // 2
        ahead = states[torch.arange(len(states)), lengths - 1, :half]
        return torch.cat([ahead, states[:, 0, half:]], dim=-1)
    if encoder == "cnn":
        return states.masked_fill(~inside, -torch.inf).amax(1)
    return (states * inside).sum(1) / lengths[:, None]


ENCODERS: dict[str, type[nn.Module]] = {
    "lstm": BiLSTM,
    "han": BiLSTM,
    "cnn": CNN,
    "average": Projection,
    "none": Embeddings,
}


def size_of(encoder: str, dimensions: int, size: int | None, *, as_embeddings: bool) -> int:
    """Return the size of the states: the given one, that of the embeddings if it must be the same, or the default."""
    if encoder == "none" or as_embeddings:
        if size not in (None, dimensions):
            raise ValueError(f"states must have the {dimensions} dimensions of the embeddings here, not {size}")
        size = dimensions
    size = _SIZES[encoder] if size is None else size
    parts = {"lstm": 2, "han": 2, "cnn": len(KERNELS)}.get(encoder, 1)  # directions, or widths of convolutions
    if size % parts or size < parts:
        raise ValueError(f"the size of the states of {encoder!r} must be a multiple of {parts}, not {size}")
    return size

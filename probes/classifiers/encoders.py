"""From embeddings of words to states: what attention is paid to.

Every encoder takes embeddings (batch, positions, dimensions), zero at padding, and lengths; it gives states (batch,
positions, size) that do not depend on how far a text was padded.
"""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

EncoderName = Literal["lstm", "cnn", "average", "none"]

KERNELS = (1, 3, 5, 7)


class BiLSTM(nn.Module):
    """One layer in both directions.

    Each is an LSTM over the padded batch, the second over texts turned round within their lengths, so that padding
    always comes last and reaches nothing. On a CPU that takes half the time of packed sequences.

    Args:
        dimensions: of the embeddings.
        size: of the states, half of it for each direction.
    """

    def __init__(self, dimensions: int, size: int) -> None:
        super().__init__()
        self.ahead = nn.LSTM(dimensions, size // 2, batch_first=True)
        self.back = nn.LSTM(dimensions, size // 2, batch_first=True)

    def forward(
        self, embedded: Float[Tensor, "batch positions dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch positions size"]:
        """States."""
        last = lengths[:, None] - 1
        position = torch.arange(embedded.shape[1])
        turned = torch.where(position <= last, last - position, position)[..., None]
        ahead, _ = self.ahead(embedded)
        back, _ = self.back(embedded.gather(1, turned.expand_as(embedded)))
        return torch.cat([ahead, back.gather(1, turned.expand_as(back))], dim=-1)


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
        """States."""
        channels = embedded.transpose(1, 2)
        return torch.cat([convolution(channels) for convolution in self.convolutions], dim=1).relu().transpose(1, 2)


class Projection(nn.Module):
    """A linear layer and tanh, word by word: nothing of one word reaches another ("average" of Jain & Wallace)."""

    def __init__(self, dimensions: int, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dimensions, size)

    def forward(
        self, embedded: Float[Tensor, "batch positions dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch positions size"]:
        """States."""
        states: Tensor = self.linear(embedded).tanh()
        return states


class Embeddings(nn.Module):
    """The embeddings themselves (the model without an encoder of Serrano & Smith)."""

    def __init__(self, dimensions: int, size: int) -> None:
        super().__init__()

    def forward(
        self, embedded: Float[Tensor, "batch positions dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch positions size"]:
        """States."""
        return embedded


ENCODERS: dict[str, type[nn.Module]] = {"lstm": BiLSTM, "cnn": CNN, "average": Projection, "none": Embeddings}

_SIZES = {"lstm": 256, "cnn": 128, "average": 128}  # Jain & Wallace: 128 for each direction of the LSTM


def size_of(encoder: str, dimensions: int, size: int | None, *, as_embeddings: bool) -> int:
    """Size of the states.

    Args:
        encoder: which.
        dimensions: of the embeddings.
        size: as asked for; None: as Jain & Wallace have it.
        as_embeddings: whether it must be that of the embeddings.

    Raises:
        ValueError: it cannot be that size.
    """
    if encoder == "none" or as_embeddings:
        if size not in (None, dimensions):
            raise ValueError(f"states must have the {dimensions} dimensions of the embeddings here, not {size}")
        size = dimensions
    size = _SIZES[encoder] if size is None else size
    parts = {"lstm": 2, "cnn": len(KERNELS)}.get(encoder, 1)
    if size % parts or size < parts:
        raise ValueError(f"the size of the states of {encoder!r} must be a multiple of {parts}, not {size}")
    return size

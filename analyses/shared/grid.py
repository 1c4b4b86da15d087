"""Fixed grids on which positive numbers are counted, so that counts of parts of a corpus add up exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

_MANTISSA_BITS, _BIAS = 23, 127


@dataclass(frozen=True)
class OctaveGrid:
    """A grid whose octaves, from one power of 2 to the next, are cut into equally wide steps."""

    # The cell of a number is read off the bits of its float32: the exponent, and the first bits of the mantissa. So it
    # is the same on every machine, and larger numbers never come before smaller ones. Cell 0 has what is below the
    # grid.
    # low, high: the exponents of the powers of 2 where the grid begins and ends. Numbers from the end on are in the
    # last cell.

    low: int
    high: int
    steps: int  # how many steps an octave has, a power of 2

    def __len__(self) -> int:
        return (self.high - self.low) * self.steps + 2  # with the cells below and above the grid

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """The lower edge of each cell."""
        octave, step = np.divmod(np.arange(len(self) - 1), self.steps)  # of all cells but the one below the grid
        return np.concatenate([[0.0], 2.0 ** (self.low + octave) * (1 + step / self.steps)])

    def cells(self, values: Float[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
        """Return the cell of each number, none of which is negative."""
        bits = self.steps.bit_length() - 1  # of the mantissa, which number the steps of an octave
        step = values.float().contiguous().view(torch.int32) >> (_MANTISSA_BITS - bits)  # the exponent and these bits
        first_step = (self.low + _BIAS) << bits
        return (step - first_step + 1).clamp_(0, len(self) - 1).long()

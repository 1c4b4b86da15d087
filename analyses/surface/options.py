"""The options of the analysis ``surface``, and those that it shares with ``clusters``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import arg

from attentionology.analyses.contract import OptionError


@dataclass(frozen=True)
class ReadingOptions:
    """Options of the analyses surface and clusters."""

    level: Literal["token", "word"] = "token"
    """Whether pieces are tokens of their own, or merged into the words of a treebank."""

    smoothing: Literal["none", "release"] = "none"
    """release mixes a little uniform attention into every row first, as the paper's published code does: 0.0001 for the
    entropy, 0.001 for the distances between heads."""

    position_threshold: Annotated[float, arg(metavar="SHARE")] = 0.5
    """A head is labelled next, previous or self if more than this share of its attention goes there."""

    target_threshold: Annotated[float, arg(metavar="SHARE")] = 0.6
    """The same for special tokens and punctuation."""

    broad_threshold: Annotated[float, arg(metavar="SHARE")] = 0.8
    """A head is labelled broad if its entropy is above this share of the entropy of uniform attention."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        for name in ("position_threshold", "target_threshold", "broad_threshold"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"--{name.replace('_', '-')} must be from 0 to 1, not {getattr(self, name)}")


@dataclass(frozen=True)
class SurfaceOptions:
    """Options of the analysis surface."""

    reach: Annotated[int, arg(metavar="N")] = 5
    """Attention to tokens up to this many positions away is tabulated offset by offset."""

    gradients: Literal["auto", "mlm", "hidden", "none"] = "auto"
    """Loss whose gradient tells what attention matters. mlm: masked-LM loss, for models with that head. hidden:
    distance of the final hidden states with masks from those without. auto: mlm where there is a head, else nothing."""

    gradient_sentences: Annotated[int, arg(metavar="N")] = 100
    """How many sentences, paragraphs or segments, from the first on, to take gradients of."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        for name in ("reach", "gradient_sentences"):
            if getattr(self, name) < 1:
                raise OptionError(f"--{name.replace('_', '-')} must be at least 1, not {getattr(self, name)}")
        if self.gradients == "none" and self.gradient_sentences != SurfaceOptions.gradient_sentences:
            raise OptionError("--gradient-sentences has no effect on --gradients none")

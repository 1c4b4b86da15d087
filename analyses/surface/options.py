"""The options of the surface analysis, and those that it shares with the clusters analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ..contract import AnalysisRow, OptionError, OptionGroup
from ..option_groups import Bounds
from ..shared.numbers import Number, Share
from ..shared.options import CountOptions, FeedForwardOptions, MapOptions


@dataclass(frozen=True)
class ReadingOptions(OptionGroup):
    """Options of the surface and clusters analyses.

    Example:
        >>> from attentionology.analyses import ReadingOptions
        >>> ReadingOptions(position_threshold=50.0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --position-threshold must be from 0 to 1, not 50.0
    """

    level: Literal["token", "word"] = "token"
    """Whether the tokens are the pieces of the tokenizer, or the words of the treebank, into which pieces are
    merged."""

    smoothing: Literal["none", "release"] = "none"
    """Whether a small amount of uniform attention is mixed into each row first. The choice release does so as the
    published code of the paper does, with 0.0001 for the entropy and 0.001 for the distances between heads."""

    position_threshold: Share = 0.5
    """A head is labeled next, previous or self if more than this share of its attention is on these tokens."""

    target_threshold: Share = 0.6
    """A head is labeled by a special token or punctuation if more than this share of its attention is on these
    tokens."""

    broad_threshold: Share = 0.8
    """A head is labeled broad if its entropy is above this share of the entropy of uniform attention."""


@dataclass(frozen=True)
class SurfaceOptions(OptionGroup):
    """Options of the surface analysis.

    Example:
        >>> from attentionology.analyses import SurfaceOptions
        >>> SurfaceOptions(reach=0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --reach must be at least 1, not 0
    """

    reach: Number = 5
    """The table of offsets contains the attention to tokens up to N positions away."""

    gradients: Literal["auto", "mlm", "hidden", "none"] = "auto"
    """The loss whose gradient shows which attention matters. The choices are:

    - auto: like mlm if the checkpoint has a masked-LM head, and like none otherwise.
    - mlm: the masked-LM loss, as in the paper.
    - hidden: the distance between the final hidden states of the masked and of the unmasked text.
    - none: no gradients are computed.
    """

    gradient_sentences: Number = 100
    """Gradients are computed for the first N sentences, paragraphs or segments."""

    detectors: Annotated[int, Bounds(0)] = 0
    """Look for duplicate and induction heads in N sequences of random pieces, each of which the model reads twice in a
    row, and in the corpus; 20 are enough. With 0, it does not look for them."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        if self.gradients == "none" and self.gradient_sentences != SurfaceOptions.gradient_sentences:
            raise OptionError("--gradient-sentences has no effect on --gradients none")


SURFACE = AnalysisRow(
    name="surface",
    location="attentionology.analyses.surface.analysis:Surface",
    options=(SurfaceOptions, ReadingOptions, CountOptions, MapOptions, FeedForwardOptions),
    needs=("dependency",),
    by_default=True,
    summary=(
        "surface: attention to neighbors, special tokens and punctuation, its entropy, and how much of it matters to "
        "the loss (section 3)."
    ),
)

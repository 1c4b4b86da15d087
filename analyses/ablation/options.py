"""The options of the ablation analysis."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import arg

from ...storage.writing import amount
from ..contract import AnalysisRow, OptionError, OptionGroup
from ..dependency.options import DependencyOptions
from ..shared.numbers import Count, Number
from ..shared.options import CountOptions

_HEAD = re.compile(r"([1-9][0-9]{0,5})-([1-9][0-9]{0,5})")


@dataclass(frozen=True)
class AblationOptions(OptionGroup):
    """Options of the ablation analysis.

    Example:
        >>> from attentionology.analyses import AblationOptions
        >>> AblationOptions(ablate_heads=("3-9",)).chosen(n_layers=6, n_heads=12)
        ((2, 8),)
        >>> AblationOptions(ablate_heads=("3.9",)).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --ablate-heads takes names such as 3-9, not '3.9'
    """

    ablate: Literal["mean", "zero"] = "mean"
    """What a head gives when it is switched off, before the output projection: its mean over the text, or zeros. Zeros
    also take away what a head gives at every position alike, which the model may rely on."""

    ablate_heads: Annotated[tuple[str, ...], arg(metavar="HEAD [HEAD ...]")] = ()
    """The heads that are switched off, one at a time, for example 3-9 3-10. By default, all are."""

    ablate_layers: Annotated[tuple[Number, ...], arg(metavar="N [N ...]")] = ()
    """The layers whose heads are switched off, counted from 1. By default, all are."""

    mean_sentences: Number = 1000
    """The first N sentences give the means, in a pass of their own."""

    predictions: Literal["auto", "none"] = "auto"
    """Whether heads are also switched off while the model predicts masked pieces, or next words if it is causal, if the
    checkpoint has a language-model head. This takes as long again."""

    pruning_sentences: Count = 50
    """The first N sentences on which more and more heads are switched off at once, in several orders. This takes about
    130 forward passes of each; 0 leaves it out."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        if wrong := next((name for name in self.ablate_heads if not _HEAD.fullmatch(str(name))), None):
            raise OptionError(f"--ablate-heads takes names such as 3-9, not {wrong!r}")

    def chosen(self, n_layers: int, n_heads: int) -> tuple[tuple[int, int], ...]:
        """Return the layers and heads that are switched off, both from 0.

        Raises:
            OptionError: the model has no such layer or head, or none is left.
        """
        named_heads = {tuple(int(number) - 1 for number in name.split("-")) for name in self.ablate_heads}
        shape = f"the model has {amount(n_layers, 'layers')} of {amount(n_heads, 'heads')}"
        for layer in self.ablate_layers:
            if not 1 <= layer <= n_layers:
                raise OptionError(f"--ablate-layers: there is no layer {layer}; {shape}")
        for layer, head in sorted(named_heads):
            if layer >= n_layers or head >= n_heads:
                raise OptionError(f"--ablate-heads: there is no head {layer + 1}-{head + 1}; {shape}")
        layers = [layer - 1 for layer in self.ablate_layers] or range(n_layers)
        chosen = tuple(
            (layer, head)
            for layer in range(n_layers)
            for head in range(n_heads)
            if layer in layers and (not named_heads or (layer, head) in named_heads)
        )
        if not chosen:
            raise OptionError("none of --ablate-heads is in one of --ablate-layers")
        return chosen


ABLATION = AnalysisRow(
    name="ablation",
    location="attentionology.analyses.ablation.analysis:Ablation",
    options=(AblationOptions, DependencyOptions, CountOptions),
    needs=("dependency",),
    of_maps=False,
    summary=(
        "ablation: what changes if a head is switched off, in the final vectors of words and in what the model "
        "predicts, and whether the head that finds a relation matters for its words. It takes about layers × heads / 2 "
        "forward passes."
    ),
)

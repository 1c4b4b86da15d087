"""Options that several analyses read, and the makers of the maps that they choose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from ...storage.nearest import did_you_mean
from ...storage.writing import amount
from ..contract import OptionError, OptionGroup
from ..option_groups import Bounds, names_in
from .numbers import MinCount
from .option_types import PieceMerging, Replicates, RowScaling

if TYPE_CHECKING:
    from ...extractors import FFBias, MapMaker, Merge, Normalize


_CONTROL = re.compile(r"random-init(?::(?P<copies>[0-9]{1,9}))?")


@dataclass(frozen=True)
class MapOptions(OptionGroup):
    """Options of the attention maps.

    Example:
        >>> from attentionology import MapOptions
        >>> MapOptions(map=("norm", "norm")).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --map names a kind twice
    """

    map: Annotated[tuple[str, ...], arg(metavar="KIND [KIND ...]")] = ("weight",)
    """The kinds of maps, which measure how much flows from token to token. All analyses but norms read them. Several
    kinds are made in one pass, and tables then have the column map. The kinds are:

    - weight: the attention weights of each head.
    - norm: the norms of what each head moves, which are attention weights times transformed vectors.
    - attn, attnres, attnresln: the norms of what all heads of a layer move together; with the residual connection; and
      with the layer norm.
    - globenc: attnresln with the second layer norm, but without the feed-forward block.
    - atbff, atbffres, atbffresln: attnresln through the feed-forward block; with its residual connection; and with the
      second layer norm, which is the whole layer.
    - alti, alti-l2: how much closer each contribution brings a token to the output of the attention block, by L1 or
      Euclidean distance.
    - value-zeroing: how much the output of a layer changes if the value of a token is set to zero.
    - attention-x-gradient: each attention weight times the gradient of the size of the text's mean final vector,
      without its sign. attention-x-gradient-signed has the sign, and attention-x-gradient-positive is 0 below 0.
    - rollout, rollout:KIND: the attention weights, or maps of another kind, multiplied over the layers.
    - product:KIND: the same with rows that are not divided by their sums, and no identity (product:globenc is GlobEnc).
    - relevance:KIND: R + A R by layers, A the mean of the positive parts (Chefer et al. 2021).
    """

    merge: PieceMerging = "norm"
    normalize: RowScaling = "none"

    @classmethod
    def of(cls, maps: str | Sequence[str] | MapOptions) -> MapOptions:
        """Return the options of one kind, of several kinds, or as they are given."""
        return maps if isinstance(maps, MapOptions) else cls(names_in(maps))

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        if not self.map:
            raise OptionError("--map needs at least one kind")
        if len(set(self.map)) < len(self.map):
            raise OptionError("--map names a kind twice")


@dataclass(frozen=True)
class FeedForwardOptions(OptionGroup):
    """Options of the feed-forward block.

    Example:
        >>> from attentionology.analyses import FeedForwardOptions
        >>> FeedForwardOptions(ff_bias="fixed")
        FeedForwardOptions(ff_bias='fixed')
    """

    ff_bias: Literal["input", "fixed"] = "input"
    """How contributions that pass the feed-forward block treat its first bias: as an input beside the tokens, or as
    fixed, so that it is part of the baseline."""


@dataclass(frozen=True)
class CountOptions(OptionGroup):
    """Options of the analyses that count correct decisions.

    Example:
        >>> from attentionology import CountOptions
        >>> CountOptions(replicates=-1).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --replicates must be at least 0, not -1
    """

    min_count: MinCount = 50
    """Relations with fewer than N words, and types of mentions with fewer than N mentions, are gray in the report. The
    tables always contain all of them."""

    replicates: Replicates = 1000


EnsembleMethod = Literal["published", "raw"]


@dataclass(frozen=True)
class EnsembleOptions(OptionGroup):
    """Options of ensembles of heads.

    Example:
        >>> from attentionology.analyses import EnsembleOptions
        >>> EnsembleOptions(ensembles=-1).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --ensembles must be at least 0, not -1
    """

    ensembles: Annotated[int, Bounds(0)] = 0
    """Average the maps of up to N heads for each relation, chosen on one half of the first 1,000 sentences and scored
    on the other; for coreference, for each type of mention, on halves of the documents. With 0, there are no
    ensembles."""

    ensemble_method: EnsembleMethod = "published"
    """How maps are averaged and heads are chosen. published (Limisiewicz et al. 2020): each row of a map is divided by
    its sum over words, and the 25 best heads are tried in turn, of which one may take the place of another. raw: maps
    are averaged as they are, and the head that helps most is added."""


@dataclass(frozen=True)
class FailureOptions(OptionGroup):
    """Options of where heads fail.

    Example:
        >>> from attentionology.analyses import FailureOptions
        >>> FailureOptions(failures=("8",)).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --failures takes 'best' or heads such as 8-10, not '8'
    """

    failures: Annotated[tuple[str, ...], arg(metavar="HEAD [HEAD ...]")] = ()
    """Count where these heads fail, by distance and other properties of the words or mentions, and what they pick
    instead: 'best' for the best head of each relation or type of mention, or heads such as 8-10. By default, nothing of
    this is counted."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        check_names(self.failures, "--failures")

    def check_heads(self, n_layers: int, n_heads: int) -> None:
        """Raise `OptionError` where a model of this many layers, with this many heads each, lacks a head."""
        check_heads(self.failures, n_layers, n_heads, "--failures")


def check_names(names: Sequence[str], option: str) -> None:
    """Raise `OptionError` if the names of heads that an option takes are neither heads nor ``best``."""
    for name in names:
        if name != "best" and not re.fullmatch(r"[1-9][0-9]{0,3}-[1-9][0-9]{0,3}", name):
            raise OptionError(f"{option} takes 'best' or heads such as 8-10, not {name!r}")


def check_heads(names: Sequence[str], n_layers: int, n_heads: int, option: str) -> None:
    """Raise `OptionError` where a model of this many layers, with this many heads each, lacks a head that is named."""
    for name in names:
        layer, head = (1, 1) if name == "best" else map(int, name.split("-"))  # the best head is always there
        if layer > n_layers or head > n_heads:
            shape = f"{amount(n_layers, 'layers')} of {amount(n_heads, 'heads')}"
            raise OptionError(f"{option}: the model has {shape}, and no head {name}")


@dataclass(frozen=True)
class ControlOptions(OptionGroup):
    """Options of the control with random weights.

    Example:
        >>> from attentionology import ControlOptions
        >>> ControlOptions(control="random-init:3").copies()
        3
    """

    control: Annotated[str | None, arg(metavar="random-init[:K]")] = None
    """Repeat the run with K copies of the model (by default one) that keep its embeddings and have random weights
    otherwise. The accuracy of these copies can be explained by embeddings and positions alone."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        self.copies()

    def copies(self) -> int:
        """How many randomly initialized copies of the model to run."""
        return copies_of(self.control) if self.control else 0


def copies_of(control: str) -> int:
    """K of ``random-init:K``, 1 of ``random-init``."""
    match = _CONTROL.fullmatch(control)
    copies = int(match["copies"] or 1) if match else 0
    if not copies:
        near = did_you_mean(control, ("random-init",))
        raise OptionError(f"unknown control {control!r}; choose random-init or random-init:K, K at least 1{near}")
    return copies


def map_makers(
    kinds: Iterable[str], merge: Merge = "norm", normalize: Normalize = "none", ff_bias: FFBias = "input"
) -> tuple[MapMaker, ...]:
    """Return the makers of the kinds of maps that options name, of words."""
    from ...extractors import MapMaker, get_kind

    try:
        return tuple(MapMaker(get_kind(kind), "word", merge, normalize, ff_bias) for kind in kinds)
    except ValueError as error:
        raise OptionError(str(error)) from None

"""Options that several analyses read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import arg

from attentionology.analyses.contract import OptionError

_CONTROL = re.compile(r"random-init(?::(?P<copies>[0-9]{1,9}))?")


@dataclass(frozen=True)
class MapOptions:
    """Options of the maps."""

    map: Annotated[tuple[str, ...], arg(metavar="KIND [KIND ...]")] = ("weight",)
    """What flows from token to token, for all analyses but norms. weight: attention weights. Per head, times the norm
    of the vector: norm. All heads of a layer together, from the attention block on to the whole layer: attn, attnres,
    attnresln, atbff, atbffres, atbffresln; and globenc, alti, alti-l2, value-zeroing. Over the layers: rollout, or
    rollout:KIND. Several kinds are read in one pass; tables then have a column map."""

    merge: Literal["norm", "vector"] = "norm"
    """How pieces become words in maps of norms: add up their norms, or the vectors themselves before the norm."""

    normalize: Literal["none", "row"] = "none"
    """row divides each row of the map by its sum (weight, rollout, alti and value-zeroing sum to 1 as they are)."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if not self.map:
            raise OptionError("--map needs at least one kind")
        if len(set(self.map)) < len(self.map):
            raise OptionError("--map names a kind twice")


@dataclass(frozen=True)
class FeedForwardOptions:
    """Options of all that passes the feed-forward block."""

    ff_bias: Literal["input", "fixed"] = "input"
    """For all that passes the feed-forward block: its bias is an input like the tokens, or there from the start."""

    def check(self) -> None:
        """Every value can be used."""


@dataclass(frozen=True)
class CountOptions:
    """Options of the analyses that count right decisions."""

    min_count: Annotated[int, arg(metavar="N")] = 50
    """Relations with fewer words, and types with fewer mentions, are greyed in the report; tables always hold all."""

    replicates: Annotated[int, arg(metavar="N")] = 1000
    """Bootstrap replicates for the intervals; 0 for none."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if self.min_count < 1:
            raise OptionError(f"--min-count must be at least 1, not {self.min_count}")
        if self.replicates < 0:
            raise OptionError(f"--replicates must not be negative, not {self.replicates}")


@dataclass(frozen=True)
class ControlOptions:
    """Options of the control with random weights."""

    control: Annotated[str | None, arg(metavar="random-init[:K]")] = None
    """random-init or random-init:K repeats the run with 1 or K copies of the model that keep the embeddings and
    have random weights otherwise. What they reach, embeddings and positions alone can explain."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        self.copies()

    def copies(self) -> int:
        """How many randomly initialized copies of the model to run."""
        return copies_of(self.control) if self.control else 0


def copies_of(control: str) -> int:
    """K of ``random-init:K``, 1 of ``random-init``.

    Raises:
        OptionError: it is neither.
    """
    match = _CONTROL.fullmatch(control)
    copies = int(match["copies"] or 1) if match else 0
    if not copies:
        raise OptionError(f"unknown control {control!r}; choose random-init or random-init:K, K at least 1")
    return copies

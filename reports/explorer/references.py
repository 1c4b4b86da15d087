"""What the accuracies of heads are read beside: marks on the same axis, and the best head of each layer."""

from __future__ import annotations

from dataclasses import dataclass

Values = tuple[float | int | None, ...]


@dataclass(frozen=True)
class Mark:
    """A value to compare the accuracy of a head with."""

    role: str  # `"heldout"`, `"position"`, `"rule"` or `"random"`, which decides its shape and color
    label: str
    value: float | None = None  # None if it was not counted
    low: float | None = None  # the bounds of its 95 % interval; None if it has none
    high: float | None = None
    note: str = ""  # what it is, or why there is none


@dataclass(frozen=True)
class LayerCurve:
    """The best head of each layer, chosen on one half of the text and scored on the other, the first layer first."""

    values: Values
    low: Values | None = None  # the bounds of 95 % intervals; None without bootstrap replicates
    high: Values | None = None
    random: Values | None = None  # the mean over copies with random weights; None if there are none


@dataclass(frozen=True)
class Reference:
    """What measures of one question are read beside, in all directions.

    Attributes:
        id: the id that `Measure.reference` names.
        label: the question, such as ``obj``.
        marks: the values on the axis of a head's card.
        layers: the best head of each layer; None in models of one layer.
        beside: the id of a reference whose layers are drawn beside these; empty for none.
    """

    id: str
    label: str
    marks: tuple[Mark, ...] = ()
    layers: LayerCurve | None = None
    beside: str = ""

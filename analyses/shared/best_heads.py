"""The columns that tables of best heads have in common, whatever it is that the heads find."""

from __future__ import annotations

from ...reports.columns import Room, TableColumn, bounds
from ...reports.format import best_head, number_equal

_HALVES = "It is the mean over ten random halvings, with the lowest and highest of them in brackets."


def best_head_column(meaning: str, aside: str) -> TableColumn:
    """Return the column of the best attention head; ``aside`` says in the legend what else is called a head."""
    return TableColumn(
        "layer head",
        "number from 1",
        meaning,
        "attention head",
        terminal="head",
        cell=best_head,
        beside=number_equal,
        beside_in="page",
        help=f"<code>3-9</code> is layer 3, head 9, both counted from 1. ({aside})",
    )


def estimate(name: str, kind: str, meaning: str, heading: str, help_text: str = "", room: Room = "any") -> TableColumn:
    """Return the column of a value with its interval, from ``NAME_low`` to ``NAME_high``."""
    names = f"{name} {name}_low {name}_high"
    return TableColumn(names, kind, meaning, heading, beside=bounds(name), room=room, help=help_text)


def accuracy_column(help_text: str) -> TableColumn:
    """Return the column of an accuracy with its interval."""
    return estimate("accuracy", "share", "`correct` / `total`", "accuracy", help_text)


def best_accuracy_column(share: str, counted: str, units: str) -> TableColumn:
    """Return the column of the accuracy of best heads, which is the share of something that is found."""
    # Whoever shows the column fills in the places in braces: whether there are intervals, and how many heads there are.
    return accuracy_column(
        f"The share of {share} is found{{interval}}. The head was chosen as the best of {{choices}} on these same "
        f"{counted}, so its accuracy is too high as an estimate for other {units}."
    )


def heldout_columns(
    counted: str,
    units: str,
    *,
    chosen: str = "heads",
    heading: str = "held-out",
    begins: str = "The accuracy if head and direction are",
    ends: str = "",
    room: Room = "wide",
) -> tuple[TableColumn, ...]:
    """Return the columns of the accuracy of what was chosen on one half of the text and scored on the other.

    Args:
        counted: the counted words or mentions, in a phrase such as “found and scored words”.
        units: what is divided into halves, such as “sentences”.
        chosen: what is chosen.
        heading: the heading of the accuracy.
        begins, ends: the beginning of the entry of the legend, and what it says at its end.
        room: where the lowest and highest accuracy are shown.
    """
    return (
        TableColumn("heldout_correct heldout_total", "count", counted),
        TableColumn(
            "heldout_accuracy",
            "share",
            f"the accuracy of {chosen} that were chosen on the other half",
            heading,
            beside=bounds("heldout", "min", "max"),
            beside_in=room,
            help=f"{begins} chosen on one half of the {units} and scored on the other, in both directions. {_HALVES}"
            + ends,
        ),
        TableColumn("heldout_min heldout_max", "share", "the lowest and highest accuracy of a split"),
    )

"""Numbers of other people for BERT, to be shown beside one's own.

They were measured with an independent program, a port of the published code of Clark et al. (2019) to PyTorch
(joanAcero/clark-attention-analysis), with google-bert/bert-base-uncased on the dev part of UD English EWT. They
are rounded, and their author may have decided some details in another way, for example whether punctuation and roots
count. So nothing is passed or failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...extractors.checks.doctor import Check
from ..contract import OptionGroup
from ..shared.options import ControlOptions, CountOptions

if TYPE_CHECKING:
    from ..dependency.rows import DependencyResults

ANALYSES = ("dependency",)
MAPS = ("weight", "norm")
OPTIONS: tuple[OptionGroup, ...] = (CountOptions(replicates=0), ControlOptions(control="random-init:1"))
"""What the run must analyze, and with which options."""

TREEBANK = "ud:en_ewt:dev"
"""The treebank of the numbers."""

MODELS = frozenset({"bert-base-uncased", "google-bert/bert-base-uncased"})
"""The names of the model of the numbers."""


TOTALS = ("all", "all-nopunct", "all-nopunct-noroot")


@dataclass(frozen=True)
class IndependentNumber:
    """A number that somebody else has measured."""

    name: str
    value: float
    kind: str = ""  # the kind of map, if the analysis `dependency` gives the number
    column: str = ""  # the column of its table of best heads
    command: str = ""  # the options of `attentionology probe` that give the number, if it takes training


NUMBERS = (
    IndependentNumber("best single head, held-out, attention weights", 41.9, "weight", "heldout_accuracy"),
    IndependentNumber("best single head, held-out, norms ‖αf(x)‖", 43.4, "norm", "heldout_accuracy"),
    IndependentNumber("best single head, random weights", 9.0, "weight", "control_accuracy"),
    IndependentNumber("probe of attention weights, UAS", 61.4, command="--map weight"),
    IndependentNumber("probe of norms, UAS", 62.1, command="--map norm"),
)


def independent_checks(results: Mapping[tuple[str, str | None], Any]) -> Iterator[Check]:
    """Put the independent numbers beside those of a run, by analysis and kind of map. Nothing is passed or failed."""
    for number in NUMBERS:
        if number.command:
            options = f"--train ud:en_ewt:train --test {TREEBANK} {number.command} --probe attention"
            here = f"run: attentionology probe --model google-bert/bert-base-uncased {options}"
        else:
            dependency: DependencyResults = results["dependency", number.kind]
            values = dependency.best.set_index("relation")[number.column]
            here = ", ".join(f"{total} {100 * values[total]:.1f}" for total in TOTALS)
        yield Check(number.name, None, f"independent {number.value:.1f}; here {here}")

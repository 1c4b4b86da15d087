"""The names of the explanation tests, known before any of them is loaded."""

from __future__ import annotations

from collections.abc import Mapping

from ...storage.plugins import added

ENTRY_POINTS = "attentionology.explanation_tests"
"""The group of entry points under which another package names its subclasses of `ExplanationTest`. An entry point has
the name of its test, so that the command knows the name without loading the package."""

TESTS: Mapping[str, str] = {
    "correlation": "correlation:Correlation",
    "permutation": "permutation:Permutation",
    "adversarial": "adversarial:Adversarial",
    "uniform": "uniform:Uniform",
    "seeds": "seeds:Seeds",
    "guided": "guided:Guided",
    "imitation": "imitation:TrainedAdversaries",
    "erasure": "erasure:Erasure",
    "removal": "removal:Removal",
    "single-token": "single_token:SingleToken",
    "eraser": "eraser:Eraser",
    "regularizers": "regularizers:Regularizers",
}
"""Module and class of each test of the toolkit, in the order in which they run and are reported."""


def names_of_tests() -> tuple[str, ...]:
    """The names that ``--tests`` takes."""
    return tuple(dict.fromkeys((*TESTS, *(point.name for point in added(ENTRY_POINTS)))))

"""The runs behind ``attentionology doctor --known-answers``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from ..analyses.contract import OptionError
from ..analyses.known_answers import independent, sample
from ..analyses.shared.builtin import SAMPLE
from ..extractors import Encoder
from ..extractors.checks.doctor import Check
from ..extractors.model.named import DEMO
from .analyze import analyze

Results = Mapping[tuple[str, str | None], Any]
"""The results of a run by the names of the analyses and kinds of maps."""


def check_setting(model: str, corpus: str) -> None:
    """Check that there are known answers for a model and a corpus."""
    if model == DEMO:
        if corpus != SAMPLE:
            raise OptionError(f"the known answers for the demo model are about the sample treebank, not {corpus!r}")
    elif model not in independent.MODELS:
        raise OptionError(f"there are known answers for {DEMO} and google-bert/bert-base-uncased, not for {model!r}")
    elif corpus == SAMPLE:
        raise OptionError(
            f"the known answers for {model} are about UD English EWT: add --corpus {independent.TREEBANK}"
        )


def known_checks(encoder: Encoder, model: str, corpus: str) -> Iterator[Check]:
    """Analyze what there are known answers for, and yield a line for each answer."""
    if model == DEMO:
        yield from sample.compare_answers(sample.answers_of(sample_results(encoder)), sample.known_answers())
    else:
        yield from independent.independent_checks(_results(encoder, corpus, independent))


def sample_results(encoder: Encoder) -> Results:
    """Return the results of the demo model on the sample treebank."""
    return _results(encoder, SAMPLE, sample)


def _results(encoder: Encoder, corpus: str, known: ModuleType) -> Results:
    run = analyze(encoder, corpus, analyses=known.ANALYSES, maps=known.MAPS, options=known.OPTIONS)
    return {(part.analysis.name, part.kind): part.results for part in run.parts}

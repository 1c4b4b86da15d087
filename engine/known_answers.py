"""The runs behind ``attentionology doctor --known-answers``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..analyses.contract import OptionError
from ..analyses.known_answers import independent, sample
from ..analyses.shared.builtin import DEMO, SAMPLE
from .analyze import analyze

if TYPE_CHECKING:
    from ..extractors import Encoder
    from ..extractors.model.doctor import Check
    from .run import Run


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
        yield from sample.compared(sample.answers_of(sample_results(encoder)), sample.known_answers())
    else:
        run = analyze(
            encoder, corpus, analyses=independent.ANALYSES, maps=independent.MAPS, options=independent.OPTIONS
        )
        yield from independent.beside(by_name(run))


def sample_results(encoder: Encoder) -> Mapping[tuple[str, str | None], Any]:
    """The results of the demo model on the sample treebank, by the names of the analyses and kinds of maps."""
    return by_name(analyze(encoder, SAMPLE, analyses=sample.ANALYSES, maps=sample.MAPS, options=sample.OPTIONS))


def by_name(run: Run) -> Mapping[tuple[str, str | None], Any]:
    """The results of a run by the names of the analyses and kinds of maps."""
    return {(part.analysis.name, part.kind): part.results for part in run.parts}

"""Results of the analysis of norms that are made of tables, and what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from attentionology.analyses.contract import Titles
from attentionology.analyses.norms import expansion, frequency, mixing
from attentionology.analyses.norms.analysis import Norms
from attentionology.analyses.norms.paper import PublishedNumbers
from attentionology.analyses.norms.rows import NormResults
from attentionology.reports.page import Section

_MEMBERS = {"change": "feed_forward", "amplified": "feed_forward", "correlations": "frequency", "points": "frequency"}
"""Tables that an answer has beside others, and the question."""


def made_results(
    answers: Mapping[str, Any], published: PublishedNumbers | None = None, notes: tuple[str, ...] = ()
) -> NormResults:
    """Results of these answers; those that are None were not asked for."""
    given = {**answers, "overwriting": answers.get("block")}
    asked = {name: answer for name, answer in given.items() if answer is not None}
    asked["mixing"] = mixing.with_published(asked["mixing"], published)
    asked["expansion"] = expansion.with_published(asked["expansion"], published)
    correlations = frequency.with_published(asked["frequency"].correlations, published)
    asked["frequency"] = asked["frequency"]._replace(correlations=correlations)
    parts = [question.by_layer(asked[question.name]) for question in Norms.questions if question.name in asked]
    return NormResults(tuple(part for part in parts if part is not None), published, notes, asked)


def changed_results(results: NormResults, **changes: Any) -> NormResults:
    """The same results with other answers, or other tables of them, or with the numbers of a paper."""
    published = changes.pop("published", results.published)
    answers = dict(results.answers)
    for name, value in changes.items():
        if name in _MEMBERS:
            answers[_MEMBERS[name]] = answers[_MEMBERS[name]]._replace(**{name: value})
        else:
            answers[name] = value
    return made_results(answers, published, results.notes)


def norms_section(results: NormResults, titles: Titles | None = None) -> Section:
    return Norms().section(results, titles or Titles())


def norm_figures(results: NormResults, title: str) -> Mapping[str, Figure]:
    return {
        name: figure
        for question, answer in Norms().pair_answers(results)
        for name, figure in question.draw(answer, results, title).items()
    }

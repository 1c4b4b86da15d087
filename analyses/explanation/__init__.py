"""May attention be read as an explanation? Tests of the attention of text classifiers."""

from attentionology.analyses.explanation.adversarial import EPSILON, by_gradient, exact, exact_attention, solvable
from attentionology.analyses.explanation.batch import Column, Rows, Test, TextBatch, examine, read
from attentionology.analyses.explanation.comparison import (
    Given,
    Reading,
    chance,
    divergences,
    reading,
    seed_variance,
    uniform_rows,
)
from attentionology.analyses.explanation.correlation import correlation, gradient_importance, kendall, leave_one_out
from attentionology.analyses.explanation.counterfactual import permutation, uniform_attention
from attentionology.analyses.explanation.erasure import removal, single_weight
from attentionology.analyses.explanation.measures import LN2, entropy, jsd, tvd, uniform
from attentionology.analyses.explanation.rationales import rationales
from attentionology.analyses.explanation.single_token import single_token
from attentionology.analyses.explanation.summary import OVERALL, Bootstrap, flip_table, quality, significant, summarise
from attentionology.analyses.explanation.verdict import FEWEST, RULES, Rule, verdicts

__all__ = [
    "EPSILON",
    "FEWEST",
    "LN2",
    "OVERALL",
    "RULES",
    "Bootstrap",
    "Column",
    "Given",
    "Reading",
    "Rows",
    "Rule",
    "Test",
    "TextBatch",
    "by_gradient",
    "chance",
    "correlation",
    "divergences",
    "entropy",
    "exact",
    "exact_attention",
    "examine",
    "flip_table",
    "gradient_importance",
    "jsd",
    "kendall",
    "leave_one_out",
    "permutation",
    "quality",
    "rationales",
    "read",
    "reading",
    "removal",
    "seed_variance",
    "significant",
    "single_token",
    "single_weight",
    "solvable",
    "summarise",
    "tvd",
    "uniform",
    "uniform_attention",
    "uniform_rows",
    "verdicts",
]

"""Which tests the attention of a model passes on some data, in the careful words of the papers.

Every test compares two numbers of the same texts, one of them a floor: what chance, another seed, or another measure
gives. The mean difference has a bootstrap interval; only an interval that excludes 0 decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from analyses.explanation.adversarial import EPSILON
from analyses.explanation.summary import Bootstrap


class Rule(NamedTuple):
    """A test that attention passes if one thing is larger than another.

    Attributes:
        test: its name.
        question: what is asked.
        larger, smaller: columns of the per-text table, of several the first that is there. ``epsilon``: the tolerance.
        passed, failed: what it means.
    """

    test: str
    question: str
    larger: tuple[str, ...]
    smaller: tuple[str, ...]
    passed: str
    failed: str


RULES = (
    Rule(
        "uniform",
        "Does the task need attention? (trained against trained with uniform attention, accuracy)",
        ("correct",),
        ("uniform_retrained_correct",),
        "Attention is needed here, so it makes sense to ask what it explains.",
        "A model with uniform attention does better: what the other tests say here says little about attention.",
    ),
    Rule(
        "correlation",
        "Does attention rank words as leaving them out does? (τ with leave-one-out, against the gradient's)",
        ("tau_loo",),
        ("tau_gradient_loo",),
        "Attention agrees with leaving words out better than gradients do.",
        "Gradients agree with leaving words out better than attention does.",
    ),
    Rule(
        "correlation",
        "Does attention rank words as gradients do? (τ with the gradient, against that of leave-one-out)",
        ("tau_gradient",),
        ("tau_gradient_loo",),
        "Attention agrees with gradients better than leaving words out does.",
        "Leaving words out agrees with gradients better than attention does.",
    ),
    Rule(
        "permutation",
        "Does it matter which word gets which weight? (TVD of the output when weights are shuffled)",
        ("permutation_tvd",),
        ("seed_tvd", "epsilon"),
        "Shuffling the weights moves the output more than the floor.",
        "Shuffling the weights moves the output less than the floor.",
    ),
    Rule(
        "adversarial",
        "Is it the only attention that gives this output? (JSD of shuffled weights, against the adversary's)",
        ("permutation_jsd",),
        ("exact_jsd", "adversarial_jsd"),
        "On average, no attention as different as a shuffled one was found to give the same output.",
        "On average, other attention that is more different than a shuffled one gives the same output: it is not the "
        "only explanation. (Whether a model would learn it is another question.)",
    ),
    Rule(
        "seeds",
        "Do models that differ in the seed attend alike? (JSD of shuffled weights, against that of other seeds)",
        ("permutation_jsd",),
        ("seed_jsd",),
        "Other seeds attend more alike than chance would have it.",
        "Other seeds attend no more alike than chance would have it.",
    ),
    Rule(
        "guided",
        "Is the attention of use to another model? (accuracy of a model without context, guided by it or by uniform)",
        ("guided_base_correct",),
        ("guided_uniform_correct",),
        "It tells a model that sees no context something about the words.",
        "A model that sees no context does better with uniform weights.",
    ),
    Rule(
        "imitation",
        "Can a model be trained that says the same and attends elsewhere? (JSD of shuffled weights, against its own)",
        ("permutation_jsd",),
        ("imitation_same_jsd",),
        "Where a trained adversary says the same, its attention is less different than a shuffled one.",
        "A trained model says the same of these texts and attends elsewhere.",
    ),
    Rule(
        "erasure",
        "Does the decision hang on the most attended word? (decisions changed without its weight, or a random word's)",
        ("single_attention_top_flip",),
        ("single_attention_random_flip",),
        "Taking its weight away changes more decisions than taking another's.",
        "Taking its weight away changes fewer decisions than taking another's.",
    ),
    Rule(
        "removal",
        "Are the most attended words a short reason for the decision? (share of words removed until it changes, random "
        "order against attention's)",
        ("removal_random",),
        ("removal_attention",),
        "Fewer words have to go than in random order.",
        "More words have to go than in random order.",
    ),
    Rule(
        "removal",
        "Are they a shorter reason than others? (share of words removed, by attention × gradient against attention)",
        ("removal_attention_gradient",),
        ("removal_attention",),
        "Fewer words have to go than in the order of attention × gradient.",
        "Attention × gradient finds shorter reasons.",
    ),
    Rule(
        "single-token",
        "Is the most attended word enough for the decision? (same decision from it alone, against a random word)",
        ("top_token_agrees",),
        ("random_token_agrees",),
        "It gives the decision more often than another word.",
        "It gives the decision less often than another word.",
    ),
    Rule(
        "eraser",
        "Is the text without the most attended words a different text? (comprehensiveness, against random words)",
        ("comprehensiveness_attention",),
        ("comprehensiveness_random",),
        "Deleting them lowers the probability of the decision more than deleting others.",
        "Deleting them lowers the probability of the decision less than deleting others.",
    ),
    Rule(
        "eraser",
        "Are the most attended words enough of the text? (sufficiency; less is better; against random words)",
        ("sufficiency_random",),
        ("sufficiency_attention",),
        "They keep the probability of the decision better than others.",
        "Others keep the probability of the decision better.",
    ),
)

Verdict = Literal["passes", "fails", "undecided"]

FEWEST = 30
"""With fewer texts the bootstrap says too little."""


_SEARCHED = ("adversarial_jsd",)
"""Columns that are found by a search, which may miss what is there."""


def verdicts(
    texts: pd.DataFrame, bootstrap: Bootstrap, *, epsilon: float = EPSILON, rules: Sequence[Rule] = RULES
) -> pd.DataFrame:
    """What was found, test by test; tests without their columns are left out.

    Args:
        texts: one row per text.
        bootstrap: of these texts.
        epsilon: change of the output that counts as none.
        rules: the tests.

    Returns:
        ``test, question, larger, larger_mean, smaller, smaller_mean, n`` (texts that have both), ``difference, low,
        high, verdict`` (``passes``, ``fails``, ``undecided``) and ``meaning``.
    """
    table = texts.assign(epsilon=epsilon)
    rows: list[dict[str, Any]] = []
    for rule in rules:
        larger, smaller = (next((c for c in side if c in table), None) for side in (rule.larger, rule.smaller))
        if larger is None or smaller is None:
            continue
        one, other = (table[column].to_numpy(dtype=np.float64) for column in (larger, smaller))
        difference = one - other
        there = ~np.isnan(difference)
        if not there.any():
            continue
        (low,), (high,) = bootstrap(difference[:, None])
        verdict, meaning = _judged(float(low), float(high), bootstrap.distinct(there), rule)
        if verdict == "passes" and smaller in _SEARCHED:
            verdict, meaning = "undecided", "A search found no such attention; that is no proof that there is none."
        rows.append(
            {
                "test": rule.test,
                "question": rule.question,
                "larger": larger,
                "larger_mean": one[there].mean(),
                "smaller": smaller,
                "smaller_mean": other[there].mean(),
                "n": int(there.sum()),
                "difference": difference[there].mean(),
                "low": low,
                "high": high,
                "verdict": verdict,
                "meaning": meaning,
            }
        )
    return pd.DataFrame(rows)


def _judged(low: float, high: float, n: int, rule: Rule) -> tuple[Verdict, str]:
    if n < FEWEST:
        return "undecided", f"Only {n} texts: too few to say."
    if np.isnan(low):
        return "undecided", "Without an interval nothing can be said."
    if low > 0:
        return "passes", rule.passed
    return ("fails", rule.failed) if high < 0 else ("undecided", "The interval includes 0: no evidence either way.")

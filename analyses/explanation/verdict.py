"""Which tests the attention of a model passes on some data, in the careful words of the papers.

Every question compares two numbers of the same texts, one of them a floor: what chance, another seed, or another
measure gives. The mean difference has a bootstrap interval; only an interval that excludes 0 decides. Nothing is
corrected for the number of questions: the verdict of one would then depend on which others were asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from attentionology.analyses.explanation.exact_adversary import EPSILON
from attentionology.analyses.explanation.summary import Bootstrap


class Rule(NamedTuple):
    """A question that is decided by whether one number is larger than another, text by text.

    What is compared is fixed, so that the verdict does not depend on which other tests were chosen.

    Attributes:
        test: the test that answers it.
        question: what is decided.
        compared: which number is held against which floor.
        larger: column of the per-text table; ``epsilon``: the tolerance.
        smaller: the other column.
        passed, failed: what it means.
        searched: column that takes the place of ``smaller`` where a model has no exact solution: the best that a search
            found. That it found nothing better proves nothing, so nothing is passed against it.
    """

    test: str
    question: str
    compared: str
    larger: str
    smaller: str
    passed: str
    failed: str
    searched: str | None = None


RULES = (
    Rule(
        "uniform",
        "Does the task need attention?",
        "accuracy of the model, against that of one trained with uniform attention",
        "correct",
        "uniform_retrained_correct",
        "The model is right more often than one with uniform attention, so it makes sense to ask what its attention "
        "explains.",
        "A model with uniform attention does better: what the other tests say here says little about attention.",
    ),
    Rule(
        "correlation",
        "Does attention rank words as leaving them out does, better than chance?",
        "τ of attention and leave-one-out, against τ of attention and random scores",
        "tau_loo",
        "tau_random",
        "Attention agrees with leaving words out more than with random scores.",
        "Attention agrees with leaving words out less than with random scores: it tends to the reverse order.",
    ),
    Rule(
        "correlation",
        "Does attention rank words as gradients do, better than chance?",
        "τ of attention and gradient × input, against τ of attention and random scores",
        "tau_gradient",
        "tau_random",
        "Attention agrees with gradients more than with random scores.",
        "Attention agrees with gradients less than with random scores: it tends to the reverse order.",
    ),
    Rule(
        "correlation",
        "Does attention agree with leaving words out better than gradients do?",
        "τ with leave-one-out: of attention, against that of gradient × input",
        "tau_loo",
        "tau_gradient_loo",
        "Attention agrees with leaving words out better than gradients do.",
        "Gradients agree with leaving words out better than attention does.",
    ),
    Rule(
        "correlation",
        "Does attention agree with gradients better than leaving words out does?",
        "τ with gradient × input: of attention, against that of leave-one-out",
        "tau_gradient",
        "tau_gradient_loo",
        "Attention agrees with gradients better than leaving words out does.",
        "Leaving words out agrees with gradients better than attention does.",
    ),
    Rule(
        "permutation",
        "Does it matter which word gets which weight?",
        "median change of the output over shuffles of the weights (TVD), against the tolerance ε",
        "permutation_tvd",
        "epsilon",
        "Shuffling the weights moves the output by more than the tolerance.",
        "Shuffling the weights moves the output by less than the tolerance.",
    ),
    Rule(
        "adversarial",
        "Does the output rule out attention as different as shuffled weights?",
        "median JSD to shuffled weights, against JSD to the farthest attention that moves the output by at most ε",
        "permutation_jsd",
        "exact_jsd",
        "On average, no attention as different as a shuffled one gives the same output.",
        "On average, other attention that is more different than a shuffled one gives the same output: it is not the "
        "only explanation. (Whether a model would learn it is another question.)",
        searched="adversarial_jsd",
    ),
    Rule(
        "seeds",
        "Do models that differ in the seed attend more alike than chance?",
        "median JSD to models with other seeds, against the same with their weights shuffled; less is better",
        "seed_shuffled_jsd",
        "seed_jsd",
        "Other seeds attend more alike than chance would have it.",
        "Other seeds attend less alike than chance would have it.",
    ),
    Rule(
        "seeds",
        "Does shuffling the weights move the output more than another seed does?",
        "mean change of the output over shuffles of the weights (TVD), against that over models with other seeds",
        "permutation_mean_tvd",
        "seed_mean_tvd",
        "Shuffling the weights moves the output more than another seed does.",
        "Shuffling the weights moves the output less than another seed does.",
    ),
    Rule(
        "guided",
        "Is the attention of use to another model?",
        "accuracy of a model without context: guided by this attention, against guided by uniform weights",
        "guided_base_correct",
        "guided_uniform_correct",
        "It tells a model that sees no context something about the words.",
        "A model that sees no context does better with uniform weights.",
    ),
    Rule(
        "imitation",
        "Does a model trained to say the same and attend elsewhere still attend more alike than chance?",
        "JSD to this adversary where it says the same, against the same with its weights shuffled; less is better",
        "imitation_same_shuffled_jsd",
        "imitation_same_jsd",
        "Where a trained adversary says the same, it attends more alike than chance would have it.",
        "A trained model says the same of these texts and attends elsewhere, less alike than chance would have it.",
    ),
    Rule(
        "erasure",
        "Does the decision hang on the most attended word?",
        "decisions changed without the weight of this word, against without that of another word at random",
        "single_attention_top_flip",
        "single_attention_random_flip",
        "Taking its weight away changes more decisions than taking another's.",
        "Taking its weight away changes fewer decisions than taking another's.",
    ),
    Rule(
        "removal",
        "Are the most attended words a short reason for the decision?",
        "share of words removed until the decision changes: in the order of attention, against random order; less is "
        "better",
        "removal_random",
        "removal_attention",
        "Fewer words have to go than in random order.",
        "More words have to go than in random order.",
    ),
    Rule(
        "removal",
        "Are they a shorter reason than others?",
        "share of words removed until the decision changes: in the order of attention, against that of attention × "
        "gradient; less is better",
        "removal_attention_gradient",
        "removal_attention",
        "Fewer words have to go than in the order of attention × gradient.",
        "Attention × gradient finds shorter reasons.",
    ),
    Rule(
        "single-token",
        "Is the most attended word enough for the decision?",
        "same decision from this word alone, against from a word drawn at random",
        "top_token_agrees",
        "random_token_agrees",
        "It gives the decision more often than a random word.",
        "It gives the decision less often than a random word.",
    ),
    Rule(
        "eraser",
        "Is the text without the most attended words a different text?",
        "probability of the decision lost without these words, against without random words (comprehensiveness)",
        "comprehensiveness_attention",
        "comprehensiveness_random",
        "Deleting them lowers the probability of the decision more than deleting random words.",
        "Deleting them lowers the probability of the decision less than deleting random words.",
    ),
    Rule(
        "eraser",
        "Are the most attended words enough of the text?",
        "probability of the decision lost with these words alone, against with random words (sufficiency); less is "
        "better",
        "sufficiency_random",
        "sufficiency_attention",
        "They keep the probability of the decision better than random words.",
        "Random words keep the probability of the decision better.",
    ),
)

Verdict = Literal["passes", "fails", "undecided"]

FEWEST = 30
"""With fewer texts the bootstrap says too little."""

ROUNDING = 2e-7
"""Differences of a text up to this are rounding of float32 and count as 0, or the sign of a rounding error that all
texts share would decide: in a text of one word the best word and a random one are the same."""


def verdicts(
    texts: pd.DataFrame, bootstrap: Bootstrap, *, epsilon: float = EPSILON, rules: Sequence[Rule] = RULES
) -> pd.DataFrame:
    """What was found, question by question; those of tests that did not run are left out.

    Args:
        texts: one row per text.
        bootstrap: of these texts.
        epsilon: change of the output that counts as none.
        rules: the questions.

    Returns:
        ``test, question, compared, larger, larger_mean, smaller, smaller_mean, n`` (texts that have both),
        ``difference, low, high, verdict`` (``passes``, ``fails``, ``undecided``) and ``meaning``. NaN for the numbers
        if no text has both.
    """
    table = texts.assign(epsilon=epsilon)
    rows: list[dict[str, Any]] = []
    for rule in rules:
        smaller = rule.smaller if rule.smaller in table else rule.searched
        if rule.larger not in table or smaller not in table:
            continue
        pairs = table[[rule.larger, smaller]].to_numpy(dtype=np.float64)
        difference = pairs[:, 0] - pairs[:, 1]
        defined = ~np.isnan(difference)
        (low,), (high,) = bootstrap(np.where(np.abs(difference) <= ROUNDING, 0.0, difference)[:, None])
        means = pairs[defined].mean(axis=0) if defined.any() else np.full(2, np.nan)
        verdict, meaning = _judged(float(low), float(high), bootstrap.distinct(defined), rule)
        if verdict == "passes" and smaller == rule.searched:
            verdict, meaning = "undecided", "A search found no such attention; that is no proof that there is none."
        rows.append(
            {
                "test": rule.test,
                "question": rule.question,
                "compared": rule.compared,
                "larger": rule.larger,
                "larger_mean": means[0],
                "smaller": smaller,
                "smaller_mean": means[1],
                "n": int(defined.sum()),
                "difference": difference[defined].mean() if defined.any() else np.nan,
                "low": low,
                "high": high,
                "verdict": verdict,
                "meaning": meaning,
            }
        )
    return pd.DataFrame(rows)


def _judged(low: float, high: float, n: int, rule: Rule) -> tuple[Verdict, str]:
    if not n:
        return "undecided", "No text has both numbers."
    if n < FEWEST:
        return "undecided", f"Only {n} different text{'s' if n > 1 else ''}: too few to say."
    if np.isnan(low):
        return "undecided", "Without an interval nothing can be said."
    if low > 0:
        return "passes", rule.passed
    return ("fails", rule.failed) if high < 0 else ("undecided", "The interval includes 0: no evidence either way.")

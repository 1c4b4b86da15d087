"""How well does a single word predict the decision? (Tutek & Šnajder 2020, Staying True to Your Word)

The code of the paper was not published; the definitions are those of later work by the same authors. If the states of
all words in context predict much the same, the attention among them explains little.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ....extractors.replaceable.attention_model import probabilities, replace_words
from ..attention.batch import Rows, TextBatch
from ..attention.interventions import answers, columns, ranks
from ..contract.explanation_test import PROBABILITY, SHARE, Column, ExplanationTest, Question

_COLUMNS = {
    f"{prefix}{name}": column
    for prefix, reading in (("", "in context"), ("alone_", "read alone"))
    for name, column in {
        "single_token_std": Column(f"spread over words, each {reading}", PROBABILITY),
        "top_token_predicted": Column(f"class from the most attended word, {reading}", "class", averaged=False),
        "top_token_agrees": Column(f"same decision from the most attended word, {reading}", SHARE),
        "random_token_predicted": Column(f"class from a random word, {reading}", "class", averaged=False),
        "random_token_agrees": Column(f"same decision from a random word, {reading}", SHARE),
    }.items()
}


def in_context(batch: TextBatch) -> Float[Tensor, "batch n classes"]:
    """Compute the class probabilities if every row puts all attention on one word, with its state in the text."""
    n = batch.mask.shape[-1]
    one_hot = torch.eye(n, dtype=batch.alpha.dtype)
    shape = (len(batch), -1, batch.alpha.shape[1], n)  # (batch, words of the part, rows, n)
    return answers(batch, n, lambda part: one_hot[None, part, None].expand(shape))


def predict_alone(batch: TextBatch) -> Float[Tensor, "batch n classes"]:
    """Compute the class probabilities of texts of one word each; zeros outside the text."""
    result = torch.zeros(*batch.mask.shape, batch.probabilities.shape[-1], dtype=torch.float64)
    words = [replace_words(text, (word,)) for text in batch.texts for word in text]
    if words:
        result[batch.mask] = probabilities(batch.model, words)
    return result


def spread_over_words(values: Float[Tensor, "batch n"], mask: Bool[Tensor, "batch n"]) -> Float[Tensor, " batch"]:
    """Compute the standard deviation over the words, which are the whole population and not a sample."""
    count = mask.sum(-1, keepdim=True).clamp(min=1)
    values = values.masked_fill(~mask, 0.0)
    deviations = (values - values.sum(-1, keepdim=True) / count).masked_fill(~mask, 0.0)
    variance: Tensor = (deviations**2).sum(-1) / count[:, 0]
    return variance.sqrt()


def single_token(batch: TextBatch) -> Rows:
    """Predict the class from one word, as it is in the text and as a text of its own (Tutek & Šnajder 2020)."""
    # The spread is the standard deviation over the words of the probability of the class that is predicted for the
    # text. The most attended word is the one with the highest score, the first one among equals. Texts without words
    # have no values.
    is_top = ranks(batch.scores[:, None], batch.mask)[:, 0] == 0
    is_drawn = torch.zeros_like(is_top)
    for i, text in enumerate(batch.texts):
        if text:
            is_drawn[i, int(batch.generator(i, "single token").integers(len(text)))] = True
    predicted = batch.probabilities.argmax(-1)
    values: dict[str, Tensor] = {}
    for prefix, answer in (("", in_context(batch)), ("alone_", predict_alone(batch))):
        values[f"{prefix}single_token_std"] = spread_over_words(
            answer[torch.arange(len(batch)), :, predicted], batch.mask
        )
        for name, is_chosen in (("top", is_top), ("random", is_drawn)):
            # The sum over the words is the answer for the chosen one.
            from_word = torch.where(is_chosen[..., None], answer, 0.0).sum(1).argmax(-1)
            values[f"{prefix}{name}_token_predicted"] = from_word
            values[f"{prefix}{name}_token_agrees"] = from_word == predicted
    return columns(values, batch.mask.any(-1))


TEST = ExplanationTest(
    name="single-token",
    heading="Is one word enough for the decision?",
    columns=_COLUMNS,
    questions=(
        Question(
            "Is the most attended word enough for the decision?",
            "share of texts with the same decision from this word alone, against that from a random word",
            "top_token_agrees",
            "random_token_agrees",
            "The most attended word gives the same decision more often than a random word does.",
            "The most attended word gives the same decision less often than a random word does.",
        ),
    ),
    key=("single_token_std", "top_token_agrees"),
    page="""
<p>All attention is put on a single word, either with the state that it has in the text, or read as a text of its own
(Tutek &amp; Šnajder 2020). If the states of all words predict much the same (a small spread), each of them has taken up
the rest of the text, and the attention among them explains little. In that case, the most attended word leads to the
same decision, but so does any other word.</p>
""",
    examine=lambda batch, options: single_token(batch),
)

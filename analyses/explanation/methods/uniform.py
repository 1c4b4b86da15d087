"""Does the task need attention, or is the same weight for every word enough? (Wiegreffe & Pinter 2019, §3.2)"""

from __future__ import annotations

from collections.abc import Mapping

from ....extractors import probabilities
from ..attention.batch import Rows, TextBatch, single_words_out
from ..attention.interventions import answers
from ..attention.measures import jsd, tvd
from ..attention.readings import uniform_rows
from ..contract.explanation_test import NATS, SHARE, TVD, Column, ExplanationTest, Findings, Question
from ..examination.subject import Tested


def uniform_attention(batch: TextBatch) -> Rows:
    """Put the same weight for every word into the trained model, which is not trained with it."""
    uniform = uniform_rows(batch.state)
    p, original = answers(batch, 1, lambda _: uniform[:, None])[:, 0], batch.probabilities.double()  # k is 1
    rows = {
        "uniform_tvd": tvd(p, original).numpy(),
        "uniform_flip": (p.argmax(-1) != original.argmax(-1)).double().numpy(),
        "uniform_jsd": jsd(uniform, batch.alpha).mean(-1).double().numpy(),
    }
    return single_words_out(batch, rows)


def train_uniform(tested: Tested, earlier: Mapping[str, Findings]) -> Findings:
    """Train a model with uniform attention and compare its accuracy."""
    training = tested.training("uniform", "uniform", tested.options.seed, attend=uniform_rows, attended="uniform")
    model = tested.train([training], "train with uniform attention")["uniform"]
    score, correct = tested.score("uniform", "uniform", probabilities(model, tested.words, uniform_rows).numpy())
    return Findings({"uniform_retrained_correct": correct}, models=(score,))


TEST = ExplanationTest(
    name="uniform",
    heading="Does the task need attention?",
    gate=True,
    columns={
        "uniform_tvd": Column("change of the output, weights made uniform", TVD),
        "uniform_flip": Column("decisions changed, weights made uniform", SHARE),
        "uniform_jsd": Column("JSD of uniform weights", NATS),
        "uniform_retrained_correct": Column("accuracy, trained with uniform attention", SHARE),
    },
    questions=(
        Question(
            "Does the task need attention?",
            "accuracy of the model, against that of a model that was trained with uniform attention",
            "correct",
            "uniform_retrained_correct",
            "The model is right more often than a model with uniform attention, so it makes sense to ask what its "
            "attention explains.",
            "A model with uniform attention is right more often, so the other verdicts show little about attention.",
        ),
    ),
    shown=("correct", "uniform_retrained_correct", "uniform_tvd", "uniform_jsd", "uniform_flip"),
    key=("uniform_retrained_correct",),
    page="""
{% if "uniform_retrained_correct" in there %}
<p>A second model was trained with the same weight for every word (Wiegreffe &amp; Pinter 2019, §3.2). If it is as
accurate, the task can be solved without attention, and it is unclear what passing or failing another test means. Each
of the two models was trained once, so a small difference may come from the seed.</p>
{% endif %}
{% if "uniform_tvd" in there %}
<p>Weights that are <i>made</i> uniform are another test: they are put into the trained model, which was not trained
with them. If the output hardly changes, it matters little to this model where it attends. If the output changes, this
does not show that the task needs attention. TVD is half the sum of the absolute differences of the class
probabilities.</p>
{% endif %}
""",
    trained_part="uniform, trained with it",
    examine=lambda batch, options: uniform_attention(batch),
    compare=train_uniform,
)

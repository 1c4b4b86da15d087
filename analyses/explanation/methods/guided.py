"""Is the attention useful to another model? (Wiegreffe & Pinter 2019, §3.4)"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ....extractors import Attend, probabilities
from ..attention.readings import Given, reading, uniform_rows
from ..contract.explanation_test import SHARE, Column, ExplanationTest, Findings, Question
from ..examination.sources import Classifiers, words_only
from ..examination.subject import Tested
from ..examination.texts import words_of


def guided(tested: Tested, earlier: Mapping[str, Findings]) -> Findings:
    """Train classifiers that see each word without its context, with the attention of other models."""
    source = tested.source
    assert isinstance(source, Classifiers)  # noqa: S101 the test is left out otherwise
    texts = list(dict.fromkeys(text for part in tested.texts.roles().values() for text in words_of(part)))
    # By the name of what guides a classifier: the attention that it is given, and what identifies this in the cache.
    guides: dict[str, tuple[Attend | None, str]] = {
        "uniform": (uniform_rows, "uniform"),
        "own": (None, "own"),  # the attention that it learns itself
        "base": (Given(texts, reading(tested.model, texts).attention), tested.base_key()),
    }
    if "imitation" in earlier and (adversary := earlier["imitation"].adversary):
        name, model = adversary
        key = f"{tested.base_key()} {name} {tested.options.tests.divergence} {source.imitation}"
        guides["adversary"] = Given(texts, reading(model, texts).attention), key
    make = partial(source.make, encoder="average", regularizer=None)
    seed = tested.options.seed
    trainings = [
        tested.training(f"guided by {name}", "guided", seed, make=make, attend=attend, attended=f"{name} {key}")
        for name, (attend, key) in guides.items()
    ]
    models = tested.train(trainings, "train guided classifiers")
    columns, scores = {}, []
    for name, (attend, _) in guides.items():
        answers = probabilities(models[f"guided by {name}"], tested.words, attend).numpy()
        score, columns[f"guided_{name}_correct"] = tested.score(f"guided by {name}", "guided", answers)
        scores.append(score)
    return Findings(columns, models=tuple(scores))


TEST = ExplanationTest(
    name="guided",
    heading="Is the attention useful to another model?",
    trains=True,
    small_only=True,
    impossible=words_only,
    after=("imitation",),
    columns={
        "guided_uniform_correct": Column("accuracy without context, uniform weights", SHARE),
        "guided_own_correct": Column("accuracy without context, guided by its own weights", SHARE),
        "guided_base_correct": Column("accuracy without context, guided by this attention", SHARE),
        "guided_adversary_correct": Column("accuracy without context, guided by an adversary", SHARE),
    },
    questions=(
        Question(
            "Is the attention useful to another model?",
            "accuracy of a model without context: guided by this attention, against guided by uniform weights",
            "guided_base_correct",
            "guided_uniform_correct",
            "A model without context does better with this attention than with uniform weights.",
            "A model without context does better with uniform weights than with this attention.",
        ),
    ),
    shown=("guided_base_correct", "guided_own_correct", "guided_adversary_correct", "guided_uniform_correct"),
    page="""
<p>A model that sees every word without its context is given attention instead of learning it (Wiegreffe &amp; Pinter
2019, §3.4). If it does better with the attention of the tested model than with uniform weights, that attention carries
information about the words that the task needs. It is not necessarily the reason for the decisions of the tested model
itself.</p>
""",
    compare=guided,
)

"""One pass over all texts, and several models on the same texts, against plain loops."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.explanation.attention import batch as one_pass
from attentionology.analyses.explanation.attention import readings as several
from attentionology.analyses.explanation.attention.batch import BatchTest, examine, generator
from attentionology.analyses.explanation.attention.kendall import kendall
from attentionology.analyses.explanation.attention.readings import (
    Given,
    ModelReading,
    divergences,
    pad,
    reading,
    uniform_rows,
)
from attentionology.analyses.explanation.contract.options import ExplanationTestOptions
from attentionology.analyses.explanation.contract.registry import registered_tests
from attentionology.analyses.explanation.contract.summary import Bootstrap
from attentionology.analyses.explanation.contract.verdict import all_questions, verdicts
from attentionology.analyses.explanation.methods.adversarial import exact_adversary
from attentionology.analyses.explanation.methods.correlation import correlation
from attentionology.analyses.explanation.methods.permutation import permutation
from attentionology.analyses.explanation.methods.seeds import seed_variance
from attentionology.analyses.explanation.methods.uniform import uniform_attention
from attentionology.extractors.replaceable.attention_model import drop, probabilities
from attentionology.probes.classifiers import attention_classifier as classifiers
from tests.reference import naive_erasure as naive
from tests.reference.explained import ENCODERS, IDS, TEXTS, built, some_texts
from tests.reference.naive_erasure import VOCABULARY, Fake

ALL: dict[str, BatchTest] = {
    "correlation": correlation,
    "permutation": partial(permutation, draws=11),
    "uniform": uniform_attention,
    "exact": exact_adversary,
}


@pytest.mark.parametrize("encoder", ENCODERS)
def test_order_and_batches_change_nothing(encoder, monkeypatch):
    """Also where words repeat, and two measures are tied except for rounding."""
    texts = some_texts([0, 1, 2, 3, 5, 5, 8, 11, 30, 12, 12, 14, 25, 9], seed=6)
    ids = [f"t{i}" for i in range(len(texts))]
    model = built(encoder=encoder, double=False)
    expected = examine(model, ids, texts, ALL)
    assert expected["id"].tolist() == ids
    order = np.random.default_rng(0).permutation(len(texts))
    monkeypatch.setattr(classifiers, "_BATCH_CELLS", 40)
    other = examine(model, [ids[i] for i in order], [texts[i] for i in order], ALL).set_index("id").loc[ids]
    pd.testing.assert_frame_equal(other.reset_index(), expected, rtol=0, atol=2e-5)


def test_columns_every_table_has():
    done: list[int] = []
    frame = examine(built(), IDS, TEXTS, {}, advance=done.append)
    assert frame.columns.tolist() == ["id", "words", "predicted", "probability", "max_attention"]
    assert frame["words"].tolist() == [len(text) for text in TEXTS]
    assert sum(done) == len(TEXTS)
    p = probabilities(built(), TEXTS).numpy()
    np.testing.assert_allclose(frame["probability"], p.max(1), atol=1e-9)
    assert frame["predicted"].tolist() == p.argmax(1).tolist()
    assert frame["max_attention"][0] == 0
    assert frame["max_attention"][1] == pytest.approx(1)


def test_nothing_to_examine_and_columns_given_twice():
    with pytest.raises(ValueError, match="no text"):
        examine(built(), [], [], {})
    for name in ("words", "uniform_tvd"):
        again = partial(lambda name, batch: {name: np.zeros(len(batch))}, name)
        with pytest.raises(ValueError, match=f"'again' gives a column that already exists: .*{name}"):
            examine(built(), IDS, TEXTS, {"uniform": uniform_attention, "again": again})


def test_random_numbers_hang_on_text_seed_and_purpose_alone():
    drawn = {generator(*which).random() for which in (("a", "x", 0), ("b", "x", 0), ("a", "y", 0), ("a", "x", 1))}
    assert len(drawn) == 4
    assert generator("a", "x", 0).random() == generator("a", "x", 0).random()
    assert one_pass.generator is generator


def test_a_dropped_word():
    assert [drop(("a", "b", "c"), i) for i in range(3)] == [("b", "c"), ("a", "c"), ("a", "b")]
    assert drop(("a",), 0) == ()


def test_readings_and_their_divergences_equal_the_naive_loop():
    base, others = Fake(rows=2, seed=0), [Fake(rows=2, seed=s) for s in (1, 2, 3)]
    readings = [reading(model, TEXTS) for model in (base, *others)]
    found = seed_variance(readings[0], readings[1:], TEXTS, draws=6, seed=4)
    for i, text in enumerate(TEXTS):
        p, alpha = naive.whole(base, text), base.weights(text)
        np.testing.assert_allclose(readings[0].probabilities[i], p, atol=1e-7)
        np.testing.assert_allclose(readings[0].attention[i], alpha, atol=1e-12)
        assert readings[0].probabilities[i].argmax() == p.argmax()
        shapes = [np.mean([naive.jsd(a, b) for a, b in zip(alpha, m.weights(text), strict=True)]) for m in others]
        outputs = [abs(p - naive.whole(m, text)).sum() / 2 for m in others]
        assert found["seed_tvd"][i] == pytest.approx(np.median(outputs), abs=1e-7)
        assert found["seed_mean_tvd"][i] == pytest.approx(np.mean(outputs), abs=1e-7)
        np.testing.assert_allclose(found["seed_jsd"][i], np.median(shapes) if len(text) > 1 else math.nan, atol=1e-7)
        n = len(text)
        orders = generator(" ".join(text), "attention of others shuffled", 4).permuted([[*range(n)]] * 6, axis=1)
        by_chance = []
        for order in orders:  # the weights of the others, moved so that each meets the weight of the base that it drew
            moved = [m.weights(text)[:, np.argsort(order)] for m in others]
            apart = [np.mean([naive.jsd(a, b) for a, b in zip(alpha, weights, strict=True)]) for weights in moved]
            by_chance.append(np.median(apart))
        expected = np.mean(by_chance) if n > 1 else math.nan
        np.testing.assert_allclose(found["seed_shuffled_jsd"][i], expected, atol=1e-7)
    same = divergences(readings[0], readings[0])
    assert np.nanmax(same[0]) == 0
    assert same[1].max() == 0


def test_shuffles_in_parts_are_those_in_one_go(monkeypatch):
    """As many at once as fit into memory."""
    base, *others = [reading(Fake(rows=2, seed=seed), TEXTS) for seed in range(3)]
    whole = several.chance(base, others, TEXTS, draws=9)
    monkeypatch.setattr(several, "CELLS", 30)
    np.testing.assert_allclose(several.chance(base, others, TEXTS, draws=9), whole, rtol=0, atol=1e-12)
    assert np.isfinite(whole).sum() == sum(len(text) > 1 for text in TEXTS)


def test_readings_with_given_attention():
    model = Fake(rows=2)
    other = reading(Fake(rows=2, seed=8), TEXTS)
    found = reading(model, TEXTS, Given(TEXTS, other.attention))
    even = reading(model, TEXTS, uniform_rows)
    for i, text in enumerate(TEXTS):
        np.testing.assert_allclose(found.probabilities[i], naive.answer(model, text, other.attention[i]), atol=1e-6)
        np.testing.assert_allclose(found.attention[i], other.attention[i], atol=1e-6)
        flat = np.full((2, len(text)), 1 / max(len(text), 1))
        np.testing.assert_allclose(even.probabilities[i], naive.answer(model, text, flat), atol=1e-7)
    np.testing.assert_allclose(found.probabilities, probabilities(model, TEXTS, Given(TEXTS, other.attention)))
    with pytest.raises(KeyError):
        reading(model, [("good", "good")], Given(TEXTS, other.attention))


def test_attention_of_several_texts_side_by_side():
    assert pad([np.ones((2, 1)), np.zeros((2, 0)), np.full((2, 3), 0.5)], 3).tolist() == [
        [[1, 0, 0], [1, 0, 0]],
        [[0, 0, 0], [0, 0, 0]],
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]],
    ]


def given(weights):
    """A reading of texts that all get the same output."""
    return ModelReading([row[None] for row in weights], np.full((len(weights), 2), 0.5))


def judged_alike(base, others, texts):
    rows = seed_variance(base, others, texts, draws=40)
    table = verdicts(pd.DataFrame(rows).assign(permutation_mean_tvd=0.0), Bootstrap(texts, 400))
    return table.set_index("question").loc["Do models with other seeds attend to the same words more than by chance?"]


FLAT_AND_PEAKED = [0.1, 1.0, 30.0]  # of a Dirichlet distribution: from one word to almost uniform


@pytest.mark.parametrize("concentration", FLAT_AND_PEAKED)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_models_that_attend_alike_pass_however_flat_their_attention(concentration, count):
    """They share half of their attention. With shuffled weights of the base as a floor, the flat ones would fail."""
    rng = np.random.default_rng(0)
    texts = [(f"text {i}", *VOCABULARY[:9]) for i in range(60)]
    shared, *own = rng.dirichlet([concentration] * 10, size=(count + 2, 60))
    base, *others = (given((shared + part) / 2) for part in own)
    found = judged_alike(base, others, texts)
    assert found["verdict"] == "passes"
    assert 0 < found["smaller_mean"] < found["larger_mean"]


@pytest.mark.slow
@pytest.mark.parametrize("concentration", FLAT_AND_PEAKED)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_models_that_have_nothing_in_common_meet_their_floor(concentration, count):
    """Whatever their number: the floor is what the same number of models gives by chance, neither less nor more."""
    rng = np.random.default_rng(1)
    texts = [(f"text {i}", *VOCABULARY[:5]) for i in range(250)]
    base, *others = (given(weights) for weights in rng.dirichlet([concentration] * 6, size=(count + 1, 250)))
    found = judged_alike(base, others, texts)
    spread = (found["high"] - found["low"]) / 4  # about one standard error
    assert abs(found["difference"]) < 3 * spread
    assert spread < 0.2 * found["smaller_mean"]


def test_models_that_avoid_the_words_of_the_base_fail():
    rng = np.random.default_rng(2)
    texts = [(f"text {i}", *VOCABULARY[:7]) for i in range(60)]
    weights = rng.dirichlet([0.5] * 8, size=60)
    rising, falling = np.sort(weights, axis=1), -np.sort(-weights, axis=1)
    assert judged_alike(given(rising), [given(falling)] * 3, texts)["verdict"] == "fails"


def planted(n=60, words=9):
    """Attention that ranks words almost as leaving them out does; gradients rank them exactly so."""
    rng = np.random.default_rng(0)
    loo = rng.random((n, words))
    attention, random = loo + rng.normal(scale=0.07, size=loo.shape), rng.random(loo.shape)
    tau = {"loo": kendall([*attention], [*loo])[0], "random": kendall([*attention], [*random])[0]}
    texts = [(f"text {i}", *VOCABULARY[: words - 1]) for i in range(n)]
    columns = {f"tau_{name}": values for name, values in tau.items()} | {"tau_gradient_loo": kendall([*loo], [*loo])[0]}
    return pd.DataFrame(columns), texts


def test_a_question_about_leave_one_out_is_not_decided_by_gradients():
    table, texts = planted()
    assert table["tau_loo"].mean() > 0.75
    found = verdicts(table, Bootstrap(texts, 200)).set_index("question")
    assert found["verdict"].to_dict() == {
        "Does attention rank words as leave-one-out does, better than by chance?": "passes",
        "Does attention agree with leave-one-out better than gradients do?": "fails",
    }
    chance_row, gradient_row = found.to_dict("records")
    assert chance_row["compared"].endswith("against τ of attention and random scores")
    assert gradient_row["compared"].endswith("against that of gradient × input")


def test_a_floor_is_the_same_whatever_other_columns_are_there():
    """Shuffled weights that move the output by 0.0518 are above ε = 0.05, also beside seeds that move it by more."""
    rng = np.random.default_rng(0)
    texts = [(f"text {i}",) for i in range(200)]
    moved = 0.0518 + rng.normal(scale=0.004, size=200)
    table = pd.DataFrame({"permutation_tvd": moved, "permutation_mean_tvd": moved})
    beside = table.assign(seed_tvd=0.2, seed_mean_tvd=0.2, seed_jsd=0.1, seed_shuffled_jsd=0.2)
    alone, together = (verdicts(rows, Bootstrap(texts, 200)) for rows in (table, beside))
    assert alone["verdict"].tolist() == ["passes"]
    pd.testing.assert_frame_equal(together[together["test"] == "permutation"].reset_index(drop=True), alone)
    assert together.loc[together["larger"] == "permutation_mean_tvd", "verdict"].tolist() == ["fails"]


def test_every_test_gives_the_columns_that_it_declares():
    """Those of other models, and what is concluded from all texts, come in later."""
    options = ExplanationTestOptions(draws=3, steps=1)
    later = {
        "uniform_retrained_correct",
        "null_space",
        *("two_word_jsd", "two_word_gap", "farthest_jsd", "exact"),  # of models that cannot be solved exactly
        *(f"significant_{name}" for name in ("gradient", "loo", "random")),
    }
    later.add("significant_gradient_loo")
    model = built()

    def rows(name, batch):
        return registered_tests()[name].examine(batch, options)

    for name, test in registered_tests().items():
        columns = examine(model, IDS, TEXTS, {name: partial(rows, name)}).columns[5:]
        declared = [] if test.trains else [column for column in test.columns if column not in later]
        assert sorted(columns) == sorted(declared), name
    readings = [reading(built(seed=seed), TEXTS) for seed in range(2)]
    given_by_seeds = seed_variance(readings[0], readings[1:], TEXTS, draws=2)
    assert list(given_by_seeds) == list(registered_tests()["seeds"].columns)


def test_no_question_is_asked_twice():
    assert len({question.question for _, question in all_questions()}) == len(all_questions())

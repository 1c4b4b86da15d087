"""Erasure, rationales and single tokens against naive loops, worked examples, and what has to hold of all of them."""

from __future__ import annotations

import functools
import itertools
import math
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from attentionology.analyses.explanation.attention import interventions
from attentionology.analyses.explanation.attention.batch import BatchTest, examine, read
from attentionology.analyses.explanation.attention.interventions import answers_without, erase, orderings, ranks
from attentionology.analyses.explanation.methods import erasure
from attentionology.analyses.explanation.methods.eraser import cuts, rationales
from attentionology.analyses.explanation.methods.erasure import single_weight
from attentionology.analyses.explanation.methods.removal import removal
from attentionology.analyses.explanation.methods.single_token import single_token
from attentionology.extractors.replaceable.attention_model import AttentionModel
from tests.reference import naive_erasure as naive
from tests.reference.naive_erasure import VOCABULARY, Fake

pytestmark = pytest.mark.slow


def some_texts(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(VOCABULARY, size=n).tolist()) for n in lengths]


TEXTS = some_texts([0, 1, 2, 3, 5, 5, 8, 11, 1, 30])
IDS = [f"text {i}" for i in range(len(TEXTS))]
MODELS = [
    pytest.param({"classes": c, "rows": r, "special": s, "seed": seed}, id=f"{c}-{r}-{s}-{seed}")
    for c, r, s, seed in itertools.product((2, 3), (1, 2), ("keep", "renormalize"), (1, 2))
]
TESTS: dict[str, BatchTest] = {
    "single": single_weight,
    "removal": partial(removal, draws=3),
    "rationales": partial(rationales, draws=2),
    "token": single_token,
}


NAIVE = {"single": naive.single, "removal": naive.removal, "rationales": naive.rationales, "token": naive.token}


@functools.cache
def naive_rows(name, classes, rows, special, seed):
    """What the naive loop gives for each text; no size of a batch changes it."""
    model = Fake(classes, rows, special, seed)
    return [
        NAIVE[name](model, text, text_id) if len(text) > (name == "single") else {}
        for text_id, text in zip(IDS, TEXTS, strict=True)
    ]


@pytest.mark.parametrize("name", TESTS)
def test_a_text_alone_has_the_values_that_it_has_among_others(name):
    model = Fake(3, 2, "keep", 1)
    together = examine(model, IDS, TEXTS, {name: TESTS[name]})
    alone = [examine(model, [text_id], [text], {name: TESTS[name]}) for text_id, text in zip(IDS, TEXTS, strict=True)]
    pd.testing.assert_frame_equal(pd.concat(alone, ignore_index=True)[together.columns], together, atol=1e-7)


@pytest.mark.parametrize("cells", [1, 500, 20_000_000])
@pytest.mark.parametrize("options", MODELS)
def test_every_column_equals_the_naive_loop(options, cells, monkeypatch):
    monkeypatch.setattr(interventions, "CELLS", cells)
    model = Fake(**options)
    assert isinstance(model, AttentionModel)
    for name, test in TESTS.items():
        frame = examine(model, IDS, TEXTS, {name: test}).drop(
            columns=["id", "words", "predicted", "probability", "max_attention"]
        )
        expected = naive_rows(name, **options)
        assert set(frame.columns) == set(expected[-1])
        assert all(re.fullmatch("[a-z_]+", column) for column in frame.columns)
        for column in frame.columns:
            np.testing.assert_allclose(
                frame[column], [row.get(column, math.nan) for row in expected], atol=1e-7, err_msg=column
            )


class Worked(Fake):
    """Weights in proportion to a number per word, and the logit of class 1 is the bias + Σ α · evidence."""

    def __init__(self, bias):
        super().__init__()
        self.words = {"good": (2.0, 4.0), "warm": (1.0, 1.0), "dull": (1.0, -3.0)}
        self.query, self.value = np.zeros((1, 4)), np.zeros((1, 4, 2))
        self.value[0, 0, 1] = 1
        self.bias = np.array([0.0, bias])

    def contextual(self, text):
        return np.array([[self.words[word][1], 0, 0, 0] for word in text]).reshape(-1, 4)

    def weights(self, text):
        weights = np.array([[self.words[word][0] for word in text]])
        return weights / weights.sum()

    def to_words(self, text):
        return 1.0


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def row(model, text, test):
    return {name: values.item() for name, values in test(read(model, ["worked"], [text])).items()}


TEXT = ("good", "warm", "dull")


def test_one_weight_less_worked_by_hand():
    """α = (½, ¼, ¼): logit −½ + 2 + ¼ − ¾ = 1; without "good" −½ + ½ − 3⁄2 = −3⁄2."""
    values = row(Worked(-0.5), TEXT, single_weight)
    p, q = sigmoid(1), sigmoid(-1.5)
    m = (p + q) / 2
    expected = sum(x / 2 * math.log(x / z) for x, z in ((p, m), (q, m), (1 - p, 1 - m), (1 - q, 1 - m)))
    for name in ("attention", "gradient", "attention_gradient"):
        assert values[f"single_{name}_top_jsd"] == pytest.approx(expected)
        assert values[f"single_{name}_top_flip"] == 1
        assert values[f"single_{name}_random_flip"] == 0
        assert values[f"single_{name}_weight_difference"] == pytest.approx(0.25)


def test_removal_worked_by_hand():
    """The most attended word gone: another class. The least attended gone first: only without any words."""
    values = row(Worked(-0.5), TEXT, removal)
    assert values["removal_attention"] == values["removal_gradient"] == pytest.approx(1 / 3)
    assert values["removal_attention_mass"] == pytest.approx(0.5)
    assert values["removal_ascending"] == values["removal_ascending_mass"] == pytest.approx(1)
    assert values["removal_never"] == values["removal_ascending_never"] == values["removal_random_never"] == 0
    assert values["all_zero_tvd"] == pytest.approx(sigmoid(1) - sigmoid(-0.5))


def test_a_prediction_may_change_for_a_while_only():
    """Bias ½: without "good" the logit is −½, without any word ½ as at first."""
    values = row(Worked(0.5), TEXT, removal)
    assert values["removal_never"] == values["removal_ascending_never"] == 1
    assert values["removal_attention_never"] == 0
    assert values["removal_attention"] == pytest.approx(1 / 3)
    assert math.isnan(values["removal_ascending"])
    assert math.isnan(values["removal_ascending_mass"])


def test_rationales_worked_by_hand():
    """1, 5, 10 and 20 % of three words are one word, 50 % are two."""
    values = row(Worked(-0.5), TEXT, rationales)
    p = sigmoid(1)
    needed = 4 * (p - sigmoid(-1.5)) + (p - sigmoid(-3.5))
    enough = (p - sigmoid(-0.5)) + 4 * (p - sigmoid(3.5)) + (p - sigmoid(4 * 2 / 3 + 1 / 3 - 0.5))
    for name in ("attention", "gradient"):
        assert values[f"comprehensiveness_{name}"] == pytest.approx(needed / 6)
        assert values[f"sufficiency_{name}"] == pytest.approx(enough / 6)


def test_single_tokens_worked_by_hand():
    values = row(Worked(-0.5), TEXT, single_token)
    expected = np.std([sigmoid(3.5), sigmoid(0.5), sigmoid(-3.5)])
    for prefix in ("", "alone_"):
        assert values[f"{prefix}single_token_std"] == pytest.approx(expected)
        assert values[f"{prefix}top_token_agrees"] == values[f"{prefix}top_token_predicted"] == 1


@pytest.mark.parametrize(("special", "divided"), [("keep", [0.0, 0.25, 0.75]), ("renormalize", [0.0, 0.1, 0.3])])
def test_what_is_left_sums_to_one_unless_the_model_sees_to_it(special, divided):
    alpha = torch.tensor([0.6, 0.1, 0.3]).expand(1, 2, 1, 3)
    gone = torch.tensor([[[True, False, False], [True, True, True]]])
    torch.testing.assert_close(erase(Fake(special=special), alpha, gone)[0, :, 0], torch.tensor([divided, [0.0] * 3]))


def test_a_model_whose_attention_to_special_tokens_is_unknown_is_refused():
    with pytest.raises(ValueError, match="special must be 'keep' or 'renormalize', not 'renormalise'"):
        erase(Fake(special="renormalise"), torch.ones(1, 1, 1, 3) / 3, torch.zeros(1, 1, 3, dtype=torch.bool))


def test_cuts_round_up_and_keep_the_order_of_the_text():
    text = tuple(str(i) for i in range(700))
    pairs = cuts(text, list(reversed(range(700))))
    assert [len(best) for _, best in pairs] == [0, 7, 35, 70, 140, 350]
    assert pairs[1] == (text[:-7], text[-7:])
    assert cuts(("one",), [0])[1:] == [((), ("one",))] * 5


def table(model, ids=IDS, texts=TEXTS):
    return examine(model, ids, texts, TESTS).set_index("id").sort_index()


@pytest.mark.parametrize("options", MODELS[::3])
def test_batching_order_and_padding_change_nothing(options):
    expected = table(Fake(**options))
    shuffled = np.random.default_rng(0).permutation(len(IDS))
    other = table(Fake(**options, size=1), [IDS[i] for i in shuffled], [TEXTS[i] for i in shuffled])
    pd.testing.assert_frame_equal(other, expected, rtol=0, atol=1e-9)
    pd.testing.assert_frame_equal(table(Fake(**options, size=10, pad=9)), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", MODELS[::3])
def test_all_orders_end_with_the_same_prediction(options):
    texts = some_texts([3, 4, 6] * 40)
    frame = examine(Fake(**options, size=50), [str(i) for i in range(120)], texts, {"removal": removal})
    assert 0 < frame["removal_never"].sum() < 120
    never = [f"removal_{name}_never" for name in ("attention", "gradient", "attention_gradient", "ascending", "random")]
    assert (frame.loc[frame["removal_never"] == 0, never] == 0).all(axis=None)
    for name in never[:-1]:
        assert (frame[name.removesuffix("_never")].isna() == (frame[name] == 1)).all()


def test_orders_descend_and_the_earlier_of_equal_words_is_first():
    batch = read(Fake(classes=3, rows=2), IDS, TEXTS)
    for scores in orderings(batch, 4).values():
        placed = scores.gather(-1, ranks(scores, batch.mask).argsort(-1))
        for i, text in enumerate(TEXTS):
            assert (placed[i, :, : len(text)].diff(dim=-1) <= 0).all()
            assert (scores[i, :, len(text) :] == 0).all()
    tied = torch.tensor([[[0.0, 2.0, -1.0, 2.0, 0.0]]])
    assert ranks(tied, torch.tensor([[True, True, True, True, False]])).tolist() == [[[2, 0, 3, 1, 4]]]
    noisy = tied * torch.tensor([1.0, 1.0, 1.0, 1 + 1e-6, 1.0])  # the same, as another batch might have it
    assert ranks(noisy, torch.tensor([[True, True, True, True, False]])).tolist() == [[[2, 0, 3, 1, 4]]]
    small = torch.tensor([[[1e-9, 0.9, 2e-9, 0.0]]])  # distinct, however small beside the largest
    assert ranks(small, torch.ones(1, 4, dtype=torch.bool)).tolist() == [[[2, 0, 1, 3]]]
    assert orderings(batch, 4)["random"].shape[1] == 4


def test_the_other_word_is_any_but_the_best(monkeypatch):
    taken = []

    def noted(batch, gone):
        taken.append(gone)
        return answers_without(batch, gone)

    monkeypatch.setattr(erasure, "answers_without", noted)
    text = some_texts([4])[0]
    for seed in range(300):
        single_weight(read(Fake(), ["it"], [text], seed))
    top, other = torch.cat(taken).chunk(2, dim=1)
    assert (top.sum(-1) == 1).all()
    assert (other.sum(-1) == 1).all()
    assert not (top & other).any()
    drawn = other.sum(0)
    assert (drawn[:, 4:] == 0).all()
    assert ((drawn > 70) | (drawn == 0)).all()
    assert ((drawn > 0).sum(-1) == 3).all()


def test_nothing_is_read_twice():
    model = Fake()
    batch = read(model, IDS, TEXTS)
    for test in (rationales, single_token):
        model.read.clear()
        test(batch)
        assert len(model.read) == len(set(model.read))
    assert set(model.read) == {(word,) for text in TEXTS for word in text}


def test_only_empty_texts_have_no_values():
    batch = read(Fake(pad=0), ["a", "b"], [(), ()])
    for test in TESTS.values():
        assert all(np.isnan(values).all() and len(values) == 2 for values in test(batch).values())


def test_a_model_whose_parameters_are_being_trained():
    class Trained(Fake):
        factor = torch.ones(2, dtype=torch.float64, requires_grad=True)

        def decode(self, state, alpha):
            return super().decode(state, alpha) * self.factor

    pd.testing.assert_frame_equal(table(Trained()), table(Fake()))
    assert Trained.factor.grad is None

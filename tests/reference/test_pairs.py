"""Minimal pairs: scores of toy models that are known by hand, of tiny ones by loops, and what is said of them."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import attentionology
from attentionology import CorpusError, CountOptions, OptionError, load_pairs
from attentionology.analyses import PairsOptions
from attentionology.analyses.comparison.results import Comparison, Contrast, Side, contrast
from attentionology.analyses.comparison.section import contrast_table
from attentionology.analyses.contract import OptionSet, PlanCounts
from attentionology.analyses.counting.comparable import Comparable, Measured, mcnemar
from attentionology.analyses.counting.resampling import poisson_weights
from attentionology.analyses.pairs.accuracy import PairScores, comparable_accuracy, scores_of, wilson
from attentionology.analyses.pairs.critical import CriticalAttention
from attentionology.analyses.pairs.needed import NEEDED
from attentionology.analyses.pairs.rows import Difference, PairCounts, PairFacts, difference
from attentionology.analyses.pairs.scores import (
    EstimateMaker,
    ScoreMaker,
    Scorer,
    WithoutMaker,
    causal_scoring,
    masked_scoring,
)
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapBatch, ModelError, SharedBatch
from tests import tiny
from tests.shown_tables import in_terminal

TEXT = "The unbelievable dog barked at Szczepański."


class Toy(torch.nn.Module):
    """A model whose logits depend on the piece at the same position alone: a bigram model, or one without context."""

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.table = table

    def forward(self, input_ids: torch.Tensor, **_: Any) -> Any:
        return SimpleNamespace(logits=self.table[input_ids])


def with_roles(style: str, **roles: str) -> Any:
    tokenizer = tiny.fresh_tokenizer(style)
    for role, token in roles.items():
        setattr(tokenizer, f"{role}_token", token)
    return tokenizer


def encoder_with(family: str, **roles: str) -> Any:
    encoder = tiny.randomize(family)
    for role, token in roles.items():
        setattr(encoder.tokenizer, f"{role}_token", token)
    return encoder


@pytest.fixture(scope="module")
def masked():
    encoder = encoder_with("bert", mask="[MASK]")
    return encoder, tiny.language_model(encoder, "MaskedLM")


@pytest.fixture(scope="module")
def causal():
    encoder = encoder_with("gpt2", eos="<|endoftext|>")
    return encoder, tiny.language_model(encoder, "CausalLM")


def test_a_causal_model_begins_with_bos_or_eos_and_the_sentence_as_it_is_written():
    tokenizer = with_roles("bytes without specials", eos="<|endoftext|>")
    tokenizer.backend_tokenizer.pre_tokenizer.add_prefix_space = True  # as for words of treebanks
    end = tokenizer.eos_token_id
    plain, spaced = (causal_scoring(tokenizer, "the dog", harness=each) for each in (False, True))
    assert plain.rows[0][0] == spaced.rows[0][0] == end
    assert tokenizer.decode(plain.rows[0][1:]) == "the dog"
    assert tokenizer.decode(spaced.rows[0][1:]) == " the dog"
    assert plain.targets == plain.rows[0][1:]
    assert plain.at == [(0, index) for index in range(len(plain.targets))]
    assert tokenizer.backend_tokenizer.pre_tokenizer.add_prefix_space
    begins = causal_scoring(tokenizer, "<|endoftext|>the dog")
    assert begins.rows == plain.rows  # its first piece is the context
    tokenizer.bos_token = "d"
    assert causal_scoring(tokenizer, "the dog").rows[0][0] == tokenizer.bos_token_id
    with pytest.raises(ModelError, match="neither a BOS nor an EOS"):
        causal_scoring(with_roles("bytes without specials"), "the dog")


def test_a_bigram_model_gives_the_sum_by_hand(causal):
    encoder, _ = causal
    table = torch.randn(len(encoder.tokenizer), len(encoder.tokenizer), generator=torch.Generator().manual_seed(1))
    score, pieces = Scorer(Toy(table), causal=True).score(encoder, TEXT)
    row = causal_scoring(encoder.tokenizer, TEXT).rows[0]
    log_p = table.double().log_softmax(-1)
    assert pieces == len(row) - 1
    assert score == pytest.approx(sum(float(log_p[one, two]) for one, two in itertools.pairwise(row)), rel=1e-9)


def test_without_context_both_masked_scores_are_those_of_single_pieces(masked):
    encoder, _ = masked
    unigram = torch.randn(len(encoder.tokenizer), generator=torch.Generator().manual_seed(2))
    lm = Toy(unigram.expand(len(encoder.tokenizer), -1))
    expected = sum(float(unigram.double().log_softmax(0)[piece]) for piece in encoder.tokenizer(TEXT).input_ids[1:-1])
    for within_words in (True, False):
        assert Scorer(lm, False, within_words).score(encoder, TEXT)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("within_words", [True, False])
def test_masked_scores_are_those_of_a_loop(masked, within_words):
    encoder, lm = masked
    encoding = encoder.tokenizer(TEXT)
    ids, words = encoding.input_ids, encoding.word_ids()
    total = 0.0
    for t in range(1, len(ids) - 1):
        row = list(ids)
        row[t] = encoder.tokenizer.mask_token_id
        for later in range(t + 1, len(ids) - 1):
            if within_words and words[later] == words[t]:
                row[later] = encoder.tokenizer.mask_token_id
        with torch.inference_mode():
            logits = lm(input_ids=torch.tensor([row])).logits[0, t].double()
        total += float(logits.log_softmax(0)[ids[t]])
    assert len(set(words)) < len(ids) - 1  # some word has several pieces
    score, pieces = Scorer(lm, False, within_words).score(encoder, TEXT)
    assert score == pytest.approx(total, rel=1e-6)
    assert pieces == len(ids) - 2


def test_of_words_of_one_piece_both_masked_scores_are_the_same():
    tokenizer = with_roles("wordpiece", mask="[MASK]")
    words = [word for word in sorted(tokenizer.get_vocab()) if word.isalpha() and len(word) > 2][:5]
    text = " ".join(words)
    assert len(tokenizer(text).input_ids) == len(words) + 2
    one, other = (masked_scoring(tokenizer, text, within_words=each) for each in (True, False))
    assert one == other
    long = [masked_scoring(tokenizer, TEXT, within_words=each).rows for each in (True, False)]
    assert long[0] != long[1]


def batch_of(encoder: Any, *texts: str) -> SharedBatch:
    sentences = tuple(Sentence(f"p:{n} good", tuple(text.split()), text=text) for n, text in enumerate(texts))
    return SharedBatch(encoder, sentences, encoder.align(sentences))


@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_a_head_that_is_off_gives_zeros(kind, masked, causal):
    """The columns of the output projection that read the head are set to zero, and the sentence is scored again."""
    encoder, lm = {"masked": masked, "causal": causal}[kind]
    scorer = Scorer(lm, kind == "causal")
    batch = batch_of(encoder, TEXT, "the dog")
    _, without = WithoutMaker(scorer, ((1, 2), (0, 0))).of(batch)
    _, plain = ScoreMaker(scorer).of(batch)
    for column, (layer, head) in enumerate([(1, 2), (0, 0)]):
        module = lm.bert.encoder.layer[layer].attention.output if kind == "masked" else lm.transformer.h[layer].attn
        projection = module.dense if kind == "masked" else module.c_proj
        before = projection.weight.data.clone()
        read = slice(head * 6, head * 6 + 6)
        projection.weight.data[(slice(None), read) if kind == "masked" else read] = 0
        expected = [scorer.score(encoder, sentence.text or "")[0] for sentence in batch.sentences]
        projection.weight.data = before
        assert without[:, column].tolist() == pytest.approx(expected, rel=1e-5)
        assert abs(without[0, column] - plain[0, 0]) > 1e-3


def test_a_head_that_gives_nothing_has_no_effect_and_the_estimate_is_a_derivative():
    encoder = encoder_with("bert", mask="[MASK]")
    value = encoder.model.encoder.layer[1].attention.self.value
    value.weight.data[6:12], value.bias.data[6:12] = 0, 0
    scorer = Scorer(tiny.language_model(encoder, "MaskedLM"), False)
    batch = batch_of(encoder, TEXT)
    _, without = WithoutMaker(scorer, ((1, 1), (2, 3))).of(batch)
    _, plain = ScoreMaker(scorer).of(batch)
    _, estimate = EstimateMaker(scorer).of(batch)
    assert float(without[0, 0]) == pytest.approx(float(plain[0, 0]), rel=1e-6)
    assert float(estimate[0, 1, 1]) == 0
    projection = scorer.lm.bert.encoder.layer[2].attention.output.dense.weight
    before, step = projection.data.clone(), 1e-3
    changed = []
    for sign in (1, -1):
        projection.data = before.clone()
        projection.data[:, 18:24] *= 1 + sign * step
        changed.append(scorer.score(encoder, TEXT)[0])
    projection.data = before
    assert float(estimate[0, 2, 3]) == pytest.approx((changed[0] - changed[1]) / (2 * step), rel=0.02, abs=5e-3)


def test_where_sentences_differ():
    def found(good: str, bad: str) -> Difference:
        return difference(good.split(), bad.split())

    assert found("a b c d", "a x c d") == (1, 2, 2)
    assert found("a b c", "a b c d") == (3, 3, 4)
    assert found("a a b", "a b") == (1, 2, 1)
    assert found("b", "c") == (0, 1, 1)


def test_attention_at_the_words_that_differ_is_that_of_loops():
    rng = np.random.default_rng(0)
    maps = rng.dirichlet(np.ones(6), (2, 1, 2, 6))  # two sentences of four words between special tokens
    names = ("p good", "p bad")
    special = torch.zeros(2, 6, dtype=torch.bool)
    special[:, [0, 5]] = True
    sentences = tuple(Sentence(name, tuple("abcd")) for name in names)
    metric = CriticalAttention(1, 2, ids=["p", "q"], places=[(2, 4, 3), (0, 1, 1)])
    metric.update(MapBatch(torch.from_numpy(maps).float(), torch.tensor([6, 6]), special, sentences))
    found = metric.compute()
    for head in range(2):
        good = np.mean([maps[0, 0, head, word + 1, 1:3].sum() for word in (2, 3)])
        assert found[0, 0, 0, head] == pytest.approx(good, abs=1e-6)
        assert found[0, 1, 0, head] == pytest.approx(maps[1, 0, head, 3, 1:3].sum(), abs=1e-6)
    assert np.isnan(found[1]).all()  # it was not read, and nothing precedes its first word


def counts_of(groups: list[str]) -> Any:
    names = [f"p{index}" for index in range(len(groups))]
    pairs = tuple((name, group, "a", "b", 0, 1, 1) for name, group in zip(names, groups, strict=True))
    options: Any = OptionSet([CountOptions(replicates=100)])
    facts: Any = PairFacts({}, pairs, None, 0)  # type: ignore[arg-type]
    return PairCounts(options, PlanCounts(facts, {}, {}))


def test_ties_are_not_correct_and_counted_apart():
    counts = counts_of(["a"] * 3 + ["b"])
    metric = PairScores([f"p{index}" for index in range(4)])
    values = {"p0": (-1.0, -2.0), "p1": (-2.0, -2.0), "p2": (-3.0, -2.0)}
    for pair, scores in values.items():
        for end, score in zip(("good", "bad"), scores, strict=True):
            metric.update(([f"{pair} {end}"], torch.tensor([[score, 4.0]], dtype=torch.float64)))
    answer = scores_of(counts, *metric.compute())
    rows = answer.groups.set_index("group")
    assert rows.loc["a", ["pairs", "correct", "ties"]].to_numpy().tolist() == [3, 1, 1]
    assert rows.loc["a", ["accuracy", "accuracy_with_ties"]].to_numpy().tolist() == pytest.approx([1 / 3, 2 / 3])
    assert rows.loc["b", "pairs"] == 0
    assert np.isnan(rows["accuracy"]["b"])
    assert rows.loc["all", "difference"] == 0
    z, n, share = 1.959963985, 3, 1 / 3
    middle, half = (share + z * z / 2 / n) / (1 + z * z / n), z * math.sqrt(share * (1 - share) / n + z * z / 4 / n**2)
    half /= 1 + z * z / n
    assert wilson(1, 3) == pytest.approx((middle - half, middle + half))


def test_the_accuracy_of_two_models_can_be_compared():
    """The deviations are those of recounts with the weights of the pairs, which are the same for every model."""
    counts = counts_of(["a", "a", "b"])
    metric = PairScores(["p0", "p1", "p2"])
    for pair, good in (("p0", -1.0), ("p1", -3.0), ("p2", -1.5)):
        metric.update(([f"{pair} good", f"{pair} bad"], torch.tensor([[good, 3.0], [-2.0, 3.0]], dtype=torch.float64)))
    facts = replace(counts.facts, requests={"accuracy": ("scores",)})
    (found,) = comparable_accuracy(PairCounts(counts.options, PlanCounts(facts, {"scores": metric}, {})))
    assert [(each.group, each.n, each.value) for each in found.measured] == [
        ("a", 2, 0.5),
        ("b", 1, 1),
        ("all", 3, 2 / 3),
    ]
    weights = poisson_weights(["p0", "p1"], 100, 0).astype(float)
    drawn = weights.sum(1)
    expected = weights[drawn > 0, 0] / drawn[drawn > 0] - 0.5
    np.testing.assert_allclose(found.measured[0].deviations[drawn > 0], expected)
    assert [one.decisions for one in found.measured] == [
        {"p0": True, "p1": False},
        {"p2": True},
        {"p0": True, "p1": False, "p2": True},
    ]


def test_mcnemar_is_exact():
    assert mcnemar(8, 2) == mcnemar(2, 8) == 0.109375
    assert mcnemar(0, 0) == mcnemar(3, 3) == 1
    assert mcnemar(6, 0) == 2 / 64


def models_of_pairs(
    both: int, only_first: int, only_second: int, neither: int = 0, **changes: Any
) -> tuple[Comparable, Comparable]:
    """Two models that are right about so many pairs."""
    rights = [(1, 1)] * both + [(1, 0)] * only_first + [(0, 1)] * only_second + [(0, 0)] * neither
    ids = [f"p{index}" for index in range(len(rights))]
    weights = poisson_weights(ids, 200, 0).astype(float)
    sides = []
    for right in np.array(rights, dtype=float).T:
        deviations = weights @ right / weights.sum(1) - right.mean()
        decisions = dict(zip(ids, (right > 0).tolist(), strict=True))
        one = Measured("a", right.mean(), len(ids), deviations, units=len(ids), decisions=decisions)
        sides.append(Comparable("minimal pairs", (one,), "pairs that are right", "pairs", 0))
    first, second = sides
    return first, replace(second, measured=tuple(replace(one, **changes) for one in second.measured))


def compared(first: Comparable, second: Comparable, pairing: Any = "paired") -> Contrast:
    return contrast("pairs", first, second, Side("m", "", "m"), Side("n", "", "n"), pairing, min_count=10)


def test_two_models_are_compared_pair_by_pair():
    found = compared(*models_of_pairs(20, 8, 2, 5))
    (row,) = found.differences
    assert (row.p, row.p_holm, row.only_first, row.only_second) == (0.109375, 0.109375, 8, 2)
    assert row.difference == pytest.approx(6 / 35)
    assert row.low < row.difference < row.high
    assert found.statement.endswith("The p values are those of McNemar's exact test, of what only one side gets right.")
    written = Comparison((found,), 10).table.iloc[0]
    assert written[["only_a", "only_b", "p"]].tolist() == [8, 2, 0.109375]
    assert in_terminal(contrast_table(found), 200)[0]["only one right"] == "8 / 2"


def test_other_pairs_are_not_compared_one_by_one():
    first, second = models_of_pairs(20, 8, 2, 5)
    fewer = dict([*second.measured[0].decisions.items()][1:])
    others = models_of_pairs(20, 8, 2, 5, decisions=fewer)
    for sides, pairing in (((first, second), "unpaired"), (others, "paired")):
        found = compared(*sides, pairing)
        (row,) = found.differences
        assert row.only_first is None
        assert row.p not in (0.109375, 1.0)
        assert "McNemar" not in found.statement
        assert "only one right" not in in_terminal(contrast_table(found), 200)[0]


def test_differences_without_variation_are_tested_pair_by_pair():
    (row,) = compared(*models_of_pairs(0, 20, 0)).differences  # one is always right, the other never
    assert (row.p, row.difference) == (2 / 2**20, 1.0)
    assert row.reason == "no interval: the difference is the same in every replicate"
    (row,) = compared(*models_of_pairs(20, 0, 0)).differences  # both are always right
    assert (row.p, row.difference, row.only_first, row.only_second, row.reason) == (1.0, 0.0, 0, 0, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"sentence_good": "a b", "sentence_bad": "a b "}\n', r":1: .*are the same"),
        ('{"sentence_good": "a", "sentence_bad": "b"}\n{"sentence_good": "a"}\n', r":2: .*as sentence_bad"),
        ("{broken\n", r":1: .*no JSON object"),
        ("a b\tc d\n\na b\n", r":3: .*found 1 cells"),
    ],
)
def test_lines_that_are_no_pairs(tmp_path, text, message):
    path = tmp_path / "pairs.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"(?s){message}"):
        load_pairs(path)


NAMED = ("The key near the cabinets is old.", "The key near the cabinets are old.")


def with_words(words: Any, sentences: tuple[str, str] = NAMED) -> str:
    good, bad = sentences
    return json.dumps({"sentence_good": good, "sentence_bad": bad, "words": words})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"head": "key", "attractor": "cabinet"}, "sentence_good has no word 'cabinet'"),
        ({"head": 5, "attractor": "cabinets"}, "the head and the attractor are the same word"),
        ({"head": 2, "attractor": 9}, "sentence_good has no word 9, it has 7"),
        ({"head": 0, "attractor": 5}, "has no word 0"),
        ({"head": True, "attractor": 5}, "expected a number from 1 or a form"),
        ({"head": 2, "attractor": 6}, "the attractor is 'is' in one sentence, but 'are' in the other"),
        ({"head": 2}, "expected a number from 1 or a form for each of"),
        (["key", "cabinets"], "expected a number from 1 or a form for each of"),
    ],
)
def test_words_that_a_pair_does_not_have(tmp_path, words, message):
    path = tmp_path / "pairs.jsonl"
    path.write_text(f"{with_words({'head': 2, 'attractor': 5})}\n{with_words(words)}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"pairs\.jsonl:2: the field words: .*{message}"):
        load_pairs(path)


def test_words_are_named_by_number_or_form(tmp_path):
    path = tmp_path / "pairs.jsonl"
    longer = ("The keys that the boy sees, are old.", "The keys that only the boy sees, is old.")
    rows = [
        with_words({"head": "key", "attractor": 5}),
        with_words({"head": "keys", "attractor": "boy"}, longer),
        with_words({"head": "keys", "attractor": "sees"}, longer),
    ]
    path.write_text("\n".join(rows), encoding="utf-8")
    found = [(each.comments["head"], each.comments["attractor"]) for each in load_pairs(path)]
    assert found == [("2", "5"), ("2", "5"), ("2", "5"), ("2", "6"), ("2", "6"), ("2", "7")]
    path.write_text(with_words({"head": "the", "attractor": "cabinets"}, ("the a the b c", "the a the b d")))
    with pytest.raises(CorpusError, match="the word 'the' more than once; give its number, such as 1"):
        load_pairs(path)


def test_files_of_two_columns_and_of_blimp(tmp_path):
    path = tmp_path / "agreement.tsv"
    path.write_text("Cats sleep.\tCats sleeps.\nHe runs.\tHe run.\n", encoding="utf-8")
    pairs = load_pairs(path)
    assert [sentence.id for sentence in pairs][:2] == ["agreement.tsv:1 good", "agreement.tsv:1 bad"]
    assert {sentence.document for sentence in pairs} == {"agreement"}
    assert pairs.counts() == {"sentences": 4, "words": 8, "pairs": 2}
    assert len(load_pairs(path, limit=1)) == 2
    row = {"sentence_good": "A b", "sentence_bad": "A c", "UID": "x_y", "pairID": "0", "one_prefix_method": True}
    path.write_text(json.dumps(row), encoding="utf-8")
    assert load_pairs(path)[1].document == "x_y"


def test_the_pairs_of_the_toolkit():
    pairs = load_pairs("sample")
    groups = [sentence.document for sentence in pairs[::2]]
    assert {group: groups.count(group) for group in groups} == dict.fromkeys(dict.fromkeys(groups), 20)
    assert len(set(groups)) == 10
    for good, bad in zip(pairs[::2], pairs[1::2], strict=True):
        assert len(good.words) == len(bad.words)
        assert (good.text or "")[-1] == (bad.text or "")[-1] == "."
    assert len({sentence.text for sentence in pairs}) == 400
    named = {name: [each for each in pairs if each.document == name] for name in groups if "attractor" in name}
    assert sum(map(len, named.values())) == sum(bool(each.comments) for each in pairs) == 80
    for sentence in named["number_attractor_phrase"] + named["number_attractor_clause"]:
        head, attractor = (sentence.words[int(sentence.comments[name]) - 1] for name in ("head", "attractor"))
        assert head[-1] != "s"  # all head nouns are singular, and all attractors plural
        assert attractor[-1] == "s" or attractor == "children"


def test_a_run_says_what_the_model_prefers_and_needs(causal, monkeypatch):
    encoder, lm = causal
    load: Any = lambda *_, **__: lm  # noqa: E731
    monkeypatch.setattr("attentionology.engine.analyze.load_head", load)
    options = [PairsOptions(needed_heads=2), CountOptions(replicates=20)]
    run = attentionology.analyze(encoder, load_pairs("sample", limit=5), analyses="pairs", options=options)
    pairs, groups, heads = (run.tables[name] for name in ("pairs", "pairs_accuracy", "pairs_heads"))
    for row in pairs.iloc[[0, 4]].to_dict("records"):
        scores = [Scorer(lm, True).score(encoder, row[name])[0] for name in ("good", "bad")]
        assert [row["score_good"], row["score_bad"]] == pytest.approx(scores)
    assert groups["accuracy"].tolist() == [(pairs["difference"] > 0).mean()] * 2
    assert list(heads["group"]) == ["subject_verb_number"] * 2 + ["all"] * 2
    top = heads.iloc[0]
    _, without = WithoutMaker(Scorer(lm, True), ((int(top["layer"]) - 1, int(top["head"]) - 1),)).of(
        batch_of(encoder, pairs["good"][0], pairs["bad"][0])
    )
    assert list(heads) == ["layer", "head", *NEEDED.names[2:]]
    of_attention, of_scores = {"pairs_attention", "pairs_positions"}, {"pairs", "pairs_accuracy", "pairs_heads"}
    assert set(run.tables) == of_attention | of_scores | {"pairs_contributions"}
    assert not torch.equal(without[0], without[1])
    assert any("after the token with which texts begin" in note for note in run["pairs"].notes)


def test_a_model_without_a_head_for_predictions_has_attention_alone():
    run = attentionology.analyze(tiny.encoder(), load_pairs("sample", limit=2), options=CountOptions(replicates=0))
    assert set(run.tables) == {"pairs_attention", "pairs_positions"}
    assert "not scored" in run["pairs"].notes[-1]


def test_pairs_and_their_analysis_need_each_other():
    with pytest.raises(CorpusError, match="needs minimal pairs"):
        attentionology.analyze(tiny.encoder(), [Sentence("s", ("a", "b"))], analyses="pairs")
    with pytest.raises(OptionError, match="--analyses pairs needs --minimal-pairs FILE; in Python, give load_pairs"):
        attentionology.analyze(tiny.encoder(), "sample", analyses="pairs")

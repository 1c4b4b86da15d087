"""What the effects of a sentence do not depend on: other sentences, threads, and how many heads are off at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attentionology.analyses.ablation.effects import AblationMaker, HeadMeans
from attentionology.analyses.ablation.heads import HeadEffects
from attentionology.analyses.ablation.pruning import PruningMaker
from attentionology.analyses.counting.exact_sums import add_values
from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import shared_batches
from attentionology.extractors.replaceable.heads_off import HeadSwitch
from tests import tiny

EVERY_HEAD = tuple((layer, head) for layer in range(3) for head in range(4))


@pytest.fixture(scope="module")
def models():
    """The encoder, and what makes effects on vectors, on masked pieces and on next words."""
    masked, causal = tiny.randomize("bert"), tiny.randomize("gpt2")
    masked.tokenizer.mask_token = "[MASK]"
    return {
        "vectors": (masked, {}),
        "masked pieces": (masked, {"lm": tiny.language_model(masked, "MaskedLM")}),
        "next words": (causal, {"lm": tiny.language_model(causal, "CausalLM"), "causal": True}),
    }


MIXED = [sentence for sentence in load_treebank(SAMPLE_TREEBANK) if len(sentence.words) <= 14][:20]


@pytest.mark.parametrize("measured", ["vectors", "masked pieces", "next words"])
def test_batches_order_parts_and_threads_give_the_same_bits(models, measured):
    """Every state of the metric and every curve, whatever a sentence is padded to, and whoever reads it."""
    encoder, given = models[measured]
    sets = ((), ((0, 1), (1, 3)), EVERY_HEAD)

    def counted(sentences, batch_cells, means):
        maker = AblationMaker(EVERY_HEAD, 3, means=HeadMeans(means), **given)
        metric = HeadEffects(EVERY_HEAD, sorted({name for each in MIXED for name in each.relations}), maker.measures)
        curves = torch.zeros(3, len(maker.measures), dtype=torch.int64)
        for batch in shared_batches(encoder, sentences, batch_cells=batch_cells):
            metric.update(maker.of(batch))
            for sums, _ in PruningMaker(sets, maker).of(batch):
                curves = add_values(curves, sums[None])
        return metric, curves

    whole, curves = counted(MIXED, 4000, MIXED)  # in two batches or so
    shuffled = [MIXED[index] for index in np.random.default_rng(0).permutation(len(MIXED))]
    first, curves_of_first = counted(shuffled[:7], 700, shuffled)
    n_threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3 if n_threads == 1 else 1)
        second, curves_of_second = counted(shuffled[7:], 1, shuffled)  # one by one
        third, _ = counted(shuffled[:7], 700, shuffled)
    finally:
        torch.set_num_threads(n_threads)
    assert states_of(third) == states_of(first)
    second.merge_state(first)
    assert states_of(second) == states_of(whole)
    assert torch.equal(curves_of_first + curves_of_second, curves)
    assert whole.sums.abs().sum() > 0
    assert curves[1].abs().min() > 0


@pytest.mark.parametrize(("measured", "components"), [("vectors", 24), ("masked pieces", 400), ("next words", 400)])
def test_as_many_heads_are_off_at_once_as_memory_is_meant_to_hold(models, measured, components, monkeypatch):
    """The outputs of one pass have no more components than the bound, or are those of a single head."""
    encoder, given = models[measured]
    (batch,) = shared_batches(encoder, MIXED[:1])
    maker = AblationMaker(EVERY_HEAD, 3, **given)
    expected = maker.of(batch)
    numbers, run = [], HeadSwitch.run

    def recorded(self, layer, heads_off, fill=None):
        outputs = run(self, layer, heads_off, fill)
        numbers.append((len(heads_off), outputs.numel()))
        return outputs

    monkeypatch.setattr(HeadSwitch, "run", recorded)
    size = len(batch.pieces[0]) * components  # of about one output
    for bound in (1, 3 * size, 10**9):
        monkeypatch.setattr("attentionology.analyses.ablation.effects.COMPONENTS_AT_ONCE", bound)
        numbers.clear()
        found = maker.of(batch)
        torch.testing.assert_close(found.values, expected.values, atol=1e-5, rtol=1e-4)
        assert all(runs == 2 or components <= bound for runs, components in numbers)
        assert bound == 3 * size or {runs for runs, _ in numbers} == {2 if bound == 1 else 5}


def states_of(metric: HeadEffects) -> dict[str, bytes]:
    return {name: state.numpy().tobytes() for name, state in metric.metric_state.items()}

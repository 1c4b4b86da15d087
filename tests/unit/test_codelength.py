"""The online code of what probes of hidden states learn: a code by hand, bounds for noise, and planted labels."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.probes import (
    ArcAttentionProbe,
    ArcProbe,
    CodedBlock,
    Codelength,
    DepthProbe,
    DistanceProbe,
    LabelProbe,
    RelationProbe,
    StateRecipe,
    batch_from_array,
    codelength,
)
from attentionology.probes.states.codelength import ends_of_blocks, shuffled_order
from tests.unit.test_state_probes import SENTENCES, batch_of, noise

SHORT = StateRecipe(epochs=3, batch=5, learning_rate=0.01)
PROBES = (LabelProbe, RelationProbe, ArcProbe, ArcAttentionProbe)


def balanced(sentences: int = 64, words: int = 10, classes: int = 4) -> list[Sentence]:
    """Sentences in which every label is equally frequent, in random order."""
    rng = np.random.default_rng(5)
    tags = rng.permutation(np.arange(sentences * words) % classes).reshape(sentences, words)
    return [
        Sentence(f"s{n}", tuple(f"w{word}" for word in range(words)), tags=tuple(map(str, row)))
        for n, row in enumerate(tags.tolist())
    ]


def maps_of(sentences) -> list[Any]:
    rng = np.random.default_rng(0)
    return [batch_from_array(s, rng.random((2, 3, len(s), len(s))).astype(np.float32)) for s in sentences]


def test_sentences_are_cut_at_the_published_fractions():
    assert ends_of_blocks(1500) == (1, 3, 6, 12, 24, 48, 93, 187, 375, 750, 1500)
    assert ends_of_blocks(10) == (1, 2, 5, 10)
    assert ends_of_blocks(1) == (1,)
    assert sorted(shuffled_order(20, 1)) == list(range(20))
    assert shuffled_order(20, 1) != shuffled_order(20, 2)


@pytest.mark.parametrize("kind", PROBES)
def test_the_code_is_that_by_hand(kind):
    """The probabilities are made of what new probes predict, word by word, in bits."""
    sentences, dev_sentences = SENTENCES, SENTENCES[:5]
    states, dev = noise(sentences), noise(dev_sentences, seed=3)
    with_maps = kind.reads_maps
    maps, dev_maps = (maps_of(sentences), maps_of(dev_sentences)) if with_maps else ((), ())
    code = codelength(kind(recipe=SHORT, random_state=4), states, dev, maps=maps, dev_maps=dev_maps)

    order = np.random.default_rng(4).permutation(len(sentences))
    ends = [1, 3, 6, 12, 24]  # of 24 sentences
    known = [kind().gold(sentence) for sentence in sentences]
    classes = sorted({label for labels in known for label in labels if label is not None})
    bits, uniform, words = [0.0] * len(ends), 0.0, 0
    for block, (start, stop) in enumerate(zip([0, *ends], ends, strict=False)):
        if start:
            probe = kind(recipe=replace(SHORT, shuffle=False), random_state=4)
            before = order[:start].tolist()
            probe.fit(
                [states[n] for n in before], dev, maps=[maps[n] for n in before] if maps else (), dev_maps=dev_maps,
                prepared_from=known,
            )  # fmt: skip
        for n in order[start:stop].tolist():
            scores = probe.predict([states[n]], [maps[n]] if maps else [])[0] if start else None
            for word, label in enumerate(known[n]):
                if label is None:
                    continue
                choices = len(sentences[n]) + 1 if kind in (ArcProbe, ArcAttentionProbe) else len(classes)
                number = label if kind in (ArcProbe, ArcAttentionProbe) else classes.index(label)
                words, uniform = words + 1, uniform + math.log2(choices)
                if scores is None:
                    bits[block] += math.log2(choices)
                else:
                    assert scores.shape[1] == choices
                    exponents = [math.exp(score) for score in scores[word].tolist()]
                    bits[block] -= math.log2(exponents[number] / sum(exponents))
    assert [block.bits for block in code.blocks] == pytest.approx(bits, rel=1e-5)
    assert code.words == words
    assert [code.uniform, code.bits] == pytest.approx([uniform, sum(bits)], rel=1e-5)
    assert code.bits_per_word == pytest.approx(sum(bits) / words, rel=1e-5)
    assert code.compression == pytest.approx(uniform / sum(bits), rel=1e-5)
    if kind is LabelProbe:
        counts = Counter(label for labels in known for label in labels)
        entropy = -sum(count / words * math.log2(count / words) for count in counts.values())
        assert code.floor == pytest.approx(words * entropy)
    elif kind is ArcProbe:
        assert math.isnan(code.floor)


def test_noise_tells_nothing_about_labels():
    """A code of labels that states do not tell is no shorter than their entropy, and log2 K if they are balanced."""
    states = noise(SENTENCES, dim=30)
    recipe = StateRecipe(factor=0.5, better=0.001)
    code = codelength(LabelProbe(recipe=recipe), states, noise(SENTENCES[:6], dim=30, seed=9))
    assert code.bits > code.floor
    sentences = balanced()
    states = noise(sentences, dim=5)
    code = codelength(LabelProbe(recipe=recipe), states, noise(balanced(8), dim=5, seed=9))
    assert code.floor == code.uniform == 640 * 2
    assert code.uniform <= code.bits < 1.2 * code.uniform
    assert code.compression < 1


def test_a_planted_label_costs_few_bits():
    sentences = balanced(256)
    vectors = np.random.default_rng(1).normal(size=(4, 30)) * 3
    states = [batch_of(s, vectors[[int(tag) for tag in s.tags]]) for s in sentences]
    recipe = StateRecipe(learning_rate=0.02)
    planted = codelength(LabelProbe(recipe=recipe), states)
    assert planted.compression > 10
    assert planted.blocks[0].bits == planted.blocks[0].uniform == 20
    assert all(block.bits < 0.02 * block.words for block in planted.blocks[-3:])


def test_classes_that_no_earlier_word_has_are_coded():
    """The classes are fixed in advance, so that a label may be new in a late block."""
    sentences = [Sentence(f"s{n}", ("a", "b"), tags=("X", "Y" if n else "Z")) for n in range(8)]
    states = noise(sentences, dim=3)
    code = codelength(LabelProbe(recipe=SHORT), states)
    assert code.words == 16
    assert code.uniform == pytest.approx(16 * math.log2(3))
    assert math.isfinite(code.bits)


def test_words_without_a_label_are_not_coded():
    sentences = [Sentence(f"s{n}", ("a", "b"), tags=("X" if n % 2 else "_", "_" if n < 6 else "Y")) for n in range(8)]
    code = codelength(LabelProbe(recipe=SHORT), noise(sentences, dim=3))
    assert code.words == 6
    assert math.isfinite(code.bits)


@pytest.mark.parametrize("kind", [DistanceProbe, DepthProbe])
def test_probes_without_probabilities_have_no_code(kind):
    with pytest.raises(TypeError, match="predicts no probabilities"):
        codelength(kind(), noise())


def test_the_recipe_of_the_probe_stays_as_it_was():
    probe = LabelProbe(recipe=SHORT)
    codelength(probe, noise(SENTENCES[:4]))
    assert probe.recipe == SHORT
    assert torch.isfinite(next(probe.module_.parameters())).all()


def test_a_code_without_words_has_no_mean():
    code = Codelength((CodedBlock(0, 1, 0, 0.0, 0.0),), math.nan)
    assert math.isnan(code.bits_per_word)
    assert math.isnan(code.compression)

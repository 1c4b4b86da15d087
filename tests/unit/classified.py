"""Texts and classifiers for the tests of attention classifiers."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from attentionology.probes.classifiers import AttentionClassifier, Vocabulary

ENCODERS = ("lstm", "cnn", "average", "none")
REGULARIZERS = (None, "concat", "residual", "tying", "mlm", "conicity")
KINDS = [*itertools.product(ENCODERS, ("additive", "dot"), REGULARIZERS)]
WORDS = "the a film plot was is not very good bad dull warm and but".split()


def some_texts(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(WORDS, size=n).tolist()) for n in lengths]


TEXTS = [*some_texts([7, 1, 0, 3, 12, 5]), ("unseen",), ("quite", "unseen", "words")]


def built(encoder="lstm", attention="additive", regularizer=None, classes=2, **options):
    model = AttentionClassifier(encoder, attention, regularizer, **{"dimensions": 8, "size": 8} | options)
    return model.build(Vocabulary(tuple(WORDS)), "abcd"[:classes])


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.state_dict().values()])

"""Texts and classifiers for the tests of explanation tests."""

from __future__ import annotations

import math

import numpy as np
import torch

from attentionology.probes.classifiers import AttentionClassifier, Vocabulary
from tests.reference.naive_erasure import VOCABULARY

ENCODERS = ("lstm", "cnn", "average", "none")


def some_texts(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(VOCABULARY, size=n).tolist()) for n in lengths]


TEXTS = some_texts([0, 1, 2, 3, 5, 5, 8, 11, 1, 20])
IDS = [f"text {i}" for i in range(len(TEXTS))]


def built(
    kind=AttentionClassifier, encoder="lstm", attention="additive", classes=2, *, double=True, seed=0, factor=3.0
):
    """Not trained, but far from indifferent."""
    model = kind(encoder, attention, dimensions=8, size=8, random_state=seed)
    model.build(Vocabulary(tuple(VOCABULARY)), list("abc"[:classes]))
    with torch.no_grad():
        for parameter in (*model.attend.parameters(), model.decoder.weight):
            parameter.mul_(factor)
    return model.double() if double else model


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def logit(p):
    return -math.inf if p <= 0 else math.inf if p >= 1 else math.log(p / (1 - p))

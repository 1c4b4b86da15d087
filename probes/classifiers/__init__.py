"""Attention classifiers of texts, trained here, for the tests of attention as an explanation."""

from attentionology.probes.classifiers.attention_classifier import AttentionClassifier
from attentionology.probes.classifiers.imitation import LAMBDAS, Divergence, Imitation
from attentionology.probes.classifiers.regularizers import cosine_to_mean
from attentionology.probes.classifiers.training import (
    FINE_TUNING,
    IMITATION,
    PUBLISHED,
    ClassifierRecipe,
    CrossEntropy,
    Objective,
    Trainable,
    train,
)
from attentionology.probes.classifiers.vocabulary import Vocabulary

__all__ = [
    "FINE_TUNING",
    "IMITATION",
    "LAMBDAS",
    "PUBLISHED",
    "AttentionClassifier",
    "ClassifierRecipe",
    "CrossEntropy",
    "Divergence",
    "Imitation",
    "Objective",
    "Trainable",
    "Vocabulary",
    "cosine_to_mean",
    "train",
]

"""Attention classifiers of texts, trained here, for the tests of attention as an explanation."""

from .attention_classifier import AttentionClassifier
from .hierarchical import HierarchicalClassifier
from .imitation import LAMBDAS, Divergence, Imitation
from .query_classifier import QueryClassifier
from .regularizers import cosine_to_mean
from .training import FINE_TUNING, IMITATION, PUBLISHED, ClassifierRecipe, CrossEntropy, Objective, Trainable, train
from .vocabulary import Vocabulary

__all__ = [
    "FINE_TUNING",
    "IMITATION",
    "LAMBDAS",
    "PUBLISHED",
    "AttentionClassifier",
    "ClassifierRecipe",
    "CrossEntropy",
    "Divergence",
    "HierarchicalClassifier",
    "Imitation",
    "Objective",
    "QueryClassifier",
    "Trainable",
    "Vocabulary",
    "cosine_to_mean",
    "train",
]

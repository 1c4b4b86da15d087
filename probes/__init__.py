"""Probes and classifiers that are trained on maps or text; their baselines and controls (Clark et al. 2019, §5)."""

from .baselines import FixedOffset, RelationOffset, SingleHead, count_heads
from .checkpoint import Checkpoint, TrainingState
from .predictor import Decoding, DecodingError, HeadPredictor, decode
from .probe import Probe
from .probed_sentence import ProbedSentence, batch_from_array, gold_heads, probed_sentences, scored, uas
from .recipe import PAPER, TUNED, Recipe
from .registry import (
    ProbeRegistryError,
    list_probes,
    make_probe,
    make_state_probe,
    register_probe,
    registered_probes,
    registered_state_probes,
    unregister_probe,
)
from .saved_probe import load_probe, load_state_probe
from .scorers import HeadScorer, Scorer
from .splits import control_task
from .states.annotation import control_labels, control_trees, labels, tree_depths, tree_distances
from .states.arcs import ArcAttentionProbe, ArcProbe
from .states.codelength import CodedBlock, Codelength, codelength
from .states.decay import decayed
from .states.depth import DepthProbe
from .states.distance import DistanceProbe
from .states.examples import StateExamples, StateModule
from .states.label import LabelProbe, RelationProbe
from .states.mixing import LayerMix
from .states.probe import StateProbe
from .states.training import StateRecipe
from .syntax_probes import AttentionProbe, AttentionWordsProbe, WordProbe, WordsDistancesProbe
from .training import TrainingError
from .weights import ArcWeights, added_up, arc_weights

__all__ = [
    "PAPER",
    "TUNED",
    "ArcAttentionProbe",
    "ArcProbe",
    "ArcWeights",
    "AttentionProbe",
    "AttentionWordsProbe",
    "Checkpoint",
    "CodedBlock",
    "Codelength",
    "Decoding",
    "DecodingError",
    "DepthProbe",
    "DistanceProbe",
    "FixedOffset",
    "HeadPredictor",
    "HeadScorer",
    "LabelProbe",
    "LayerMix",
    "Probe",
    "ProbeRegistryError",
    "ProbedSentence",
    "Recipe",
    "RelationOffset",
    "RelationProbe",
    "Scorer",
    "SingleHead",
    "StateExamples",
    "StateModule",
    "StateProbe",
    "StateRecipe",
    "TrainingError",
    "TrainingState",
    "WordProbe",
    "WordsDistancesProbe",
    "added_up",
    "arc_weights",
    "batch_from_array",
    "codelength",
    "control_labels",
    "control_task",
    "control_trees",
    "count_heads",
    "decayed",
    "decode",
    "gold_heads",
    "labels",
    "list_probes",
    "load_probe",
    "load_state_probe",
    "make_probe",
    "make_state_probe",
    "probed_sentences",
    "register_probe",
    "registered_probes",
    "registered_state_probes",
    "scored",
    "tree_depths",
    "tree_distances",
    "uas",
    "unregister_probe",
]

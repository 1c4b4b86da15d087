"""What is trained on maps or text, and the baselines and controls beside it (Clark et al. 2019, §5)."""

from attentionology.probes.baselines import FixedOffset, RelationOffset, SingleHead, count_heads
from attentionology.probes.control_task import control_task
from attentionology.probes.decoding import Decoding, DecodingError, decode
from attentionology.probes.examples import gold_heads, scored, uas
from attentionology.probes.predictor import HeadPredictor
from attentionology.probes.probe import (
    PROBES,
    AttentionProbe,
    AttentionWordsProbe,
    Probe,
    WordsDistancesProbe,
    load_probe,
    make_probe,
)
from attentionology.probes.recipe import PAPER, TUNED, Recipe
from attentionology.probes.training import Checkpoint, State, TrainingError
from attentionology.probes.weights import ArcWeights, added_up, arc_weights

__all__ = [
    "PAPER",
    "PROBES",
    "TUNED",
    "ArcWeights",
    "AttentionProbe",
    "AttentionWordsProbe",
    "Checkpoint",
    "Decoding",
    "DecodingError",
    "FixedOffset",
    "HeadPredictor",
    "Probe",
    "Recipe",
    "RelationOffset",
    "SingleHead",
    "State",
    "TrainingError",
    "WordsDistancesProbe",
    "added_up",
    "arc_weights",
    "control_task",
    "count_heads",
    "decode",
    "gold_heads",
    "load_probe",
    "make_probe",
    "scored",
    "uas",
]

"""Translation models: forced decoding of sentence pairs, and maps of their cross-attention."""

from ..tokens.pieces import PairPieces
from .cross_maps import CROSS_KINDS, AlignmentSetting, CrossMapMaker
from .decoding import ForcedDecoding
from .pair_encoder import PairEncoder, PairMethod, SimilarityMaker
from .pair_reading import GATHERED, PairBatch, PairReader, extract_cross, read_pairs
from .translator import Translator, load_sample_translator

__all__ = [
    "CROSS_KINDS",
    "GATHERED",
    "AlignmentSetting",
    "CrossMapMaker",
    "ForcedDecoding",
    "PairBatch",
    "PairEncoder",
    "PairMethod",
    "PairPieces",
    "PairReader",
    "SimilarityMaker",
    "Translator",
    "extract_cross",
    "load_sample_translator",
    "read_pairs",
]

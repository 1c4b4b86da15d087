"""Translation models: forced decoding of sentence pairs, and maps of their cross-attention."""

from attentionology.extractors.translation.cross_maps import CROSS_KINDS, CrossMapMaker
from attentionology.extractors.translation.decoding import ForcedDecoding
from attentionology.extractors.translation.excerpts import Excerpt
from attentionology.extractors.translation.merging import AlignmentSetting
from attentionology.extractors.translation.pair_encoder import PairEncoder, PairMethod, SimilarityMaker
from attentionology.extractors.translation.pair_reading import (
    GATHERED,
    PairBatch,
    PairReader,
    extract_cross,
    read_pairs,
)
from attentionology.extractors.translation.sides import PairPieces
from attentionology.extractors.translation.translator import Translator, load_sample_translator

__all__ = [
    "CROSS_KINDS",
    "GATHERED",
    "AlignmentSetting",
    "CrossMapMaker",
    "Excerpt",
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

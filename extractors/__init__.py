"""Annotated text + a Hugging Face model → maps. The only room that knows the inside of transformers."""

from extractors.attention_model import (
    Attend,
    AttentionModel,
    LinearAttentionModel,
    Special,
    TextState,
    Words,
    drop,
    probabilities,
)
from extractors.encoder import Encoder
from extractors.errors import ExtractionError, ModelError
from extractors.extraction import DEFAULT_BATCH_CELLS, ExtractionLog, Skipped, extract
from extractors.forward import Forward
from extractors.gradients import GradientBatch, GradientLoss, extract_gradients
from extractors.kinds import MapKind, get_kind, list_kinds, register_kind
from extractors.kinds.mixing import MIXING_VARIANTS
from extractors.layers import Architecture, FFBias, Layer, register_architecture
from extractors.loading import load_classifier, load_masked_lm
from extractors.making import MapMaker, Merge, Normalize
from extractors.map_batch import DIRECTIONS, FLOAT32_NOISE, Level, MapBatch
from extractors.map_store import StoreType, store_maps
from extractors.norm_batch import NormBatch, StageBatch, extract_norms, extract_stages
from extractors.pieces import Segment
from extractors.segments import SEGMENT_LENGTH, Segments, make_segments
from extractors.stored_maps import StoredMaps
from extractors.token_classes import TOKEN_CLASSES, is_punctuation
from extractors.transformer_attention import TransformerAttention
from extractors.windows import DOCUMENT_LENGTH, LONG_WINDOW, Window, Windows, make_windows

__all__ = [
    "DEFAULT_BATCH_CELLS",
    "DIRECTIONS",
    "DOCUMENT_LENGTH",
    "FLOAT32_NOISE",
    "LONG_WINDOW",
    "MIXING_VARIANTS",
    "SEGMENT_LENGTH",
    "TOKEN_CLASSES",
    "Architecture",
    "Attend",
    "AttentionModel",
    "Encoder",
    "ExtractionError",
    "ExtractionLog",
    "FFBias",
    "Forward",
    "GradientBatch",
    "GradientLoss",
    "Layer",
    "Level",
    "LinearAttentionModel",
    "MapBatch",
    "MapKind",
    "MapMaker",
    "Merge",
    "ModelError",
    "NormBatch",
    "Normalize",
    "Segment",
    "Segments",
    "Skipped",
    "Special",
    "StageBatch",
    "StoreType",
    "StoredMaps",
    "TextState",
    "TransformerAttention",
    "Window",
    "Windows",
    "Words",
    "drop",
    "extract",
    "extract_gradients",
    "extract_norms",
    "extract_stages",
    "get_kind",
    "is_punctuation",
    "list_kinds",
    "load_classifier",
    "load_masked_lm",
    "make_segments",
    "make_windows",
    "probabilities",
    "register_architecture",
    "register_kind",
    "store_maps",
]

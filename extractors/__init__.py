"""Annotated text + a Hugging Face model → maps. The only room that knows the inside of transformers."""

from attentionology.extractors.errors import ExtractionError, ModelError
from attentionology.extractors.kinds import MapKind, get_kind, list_kinds, register_kind
from attentionology.extractors.kinds.mixing import MIXING_VARIANTS
from attentionology.extractors.layers import Architecture, CrossAttention, FFBias, Layer, register_architecture
from attentionology.extractors.maps.batching import DEFAULT_BATCH_CELLS, ExtractionLog, Skipped
from attentionology.extractors.maps.extraction import extract, extract_many, make_batches, shared_cells
from attentionology.extractors.maps.gradients import GradientBatch, GradientLoss, GradientMaker, extract_gradients
from attentionology.extractors.maps.map_batch import DIRECTIONS, FLOAT32_NOISE, Columns, Level, MapBatch
from attentionology.extractors.maps.map_maker import MapMaker, Merge, Normalize
from attentionology.extractors.maps.norm_batch import (
    NormBatch,
    NormMaker,
    StageBatch,
    StageMaker,
    extract_norms,
    extract_stages,
)
from attentionology.extractors.maps.shared_pass import BatchMaker, SharedBatch, shared_batches
from attentionology.extractors.maps.store_reader import StoredMaps
from attentionology.extractors.maps.store_writer import StoreType, store_maps
from attentionology.extractors.model.encoder import Encoder
from attentionology.extractors.model.forward_pass import Forward
from attentionology.extractors.model.loading import load_classifier, load_masked_lm
from attentionology.extractors.replaceable.attention_model import (
    Attend,
    AttentionModel,
    LinearAttentionModel,
    Special,
    TextState,
    Words,
    drop,
    probabilities,
)
from attentionology.extractors.replaceable.transformer_attention import TransformerAttention
from attentionology.extractors.tokens.pieces import Segment
from attentionology.extractors.tokens.segments import SEGMENT_LENGTH, Segments, make_segments
from attentionology.extractors.tokens.token_classes import TOKEN_CLASSES, is_punctuation
from attentionology.extractors.tokens.windows import DOCUMENT_LENGTH, LONG_WINDOW, Window, Windows, make_windows

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
    "BatchMaker",
    "Columns",
    "CrossAttention",
    "Encoder",
    "ExtractionError",
    "ExtractionLog",
    "FFBias",
    "Forward",
    "GradientBatch",
    "GradientLoss",
    "GradientMaker",
    "Layer",
    "Level",
    "LinearAttentionModel",
    "MapBatch",
    "MapKind",
    "MapMaker",
    "Merge",
    "ModelError",
    "NormBatch",
    "NormMaker",
    "Normalize",
    "Segment",
    "Segments",
    "SharedBatch",
    "Skipped",
    "Special",
    "StageBatch",
    "StageMaker",
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
    "extract_many",
    "extract_norms",
    "extract_stages",
    "get_kind",
    "is_punctuation",
    "list_kinds",
    "load_classifier",
    "load_masked_lm",
    "make_batches",
    "make_segments",
    "make_windows",
    "probabilities",
    "register_architecture",
    "register_kind",
    "shared_batches",
    "shared_cells",
    "store_maps",
]

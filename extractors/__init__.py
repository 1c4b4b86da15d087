"""Annotated text + a Hugging Face model → maps. The only room that knows the inside of transformers."""

from .errors import ExtractionError, ModelError
from .kinds import MapKind, get_kind, list_kinds, register_kind
from .kinds.mixing import MIXING_VARIANTS
from .layers import Architecture, CrossAttention, FFBias, Layer, register_architecture
from .maps.batching import DEFAULT_BATCH_CELLS, ExtractionLog, Skipped
from .maps.extraction import extract, extract_many, make_batches, shared_cells
from .maps.gradients import GradientBatch, GradientLoss, GradientMaker
from .maps.map_batch import DIRECTIONS, FLOAT32_NOISE, Columns, Level, MapBatch
from .maps.map_maker import MapMaker, Merge, Normalize
from .maps.norm_batch import NormBatch, NormMaker
from .maps.shared_pass import BatchMaker, SharedBatch, shared_batches
from .maps.stage_batch import StageBatch, StageMaker
from .maps.store_reader import StoredMaps
from .maps.store_writer import StoreType, store_maps
from .model.encoder import Encoder
from .model.forward_pass import Forward
from .model.heads import load_causal_lm, load_classifier, load_masked_lm
from .model.loading import load_tokenizer
from .replaceable.attention_model import (
    Attend,
    AttentionModel,
    LinearAttentionModel,
    Special,
    TextState,
    Words,
    WordsWithQuery,
    drop,
    probabilities,
)
from .replaceable.transformer_attention import TransformerAttention
from .tokens.pieces import Segment
from .tokens.segments import SEGMENT_LENGTH, Segments, make_segments
from .tokens.token_classes import TOKEN_CLASSES, is_punctuation
from .tokens.windows import DOCUMENT_LENGTH, LONG_WINDOW, Window, Windows, make_windows

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
    "WordsWithQuery",
    "drop",
    "extract",
    "extract_many",
    "get_kind",
    "is_punctuation",
    "list_kinds",
    "load_causal_lm",
    "load_classifier",
    "load_masked_lm",
    "load_tokenizer",
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

"""Annotated text + a Hugging Face model → maps. The only room that knows the inside of transformers."""

from extractors.encoder import Encoder
from extractors.errors import ExtractionError, ModelError
from extractors.extraction import DEFAULT_BATCH_CELLS, ExtractionLog, Skipped, extract
from extractors.forward import Forward
from extractors.kinds import MapKind, get_kind, list_kinds, register_kind
from extractors.layers import Architecture, FFBias, Layer, register_architecture
from extractors.making import Merge, Normalize
from extractors.map_batch import FLOAT32_NOISE, Level, MapBatch

__all__ = [
    "DEFAULT_BATCH_CELLS",
    "FLOAT32_NOISE",
    "Architecture",
    "Encoder",
    "ExtractionError",
    "ExtractionLog",
    "FFBias",
    "Forward",
    "Layer",
    "Level",
    "MapBatch",
    "MapKind",
    "Merge",
    "ModelError",
    "Normalize",
    "Skipped",
    "extract",
    "get_kind",
    "list_kinds",
    "register_architecture",
    "register_kind",
]

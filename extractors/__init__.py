"""Annotated text + a Hugging Face model → maps. The only room that knows the inside of transformers."""

from extractors.encoder import Encoder
from extractors.errors import ExtractionError, ModelError
from extractors.extraction import DEFAULT_BATCH_CELLS, ExtractionLog, Skipped, extract
from extractors.kinds import Forward, MapKind, get_kind, list_kinds, register_kind
from extractors.map_batch import FLOAT32_NOISE, Level, MapBatch

__all__ = [
    "DEFAULT_BATCH_CELLS",
    "FLOAT32_NOISE",
    "Encoder",
    "ExtractionError",
    "ExtractionLog",
    "Forward",
    "Level",
    "MapBatch",
    "MapKind",
    "ModelError",
    "Skipped",
    "extract",
    "get_kind",
    "list_kinds",
    "register_kind",
]

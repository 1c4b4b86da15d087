"""What do the attention heads of a transformer encoder know about language?

The names below are the public ones; everything else may change without notice. They are loaded when they are first
used, so that ``import attentionology`` is fast and needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attentionology.analyses.clusters.distances import HeadDistances
    from attentionology.analyses.clusters.options import ClustersOptions
    from attentionology.analyses.contract import Analysis, OptionError, Plan, Request
    from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
    from attentionology.analyses.coreference.options import CoreferenceOptions
    from attentionology.analyses.dependency.accuracy import DependencyAccuracy
    from attentionology.analyses.dependency.options import DependencyOptions
    from attentionology.analyses.norms.options import NormsOptions
    from attentionology.analyses.shared.options import ControlOptions, CountOptions, MapOptions
    from attentionology.analyses.surface.options import ReadingOptions, SurfaceOptions
    from attentionology.analyses.surface.statistics import SurfaceStatistics
    from attentionology.corpora_loaders import (
        AttentionologyError,
        CorpusError,
        Sentence,
        Treebank,
        load_labelled,
        load_text,
        load_treebank,
        load_vectors,
    )
    from attentionology.corpora_loaders.coreference import load_documents
    from attentionology.engine.analyze import analyze
    from attentionology.engine.corpus import CorpusOptions
    from attentionology.engine.options import LimitOptions, ModelOptions
    from attentionology.engine.run import Run
    from attentionology.extractors import (
        Encoder,
        MapBatch,
        MapMaker,
        ModelError,
        extract,
        extract_many,
        get_kind,
        list_kinds,
        register_architecture,
        register_kind,
    )

_ROOMS = {
    "analyses.clusters.distances": ["HeadDistances"],
    "analyses.clusters.options": ["ClustersOptions"],
    "analyses.contract": ["Analysis", "OptionError", "Plan", "Request"],
    "analyses.coreference.accuracy": ["CoreferenceAccuracy"],
    "analyses.coreference.options": ["CoreferenceOptions"],
    "analyses.dependency.accuracy": ["DependencyAccuracy"],
    "analyses.dependency.options": ["DependencyOptions"],
    "analyses.norms.options": ["NormsOptions"],
    "analyses.shared.options": ["ControlOptions", "CountOptions", "MapOptions"],
    "analyses.surface.options": ["ReadingOptions", "SurfaceOptions"],
    "analyses.surface.statistics": ["SurfaceStatistics"],
    "corpora_loaders": [
        *("AttentionologyError", "CorpusError", "Sentence", "Treebank"),
        *("load_labelled", "load_text", "load_treebank", "load_vectors"),
    ],
    "corpora_loaders.coreference": ["load_documents"],
    "engine.analyze": ["analyze"],
    "engine.corpus": ["CorpusOptions"],
    "engine.options": ["LimitOptions", "ModelOptions"],
    "engine.run": ["Run"],
    "extractors": [
        *("Encoder", "MapBatch", "MapMaker", "ModelError", "extract", "extract_many", "get_kind", "list_kinds"),
        *("register_architecture", "register_kind"),
    ],
}
_MODULES = {name: f"attentionology.{room}" for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Analysis",
    "AttentionologyError",
    "ClustersOptions",
    "ControlOptions",
    "CoreferenceAccuracy",
    "CoreferenceOptions",
    "CorpusError",
    "CorpusOptions",
    "CountOptions",
    "DependencyAccuracy",
    "DependencyOptions",
    "Encoder",
    "HeadDistances",
    "LimitOptions",
    "MapBatch",
    "MapMaker",
    "MapOptions",
    "ModelError",
    "ModelOptions",
    "NormsOptions",
    "OptionError",
    "Plan",
    "ReadingOptions",
    "Request",
    "Run",
    "Sentence",
    "SurfaceOptions",
    "SurfaceStatistics",
    "Treebank",
    "analyze",
    "extract",
    "extract_many",
    "get_kind",
    "list_kinds",
    "load_documents",
    "load_labelled",
    "load_text",
    "load_treebank",
    "load_vectors",
    "register_architecture",
    "register_kind",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'attentionology' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

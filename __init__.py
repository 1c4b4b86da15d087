"""What do the attention heads of a transformer encoder know about language?

The names below are the public ones; everything else may change without notice. They are loaded when they are first
used, so that ``import attentionology`` is fast and needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .storage.lazy_names import LazyNames

if TYPE_CHECKING:
    from .analyses.alignment.options import AlignmentOptions
    from .analyses.alignment.scores import score_links
    from .analyses.clusters.distances import HeadDistances
    from .analyses.clusters.options import ClustersOptions
    from .analyses.comparison.results import Comparison
    from .analyses.contract import (
        Analysis,
        Counted,
        Guesses,
        Masking,
        OptionError,
        OptionSet,
        Plan,
        Request,
        Setting,
        Titles,
    )
    from .analyses.coreference.accuracy import CoreferenceAccuracy
    from .analyses.coreference.options import CoreferenceOptions
    from .analyses.dependency.accuracy import DependencyAccuracy
    from .analyses.dependency.options import DependencyOptions
    from .analyses.explanation.batch import examine
    from .analyses.explanation.contract import ExplanationTest
    from .analyses.explanation.explain import Explanation, explain
    from .analyses.explanation.model_options import (
        ClassifierOptions,
        ClassifierTrainingOptions,
        TransformerOptions,
    )
    from .analyses.explanation.options import ExplanationTestOptions, TextOptions
    from .analyses.explanation.tests.correlation import correlation
    from .analyses.explanation.tests.permutation import permutation
    from .analyses.norms.options import NormsOptions
    from .analyses.probing.options import (
        MapStoreOptions,
        ProbedMapOptions,
        ProbeOptions,
        ProbeTrainingOptions,
        TreebankOptions,
    )
    from .analyses.probing.run import ProbingRun, probe
    from .analyses.shared.builtin import load_encoder
    from .analyses.shared.counting import CountMaps, CountWith
    from .analyses.shared.exact_sums import ExactMetric
    from .analyses.shared.input_options import (
        ExampleOptions,
        LimitOptions,
        ModelOptions,
        OptionalModelOptions,
    )
    from .analyses.shared.options import ControlOptions, CountOptions, FeedForwardOptions, MapOptions
    from .analyses.surface.options import ReadingOptions, SurfaceOptions
    from .analyses.surface.statistics import SurfaceStatistics
    from .analyses.survey.results import Survey
    from .corpora_loaders import (
        AttentionologyError,
        CorpusError,
        Sentence,
        Treebank,
        load_labelled,
        load_text,
        load_treebank,
        load_vectors,
    )
    from .corpora_loaders.alignment import load_bitext, load_links
    from .corpora_loaders.coreference import load_documents
    from .engine.align import align
    from .engine.analyze import analyze
    from .engine.compare import compare
    from .engine.corpus import CorpusOptions
    from .engine.merging import merge_runs
    from .engine.part_options import PartOptions
    from .engine.run import Run
    from .engine.showing import show
    from .engine.shown import Shown
    from .engine.stored_run import load_run, report_run
    from .engine.survey import survey
    from .extractors import (
        Architecture,
        Encoder,
        MapBatch,
        MapMaker,
        ModelError,
        TransformerAttention,
        extract,
        extract_many,
        get_kind,
        list_kinds,
        load_classifier,
        make_segments,
        make_windows,
        register_architecture,
        register_kind,
        store_maps,
    )
    from .extractors.model.loading import load_tokenizer
    from .extractors.translation import Translator
    from .probes import (
        AttentionProbe,
        AttentionWordsProbe,
        Probe,
        Scorer,
        WordProbe,
        WordsDistancesProbe,
        list_probes,
        load_probe,
        register_probe,
    )
    from .probes.classifiers import AttentionClassifier
    from .reports.page import Section

_ROOMS = {
    "analyses.alignment.options": ["AlignmentOptions"],
    "analyses.alignment.scores": ["score_links"],
    "analyses.clusters.distances": ["HeadDistances"],
    "analyses.clusters.options": ["ClustersOptions"],
    "analyses.comparison.results": ["Comparison"],
    "analyses.contract": [
        *("Analysis", "Counted", "Guesses", "Masking", "OptionError", "OptionSet"),
        *("Plan", "Request", "Setting", "Titles"),
    ],
    "analyses.coreference.accuracy": ["CoreferenceAccuracy"],
    "analyses.coreference.options": ["CoreferenceOptions"],
    "analyses.dependency.accuracy": ["DependencyAccuracy"],
    "analyses.dependency.options": ["DependencyOptions"],
    "analyses.explanation.batch": ["examine"],
    "analyses.explanation.contract": ["ExplanationTest"],
    "analyses.explanation.explain": ["Explanation", "explain"],
    "analyses.explanation.model_options": ["ClassifierOptions", "ClassifierTrainingOptions", "TransformerOptions"],
    "analyses.explanation.options": ["ExplanationTestOptions", "TextOptions"],
    "analyses.explanation.tests.correlation": ["correlation"],
    "analyses.explanation.tests.permutation": ["permutation"],
    "analyses.norms.options": ["NormsOptions"],
    "analyses.probing.options": [
        *("MapStoreOptions", "ProbeOptions", "ProbedMapOptions", "ProbeTrainingOptions", "TreebankOptions"),
    ],
    "analyses.probing.run": ["ProbingRun", "probe"],
    "analyses.shared.builtin": ["load_encoder"],
    "analyses.shared.counting": ["CountMaps", "CountWith"],
    "analyses.shared.exact_sums": ["ExactMetric"],
    "analyses.shared.input_options": ["ExampleOptions", "LimitOptions", "ModelOptions", "OptionalModelOptions"],
    "analyses.shared.options": ["ControlOptions", "CountOptions", "FeedForwardOptions", "MapOptions"],
    "analyses.surface.options": ["ReadingOptions", "SurfaceOptions"],
    "analyses.surface.statistics": ["SurfaceStatistics"],
    "analyses.survey.results": ["Survey"],
    "corpora_loaders": [
        *("AttentionologyError", "CorpusError", "Sentence", "Treebank"),
        *("load_labelled", "load_text", "load_treebank", "load_vectors"),
    ],
    "corpora_loaders.alignment": ["load_bitext", "load_links"],
    "corpora_loaders.coreference": ["load_documents"],
    "engine.align": ["align"],
    "engine.analyze": ["analyze"],
    "engine.compare": ["compare"],
    "engine.corpus": ["CorpusOptions"],
    "engine.merging": ["merge_runs"],
    "engine.part_options": ["PartOptions"],
    "engine.run": ["Run"],
    "engine.showing": ["show"],
    "engine.shown": ["Shown"],
    "engine.stored_run": ["load_run", "report_run"],
    "engine.survey": ["survey"],
    "extractors": [
        *("Architecture", "Encoder", "MapBatch", "MapMaker", "ModelError", "TransformerAttention"),
        *("extract", "extract_many", "get_kind", "list_kinds", "load_classifier"),
        *("make_segments", "make_windows", "register_architecture", "register_kind", "store_maps"),
    ],
    "extractors.model.loading": ["load_tokenizer"],
    "extractors.translation": ["Translator"],
    "probes": [
        *("AttentionProbe", "AttentionWordsProbe", "Probe", "Scorer", "WordProbe", "WordsDistancesProbe"),
        *("list_probes", "load_probe", "register_probe"),
    ],
    "probes.classifiers": ["AttentionClassifier"],
    "reports.page": ["Section"],
}
_NAMES = LazyNames(__name__, _ROOMS)
_MODULES = _NAMES.modules

__all__ = [
    "AlignmentOptions",
    "Analysis",
    "Architecture",
    "AttentionClassifier",
    "AttentionProbe",
    "AttentionWordsProbe",
    "AttentionologyError",
    "ClassifierOptions",
    "ClassifierTrainingOptions",
    "ClustersOptions",
    "Comparison",
    "ControlOptions",
    "CoreferenceAccuracy",
    "CoreferenceOptions",
    "CorpusError",
    "CorpusOptions",
    "CountMaps",
    "CountOptions",
    "CountWith",
    "Counted",
    "DependencyAccuracy",
    "DependencyOptions",
    "Encoder",
    "ExactMetric",
    "ExampleOptions",
    "Explanation",
    "ExplanationTest",
    "ExplanationTestOptions",
    "FeedForwardOptions",
    "Guesses",
    "HeadDistances",
    "LimitOptions",
    "MapBatch",
    "MapMaker",
    "MapOptions",
    "MapStoreOptions",
    "Masking",
    "ModelError",
    "ModelOptions",
    "NormsOptions",
    "OptionError",
    "OptionSet",
    "OptionalModelOptions",
    "PartOptions",
    "Plan",
    "Probe",
    "ProbeOptions",
    "ProbeTrainingOptions",
    "ProbedMapOptions",
    "ProbingRun",
    "ReadingOptions",
    "Request",
    "Run",
    "Scorer",
    "Section",
    "Sentence",
    "Setting",
    "Shown",
    "SurfaceOptions",
    "SurfaceStatistics",
    "Survey",
    "TextOptions",
    "Titles",
    "TransformerAttention",
    "TransformerOptions",
    "Translator",
    "Treebank",
    "TreebankOptions",
    "WordProbe",
    "WordsDistancesProbe",
    "align",
    "analyze",
    "compare",
    "correlation",
    "examine",
    "explain",
    "extract",
    "extract_many",
    "get_kind",
    "list_kinds",
    "list_probes",
    "load_bitext",
    "load_classifier",
    "load_documents",
    "load_encoder",
    "load_labelled",
    "load_links",
    "load_probe",
    "load_run",
    "load_text",
    "load_tokenizer",
    "load_treebank",
    "load_vectors",
    "make_segments",
    "make_windows",
    "merge_runs",
    "permutation",
    "probe",
    "register_architecture",
    "register_kind",
    "register_probe",
    "report_run",
    "score_links",
    "show",
    "store_maps",
    "survey",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _NAMES.load, _NAMES.listed

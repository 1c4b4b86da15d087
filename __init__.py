"""What do the attention heads of a transformer encoder know about language?

The names below are those that guides use; rooms such as ``attentionology.analyses`` have what extensions need, and
everything else may change without notice. Names are loaded when they are first used, so that ``import attentionology``
is fast and needs no torch.
"""

import warnings
from importlib import import_module
from typing import Any

import lazy_loader

_ROOMS = ("analyses", "corpora_loaders", "engine", "extractors", "probes", "reports")

_MOVED_TO = {
    "analyses": """
        AblationOptions AlignmentOptions Analysis ClassifierOptions ClassifierTrainingOptions ClustersOptions
        Comparison CoreferenceAccuracy CoreferenceOptions CountMaps CountWith Counted DependencyAccuracy
        DependencyOptions EnsembleOptions ExactMetric ExampleOptions ExplanationTest ExplanationTestOptions
        FailureOptions FeedForwardOptions Guesses HeadDistances LimitOptions MapStoreOptions Masking
        NormsOptions OptionSet OptionalModelOptions PartOptions Plan ProbeOptions ProbeTrainingOptions
        ProbedMapOptions ReadingOptions Request Setting ShareOptions SurfaceOptions SurfaceStatistics Survey
        TextOptions Titles TransformerOptions TreebankOptions correlation examine permutation score_links
    """,
    "corpora_loaders": """
        Corpus
    """,
    "corpora_loaders.alignment": """
        load_links
    """,
    "engine": """
        Explanation ProbingRun Shown
    """,
    "extractors": """
        Architecture MapBatch MapMaker TransformerAttention extract_many get_kind load_classifier
        load_tokenizer make_segments make_windows register_architecture
    """,
    "extractors.translation": """
        Translator
    """,
    "probes": """
        AttentionProbe AttentionWordsProbe Probe Scorer WordProbe WordsDistancesProbe register_probe
    """,
    "probes.classifiers": """
        AttentionClassifier
    """,
    "reports": """
        Section ShownTable TableColumn
    """,
}
"""The names that were imported from here until 0.2, by their new places. They are deprecated until 0.4."""

_MOVED = {name: place for place, names in _MOVED_TO.items() for name in names.split()}

_load, _, _known = lazy_loader.attach_stub(__name__, __file__)
__all__ = [name for name in _known if name not in _MOVED]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name in _MOVED:
        place = f"{__name__}.{_MOVED[name]}"
        warnings.warn(f"{__name__}.{name} has moved to {place}.{name}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(place), name)
    if name != "__version__":
        return _load(name)
    from importlib.metadata import version  # 40 ms, which most programs need not wait for

    return version("attentionology")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

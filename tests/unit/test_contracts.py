"""Everything that the toolkit itself adds keeps the contracts that `attentionology.testing` checks of extensions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from attentionology import ControlOptions
from attentionology.analyses import (
    AblationOptions,
    DependencyOptions,
    EnsembleOptions,
    FailureOptions,
    NormsOptions,
    PairsOptions,
    ReadingOptions,
    SurfaceOptions,
)
from attentionology.analyses.ablation import analysis as ablation
from attentionology.analyses.ablation.analysis import Ablation
from attentionology.analyses.clusters import analysis as clusters
from attentionology.analyses.clusters.analysis import Clusters
from attentionology.analyses.coreference import analysis as coreference
from attentionology.analyses.coreference.analysis import Coreference
from attentionology.analyses.coreference.contrasts import PAIRS, Contrasts
from attentionology.analyses.dependency import analysis as dependency
from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.explanation.contract.registry import registered_tests
from attentionology.analyses.norms import analysis as norms
from attentionology.analyses.norms.analysis import Norms
from attentionology.analyses.option_groups import OptionGroup
from attentionology.analyses.pairs import analysis as pairs
from attentionology.analyses.pairs.analysis import MinimalPairs
from attentionology.analyses.questions import AnalysisOfQuestions
from attentionology.analyses.registry import find_analysis
from attentionology.analyses.surface import analysis as surface
from attentionology.analyses.surface.analysis import Surface
from attentionology.corpora_loaders.coreference.benchmarks import COLUMNS as OF_GAP
from attentionology.corpora_loaders.documents import Documents
from attentionology.extractors import list_kinds
from attentionology.probes import list_probes, registered_probes, registered_state_probes
from attentionology.testing import (
    check_analysis,
    check_explanation_test,
    check_format,
    check_kind,
    check_probe,
    check_question,
    corpora,
)
from tests.corpora import sample_blocks
from tests.questions import shared_runs
from tests.unit.test_column_formats import LAYOUTS, LINE, MENTIONS, text_of
from tests.unit.test_conll2009 import TREES

pytestmark = pytest.mark.usefixtures("quick_geography")

SCHEMAS: dict[str, Any] = {
    module.__name__.split(".")[-2]: module.SCHEMAS
    for module in (ablation, clusters, coreference, dependency, norms, pairs, surface)
}
WHOLE = 20
"""As many sentences as the checked corpora have. What reads the first sentences alone depends on their order."""
QUESTIONS: dict[type[AnalysisOfQuestions[Any, Any, Any, Any, Any]], list[OptionGroup]] = {
    Dependency: [
        ControlOptions(control="random-init"),
        FailureOptions(failures=("best",)),
        EnsembleOptions(ensembles=2),
        DependencyOptions(spanning_trees=True),
    ],
    Ablation: [AblationOptions(pruning_sentences=WHOLE)],
    Clusters: [],
    Coreference: [
        ControlOptions(control="random-init"),
        FailureOptions(failures=("best",)),
        EnsembleOptions(ensembles=2),
    ],
    Norms: [NormsOptions(ff_sentences=WHOLE)],
    Surface: [SurfaceOptions(gradients="hidden", detectors=2)],
    MinimalPairs: [PairsOptions(needed_heads=2)],
}
"""The analyses of questions, with options with which each question is asked."""
LONG = (
    *("coreference-failures", "coreference-ensembles", "coreference-control"),
    *("dependency-rules", "dependency-spanning_trees", "dependency-failures", "dependency-control"),
    *("norms-spread", "norms-mixing", "norms-frequency", "norms-feed_forward", "norms-block", "norms-overwriting"),
    *("ablation-relations", "ablation-pruning", "ablation-predictions"),
    *("pairs-positions", "pairs-attractors", "pairs-accuracy", "pairs-needed", "pairs-contributions", "norms-copying"),
)
"""Questions that take longer to check."""

OPTIONS: list[Any] = [
    ("dependency", []),
    ("clusters", []),
]
MORE: list[Any] = [  # whose questions are checked one by one with the quick tests
    ("surface", [SurfaceOptions(gradients="none")]),
    ("coreference", []),
    ("ablation", [AblationOptions(predictions="none", pruning_sentences=0)]),
    ("dependency", [ControlOptions(control="random-init"), FailureOptions(failures=("best",))]),
    ("dependency", [EnsembleOptions(ensembles=2)]),
    ("dependency", [DependencyOptions(both=True, coarse=True, spanning_trees=True)]),
    ("surface", [SurfaceOptions(gradients="hidden"), ReadingOptions(level="word", smoothing="release")]),
    ("surface", [SurfaceOptions(gradients="mlm")]),
    ("coreference", [ControlOptions(control="random-init"), FailureOptions(failures=("best",))]),
    ("coreference", [EnsembleOptions(ensembles=2)]),
    ("norms", [NormsOptions(ff_sentences=0)]),
    ("norms", [NormsOptions(ff_sentences=WHOLE)]),
    ("ablation", [AblationOptions(pruning_sentences=WHOLE)]),
    ("pairs", [PairsOptions()]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options"), [*OPTIONS, *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE)]
)
def test_analyses(name, options):
    kind: Any = type(find_analysis(name))
    check_analysis(kind, options, schemas=SCHEMAS.get(name, ()))


@pytest.fixture(scope="module")
def shared() -> Iterator[None]:
    with shared_runs():
        yield


@pytest.mark.parametrize(
    ("analysis", "question"),
    [
        pytest.param(analysis, type(question), id=name, marks=[pytest.mark.slow] if name in LONG else [])
        for analysis in QUESTIONS
        for question in analysis.questions
        if not isinstance(question, Contrasts)  # which has a test of its own
        for name in [f"{analysis.name}-{question.name}"]
    ],
)
def test_questions(analysis, question, shared):
    check_question(question, analysis, QUESTIONS[analysis])


def test_the_question_of_groups_of_documents(monkeypatch):
    """The documents of the check belong to no groups, so that each gets one."""
    loaded = corpora.load_corpora

    def in_groups(paths, **kinds):
        documents: Any = loaded(paths, **kinds)
        labels = itertools.cycle(PAIRS[-1])
        labeled = tuple(
            replace(each, labels=(label,)) for each, label in zip(documents.documents, labels, strict=False)
        )
        return Documents(documents.sentences, files=documents.files, documents=labeled)

    monkeypatch.setattr(corpora, "load_corpora", in_groups)
    check_question(Contrasts, Coreference)


@pytest.mark.parametrize("name", [*list_kinds(), "rollout:norm"])
def test_kinds(name):
    check_kind(name)


GAP = "gap-{0}\tAnn met Eve in the garden, and she ran.\tshe\t31\tAnn\t0\tTRUE\tEve\t8\tFALSE\thttp://localhost\n"
COLUMNS = "d 0 0 Ann NNP * - - - - * (0)\nd 0 1 slept VBD * - - - - * -\n\nd 0 0 She PRP * - - - - * (0)\n\n"
EXAMPLES = {
    "conllu": "\n\n".join(sample_blocks()[:4]) + "\n\n",
    "conll2012": "".join(f"#begin document (d{number}); part 000\n{COLUMNS}#end document\n" for number in range(3)),
    "gap": "\t".join(OF_GAP) + "\n" + GAP.format(1) + GAP.format(2),
    "conll2009": TREES,
    **{name: text_of(name) for name in LAYOUTS if name in ("conll2008", "conllx8", "conllu-plus", "malt-tab", "clark")},
    "semeval2010": MENTIONS * 2,
    "jsonlines": LINE + LINE.replace("Ann", "Eve"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_formats(name):
    check_format(name, EXAMPLES[name])


@pytest.mark.parametrize("name", list_probes())
def test_probes(name):
    known: dict[str, Any] = {**registered_probes(), **registered_state_probes()}
    check_probe(known[name])


@pytest.mark.parametrize("name", registered_tests())
def test_explanation_tests(name):
    check_explanation_test(registered_tests()[name])

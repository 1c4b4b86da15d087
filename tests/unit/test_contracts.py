"""Everything that the toolkit itself adds keeps the contracts that `attentionology.testing` checks of extensions."""

from __future__ import annotations

import itertools
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
    ReadingOptions,
    SurfaceOptions,
)
from attentionology.analyses.ablation import columns as ablation
from attentionology.analyses.clusters import columns as clusters
from attentionology.analyses.coreference import analysis as coreference
from attentionology.analyses.coreference.analysis import Coreference
from attentionology.analyses.coreference.contrasts import PAIRS, Contrasts
from attentionology.analyses.dependency import analysis as dependency
from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.explanation.contract.registry import registered_tests
from attentionology.analyses.norms import columns as norms
from attentionology.analyses.registry import find_analysis
from attentionology.analyses.surface import columns as surface
from attentionology.corpora_loaders.coreference.benchmarks import COLUMNS as OF_GAP
from attentionology.corpora_loaders.documents import Documents
from attentionology.extractors import list_kinds
from attentionology.probes import list_probes, registered_probes
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
from tests.unit.test_conll2009 import TREES

SCHEMAS: dict[str, Any] = {
    module.__name__.split(".")[-2]: module.SCHEMAS
    for module in (ablation, clusters, coreference, dependency, norms, surface)
}
LONG = ("rules", "spanning_trees", "failures", "control")
"""Questions of dependencies that take longer to check."""
WHOLE = 20
"""As many sentences as the checked corpora have. What reads the first sentences alone depends on their order."""

OPTIONS: list[Any] = [
    ("dependency", []),
    ("surface", [SurfaceOptions(gradients="none")]),
    ("clusters", []),
    ("coreference", []),
    ("ablation", [AblationOptions(predictions="none", pruning_sentences=0)]),
]
MORE: list[Any] = [
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
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options"), [*OPTIONS, *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE)]
)
def test_analyses(name, options):
    kind: Any = type(find_analysis(name))
    check_analysis(kind, options, schemas=SCHEMAS.get(name, ()))


@pytest.mark.parametrize(
    ("analysis", "name"),
    [
        (Dependency, "best_heads"),
        (Dependency, "ensembles"),
        *((Coreference, name) for name in ("best_heads", "examples", "scored")),
        *(pytest.param(Dependency, name, marks=pytest.mark.slow) for name in LONG),
        *(pytest.param(Coreference, name, marks=pytest.mark.slow) for name in ("failures", "ensembles", "control")),
    ],
)
def test_questions(analysis, name):
    options = [
        ControlOptions(control="random-init"),
        FailureOptions(failures=("best",)),
        EnsembleOptions(ensembles=2),
        DependencyOptions(spanning_trees=True),
    ]
    (question,) = [type(each) for each in analysis.questions if each.name == name]
    check_question(question, analysis, [group for group in options if type(group) in analysis.options])


def test_the_question_of_groups_of_documents(monkeypatch):
    """The documents of the check belong to no groups, so that each gets one."""
    loaded = corpora.loaded

    def in_groups(paths, *, mentions):
        documents: Any = loaded(paths, mentions=mentions)
        labels = itertools.cycle(PAIRS[-1])
        labeled = tuple(
            replace(each, labels=(label,)) for each, label in zip(documents.documents, labels, strict=False)
        )
        return Documents(documents.sentences, files=documents.files, documents=labeled)

    monkeypatch.setattr(corpora, "loaded", in_groups)
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
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_formats(name):
    check_format(name, EXAMPLES[name])


@pytest.mark.parametrize("name", list_probes())
def test_probes(name):
    check_probe(registered_probes()[name])


@pytest.mark.parametrize("name", registered_tests())
def test_explanation_tests(name):
    check_explanation_test(registered_tests()[name])

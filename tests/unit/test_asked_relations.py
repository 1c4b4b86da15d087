"""Relations and groups that are chosen before a run restrict its tables, its comparisons and the correction of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import attentionology
from attentionology.analyses.contract import OptionError
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.dependency.failures import DependencyFailures
from attentionology.analyses.dependency.options import DependencyOptions
from attentionology.analyses.dependency.tables import Asked
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.compare import compare
from attentionology.engine.surveying.options import GridOptions, SurveyOptions
from attentionology.engine.surveying.plan import check_survey
from tests import tiny
from tests.maps import RELATIONS, batch_of, random_corpus

ARGUMENTS = ("core", ("nsubj", "obj"))


def metric(texts, maps, replicates=30):
    counts = DependencyAccuracy(RELATIONS, 2, 3, replicates=replicates)
    counts.update(batch_of(texts, maps))
    return counts


def test_a_group_is_what_its_words_are_as_one_relation():
    texts, maps = random_corpus(2)
    grouped = metric(texts, maps).compute(Asked((), (ARGUMENTS,))).best.set_index("relation").loc["core"]
    renamed = [
        dataclasses.replace(text, relations=tuple("det:x" if r in ARGUMENTS[1] else r for r in text.relations))
        for text in texts
    ]
    single = DependencyAccuracy((*RELATIONS, "det:x"), 2, 3, replicates=30)
    single.update(batch_of(renamed, maps))
    expected = single.compute().best.set_index("relation").loc["det:x"]
    assert grouped.to_dict() == expected.to_dict()


def test_only_what_was_asked_has_rows_with_the_numbers_of_all():
    texts, maps = random_corpus(2)
    counts = metric(texts, maps)
    whole = counts.compute().best.set_index("relation")
    asked = counts.compute(Asked(("obj", "all", "nsubj"), (ARGUMENTS,)))
    assert sorted(asked.best["relation"][2:]) == ["nsubj", "obj"]
    assert list(asked.best["relation"][:2]) == ["all", "core"]
    assert set(asked.cells["relation"]) == {"all", "core", "nsubj", "obj"}
    for name in ("all", "nsubj", "obj"):
        row = asked.best.set_index("relation").loc[name]
        assert row.to_dict() == whole.loc[name].to_dict()


def test_failures_of_a_group_are_those_of_its_relations():
    texts, maps = random_corpus(4)
    failures = DependencyFailures(RELATIONS, 2, 3, unions=(ARGUMENTS,))
    failures.update(batch_of(texts, maps))
    rows = [failures.groups.index(name) for name in ("core", "nsubj", "obj")]
    for counts in (failures.right[:, :, 0], failures.picked[:, :, 0], failures.total[..., 0]):
        core, *parts = counts[rows].numpy()
        assert np.array_equal(core, sum(parts))


@pytest.fixture(scope="module")
def runs():
    treebank = load_treebank(SAMPLE_TREEBANK, limit=50)

    def run(seed, **options):
        groups = [CountOptions(replicates=100, min_count=20), DependencyOptions(**options)]
        model = tiny.encoder("bert" if seed else "electra", max_position_embeddings=200)
        return attentionology.analyze(model, treebank, analyses="dependency", options=groups)

    asked = {"relations": ("det", "nsubj", "dislocated"), "group": ("both=det,nsubj",)}
    return [run(0), run(1), run(0, **asked), run(1, **asked)]


def test_p_values_are_adjusted_for_the_questions_alone(runs):
    first, second, *planned = runs
    every = compare(first, second, min_count=20).table
    few = compare(*planned, min_count=20).table
    assert set(few["group"]) == {"both", "det", "nsubj"}
    p = few.set_index("group")["p"]
    for name in ("det", "nsubj"):
        assert p[name] == every.set_index("group")["p"][name]
    smallest = str(p.idxmin())
    assert few.set_index("group")["p_holm"][smallest] == pytest.approx(min(1, 3 * p[smallest]))
    chosen = compare(first, second, min_count=20, relations=("det", "nsubj"))
    p = chosen.table.set_index("group")["p"]
    assert list(chosen.table["group"]) == [name for name in every["group"] if name in ("det", "nsubj")]
    assert chosen.table.set_index("group")["p_holm"][str(p.idxmin())] == pytest.approx(min(1, 2 * p.min()))
    assert chosen.notes[0] == "Of the syntactic relations, only det, nsubj are compared."
    with pytest.raises(OptionError, match="no run has the relation 'nsub'; did you mean 'nsubj'"):
        compare(first, second, relations=("nsub",))


def test_the_page_says_what_was_planned(runs):
    facts = runs[2].parts[0].results.map_facts
    assert facts[-3:] == (
        "only the relations that were named before the run: det, nsubj, dislocated",
        "groups of relations: both (det, nsubj)",
        "not in the corpus: dislocated",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relations": ("nsub",)}, "no relation 'nsub'; did you mean 'nsubj'"),
        ({"group": ("core=nsubj,objj",)}, "no relation 'objj'; did you mean 'obj'"),
        ({"group": ("det=nsubj",)}, "'det' is the name of a relation"),
        ({"group": ("all=nsubj",)}, "'all' is the name of a relation or total"),
        ({"group": ("core",)}, "--group takes different names"),
        ({"relations": ("det", "det")}, "names det twice"),
    ],
)
def test_mistakes_are_refused(options, message):
    treebank = load_treebank(SAMPLE_TREEBANK, limit=50)
    with pytest.raises(OptionError, match=message):
        attentionology.analyze(
            tiny.encoder(max_position_embeddings=200),
            treebank,
            analyses="dependency",
            options=[DependencyOptions(**options)],
        )


def test_a_survey_shows_the_first_question():
    asked = DependencyOptions(relations=("nsubj", "obj"))
    assert SurveyOptions(dependency=asked).shown_relation == "nsubj"
    assert SurveyOptions(GridOptions(relation="obj"), dependency=asked).shown_relation == "obj"
    assert SurveyOptions().shown_relation == "all-nopunct-noroot"
    with pytest.raises(OptionError, match="--spanning-trees is an option of analyze"):
        check_survey(SurveyOptions(dependency=DependencyOptions(spanning_trees=True)))

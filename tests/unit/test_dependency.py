"""Dependency accuracy on maps whose answers are known, and relations that are chosen before a run."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import attentionology
from attentionology.analyses.contract import OptionError
from attentionology.analyses.dependency.accuracy import DependencyAccuracy, RowChoice
from attentionology.analyses.dependency.failures import DependencyFailures
from attentionology.analyses.dependency.options import DependencyOptions
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.compare import compare
from attentionology.engine.surveying.options import GridOptions, SurveyOptions
from attentionology.engine.surveying.plan import check_survey
from attentionology.extractors import MapBatch
from tests import tiny
from tests.maps import RELATIONS, batch_of, one_head, random_corpus

# "the cat saw it": the → cat, cat → saw, saw is the root, it → saw
CAT = Sentence("cat", ("the", "cat", "saw", "it"), (2, 3, 0, 3), ("det", "nsubj", "root", "obj"))


def metric(layers: int = 1, heads: int = 1, **options: Any) -> DependencyAccuracy:
    return DependencyAccuracy(RELATIONS, layers, heads, **{"replicates": 50, **options})


def counted(batch: MapBatch, **options: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    accuracy = metric(*batch.maps.shape[1:3], **options)
    accuracy.update(batch)
    return accuracy.compute()


def correct(cells: pd.DataFrame, relation: str, direction: str) -> tuple[int, int]:
    row = cells[(cells["relation"] == relation) & (cells["direction"] == direction)].iloc[0]
    return int(row["correct"]), int(row["total"])


def test_a_worked_example():
    cells, _ = counted(
        batch_of(
            [CAT],
            [
                one_head(
                    [  # the  cat  saw   it
                        [0.9, 0.3, 0.2, 0.1],  # the: most to cat (itself left out)  → right
                        [0.4, 0.8, 0.1, 0.3],  # cat: most to the                    → wrong
                        [0.1, 0.6, 0.9, 0.2],  # saw: root, never right
                        [0.1, 0.2, 0.5, 0.9],  # it:  most to saw                    → right
                    ]
                )
            ],
        )
    )
    by_row = {relation: correct(cells, relation, "dep->head") for relation in RELATIONS}
    assert by_row == {
        "det": (1, 1),
        "nsubj": (0, 1),
        "obj": (1, 1),
        "root": (0, 1),
        "punct": (0, 0),
        "nsubj:pass": (0, 0),
    }
    # columns: the ← cat .4 right; cat ← saw .6 right; it ← cat .3 wrong
    by_column = {relation: correct(cells, relation, "head->dep") for relation in ("det", "nsubj", "obj", "all")}
    assert by_column == {"det": (1, 1), "nsubj": (1, 1), "obj": (0, 1), "all": (2, 4)}


def test_counting_a_single_head_leaves_its_maps_as_they_are():
    """The maps of one layer with one head have the order that counting needs without being copied."""
    with torch.inference_mode():
        batch = batch_of([CAT], [one_head([[1.0] * 4] * 4)])
        before = batch.maps.clone()
    counted(batch)
    assert torch.equal(batch.maps, before)


def test_ties_go_to_the_lowest_index():
    flat = batch_of([CAT], [one_head([[1.0] * 4] * 4)])
    cells, _ = counted(flat)  # everybody picks word 1, word 1 picks word 2
    assert correct(cells, "det", "dep->head") == (1, 1)
    assert correct(cells, "nsubj", "dep->head") == (0, 1)
    assert correct(cells, "obj", "head->dep") == (0, 1)


def test_the_word_itself_is_no_candidate_even_if_all_else_is_zero():
    sentence = Sentence("s", ("a", "b", "c"), (2, 0, 1), ("det", "root", "obj"))
    only_self = one_head([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    cells, _ = counted(batch_of([sentence], [only_self]))
    assert correct(cells, "det", "dep->head") == (1, 1)  # first other word of word 1 is word 2
    assert correct(cells, "obj", "dep->head") == (1, 1)  # and of word 3 it is word 1


def test_best_head_ties_go_to_the_later_layer_and_head_and_to_columns():
    same = np.ones((2, 2, 6, 6), dtype=np.float32)
    symmetric = same.copy()
    _, best = counted(batch_of([CAT], [symmetric]))
    row = best.set_index("relation").loc["obj"]  # nobody finds it: all 8 cells tie at 0
    assert (row["layer"], row["head"], row["direction"]) == (2, 2, "head->dep")


def test_wrong_maps_are_refused():
    texts, maps = random_corpus(6, sentences=2)
    batch = batch_of(texts, maps)
    with pytest.raises(ValueError, match="expected maps of 1 layers × 3 heads, got 2 × 3"):
        metric(1, 3).update(batch)
    with pytest.raises(ValueError, match="word-level"):
        metric(2, 3).update(MapBatch(batch.maps, batch.lengths, batch.special, batch.sentences, level="token"))
    none_special = torch.zeros_like(batch.special)
    with pytest.raises(ValueError, match="the sentence"):
        metric(2, 3).update(MapBatch(batch.maps, batch.lengths, none_special, batch.sentences))


ARGUMENTS = ("core", ("nsubj", "obj"))


def counts_of(texts, maps, replicates=30):
    counts = DependencyAccuracy(RELATIONS, 2, 3, replicates=replicates)
    counts.update(batch_of(texts, maps))
    return counts


def test_a_group_is_what_its_words_are_as_one_relation():
    texts, maps = random_corpus(2)
    grouped = counts_of(texts, maps).compute(RowChoice((), (ARGUMENTS,))).best.set_index("relation").loc["core"]
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
    counts = counts_of(texts, maps)
    whole = counts.compute().best.set_index("relation")
    asked = counts.compute(RowChoice(("obj", "all", "nsubj"), (ARGUMENTS,)))
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

"""The outcomes of probes by sentence, compared against a plain loop, and what a reader is told of the run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attentionology.analyses.comparison.differences import differences
from attentionology.analyses.counting.resampling import poisson_weights
from attentionology.analyses.probing.outcomes import AttachmentOutcomes
from attentionology.analyses.probing.record import facts, notes, warnings
from attentionology.analyses.probing.rows import Attempt
from attentionology.corpora_loaders import Sentence
from tests.maps import RELATIONS, random_corpus
from tests.probing_results import attachment

REPLICATES = 60


def attempts_of(rng: np.random.Generator, sentences: list[Sentence], share: float) -> list[Attempt]:
    """Two runs of a probe, one of a baseline, trees of the probe, and an attempt at the control task."""
    words = sum(map(len, sentences))

    def attempt(method: str, decoding: str, run: int, *, control: bool = False) -> Attempt:
        return Attempt(method, "control" if control else "dependencies", decoding, run, rng.random(words) < share)

    return [
        attempt("offset", "argmax", 1),
        attempt("attention", "argmax", 1),
        attempt("attention", "argmax", 2),
        attempt("attention", "tree", 1),
        attempt("attention", "argmax", 1, control=True),
    ]


def outcomes_of(sentences: list[Sentence], attempts: list[Attempt]) -> AttachmentOutcomes:
    return AttachmentOutcomes.of(sentences, attempts, probes=["attention"], replicates=REPLICATES, seed=4)


@pytest.fixture
def tested():
    sentences, _ = random_corpus(0, sentences=20)
    rng = np.random.default_rng(0)
    return sentences, attempts_of(rng, sentences, 0.6), attempts_of(rng, sentences, 0.4)


def test_values_are_those_of_the_report(tested):
    sentences, attempts, _ = tested
    methods = attachment(sentences, attempts, replicates=0).methods
    *families, by_relation = outcomes_of(sentences, attempts).comparable()
    assert [family.family for family in families] == ["attachment score (argmax)", "attachment score (tree)"]
    assert by_relation.family == "attachment score by relation: attention"
    measured = [one for family in families for one in family.measured]
    assert [one.group for one in measured] == methods["method"].tolist()
    assert [one.n for one in measured] == methods["total"].tolist()
    np.testing.assert_allclose([one.value for one in measured], methods["uas"], rtol=1e-12)


def test_scores_are_means_over_runs_of_the_counts_beside_them(tested):
    tables = attachment(*tested[:2], replicates=0)
    for table in (tables.methods, tables.relations, tables.lengths):
        assert set(table["runs"]) == {1, 2}
        np.testing.assert_allclose(table["uas"], table["correct"] / (table["total"] * table["runs"]), rtol=1e-12)


def test_values_by_relation_are_those_of_the_report(tested):
    sentences, attempts, _ = tested
    table = attachment(sentences, attempts, replicates=0).relations
    table = table[(table["method"] == "attention") & (table["decoding"] == "argmax")]
    expected = table[table["relation"] != "punct"].set_index("relation")
    measured = {one.group: one for one in outcomes_of(sentences, attempts).comparable()[-1].measured}
    assert measured.keys() == set(RELATIONS) - {"punct"}
    for relation, one in measured.items():
        assert one.n == expected.loc[relation, "total"]
        assert one.value == pytest.approx(expected.loc[relation, "uas"], rel=1e-12)


def naive_score(
    sentences: list[Sentence], attempts: list[Attempt], replicate: int, relations: tuple[str, ...] = RELATIONS
) -> float:
    """The mean score of runs in a replicate, one word at a time."""
    right = total = 0.0
    for attempt in attempts:
        position = 0
        for sentence in sentences:
            weight = float(poisson_weights([sentence.id], REPLICATES, 4)[replicate, 0])
            for head, relation in zip(sentence.heads, sentence.relations, strict=True):
                if head is not None and relation != "punct" and relation in relations:
                    right += weight * float(attempt.right[position])
                    total += weight
                position += 1
    return right / total


@pytest.mark.parametrize(("family", "group"), [(0, "attention"), (-1, "det")])
def test_a_difference_is_that_of_a_plain_paired_bootstrap(tested, family, group):
    sentences, first, second = tested
    sides = [outcomes_of(sentences, attempts).comparable()[family] for attempts in (first, second)]
    row = {row.group: row for row in differences(*sides, min_count=1)}[group]
    relations = RELATIONS if group == "attention" else (group,)
    probes = [
        [attempt for attempt in attempts if (attempt.method, attempt.decoding, attempt.task)
         == ("attention", "argmax", "dependencies")]
        for attempts in (first, second)
    ]  # fmt: skip
    assert [len(runs) for runs in probes] == [2, 2]
    replicated = [
        naive_score(sentences, probes[0], replicate, relations)
        - naive_score(sentences, probes[1], replicate, relations)
        for replicate in range(REPLICATES)
    ]
    error = np.std(replicated, ddof=1)
    assert row.high - row.low == pytest.approx(2 * 1.959964 * error, rel=1e-6)
    assert row.low < row.difference < row.high


class Maps(tuple[Sentence, ...]):
    """The maps of some sentences."""

    sentences = property(tuple)


def texts(*each: str, heads: bool = True) -> Maps:
    return Maps(Sentence(text, tuple(text.split()), (0 if heads else None,) * len(text.split())) for text in each)


def split(train: Maps, dev: Maps | None, test: Maps) -> Any:
    return SimpleNamespace(train=train, dev=dev, test=test)


def of_run(**changes: Any) -> Any:
    """The inputs of a run of two splits in which no two numbers are the same, with changes of them."""
    recipe = SimpleNamespace(epochs=1, patience=None, weight_decay=0, learning_rate=0.01)
    train = texts("a b c d", "e f g h", "i j", "k"), texts("a b c d e", "x y z w v u", "m", "n")
    dev = texts("i j k l", "a b"), texts("o p q r", "a b c d", "new words only here")
    test = texts("a b c d", "e f g h", "i j", "i j k l"), texts("new words only here", "i j", "a b c d")
    splits = list(map(split, train, dev, test))
    file = SimpleNamespace(path="folder/train.conllu")
    run = {
        "choice": SimpleNamespace(recipe=recipe, name="paper", reason="it was asked for"),
        "splits": splits,
        "treebanks": {"train": SimpleNamespace(files=[file]), "test": SimpleNamespace(files=[file])},
        "stores": {"test": SimpleNamespace(shape=(2, 3), sentences=test[0])},
        "encoder": SimpleNamespace(n_heads=3),
        "vectors": None,
    }
    return SimpleNamespace(**{**run, **changes})


OPTIONS: Any = SimpleNamespace(
    training=SimpleNamespace(seeds=4),
    maps=SimpleNamespace(map="weight"),
    probes=SimpleNamespace(copies=lambda has_vectors: 0, chosen=lambda has_vectors: ["attention"], of_states=list),
    treebanks=SimpleNamespace(folds=5, limit=None),
)
VECTORS = SimpleNamespace(
    path="folder/glove.txt",
    dimensions=50,
    rows=lambda words: np.array([-1 if word in "abc" else 0 for word in words]),
    remarks=lambda: ["On the vectors."],
)


def test_facts_say_what_probes_were_trained_on():
    """Numbers of sentences and words are means over the splits."""
    trained, recipe, epochs, seeds, kind = facts(OPTIONS, of_run())
    assert trained == "trained on 4 sentences (12 words) of train.conllu"
    assert (recipe, epochs) == ("recipe “paper”, because it was asked for", "1 epoch, learning rate 0.01")
    assert (seeds, kind.partition(":")[0]) == ("seeds: 4", "map “weight”")
    stopping = SimpleNamespace(epochs=30, patience=2, weight_decay=0.1, learning_rate=0.001)
    choice = SimpleNamespace(recipe=stopping, name="tuned", reason="there are few steps")
    folds = of_run(choice=choice, treebanks={}, encoder=SimpleNamespace(n_heads=12), vectors=VECTORS)
    said = list(facts(OPTIONS, folds))
    assert said[0].startswith("2 folds: every sentence is predicted by probes trained on the other folds, about 4 sen")
    assert said[2:4] == [
        "30 epochs at most, learning rate 0.001, weight decay 0.1",
        "stopped by 2 dev sentences, held out of the training sentences",
    ]
    assert said[-2:] == ["one map for all heads of a layer, shown as head 1", "word vectors: glove.txt, 50 dimensions"]
    given = list(facts(OPTIONS, of_run(choice=choice, treebanks={"dev": None})))
    assert given[3] == "stopped by 2 dev sentences"


OF_STATES: Any = SimpleNamespace(
    **{
        **vars(OPTIONS),
        "probes": SimpleNamespace(
            copies=lambda has_vectors: 0, chosen=lambda has_vectors: [], of_states=lambda: ["arcs"]
        ),
    }
)


def test_a_run_of_states_alone_says_nothing_of_recipes_of_maps():
    said = list(facts(OF_STATES, of_run()))
    assert [fact.partition(":")[0] for fact in said] == [
        "trained on 4 sentences (12 words) of train.conllu",
        "stopped by 2 dev sentences, held out of the training sentences",
        "seeds",
        "map “weight”",
    ]
    workspace: Any = SimpleNamespace(cache_log=SimpleNamespace(warnings=list))
    _, of_dev = warnings(OF_STATES, of_run(), workspace)
    assert of_dev == "60 % of the tested sentences also occur word for word among the dev sentences."


def test_notes_say_which_maps_were_made_and_what_is_repeated_or_unknown():
    ends = SimpleNamespace(special=np.array([[True, False, True]]))

    def store(name: str, size: int, made: int) -> Any:
        held = {"folder": Path("maps") / name, "bytes": size * 10**6, "made": made, "shape": (2, 3)}
        sentences = texts("a b x", "y z c w")
        return type("Store", (), {"__getitem__": lambda self, index: ends, "sentences": sentences, **held})()

    stores = {"train": store("x", 1200, 30), "test": store("y", 34, 1000)}
    run = of_run(stores=stores, vectors=VECTORS)
    trained: Any = SimpleNamespace(copies=(), resumed=0)
    repeated = "Tested sentences of more than three words that also occur word for word in training: 2 of 5."
    unknown = [f"Words without a vector in the {role} sentences: 3 of 7 (42.9 %)." for role in ("train", "test")]
    made = "Word maps: 1,234 MB in maps, made of 1,030 sentences now"
    assert list(notes(OPTIONS, run, trained)) == [f"{made}.", *unknown, "On the vectors.", repeated]
    copies: Any = SimpleNamespace(probes=SimpleNamespace(copies=lambda has_vectors: 1, of_states=list))
    trained = SimpleNamespace(copies=(store("y", 34, 9), store("z", 66, 5)), resumed=3)
    run = of_run(stores=stores)
    more = made.replace("1,234", "1,300").replace("1,030", "1,035")
    said = [f"{more} (each network counted).", "Trainings that were continued after an interruption: 3.", repeated]
    assert list(notes(copies, run, trained)) == said
    ends.special = np.array([[False, True, False]])
    whole = list(notes(OPTIONS, of_run(stores={"test": store("y", 34, 0)}), SimpleNamespace(copies=(), resumed=0)))  # type: ignore[arg-type]
    assert whole[0] == "Word maps: 34 MB in maps, all there from an earlier run."
    assert whole[-1] == "The model has no special tokens, so ROOT has no feature and always the score 0."


def test_warnings_of_probes_say_how_few_steps_and_how_much_is_repeated_or_unknown():
    workspace: Any = SimpleNamespace(cache_log=SimpleNamespace(warnings=lambda: ["Cache."]))
    few = "Trained in 4 steps, which may be too few; --recipe tuned trains until the score no longer rises."
    repeated = "40 % of the tested sentences also occur word for word in training."
    assert list(warnings(OPTIONS, of_run(), workspace)) == ["Cache.", few, repeated]
    one = split(texts("a"), texts("b"), texts("c d e f"))
    said = list(warnings(OPTIONS, of_run(splits=[one, split(texts("x", "y"), None, texts())]), workspace))
    assert said == ["Cache.", few.replace("4 steps", "1 step")]
    stopping = SimpleNamespace(epochs=30, patience=2, weight_decay=0, learning_rate=0.01)
    run = of_run(choice=SimpleNamespace(recipe=stopping), treebanks={"test": None}, vectors=VECTORS)
    assert list(warnings(OPTIONS, run, workspace)) == [  # a fifth of the words without a vector are not many
        "Cache.",
        repeated,
        "60 % of the tested sentences also occur word for word among the dev sentences.",
        "The treebank gives only 2 folds.",
    ]
    many = SimpleNamespace(**{**vars(VECTORS), "rows": lambda words: np.array([-(word < "f") for word in words])})
    said = list(warnings(OPTIONS, of_run(vectors=many), workspace))
    assert said[2] == "36 % of the tested words have no vector. Probes that read words cannot tell them apart."
    limit: Any = SimpleNamespace(folds=2, limit=9, files=lambda: {"train": ["a", "b", "c"], "test": ["d"]})
    said = list(warnings(SimpleNamespace(**{**vars(OPTIONS), "treebanks": limit}), of_run(), workspace))  # type: ignore[arg-type]
    assert said[-1] == "--limit was reached before these files were read: b, c."

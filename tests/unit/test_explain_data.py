"""Which texts are trained and tested on, and how trained models are kept."""

from __future__ import annotations

import errno
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from attentionology.analyses.explanation.analysis import ExplanationTests
from attentionology.analyses.explanation.contract.options import TextOptions
from attentionology.analyses.explanation.examination.options import ClassifierOptions, ExplainOptions, Loaded
from attentionology.analyses.explanation.examination.record import _warnings as warnings_of_run
from attentionology.analyses.explanation.examination.record import notes, phrases
from attentionology.analyses.explanation.examination.sources import Classifiers, load_saved
from attentionology.analyses.explanation.examination.texts import (
    ExplainTexts,
    SkippedText,
    class_numbers,
    read_texts,
    words_of,
)
from attentionology.analyses.shared.input_options import OptionalModelOptions
from attentionology.corpora_loaders import CorpusError, LabeledTexts, Sentence
from attentionology.extractors import ModelError
from attentionology.probes.classifiers import AttentionClassifier, ClassifierRecipe, CrossEntropy, Vocabulary
from attentionology.probes.classifiers.trainings import ClassifierTraining, Trainings
from tests.damage import become_a_folder, flip_last_bit, garbage, truncate


def write(folder: Path, name: str, lines: list[str]) -> str:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def read(seed: int = 0, model: str | None = None, **texts: Any) -> ExplainTexts:
    return read_texts(ExplainOptions(TextOptions(**texts), model=OptionalModelOptions(model), seed=seed), Loaded())


def many(folder: Path) -> str:
    """1,000 texts, every one of them twice."""
    texts = [f"{i % 2} text number {i} of many" for i in range(500)]
    return write(folder, "many.txt", texts + texts)


def test_held_out_texts_share_no_words_with_training(tmp_path: Path) -> None:
    data = read(data=(many(tmp_path),))
    assert data.train is not None
    assert data.dev is not None
    parts = [{text.words for text in part} for part in (data.train, data.dev, data.test)]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    assert len(data.train) + len(data.dev) + len(data.test) == 1000
    assert 140 < len(data.test) < 260
    assert 50 < len(data.dev) < 115
    assert data.held_out == ("test", "dev")
    assert data.overlap() == 0


def test_held_out_texts_depend_on_their_words_and_the_seed_alone(tmp_path: Path) -> None:
    file = many(tmp_path)
    backwards = write(tmp_path, "backwards.txt", Path(file).read_text().splitlines()[::-1])
    chosen = {text.words for text in read(data=(file,)).test}
    assert {text.words for text in read(data=(backwards,)).test} == chosen
    assert {text.words for text in read(data=(file,), seed=1).test} != chosen


def test_a_test_file_leaves_all_other_texts_to_training(tmp_path: Path) -> None:
    test = write(tmp_path, "test.txt", ["0 a b", "1 c d", "0 text number 4 of many"])
    data = read(data=(many(tmp_path),), test=(test,))
    assert [text.words for text in data.test] == [("a", "b"), ("c", "d"), ("text", "number", "4", "of", "many")]
    assert data.held_out == ("dev",)
    assert data.overlap() == 1


def test_length_bounds_are_inclusive_and_counted(tmp_path: Path) -> None:
    file = write(tmp_path, "a.txt", ["0 a", "1 a b", "0 a b c", "1 a b c d"])
    data = read(test=(file,), model="m", min_words=2, max_words=3)
    assert [len(text) for text in data.test] == [2, 3]
    assert data.lengths == {"test": (1, 1)}


def test_a_limit_is_a_subset_in_file_order(tmp_path: Path) -> None:
    data = read(test=(many(tmp_path),), model="m", limit=10)
    lines = [text.line or 0 for text in data.test]
    assert len(lines) == 10
    assert lines == sorted(lines)
    assert max(lines) > 20
    assert data.read == 1000


def pairs(folder: Path, premises: int, hypotheses: int = 3) -> Path:
    """Premises with several hypotheses each."""
    rows = [
        {"gold_label": "neutral", "sentence1": f"premise {premise}", "sentence2": f"hypothesis {number}"}
        for premise in range(premises)
        for number in range(hypotheses)
    ]
    path = folder / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.mark.parametrize(("limit", "numbers"), [(5, [1] * 5), (20, [1] * 20), (25, [1] * 15 + [2] * 5), (60, [3] * 20)])
def test_a_limit_samples_different_premises_first(tmp_path: Path, limit: int, numbers: list[int]) -> None:
    sampled = read(test=(pairs(tmp_path, 20),), model="m", limit=limit).test
    assert sorted(Counter(text.words for text in sampled).values()) == numbers
    lines = [text.line or 0 for text in sampled]
    assert lines == sorted(lines)


def test_which_pairs_are_sampled_does_not_depend_on_their_order(tmp_path: Path) -> None:
    file = pairs(tmp_path, 20)
    lines = file.read_text(encoding="utf-8").splitlines()
    sampled = []
    for order in (lines, lines[::-1]):
        file.write_text("\n".join(order), encoding="utf-8")
        test = read(test=(file,), model="m", limit=25).test
        sampled.append({(text.words, query) for text, query in zip(test, test.queries, strict=True)})
    assert sampled[0] == sampled[1]
    assert any(query != ("hypothesis", "0") for _, query in sampled[0])  # not only the first ones of the file


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (["0 a b", "0 c d"], ["0 e f"], "all training texts have the label '0'"),
        (
            ["0 a b", "1 c d"],
            ["0 e", "2 f"],
            r"test.txt:2: the label '2' does not occur in training, where there are: 0, 1",
        ),
    ],
)
def test_labels_that_do_not_fit(tmp_path: Path, train: list[str], test: list[str], message: str) -> None:
    files = {name: (write(tmp_path, f"{name}.txt", lines),) for name, lines in (("data", train), ("test", test))}
    with pytest.raises(CorpusError, match=message):
        read(**files, dev=files["data"])  # type: ignore[arg-type]


def test_too_few_texts_to_hold_some_out(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="too few texts"):
        read(data=(write(tmp_path, "a.txt", ["0 a b", "1 c d"]),))


def test_labels_by_name_or_by_number(tmp_path: Path) -> None:
    texts = read(test=(write(tmp_path, "a.txt", ["1 a", "0 b", "1 c"]),), model="m").test
    assert class_numbers(texts, ["0", "1"]) == [1, 0, 1]
    assert class_numbers(texts, ["1", "0"]) == [0, 1, 0]
    assert class_numbers(texts, ["negative", "positive"]) == [1, 0, 1]
    with pytest.raises(CorpusError, match=r"a.txt:1: the label '1' is none of the model's classes: only"):
        class_numbers(texts, ["only"])


TEXTS = [("good", "film"), ("bad", "film"), ("very", "good"), ("very", "bad")]


def job(seed: int = 0, **identity: object) -> ClassifierTraining:
    def make() -> AttentionClassifier:
        return AttentionClassifier("average", dimensions=4, size=4, random_state=seed).build(
            Vocabulary.of(TEXTS), ["0", "1"]
        )

    return ClassifierTraining(
        name=f"seed {seed}",
        role="base",
        make=make,
        texts=TEXTS,
        objective=CrossEntropy([1, 0, 1, 0], 2),
        recipe=ClassifierRecipe(epochs=2, batch_size=2),
        seed=seed,
        identity={"what": "labels", **identity},
        made_of=lambda model: {"config": model.config},
    )


def weights(model: object) -> list[torch.Tensor]:
    assert isinstance(model, AttentionClassifier)
    return list(model.state_dict().values())


def test_models_are_kept_and_found_again(tmp_path: Path) -> None:
    first = Trainings(tmp_path, workers=2)
    made = first([job(0), job(1)], "train")
    assert (first.made, first.from_cache) == (2, 0)
    again = Trainings(tmp_path, workers=1)
    found = again([job(1), job(0)], "train")
    assert (again.made, again.from_cache) == (0, 2)
    for name, model in made.items():
        assert all(torch.equal(a, b) for a, b in zip(weights(model), weights(found[name]), strict=True))
    assert sorted(map(str, first.history)) == sorted(map(str, again.history))
    assert [row["epoch"] for row in first.history] == [1, 2, 1, 2]


@pytest.mark.parametrize("damage", [flip_last_bit, become_a_folder])
def test_a_damaged_file_is_said_and_made_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    made = Trainings(tmp_path, workers=1)([job()], "train")["seed 0"]
    (file,) = (tmp_path / "classifiers").iterdir()
    whole = file.read_bytes()
    damage(file)
    again = Trainings(tmp_path, workers=1)
    model = again([job()], "train")["seed 0"]
    assert (again.made, again.from_cache) == (1, 0)
    assert all(torch.equal(a, b) for a, b in zip(weights(made), weights(model), strict=True))
    assert file.read_bytes() == whole
    [warning] = again.cache_log.warnings()
    assert str(file) in warning


def test_two_files_that_were_swapped_are_noticed(tmp_path: Path) -> None:
    Trainings(tmp_path, workers=1)([job(0), job(1)], "train")
    a, b = sorted((tmp_path / "classifiers").iterdir())
    contents = a.read_bytes(), b.read_bytes()
    a.write_bytes(contents[1])
    b.write_bytes(contents[0])
    again = Trainings(tmp_path, workers=1)
    again([job(0), job(1)], "train")
    assert (again.made, again.from_cache) == (2, 0)
    assert (a.read_bytes(), b.read_bytes()) == contents


def test_models_are_trained_where_nothing_may_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", refused)
        trainings = Trainings(tmp_path, workers=1)
        made = trainings([job(0), job(1)], "train")["seed 0"]
    [warning] = trainings.cache_log.warnings()
    assert "read-only" in warning
    other = Trainings(tmp_path, workers=1)([job()], "train")["seed 0"]
    assert all(torch.equal(a, b) for a, b in zip(weights(made), weights(other), strict=True))


@pytest.mark.parametrize("damage", [truncate, flip_last_bit, garbage])
def test_a_damaged_classifier_of_an_earlier_run_is_refused(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = tmp_path / "classifier.safetensors"
    model = job().make()
    assert isinstance(model, AttentionClassifier)
    model.save(path)
    moved = path.rename(tmp_path / "moved.safetensors")
    assert all(torch.equal(a, b) for a, b in zip(weights(load_saved(str(moved))), weights(model), strict=True))
    damage(moved)
    with pytest.raises(ModelError, match=r"moved\.safetensors is (damaged|not a classifier)"):
        load_saved(str(moved))


def test_the_key_changes_with_what_training_depends_on() -> None:
    base = job()
    model = base.make()
    keys = {
        base.key(model),
        job(1).key(job(1).make()),
        job(0, attention="uniform").key(model),
        replace(base, recipe=replace(base.recipe, epochs=3)).key(model),
    }
    assert len(keys) == 4
    assert replace(base, name="another", role="seed").key(model) == base.key(model)


def labeled(*texts: tuple[str, str]) -> LabeledTexts:
    """Texts of these labels and words."""
    sentences = tuple(Sentence(str(number), tuple(words.split())) for number, (_, words) in enumerate(texts))
    return LabeledTexts(sentences, labels=tuple(label for label, _ in texts))


def of_run(**changes: Any) -> Any:
    """A run in which no two numbers of texts are the same, with changes of its parts."""
    train = labeled(*[("0", f"the film {n} was bad") for n in range(5)], *[("1", f"the film {n}") for n in range(9)])
    dev = labeled(("0", "a very dull film"), ("1", "a very good film"), ("1", "good"))
    test = labeled(("0", "the film 1 was bad"), ("0", "a very dull film"), ("1", "a very good film"), ("1", "new"))
    lengths = {"train": (1234, 5), "dev": (0, 0), "test": (0, 67)}
    texts = ExplainTexts(train, dev, test, 1031, lengths, ("dev",))
    recipe = SimpleNamespace(epochs=1, batch_size=32, learning_rate=0.001)
    run = {
        "options": ExplainOptions(TextOptions(limit=4)),
        "texts": texts,
        "source": SimpleNamespace(recipe=recipe, vectors=None),
        "trains": True,
        "trainings": SimpleNamespace(from_cache=0, made=7, cache_log=SimpleNamespace(warnings=lambda: ["Cache."])),
        "model": SimpleNamespace(),
        "words": words_of(test),
    }
    return SimpleNamespace(**{**run, **changes})


def test_facts_say_which_texts_were_for_what() -> None:
    trained, chosen, tested, training = phrases(of_run())
    assert trained == "trained on 14 texts (0: 5, 1: 9)"
    assert chosen == "epoch chosen by 3 texts held out (0: 1, 1: 2)"
    assert tested == "tested on 4 texts (0: 2, 1: 2)"
    assert training == "1 epoch, 32 texts a step, learning rate 0.001"
    recipe = SimpleNamespace(epochs=8, batch_size=16, learning_rate=1e-05)
    options = ExplainOptions(classifier=ClassifierOptions(vectors=Path("folder/glove.txt")))
    said = list(phrases(of_run(source=SimpleNamespace(recipe=recipe), options=options)))
    assert said[3:] == ["8 epochs, 16 texts a step, learning rate 1e-05", "word vectors: glove.txt"]
    assert list(phrases(of_run(trains=False))) == [trained, chosen, tested]


def test_notes_say_what_was_left_out_repeated_and_reused() -> None:
    sampled = "Tested on 4 of 1,031 texts, which are sampled deterministically by a hash of their words (--limit)."
    short = "Training texts left out by length: 1,234 too short, 5 too long."
    long = "Tested texts left out by length: 0 too short, 67 too long."
    repeated = "Tested texts of more than three words that also occur word for word in training: 1."
    assert list(notes(of_run(), ["Remark."])) == [sampled, short, long, repeated, "Remark."]
    run = of_run()
    skipped = [SkippedText(role, "id", None, None, "long") for role in ("dev", "test", "test")]
    texts = replace(
        run.texts,
        train=replace(run.texts.train, blank=3),
        dev=replace(run.texts.dev, blank=8),
        read=4,
        lengths={},
        skipped=tuple(skipped),
    )
    reused = SimpleNamespace(from_cache=2, made=7)
    assert list(notes(of_run(texts=texts, trainings=reused), [])) == [
        "Training texts: blank lines that were skipped: 3.",  # held-out texts are from the same file
        "Dev texts that the model cannot read, left out: 1 (see the report).",
        "Tested texts that the model cannot read, left out: 2 (see the report).",
        repeated,
        "Models taken from an earlier run: 2 of 9.",
    ]


def test_notes_count_the_tested_words_without_a_vector() -> None:
    vectors = SimpleNamespace(
        rows=lambda words: np.array([-1 if word == "film" else 3 for word in words]),
        remarks=lambda: ["On the vectors."],
    )
    source = SimpleNamespace(vectors=vectors, kind=SimpleNamespace(words_read=tuple))
    said = list(notes(of_run(source=source), []))
    assert "Tested words without a vector: 3 of 14 (21 %)." in said
    assert "On the vectors." in said


def test_warnings_say_how_many_tested_texts_occur_in_which_others() -> None:
    cache, in_training, in_dev = warnings_of_run(of_run())
    assert cache == "Cache."
    assert in_training == "25 % of the tested texts also occur word for word in training."
    assert in_dev == "50 % of the tested texts also occur word for word in the texts by which the epoch was chosen."
    texts = of_run().texts
    one = replace(texts, train=None, dev=labeled(("1", "good"), ("1", "fine")))
    assert list(warnings_of_run(of_run(texts=one)))[1:] == [
        "All dev texts have the same label, so they cannot decide between epochs, and the first epoch was taken."
    ]
    rare = replace(texts, dev=None, test=labeled(("0", "the film 1 was bad"), *[("1", str(n)) for n in range(19)]))
    assert list(warnings_of_run(of_run(texts=rare))) == ["Cache."]  # 5 % are not many


@pytest.mark.parametrize(("words", "warned"), [("good film bad x", []), ("good x y", ["67 %"])])
def test_a_warning_says_which_share_of_the_words_is_unknown(words: str, warned: list[str]) -> None:
    """A quarter is not many."""
    texts = replace(of_run().texts, train=None, dev=None, test=labeled(("0", words)))
    model: Any = job().make()
    said = list(warnings_of_run(of_run(texts=texts, model=model, words=words_of(texts.test))))
    unknown = "of the tested words are unknown to the model, which cannot tell them apart."
    assert said[1:] == [f"{share} {unknown}" for share in warned]


@pytest.mark.parametrize(("n", "few"), [(199, True), (200, False)])
def test_warnings_of_results_say_what_makes_them_worth_little(n: int, few: bool) -> None:
    """Few texts, a model that is not better than the most frequent class, and one that predicts a single class."""

    def said(right: float, frequent: float, predicted: Sequence[int]) -> list[str]:
        label = np.where(np.arange(n) < round(frequent * n), "a", "b")
        correct = (np.arange(n)[::-1] < round(right * n)).astype(float)
        texts = pd.DataFrame({"label": label, "correct": correct, "predicted": np.resize(predicted, n)})
        results: Any = SimpleNamespace(texts=texts, verdicts=pd.DataFrame())
        return ExplanationTests().warnings(results)

    first = ["There are only 199 tested texts, so the intervals are not reliable."] if few else []
    assert said(0.8, 0.6, [0, 1]) == first
    assert said(0.55, 0.75, [1, 0]) == [
        *first,
        "The model is right about 55 % of the tested texts; always predicting the most frequent class would be right "
        "about 75 %. The attention of such a model explains nothing.",
    ]
    assert said(0.8, 0.6, [1]) == [*first, "The model predicts the same class for every tested text."]
    assert len(said(0.6, 0.6, [0, 1])) == len(first) + 1


def test_pairs_of_few_texts_are_warned_of() -> None:
    texts = pd.DataFrame({"label": ["a", "b"] * 200, "correct": 1.0, "predicted": [0, 1] * 200})
    results: Any = SimpleNamespace(texts=texts, verdicts=pd.DataFrame({"n": [21, 20]}))
    assert ExplanationTests().warnings(results) == [
        "There are only 21 tested texts, so the intervals are not reliable."
    ]


def test_the_strength_is_that_of_the_tested_regularizer_alone():
    """Classifiers with other regularizers, which the test ``regularizers`` compares, have their default strengths."""
    classifiers = Classifiers.__new__(Classifiers)
    classifiers.options = ClassifierOptions(regularizer="tying", strength=0.25)
    classifiers.kind, classifiers.classes, classifiers.vectors = AttentionClassifier, ("a", "b"), None
    classifiers.vocabulary = Vocabulary.of([("a", "fine", "film")], min_count=1, vectors=None)
    tested, other, none = (classifiers.make(0, regularizer=name).config for name in ("base", "conicity", None))
    assert (tested["regularizer"], tested["strength"]) == ("tying", 0.25)
    assert other["strength"] == AttentionClassifier(regularizer="conicity").config["strength"] != 0.25
    assert none["regularizer"] is None

"""States that earlier versions did not count: what is read, added up and refused without them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attentionology.analyses import Metric
from attentionology.analyses.counting.exact_sums import ExactMetric
from attentionology.analyses.counting.metric import FirstVersion, NotCountedError, StateError
from attentionology.analyses.counting.stored_metrics import MetricStates, StoredMetrics, add_up
from attentionology.engine.results.states import _versions_of

OLD, NEW = {"attentionology": "0.3.0"}, {"attentionology": "0.4.0"}


class Words(ExactMetric):
    """The words of each name, of which only later versions count the sum of squares and the longest."""

    inventory = "names"
    words: torch.Tensor
    squares: torch.Tensor
    longest: torch.Tensor

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self.names = list(names)
        zeros = torch.zeros(len(names), dtype=torch.int64)
        self.add_state("words", zeros)
        self.add_state("squares", zeros, "sum", since="attentionology 0.4")
        self.add_state("longest", torch.tensor(0), "max", since="attentionology 0.4")

    def update(self, name: str, words: int) -> None:
        """Count a sentence."""
        index = self.names.index(name)
        self.words[index] += words
        self.squares[index] += words**2
        self.longest = torch.maximum(self.longest, torch.tensor(words))

    def absorb(self, other: Words) -> None:
        """Add the words of fewer names, without a thought about what was not counted."""
        rows = [self.names.index(name) for name in other.names]
        self.words[rows] += other.words
        self.squares[rows] += other.squares
        self.longest = torch.maximum(self.longest, other.longest)


def stored(counted: Sequence[tuple[str, int]], names: Sequence[str], without: Sequence[str] = ()) -> MetricStates:
    """The states of words as this version stores them, or without those that an earlier one lacks."""
    metric = Words(names)
    for name, words in counted:
        metric.update(name, words)
    states = MetricStates.of(metric, {"names": list(names)})
    kept = {name: state for name, state in states.tensors.items() if name not in without}
    return replace(states, tensors=kept, versions=[OLD if without else NEW], file="run/words.safetensors")


sentences = st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 9)), max_size=5)
parts = st.lists(st.tuples(sentences, st.sampled_from([(), ("squares",), ("squares", "longest")])), min_size=1)


@given(parts, st.booleans(), st.randoms(use_true_random=False))
def test_the_sum_has_what_all_parts_have_counted(
    counted: list[tuple[list[tuple[str, int]], tuple[str, ...]]], same_names: bool, choices: random.Random
) -> None:
    """In any order, whether parts are merged, absorbed, or stored and read in between."""
    names = ["ab" if same_names or number % 2 else "ba" for number in range(len(counted))]
    runs = [stored(of_part, own, without) for own, (of_part, without) in zip(names, counted, strict=True)]
    choices.shuffle(runs)
    total, _ = add_up(runs, Words)
    every = [pair for of_part, _ in counted for pair in of_part]
    expected = {
        "words": [sum(n for name, n in every if name == own) for own in total.names],
        "squares": [sum(n**2 for name, n in every if name == own) for own in total.names],
        "longest": max([n for _, n in every], default=0),
    }
    missing = {name for _, without in counted for name in without}
    assert {name: state.tolist() for name, state in total.metric_state.items()} == {
        name: value for name, value in expected.items() if name not in missing
    }
    for name in missing:
        assert not total.was_counted(name)
        with pytest.raises(NotCountedError, match=rf"Words\.{name} was not counted .*attentionology 0\.4"):
            getattr(total, name)
    while len(runs) > 1:  # now in a random nesting, through the mapping that a merged run is stored from
        together = [{"words": runs.pop(choices.randrange(len(runs)))} for _ in range(2)]
        metrics = StoredMetrics(*together)
        metrics.metric("words", Words)
        runs.append(metrics["words"])
    again = runs[0].restore(Words)
    by_name = dict(zip(again.names, again.words.tolist(), strict=True))
    assert [by_name[name] for name in total.names] == total.words.tolist()
    assert again.metric_state.keys() == total.metric_state.keys()


def test_merging_is_the_same_in_both_directions() -> None:
    older, newer = stored([("a", 2)], "a", ("squares", "longest")), stored([("a", 3)], "a")
    for first, second in ((older, newer), (newer, older)):
        metric = first.restore(Words)
        metric.merge_state(second.restore(Words))
        assert metric.metric_state == {"words": torch.tensor([5])}
        assert metric.clone().metric_state == metric.metric_state
    metric.reset()
    assert metric.squares.tolist() == [0], "a metric that is emptied counts everything"


def test_a_metric_that_counts_has_all_states() -> None:
    metric = Words("a")
    assert metric.was_counted("squares")
    with pytest.raises(ValueError, match="has no state 'square'"):
        metric.was_counted("square")
    with pytest.raises(AttributeError, match="'Words' object has no attribute 'square'") as raised:
        metric.square  # type: ignore[attr-defined]  # noqa: B018
    assert raised.type is AttributeError


@pytest.mark.parametrize("versions", [[NEW], [NEW, {"attentionology": "0.4.1"}], []])
def test_a_state_that_the_version_has_must_be_there(versions: list[dict[str, str]]) -> None:
    damaged = replace(stored([], "a", ("squares",)), versions=versions)
    said = " and ".join(version["attentionology"] for version in versions) or "of today"
    with pytest.raises(StateError, match=rf"run/words\.safetensors: the state squares of Words .* by version {said};"):
        damaged.restore(Words)
    assert replace(damaged, versions=[*versions, OLD]).restore(Words).was_counted("longest"), "one run was older"


def test_other_states_are_those_of_another_version() -> None:
    states = stored([], "a")
    for tensors in ({**states.tensors, "more": torch.tensor(0)}, {"squares": states.tensors["squares"]}):
        with pytest.raises(StateError, match=r"run/words\.safetensors: Words of this version has the states words, "):
            replace(states, tensors=tensors, versions=[OLD]).restore(Words)


@pytest.mark.parametrize(
    ("version", "earlier"),
    [
        *(("0.3.0", True), ("0.4.0", False), ("0.10", False), ("0.4.0rc1", True), ("0.4.0.dev3+g12", True)),
        ("not installed as a package", True),
    ],
)
def test_versions_are_in_the_order_of_releases(version: str, earlier: bool) -> None:
    assert FirstVersion.of("Attention_Extras 0.4").may_come_after({"attention-extras": version}) == earlier


def test_what_is_no_package_and_version_is_refused() -> None:
    assert FirstVersion.of("extras 1").may_come_after(NEW), "the version of the package is not known"
    for wrong in ("0.4", "attentionology", "attentionology next"):
        with pytest.raises(ValueError, match="Invalid version"):
            Metric().add_state("squares", torch.tensor(0), since=wrong)


def test_the_versions_are_those_that_counted() -> None:
    """Not those of the libraries that have merged the runs."""
    first = {"versions": {"attentionology": "0.3.0"}, "extensions": [{"package": "Attention_Extras", "version": "1.2"}]}
    inner = {"versions": {"attentionology": "0.5.0"}, "merged": [first, {"versions": {"attentionology": "0.4.0"}}]}
    outer = {"versions": {"attentionology": "0.6.0"}, "merged": [inner, {"versions": {"attentionology": "0.4.1"}}]}
    assert list(_versions_of(outer)) == [
        {"attentionology": "0.3.0", "attention-extras": "1.2"},
        {"attentionology": "0.4.0"},
        {"attentionology": "0.4.1"},
    ]

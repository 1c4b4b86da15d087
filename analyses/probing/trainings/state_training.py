"""Probes of hidden states are trained layer by layer, with their control tasks, and on copies with random weights.

First the probes are trained on the states of the model. The dev sentences then choose a layer for each of them, at
which control tasks are trained that are comparable with those of probes of attention.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from ....corpora_loaders import Sentence
from ....extractors import DEFAULT_BATCH_CELLS, Encoder, StoredMaps, StoredStates, store_states
from ....probes import StateProbe, decayed, make_state_probe
from ....probes.registry import RANDOM
from ....probes.splits import CorrectWords, Split, with_control_task
from ....reports.progress import progress_bar
from ..options import Role
from ..rows import MIX, NO_LAYER, Attempt, StateTried, Task
from ..run_options import ProbingOptions
from .folds import results_in_order
from .inputs import ProbingInputs, Workspace, split_stores, store_treebanks
from .shown import ShownHeads, shown_heads
from .state_codes import CodeOutcome, train_codes
from .state_folds import (
    BEHAVIORS,
    DECAY,
    GOLD,
    MODEL,
    RANDOM_WEIGHTS,
    FoldMix,
    StateEpoch,
    StateSetting,
    StateSplit,
    StateTraining,
    TrainedSplit,
    find_edges,
    fractions_of,
    train_split,
)

_SHOWN_WORDS = 11

WordLinks = Sequence[Sequence[ndarray]]
"""How strongly words are linked to words, split by split and sentence by sentence: words × words."""


@dataclass(frozen=True)
class StateOutcome:
    """What one training gave on all its splits, or what something gave that reads no states."""

    tried: tuple[StateTried, ...]
    fractions: Float[ndarray, "sentences scores 2"]
    edges: Bool[ndarray, " edges"] | None = None  # which edges of all tested trees are predicted, if any can be
    example: ndarray | None = None  # the distances that are predicted in the sentence that is shown
    attempts: tuple[Attempt, ...] = ()  # those of probes that find heads
    history: tuple[StateEpoch, ...] = ()
    checkpoints: tuple[Path, ...] = ()
    resumed: int = 0
    parameters: int = 0
    mixes: tuple[FoldMix, ...] = ()  # of a training on a mix of layers, split by split
    shown: ShownHeads = field(default_factory=dict)  # of the first run on the model at the layer that was chosen


@dataclass(frozen=True)
class TrainedStates:
    """What all trainings on hidden states gave."""

    outcomes: tuple[StateOutcome, ...] = ()
    chosen: Mapping[str, int] = field(default_factory=dict)  # the layer of each probe
    layers: tuple[int, ...] = ()  # with `MIX` if a mix was probed
    stores: tuple[StoredStates, ...] = ()
    codes: tuple[CodeOutcome, ...] = ()
    example: int = 0  # the number of the tested sentence that is shown

    @property
    def attempts(self) -> list[Attempt]:
        """What probes that find heads got right at the layer that was chosen."""
        return [attempt for outcome in self.outcomes for attempt in outcome.attempts]


def train_state_probes(
    options: ProbingOptions, inputs: ProbingInputs, workspace: Workspace, links: Mapping[str, Sequence[WordLinks]]
) -> TrainedStates:
    """Train and score all probes of hidden states that the options name; nothing is done without any.

    Beside them stands what links words and reads no states, such as an attention head, where a probe says what that
    would predict: ``links`` has it by its name and by training run.
    """
    names = options.probes.of_states()
    if not names:
        return TrainedStates()
    last = inputs.encoder.n_layers
    decays = [name for name in names if options.probes.decays() and not _make_probe(name, options).reads_maps]
    stored = options.states.stored(last, decays=bool(decays))
    layers = (*options.states.chosen(last), *([MIX] if options.states.mixed else []))
    trainer = _Trainer(options, inputs, workspace)
    stores = trainer.store(inputs.encoder, inputs.stores, stored, "states")
    splits = _state_splits(inputs.splits, stores)
    of_model = _trainings(options, names, layers, MODEL, GOLD, splits)
    model = list(trainer.train(of_model, "the probes"))
    chosen = _choose_layers(model)
    compared: list[StateTraining] = []  # what the probes are compared with, in the order of the table
    if options.probes.control_task():
        for name in names:
            first, *others = _make_probe(name, options).controls
            compared += _trainings(options, [name], layers, MODEL, first, splits)
            for task in others:
                compared += _trainings(options, [name], (chosen[name],), MODEL, task, splits)
    used = list(stores.values())
    for copy in range(options.probes.copies_asked()):
        twin, label = inputs.encoder.random_layers(options.seed + copy), f"random layers {copy + 1}"
        maps = inputs.stores
        if any(_make_probe(name, options).reads_maps for name in names):
            maps = store_treebanks(twin, inputs.treebanks, options, workspace, label=f"maps of {label}")
        cut = split_stores(options, maps, hold_out=True)
        of_copy = trainer.store(twin, maps, stored, f"states of {label}")
        compared += _trainings(options, names, layers, RANDOM_WEIGHTS, GOLD, _state_splits(cut, of_copy), copy)
        used += of_copy.values()
    floors = [*trainer.floors(names, splits, links), *trainer.decays(decays, splits)]
    outcomes = [*floors, *model, *trainer.train(compared, "what they are compared with")]
    codes = tuple(trainer.codes([*of_model, *compared])) if options.states.codelength else ()
    return TrainedStates(
        outcomes=tuple(trainer.with_attempts(outcomes, chosen)),
        chosen=chosen,
        layers=layers,
        stores=tuple(used),
        codes=codes,
        example=trainer.setting.example,
    )


def shown_sentence(sentences: Sequence[Sentence]) -> int:
    """Return the number of the sentence that is shown: the first of those that are nearest to `_SHOWN_WORDS` long."""
    return min(range(len(sentences)), key=lambda number: abs(len(sentences[number]) - _SHOWN_WORDS))


def _trainings(
    options: ProbingOptions,
    names: Sequence[str],
    layers: Sequence[int],
    source: str,
    task: str,
    splits: tuple[StateSplit, ...],
    copy: int = 0,
) -> list[StateTraining]:
    """Return the trainings of probes on layers with each seed; runs on copies of a model count on from the last."""
    return [
        StateTraining(name, layer, source, task, seed, run, splits)
        for name in names
        for layer in layers
        for run, seed in enumerate(options.seeds, start=1 + copy * len(options.seeds))
    ]


@dataclass
class _Trainer:
    """Trains probes of hidden states of a run, and puts together what each gave."""

    options: ProbingOptions
    inputs: ProbingInputs
    workspace: Workspace
    heads: dict[int, Sequence[TrainedSplit]] = field(default_factory=dict)  # by the id of the outcome

    def store(
        self, encoder: Encoder, maps: Mapping[Role, StoredMaps], layers: Sequence[int], label: str
    ) -> dict[Role, StoredStates]:
        """Store the states of the sentences that have maps, so that all probes read the same sentences."""
        store, stores = self.options.store, dict[Role, StoredStates]()
        for role, of_role in maps.items():
            name = f"{label}: {role}"
            with self.workspace.stages(name), progress_bar(name, len(of_role)) as advance:
                stores[role] = store_states(
                    encoder,
                    of_role.sentences,
                    self.workspace.cache,
                    layers=layers,
                    pooling=self.options.states.pooling,
                    dtype=store.cache_type,
                    batch_cells=store.batch_cells or DEFAULT_BATCH_CELLS,
                    advance=advance,
                    cache_log=self.workspace.cache_log,
                )
        return stores

    @property
    def setting(self) -> StateSetting:
        """What all trainings have in common."""
        return StateSetting(
            arguments=arguments_of(self.options),
            trees=self.options.probes.tree,
            example=shown_sentence(self.inputs.sentences),
            cache=self.workspace.cache,
            folder=self.workspace.folder,
        )

    def codes(self, trainings: Sequence[StateTraining]) -> Iterator[CodeOutcome]:
        """Compute the codes of trainings of probes with a softmax, on the task itself and on the first control task."""
        coded = []
        for training in trainings:
            probe = _make_probe(training.probe, self.options)
            if probe.softmax and training.task in (GOLD, probe.controls[0]):
                coded.append(training)
        return train_codes(self.setting, coded, self.options.training.workers, self.workspace)

    def train(self, trainings: Sequence[StateTraining], label: str) -> Iterator[StateOutcome]:
        """Train probes, in this process or in several."""
        setting = self.setting
        jobs = [(index, fold) for index, training in enumerate(trainings) for fold in range(len(training.splits))]
        train = functools.partial(train_split, setting)
        results = results_in_order(train, trainings, jobs, self.options.training.workers, f"train {label}", __name__)
        for training in trainings:
            trained = [next(results) for _ in training.splits]
            for split in trained:
                self.workspace.cache_log.add(split.cache_log)
                self.workspace.stages.add(split.seconds)
            outcome = self._outcome(training, trained)
            self.heads[id(outcome)] = trained
            yield outcome

    def _outcome(self, training: StateTraining, trained: Sequence[TrainedSplit]) -> StateOutcome:
        """Put together what one training gave on all its splits."""
        probe = _make_probe(training.probe, self.options)
        fractions = np.zeros((len(self.inputs.sentences), len(probe.metrics), 2))
        for split, of_split in zip(training.splits, trained, strict=True):
            fractions[list(split.maps.tested)] = of_split.fractions
        found, of = np.sum([of_split.dev for of_split in trained], axis=0)
        return StateOutcome(
            tried=tuple(
                StateTried(
                    training.probe, training.layer, training.source, training.task, training.run, *score,
                    dev=float(found / of) if of and not place else None,
                )
                for place, score in enumerate(probe.metrics)
            ),
            fractions=fractions,
            edges=self._edges(training.splits, [of_split.edges for of_split in trained]),
            example=next((of_split.example for of_split in trained if of_split.example is not None), None),
            history=tuple(epoch for of_split in trained for epoch in of_split.history),
            checkpoints=tuple(of_split.checkpoint for of_split in trained),
            resumed=sum(of_split.resumed for of_split in trained),
            parameters=trained[0].parameters,
            mixes=tuple(each.mix for each in trained if each.mix is not None),
        )  # fmt: skip

    def floors(
        self, names: Sequence[str], splits: Sequence[StateSplit], links: Mapping[str, Sequence[WordLinks]]
    ) -> Iterator[StateOutcome]:
        """Score what predicts without states: the floors of each probe, and what links words."""
        for name in names:
            probe = _make_probe(name, self.options)
            fractions: dict[tuple[str, int], ndarray] = {}  # by name and run
            edges: dict[tuple[str, int], list[Sequence[ndarray] | None]] = {}  # the same, split by split
            for number, split in enumerate(splits):
                training, tested = split.train.sentences, split.test.sentences
                probe.prepare([probe.gold(sentence) for sentence in training])  # its classes are those of the split
                predicted: dict[tuple[str, int], Sequence[ndarray]] = {
                    (floor, 1): list(map(predict, tested))
                    for floor, predict in probe.floors(training, probe.gold).items()
                }
                for source, of_runs in links.items():
                    for run, of_run in enumerate(of_runs, start=1):
                        linked = list(map(probe.of_links, of_run[number]))
                        known = [each for each in linked if each is not None]
                        if len(known) == len(linked):
                            predicted[source, run] = known
                for key, of_split in predicted.items():
                    shape = (len(self.inputs.sentences), len(probe.metrics), 2)
                    fractions.setdefault(key, np.zeros(shape))[list(split.maps.tested)] = [
                        fractions_of(probe, each, probe.gold(sentence), sentence)
                        for each, sentence in zip(of_split, tested, strict=True)
                    ]
                    edges.setdefault(key, []).append(find_edges(probe, of_split, tested))
            for (source, run), of_source in fractions.items():
                tried = tuple(
                    StateTried(name, NO_LAYER, source, GOLD, run, *score, dev=None) for score in probe.metrics
                )
                yield StateOutcome(tried, of_source, self._edges(splits, edges[source, run]))

    def decays(self, names: Sequence[str], splits: tuple[StateSplit, ...]) -> Iterator[StateOutcome]:
        """Train probes on the states of layer 0 that are mixed with their neighbors, and score them as floors."""
        mixed = tuple(
            StateSplit(
                split.train.changed(decayed), split.dev.changed(decayed), split.test.changed(decayed), split.maps
            )
            for split in splits
        )
        trainings = _trainings(self.options, names, (0,), DECAY, GOLD, mixed)
        for outcome in self.train(trainings, "the probes of decayed states"):
            yield replace(outcome, tried=tuple(replace(tried, layer=NO_LAYER, dev=None) for tried in outcome.tried))

    def _edges(
        self, splits: Sequence[StateSplit], found: Sequence[Sequence[ndarray] | None]
    ) -> Bool[ndarray, " edges"] | None:
        """Return which edges of all tested sentences in their order are found, given those of each split."""
        by_sentence: dict[int, ndarray] = {}
        for split, of_split in zip(splits, found, strict=True):
            if of_split is None:
                return None
            by_sentence.update(zip(split.maps.tested, of_split, strict=True))
        return np.concatenate([by_sentence[position] for position in range(len(self.inputs.sentences))])

    def with_attempts(self, outcomes: Sequence[StateOutcome], chosen: Mapping[str, int]) -> Iterator[StateOutcome]:
        """Yield outcomes, with what probes that find heads got right at the layer that was chosen."""
        for outcome in outcomes:
            tried = outcome.tried[0]
            trained = self.heads.get(id(outcome), ())
            if not trained or not trained[0].heads or tried.layer != chosen[tried.probe]:
                yield outcome
                continue
            if tried.task not in (GOLD, BEHAVIORS):
                yield outcome
                continue
            attempts, shown = [], ShownHeads()
            if (tried.source, tried.task, tried.run) == (MODEL, GOLD, 1):
                heads, decoding = [of_split.heads for of_split in trained], [*trained[0].heads][-1]
                shown = shown_heads(self.inputs.sentences, self.inputs.splits, heads, decoding)
            for decoding in trained[0].heads:
                correct = CorrectWords(self.inputs.sentences)
                for split, of_split in zip(self.inputs.splits, trained, strict=True):
                    gold = split if tried.task == GOLD else with_control_task(split, self.options.seeds[tried.run - 1])
                    correct.add(gold, of_split.heads[decoding])
                method = tried.probe + (RANDOM if tried.source == RANDOM_WEIGHTS else "")
                task: Task = "dependencies" if tried.task == GOLD else "control"
                attempts.append(Attempt(method, task, decoding, tried.run, correct.words))
            yield replace(outcome, attempts=tuple(attempts), shown=shown)


def _choose_layers(outcomes: Sequence[StateOutcome]) -> dict[str, int]:
    """Return the layer of each probe with the highest mean score on the dev sentences; of equal ones the lowest.

    A mix is chosen only if no single layer was probed.
    """
    scores: dict[str, dict[int, list[float]]] = {}
    for outcome in outcomes:
        tried = outcome.tried[0]
        score = -np.inf if tried.dev is None else tried.dev
        scores.setdefault(tried.probe, {}).setdefault(tried.layer, []).append(score)
    return {
        probe: max(sorted(by_layer), key=lambda layer: (layer >= 0, float(np.mean(by_layer[layer]))))
        for probe, by_layer in scores.items()
    }


def _state_splits(splits: Sequence[Split], stores: Mapping[Role, StoredStates]) -> tuple[StateSplit, ...]:
    """Return the same splits of stored states."""
    places = {id(sentence): (store, n) for store in stores.values() for n, sentence in enumerate(store.sentences)}

    def states_of(maps: StoredMaps) -> StoredStates:
        store, _ = places[id(maps.sentences[0])]
        return store.subset([places[id(sentence)][1] for sentence in maps.sentences])

    cut = []
    for split in splits:
        assert split.dev is not None  # noqa: S101  # as splits for probes of states hold sentences out
        cut.append(StateSplit(states_of(split.train), states_of(split.dev), states_of(split.test), split))
    return tuple(cut)


def arguments_of(options: ProbingOptions) -> dict[str, Any]:
    """Return the arguments of the constructors of probes."""
    return {"rank": options.states.rank, "hidden": options.states.hidden}


def _make_probe(name: str, options: ProbingOptions) -> StateProbe:
    """Return an untrained probe, which knows what it learns."""
    return make_state_probe(name, **arguments_of(options))

"""The second stage of a probing run: baselines are fitted, and probes are trained and scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from numpy import ndarray

from ....extractors import StoredMaps
from ....probes import SingleHead, added_up, registered_probes
from ....probes.registry import RANDOM
from ....probes.splits import CorrectWords, Split, with_control_task
from ....reports.progress import progress_bar
from ..methods import BASELINES, BEST_HEAD
from ..rows import Attempt
from ..run_options import ProbingOptions
from .folds import LINKING, Arcs, FoldSetting, ProbeTraining, TrainedEpoch, TrainedFold, train_folds
from .inputs import ProbingInputs, Workspace, split_stores, store_treebanks
from .shown import ShownHeads, shown_heads
from .state_training import TrainedStates, WordLinks, train_state_probes


@dataclass(frozen=True)
class TrainingOutcome:
    """What one training gave on all its splits."""

    training: ProbeTraining
    attempts: tuple[Attempt, ...]  # one for each decoding
    history: tuple[TrainedEpoch, ...]
    arcs: Arcs | None  # None for a probe that has no weights of heads, or if they are not kept
    checkpoints: tuple[Path, ...]
    resumed: int  # how many checkpoints an interrupted run had written
    links: tuple[Sequence[ndarray], ...] = ()  # split by split, see `TrainedFold`
    shown: ShownHeads = field(default_factory=dict)  # of the first run on the model


@dataclass(frozen=True)
class TrainedProbes:
    """What all baselines and trainings gave."""

    baselines: tuple[Attempt, ...]
    single_heads: tuple[SingleHead, ...]  # the baseline of single heads, split by split
    outcomes: tuple[TrainingOutcome, ...]  # in the order of the table
    copies: tuple[StoredMaps, ...] = ()  # the word maps of the copies with random weights
    states: TrainedStates = field(default_factory=TrainedStates)

    @property
    def attempts(self) -> list[Attempt]:
        """What every method got right, in the order of the table."""
        of_maps = (attempt for outcome in self.outcomes for attempt in outcome.attempts)
        return [*self.baselines, *of_maps, *self.states.attempts]

    @property
    def resumed(self) -> int:
        """How many trainings continued from an interrupted run."""
        of_states = sum(each.resumed for each in self.states.outcomes) + sum(each.resumed for each in self.states.codes)
        return sum(outcome.resumed for outcome in self.outcomes) + of_states

    @property
    def checkpoints(self) -> list[Path]:
        """The checkpoints of all trainings, which are of no use once the results are in place."""
        of_states = [each.checkpoints for each in self.states.outcomes] + [
            each.checkpoints for each in self.states.codes
        ]
        return [path for paths in (*(each.checkpoints for each in self.outcomes), *of_states) for path in paths]

    @property
    def arcs(self) -> dict[str, list[Arcs]]:
        """The weights of the heads in every attention probe, run by run."""
        weights: dict[str, list[Arcs]] = {}
        for outcome in self.outcomes:
            if outcome.arcs is not None:
                weights.setdefault(outcome.training.probe, []).append(outcome.arcs)
        return weights


@dataclass(frozen=True)
class Kept:
    """What questions look up with, when all probes of a run are trained."""

    options: ProbingOptions
    inputs: ProbingInputs
    workspace: Workspace
    trained: TrainedProbes


def train_probes(options: ProbingOptions, inputs: ProbingInputs, workspace: Workspace) -> TrainedProbes:
    """Fit the baselines, and train and score all probes."""
    baselines, single_heads = _fit_baselines(inputs, workspace)
    trainings, maps = list(_trainings(options, inputs)), list[StoredMaps]()
    for copy in range(options.probes.copies(has_vectors=inputs.vectors is not None)):
        twin = inputs.encoder.random_init(options.seed + copy)
        stores = store_treebanks(twin, inputs.treebanks, options, workspace, label=f"maps of random weights {copy + 1}")
        splits = split_stores(options, stores, hold_out=inputs.holds_out)
        trainings += _trainings_of_copy(options, inputs, copy, splits)
        maps += stores.values()
    outcomes = tuple(_train(trainings, options, inputs, workspace))
    links: dict[str, list[WordLinks]] = {}
    if options.probes.of_states():
        best = zip(single_heads, inputs.splits, strict=True)
        links[BEST_HEAD] = [[[*head.attention(split.test)] for head, split in best]]
        links[LINKING] = [outcome.links for outcome in outcomes if outcome.links]
    states = train_state_probes(options, inputs, workspace, links)
    return TrainedProbes(baselines, single_heads, outcomes, tuple(maps), states)


def _fit_baselines(inputs: ProbingInputs, workspace: Workspace) -> tuple[tuple[Attempt, ...], tuple[SingleHead, ...]]:
    """Return what all baselines got right, and the baselines of single heads, split by split."""
    attempts, single_heads = [], []
    for row in BASELINES:
        correct = CorrectWords(inputs.sentences)
        with workspace.stages("baselines"), progress_bar(row.name, len(inputs.splits), unit="folds") as advance:
            for split in inputs.splits:
                baseline = row.make().fit(split.train)
                correct.add(split, baseline.predict(split.test))
                if isinstance(baseline, SingleHead):
                    single_heads.append(baseline)
                advance(1)
        attempts.append(Attempt(row.name, "dependencies", "argmax", 1, correct.words))
    return tuple(attempts), tuple(single_heads)


def _trainings(options: ProbingOptions, inputs: ProbingInputs) -> Iterator[ProbeTraining]:
    """Yield the trainings on the maps of the model: on the heads of the treebank, then on the control task."""
    names = options.probes.chosen(has_vectors=inputs.vectors is not None)
    runs = list(enumerate(options.seeds, start=1))
    for name in names:
        for run, seed in runs:
            yield ProbeTraining(name, name, inputs.splits, seed, run, kept=True)
    if options.probes.control_task():
        control_splits = {
            seed: tuple(with_control_task(split, seed) for split in inputs.splits) for seed in options.seeds
        }
        for name in names:
            for run, seed in runs:
                yield ProbeTraining(name, name, control_splits[seed], seed, run, task="control")


def _trainings_of_copy(
    options: ProbingOptions, inputs: ProbingInputs, copy: int, splits: tuple[Split, ...]
) -> Iterator[ProbeTraining]:
    """Yield the trainings on the maps of a copy of the model with random weights, of all probes that read attention."""
    for name in options.probes.chosen(has_vectors=inputs.vectors is not None):
        if registered_probes()[name].reads_attention:
            for run, seed in enumerate(options.seeds, start=1 + copy * len(options.seeds)):  # on from the last copy
                yield ProbeTraining(name + RANDOM, name, splits, seed, run)


def _train(
    trainings: Sequence[ProbeTraining], options: ProbingOptions, inputs: ProbingInputs, workspace: Workspace
) -> Iterator[TrainingOutcome]:
    """Train and score probes on all their splits, in this process or in several."""
    setting = FoldSetting(
        vectors=inputs.vectors,
        recipe=inputs.choice.recipe,
        trees=options.probes.tree,
        links=bool(options.probes.of_states()),
        cache=workspace.cache,
        folder=workspace.folder,
    )
    all_trained = train_folds(setting, trainings, options.training.workers)
    for training in trainings:
        trained = list(islice(all_trained, len(training.splits)))
        for fold in trained:
            workspace.cache_log.add(fold.cache_log)
            workspace.stages.add(fold.seconds)
        yield _outcome(setting, training, trained, inputs)


def _outcome(
    setting: FoldSetting, training: ProbeTraining, trained: Sequence[TrainedFold], inputs: ProbingInputs
) -> TrainingOutcome:
    """Put together what one training gave on all its splits."""
    attempts = []
    for decoding in setting.decodings(training):
        correct = CorrectWords(inputs.sentences)
        for split, fold in zip(training.splits, trained, strict=True):
            correct.add(split, fold.predicted[decoding])
        attempts.append(Attempt(training.method, training.task, decoding, training.run, correct.words))
    shown = ShownHeads()
    if training.kept and training.task == "dependencies" and training.run == 1:
        predicted, decoding = [fold.predicted for fold in trained], setting.decodings(training)[-1]
        shown = shown_heads(inputs.sentences, training.splits, predicted, decoding)
    arcs = [fold.arcs for fold in trained if fold.arcs is not None]
    return TrainingOutcome(
        training=training,
        attempts=tuple(attempts),
        history=tuple(epoch for fold in trained for epoch in fold.history),
        arcs=added_up(arcs) if arcs else None,
        checkpoints=tuple(fold.checkpoint for fold in trained),
        resumed=sum(fold.resumed for fold in trained),
        links=tuple(fold.links for fold in trained if fold.links),
        shown=shown,
    )

"""The second stage of a probing run: baselines are fitted, and probes are trained and scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attentionology.analyses.probing.attachment import Attempt, Task
from attentionology.analyses.probing.inputs import ProbingInputs, Workspace, split_stores, store_treebanks
from attentionology.analyses.probing.methods import BASELINES, RANDOM
from attentionology.analyses.probing.run_options import ProbingOptions
from attentionology.extractors import StoredMaps
from attentionology.probes import (
    ArcWeights,
    AttentionProbe,
    AttentionWordsProbe,
    Checkpoint,
    Decoding,
    Probe,
    SingleHead,
    TrainingError,
    TrainingState,
    added_up,
    arc_weights,
    decode,
    make_probe,
    registered_probes,
)
from attentionology.probes.splits import CorrectWords, Split, controlled
from attentionology.probes.training_cache import cached_checkpoint
from attentionology.reports.progress import progress_bar

Arcs = dict[str, ArcWeights]
"""Weights of the heads by relation."""


@dataclass(frozen=True)
class ProbeTraining:
    """One probe that is trained with one seed, on every split.

    Attributes:
        method: the name of the method in tables.
        probe: the name of the probe.
        splits: what it is trained and tested on.
        seed: the seed of the training.
        run: the number of the run, 1-based.
        task: the heads that it learns: those of the treebank, or those of the control task.
        kept: whether the trained probe and the weights of the heads are results.
    """

    method: str
    probe: str
    splits: tuple[Split, ...]
    seed: int
    run: int
    task: Task = "dependencies"
    kept: bool = False


@dataclass(frozen=True)
class TrainedEpoch:
    """One epoch of one training on one split: a row of the table of all trainings.

    Attributes:
        method: the name of the method in tables.
        task: the heads that the probe learned.
        run: the number of the run, 1-based.
        fold: the number of the split, 1-based.
        epoch: the number of the epoch, 1-based.
        loss: the loss per word, in nats.
        train_uas: the score on the training sentences; None if no word of them counts.
        dev_uas: the score on the dev sentences; None if there are none.
    """

    method: str
    task: Task
    run: int
    fold: int
    epoch: int
    loss: float
    train_uas: float | None
    dev_uas: float | None


@dataclass(frozen=True)
class TrainingOutcome:
    """What one training gave.

    Attributes:
        training: the training.
        attempts: what the probe got right, one for each decoding.
        history: the epochs of all splits.
        arcs: the weights of the heads; None for a probe that has none, or if they are not kept.
        checkpoints: the files that the training would have continued from.
        resumed: how many of them an interrupted run had written.
    """

    training: ProbeTraining
    attempts: tuple[Attempt, ...]
    history: tuple[TrainedEpoch, ...]
    arcs: Arcs | None
    checkpoints: tuple[Path, ...]
    resumed: int


@dataclass(frozen=True)
class TrainedProbes:
    """What all baselines and trainings gave.

    Attributes:
        baselines: what every baseline got right.
        single_heads: the baseline of single heads, split by split.
        outcomes: the trainings, in the order of the table.
        copies: the word maps of the copies with random weights.
    """

    baselines: tuple[Attempt, ...]
    single_heads: tuple[SingleHead, ...]
    outcomes: tuple[TrainingOutcome, ...]
    copies: tuple[StoredMaps, ...] = ()

    @property
    def attempts(self) -> list[Attempt]:
        """What every method got right, in the order of the table."""
        return [*self.baselines, *(attempt for outcome in self.outcomes for attempt in outcome.attempts)]

    @property
    def resumed(self) -> int:
        """How many trainings continued from an interrupted run."""
        return sum(outcome.resumed for outcome in self.outcomes)

    @property
    def checkpoints(self) -> list[Path]:
        """The checkpoints of all trainings, which are of no use once the results are in place."""
        return [path for outcome in self.outcomes for path in outcome.checkpoints]


def train_probes(options: ProbingOptions, inputs: ProbingInputs, workspace: Workspace) -> TrainedProbes:
    """Fit the baselines, and train and score all probes.

    Raises:
        TrainingError: a probe cannot be trained.
    """
    baselines, single_heads = _fit_baselines(inputs, workspace)
    outcomes = [_train(training, options, inputs, workspace) for training in _trainings(options, inputs)]
    maps: list[StoredMaps] = []
    for copy in range(options.probes.copies(has_vectors=inputs.vectors is not None)):
        twin, label = inputs.encoder.random_init(options.seed + copy), f"maps of random weights {copy + 1}"
        stores = store_treebanks(twin, inputs.treebanks, options, workspace, label=label)
        splits = split_stores(options, stores, hold_out=inputs.choice.holds_out)
        trainings = _trainings_of_copy(options, inputs, copy, splits)
        outcomes += [_train(training, options, inputs, workspace) for training in trainings]
        maps += stores.values()
    return TrainedProbes(baselines, single_heads, tuple(outcomes), tuple(maps))


def _fit_baselines(inputs: ProbingInputs, workspace: Workspace) -> tuple[tuple[Attempt, ...], tuple[SingleHead, ...]]:
    attempts, single_heads = [], []
    for name, make in BASELINES.items():
        correct = CorrectWords(inputs.sentences)
        with (
            workspace.stages("baselines"),
            progress_bar(name, len(inputs.splits), unit="folds") as advance,
        ):
            for split in inputs.splits:
                baseline = make().fit(split.train)
                correct.add(split, baseline.predict(split.test))
                if isinstance(baseline, SingleHead):
                    single_heads.append(baseline)
                advance(1)
        attempts.append(Attempt(name, "dependencies", "argmax", 1, correct.words))
    return tuple(attempts), tuple(single_heads)


def _trainings(options: ProbingOptions, inputs: ProbingInputs) -> Iterator[ProbeTraining]:
    """The trainings on the maps of the model: on the heads of the treebank, then on the control task."""
    names = options.probes.chosen(has_vectors=inputs.vectors is not None)
    runs = list(enumerate(options.seeds, start=1))
    for name in names:
        for run, seed in runs:
            yield ProbeTraining(name, name, inputs.splits, seed, run, kept=True)
    if options.probes.control_task():
        senseless = {seed: tuple(controlled(split, seed) for split in inputs.splits) for seed in options.seeds}
        for name in names:
            for run, seed in runs:
                yield ProbeTraining(name, name, senseless[seed], seed, run, task="control")


def _trainings_of_copy(
    options: ProbingOptions, inputs: ProbingInputs, copy: int, splits: tuple[Split, ...]
) -> Iterator[ProbeTraining]:
    """The trainings on the maps of a copy of the model with random weights, of all probes that read attention."""
    for name in options.probes.chosen(has_vectors=inputs.vectors is not None):
        if registered_probes()[name].reads_attention:
            for run, seed in enumerate(options.seeds, start=1 + copy * len(options.seeds)):
                yield ProbeTraining(name + RANDOM, name, splits, seed, run)


def _train(
    training: ProbeTraining, options: ProbingOptions, inputs: ProbingInputs, workspace: Workspace
) -> TrainingOutcome:
    """Train one probe per split with one seed, and score it."""
    trees = options.probes.tree and training.task == "dependencies"
    decodings: tuple[Decoding, ...] = ("argmax", "tree") if trees else ("argmax",)
    correct: dict[Decoding, CorrectWords] = {decoding: CorrectWords(inputs.sentences) for decoding in decodings}
    method, task, seed, splits = training.method, training.task, training.seed, training.splits
    label = f"{method}{' on the control task' if task == 'control' else ''}, seed {seed}"
    history: list[TrainedEpoch] = []
    arcs: list[Arcs] = []
    checkpoints: list[Checkpoint] = []
    for fold, split in enumerate(splits, start=1):
        probe = make_probe(training.probe, inputs.vectors, recipe=inputs.choice.recipe, random_state=seed)
        checkpoint = cached_checkpoint(workspace.cache, probe, split, workspace.cache_log)
        checkpoints.append(checkpoint)
        with workspace.stages(f"train {method}{' (control task)' if task == 'control' else ''}"):
            _fit(probe, split, checkpoint, label + (f", fold {fold}/{len(splits)}" if len(splits) > 1 else ""))
        history += [TrainedEpoch(method, task, training.run, fold, **row) for row in probe.history_]
        with workspace.stages("score"):
            scores = list(probe.scores(split.test))
            for decoding, words in correct.items():
                words.add(split, [decode(of_sentence, decoding) for of_sentence in scores])
            if training.kept and workspace.folder is not None:
                name = f"{training.probe}-seed{seed}" + (f"-fold{fold}" if len(splits) > 1 else "")
                probe.save(workspace.folder / "probes" / name)
            if training.kept and isinstance(probe, AttentionProbe | AttentionWordsProbe):
                arcs.append(arc_weights(probe, split.test))
    return TrainingOutcome(
        training=training,
        attempts=tuple(Attempt(method, task, how, training.run, words.words) for how, words in correct.items()),
        history=tuple(history),
        arcs=added_up(arcs) if arcs else None,
        checkpoints=tuple(checkpoint.path for checkpoint in checkpoints),
        resumed=sum(checkpoint.resumed for checkpoint in checkpoints),
    )


def _fit(probe: Probe, split: Split, checkpoint: Checkpoint, label: str) -> None:
    """Train a probe with a progress bar."""
    shown = 0
    with progress_bar(label, len(split.train) * probe.recipe.epochs, remarks=True) as advance:

        def report(state: TrainingState) -> None:
            nonlocal shown
            done = state.epoch * len(split.train) + state.sentences
            loss, uas = state.loss / max(state.words, 1), state.correct / max(state.counted, 1)
            dev = "" if state.dev_uas is None else f" dev {100 * state.dev_uas:.1f}"
            advance(done - shown, f"loss {loss:.2f} UAS {100 * uas:.1f}{dev}")
            shown = done

        try:
            probe.fit(split.train, split.dev, report=report, checkpoint=checkpoint)
        except TrainingError as error:
            raise TrainingError(f"{label}: {error}") from None


def weights_by_probe(outcomes: Iterable[TrainingOutcome]) -> dict[str, list[Arcs]]:
    """The weights of the heads of every attention probe, run by run."""
    weights: dict[str, list[Arcs]] = {}
    for outcome in outcomes:
        if outcome.arcs is not None:
            weights.setdefault(outcome.training.probe, []).append(outcome.arcs)
    return weights

"""One training of one probe on one split: the smallest piece of work of a probing run, and what it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from numpy import ndarray

from ...corpora_loaders import WordVectors
from ...probes import (
    ArcWeights,
    AttentionProbe,
    AttentionWordsProbe,
    Checkpoint,
    Decoding,
    Probe,
    Recipe,
    TrainingError,
    TrainingState,
    arc_weights,
    decode,
    make_probe,
)
from ...probes.saved_probe import cached_checkpoint
from ...probes.splits import Split
from ...reports.progress import Stages, progress_bar
from ...storage.cache_log import CacheLog
from .attachment import Task

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

    @property
    def label(self) -> str:
        """What progress bars and errors call the training."""
        return f"{self.method}{' on the control task' if self.task == 'control' else ''}, seed {self.seed}"

    @property
    def stage(self) -> str:
        """The name of the stage whose time the training takes."""
        return f"train {self.method}{' (control task)' if self.task == 'control' else ''}"


@dataclass(frozen=True)
class FoldSetting:
    """What all trainings of a run have in common.

    Attributes:
        vectors: the word vectors, if there are any.
        recipe: the recipe of all trainings.
        trees: whether trees are decoded, too, except on the control task.
        cache: the folder of the checkpoints.
        folder: the results folder, in which trained probes are saved; None to save none.
    """

    vectors: WordVectors | None
    recipe: Recipe
    trees: bool
    cache: Path
    folder: Path | None

    def decodings(self, training: ProbeTraining) -> tuple[Decoding, ...]:
        """The ways in which the heads of a training are decoded."""
        return ("argmax", "tree") if self.trees and training.task == "dependencies" else ("argmax",)


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
class TrainedFold:
    """What one training on one split gave.

    Attributes:
        predicted: the heads of the words of each tested sentence, by decoding.
        history: the epochs.
        arcs: the weights of the heads; None for a probe that has none, or if they are not kept.
        checkpoint: the file that the training would have continued from.
        resumed: whether an interrupted run had written it.
        cache_log: what happened to that file.
        seconds: the seconds that each stage took.
    """

    predicted: Mapping[Decoding, Sequence[ndarray]]
    history: tuple[TrainedEpoch, ...]
    arcs: Arcs | None
    checkpoint: Path
    resumed: bool
    cache_log: CacheLog
    seconds: Mapping[str, float]


def train_fold(setting: FoldSetting, training: ProbeTraining, fold: int, *, watched: bool = True) -> TrainedFold:
    """Train one probe on one split, score it, and save it if it is a result."""
    split, several, stages, cache_log = training.splits[fold], len(training.splits) > 1, Stages(), CacheLog()
    probe = make_probe(training.probe, setting.vectors, recipe=setting.recipe, random_state=training.seed)
    checkpoint = cached_checkpoint(setting.cache, probe, split, cache_log)
    with stages(training.stage):
        label = training.label + (f", fold {fold + 1}/{len(training.splits)}" if several else "")
        _fit(probe, split, checkpoint, label, watched=watched)
    arcs: Arcs | None = None
    with stages("score"):
        scores = list(probe.scores(split.test))
        predicted: dict[Decoding, Sequence[ndarray]] = {
            decoding: [decode(of_sentence, decoding) for of_sentence in scores]
            for decoding in setting.decodings(training)
        }
        if training.kept and setting.folder is not None:
            name = f"{training.probe}-seed{training.seed}" + (f"-fold{fold + 1}" if several else "")
            probe.save(setting.folder / "probes" / name)
        if training.kept and isinstance(probe, AttentionProbe | AttentionWordsProbe):
            arcs = arc_weights(probe, split.test)
    return TrainedFold(
        predicted=predicted,
        history=tuple(
            TrainedEpoch(training.method, training.task, training.run, fold + 1, **row) for row in probe.history_
        ),
        arcs=arcs,
        checkpoint=checkpoint.path,
        resumed=checkpoint.resumed,
        cache_log=cache_log,
        seconds=stages.seconds,
    )


def _fit(probe: Probe, split: Split, checkpoint: Checkpoint, label: str, *, watched: bool) -> None:
    """Train a probe with a progress bar."""
    shown, steps = 0, len(split.train) * probe.recipe.epochs
    bar = progress_bar(label, steps, remarks=True) if watched else nullcontext(lambda done, remark="": None)
    with bar as advance:

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

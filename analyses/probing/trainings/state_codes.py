"""The online codes of what probes of hidden states learn. One training of a code, which codes one block, is a job."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....extractors import StoredStates
from ....probes import Checkpoint, CodedBlock, Codelength, make_state_probe
from ....probes.states.codelength import code_block, ends_of_blocks, floor_of, in_order, shuffled_order
from ....reports.progress import Stages
from ....storage.cache_log import CacheLog
from ....storage.plugins import name_extension
from ..rows import MIX
from .folds import results_in_order
from .inputs import Workspace
from .state_folds import StateSetting, StateTraining, fit_probe, task_of, training_key


@dataclass(frozen=True)
class TrainedBlock:
    """What one block costs, by a probe that was trained on those before it."""

    block: CodedBlock
    checkpoint: Path | None  # None for the first block, which needs no training
    resumed: bool
    cache_log: CacheLog
    seconds: dict[str, float]


@dataclass(frozen=True)
class CodeOutcome:
    """The code of what one probe learns from one layer with one seed."""

    training: StateTraining
    code: Codelength
    checkpoints: tuple[Path, ...]
    resumed: int

    def described(self) -> dict[str, Any]:
        """Return the code as plain data."""
        training = self.training
        return {
            **{name: getattr(training, name) for name in ("probe", "layer", "source", "task", "run")},
            "floor": None if math.isnan(self.code.floor) else self.code.floor,
            "blocks": [block._asdict() for block in self.code.blocks],
        }


def train_codes(
    setting: StateSetting, trainings: Sequence[StateTraining], workers: int, workspace: Workspace
) -> Iterator[CodeOutcome]:
    """Compute the codes of the training sentences of the first split of each training, in one or several processes."""
    ends = [ends_of_blocks(len(training.splits[0].train)) for training in trainings]
    jobs = [(index, block) for index, of_code in enumerate(ends) for block in range(len(of_code))]
    train = functools.partial(train_block, setting)
    results = results_in_order(train, trainings, jobs, workers, "train for codelengths", __name__)
    for training, of_code in zip(trainings, ends, strict=True):
        trained = [next(results) for _ in of_code]
        for block in trained:
            workspace.cache_log.add(block.cache_log)
            workspace.stages.add(block.seconds)
        probe, split = make_state_probe(training.probe, **setting.arguments), training.splits[0]
        known = list(map(task_of(probe, training, split), split.train.sentences))
        yield CodeOutcome(
            training=training,
            code=Codelength(tuple(each.block for each in trained), floor_of(probe, known)),
            checkpoints=tuple(each.checkpoint for each in trained if each.checkpoint is not None),
            resumed=sum(each.resumed for each in trained),
        )


def train_block(setting: StateSetting, training: StateTraining, number: int, *, watched: bool) -> TrainedBlock:
    """Train a probe on all blocks before one, given by its number from 0, and code that block."""
    split, stages, cache_log = training.splits[0], Stages(), CacheLog()
    probe = make_state_probe(training.probe, **setting.arguments, random_state=training.seed)
    gold = task_of(probe, training, split)
    train, dev = training.states_of(split.train, split.dev)
    known = list(map(gold, train.sentences))
    order, ends = shuffled_order(len(train), training.seed), ends_of_blocks(len(train))
    start, stop = (0, *ends)[number], ends[number]
    coded = order[start:stop]
    checkpoint, predicted = None, None
    if start:
        probe.recipe = in_order(probe)
        # The key names all training sentences in their order, of which the seed makes that of the code.
        key = f"{training_key(probe, training, split)}-code{number}"
        checkpoint = Checkpoint(setting.cache / "training" / f"{key}.safetensors", cache_log=cache_log)
        maps: tuple[Any, Any, Any] = ((), (), ())
        if probe.reads_maps:
            of_train = split.maps.train
            maps = (of_train.subset(order[:start]), split.maps.dev or (), of_train.subset(coded))
        label = f"codelength of {training.label}, block {number + 1}/{len(ends)}"
        states: tuple[StoredStates, StoredStates] = (train.subset(order[:start]), dev)
        with (
            stages(f"codelength of {training.probe}"),
            name_extension("probe", probe.name, "fit()", type(probe).__module__),
        ):
            fit_probe(
                probe, states, maps[:2], gold, checkpoint, label, watched=watched, mix=training.layer == MIX,
                prepared_from=known,
            )  # fmt: skip
            predicted = probe.predict(train.subset(coded), maps[2])
    else:
        probe.prepare(known)
    return TrainedBlock(
        block=code_block(probe, start, stop, [known[n] for n in coded], predicted),
        checkpoint=None if checkpoint is None else checkpoint.path,
        resumed=checkpoint is not None and checkpoint.resumed,
        cache_log=cache_log,
        seconds=stages.seconds,
    )

"""One training of one probe of hidden states on one split, in this process or in another one.

A training is the smallest piece of work: it has a checkpoint of its own, computes with one thread, and depends on
nothing but its states, its seed and its recipe, so that the results do not depend on the number of processes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from ....corpora_loaders import Sentence
from ....extractors import MapBatch, StoredStates
from ....probes import Checkpoint, Decoding, LayerMix, StateProbe, TrainingError, decode, make_state_probe
from ....probes.probed_sentence import annotate
from ....probes.splits import Split
from ....probes.states.annotation import kept_words, tree_distances
from ....probes.states.tree_scores import tree_edges
from ....reports.progress import Stages, progress_bar
from ....storage.cache_log import CacheLog
from ....storage.plugins import name_extension
from ..rows import MIX, layer_name

MODEL, RANDOM_WEIGHTS, DECAY = "model", "random weights", "decayed layer 0"
"""What states are read from: the model, its copies, or layer 0 as `attentionology.probes.decayed` mixes it."""

GOLD, BEHAVIORS = "gold", "behaviors"
"""The task itself, and the control task that probes of attention have, too."""


@dataclass(frozen=True)
class StateSplit:
    """Stored states to train on, to stop by and to test on, with the maps of the same sentences."""

    train: StoredStates
    dev: StoredStates
    test: StoredStates
    maps: Split


@dataclass(frozen=True)
class StateTraining:
    """One probe that is trained on one layer with one seed, on every split."""

    probe: str
    layer: int  # or `MIX`
    source: str
    task: str
    seed: int
    run: int  # 1-based
    splits: tuple[StateSplit, ...]

    @property
    def label(self) -> str:
        """What progress bars and errors call the training."""
        source = "" if self.source == MODEL else f", {self.source}"
        task = "" if self.task == GOLD else f", control task ({self.task})"
        return f"{self.probe} of {layer_name(self.layer)}{source}{task}, seed {self.seed}"

    def states_of(self, *stores: StoredStates) -> list[StoredStates]:
        """Return the states that are read, of the layer or of all layers that are mixed."""
        return [store if self.layer == MIX else store.layer(self.layer) for store in stores]


@dataclass(frozen=True)
class StateEpoch:
    """One epoch of one training on one split: a row of the table of all trainings, whose columns say more."""

    probe: str
    layer: int
    source: str
    task: str
    run: int
    fold: int
    epoch: int
    loss: float
    dev_loss: float | None
    rate: float
    dev_score: float | None = None


@dataclass(frozen=True)
class FoldMix:
    """What one training on one split has learned of the layers that it mixes, see `LayerMix`."""

    run: int
    fold: int
    gamma: float
    layers: tuple[int, ...]
    s: tuple[float, ...]
    norms: tuple[float, ...]

    @classmethod
    def of(cls, run: int, fold: int, mix: LayerMix) -> FoldMix:
        """Return what a mix has learned."""
        return cls(run, fold, float(mix.gamma.detach()), mix.layers, tuple(mix.s.tolist()), tuple(mix.norms.tolist()))


@dataclass(frozen=True)
class StateSetting:
    """What all trainings of a run have in common."""

    arguments: Mapping[str, Any]  # of the constructors of probes
    trees: bool
    example: int  # the number of the tested sentence that is shown
    cache: Path
    folder: Path | None


@dataclass(frozen=True)
class TrainedSplit:
    """What one training gave on one split."""

    fractions: Float[ndarray, "sentences scores 2"]
    edges: Sequence[Bool[ndarray, " edges"]] | None  # see `find_edges`; None on a control task, too
    example: ndarray | None  # the distances in the sentence that is shown, if any are predicted and it is tested here
    dev: tuple[float, float]  # the fraction of the first score on the dev sentences
    heads: Mapping[Decoding, Sequence[ndarray]]  # of the tested sentences, if the probe finds heads
    history: tuple[StateEpoch, ...]
    checkpoint: Path
    resumed: bool
    parameters: int
    mix: FoldMix | None  # None for a probe of one layer
    cache_log: CacheLog
    seconds: Mapping[str, float]


def train_split(setting: StateSetting, training: StateTraining, fold: int, *, watched: bool) -> TrainedSplit:
    """Train one probe on one split, and score it."""
    split = training.splits[fold]
    stages, cache_log = Stages(), CacheLog()
    probe = make_state_probe(training.probe, **setting.arguments, random_state=training.seed)
    gold = task_of(probe, training, split)
    train, dev, test = training.states_of(split.train, split.dev, split.test)
    of_split = (split.maps.train, split.maps.dev or (), split.maps.test)
    maps: tuple[Sequence[MapBatch], ...] = of_split if probe.reads_maps else ((), (), ())
    label = training.label + (f", fold {fold + 1}/{len(training.splits)}" if len(training.splits) > 1 else "")
    key = training_key(probe, training, split)
    checkpoint = Checkpoint(setting.cache / "training" / f"{key}.safetensors", cache_log=cache_log)
    with stages(f"train {training.probe}"), name_extension("probe", probe.name, "fit()", type(probe).__module__):
        mix = training.layer == MIX
        fit_probe(probe, (train, dev), maps[:2], gold, checkpoint, label, watched=watched, mix=mix)
    with stages("score"), name_extension("probe", probe.name, "predict()", type(probe).__module__):
        predicted = probe.predict(test, maps[2])
        rows = [
            fractions_of(probe, of_sentence, gold(sentence), sentence)
            for of_sentence, sentence in zip(predicted, test.sentences, strict=True)
        ]
        on_dev = [outcome[probe.metrics[0].name] for outcome in probe.outcomes(dev, maps[1], gold)]
    if setting.folder is not None and (training.source, training.task) == (MODEL, GOLD):
        place = "mix" if training.layer == MIX else f"layer{training.layer}"
        name = f"{training.probe.replace(':', '-')}-{place}-seed{training.seed}"
        # A process that died after it had saved this probe may not have said so, and then it is trained again.
        of_fold = f"-fold{fold + 1}" if len(training.splits) > 1 else ""
        probe.save(setting.folder / "probes" / (name + of_fold), overwrite=True)
    decodings: tuple[Decoding, ...] = ("argmax", "tree") if setting.trees and training.task == GOLD else ("argmax",)
    return TrainedSplit(
        fractions=np.array(rows),
        example=_example(probe, setting, training, split, predicted),
        edges=find_edges(probe, predicted, test.sentences) if training.task == GOLD else None,
        dev=(sum(part.found for part in on_dev), sum(part.of for part in on_dev)),
        heads={each: [decode(of, each) for of in predicted] for each in decodings} if probe.finds_heads else {},
        history=tuple(
            StateEpoch(training.probe, training.layer, training.source, training.task, training.run, fold + 1, **row)
            for row in probe.history_
        ),
        checkpoint=checkpoint.path,
        resumed=checkpoint.resumed,
        parameters=probe.n_parameters,
        mix=FoldMix.of(training.run, fold + 1, probe.mix_) if probe.mix_ is not None else None,
        cache_log=cache_log,
        seconds=stages.seconds,
    )


def task_of(probe: StateProbe, training: StateTraining, split: StateSplit) -> Callable[[Sentence], Any]:
    """Return what is learned: what the annotation says, or a control task."""
    if training.task == GOLD:
        return probe.gold
    return probe.control(split.train.sentences, training.seed, training.task)


def fit_probe(
    probe: StateProbe,
    states: tuple[StoredStates, StoredStates],
    maps: Sequence[Any],
    gold: Callable[[Sentence], Any],
    checkpoint: Checkpoint,
    label: str,
    *,
    watched: bool,
    mix: bool,
    prepared_from: Sequence[Any] = (),
) -> None:
    """Train a probe, with a progress bar if it is watched."""
    recipe = probe.recipe or probe.usual

    def fit(report: Callable[[Any], object]) -> None:
        try:
            probe.fit(
                *states, mix=mix, maps=maps[0], dev_maps=maps[1], gold=gold, prepared_from=prepared_from, report=report,
                checkpoint=checkpoint,
            )  # fmt: skip
        except TrainingError as error:
            raise TrainingError(f"{label}: {error}") from None

    if not watched:
        fit(lambda _: None)
        return
    with progress_bar(label, recipe.epochs, remarks=True, unit="epochs") as advance:
        fit(lambda state: advance(1, f"loss {state.loss:.2f}"))


def fractions_of(probe: StateProbe, predicted: ndarray, gold: Any, sentence: Sentence) -> list[tuple[float, float]]:
    """Return what a sentence adds to each score of a probe."""
    outcome = probe.outcome(predicted, gold, sentence)
    return [(outcome[score.name].found, outcome[score.name].of) for score in probe.metrics]


def _example(
    probe: StateProbe, setting: StateSetting, training: StateTraining, split: StateSplit, predicted: Sequence[ndarray]
) -> ndarray | None:
    """Return the distances that the first run on the states of the model predicts in the sentence that is shown."""
    shown = (training.source, training.task, training.run) == (MODEL, GOLD, 1)
    places = [number for number, tested in enumerate(split.maps.tested) if tested == setting.example]
    if not shown or not places:
        return None
    sentence, of_sentence = split.test.sentences[places[0]], predicted[places[0]]
    is_of_pairs = of_sentence.shape == (len(sentence), len(sentence))
    return of_sentence if is_of_pairs and probe.edges(of_sentence, sentence) is not None else None


def find_edges(
    probe: StateProbe, predicted: Sequence[ndarray], sentences: Sequence[Sentence]
) -> list[Bool[ndarray, " edges"]] | None:
    """Return which edges of the tree of each sentence, in their order, a probe finds; None if it predicts no edges."""
    found = []
    for of_sentence, sentence in zip(predicted, sentences, strict=True):
        edges = probe.edges(of_sentence, sentence)
        if edges is None:
            return None
        known = tree_edges(tree_distances(annotate(sentence).heads), kept_words(sentence))
        found.append(np.array([edge in edges for edge in sorted(known)], dtype=bool))
    return found


def training_key(probe: StateProbe, training: StateTraining, split: StateSplit) -> str:
    """Return a digest of all that the weights of a trained probe depend on; the tested sentences are no part of it."""
    depends_on: dict[str, Any] = {
        "format": 1,
        "probe": probe.full_name,
        "arguments": probe.arguments(),
        "recipe": vars(probe.recipe or probe.usual),
        "seed": training.seed,
        "task": training.task,
    }
    for role, store in (("train", split.train), ("dev", split.dev)):
        words = hashlib.sha256()
        for sentence in store.sentences:
            words.update(json.dumps([sentence.words, list(probe.gold(sentence)), sentence.relations]).encode())
        folders = [of.folders[layer].name for of in training.states_of(store) for layer in of.layers]
        depends_on[role] = *folders, words.hexdigest()
    if training.source == DECAY:
        depends_on["changed"] = DECAY
    if probe.reads_maps:
        depends_on["maps"] = [maps.folder.name for maps in (split.maps.train, split.maps.dev) if maps is not None]
    return hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:24]

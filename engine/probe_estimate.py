"""What ``probe --dry-run`` prints: how many probes are trained, and the disk space and the time that they need."""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..analyses.probing.options import Role
from ..analyses.probing.run_options import ProbingOptions
from ..analyses.probing.trainings.inputs import LoadedInputs, Workspace, choose_splits, load_inputs, store_treebanks
from ..analyses.probing.trainings.state_folds import DECAY, GOLD, MODEL, RANDOM_WEIGHTS
from ..analyses.probing.trainings.state_training import arguments_of
from ..analyses.shared.input_options import paths_read
from ..corpora_loaders.describing import amount
from ..extractors import DEFAULT_BATCH_CELLS, ExtractionError, store_states
from ..probes import make_probe, make_state_probe, registered_probes
from ..probes.states.codelength import ends_of_blocks
from ..reports.progress import Stages
from ..reports.run_folder import RunFolder
from ..storage.durable import free_space, size
from ..storage.paths import check_kept_folder

if TYPE_CHECKING:
    from ..corpora_loaders import Sentence, Treebank, WordVectors
    from ..extractors import Encoder, StoredMaps, StoredStates
    from ..probes import StateRecipe
    from ..probes.recipe import RecipeChoice
    from ..probes.splits import Split

SAMPLED = 48
"""The number of sentences that the model reads and on which each probe is trained."""

_EPOCHS = 3
"""The number of epochs that are measured, after one that is not."""


@dataclass(frozen=True)
class _Sentences:
    """Sentences that are cut into splits as their word maps will be."""

    sentences: tuple[Sentence, ...]

    def __len__(self) -> int:
        return len(self.sentences)

    def subset(self, indices: Sequence[int]) -> _Sentences:
        """Return some of the sentences, given by their 0-based indices."""
        return _Sentences(tuple(self.sentences[index] for index in indices))


@dataclass(frozen=True)
class TrainingsEstimate:
    """Trainings of one probe that take equally long."""

    probe: str
    source: str  # the model, or random weights
    task: str  # "gold", or the name of a control task
    of_code: bool  # whether they are those of the codelength
    trainings: int
    seconds: float  # of all together at most, in one process


@dataclass(frozen=True)
class ProbingEstimate:
    """What a probing run would train, and the bytes and seconds that it would need."""

    sentences: Mapping[Role, int]
    words: Mapping[Role, int]
    folds: int
    seeds: int
    layers: tuple[int, ...]  # whose states are probed one by one
    mixed: bool  # whether a mix of all layers is probed
    trainings: tuple[TrainingsEstimate, ...]
    workers: int
    maps: int  # bytes of the word maps of all networks
    states: int  # bytes of the hidden states of all networks
    cache: str  # the folder of both
    cached: int  # bytes that are in it
    free: int  # bytes on its disk
    reading: float  # seconds that all networks need to make maps and states

    @property
    def seconds(self) -> float:
        """The time of all trainings, at most."""
        return sum(each.seconds for each in self.trainings) / self.workers

    def lines(self) -> Iterator[str]:
        """Yield the estimate as lines of text."""
        for role, sentences in self.sentences.items():
            yield f"Treebank ({role}): {amount(sentences, 'sentences')}, {amount(self.words[role], 'words')}"
        runs = f"{amount(self.seeds, 'seeds')} and {amount(self.folds, 'folds')}"
        read = [f"each of {amount(len(self.layers), 'layers')}"] if self.layers else []
        read += ["a mix of all layers"] if self.mixed else []
        layers = f", and on {' and on '.join(read)} if it reads hidden states" if read else ""
        yield f"Every probe is trained with {runs}{layers}."
        for each in self.trainings:
            purpose = "codelength of " if each.of_code else ""
            task = "" if each.task == GOLD else f", control task ({each.task})"
            source = "" if each.source == MODEL else f", {each.source}"
            number = amount(each.trainings, "trainings")
            yield f"Trainings of {purpose}{each.probe}{source}{task}: {number}, at most {duration(each.seconds)}"
        together, processes = sum(each.trainings for each in self.trainings), "processes"
        yield f"Trainings together: {together:,}, in {amount(self.workers, processes, 'process')}"
        needed = [
            f"{size(self.maps)} of word maps",
            *([f"{size(self.states)} of hidden states"] if self.states else []),
        ]
        cached = f", which has {size(self.cached)}" if self.cached else ""
        yield f"Disk: about {' and '.join(needed)} in {self.cache}{cached}; {size(self.free)} are free"
        making, training = duration(self.reading), duration(self.seconds)
        yield f"Time: about {making} to make them, and at most {training} to train and score"
        yield (
            f"The time is an estimate from {SAMPLED} sentences and a few epochs of each probe on this machine, as busy "
            "as it is. Trainings that the dev sentences end early take less, and what the cache has is not made again."
        )
        yield "Nothing was stored or written."

    def check_space(self) -> None:
        """Raise `ExtractionError` if the disk is too small, even if all that the cache has is used."""
        if self.maps + self.states > self.free + self.cached:
            raise ExtractionError(
                f"the word maps and hidden states need {size(self.maps + self.states)}, and {size(self.free)} are free "
                f"in {self.cache}; choose another --cache, fewer --layers, or --cache-type float16"
            )


def duration(seconds: float) -> str:
    """Return a time in a readable form."""
    if seconds < 60:
        return amount(max(1, round(seconds)), "seconds")
    if seconds < 5400:
        return amount(round(seconds / 60), "minutes")
    return f"{seconds / 3600:,.1f} hours"


def estimate_probing(
    options: ProbingOptions, loaded: LoadedInputs | None = None, *, out: Path, overwrite: bool = False
) -> ProbingEstimate:
    """Check everything that a run checks before it stores anything, and estimate what it needs."""
    loaded = loaded or LoadedInputs()
    options.check(list(loaded.treebanks), has_vectors=loaded.vectors is not None)
    chosen = options.treebanks
    files = (chosen.train, chosen.dev, chosen.test, options.probes.vectors)
    reads, cache = paths_read(options.model.model, *files), options.store.cache or out.parent / "cache"
    RunFolder(out, overwrite=overwrite, reads=reads)  # checks it
    check_kept_folder(cache, reads=reads, out=out)
    treebanks, vectors, encoder = load_inputs(options, loaded, Stages())
    names = options.probes.of_states()
    layers = options.states.chosen(encoder.n_layers) if names else ()
    stored = options.states.stored(encoder.n_layers, decays=options.probes.decays()) if names else ()
    read = {role: _Sentences(tuple(treebank.sentences)) for role, treebank in treebanks.items()}
    choice, splits, _ = choose_splits(options, cast("Mapping[Role, StoredMaps]", read))
    of_maps = options.probes.chosen(has_vectors=vectors is not None)
    trained_on = treebanks["train" if "train" in treebanks else "test"]
    sampled = trained_on[:: max(1, len(trained_on) // SAMPLED)][:SAMPLED]
    with tempfile.TemporaryDirectory() as scratch:
        sample = _Sample(options, vectors, choice, Workspace(Path(scratch)))
        sample.read(encoder, trained_on[:2], stored)  # what is done once takes no part in the measurement
        of_map, of_state = sample.read(encoder, sampled, stored)
        trainings = (*sample.of_maps(of_maps, splits), *sample.of_states(names, layers, splits))
        shape, special = sample.maps.shape, sample.maps[0].maps.shape[-1] - len(sample.maps.sentences[0])
    itemsize = 2 if options.store.cache_type == "float16" else 4
    sentences = [sentence for each in read.values() for sentence in each.sentences]
    cells = sum((len(sentence) + special) ** 2 for sentence in sentences)
    words = sum(map(len, sentences))
    networks = 1 + options.probes.copies(has_vectors=vectors is not None)
    if any(make_state_probe(name).reads_maps for name in names):
        networks += options.probes.copies_asked()  # which have random weights in other places
    state_networks = 1 + options.probes.copies_asked() if names else 0
    times = words / sum(map(len, sampled.sentences))
    return ProbingEstimate(
        sentences={role: len(each) for role, each in read.items()},
        words={role: sum(map(len, each.sentences)) for role, each in read.items()},
        folds=len(splits),
        seeds=len(options.seeds),
        layers=layers,
        mixed=bool(names) and options.states.mixed,
        trainings=tuple(each for each in trainings if each.trainings),
        workers=options.training.workers,
        maps=networks * cells * shape[0] * shape[1] * itemsize,
        states=state_networks * words * encoder.width * len(stored) * itemsize,
        cache=str(cache),
        cached=sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()) if cache.is_dir() else 0,
        free=free_space(cache),
        reading=times * (networks * of_map + state_networks * of_state),
    )


@dataclass
class _Sample:
    """Some sentences that the model has read, on which probes are trained for a few epochs."""

    options: ProbingOptions
    vectors: WordVectors | None
    choice: RecipeChoice
    workspace: Workspace

    def read(self, encoder: Encoder, treebank: Treebank, layers: Sequence[int]) -> tuple[float, float]:
        """Let the model read sentences, and return how many seconds it needs for the maps and for the states."""
        store = self.options.store
        started = time.perf_counter()
        given: Mapping[Role, Treebank] = {"test": treebank}
        self.maps = store_treebanks(encoder, given, self.options, self.workspace, label="maps of a sample")["test"]
        between = time.perf_counter()
        if layers:
            self.states = store_states(
                encoder, self.maps.sentences, self.workspace.cache, layers=layers, pooling=self.options.states.pooling,
                dtype=store.cache_type, batch_cells=store.batch_cells or DEFAULT_BATCH_CELLS, progress=False,
            )  # fmt: skip
        return between - started, time.perf_counter() - between

    def of_maps(self, names: Sequence[str], splits: Sequence[Split]) -> Iterator[TrainingsEstimate]:
        """Yield the trainings of probes of maps."""
        options, recipe = self.options, self.choice.recipe
        for name in names:
            fit = functools.partial(self._fit_to_maps, name)
            seconds = self._seconds(fit, recipe.epochs, splits)
            runs = len(options.seeds) * len(splits)
            copies = options.probes.copies_asked() if registered_probes()[name].reads_attention else 0
            numbers = ((MODEL, GOLD, 1), (MODEL, "control", int(options.probes.control_task())))
            for source, task, times in (*numbers, (RANDOM_WEIGHTS, GOLD, copies)):
                yield TrainingsEstimate(name, source, task, False, times * runs, times * len(options.seeds) * seconds)

    def of_states(
        self, names: Sequence[str], layers: Sequence[int], splits: Sequence[Split]
    ) -> Iterator[TrainingsEstimate]:
        """Yield the trainings of probes of hidden states, and those of their codelengths."""
        options, seeds = self.options, len(self.options.seeds)
        for name in names:
            usual = make_state_probe(name).usual
            # How many layers there are, or mixes, and how long a training on all splits takes.
            places: list[tuple[int, float]] = []
            read = [(len(layers), self.states.layer(layers[0]))] if layers else []
            for number, states in [*read, *([(1, self.states)] if options.states.mixed else [])]:
                fit = functools.partial(self._fit_to_states, name, usual, states)
                places.append((number, self._seconds(fit, usual.epochs, splits)))
            everywhere, seconds = sum(of for of, _ in places), sum(of * time for of, time in places)
            first, *others = make_state_probe(name).controls
            controls = options.probes.control_task()
            copies = options.probes.copies_asked()
            at_chosen = (1, max(time for _, time in places))
            sources = [(MODEL, GOLD, everywhere, seconds)]
            if controls:
                sources += [(MODEL, first, everywhere, seconds), *((MODEL, other, *at_chosen) for other in others)]
            sources += [(RANDOM_WEIGHTS, GOLD, everywhere * copies, seconds * copies)]
            if options.probes.decays() and not make_state_probe(name).reads_maps:
                sources += [(DECAY, GOLD, *at_chosen)]
            for source, task, times, together in sources:
                yield TrainingsEstimate(name, source, task, False, times * seeds * len(splits), seeds * together)
            if not (options.states.codelength and make_state_probe(name).softmax):
                continue
            ends = ends_of_blocks(len(splits[0].train))
            # Each block is coded by a probe that was trained on all before it.
            share = sum(ends[:-1]) / sum(len(split.train) for split in splits)
            for source, task, times, together in sources:
                if task in (GOLD, first) and source != DECAY:
                    number = times * seeds * (len(ends) - 1)
                    yield TrainingsEstimate(name, source, task, True, number, seeds * together * share)

    def _fit_to_maps(self, name: str, epochs: int) -> Callable[[], object]:
        """Train a probe of maps, and return what scores the sentences."""
        recipe = replace(self.choice.recipe, epochs=epochs, patience=None)
        probe = make_probe(name, self.vectors, recipe=recipe, random_state=self.options.seed).fit(self.maps)
        return lambda: list(probe.scores(self.maps))

    def _fit_to_states(self, name: str, usual: StateRecipe, states: StoredStates, epochs: int) -> Callable[[], object]:
        """Train a probe of hidden states, and return what scores the sentences."""
        recipe = replace(usual, epochs=epochs)
        seed = self.options.seed
        probe = make_state_probe(name, **arguments_of(self.options), recipe=recipe, random_state=seed)
        maps = self.maps if probe.reads_maps else ()
        probe.fit(states, mix=len(states.layers) > 1, maps=maps)
        return lambda: probe.outcomes(states, maps)

    def _seconds(self, fit: Callable[[int], Callable[[], object]], epochs: int, splits: Sequence[Split]) -> float:
        """Return how many seconds a training on all splits takes at most, scoring included."""
        fit(1)  # what is done once takes no part in the measurement
        started = time.perf_counter()
        score = fit(_EPOCHS)
        between = time.perf_counter()
        score()
        of_epoch, of_scoring = (between - started) / _EPOCHS, time.perf_counter() - between
        sampled = sum(map(len, self.maps.sentences))
        trained = sum(len(sentence) for split in splits for sentence in split.train.sentences) / sampled
        tested = sum(len(sentence) for split in splits for sentence in split.test.sentences) / sampled
        return epochs * trained * of_epoch + tested * of_scoring

"""The first stage of a probing run: treebanks, word vectors, the model, its word maps, and the splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ....corpora_loaders import CorpusError, Sentence, Treebank, WordVectors, load_treebank, load_vectors
from ....extractors import DEFAULT_BATCH_CELLS, Encoder, StoredMaps, store_maps
from ....probes import make_state_probe, scored
from ....probes.recipe import RecipeChoice, choose_recipe
from ....probes.splits import Split, make_splits
from ....reports.progress import Stages, progress_bar
from ....storage.cache_log import CacheLog
from ...contract import OptionError
from ...shared.options import map_makers
from ..options import OF_FILES, ROLES, Role, TreebankOptions
from ..run_options import ProbingOptions


@dataclass(frozen=True)
class Workspace:
    """The folders of a probing run, and the records of its stages and of its cache."""

    cache: Path  # of word maps and checkpoints
    folder: Path | None = None  # the results, with the trained probes; None to save none
    stages: Stages = field(default_factory=Stages)
    cache_log: CacheLog = field(default_factory=CacheLog)


@dataclass(frozen=True)
class LoadedInputs:
    """What was loaded before the run; everything else is read from files."""

    encoder: Encoder | None = None
    treebanks: Mapping[Role, Treebank] = field(default_factory=dict)
    vectors: WordVectors | None = None


@dataclass(frozen=True)
class ProbingInputs:
    """What probes are trained and tested on."""

    treebanks: Mapping[Role, Treebank]
    vectors: WordVectors | None
    encoder: Encoder
    stores: Mapping[Role, StoredMaps]  # the word maps of each treebank
    choice: RecipeChoice  # the recipe of all trainings, also on the control task and on random weights
    splits: tuple[Split, ...]
    holds_out: bool  # whether dev sentences are held out

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The tested sentences."""
        return self.stores["test"].sentences


def read_inputs(options: ProbingOptions, loaded: LoadedInputs, workspace: Workspace) -> ProbingInputs:
    """Read everything that probes are trained and tested on; the model makes its word maps."""
    treebanks, vectors, encoder = load_inputs(options, loaded, workspace.stages)
    stores = store_treebanks(encoder, treebanks, options, workspace, label="maps")
    return ProbingInputs(treebanks, vectors, encoder, stores, *choose_splits(options, stores))


def load_inputs(
    options: ProbingOptions, loaded: LoadedInputs, stages: Stages
) -> tuple[dict[Role, Treebank], WordVectors | None, Encoder]:
    """Read the treebanks and the word vectors, and load the model."""
    with stages("read the treebanks"):
        treebanks = _read_treebanks(options, loaded)
        vectors = loaded.vectors if loaded.vectors is not None else _read_vectors(options, treebanks)
    with stages("load the model"):
        maps = options.maps
        map_makers([maps.map], maps.merge, maps.normalize)  # an unknown kind is an error before the model is loaded
        encoder = loaded.encoder or options.model.load()
        _check_states(options, encoder, treebanks)
    return treebanks, vectors, encoder


def choose_splits(
    options: ProbingOptions, stores: Mapping[Role, StoredMaps]
) -> tuple[RecipeChoice, tuple[Split, ...], bool]:
    """Choose the recipe, and return it with the splits and whether dev sentences are held out."""
    training = options.training
    choice = choose_recipe(
        training.recipe,
        {name: getattr(training, name) for name in ("epochs", "learning_rate", "weight_decay")},
        lambda hold_out: _cut(options, stores, hold_out=hold_out),
    )
    # Probes of states are stopped by dev sentences, and those of maps are trained on the same sentences.
    holds_out = choice.holds_out or bool(options.probes.of_states())
    return choice, split_stores(options, stores, hold_out=holds_out), holds_out


def store_treebanks(
    encoder: Encoder, treebanks: Mapping[Role, Treebank], options: ProbingOptions, workspace: Workspace, *, label: str
) -> dict[Role, StoredMaps]:
    """Return the word maps of all treebanks, which the model makes unless they are in the cache."""
    maps, store = options.maps, options.store
    stores = dict[Role, StoredMaps]()
    for role, treebank in treebanks.items():
        with workspace.stages(f"{label}: {role}"), progress_bar(f"{label}: {role}", len(treebank)) as advance:
            stores[role] = store_maps(
                encoder,
                treebank.sentences,
                workspace.cache,
                maps.map,
                merge=maps.merge,
                normalize=maps.normalize,
                ff_bias=options.feed_forward.ff_bias,
                dtype=store.cache_type,
                batch_cells=store.batch_cells or DEFAULT_BATCH_CELLS,
                max_length=store.max_length,
                advance=advance,
                cache_log=workspace.cache_log,
            )
    return stores


def split_stores(options: ProbingOptions, stores: Mapping[Role, StoredMaps], *, hold_out: bool) -> tuple[Split, ...]:
    """Cut the sentences into splits: those to train on, those to stop by and those to test on."""
    splits = _cut(options, stores, hold_out=hold_out)
    if not splits or any(hold_out and split.dev is None for split in splits):
        message = "too few sentences to train on some and test on others"
        raise CorpusError(message, file=stores["test"].sentences[0].file)
    with_scores = [("test", stores["test"].sentences)]
    with_scores += [("dev", split.dev.sentences) for split in splits if split.dev]
    for role, sentences in with_scores:
        if not any(scored(sentence).any() for sentence in sentences):
            raise CorpusError(f"no {role} word but punctuation has a head", file=sentences[0].file)
    return splits


def _cut(options: ProbingOptions, stores: Mapping[Role, StoredMaps], *, hold_out: bool) -> tuple[Split, ...]:
    """Return the splits of the options, which may be none, or have nothing to stop by or to score."""
    train, dev, folds = stores.get("train"), stores.get("dev"), options.treebanks.folds
    return tuple(make_splits(train, dev, stores["test"], folds=folds, hold_out=hold_out, seed=options.seed))


def _read_treebanks(options: ProbingOptions, loaded: LoadedInputs) -> dict[Role, Treebank]:
    """Return the treebanks by role; what is tested on must not be trained on."""
    chosen = options.treebanks
    files = chosen.files(loaded.treebanks)
    treebanks: dict[Role, Treebank] = {}
    for role in ROLES:
        if role in loaded.treebanks:
            treebank = loaded.treebanks[role].checked()
        elif role in files:
            options_of_files = {name: getattr(chosen, name) for name in OF_FILES}
            treebank = load_treebank(files[role], **options_of_files)
        else:
            continue
        treebank.check_trees("a probe")
        treebanks[role] = treebank
    folds, n_sentences = chosen.folds, len(treebanks["test"])
    if "train" not in treebanks and folds > max(n_sentences, TreebankOptions.folds):  # the default fits itself to few
        raise OptionError(f"--folds must be from 2 to {n_sentences}, the number of sentences, not {folds}")
    role_of: dict[str, Role] = {}
    for role, treebank in treebanks.items():
        for file in treebank.files:
            if (other := role_of.setdefault(file.sha256, role)) != role:
                raise CorpusError(f"--{other} and --{role} both have this file", file=file.path)
    return treebanks


def _check_states(options: ProbingOptions, encoder: Encoder, treebanks: Mapping[Role, Treebank]) -> None:
    """Raise an error before anything slow happens if a probe of hidden states has no layer or nothing to learn."""
    probes = [make_state_probe(name) for name in options.probes.of_states()]
    if not probes:
        return
    options.states.chosen(encoder.n_layers)
    for role, treebank in treebanks.items():
        for probe in probes:
            known = [any(value is not None for value in probe.gold(sentence)) for sentence in treebank.sentences]
            if not any(known):
                message = f"no {role} word has what the probe {probe.full_name} learns"
                raise CorpusError(message, file=treebank.files[0].path if treebank.files else None)
    if options.probes.copies_asked():
        encoder.random_layers(options.seed)  # an unknown architecture is an error


def _read_vectors(options: ProbingOptions, treebanks: Mapping[Role, Treebank]) -> WordVectors | None:
    """Return the vectors of the words of the treebanks; None if no file was named."""
    if options.probes.vectors is None:
        return None
    words = {word for treebank in treebanks.values() for sentence in treebank for word in sentence.words}
    vectors = load_vectors(options.probes.vectors, words)
    if not len(vectors.array):
        raise CorpusError("no word of the treebanks has a vector in it", file=options.probes.vectors)
    return vectors

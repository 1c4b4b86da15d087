"""The work of ``attentionology probe``: maps, training, scoring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from attentionology.analyses.probing.attachment import Attempt, Task, attachment
from attentionology.analyses.probing.head_weights import head_weights
from attentionology.analyses.probing.section import ProbeResults, write_probe
from attentionology.analyses.probing.terminal import probe_table
from attentionology.analyses.shared.builtin import load_encoder
from attentionology.analyses.shared.published import published_probes
from attentionology.corpora_loaders import CorpusError, Treebank, WordVectors, load_treebank, load_vectors
from attentionology.extractors import DEFAULT_BATCH_CELLS, Encoder, MapMaker, StoredMaps, get_kind, store_maps
from attentionology.probes import (
    ArcWeights,
    AttentionProbe,
    AttentionWordsProbe,
    Checkpoint,
    Decoding,
    FixedOffset,
    HeadPredictor,
    Probe,
    RelationOffset,
    SingleHead,
    TrainingError,
    TrainingState,
    added_up,
    arc_weights,
    decode,
    make_probe,
    scored,
)
from attentionology.probes.recipe_choice import RecipeChanges, choose_recipe
from attentionology.probes.splits import CorrectWords, Split, controlled, make_splits
from attentionology.probes.training_cache import training_key
from attentionology.reports.page import Section
from attentionology.reports.progress import Stages, progress_bar
from attentionology.scripts.errors import UsageError
from attentionology.scripts.probe_record import describe, facts, notes
from attentionology.storage.cache_log import CacheLog
from attentionology.storage.partial import delete

if TYPE_CHECKING:
    from rich.console import RenderableType

    from attentionology.scripts.probe import Probe as Options

BASELINES: dict[str, Callable[[], HeadPredictor]] = {
    "right-branching": lambda: FixedOffset(1),
    "best offset": FixedOffset,
    "best offset of the gold relation": RelationOffset,
    "best single head": SingleHead,
}
RANDOM = ", random weights"
CONTRASTS = (
    ("attention", "best offset"),
    ("attention", "best single head"),
    ("attention", f"attention{RANDOM}"),
    ("attention+words", "attention"),
    ("attention+words", "words+distances"),
    ("attention+words", f"attention+words{RANDOM}"),
)
"""Differences worth an interval: what a probe adds to what is simpler."""


@dataclass
class Probing:
    """One run.

    Args:
        options: the command.
        folder: where tables, figures and trained probes go.
        cache: where word maps and checkpoints are kept.
        stages: the stopwatch.

    Attributes:
        treebanks, stores: by role, train, dev, test.
        choice, recipe: how probes are trained, and why so.
        splits: what is trained and tested on what.
        attempts: what every method got right in every run.
        history: of every training, see `attentionology.probes.Probe.history_`.
        weights: of every attention probe, run by run.
        single: how often single heads are right on the training sentences, split by split.
        resumed: trainings that an interrupted run had begun.
        cached: folder of all word maps, of random weights too, with their size and how many were made now.
        cache_log: which files of the cache were damaged and thrown away, and which may not be written.
    """

    options: Options
    folder: Path
    cache: Path
    stages: Stages
    attempts: list[Attempt] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    weights: dict[str, list[dict[str, ArcWeights]]] = field(default_factory=dict)
    single: list[SingleHead] = field(default_factory=list)
    checkpoints: list[Path] = field(default_factory=list)
    resumed: int = 0
    cached: dict[Path, tuple[int, int]] = field(default_factory=dict)
    cache_log: CacheLog = field(default_factory=CacheLog)

    def __call__(
        self, arguments: Sequence[str], out: Path
    ) -> tuple[dict[str, Any], Section, Callable[[int], RenderableType]]:
        """Do it; returns the run record, the section of the report, and what to show in a terminal of some width."""
        own, stages = self.options, self.stages
        with stages("read the treebanks"):
            self.treebanks = {role: self._treebank(files) for role, files in own.treebanks().items()}
            self._check_apart()
            self.vectors = self._vectors()
        with stages("load the model"):
            try:
                MapMaker(get_kind(own.map), "word", own.merge, own.normalize, own.ff_bias)
            except ValueError as error:
                raise UsageError(str(error)) from None
            self.encoder = load_encoder(own.model, revision=own.revision, device=own.device)
        self.stores = self._stores(self.encoder, "maps")
        self.sentences = self.stores["test"].sentences
        changes = RecipeChanges(own.epochs, own.learning_rate, own.weight_decay)
        self.choice = choose_recipe(own.recipe, changes, lambda hold_out: self._cut(self.stores, hold_out=hold_out))
        self.recipe = self.choice.recipe  # also of control tasks and random weights
        self.splits = splits = self._splits(self.stores)
        self._baselines(splits)
        for name in own.chosen():
            for seed in self.seeds:
                self._train(name, name, splits, seed, run=1 + seed - own.seed, keep=True)
        if own.control_task():
            senseless = {seed: [controlled(split, seed) for split in splits] for seed in self.seeds}
            for name in own.chosen():
                for seed in self.seeds:
                    self._train(name, name, senseless[seed], seed, run=1 + seed - own.seed, task="control")
        for copy in range(own.copies()):
            twin = self.encoder.random_init(own.seed + copy)
            twins = self._splits(self._stores(twin, f"maps of random weights {copy + 1}"))
            for name in own.chosen():
                for seed in self.seeds if name.startswith("attention") else ():
                    run = 1 + copy * own.seeds + seed - own.seed
                    self._train(name + RANDOM, name, twins, seed, run=run)
        with stages("tables and figures"):
            results = self.results()
            names = ", ".join(Path(file.path).name for file in self.treebanks["test"].files)
            section = write_probe(self.folder, results, model=self.encoder.name, corpus=names)
        return describe(self, arguments, out), section, lambda width: probe_table(results, width=width)

    @property
    def seeds(self) -> range:
        """Of the probes."""
        return range(self.options.seed, self.options.seed + self.options.seeds)

    def forget_checkpoints(self) -> None:
        """They are of no use once the results are in place."""
        for path in self.checkpoints:
            delete(path)

    def _check_apart(self) -> None:
        """What is tested on must not be trained on."""
        seen: dict[str, str] = {}
        for role, treebank in self.treebanks.items():
            for file in treebank.files:
                if (other := seen.setdefault(file.sha256, role)) != role:
                    raise CorpusError(f"--{other} and --{role} both have this file", file=file.path)

    def _treebank(self, files: list[str]) -> Treebank:
        treebank = load_treebank(files, tokens=self.options.tokens, limit=self.options.limit)
        if not treebank.relations:
            raise CorpusError("no word has a head, and probes need trees", file=treebank.files[0].path)
        return treebank

    def _vectors(self) -> WordVectors | None:
        if self.options.vectors is None:
            return None
        words = {word for treebank in self.treebanks.values() for sentence in treebank for word in sentence.words}
        vectors = load_vectors(self.options.vectors, words)
        if not len(vectors.array):
            raise CorpusError("not one word of the treebanks has a vector in it", file=self.options.vectors)
        return vectors

    def _stores(self, encoder: Encoder, label: str) -> dict[str, StoredMaps]:
        """Word maps of all treebanks."""
        own, stores = self.options, {}
        for role, treebank in self.treebanks.items():
            with self.stages(f"{label}: {role}"), progress_bar(f"{label}: {role}", len(treebank)) as advance:
                stores[role] = store_maps(
                    encoder,
                    treebank.sentences,
                    self.cache,
                    own.map,
                    merge=own.merge,
                    normalize=own.normalize,
                    ff_bias=own.ff_bias,
                    dtype=own.cache_type,
                    batch_cells=own.batch_cells or DEFAULT_BATCH_CELLS,
                    max_length=own.max_length,
                    advance=advance,
                    cache_log=self.cache_log,
                )
            self.cached.setdefault(stores[role].folder, (stores[role].bytes, stores[role].made))
        return stores

    def _splits(self, stores: dict[str, StoredMaps]) -> list[Split]:
        hold_out = self.choice.holds_out
        splits = self._cut(stores, hold_out=hold_out)
        if not splits or any(hold_out and split.dev is None for split in splits):
            message = "too few sentences to train on some and test on others"
            raise CorpusError(message, file=self.options.treebanks()["test"][0])
        for role, maps in (("test", stores["test"]), *(("dev", split.dev) for split in splits if split.dev)):
            if not any(scored(sentence).any() for sentence in maps.sentences):
                raise CorpusError(f"no {role} word but punctuation has a head", file=maps.sentences[0].file)
        return splits

    def _cut(self, stores: dict[str, StoredMaps], *, hold_out: bool) -> list[Split]:
        own = self.options
        train, dev = (stores.get(role) for role in ("train", "dev"))
        return list(make_splits(train, dev, stores["test"], folds=own.folds, hold_out=hold_out, seed=own.seed))

    def _baselines(self, splits: Sequence[Split]) -> None:
        for name, make in BASELINES.items():
            right = CorrectWords(self.sentences)
            with self.stages("baselines"), progress_bar(name, len(splits), unit="folds") as advance:
                for split in splits:
                    baseline = make().fit(split.train)
                    right.add(split, baseline.predict(split.test))
                    self.single += [baseline] if isinstance(baseline, SingleHead) else []
                    advance(1)
            self.attempts.append(Attempt(name, "dependencies", "argmax", 1, right.words))

    def _train(
        self,
        method: str,
        name: str,
        splits: Sequence[Split],
        seed: int,
        *,
        run: int,
        task: Task = "dependencies",
        keep: bool = False,
    ) -> None:
        """Train one probe per split with one seed, and score them."""
        trees = self.options.tree and task == "dependencies"
        decodings: tuple[Decoding, ...] = ("argmax", "tree") if trees else ("argmax",)
        right: dict[Decoding, CorrectWords] = {decoding: CorrectWords(self.sentences) for decoding in decodings}
        arcs = []
        for fold, split in enumerate(splits, start=1):
            probe = make_probe(name, self.vectors, recipe=self.recipe, random_state=seed)
            what = f"{method}{' on the control task' if task == 'control' else ''}, seed {seed}"
            with self.stages(f"train {method}{' (control task)' if task == 'control' else ''}"):
                self._fit(probe, split, what + (f", fold {fold}/{len(splits)}" if len(splits) > 1 else ""))
            self.history += [
                {"method": method, "task": task, "run": run, "fold": fold, **row} for row in probe.history_
            ]
            with self.stages("score"):
                scores = list(probe.scores(split.test))
                for decoding, own in right.items():
                    own.add(split, [decode(of_sentence, decoding) for of_sentence in scores])
                if keep:
                    folder = f"{name}-seed{seed}" + (f"-fold{fold}" if len(splits) > 1 else "")
                    probe.save(self.folder / "probes" / folder)
                if keep and isinstance(probe, AttentionProbe | AttentionWordsProbe):
                    arcs.append(arc_weights(probe, split.test))
        if arcs:
            self.weights.setdefault(name, []).append(added_up(arcs))
        self.attempts += [Attempt(method, task, decoding, run, own.words) for decoding, own in right.items()]

    def _fit(self, probe: Probe, split: Split, label: str) -> None:
        path = self.cache / "training" / f"{training_key(probe, split)}.safetensors"
        checkpoint = Checkpoint(path, cache_log=self.cache_log)
        self.checkpoints.append(checkpoint.path)
        shown = 0
        with progress_bar(label, len(split.train) * self.recipe.epochs, remarks=True) as advance:

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
        self.resumed += checkpoint.resumed

    def results(self) -> ProbeResults:
        """Tables of all that was tried."""
        own = self.options
        names = {attempt.method for attempt in self.attempts}
        contrasts = [pair for pair in CONTRASTS if set(pair) <= names]
        tables = attachment(
            self.sentences, self.attempts, contrasts=contrasts, replicates=own.replicates, seed=own.seed
        )
        correct, total = sum(one.correct_ for one in self.single), sum(one.total_ for one in self.single)
        return ProbeResults(
            tables=tables,
            weights={name: head_weights(runs, np.asarray(correct), total) for name, runs in self.weights.items()},
            history=pd.DataFrame(self.history),
            published=published_probes(self.encoder.name),
            min_count=own.min_count,
            facts=tuple(facts(self)),
            notes=tuple(notes(self)),
        )

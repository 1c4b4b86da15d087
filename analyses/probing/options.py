"""The options of probing, in groups."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from ...storage.nearest import UnknownNameError
from ..contract import OptionError, OptionGroup
from ..option_groups import Bounds
from ..shared.builtin import SAMPLE, corpus_path
from ..shared.numbers import Number, OptionalNumber, OptionalPositive, OptionalReal
from ..shared.option_types import (
    BatchCells,
    Lenient,
    PieceMerging,
    PunctuationNames,
    RowScaling,
    SentenceLimit,
    TreebankWords,
    split_names,
)
from ..shared.options import MapOptions, copies_of

Role = Literal["train", "dev", "test"]
ROLES: tuple[Role, ...] = ("train", "dev", "test")
"""What treebanks are for: training, stopping, and testing."""


@dataclass(frozen=True)
class TreebankOptions(OptionGroup):
    """Options of the treebanks.

    Example:
        >>> from attentionology.analyses import TreebankOptions
        >>> TreebankOptions(folds=1).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --folds must be at least 2, not 1
    """

    train: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """The treebank to train on: one or more CoNLL-U files, which may be compressed (.gz, .bz2 or .xz), or names such as
    ud:en_ewt:train."""

    test: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """The treebank to test on. By default, it is the sample treebank, whose name is 'sample'."""

    dev: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """The treebank on which the score is computed after each epoch. The recipe tuned stops when this score no longer
    rises. By default, that recipe holds out a tenth of the training treebank for this, in whole documents if there are
    enough of them."""

    folds: Annotated[int, arg(metavar="K"), Bounds(2)] = 5
    """The number of folds into which the test treebank is divided if there is no --train. The folds are made of whole
    documents if there are enough of them."""

    tokens: TreebankWords = "syntactic"
    limit: SentenceLimit = None
    lenient: Lenient = False
    punctuation: PunctuationNames = ()

    def check(self, loaded: Collection[Role] = ()) -> None:
        """Raise `OptionError` where a value cannot be used, given the roles of treebanks that were loaded before."""
        super().check()
        for role in ROLES:
            if getattr(self, role) == ():
                raise OptionError(f"--{role} needs at least one file")
        has_train = self.train or "train" in loaded
        if has_train and not self.test and "test" not in loaded:
            raise OptionError("--train needs --test; to train and test on one treebank in folds, give --test alone")
        if has_train and self.folds != TreebankOptions.folds:
            raise OptionError("--folds is for one treebank; with --train, the test treebank is not divided")
        of_files = {name: getattr(TreebankOptions, name) for name in ("limit", "tokens", "lenient", "punctuation")}
        if loaded and any(getattr(self, name) != default for name, default in of_files.items()):
            raise OptionError(
                "--limit, --tokens, --lenient and --punctuation are for treebanks that are read from files"
            )

    def files(self, loaded: Collection[Role] = ()) -> dict[Role, list[str]]:
        """Return the files of each treebank that is to be read."""
        names = {"train": self.train or (), "dev": self.dev or (), "test": self.test or (SAMPLE,)}
        return {role: list(map(corpus_path, names[role])) for role in ROLES if role not in loaded and names[role]}


@dataclass(frozen=True)
class ProbeOptions(OptionGroup):
    """Options of the probes and their controls.

    Example:
        >>> from attentionology.analyses import ProbeOptions
        >>> ProbeOptions(controls=("task", "none")).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --controls are task, random-init[:K] and decay, or none
    """

    probe: Annotated[tuple[str, ...] | None, arg(metavar="NAME [NAME ...]")] = None
    """The probes to train, separated by spaces or commas. The default is attention or, with --vectors, all of maps.

    - of maps: attention, attention+words, words+distances.
    - of the hidden states of each layer: arcs (the head of each word), arcs+attention, distance and depth (of trees),
      label:KEY (of each word: upos, xpos, or feats:NAME, such as label:feats:Number), relation (of given pairs).

    Probes of other packages have names of their own.
    """

    vectors: Annotated[Path | None, arg(metavar="FILE")] = None
    """A text file of word vectors (GloVe, word2vec or fastText .vec), which may be compressed (.gz, .bz2, .xz or .zip).
    A file in an archive is named like glove.6B.zip/glove.6B.100d.txt. A word is looked up as it is written, then in
    lower case."""

    controls: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ("task", "random-init")
    """The controls, separated by spaces or commas:

    - task: the probes are also trained on the control task.
    - random-init or random-init:K: the probes that read attention or hidden states are also trained, with every seed,
      on 1 or K copies of the model that keep its embeddings and have random weights otherwise.
    - decay: the probes of hidden states are also trained on those of layer 0, mixed with the states of the words beside
      them, with weights that halve from word to word.
    - none: there are no controls.
    """

    tree: bool = False
    """Also decode the maximum spanning tree with one root, in addition to the best head of each word alone. This needs
    the extra 'tree' of the package."""

    def check(self, *, has_vectors: bool = False) -> None:
        """Raise `OptionError` where a value cannot be used, given whether word vectors were loaded before."""
        from ...probes import registered_probes

        chosen = self.chosen(has_vectors=has_vectors)
        if (self.vectors or has_vectors) and not any(registered_probes()[name].reads_words for name in chosen):
            raise OptionError(
                "--vectors is for the probes attention+words and words+distances, which are not among --probe"
            )
        kinds = [name.split(":", 1)[0] for name in split_names(self.controls)]  # without the number of copies
        if not kinds or len(set(kinds)) < len(kinds) or ("none" in kinds and len(kinds) > 1):
            raise OptionError("--controls are task, random-init[:K] and decay, or none")
        self.copies(has_vectors=has_vectors)  # raises an error for an unknown control
        if self.tree and find_spec("ufal") is None:
            raise OptionError("--tree needs the library ufal.chu_liu_edmonds: pip install 'attentionology[tree]'")

    def chosen(self, *, has_vectors: bool = False) -> list[str]:
        """Return the names of the probes, in the order of the table.

        Raises:
            OptionError: a name is unknown, or a probe lacks word vectors.
        """
        from ...probes import registered_probes
        from ...probes.registry import BUILTIN

        known = registered_probes()
        has_vectors = has_vectors or self.vectors is not None
        given = split_names(self.probe or ())
        if self.probe is not None and not given:
            raise OptionError("--probe needs at least one name")
        of_states = self.of_states()
        names = [name for name in given if name not in of_states]
        if not given:
            names = list(BUILTIN) if has_vectors else list(BUILTIN)[:1]  # the first one reads no words
        for name in names:
            if known[name].reads_words and not has_vectors:
                message = f"the probe {name} reads word vectors; give --vectors FILE (GloVe, word2vec, fastText)"
                raise OptionError(message)
        return [name for name in known if name in names]

    def of_states(self) -> list[str]:
        """Return the names of the probes of hidden states, with their keys.

        Raises:
            OptionError: a name is unknown.
        """
        from ...probes import make_state_probe, registered_probes

        names = []
        for name in split_names(self.probe or ()):
            if name not in registered_probes():
                try:
                    names.append(make_state_probe(name).full_name)
                except UnknownNameError as error:
                    raise OptionError(str(error)) from None
        return list(dict.fromkeys(names))

    def control_task(self) -> bool:
        """Whether to train the probes on the control task, too."""
        return "task" in split_names(self.controls)

    def decays(self) -> bool:
        """Whether to train probes of hidden states on decayed states, too."""
        return "decay" in split_names(self.controls)

    def copies_asked(self) -> int:
        """Return how many copies of the model with random weights the controls name."""
        return sum(copies_of(name) for name in split_names(self.controls) if name not in ("task", "decay", "none"))

    def copies(self, *, has_vectors: bool = False) -> int:
        """Return how many copies of the model with random weights to probe; none if no probe reads attention."""
        from ...probes import registered_probes

        copies = self.copies_asked()
        chosen = self.chosen(has_vectors=has_vectors)
        return copies if any(registered_probes()[name].reads_attention for name in chosen) else 0


@dataclass(frozen=True)
class ProbeTrainingOptions(OptionGroup):
    """Options of the training.

    Example:
        >>> from attentionology.analyses import ProbeTrainingOptions
        >>> ProbeTrainingOptions(weight_decay=-1.0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --weight-decay must be finite and at least 0, not -1.0
    """

    recipe: Literal["auto", "paper", "tuned"] = "auto"
    """How probes are trained. The choices are:

    - paper: one epoch in the order of the file with Adam, learning rate 0.002, one sentence at a time.
    - tuned: up to 20 epochs in random order with weight decay, until the score on the dev sentences has not risen for
      more than two epochs.
    - auto: like tuned if one epoch has fewer than 3,000 steps, which is too few, and --epochs is not given; otherwise
      like paper. The results say which recipe was used.
    """

    epochs: OptionalNumber = None
    """The number of epochs instead of that of the recipe. With --recipe tuned it is an upper limit, and with auto it
    selects the recipe of the paper."""

    learning_rate: OptionalPositive = None
    """The learning rate of Adam instead of that of the recipe."""

    weight_decay: Annotated[OptionalReal, Bounds(0)] = None
    """The weight decay instead of that of the recipe."""

    seeds: Number = 3
    """Train every probe N times with different initial weights. The scores are means over these trainings."""

    workers: Number = 1
    """Train in N processes, each of which trains one probe at a time. The results do not depend on it."""


@dataclass(frozen=True)
class ProbedMapOptions(OptionGroup):
    """Options of the maps that probes read.

    Example:
        >>> from attentionology.analyses import ProbedMapOptions
        >>> ProbedMapOptions(map="norm", merge="vector")
        ProbedMapOptions(map='norm', merge='vector', normalize='none')
    """

    map: Annotated[str, arg(metavar="KIND")] = "weight"
    """The kind of maps, which measure how much flows from token to token: weight (attention weights), norm, attn,
    attnresln, …; see analyze --help."""

    merge: PieceMerging = MapOptions.merge
    normalize: RowScaling = MapOptions.normalize


@dataclass(frozen=True)
class MapStoreOptions(OptionGroup):
    """Options of the word maps that are kept on disk.

    Example:
        >>> from attentionology.analyses import MapStoreOptions
        >>> MapStoreOptions(max_length=0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --max-length must be at least 1, not 0
    """

    cache: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """The folder in which word maps are kept for this run and later ones; by default 'cache' beside the results folder.
    It may be deleted at any time. Maps take (words per sentence)² × layers × heads × 4 bytes: 1.8 GB for 200,000 words
    of English and 72 heads."""

    cache_type: Literal["float32", "float16"] = "float32"
    """The type of the numbers in the cache. float16 takes half the space and keeps three digits of each weight."""

    max_length: OptionalNumber = None
    """Skip sentences of more than N pieces, including [CLS] and [SEP] (128 in the paper)."""

    batch_cells: BatchCells = None

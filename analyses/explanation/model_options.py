"""Options of the models to which the explanation tests are applied: how the models are made and trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from ..contract import OptionError, OptionGroup
from ..shared.numbers import Number, OptionalNumber, OptionalPositive
from .options import changed


@dataclass(frozen=True)
class ClassifierOptions(OptionGroup):
    """Options of the classifier that is trained from scratch if there is no --model.

    Example:
        >>> from attentionology import ClassifierOptions
        >>> ClassifierOptions(regularizer="none", strength=0.5).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --strength is for --regularizer tying, mlm or conicity
    """

    encoder: Literal["lstm", "cnn", "average", "none"] = "lstm"
    """The encoder of the classifier: lstm (bidirectional), cnn, average (each word by itself, the "MLP" of the papers),
    or none (the embeddings)."""

    attention: Literal["additive", "dot"] = "additive"
    """The attention of the classifier: additive computes v · tanh(W h + b), dot computes w · h."""

    regularizer: Literal["none", "concat", "residual", "tying", "mlm", "conicity"] = "none"
    """The regularizer of the tested classifier. The test 'regularizers' compares it with all others."""

    strength: OptionalPositive = None
    """The weight of the penalty of the regularizers tying, mlm and conicity."""

    vectors: Annotated[Path | None, arg(metavar="FILE")] = None
    """Word vectors that initialize the embeddings: GloVe, word2vec or fastText as text, plain or compressed (.gz, .bz2,
    .xz, .zip). By default, embeddings are initialized at random."""

    dimensions: Number = 100
    """The number of dimensions of embeddings that are initialized at random. (The embeddings of the papers were trained
    on other texts and have 200 or 300 dimensions.)"""

    min_count: Number = 1
    """Words that occur fewer than N times in training are unknown words."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        if self.vectors and "dimensions" in changed(self):
            raise OptionError("--dimensions is for random embeddings; with --vectors, the vectors determine the number")
        if self.strength is not None and self.regularizer not in ("tying", "mlm", "conicity"):
            raise OptionError("--strength is for --regularizer tying, mlm or conicity")


@dataclass(frozen=True)
class TransformerOptions(OptionGroup):
    """Options of the transformer that --model names.

    Example:
        >>> from attentionology import TransformerOptions
        >>> TransformerOptions(heads=("3", "1")).chosen_heads()
        [2, 0]
    """

    finetune: bool = False
    """Train the transformer on --data, with a new classification head."""

    layer: OptionalNumber = None
    """The layer of the transformer whose attention is tested, counted from 1. By default, it is the last layer."""

    query: Literal["cls", "all"] = "cls"
    """The rows of attention that are tested: cls is the row of [CLS], and all is every row of the layer (slow)."""

    heads: Annotated[tuple[str, ...], arg(metavar="N [N ...]")] = ("all",)
    """The heads of that layer whose attention is tested, counted from 1, or all. The attention of other heads stays as
    it is."""

    special: Literal["keep", "renormalise"] = "keep"
    """What happens to the attention to special tokens: keep moves weights among words only; renormalise also scales the
    weights of special tokens."""

    score: Annotated[str, arg(metavar="KIND")] = "weight"
    """The kind of map that gives the importance of words where they are ranked: weight, norm, attnresln, rollout, …;
    see analyze --help."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        self.chosen_heads()

    def chosen_heads(self) -> list[int] | Literal["all"]:
        """Return the selected heads, 0-based.

        Raises:
            OptionError: the heads are not numbers from 1, or one is named twice.
        """
        from ...corpora_loaders.lines import WHOLE_NUMBER

        names = [name for part in self.heads for name in part.split(",") if name]
        if names == ["all"]:
            return "all"
        if not all(map(WHOLE_NUMBER.fullmatch, names)):
            raise OptionError("--heads takes numbers from 1, or all")
        heads = [int(name) - 1 for name in names]
        if not heads or min(heads) < 0 or len(set(heads)) < len(heads):
            raise OptionError("--heads takes numbers from 1, none of them twice, or all")
        return heads


@dataclass(frozen=True)
class ClassifierTrainingOptions(OptionGroup):
    """Options of the training.

    Example:
        >>> from attentionology import ClassifierTrainingOptions
        >>> ClassifierTrainingOptions(learning_rate=0.0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --learning-rate must be finite and above 0, not 0.0
    """

    epochs: OptionalNumber = None
    """The number of training epochs. The default is 8, or 2 for fine-tuning. The epoch that is best on the dev texts is
    taken."""

    learning_rate: OptionalPositive = None
    """The learning rate. The default is 0.001, or 0.00003 for fine-tuning."""

    cache: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """The folder in which trained models are kept for this run and later ones. By default, it is the folder 'cache'
    beside the results folder. It can be deleted at any time."""

"""Options of the models that the explanation tests are about: how they are made and trained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from attentionology.analyses.contract import OptionError
from attentionology.analyses.explanation.options import changed
from attentionology.analyses.shared.input_options import at_least_one
from attentionology.analyses.shared.numbers import OptionalNumber, OptionalReal
from attentionology.corpora_loaders.lines import WHOLE_NUMBER


@dataclass(frozen=True)
class ClassifierOptions:
    """Options of the classifier, where none is given with --model.

    Example:
        >>> from attentionology import ClassifierOptions
        >>> ClassifierOptions(regularizer="none", strength=0.5).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --strength is for --regularizer tying, mlm or conicity
    """

    encoder: Literal["lstm", "cnn", "average", "none"] = "lstm"
    """Encoder of the classifier: lstm (bidirectional), cnn, average (each word by itself, the "MLP" of the papers), or
    none (the embeddings)."""

    attention: Literal["additive", "dot"] = "additive"
    """Attention of the classifier: additive computes v · tanh(W h + b), dot computes w · h."""

    regularizer: Literal["none", "concat", "residual", "tying", "mlm", "conicity"] = "none"
    """Regularizer of the tested classifier. The test 'regularizers' compares it with all others."""

    strength: OptionalReal = None
    """Weight of the penalty of tying, mlm and conicity."""

    vectors: Annotated[Path | None, arg(metavar="FILE")] = None
    """Word vectors that initialize the embeddings: GloVe, word2vec or fastText as text, plain, .gz or .zip. By default,
    embeddings are initialized at random."""

    dimensions: Annotated[int, arg(metavar="N")] = 100
    """Number of dimensions of embeddings that are initialized at random. (Those of the papers are trained on other
    texts and have 200 or 300.)"""

    min_count: Annotated[int, arg(metavar="N")] = 1
    """Words that occur less often in training are unknown words."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        at_least_one(self, "dimensions", "min_count")
        if self.strength is not None and not 0 < self.strength < math.inf:
            raise OptionError(f"--strength must be finite and above 0, not {self.strength}")
        if self.vectors and "dimensions" in changed(self):
            raise OptionError("--dimensions is for random embeddings; with --vectors it is theirs")
        if self.strength is not None and self.regularizer not in ("tying", "mlm", "conicity"):
            raise OptionError("--strength is for --regularizer tying, mlm or conicity")


@dataclass(frozen=True)
class TransformerOptions:
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
    """Which rows of attention are tested: cls is the row of [CLS], all is every row of the layer (slow)."""

    heads: Annotated[tuple[str, ...], arg(metavar="N [N ...]")] = ("all",)
    """Heads of that layer whose attention is tested, counted from 1, or all. The attention of other heads stays as it
    is."""

    special: Literal["keep", "renormalise"] = "keep"
    """What happens to attention to special tokens: keep moves weights among words only, renormalise scales the weights
    of special tokens along with those of words."""

    score: Annotated[str, arg(metavar="KIND")] = "weight"
    """Where words are ranked, their importance is taken from this kind of map: weight, norm, attnresln, rollout, …; see
    analyze --help."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        at_least_one(self, "layer")
        self.chosen_heads()

    def chosen_heads(self) -> list[int] | Literal["all"]:
        """The selected heads, 0-based.

        Raises:
            OptionError: they are not numbers from 1, or one is named twice.
        """
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
class ClassifierTrainingOptions:
    """Options of training.

    Example:
        >>> from attentionology import ClassifierTrainingOptions
        >>> ClassifierTrainingOptions(learning_rate=0.0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --learning-rate must be finite and above 0, not 0.0
    """

    epochs: OptionalNumber = None
    """Number of training epochs. The default is 8, for fine-tuning 2. The epoch that is best on the dev texts is
    taken."""

    learning_rate: OptionalReal = None
    """Learning rate. The default is 0.001, for fine-tuning 0.00003."""

    cache: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Where trained models are kept, for this run and later ones. By default, it is the folder 'cache' beside the
    results folder. It may be deleted at any time."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        at_least_one(self, "epochs")
        if self.learning_rate is not None and not 0 < self.learning_rate < math.inf:
            raise OptionError(f"--learning-rate must be finite and above 0, not {self.learning_rate}")

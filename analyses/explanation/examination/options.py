"""The options of the models, and everything that decides what the explanation tests compute, checked together."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from ....corpora_loaders.errors import CorpusError
from ....reports.help.options import flag
from ...contract import OptionError, OptionGroup
from ...option_groups import check_bounds
from ...shared.input_options import OptionalModelOptions
from ...shared.numbers import Number, OptionalNumber, OptionalPositive, Seed
from ...shared.part_options import ShareOptions
from ..contract.options import ExplanationTestOptions, TextOptions, changed_options

if TYPE_CHECKING:
    from ....corpora_loaders import LabeledTexts
    from ....extractors import AttentionModel


@dataclass(frozen=True)
class ClassifierOptions(OptionGroup):
    """Options of the classifier that is trained from scratch if there is no --model.

    Example:
        >>> from attentionology.analyses import ClassifierOptions
        >>> ClassifierOptions(regularizer="none", strength=0.5).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --strength is for --regularizer tying, mlm or conicity
    """

    encoder: Literal["lstm", "cnn", "average", "none", "han"] = "lstm"
    """The encoder of the classifier: lstm (bidirectional), cnn, average (each word by itself, the "MLP" of the papers),
    none (the embeddings), or han (words, then sentences, whose attention is tested; for documents)."""

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
        if self.vectors and "dimensions" in changed_options(self):
            raise OptionError("--dimensions is for random embeddings; with --vectors, the vectors determine the number")
        if self.strength is not None and self.regularizer not in ("tying", "mlm", "conicity"):
            raise OptionError("--strength is for --regularizer tying, mlm or conicity")


@dataclass(frozen=True)
class TransformerOptions(OptionGroup):
    """Options of the transformer that --model names.

    Example:
        >>> from attentionology.analyses import TransformerOptions
        >>> TransformerOptions(heads=("3", "1")).chosen_heads()
        [2, 0]
    """

    finetune: bool = False
    """Train the transformer on --data, with a new classification head."""

    layer: OptionalNumber = None
    """The layer of the transformer whose attention is tested, counted from 1. By default, it is the last layer."""

    query: Literal["cls", "all"] = "cls"
    """The rows of attention that are tested: cls is the row of the position that is classified, which is that of [CLS]
    or in decoders that of the last piece, and all is every row of the layer (slow)."""

    heads: Annotated[tuple[str, ...], arg(metavar="N [N ...]")] = ("all",)
    """The heads of that layer whose attention is tested, counted from 1, or all. The attention of other heads stays as
    it is."""

    special: Literal["keep", "renormalize"] = "keep"
    """What happens to the attention to special tokens: keep moves weights among words only; renormalize also scales the
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
        from ....corpora_loaders.lines import WHOLE_NUMBER

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
        >>> from attentionology.analyses import ClassifierTrainingOptions
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


@dataclass(frozen=True, eq=False)
class Loaded:
    """The model and the labeled texts that a call from Python has loaded, which take the place of names in options."""

    model: AttentionModel | None = None
    data: LabeledTexts | None = None
    dev: LabeledTexts | None = None
    test: LabeledTexts | None = None


@dataclass(frozen=True)
class ExplainOptions:
    """Everything that decides what the explanation tests compute."""

    texts: TextOptions = field(default_factory=TextOptions)
    tests: ExplanationTestOptions = field(default_factory=ExplanationTestOptions)
    classifier: ClassifierOptions = field(default_factory=ClassifierOptions)
    model: OptionalModelOptions = field(default_factory=OptionalModelOptions)
    transformer: TransformerOptions = field(default_factory=TransformerOptions)
    training: ClassifierTrainingOptions = field(default_factory=ClassifierTrainingOptions)
    shares: ShareOptions = field(default_factory=ShareOptions)

    seed: Seed = 0
    """The seed of everything random: the texts that are held out, the initial weights, the shuffles and the
    bootstrap."""

    @property
    def is_saved(self) -> bool:
        """Whether the model is a classifier that an earlier run saved."""
        return self.model.model is not None and self.model.model.endswith(".safetensors")

    def trains(self, loaded: Loaded) -> bool:
        """Return whether models are trained in this run."""
        return loaded.model is None and (self.model.model is None or self.transformer.finetune)

    @property
    def groups(self) -> tuple[OptionGroup, ...]:
        """All option groups but `shares`, on which no result depends."""
        return self.texts, self.tests, self.classifier, self.model, self.transformer, self.training

    def flat(self) -> dict[str, Any]:
        """Return all options by their names, as on the command line."""
        return {"seed": self.seed, **{name: value for group in self.groups for name, value in asdict(group).items()}}

    def check(self, loaded: Loaded) -> None:
        """Validate the options before anything slow happens, except for what only the tests know."""
        self._check_texts(loaded)
        for group in self.groups:
            group.check()
        self.shares.check()
        self._check_model(loaded)
        check_bounds(self)
        for name in ("epochs", "learning_rate"):
            if name in changed_options(self.training) and not self.trains(loaded):
                raise OptionError(f"{flag(name)} is for training, and nothing is trained in this run")

    def check_files(self) -> None:
        """Raise `CorpusError` where a file does not exist."""
        from ....corpora_loaders.lines import archive_of

        files = self.texts.files() + ([self.classifier.vectors] if self.classifier.vectors else [])
        files += [Path(self.model.model or "")] if self.is_saved else []
        for file in files:
            if not archive_of(file).exists():
                raise CorpusError("there is no such file", file=file)

    def _check_texts(self, loaded: Loaded) -> None:
        """Check that there are texts for each step of the run, and none without a purpose."""
        # An option that names no file is `()`, which `TextOptions.check` reports.
        texts = self.texts
        if self.trains(loaded) and not (texts.data or loaded.data) and texts.data != ():
            raise OptionError(
                "--data FILE is missing: the file has labeled texts to train on, each line with a label, a space or "
                "tab, and a text; or it is .csv, .tsv or .jsonl with the columns 'label' and 'text'"
            )
        if not self.trains(loaded):
            if not (texts.test or loaded.test) and texts.test != ():
                raise OptionError("--test FILE is missing; or add --finetune to train the model on --data first")
            if texts.data or texts.dev or loaded.data or loaded.dev:
                hint = "" if self.is_saved or loaded.model else "add --finetune, or "
                raise OptionError(f"--data and --dev are for training; {hint}give --test alone")

    def _check_model(self, loaded: Loaded) -> None:
        """Check that the options of models are for the model of the run."""
        name = self.model.model
        if name is not None and (Path(name) / "run.json").exists():
            raise OptionError(f"{name} is a results folder; its model is {name}/classifier.safetensors or {name}/model")
        if self.transformer.finetune and name is None:
            raise OptionError("--finetune is for a transformer: --model MODEL")
        if self.transformer.finetune and self.is_saved:
            raise OptionError("--finetune is for transformers, not for a saved classifier")
        of_transformers = [
            *changed_options(self.transformer),
            *(["revision"] if self.model.revision is not None else []),
        ]
        if of_transformers and (name is None or self.is_saved):
            raise OptionError(f"{flag(of_transformers[0])} is for transformers: --model MODEL")
        if name is not None or loaded.model is not None:
            for option in changed_options(self.classifier):
                raise OptionError(f"{flag(option)} is for the classifiers that are trained here, not for --model")

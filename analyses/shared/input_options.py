"""Options that commands share: the model, the inputs that are read, and where results go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from ...extractors.model.named import DEMO, load_encoder
from ...storage.characters import file_name
from ..contract import OptionError, OptionGroup, OptionSet
from .builtin import SAMPLE, check_revision
from .numbers import OptionalCount, OptionalNumber
from .option_types import BatchCells, Device, TooLongInputs

if TYPE_CHECKING:
    from ...extractors import AnyModel, Encoder


def default_folder(model: str, corpus: Sequence[str], prefix: str = "") -> Path:
    """The results folder unless ``--out`` is given: ``runs/MODEL-CORPUS``, with the prefix of a command."""
    names = [model.rstrip("/").rsplit("/", 1)[-1], *(Path(c).name.split(".", 1)[0] for c in corpus[:1])]
    return Path("runs") / (prefix + "-".join(file_name(name, 70) for name in names))


def paths_read(*values: str | Path | Sequence[str] | None) -> list[Path]:
    """The paths among the values of options: all values but None and the names of the built-in model and corpus."""
    names: list[str | Path] = []
    for value in values:
        if value:
            names += [value] if isinstance(value, str | Path) else value
    return [Path(name) for name in names if name not in (DEMO, SAMPLE)]


@dataclass(frozen=True)
class OptionalModelOptions(OptionGroup):
    """Options of a model that is used in place of one that is trained.

    Example:
        >>> from attentionology.analyses import OptionalModelOptions
        >>> OptionalModelOptions(revision="main").check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --revision is for a model on the Hub: --model MODEL
    """

    model: Annotated[str | None, arg(metavar="MODEL")] = None
    """A transformer to test in place of a classifier that is trained from scratch: a folder with config.json, a
    tokenizer and *.safetensors; an id on the Hugging Face Hub; or 'demo', the model that the extra 'demo' of the
    package installs. It can also be a classifier that an earlier run has saved (classifier.safetensors)."""

    revision: Annotated[str | None, arg(metavar="REVISION")] = None
    """The branch, tag or commit of a model on the Hub. By default, the main branch is read."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if self.model is not None:
            check_revision(self.model, self.revision)
        elif self.revision is not None:
            raise OptionError("--revision is for a model on the Hub: --model MODEL")


@dataclass(frozen=True)
class ModelOptions(OptionalModelOptions):
    """Options of the model.

    Example:
        >>> from attentionology import ModelOptions
        >>> ModelOptions(model="demo", revision="main").check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --revision is for models on the Hub, and 'demo' is not one
    """

    model: Annotated[str, arg(metavar="MODEL")] = DEMO
    """The model: a folder with config.json, a tokenizer and *.safetensors; an id on the Hugging Face Hub such as
    google-bert/bert-base-uncased; or 'demo', the model that the extra 'demo' of the package installs."""

    device: Device = "cpu"

    prepend: Annotated[str, arg(metavar="TOKEN")] = "auto"
    """The token with which every input begins, so that idle attention of a decoder has a place to rest that is no word.
    With 'auto', it is the first token of a text as the tokenizer names it (BOS), if the tokenizer adds no special token
    by itself; with 'none', inputs are left as the tokenizer reads them."""

    dtype: Literal["float32", "bfloat16"] = "float32"
    """The type in which the weights are held. With bfloat16 they take half the memory, and the model still computes in
    float32: in bfloat16, nearly every sentence would have a decision too close to make. The results of a checkpoint in
    bfloat16, as most large decoders have, are the same; one in float32 is rounded, with a warning."""

    def load(self) -> Encoder:
        """Load the model.

        Raises:
            ModelError: it cannot be loaded, or its tokenizer does not know the token.
        """
        return load_encoder(
            self.model, revision=self.revision, device=self.device, prepend=self.prepend, dtype=self.dtype
        )


def model_or_encoder(model: AnyModel, options: OptionSet) -> tuple[OptionSet, Encoder | None]:
    """Combine the model that a call from Python was given with its options; one that is loaded becomes an encoder."""
    if isinstance(model, str | Path):
        return options.with_values(ModelOptions, model=None if model == DEMO else str(model)), None
    if options[ModelOptions] != ModelOptions():
        raise OptionError("ModelOptions are for a model that is loaded by its name, not for one that is loaded already")
    from ...extractors import as_encoder  # it imports torch
    from ...extractors.model.loaded_model import LoadedModel

    # A translation model, for example, is refused by the analyses, which say what they need.
    given: Any = model
    return options, given if isinstance(model, LoadedModel) else as_encoder(model)


@dataclass(frozen=True)
class LimitOptions(OptionGroup):
    """Options of the length of the inputs and the size of the batches.

    Example:
        >>> from attentionology.analyses import LimitOptions
        >>> LimitOptions(max_length=0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --max-length must be at least 1, not 0
    """

    max_length: OptionalNumber = None
    """Skip sentences of more than N pieces, including [CLS] and [SEP], even if the model can read them (128 in the
    paper). For the coreference analysis, the number of pieces of a document to read."""

    too_long: TooLongInputs = "skip"
    batch_cells: BatchCells = None


@dataclass(frozen=True)
class ExampleOptions(OptionGroup):
    """Options of the sentences and sentence pairs to look at in the report.

    Example:
        >>> from attentionology.analyses import ExampleOptions
        >>> ExampleOptions(examples=-1).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --examples must be at least 0, not -1
    """

    examples: OptionalCount = None
    """The number of sentences, or of sentence pairs, whose maps are kept, so that the report can show them. They are
    sampled by a hash of their ids, from as many documents as possible. With 0, no maps are kept. By default, all are
    kept for which the page has space (5 MB, or 12 MB for models of more than 144 heads), or 60 if that is more."""


@dataclass(frozen=True)
class OutputOptions:
    """Options of the results."""

    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """The results folder. By default, it is a folder in runs/, whose name the command prints."""

    overwrite: bool = False
    """Replace the results folder of an earlier run."""

    figures: Annotated[tuple[Literal["pdf", "png"], ...], arg(metavar="FORMAT [FORMAT ...]")] = ()
    """Write the figures as PDF or PNG, too. They are always written as SVG, which drawing programs, browsers and
    LaTeX (by way of Inkscape) read."""

    tables: Annotated[tuple[Literal["parquet"], ...], arg(metavar="FORMAT [FORMAT ...]")] = ()
    """Write the tables as parquet, too. They are always written as CSV. This needs the extra 'parquet' of the
    package."""

    json: bool = False
    """Print the summary as JSON instead of tables."""

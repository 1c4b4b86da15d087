"""Everything that decides what the explanation tests compute, and whether it makes sense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...corpora_loaders.errors import CorpusError
from ...reports.help.options import flag
from ..contract import OptionError, OptionGroup
from ..option_groups import check_bounds
from ..shared.input_options import OptionalModelOptions
from ..shared.numbers import Seed
from .model_options import (
    ClassifierOptions,
    ClassifierTrainingOptions,
    TransformerOptions,
)
from .options import ExplanationTestOptions, TextOptions, changed

if TYPE_CHECKING:
    from ...corpora_loaders import LabelledTexts
    from ...extractors import AttentionModel


@dataclass(frozen=True, eq=False)
class Loaded:
    """The model and the texts that a call from Python has loaded, which take the place of names in the options.

    Attributes:
        model: the tested model.
        data, dev, test: the labeled texts by role.
    """

    model: AttentionModel | None = None
    data: LabelledTexts | None = None
    dev: LabelledTexts | None = None
    test: LabelledTexts | None = None


@dataclass(frozen=True)
class ExplainOptions:
    """Everything that decides what the explanation tests compute.

    Attributes:
        texts: the texts.
        tests: the tests.
        classifier: the classifier that is trained from scratch.
        model: the model that is tested instead.
        transformer: which attention of that model is tested.
        training: how models are trained.
    """

    texts: TextOptions = field(default_factory=TextOptions)
    tests: ExplanationTestOptions = field(default_factory=ExplanationTestOptions)
    classifier: ClassifierOptions = field(default_factory=ClassifierOptions)
    model: OptionalModelOptions = field(default_factory=OptionalModelOptions)
    transformer: TransformerOptions = field(default_factory=TransformerOptions)
    training: ClassifierTrainingOptions = field(default_factory=ClassifierTrainingOptions)

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

    def groups(self) -> Iterator[OptionGroup]:
        """Yield all option groups."""
        yield from (self.texts, self.tests, self.classifier, self.model, self.transformer, self.training)

    def flat(self) -> dict[str, Any]:
        """Return all options by their names, as on the command line."""
        options: dict[str, Any] = {"seed": self.seed}
        for group in self.groups():
            options |= asdict(group)
        return options

    def check(self, loaded: Loaded) -> None:
        """Validate the options before anything slow happens, except for what only the tests know.

        Args:
            loaded: the model and the texts that were loaded before.

        Raises:
            OptionError: an option cannot be used, or contradicts another one.
        """
        self._check_texts(loaded)
        for group in self.groups():
            group.check()
        self._check_model(loaded)
        check_bounds(self)
        for name in ("epochs", "learning_rate"):
            if name in changed(self.training) and not self.trains(loaded):
                raise OptionError(f"{flag(name)} is for training, and nothing is trained in this run")

    def check_files(self) -> None:
        """Raise `CorpusError` where a file does not exist."""
        from ...corpora_loaders.lines import archive_of

        files = self.texts.files() + ([self.classifier.vectors] if self.classifier.vectors else [])
        files += [Path(self.model.model or "")] if self.is_saved else []
        for file in files:
            if not archive_of(file).exists():
                raise CorpusError("there is no such file", file=file)

    def _check_texts(self, loaded: Loaded) -> None:
        """Check that there are texts for each step of the run, and none without a purpose."""
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
        others = [*changed(self.transformer), *(["revision"] if self.model.revision is not None else [])]
        if others and (name is None or self.is_saved):
            raise OptionError(f"{flag(others[0])} is for transformers: --model MODEL")
        if name is not None or loaded.model is not None:
            for option in changed(self.classifier):
                raise OptionError(f"{flag(option)} is for the classifiers that are trained here, not for --model")

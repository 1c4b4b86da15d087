"""Everything that decides what the explanation tests compute, and whether it makes sense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.contract import OptionError
from attentionology.analyses.explanation.model_options import (
    ClassifierOptions,
    ClassifierTrainingOptions,
    TransformerOptions,
)
from attentionology.analyses.explanation.options import ExplanationTestOptions, TextOptions, changed, flag
from attentionology.analyses.shared.input_options import check_seed
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import archive_of

if TYPE_CHECKING:
    from attentionology.corpora_loaders import LabelledTexts
    from attentionology.extractors import AttentionModel


@dataclass(frozen=True, eq=False)
class Loaded:
    """What was loaded before, and takes the place of names and files in the options."""

    model: AttentionModel | None = None
    data: LabelledTexts | None = None
    dev: LabelledTexts | None = None
    test: LabelledTexts | None = None


@dataclass(frozen=True)
class ExplainOptions:
    """Everything that decides what the explanation tests compute.

    Attributes:
        texts, tests, classifier, transformer, training: the groups.
        seed: of everything random.
        loaded: what was loaded before.
    """

    texts: TextOptions = field(default_factory=TextOptions)
    tests: ExplanationTestOptions = field(default_factory=ExplanationTestOptions)
    classifier: ClassifierOptions = field(default_factory=ClassifierOptions)
    transformer: TransformerOptions = field(default_factory=TransformerOptions)
    training: ClassifierTrainingOptions = field(default_factory=ClassifierTrainingOptions)
    seed: int = 0
    loaded: Loaded = field(default_factory=Loaded)

    @property
    def trains(self) -> bool:
        """Whether models are trained in this run."""
        return self.loaded.model is None and (self.transformer.model is None or self.transformer.finetune)

    def groups(self) -> Iterator[Any]:
        """All option groups."""
        yield from (self.texts, self.tests, self.classifier, self.transformer, self.training)

    def flat(self) -> dict[str, Any]:
        """All options by their names, as on the command line."""
        return {"seed": self.seed} | {name: value for group in self.groups() for name, value in asdict(group).items()}

    def check(self) -> None:
        """Validate the options before anything slow happens, except for what only the tests know.

        Raises:
            OptionError: an option cannot be used, or contradicts another one.
        """
        self._check_data()
        for group in self.groups():
            group.check()
        check_seed(self.seed)
        for name in changed(self.classifier) if self.transformer.model is not None or self.loaded.model else ():
            raise OptionError(f"{flag(name)} is for the classifiers that are trained here, not for --model")
        for name in ("epochs", "learning_rate"):
            if name in changed(self.training) and not self.trains:
                raise OptionError(f"{flag(name)} is for training, and nothing is trained in this run")

    def check_files(self) -> None:
        """Raise `CorpusError` where a file does not exist."""
        files = self.texts.files() + ([self.classifier.vectors] if self.classifier.vectors else [])
        files += [Path(self.transformer.model or "")] if self.transformer.is_saved else []
        for file in files:
            if not archive_of(file).exists():
                raise CorpusError("there is no such file", file=file)

    def _check_data(self) -> None:
        """Refuse texts that are missing, and texts without a purpose."""
        texts, loaded = self.texts, self.loaded
        if self.trains and not (texts.data or loaded.data) and texts.data != ():
            raise OptionError(
                "--data FILE is missing: labelled texts to train on, a line each: label, blank or tab, text; or .csv, "
                ".tsv with columns 'label' and 'text', or .jsonl"
            )
        if not self.trains:
            if not (texts.test or loaded.test) and texts.test != ():
                raise OptionError("--test FILE is missing; or --finetune, to train the model on --data first")
            if texts.data or texts.dev or loaded.data or loaded.dev:
                again = "" if self.transformer.is_saved or loaded.model else "add --finetune, or "
                raise OptionError(f"--data and --dev are for training; {again}give --test alone")

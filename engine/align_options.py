"""The options that determine what an alignment run computes, and their validation."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attentionology.analyses.alignment.options import (
    AlignmentOptions,
    BitextOptions,
    LanguageOptions,
    LinkOptions,
    TranslatorOptions,
)
from attentionology.analyses.contract import OptionError, OptionGroup
from attentionology.analyses.shared.builtin import SAMPLE
from attentionology.analyses.shared.input_options import ExampleOptions


@dataclass(frozen=True)
class AlignOptions:
    """All options that determine what an alignment run computes.

    Attributes:
        bitext: the options of the sentence pairs.
        model: the options of the model.
        languages: the options of models of several languages.
        alignment: the options of the analysis.
        links: the options of the links that are written.
        examples: how many sentence pairs are kept with their maps.
    """

    bitext: BitextOptions = field(default_factory=BitextOptions)
    model: TranslatorOptions = field(default_factory=TranslatorOptions)
    languages: LanguageOptions = field(default_factory=LanguageOptions)
    alignment: AlignmentOptions = field(default_factory=AlignmentOptions)
    links: LinkOptions = field(default_factory=LinkOptions)
    examples: ExampleOptions = field(default_factory=ExampleOptions)

    @property
    def groups(self) -> tuple[OptionGroup, ...]:
        """All option groups."""
        return self.bitext, self.model, self.languages, self.alignment, self.links, self.examples

    def check(self) -> None:
        """Validate the options before anything slow happens.

        Raises:
            OptionError: an option cannot be used, or contradicts another one.
        """
        for group in self.groups:
            group.check()
        if self.bitext.gold is None and self.bitext.source != SAMPLE and self.alignment.controls:
            raise OptionError("--controls has no effect without gold links: --gold FILE")

    def flat(self) -> dict[str, Any]:
        """Return all options by the names that they have on the command line, for the run record."""
        flat = {name: value for group in self.groups for name, value in asdict(group).items()}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in flat.items()}
        return {name: str(value) if isinstance(value, Path) else value for name, value in plain.items()}

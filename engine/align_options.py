"""The options that determine what an alignment run computes, and their validation."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..analyses.alignment.options import (
    AlignmentOptions,
    BitextOptions,
    LanguageOptions,
    LinkOptions,
    TranslatorOptions,
)
from ..analyses.contract import OptionError, OptionGroup, OptionSet, Setting
from ..analyses.shared.builtin import SAMPLE
from ..analyses.shared.input_options import ExampleOptions, paths_read
from .job import Job

if TYPE_CHECKING:
    from ..corpora_loaders import Corpus
    from ..extractors.model.loaded_model import LoadedModel
    from ..reports.progress import Stages
    from .preparing import Prepared
    from .run import Run


@dataclass(frozen=True)
class AlignOptions(Job):
    """The options of ``align``: word alignment by a model that reads sentence pairs.

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
    def device(self) -> str:
        """The device of the model."""
        return self.model.device

    @property
    def groups(self) -> tuple[OptionGroup, ...]:
        """All option groups."""
        return self.bitext, self.model, self.languages, self.alignment, self.links, self.examples

    def check(self, corpus: Corpus | None = None) -> None:
        """Validate the options before anything slow happens.

        Raises:
            OptionError: an option cannot be used, or contradicts another one.
        """
        for group in self.groups:
            group.check()
        if self.bitext.gold is None and self.bitext.source != SAMPLE and self.alignment.controls:
            raise OptionError("--controls has no effect without gold links: --gold FILE")

    def prepare(
        self, *, model: LoadedModel | None = None, corpus: Corpus | None = None, stages: Stages | None = None
    ) -> Prepared:
        """Read the sentence pairs and load the model.

        Args:
            model: the model, if it has been loaded.
            corpus: the sentence pairs, if they have been loaded.
            stages: receives the times of the stages.

        Raises:
            OptionError, CorpusError, ModelError: an option cannot be used, or the pairs or the model cannot be read.
        """
        from ..analyses.alignment.analysis import Alignment
        from ..analyses.alignment.inputs import load_reader, read_bitext
        from ..extractors import DEFAULT_BATCH_CELLS
        from ..extractors.translation import PairEncoder
        from ..reports.progress import Stages
        from .pass_counts import Limits
        from .preparing import Prepared

        stages, chosen = stages or Stages(), self.alignment
        resolved: dict[str, Any] = {} if model is None else {"model": model.name}
        if corpus is not None:
            source_file, target_file = ([file.path for file in corpus.files] + [None, None])[:2]
            resolved |= {"source": source_file, "target": target_file}
        with stages("sentence pairs"):
            source = read_bitext(self.bitext) if corpus is None else corpus
        if isinstance(model, PairEncoder) and model.method != chosen.method:
            raise OptionError(f"the model was made for the method {model.method!r}, not for {chosen.method!r}")
        with stages("model"):
            model = model or load_reader(self.model, self.languages, chosen.method)
        setting = Setting(model, source, chosen=(Alignment.name,), seed=chosen.seed)
        return Prepared(
            chosen=(Alignment(),),
            setting=setting,
            maps=(setting.maps,),
            limits=Limits(chosen.batch_cells or DEFAULT_BATCH_CELLS, chosen.too_long),
            options=OptionSet([chosen, self.languages]),
            source=source,
            examples=self.examples.examples,
            resolved=resolved,
            warnings=tuple(source.remarks()),
        )

    def on_device(self, device: str) -> Self:
        """Return the same options with the model on another device."""
        return replace(self, model=replace(self.model, device=device))

    def flat(self) -> dict[str, Any]:
        """Return all options by the names that they have on the command line, for the run record."""
        flat = {name: value for group in self.groups for name, value in asdict(group).items()}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in flat.items()}
        return {name: str(value) if isinstance(value, Path) else value for name, value in plain.items()}

    def paths_read(self, corpus: Corpus | None = None) -> list[Path]:
        """Return the paths that the run reads: the model, the sentence pairs, and the files of links.

        Args:
            corpus: the sentence pairs, if they have been loaded.
        """
        loaded = [file.path for file in corpus.files] if corpus else []
        files = [given.partition("=")[2] for given in self.bitext.baseline]
        named = self.bitext
        return paths_read(self.model.model, named.source, named.target, named.gold, files, loaded)

    def finish(self, run: Run, prepared: Prepared, stages: Stages) -> None:
        """Write the links, if that was asked for."""
        from ..analyses.alignment.analysis import Alignment
        from ..analyses.alignment.written_links import chosen_links
        from ..corpora_loaders.alignment import write_links
        from .readers import reader_of

        if self.links.write is None:
            return
        read = reader_of(prepared.model, prepared.limits)
        with stages("write links"):
            links = chosen_links(prepared.setting.corpus, run[Alignment.name].chosen, self.alignment.merge, read)
            write_links(self.links.write, links)

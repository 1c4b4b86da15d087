"""The options that determine what a run computes, and their validation."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..analyses.contract import Analysis, OptionError, OptionSet, Setting
from ..analyses.registry import choose_analyses, registered_analyses
from ..analyses.shared.builtin import load_encoder, load_head
from ..analyses.shared.input_options import (
    ExampleOptions,
    LimitOptions,
    ModelOptions,
    check_seed,
    paths_read,
)
from ..analyses.shared.options import FeedForwardOptions, MapOptions
from ..corpora_loaders.errors import CorpusError
from .corpus import CorpusOptions, cut_text
from .job import Job

if TYPE_CHECKING:
    import pandas as pd

    from ..corpora_loaders import Corpus
    from ..extractors.model.loaded_model import LoadedModel
    from ..reports.progress import Stages
    from .preparing import Prepared


@dataclass(frozen=True)
class RunOptions(Job):
    """The options of ``analyze``: analyses of an encoder on sentences.

    Attributes:
        analyses: the names of the analyses; None for those that suit the corpus.
        groups: the options of the analyses.
        model: the options of the model.
        files: the options of the corpus.
        limits: which inputs are read, and how many at once.
        examples: how many inputs are kept with their maps.
        seed: the seed of everything random.
    """

    analyses: tuple[str, ...] | None = None
    groups: OptionSet = field(default_factory=OptionSet)
    model: ModelOptions = field(default_factory=ModelOptions)
    files: CorpusOptions = field(default_factory=CorpusOptions)
    limits: LimitOptions = field(default_factory=LimitOptions)
    examples: ExampleOptions = field(default_factory=ExampleOptions)
    seed: int = 0

    @property
    def device(self) -> str:
        """The device of the model."""
        return self.model.device

    def chosen(self, corpus: Corpus | None = None) -> list[Analysis[Any, Any]]:
        """The chosen analyses, in the order of the report.

        Args:
            corpus: the corpus, if it was loaded before.

        Raises:
            OptionError: a name is unknown or given twice.
        """
        if self.analyses is not None:
            names = [name for argument in self.analyses for name in argument.split(",") if name]
            if not names:
                raise OptionError("--analyses needs at least one name")
            return choose_analyses(names)
        registered = registered_analyses().values()
        if corpus is None:
            has_trees, has_text = self.files.has_trees, bool(self.files.text)
        else:
            from ..corpora_loaders.coreference import Documents

            has_trees, has_text = bool(corpus.relations), not isinstance(corpus, Documents)
        if not has_trees and not has_text:
            return [analysis for analysis in registered if analysis.of_mentions]
        return [analysis for analysis in registered if analysis.by_default and (has_trees or not analysis.of_trees)]

    def flat(self) -> dict[str, Any]:
        """All options by the names that they have on the command line, for the run record."""
        kinds = dict.fromkeys(kind for analysis in registered_analyses().values() for kind in analysis.options)
        flat: dict[str, Any] = {"seed": self.seed}
        groups: list[Any] = [self.model, self.files, self.limits, self.examples]
        groups += [self.groups[kind] for kind in kinds]
        for group in groups:
            flat |= {name: str(value) if isinstance(value, Path) else value for name, value in asdict(group).items()}
        return flat

    def paths_read(self, corpus: Corpus | None = None) -> list[Path]:
        """The paths that the run reads: the model, the corpus, and the files that options of analyses name.

        Args:
            corpus: the corpus, if it was loaded before.
        """
        loaded = [file.path for file in corpus.files] if corpus else []
        return paths_read(self.model.model, self.files.corpus, self.files.text, loaded, *self.files_of_groups())

    def files_of_groups(self) -> list[Path]:
        """The files that the options of analyses name."""
        values = [getattr(group, option.name) for group in self.groups for option in fields(group)]
        return [value for value in values if isinstance(value, Path)]

    def check(self, corpus: Corpus | None = None) -> None:
        """Validate the options before anything slow happens.

        Args:
            corpus: the corpus, if it was loaded before.

        Raises:
            OptionError, CorpusError: an option cannot be used, or contradicts another one.
        """
        self.model.check()
        if corpus is None:
            self.files.check_names()
        chosen = self.chosen(corpus)
        if corpus is None:
            self.files.check()
            self.files.check_analyses(chosen)
        self._check_that_all_are_read(chosen)
        self.limits.check()
        self.examples.check()
        check_seed(self.seed)
        for group in self.groups:
            group.check()
        for file in self.files_of_groups():
            if not file.exists():
                raise CorpusError("there is no such file", file=file)

    def prepare(
        self, *, model: LoadedModel | None = None, corpus: Corpus | None = None, stages: Stages | None = None
    ) -> Prepared:
        """Read the corpus, load the model, and cut a text into segments, as `Job.prepare` says."""
        from ..analyses.shared.map_facts import map_makers
        from ..corpora_loaders import PlainText
        from ..extractors import DEFAULT_BATCH_CELLS
        from ..reports.progress import Stages
        from .pass_counts import Limits
        from .preparing import Prepared

        stages, files, chosen = stages or Stages(), self.files, self.chosen(corpus)
        resolved = self._resolved(chosen, model, corpus)
        with stages("read the corpus"):
            source = files.read(chosen) if corpus is None else corpus
        kinds = self.groups[MapOptions]
        with stages("load the model"):
            maps = map_makers(kinds.map, kinds.merge, kinds.normalize, self.groups[FeedForwardOptions].ff_bias)
            model = model or load_encoder(self.model.model, revision=self.model.revision, device=self.model.device)
        setting = Setting(
            model=model,
            corpus=source,
            chosen=tuple(analysis.name for analysis in chosen),
            seed=self.seed,
            max_length=self.limits.max_length,
            load_masked_lm=functools.cache(lambda: load_head(setting.encoder)),
        )
        tables: dict[str, pd.DataFrame] = {}
        if isinstance(source, PlainText) and files.segments is not None:
            with stages("cut the text"):
                length = self.limits.max_length
                cut, tables["segments"] = cut_text(files, source, setting.encoder, max_length=length, seed=self.seed)
            setting = replace(setting, corpus=cut)
        return Prepared(
            chosen=tuple(chosen),
            setting=setting,
            maps=maps,
            limits=Limits(self.limits.batch_cells or DEFAULT_BATCH_CELLS, self.limits.too_long, self.limits.max_length),
            options=self.groups,
            source=source,
            examples=self.examples.examples,
            tables=tables,
            resolved=resolved,
            warnings=() if corpus is not None else tuple(files.warnings(setting.corpus)),
        )

    def on_device(self, device: str) -> Self:
        """Return the same options with the model on another device."""
        return replace(self, model=replace(self.model, device=device))

    def _resolved(
        self, chosen: Sequence[Analysis[Any, Any]], model: LoadedModel | None, corpus: Corpus | None
    ) -> dict[str, Any]:
        """Return the options whose values differ from those that were given, for the run record."""
        kinds = self.groups[MapOptions].map
        files = ([] if self.files.text else self.files.files) if corpus is None else [f.path for f in corpus.files]
        return {
            "corpus": files,
            **({} if model is None else {"model": model.name}),
            "analyses": [analysis.name for analysis in chosen],
            "map": kinds[0] if len(kinds) == 1 else list(kinds),
        }

    def _check_that_all_are_read(self, chosen: Sequence[Analysis[Any, Any]]) -> None:
        """Check that the chosen analyses read all options that differ from their defaults.

        Raises:
            OptionError: an option has no effect.
        """
        read = {kind for analysis in chosen for kind in analysis.options}
        for group in self.groups:
            kind = type(group)
            if kind in read or group == kind():
                continue
            default = kind()
            option = next(f.name for f in fields(group) if getattr(group, f.name) != getattr(default, f.name))
            readers = [name for name, analysis in registered_analyses().items() if kind in analysis.options]
            names = " ".join(analysis.name for analysis in chosen)
            raise OptionError(
                f"--{option.replace('_', '-')} is for {' or '.join(readers)}, not among --analyses {names}"
            )
        by_block = any("atbff" in kind for kind in self.groups[MapOptions].map)
        reads_block = by_block or any(not analysis.of_maps for analysis in chosen)
        if self.groups[FeedForwardOptions].ff_bias != FeedForwardOptions.ff_bias and not reads_block:
            raise OptionError("--ff-bias is for maps that pass the feed-forward block (atbff…) and for norms")

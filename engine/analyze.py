"""``analyze``: analyses of an encoder on a treebank, a coreference corpus or a text, as a job and as a function."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analyses.contract import AnalysisRow, OptionError, OptionGroup, OptionSet, Setting
from ..analyses.option_groups import groups_by_class
from ..analyses.registry import choose_analyses, load_analysis, registered_analyses
from ..analyses.shared.builtin import SAMPLE, load_encoder, load_head
from ..analyses.shared.input_options import (
    ExampleOptions,
    LimitOptions,
    ModelOptions,
    model_or_encoder,
    paths_read,
)
from ..analyses.shared.numbers import SEEDS
from ..analyses.shared.options import FeedForwardOptions, MapOptions
from ..corpora_loaders import Corpus
from ..corpora_loaders.errors import CorpusError
from ..reports.help.options import flag
from .corpus import CorpusOptions, check_analyses, check_files, cut_text, files_of, has_trees, read_corpus, unmet
from .execution import execute
from .job import Job
from .part_options import PartOptions
from .run import Run

if TYPE_CHECKING:
    import pandas as pd

    from ..extractors import Encoder
    from ..extractors.model.loaded_model import LoadedModel
    from ..reports.progress import Stages
    from .preparing import Prepared

_OF_ALL: tuple[type[Any], ...] = (ModelOptions, CorpusOptions, LimitOptions, ExampleOptions)
"""The option groups that do not belong to an analysis."""


@dataclass(frozen=True)
class AnalyzeJob(Job):
    """Analyses of an encoder on sentences.

    Attributes:
        analyses: the names of the analyses; None for those that suit the corpus.
        seed: the seed of everything random.
    """

    analyses: tuple[str, ...] | None = None
    seed: int = 0

    @property
    def files(self) -> CorpusOptions:
        """The options of the corpus."""
        return self.groups[CorpusOptions]

    def chosen(self, corpus: Corpus | None = None) -> list[AnalysisRow]:
        """Return the rows of the chosen analyses, in the order of the report."""
        if self.analyses is not None:
            names = [name for argument in self.analyses for name in argument.split(",") if name]
            if not names:
                raise OptionError("--analyses needs at least one name")
            return choose_analyses(names)
        registered = registered_analyses().values()
        if corpus is None:
            trees, text = has_trees(self.files), bool(self.files.text)
        else:
            from ..corpora_loaders.coreference import Documents

            trees, text = bool(corpus.relations), not isinstance(corpus, Documents)
        if not trees and not text:
            return [row for row in registered if row.of_mentions]
        return [row for row in registered if row.by_default and (trees or not row.of_trees)]

    def recorded(self) -> Iterable[OptionGroup]:
        """Return the groups that every run has, and those of all analyses."""
        kinds = [kind for row in registered_analyses().values() for kind in row.options]
        return [self.groups[kind] for kind in dict.fromkeys([*_OF_ALL, *kinds])]

    def flat(self) -> dict[str, Any]:
        """Return all options by name, and the seed."""
        return {"seed": self.seed, **super().flat()}

    def paths_read(self, corpus: Corpus | None = None) -> list[Path]:
        """Return the paths of the model and the corpus, and of the files that options of analyses name."""
        loaded = [file.path for file in corpus.files] if corpus else []
        return paths_read(self.model.model, self.files.corpus, self.files.text, loaded, *self._files_of_groups())

    def _files_of_groups(self) -> list[Path]:
        values = [getattr(group, option.name) for group in self.groups for option in fields(group)]
        return [value for value in values if isinstance(value, Path)]

    def check(self, corpus: Corpus | None = None) -> None:
        """Validate the options, as `Job.check` says."""
        self.model.check()
        if corpus is None:
            check_files(self.files)
        chosen = self.chosen(corpus)
        if corpus is None:
            check_analyses(self.files, chosen)
        self._check_that_all_are_read(chosen)
        SEEDS.check("seed", self.seed)
        for group in self.groups:
            group.check()
        for file in self._files_of_groups():
            if not file.exists():
                raise CorpusError("there is no such file", file=file)

    def _check_that_all_are_read(self, chosen: Sequence[AnalysisRow]) -> None:
        """Check that the chosen analyses read all options that differ from their defaults."""
        read = {kind for analysis in chosen for kind in analysis.options}
        for group in self.groups:
            kind = type(group)
            if kind in read or kind in _OF_ALL or group == kind():
                continue
            default = kind()
            option = next(f.name for f in fields(group) if getattr(group, f.name) != getattr(default, f.name))
            readers = [name for name, row in registered_analyses().items() if kind in row.options]
            names = " ".join(analysis.name for analysis in chosen)
            raise OptionError(f"{flag(option)} is for {' or '.join(readers)}, not among --analyses {names}")
        by_block = any("atbff" in kind for kind in self.groups[MapOptions].map)
        reads_block = by_block or any(not analysis.of_maps for analysis in chosen)
        if self.groups[FeedForwardOptions].ff_bias != FeedForwardOptions.ff_bias and not reads_block:
            raise OptionError("--ff-bias is for maps that pass the feed-forward block (atbff…) and for norms")

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
        named, limits, kinds = self.model, self.groups[LimitOptions], self.groups[MapOptions]
        resolved = self._resolved(chosen, model, corpus)
        with stages("read the corpus"):
            source = read_corpus(files, chosen) if corpus is None else corpus
        with stages("load the model"):
            ff_bias = self.groups[FeedForwardOptions].ff_bias
            maps = map_makers(kinds.map, kinds.merge, kinds.normalize, ff_bias)
            model = model or load_encoder(named.model, revision=named.revision, device=named.device)
        setting = Setting(
            model=model,
            corpus=source,
            chosen=tuple(analysis.name for analysis in chosen),
            seed=self.seed,
            max_length=limits.max_length,
            load_masked_lm=functools.cache(lambda: load_head(setting.encoder)),
        )
        tables: dict[str, pd.DataFrame] = {}
        if isinstance(source, PlainText) and files.segments is not None:
            with stages("cut the text"):
                length = limits.max_length
                cut, tables["segments"] = cut_text(files, source, setting.encoder, max_length=length, seed=self.seed)
            setting = replace(setting, corpus=cut)
        return Prepared(
            chosen=tuple(load_analysis(row.location) for row in chosen),
            setting=setting,
            maps=maps,
            limits=Limits(limits.batch_cells or DEFAULT_BATCH_CELLS, limits.too_long, limits.max_length),
            options=self.groups,
            source=source,
            examples=self.groups[ExampleOptions].examples,
            tables=tables,
            resolved=resolved,
            warnings=() if corpus is not None else tuple(unmet(files, setting.corpus)),
        )

    def _resolved(
        self, chosen: Sequence[AnalysisRow], model: LoadedModel | None, corpus: Corpus | None
    ) -> dict[str, Any]:
        """Return the options whose values differ from those that were given, for the run record."""
        kinds = self.groups[MapOptions].map
        files = ([] if self.files.text else files_of(self.files)) if corpus is None else [f.path for f in corpus.files]
        return {
            "corpus": files,
            **({} if model is None else {"model": model.name}),
            "analyses": [analysis.name for analysis in chosen],
            "map": kinds[0] if len(kinds) == 1 else list(kinds),
        }


def analyze(
    model: str | Path | Encoder = "demo",
    corpus: str | Path | Iterable[str | Path] | Corpus = "sample",
    *,
    analyses: str | Sequence[str] | None = None,
    maps: str | Sequence[str] | None = None,
    options: Sequence[OptionGroup] = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    seed: int = 0,
) -> Run:
    """Run analyses of a model on a corpus.

    The results are those of ``attentionology analyze`` with the same options.

    Args:
        model: a folder, a name on the Hugging Face Hub, ``"demo"``, or an encoder.
        corpus: one file or several, ``"sample"``, or a corpus that has been loaded.
        analyses: the names of the analyses. Default: those that the command chooses for such a corpus.
        maps: the kinds of maps, see `attentionology.list_kinds`. All are made in the same pass. Default: attention
            weights.
        options: at most one option group of each class, for example ``DependencyOptions(coarse=True)`` or
            ``ModelOptions(device="cuda")``. The defaults are those of the command.
        out: the folder for the report, its tables and figures; None to write nothing.
        overwrite: whether to replace the folder of an earlier run.
        seed: the seed of everything random.

    Returns:
        the results, which are looked up by the names of the analyses.

    Raises:
        OptionError: an option cannot be used, or contradicts another one.
        CorpusError: the corpus cannot be read, or lacks what an analysis needs.
        ModelError: the model cannot be loaded, or does not return attention.
        ExtractionError: none of the sentences could be read.

    Example:
        >>> from attentionology import CorpusOptions, CountOptions, analyze
        >>> options = [CorpusOptions(limit=3), CountOptions(replicates=0)]
        >>> run = analyze("demo", "sample", analyses="dependency", options=options)
        >>> run
        Run(dependency of all-MiniLM-L6-v2 on en_sample.conllu)
        >>> best = run["dependency"].best
        >>> best.loc[best["relation"] == "det", ["layer", "head", "correct", "total"]].to_dict("records")
        [{'layer': 3, 'head': 9, 'correct': 5, 'total': 5}]
    """
    given = OptionSet(groups_by_class(options).values())
    if maps is not None:
        kinds = given[MapOptions]
        if kinds.map != MapOptions.map:
            raise OptionError("the kinds of maps are given twice, as maps and in MapOptions")
        given = given.with_group(replace(kinds, map=(maps,) if isinstance(maps, str) else tuple(maps)))
    loaded_corpus = corpus if isinstance(corpus, Corpus) else None
    if loaded_corpus is not None and given[CorpusOptions] != CorpusOptions():
        raise OptionError("CorpusOptions apply to a corpus that is read from files, not to one that has been loaded")
    if not isinstance(corpus, Corpus) and corpus != SAMPLE:
        given = given.with_group(_with_files(given[CorpusOptions], corpus))
    part_options = given[PartOptions]
    if part_options.part is not None:
        raise OptionError("a share is counted by the command: attentionology analyze … --parts FOLDER --part K/N")
    model_options, encoder = model_or_encoder(model, given[ModelOptions])
    return execute(
        AnalyzeJob(
            given.with_group(model_options).without(PartOptions),
            analyses=(analyses,) if isinstance(analyses, str) else None if analyses is None else tuple(analyses),
            seed=seed,
        ),
        part_options=part_options,
        model=encoder,
        corpus=loaded_corpus,
        out=None if out is None else Path(out),
        overwrite=overwrite,
        command="attentionology.analyze(…)",
    )


def _with_files(options: CorpusOptions, corpus: str | Path | Iterable[str | Path]) -> CorpusOptions:
    """Return the options with the files that a call names."""
    if options.corpus or options.text:
        raise OptionError("the corpus is given twice, as corpus and in CorpusOptions")
    names = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    if not_a_path := next((name for name in names if not isinstance(name, str | Path)), None):
        kind = type(not_a_path).__name__
        raise OptionError(f"the corpus must be a list of files or the result of a loader, not a list of {kind}")
    return replace(options, corpus=tuple(map(str, names)))

"""`analyze`: what the command of the same name does, from Python."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.contract import Analysis, MapChoice, OptionError, OptionGroup, OptionSet, Setting, Titles
from attentionology.analyses.registry import choose_analyses, registered_analyses
from attentionology.analyses.shared.options import FeedForwardOptions, MapOptions
from attentionology.corpora_loaders import Corpus, PlainText
from attentionology.corpora_loaders.coreference import Documents
from attentionology.engine.builtin import check_revision, load_encoder, load_head
from attentionology.engine.corpus import CorpusOptions, cut_text
from attentionology.engine.options import LimitOptions, ModelOptions, check_seed, paths_read
from attentionology.engine.passes import Limits
from attentionology.engine.progress import Stages
from attentionology.engine.record import (
    describe_command,
    describe_corpus,
    describe_model,
    describe_reading,
    warnings_of,
)
from attentionology.engine.run import Run, run_analyses, sections_of
from attentionology.extractors import DEFAULT_BATCH_CELLS
from attentionology.reports.page import write_report
from attentionology.reports.run_folder import RunFolder
from attentionology.reports.tables import write_csv

if TYPE_CHECKING:
    import pandas as pd

    from attentionology.extractors import Encoder
    from attentionology.reports.page import Section


def analyze(
    model: str | Path | Encoder = "demo",
    corpus: str | Path | Iterable[str | Path] | Corpus = "sample",
    *,
    analyses: Sequence[str] | None = None,
    maps: Sequence[str] = ("weight",),
    options: Sequence[OptionGroup] = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    seed: int = 0,
) -> Run:
    """Run analyses of a model on a corpus.

    The results are those of ``attentionology analyze`` with the same options.

    Args:
        model: a folder, a name on the Hugging Face Hub, ``"demo"``, or an encoder.
        corpus: one file or several, ``"sample"``, or a corpus that was loaded before.
        analyses: names of the analyses. Default: those that the command chooses for such a corpus.
        maps: kinds of maps, see `attentionology.extractors.list_kinds`. All are made in the same pass.
        options: option groups, for example ``DependencyOptions(coarse=True)`` or ``ModelOptions(device="cuda")``.
            Groups that are not given have their defaults, which are those of the command.
        out: where to write the report, its tables and figures; None to write nothing.
        overwrite: replace the folder of an earlier run.
        seed: of everything random.

    Returns:
        the results, by the names of the analyses.

    Raises:
        OptionError: an option cannot be used, or contradicts another one.
        CorpusError: the corpus cannot be read, or has not what an analysis needs.
        ModelError: the model cannot be loaded, or gives no attention.
        ExtractionError: none of the sentences could be read.

    Example:
        >>> import attentionology
        >>> run = attentionology.analyze("demo", "sample", analyses=["dependency"])  # doctest: +SKIP
        >>> run["dependency"].best[["relation", "layer", "head", "accuracy"]].head()  # doctest: +SKIP
    """
    groups: dict[type[Any], Any] = {type(group): group for group in options}
    files = groups.pop(CorpusOptions, CorpusOptions())
    map_options = groups.pop(MapOptions, MapOptions())
    limits, model_options = groups.pop(LimitOptions, LimitOptions()), groups.pop(ModelOptions, ModelOptions())
    given = None
    if isinstance(corpus, Corpus):
        given = corpus
    elif not files.text:
        names = [corpus] if isinstance(corpus, str | Path) else list(corpus)
        files = replace(files, corpus=tuple(map(str, names)))
    return execute(
        RunOptions(
            analyses=None if analyses is None else tuple(analyses),
            groups=OptionSet([*groups.values(), replace(map_options, map=tuple(maps))]),
            model=replace(model_options, model=str(model)) if isinstance(model, str | Path) else model_options,
            files=files,
            limits=limits,
            seed=seed,
        ),
        encoder=None if isinstance(model, str | Path) else model,
        corpus=given,
        out=None if out is None else Path(out),
        overwrite=overwrite,
        command="attentionology.analyze(…)",
    )


@dataclass(frozen=True)
class RunOptions:
    """Everything that decides what a run computes.

    Attributes:
        analyses: their names, None for the usual ones.
        groups: the options of the analyses.
        model: which model.
        files: which corpus.
        limits: which inputs are read, and how many at once.
        seed: of everything random.
    """

    analyses: tuple[str, ...] | None = None
    groups: OptionSet = field(default_factory=OptionSet)
    model: ModelOptions = field(default_factory=ModelOptions)
    files: CorpusOptions = field(default_factory=CorpusOptions)
    limits: LimitOptions = field(default_factory=LimitOptions)
    seed: int = 0

    def chosen(self, corpus: Corpus | None = None) -> list[Analysis[Any, Any]]:
        """The analyses, in the order of the report.

        Args:
            corpus: the corpus, if it was loaded before; else that of the options is looked at.

        Raises:
            OptionError: a name is unknown or given twice.
        """
        if self.analyses is not None:
            names = [name for given in self.analyses for name in given.split(",") if name]
            if not names:
                raise OptionError("--analyses needs at least one name")
            return choose_analyses(names)
        known = registered_analyses().values()
        if corpus is None:
            has_trees, has_text = self.files.has_trees, bool(self.files.text)
        else:
            has_trees, has_text = bool(corpus.relations), not isinstance(corpus, Documents)
        if not has_trees and not has_text:
            return [analysis for analysis in known if analysis.of_mentions]
        return [analysis for analysis in known if analysis.by_default and (has_trees or not analysis.of_trees)]

    def flat(self) -> dict[str, Any]:
        """All options by their names, as on the command line."""
        kinds = dict.fromkeys(kind for analysis in registered_analyses().values() for kind in analysis.options)
        flat: dict[str, Any] = {"seed": self.seed}
        groups: list[Any] = [self.model, self.files, self.limits, *(self.groups[kind] for kind in kinds)]
        for group in groups:
            flat |= {name: str(value) if isinstance(value, Path) else value for name, value in asdict(group).items()}
        return flat

    def files_of_groups(self) -> list[Path]:
        """Files that the options of analyses name."""
        values = [getattr(group, option.name) for group in self.groups for option in fields(group)]
        return [value for value in values if isinstance(value, Path)]

    def check(self, corpus: Corpus | None = None) -> list[Analysis[Any, Any]]:
        """Validate the options before anything slow happens; returns the chosen analyses.

        Args:
            corpus: the corpus, if it was loaded before; else the files of the options are looked at.

        Raises:
            OptionError, CorpusError: an option cannot be used, or contradicts another one.
        """
        check_revision(self.model.model, self.model.revision)
        if corpus is None:
            self.files.check_names()
        chosen = self.chosen(corpus)
        if corpus is None:
            self.files.check(chosen)
        self._check_that_all_are_read(chosen)
        self.limits.check()
        check_seed(self.seed)
        for group in self.groups:
            group.check()
        return chosen

    def _check_that_all_are_read(self, chosen: Sequence[Analysis[Any, Any]]) -> None:
        """Refuse options that have no effect, because no chosen analysis reads them."""
        read = {kind for analysis in chosen for kind in analysis.options}
        for group in self.groups:
            kind = type(group)
            if kind in read or group == kind():
                continue
            option = next(f.name for f in fields(group) if getattr(group, f.name) != getattr(kind(), f.name))
            readers = [name for name, analysis in registered_analyses().items() if kind in analysis.options]
            names = " ".join(analysis.name for analysis in chosen)
            raise OptionError(
                f"--{option.replace('_', '-')} is for {' or '.join(readers)}, not among --analyses {names}"
            )
        by_block = any("atbff" in kind for kind in self.groups[MapOptions].map)
        reads_block = by_block or any(not analysis.of_maps for analysis in chosen)
        if self.groups[FeedForwardOptions].ff_bias != FeedForwardOptions.ff_bias and not reads_block:
            raise OptionError("--ff-bias is for maps that pass the feed-forward block (atbff…) and for norms")


def execute(
    options: RunOptions,
    *,
    encoder: Encoder | None = None,
    corpus: Corpus | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> Run:
    """Run everything that the options ask for.

    Args:
        options: what to compute.
        encoder: the model, if it was loaded before.
        corpus: the corpus, if it was loaded before.
        out: where to write the report; None to write nothing.
        overwrite: replace the folder of an earlier run.
        command: the command line or call, for the run record.
        shown_options: further options that the run record shows.
    """
    chosen = options.check(corpus)
    if out is None:
        return _run(options, chosen, encoder, corpus, None, command, shown_options or {})
    reads = paths_read(options.model.model, options.files.corpus, options.files.text, *options.files_of_groups())
    with RunFolder(out, overwrite=overwrite, reads=reads) as folder:
        run = _run(options, chosen, encoder, corpus, folder.path, command, {**(shown_options or {}), "out": str(out)})
    return replace(run, folder=out)


def _run(
    options: RunOptions,
    chosen: Sequence[Analysis[Any, Any]],
    encoder: Encoder | None,
    corpus: Corpus | None,
    folder: Path | None,
    command: str,
    shown_options: Mapping[str, Any],
) -> Run:
    stages, files, given = Stages(), options.files, corpus is not None
    if corpus is None:
        with stages("read the corpus"):
            corpus = files.read(chosen)
    map_options, ff_bias = options.groups[MapOptions], options.groups[FeedForwardOptions].ff_bias
    maps = [MapChoice(kind, map_options.merge, map_options.normalize, ff_bias) for kind in map_options.map]
    with stages("load the model"):
        from attentionology.analyses.shared.map_facts import map_maker

        for choice in maps:
            try:
                map_maker(choice)
            except ValueError as error:
                raise OptionError(str(error)) from None
        model = options.model
        encoder = encoder or load_encoder(model.model, revision=model.revision, device=model.device)
    extra: dict[str, pd.DataFrame] = {}
    if isinstance(corpus, PlainText) and files.segments is not None:
        with stages("cut the text"):
            limit, seed = options.limits.max_length, options.seed
            corpus, extra["segments"] = cut_text(files, corpus, encoder, max_length=limit, seed=seed)
    setting = Setting(
        encoder=encoder,
        corpus=corpus,
        chosen=tuple(analysis.name for analysis in chosen),
        seed=options.seed,
        max_length=options.limits.max_length,
        load_masked_lm=functools.cache(lambda: load_head(encoder)),
    )
    limits = Limits(
        options.limits.batch_cells or DEFAULT_BATCH_CELLS, options.limits.too_long, options.limits.max_length
    )
    parts = run_analyses(chosen, options.groups, setting, maps, limits=limits, stages=stages)
    titles = Titles(encoder.name, corpus_title(corpus))
    sections: list[Section] = []
    if folder is not None:
        with stages("tables and figures"):
            sections = sections_of(parts, titles)
    read_as = parts[0].plan.corpus or corpus
    reading = describe_reading(read_as, parts[0].log)
    resolved = {
        **shown_options,
        "corpus": [file.path for file in corpus.files] if given else [] if files.text else files.files,
        "analyses": list(setting.chosen),
        "map": map_options.map[0] if len(maps) == 1 else list(map_options.map),
    }
    record = {
        **describe_command(command, {**options.flat(), **resolved}, options.seed, stages),
        "model": describe_model(encoder),
        "corpus": describe_corpus(read_as),
        "sentences": reading,
        "warnings": encoder.warnings + warnings_of(reading) + ([] if given else files.warnings(read_as)),
    }
    for part in parts:
        record |= part.analysis.record(options.groups, part.counted, part.results)
        record["warnings"] += part.analysis.warnings(part.results)
    if folder is not None:
        for name, table in extra.items():
            write_csv(table, folder / "tables" / f"{name}.csv")
        write_report(folder, run=record, sections=sections)
    return Run(parts, titles, record, folder, tuple(sections))


def corpus_title(corpus: Corpus) -> str:
    """The names of the corpus files, for a title: the first two."""
    names = [Path(file.path).name for file in corpus.files]
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")

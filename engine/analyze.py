"""`analyze`: what the command of the same name does, from Python."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.contract import Analysis, MapChoice, OptionError, OptionGroup, OptionSet, Setting, Titles
from attentionology.analyses.registry import RegistryError
from attentionology.analyses.shared.builtin import SAMPLE, load_encoder, load_head
from attentionology.analyses.shared.input_options import LimitOptions, ModelOptions, paths_read
from attentionology.analyses.shared.options import FeedForwardOptions, MapOptions
from attentionology.analyses.shared.record import (
    describe_command,
    describe_corpus,
    describe_model,
    describe_reading,
    warnings_of,
)
from attentionology.corpora_loaders import Corpus, PlainText
from attentionology.engine.corpus import CorpusOptions, cut_text
from attentionology.engine.passes import Limits
from attentionology.engine.run import Run, records_of, run_analyses, sections_of
from attentionology.engine.run_options import RunOptions
from attentionology.extractors import DEFAULT_BATCH_CELLS
from attentionology.reports.page import write_report
from attentionology.reports.progress import Stages
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
        corpus: one file or several, ``"sample"``, or a corpus that was loaded before.
        analyses: names of the analyses. Default: those that the command chooses for such a corpus.
        maps: kinds of maps, see `attentionology.list_kinds`; default: attention weights. All are made in the same pass.
        options: at most one option group of each class, for example ``DependencyOptions(coarse=True)`` or
            ``ModelOptions(device="cuda")``. Groups that are not given have their defaults, those of the command.
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
    groups: dict[type[Any], Any] = {}
    for group in options:
        if groups.setdefault(type(group), group) is not group:
            raise OptionError(f"the options have two groups of the class {type(group).__name__}")
    map_options = groups.pop(MapOptions, MapOptions())
    if maps is not None:
        if map_options.map != MapOptions.map:
            raise OptionError("the kinds of maps are given twice, as maps and in MapOptions")
        map_options = replace(map_options, map=(maps,) if isinstance(maps, str) else tuple(maps))
    files = groups.pop(CorpusOptions, CorpusOptions())
    given = corpus if isinstance(corpus, Corpus) else None
    if given is not None and files != CorpusOptions():
        raise OptionError("CorpusOptions are for a corpus that is read from files, not for one that is loaded already")
    if given is None and corpus != SAMPLE:
        if files.corpus or files.text:
            raise OptionError("the corpus is given twice, as corpus and in CorpusOptions")
        names = [corpus] if isinstance(corpus, str | Path) else list(corpus)
        if wrong := next((name for name in names if not isinstance(name, str | Path)), None):
            kind = type(wrong).__name__
            raise OptionError(f"the corpus must be a list of files or the result of a loader, not a list of {kind}")
        files = replace(files, corpus=tuple(map(str, names)))
    model_options = groups.pop(ModelOptions, ModelOptions())
    encoder = None if isinstance(model, str | Path) else model
    if encoder is not None and model_options != ModelOptions():
        raise OptionError("ModelOptions are for a model that is loaded by its name, not for an encoder")
    if isinstance(model, str | Path) and model != ModelOptions.model:
        if model_options.model != ModelOptions.model:
            raise OptionError("the model is given twice, as model and in ModelOptions")
        model_options = replace(model_options, model=str(model))
    return execute(
        RunOptions(
            analyses=(analyses,) if isinstance(analyses, str) else None if analyses is None else tuple(analyses),
            groups=OptionSet([*(group for kind, group in groups.items() if kind is not LimitOptions), map_options]),
            model=model_options,
            files=files,
            limits=groups.get(LimitOptions, LimitOptions()),
            seed=seed,
        ),
        encoder=encoder,
        corpus=given,
        out=None if out is None else Path(out),
        overwrite=overwrite,
        command="attentionology.analyze(…)",
    )


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
    loaded = [file.path for file in corpus.files] if corpus else []
    reads = paths_read(
        options.model.model, options.files.corpus, options.files.text, loaded, *options.files_of_groups()
    )
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
    resolved: dict[str, Any] = {**shown_options, "corpus": [] if files.text else files.files}
    if corpus is not None:
        resolved["corpus"] = [file.path for file in corpus.files]
    if encoder is not None:
        resolved["model"] = encoder.name
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
    resolved["analyses"] = list(setting.chosen)
    resolved["map"] = map_options.map[0] if len(maps) == 1 else list(map_options.map)
    record = {
        **describe_command(command, {**options.flat(), **resolved}, options.seed, stages),
        "model": describe_model(encoder),
        "corpus": describe_corpus(read_as),
        "sentences": reading,
        "warnings": encoder.warnings + warnings_of(reading) + ([] if given else files.warnings(read_as)),
    }
    added = records_of(parts, options.groups)
    if taken := next((name for name in added if name in record), None):
        raise RegistryError(f"an analysis adds {taken!r} to the run record, which already has an entry of that name")
    record |= added
    further = [warning for part in parts for warning in part.analysis.warnings(part.results)]
    record["warnings"] += dict.fromkeys(further)
    if folder is not None:
        for name, table in extra.items():
            write_csv(table, folder / "tables" / f"{name}.csv")
        write_report(folder, run=record, sections=sections)
    return Run(parts, titles, record, folder, tuple(sections))


def corpus_title(corpus: Corpus) -> str:
    """The names of the corpus files, for a title: the first two."""
    names = [Path(file.path).name for file in corpus.files]
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")

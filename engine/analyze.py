"""`analyze`, the Python counterpart of the command ``attentionology analyze``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.contract import OptionError, OptionGroup, OptionSet, Titles
from attentionology.analyses.option_groups import groups_by_class
from attentionology.analyses.shared.builtin import SAMPLE
from attentionology.analyses.shared.input_options import ExampleOptions, LimitOptions, ModelOptions, model_or_encoder
from attentionology.analyses.shared.metric_states import StateError
from attentionology.analyses.shared.options import MapOptions
from attentionology.analyses.shared.record import (
    describe_command,
    describe_corpus,
    describe_model,
    describe_reading,
    warnings_of,
)
from attentionology.corpora_loaders import Corpus
from attentionology.engine.corpus import CorpusOptions, title_of_files
from attentionology.engine.distributed import counter_of
from attentionology.engine.explorer import explorer_of
from attentionology.engine.part_options import PartOptions
from attentionology.engine.parts import check_folder, part_folder
from attentionology.engine.run import Run, compared_kinds, count_analyses, sections_of, with_results
from attentionology.engine.run_options import RunOptions
from attentionology.engine.stored_run import states_of
from attentionology.engine.writing import complete_record, write_run
from attentionology.reports.explorer.encoding import script_json
from attentionology.reports.progress import Stages
from attentionology.reports.run_folder import RunFolder

if TYPE_CHECKING:
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
    groups = groups_by_class(options)
    map_options = groups.pop(MapOptions, MapOptions())
    if maps is not None:
        if map_options.map != MapOptions.map:
            raise OptionError("the kinds of maps are given twice, as maps and in MapOptions")
        map_options = replace(map_options, map=(maps,) if isinstance(maps, str) else tuple(maps))
    files = groups.pop(CorpusOptions, CorpusOptions())
    loaded_corpus = corpus if isinstance(corpus, Corpus) else None
    if loaded_corpus is not None and files != CorpusOptions():
        raise OptionError("CorpusOptions apply to a corpus that is read from files, not to one that has been loaded")
    if loaded_corpus is None and corpus != SAMPLE:
        if files.corpus or files.text:
            raise OptionError("the corpus is given twice, as corpus and in CorpusOptions")
        names = [corpus] if isinstance(corpus, str | Path) else list(corpus)
        if not_a_path := next((name for name in names if not isinstance(name, str | Path)), None):
            kind = type(not_a_path).__name__
            raise OptionError(f"the corpus must be a list of files or the result of a loader, not a list of {kind}")
        files = replace(files, corpus=tuple(map(str, names)))
    part_options = groups.pop(PartOptions, PartOptions())
    if part_options.part is not None:
        raise OptionError("a share is counted by the command: attentionology analyze … --parts FOLDER --part K/N")
    limits, examples = groups.pop(LimitOptions, LimitOptions()), groups.pop(ExampleOptions, ExampleOptions())
    model_options, encoder = model_or_encoder(model, groups.pop(ModelOptions, ModelOptions()))
    return execute(
        RunOptions(
            analyses=(analyses,) if isinstance(analyses, str) else None if analyses is None else tuple(analyses),
            groups=OptionSet([*groups.values(), map_options]),
            model=model_options,
            files=files,
            limits=limits,
            examples=examples,
            seed=seed,
        ),
        part_options=part_options,
        encoder=encoder,
        corpus=loaded_corpus,
        out=None if out is None else Path(out),
        overwrite=overwrite,
        command="attentionology.analyze(…)",
    )


def execute(
    options: RunOptions,
    *,
    part_options: PartOptions | None = None,
    encoder: Encoder | None = None,
    corpus: Corpus | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> Run:
    """Run all analyses that the options choose, and write the report.

    Args:
        options: the options of the run.
        part_options: how the corpus is cut into parts, and how many processes count.
        encoder: the model, if it has been loaded.
        corpus: the corpus, if it has been loaded.
        out: the folder of the report; None to write nothing.
        overwrite: whether to replace the folder of an earlier run.
        command: the command line or call, for the run record.
        shown_options: further options for the run record.
    """
    part_options = part_options or PartOptions()
    part_options.check()
    if encoder is not None and not part_options.in_this_process:
        raise OptionError("workers load the model themselves: give its name, not an encoder")
    options.check(corpus)
    if part_options.parts is not None:
        check_folder(part_options.parts)
    if out is None:
        return _run(options, part_options, encoder, corpus, None, command, shown_options or {})
    with RunFolder(out, overwrite=overwrite, reads=options.paths_read(corpus)) as folder:
        shown = {**(shown_options or {}), "out": str(out)}
        run = _run(options, part_options, encoder, corpus, folder.path, command, shown)
    return replace(run, folder=out)


def _run(
    options: RunOptions,
    part_options: PartOptions,
    encoder: Encoder | None,
    corpus: Corpus | None,
    folder: Path | None,
    command: str,
    shown_options: Mapping[str, Any],
) -> Run:
    stages = Stages()
    prepared = options.prepare(model=encoder, corpus=corpus, stages=stages)
    corpus = prepared.setting.corpus
    with part_folder(part_options.parts) as folder_of_parts:
        count = counter_of(prepared, options, part_options, folder_of_parts, stages)
        counted = count_analyses(prepared, count, stages=stages)
    with stages("results"):
        parts = with_results(counted.analyses, options.groups)
        titles = Titles(prepared.model.name, title_of_files([file.path for file in corpus.files]))
        contrasts = compared_kinds(parts, titles, options.groups)
    sections: list[Section] = []
    if folder is not None:
        with stages("tables and figures"):
            sections = sections_of(parts, titles, contrasts)
    read_as = counted.analyses[0].corpus or corpus
    reading = describe_reading(read_as, parts[0].log)
    base = {
        **describe_command(command, {**options.flat(), **shown_options, **prepared.resolved}, options.seed, stages),
        "model": describe_model(prepared.model),
        "corpus": describe_corpus(read_as),
        "sentences": reading,
        "warnings": [*prepared.model.warnings, *warnings_of(reading), *prepared.warnings],
    }
    states = None
    if folder is not None:
        try:
            states = states_of(counted, options.groups, titles, base, prepared.tables, read_as)
        except StateError as error:
            base["warnings"].append(f"The counts were not stored, so the report cannot be made again: {error}.")
    record = complete_record(base, parts, options.groups)
    samples = counted.counted_samples()
    run = Run(parts, titles, record, folder, tuple(sections), options.groups, contrasts, samples)
    if folder is not None:
        explorer = script_json(explorer_of(run))
        write_run(folder, sections=sections, record=record, tables=prepared.tables, states=states, explorer=explorer)
    return run

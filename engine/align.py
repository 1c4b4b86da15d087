"""`align`, the Python counterpart of the command ``attentionology align``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.alignment.options import (
    AlignmentOptions,
    BitextOptions,
    LanguageOptions,
    LinkOptions,
    TranslatorOptions,
)
from attentionology.analyses.contract import OptionError, OptionGroup, Titles
from attentionology.analyses.option_groups import groups_by_class
from attentionology.analyses.shared.builtin import SAMPLE
from attentionology.analyses.shared.input_options import ExampleOptions
from attentionology.analyses.shared.record import (
    describe_command,
    describe_corpus,
    describe_model,
    describe_reading,
    warnings_of,
)
from attentionology.corpora_loaders.alignment import Bitext
from attentionology.engine.align_options import AlignOptions
from attentionology.engine.corpus import title_of_files
from attentionology.engine.distributed import counter_of
from attentionology.engine.explorer import explorer_of
from attentionology.engine.part_options import PartOptions
from attentionology.engine.parts import check_folder, part_folder
from attentionology.engine.run import Run, count_analyses, sections_of, with_results
from attentionology.engine.stored_run import states_of
from attentionology.engine.writing import complete_record, write_run
from attentionology.reports.explorer.encoding import script_json
from attentionology.reports.progress import Stages
from attentionology.reports.run_folder import RunFolder

if TYPE_CHECKING:
    from attentionology.extractors.translation import PairReader


def align(
    model: str | Path | PairReader = SAMPLE,
    bitext: str | Path | Bitext = SAMPLE,
    target: str | Path | None = None,
    *,
    gold: str | Path | None = None,
    options: Sequence[OptionGroup] = (),
    out: str | Path | None = None,
    overwrite: bool = False,
) -> Run:
    """Align words by the cross-attention of a translation model, and score the links against gold links.

    The results are those of ``attentionology align`` with the same options.

    Args:
        model: a folder, a name on the Hugging Face Hub, ``"sample"``, or a model that has been loaded: an
            `attentionology.Translator`, or an `attentionology.extractors.translation.PairEncoder`.
        bitext: the file of the source sentences or of both sides, ``"sample"``, or sentence pairs that have been loaded
            (with gold links, see `attentionology.corpora_loaders.alignment.add_links`).
        target: the file of the translations, if they are in a separate file.
        gold: the file of gold links; None to score nothing.
        options: at most one option group of each class, for example ``AlignmentOptions(direction="both")`` or
            ``BitextOptions(one_based=True)``. The defaults are those of the command.
        out: the folder for the report, its tables and figures; None to write nothing.
        overwrite: whether to replace the folder of an earlier run.

    Returns:
        the results, as ``run["alignment"]``.

    Raises:
        OptionError: an option cannot be used, or contradicts another one.
        CorpusError: a file cannot be read, or does not belong to the sentence pairs.
        ModelError: the model cannot be loaded, or gives no cross-attention, or not one that its weights explain.
        ExtractionError: none of the pairs could be read.

    Example:
        >>> from attentionology import AlignmentOptions, align
        >>> from attentionology.analyses.alignment.options import BitextOptions
        >>> run = align("sample", options=[BitextOptions(limit=20), AlignmentOptions(replicates=0)])
        >>> run
        Run(alignment of made-up pair on pairs.txt)
        >>> best = run["alignment"].tables.best.set_index(["setting", "measure", "heads"])
        >>> bool(best.loc[("AWI", "norm", "all"), "error_rate"] < 0.15)
        True
    """
    known = (AlignmentOptions, BitextOptions, ExampleOptions, LanguageOptions, LinkOptions, TranslatorOptions)
    groups = groups_by_class(options, known, "align has no options of the class {}")
    files = groups.get(BitextOptions, BitextOptions())
    model_options = groups.get(TranslatorOptions, TranslatorOptions())
    source = None if isinstance(bitext, Bitext) or bitext == SAMPLE else bitext
    for name, value in (("source", source), ("target", target), ("gold", gold)):
        if value is not None:
            if getattr(files, name) != getattr(BitextOptions, name):
                raise OptionError(f"{name} is given twice, also in BitextOptions")
            files = replace(files, **{name: str(value)})
    if isinstance(bitext, Bitext) and files != BitextOptions():
        raise OptionError(
            "sentence pairs that have been loaded already have their links, so BitextOptions cannot be given"
        )
    loaded = None if isinstance(model, str | Path) else model
    if isinstance(model, str | Path) and model != SAMPLE:
        if model_options.model != SAMPLE:
            raise OptionError("the model is given twice, as model and in TranslatorOptions")
        model_options = replace(model_options, model=str(model))
    return execute(
        AlignOptions(
            files,
            model_options,
            groups.get(LanguageOptions, LanguageOptions()),
            groups.get(AlignmentOptions, AlignmentOptions()),
            groups.get(LinkOptions, LinkOptions()),
            groups.get(ExampleOptions, ExampleOptions()),
        ),
        reader=loaded,
        bitext=bitext if isinstance(bitext, Bitext) else None,
        out=None if out is None else Path(out),
        overwrite=overwrite,
        command="attentionology.align(…)",
    )


def execute(
    options: AlignOptions,
    *,
    part_options: PartOptions | None = None,
    reader: PairReader | None = None,
    bitext: Bitext | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> Run:
    """Run the analysis, and write the report and the links.

    Args:
        options: the options of the run.
        part_options: how the pairs are cut into parts, and how many processes count.
        reader: the model, if it has been loaded.
        bitext: the sentence pairs, if they have been loaded.
        out: the folder of the report; None to write nothing.
        overwrite: whether to replace the folder of an earlier run.
        command: the command line or call, for the run record.
        shown_options: further options for the run record.
    """
    part_options = part_options or PartOptions()
    part_options.check()
    options.check()
    if reader is not None and not part_options.in_this_process:
        raise OptionError("workers load the model themselves: give its name, not a model")
    if part_options.parts is not None:
        check_folder(part_options.parts)
    shown = dict(shown_options or {})
    if out is None:
        return _run(options, part_options, reader, bitext, None, command, shown)
    with RunFolder(out, overwrite=overwrite, reads=options.paths_read(bitext)) as folder:
        run = _run(options, part_options, reader, bitext, folder.path, command, {**shown, "out": str(out)})
    return replace(run, folder=out)


def _run(
    options: AlignOptions,
    part_options: PartOptions,
    reader: PairReader | None,
    bitext: Bitext | None,
    folder: Path | None,
    command: str,
    shown_options: Mapping[str, Any],
) -> Run:
    stages = Stages()
    prepared = options.prepare(model=reader, corpus=bitext, stages=stages)
    corpus = prepared.setting.corpus
    with part_folder(part_options.parts) as parts_in:
        count = counter_of(prepared, options, part_options, parts_in, stages)
        counted = count_analyses(prepared, count, stages=stages)
    with stages("results"):
        parts = with_results(counted.analyses, prepared.options)
        titles = Titles(prepared.model.name, title_of_files([file.path for file in corpus.files]))
    sections = []
    if folder is not None:
        with stages("tables and figures"):
            sections = sections_of(parts, titles)
    reading = describe_reading(corpus, parts[0].log)
    shown = {**options.flat(), **shown_options, **prepared.resolved}
    described = describe_corpus(corpus)
    record = {
        **describe_command(command, shown, options.alignment.seed, stages),
        "model": describe_model(prepared.model),
        "corpus": {**described, "counts": {**described["counts"], "sentences": len(corpus)}},
        "sentences": reading,
        "warnings": [*prepared.model.warnings, *warnings_of(reading)],
    }
    whole = complete_record(record, parts, prepared.options)
    samples = counted.counted_samples()
    run = Run(parts, titles, whole, folder, tuple(sections), prepared.options, samples=samples)
    options.finish(run, prepared, stages)
    if folder is not None:
        states = states_of(counted, prepared.options, titles, record, {}, corpus)
        explorer = script_json(explorer_of(run))
        write_run(folder, sections=sections, record=whole, tables={}, states=states, explorer=explorer)
    return run

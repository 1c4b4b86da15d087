"""What the command ``align`` does: read, count, and write the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.alignment.options import AlignmentOptions, BitextOptions, TranslatorOptions
from attentionology.analyses.alignment.record import describe
from attentionology.analyses.alignment.run import AlignmentResults, align, read_inputs
from attentionology.analyses.alignment.section import alignment_section
from attentionology.analyses.alignment.terminal import alignment_table
from attentionology.analyses.contract import Titles
from attentionology.analyses.shared.builtin import SAMPLE
from attentionology.analyses.shared.input_options import paths_read
from attentionology.corpora_loaders.alignment import write_links
from attentionology.extractors.translation import Translator, load_sample_translator
from attentionology.reports.page import Section, write_report
from attentionology.reports.progress import Stages
from attentionology.reports.run_folder import RunFolder

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, eq=False)
class Alignment:
    """A finished run.

    Attributes:
        results: the results.
        record: the run record.
        section: the section of the report.
    """

    results: AlignmentResults
    record: Mapping[str, Any]
    section: Section

    def show(self, width: int) -> RenderableType:
        """Return what a terminal of ``width`` columns shows."""
        return alignment_table(self.results, width)


def load_translator(options: TranslatorOptions) -> Translator:
    """Load the translation model.

    Raises:
        OptionError: an option cannot be used.
        ModelError: the model cannot be loaded, or gives no cross-attention.
    """
    options.check()
    if options.model == SAMPLE:
        return load_sample_translator()
    return Translator.from_pretrained(
        options.model,
        revision=options.revision,
        device=options.device,
        source_language=options.source_language,
        target_language=options.target_language,
        lead=options.lead or "",
    )


def execute(
    bitext: BitextOptions,
    translator: TranslatorOptions,
    options: AlignmentOptions,
    *,
    out: Path,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any],
) -> Alignment:
    """Run the analysis and write the report.

    Args:
        bitext, translator, options: what to do.
        out: the results folder.
        overwrite: replace the folder of an earlier run.
        command: the command line, for the run record.
        shown_options: all options, for the run record.
    """
    bitext.check()
    translator.check()
    options.check()
    stages = Stages()
    files = [given.partition("=")[2] for given in bitext.baseline]
    reads = paths_read(translator.model, bitext.source, bitext.target, bitext.gold, files)
    with RunFolder(out, overwrite=overwrite, reads=reads) as folder:
        with stages("sentence pairs"):
            inputs = read_inputs(bitext)
        with stages("model"):
            model = load_translator(translator)
        with stages("alignment"):
            results = align(inputs, model, options)
        with stages("tables and figures"):
            titles = Titles(model.name, Path(inputs.bitext.files[0].path).name)
            section = alignment_section(results, titles)
        shown = {name: _plain(value) for name, value in shown_options.items()}
        record = describe(inputs, model, results, stages, command=command, options=shown)
        write_report(folder.path, run=record, sections=[section])
        if options.write is not None:
            write_links(options.write, [results.links.get(pair.id, ()) for pair in inputs.bitext.pairs])
    return Alignment(results, record, section)


def _plain(value: Any) -> Any:
    """The value of an option as JSON has it."""
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value

"""``align``: word alignment by a model that reads sentence pairs, as a job and as a function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..analyses.alignment.analysis import Alignment
from ..analyses.alignment.inputs import load_reader, read_bitext
from ..analyses.alignment.links import chosen_links
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
from ..corpora_loaders import Corpus
from ..corpora_loaders.alignment import Bitext, write_links
from ..extractors.model.loaded_model import LoadedModel
from ..extractors.translation import PairEncoder, PairReader
from ..reports.progress import Stages, showing
from .counting.job import Job, RunSetup
from .counting.passes import Limits, reader_of
from .execution import execute
from .results.run import Run

_GROUPS: tuple[type[Any], ...] = (
    BitextOptions,
    TranslatorOptions,
    LanguageOptions,
    AlignmentOptions,
    LinkOptions,
    ExampleOptions,
)


@dataclass(frozen=True)
class AlignJob(Job):
    """Word alignment by a model that reads sentence pairs."""

    model_options = TranslatorOptions

    @property
    def kinds(self) -> Iterable[type[Any]]:
        """All groups of the command."""
        return _GROUPS

    def paths_read(self, corpus: Corpus | None = None) -> list[Path]:
        """Return the paths of the model, the sentence pairs, and the files of links."""
        files = self.groups[BitextOptions]
        loaded = [file.path for file in corpus.files] if corpus else []
        baselines = [name_and_file.partition("=")[2] for name_and_file in files.baseline]
        return paths_read(self.model.model, files.source, files.target, files.gold, baselines, loaded)

    def paths_written(self) -> list[Path]:
        """Return the file for links, if there is one."""
        return paths_read(self.groups[LinkOptions].write)

    def check(self, corpus: Corpus | None = None) -> None:
        """Validate the options, as `Job.check` says. The sample has gold links of its own."""
        super().check(corpus)
        bitext = self.groups[BitextOptions]
        if bitext.gold is None and bitext.source != SAMPLE and self.groups[AlignmentOptions].controls:
            raise OptionError("--controls has no effect without gold links: --gold FILE")

    def prepare(
        self, *, model: LoadedModel | None = None, corpus: Corpus | None = None, stages: Stages | None = None
    ) -> RunSetup:
        """Read the sentence pairs and load the model, as `Job.prepare` says."""
        stages = stages or Stages()
        options, languages = self.groups[AlignmentOptions], self.groups[LanguageOptions]
        resolved: dict[str, Any] = {} if model is None else {"model": model.name}  # options whose values are found out
        if corpus is not None:  # which may have one file of both sides, or none
            resolved["source"], resolved["target"], *_ = *(file.path for file in corpus.files), None, None
        with stages("sentence pairs"):
            bitext = read_bitext(self.groups[BitextOptions]) if corpus is None else corpus
        if isinstance(model, PairEncoder) and model.method != options.method:
            raise OptionError(f"the model was made for the method {model.method!r}, not for {options.method!r}")
        with stages("model"):
            model = model or load_reader(self.groups[TranslatorOptions], languages, options.method)
        setting = Setting(model, bitext, chosen=(Alignment.name,), seed=options.seed)
        return RunSetup(
            chosen=(Alignment(),),
            setting=setting,
            maps=(setting.maps,),
            limits=Limits.of(model, options.batch_cells, options.too_long),
            options=OptionSet([options, languages, self.groups[ExampleOptions]]),
            source=bitext,
            resolved=resolved,
            warnings=tuple(bitext.remarks()),
        )

    def finish(self, run: Run, prepared: RunSetup, stages: Stages) -> Run:
        """Write the links, if that was asked for."""
        write = self.groups[LinkOptions].write
        if write is None:
            return run
        read = reader_of(prepared.setting.model, prepared.limits)
        merge = self.groups[AlignmentOptions].merge
        with stages("write links"):
            choice = run[Alignment.name].chosen
            links = chosen_links(prepared.setting.corpus, choice.series, choice.layer, merge, read)
            write_links(write, links, overwrite=True)  # it has been checked before the sentence pairs were read
        return run


def align(
    model: str | Path | PairReader = SAMPLE,
    bitext: str | Path | Bitext = SAMPLE,
    target: str | Path | None = None,
    *,
    gold: str | Path | None = None,
    options: OptionGroup | Sequence[OptionGroup] = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: bool | None = None,
) -> Run:
    """Align words by the cross-attention of a translation model, and score the links against gold links.

    The results are those of ``attentionology align`` with the same options.

    Args:
        model: a folder, a name on the Hugging Face Hub, ``"sample"``, or a model that has been loaded: a
            `attentionology.extractors.translation.Translator` or
            `attentionology.extractors.translation.PairEncoder`.
        bitext: the file of the source sentences or of both sides, ``"sample"``, or sentence pairs that have been loaded
            as a `attentionology.corpora_loaders.alignment.Bitext` (with gold links, see
            `attentionology.corpora_loaders.alignment.add_links`).
        target: the file of the translations, if they are in a separate file.
        gold: the file of gold links; None to score nothing.
        options: one option group, or several of different classes, for example
            ``AlignmentOptions(direction="both")``, ``BitextOptions(one_based=True)``, or ``LinkOptions(write=…)``,
            which writes the links of the best layer. The defaults are those of the command.
        out: the folder for the report, its tables and figures; None to write nothing.
        overwrite: whether to replace the folder of an earlier run.
        progress: whether to show progress bars. Default: in an interactive session and in a notebook.

    Returns:
        the results, as ``run.alignment``.

    Raises:
        OptionError: an option cannot be used, or contradicts another one.
        CorpusError: a file cannot be read, or does not belong to the sentence pairs.
        ModelError: the model cannot be loaded, or gives no cross-attention, or not one that its weights explain.
        ExtractionError: none of the pairs could be read.

    Example:
        >>> from attentionology import align
        >>> from attentionology.analyses import AlignmentOptions, BitextOptions
        >>> run = align("sample", options=[BitextOptions(limit=20), AlignmentOptions(replicates=0)])
        >>> run
        Run(alignment of made-up pair on pairs.txt, first 20 sentence pairs)
        >>> best = run.alignment.best.set_index(["setting", "measure", "heads"])
        >>> bool(best.loc[("AWI", "norm", "all"), "error_rate"] < 0.15)
        True
    """
    groups = OptionSet.of(options, _GROUPS, "align")
    source = None if isinstance(bitext, Bitext) or bitext == SAMPLE else bitext
    files = {"source": source, "target": target, "gold": gold}
    paths = {name: None if file is None else str(file) for name, file in files.items()}
    groups = groups.with_values(BitextOptions, **paths)
    if isinstance(bitext, Bitext) and groups[BitextOptions] != BitextOptions():
        raise OptionError(
            "sentence pairs that have been loaded already have their links, so BitextOptions cannot be given"
        )
    if isinstance(model, str | Path):
        groups = groups.with_values(TranslatorOptions, model=None if model == SAMPLE else str(model))
    with showing(progress):
        return execute(
            AlignJob(groups),
            model=None if isinstance(model, str | Path) else model,
            corpus=bitext if isinstance(bitext, Bitext) else None,
            out=None if out is None else Path(out),
            overwrite=overwrite,
            command="attentionology.align(…)",
        )

"""`align`, the Python counterpart of the command ``attentionology align``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..analyses.alignment.options import (
    AlignmentOptions,
    BitextOptions,
    LanguageOptions,
    LinkOptions,
    TranslatorOptions,
)
from ..analyses.contract import OptionError, OptionGroup
from ..analyses.option_groups import groups_by_class
from ..analyses.shared.builtin import SAMPLE
from ..analyses.shared.input_options import ExampleOptions
from ..corpora_loaders.alignment import Bitext
from .align_options import AlignOptions
from .execution import execute
from .run import Run

if TYPE_CHECKING:
    from ..extractors.translation import PairReader


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
        model=loaded,
        corpus=bitext if isinstance(bitext, Bitext) else None,
        out=None if out is None else Path(out),
        overwrite=overwrite,
        command="attentionology.align(…)",
    )

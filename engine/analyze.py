"""`analyze`, the Python counterpart of the command ``attentionology analyze``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..analyses.contract import OptionError, OptionGroup, OptionSet
from ..analyses.option_groups import groups_by_class
from ..analyses.shared.builtin import SAMPLE
from ..analyses.shared.input_options import ExampleOptions, LimitOptions, ModelOptions, model_or_encoder
from ..analyses.shared.options import MapOptions
from ..corpora_loaders import Corpus
from .corpus import CorpusOptions
from .execution import execute
from .part_options import PartOptions
from .run import Run
from .run_options import RunOptions

if TYPE_CHECKING:
    from ..extractors import Encoder


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
        model=encoder,
        corpus=loaded_corpus,
        out=None if out is None else Path(out),
        overwrite=overwrite,
        command="attentionology.analyze(…)",
    )

"""``analyze``: analyses of an encoder on a treebank, a coreference corpus or a text, as a job and as a function."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..analyses.contract import AnalysisRow, OptionError, OptionGroup, OptionSet, Setting
from ..analyses.dependency.analysis import Dependency
from ..analyses.dependency.options import DecisionOptions, DependencyOptions
from ..analyses.option_groups import check_value, names_in
from ..analyses.registry import choose_analyses, load_analysis, registered_analyses
from ..analyses.shared.builtin import SAMPLE, load_head
from ..analyses.shared.input_options import ExampleOptions, LimitOptions, ModelOptions, model_or_encoder, paths_read
from ..analyses.shared.numbers import Seed
from ..analyses.shared.options import FeedForwardOptions, MapOptions, map_makers
from ..analyses.shared.part_options import PartOptions
from ..corpora_loaders import Corpus, PlainText, Sentence, Texts, Treebank
from ..corpora_loaders.documents import Documents
from ..corpora_loaders.errors import CorpusError
from ..corpora_loaders.in_memory import files_or_corpus
from ..corpora_loaders.lines import file_sha256
from ..corpora_loaders.minimal_pairs import Pairs
from ..corpora_loaders.pairs import with_pairs
from ..extractors import AnyModel, as_encoder
from ..extractors.model.loaded_model import LoadedModel
from ..reports.help.options import flag
from ..reports.progress import Stages, showing
from .corpus import CorpusOptions, check_analyses, check_files, cut_text, files_of, has_trees, read_corpus, unmet
from .counting.job import Job, RunSetup
from .counting.passes import Limits
from .decisions import DECISIONS, as_corpus, decisions_of
from .execution import execute
from .results.run import Run

_OF_ALL: tuple[type[Any], ...] = (ModelOptions, CorpusOptions, LimitOptions, ExampleOptions, DecisionOptions)
"""The option groups that do not belong to an analysis."""


@dataclass(frozen=True)
class AnalyzeJob(Job):
    """Analyses of an encoder on sentences."""

    analyses: tuple[str, ...] | None = None  # None for those that suit the corpus
    seed: int = 0

    @property
    def kinds(self) -> Iterable[type[Any]]:
        """The groups that every run has, and those of all analyses, each once."""
        of_analyses = [kind for row in registered_analyses().values() for kind in row.options]
        return dict.fromkeys([*_OF_ALL, *of_analyses])

    def chosen(self, corpus: Corpus | None = None) -> list[AnalysisRow]:
        """Return the rows of the chosen analyses, in the order of the report."""
        if self.analyses is not None:
            names = [name for argument in self.analyses for name in argument.split(",") if name]
            if not names:
                raise OptionError("--analyses needs at least one name")
            return choose_analyses(names)
        if corpus is None:
            files = self.groups[CorpusOptions]
            with_trees, is_text, of_pairs = has_trees(files), bool(files.text), bool(files.minimal_pairs)
        else:
            with_trees, is_text = bool(corpus.relations), not isinstance(corpus, Documents)
            of_pairs = isinstance(corpus, Pairs)
        registered = registered_analyses().values()
        if of_pairs:
            return [row for row in registered if row.of_pairs]
        if not with_trees and not is_text:  # documents with mentions
            return [row for row in registered if row.of_mentions]
        return [row for row in registered if row.by_default and (with_trees or not row.of_trees)]

    def flat(self) -> dict[str, Any]:
        """Return all options by name, and the seed."""
        return {"seed": self.seed, **super().flat()}

    def paths_read(self, corpus: Corpus | None = None) -> list[Path]:
        """Return the paths of the model and the corpus, and of the files that options of analyses name."""
        files = self.groups[CorpusOptions]
        loaded = [file.path for file in corpus.files] if corpus else []
        given = (files.corpus, files.text, files.minimal_pairs)
        return paths_read(self.model.model, *given, loaded, *self._files_in_options())

    def _files_in_options(self) -> list[Path]:
        """Return the values of all options that are paths."""
        values = [value for group in self.groups for value in asdict(group).values()]
        return [value for value in values if isinstance(value, Path)]

    def check(self, corpus: Corpus | None = None) -> None:
        """Validate the options, and check that the files exist and the chosen analyses read all options."""
        super().check(corpus)
        files = self.groups[CorpusOptions]
        if corpus is None:
            check_files(files)
        chosen = self.chosen(corpus)
        if corpus is None:
            check_analyses(files, chosen)
        self._check_that_all_are_read(chosen)
        if self.groups[DecisionOptions].decisions:
            if Dependency.name not in (row.name for row in chosen):
                raise OptionError("--decisions is for the analysis dependency, not among --analyses")
            if self.groups[DependencyOptions].gold != "basic":
                raise OptionError("--decisions needs basic trees, with one head each; leave out --trees and --pairs")
        check_value("seed", self.seed, Seed)
        for file in self._files_in_options():
            if not file.exists():
                raise CorpusError("there is no such file", file=file)

    def _check_that_all_are_read(self, chosen: Sequence[AnalysisRow]) -> None:
        """Check that the chosen analyses read all options that differ from their defaults."""
        classes_read = {group_class for analysis in chosen for group_class in analysis.options}
        for group in self.groups:
            group_class, defaults = type(group), type(group)()
            if group_class in classes_read or group_class in _OF_ALL or group == defaults:
                continue
            option = next(name for name, value in asdict(group).items() if value != getattr(defaults, name))
            readers = " or ".join(name for name, row in registered_analyses().items() if group_class in row.options)
            names = " ".join(analysis.name for analysis in chosen)
            raise OptionError(f"{flag(option)} is for {readers}, not among --analyses {names}")
        # Analyses of maps have this option for any kind of map, but only some kinds read it.
        maps_pass_block = any("atbff" in kind_of_map for kind_of_map in self.groups[MapOptions].map)
        reads_feed_forward = maps_pass_block or any(not analysis.of_maps for analysis in chosen)
        if self.groups[FeedForwardOptions] != FeedForwardOptions() and not reads_feed_forward:
            raise OptionError("--ff-bias is for maps that pass the feed-forward block (atbff…) and for norms")

    def prepare(
        self, *, model: LoadedModel | None = None, corpus: Corpus | None = None, stages: Stages | None = None
    ) -> RunSetup:
        """Read the corpus, load the model, and cut a text into segments, as `Job.prepare` says."""
        stages, chosen = stages or Stages(), self.chosen(corpus)
        files, limits, map_options = self.groups[CorpusOptions], self.groups[LimitOptions], self.groups[MapOptions]
        resolved: dict[str, Any] = {} if model is None else {"model": model.name}  # options whose values are found out
        with stages("read the corpus"):
            source = read_corpus(files, chosen) if corpus is None else corpus
            if (pairs := self.groups[DependencyOptions].pairs) is not None:
                source = _with_pairs(source, pairs)
                resolved["pairs_sha256"] = file_sha256(pairs)
        with stages("load the model"):
            ff_bias = self.groups[FeedForwardOptions].ff_bias
            maps = map_makers(map_options.map, map_options.merge, map_options.normalize, ff_bias)
            model = model or self.model.load()
        setting = Setting(
            model=model,
            corpus=source,
            chosen=tuple(analysis.name for analysis in chosen),
            seed=self.seed,
            max_length=limits.max_length,
            # Few analyses need these heads. The first one that does loads them for all.
            load_masked_lm=functools.cache(lambda: load_head(setting.encoder)),
            load_causal_lm=functools.cache(lambda: load_head(setting.encoder, causal=True)),
        )
        tables: dict[str, pd.DataFrame] = {}
        if isinstance(source, PlainText) and files.segments is not None:
            with stages("cut the text"):
                length = limits.max_length
                cut, tables["segments"] = cut_text(files, source, setting.encoder, max_length=length, seed=self.seed)
            setting = replace(setting, corpus=cut)
        if corpus is not None:
            resolved["corpus"] = [file.path for file in corpus.files]
        else:
            resolved["corpus"] = [] if files.text else files_of(files)
        one_or_more_kinds = map_options.map[0] if len(map_options.map) == 1 else list(map_options.map)
        resolved |= {"analyses": list(setting.chosen), "format": files.format, "map": one_or_more_kinds}
        return RunSetup(
            chosen=tuple(load_analysis(row.location) for row in chosen),
            setting=setting,
            maps=maps,
            limits=Limits.of(model, limits.batch_cells, limits.too_long, limits.max_length),
            options=self.groups,
            source=source,
            tables=tables,
            resolved=resolved,
            warnings=() if corpus is not None else tuple(unmet(files, setting.corpus)),
        )

    def finish(self, run: Run, prepared: RunSetup, stages: Stages) -> Run:
        """Let the run give decisions, and make those that are asked for."""
        # A model that was not given is loaded again when it is needed, so that runs do not keep it in memory.
        given = prepared.setting.encoder if "model" in prepared.resolved else None
        read, maps, limits = prepared.setting.corpus, prepared.maps, prepared.limits

        def decide(
            names: Sequence[str], *, model: AnyModel | None = None, corpus: Iterable[Sentence] | None = None
        ) -> pd.DataFrame:
            known = given if model is None else as_encoder(model)
            encoder = self.model.load() if known is None else known
            return decisions_of(run, names, encoder, read if corpus is None else as_corpus(corpus), maps, limits)

        names = self.groups[DecisionOptions].decisions
        beside = {}
        if names:
            with stages("decisions"):
                beside[DECISIONS] = decide(names, model=prepared.setting.encoder)
        return replace(run, decide=decide, beside=beside)


def _with_pairs(corpus: Corpus, path: Path) -> Corpus:
    """Return a treebank with the pairs of a file as its gold."""
    if not isinstance(corpus, Treebank):
        raise OptionError("--pairs is for treebanks; their sentences need no trees")
    return with_pairs(corpus, path)


def analyze(
    model: AnyModel = "demo",
    corpus: str | Path | Texts = "sample",
    *,
    analyses: str | Sequence[str] | None = None,
    maps: str | Sequence[str] | None = None,
    options: OptionGroup | Sequence[OptionGroup] = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    seed: int = 0,
    progress: bool | None = None,
) -> Run:
    """Run analyses of a model on a corpus.

    The results are those of ``attentionology analyze`` with the same options.

    Args:
        model: a name, a folder, an encoder, or a model of transformers, see `attentionology.extractors.as_encoder`.
        corpus: one file or several, ``"sample"``, a corpus that has been loaded, a slice of it, or sentences and
            objects of other libraries, see `attentionology.corpora_loaders.treebank_of`. A string is the name of a
            file; a text is given as `Sentence.from_text`.
        analyses: the names of the analyses. Default: those that the command chooses for such a corpus.
        maps: the kinds of maps, see `attentionology.list_kinds`. All are made in the same pass. Default: attention
            weights.
        options: one option group, or several of different classes, for example ``DependencyOptions(coarse=True)`` or
            ``ModelOptions(device="cuda")``. The defaults are those of the command.
        out: the folder for the report, its tables and figures; None to write nothing.
        overwrite: whether to replace the folder of an earlier run.
        seed: the seed of everything random.
        progress: whether to show progress bars. Default: in an interactive session and in a notebook.

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
        Run(dependency of all-MiniLM-L6-v2 on en_sample.conllu, first 3 sentences)
        >>> best = run["dependency"].best
        >>> best.loc[best["relation"] == "det", ["layer", "head", "correct", "total"]].to_dict("records")
        [{'layer': 3, 'head': 9, 'correct': 5, 'total': 5}]
    """
    groups, encoder = model_or_encoder(model, OptionSet.of(options))
    groups = groups.with_values(MapOptions, map=None if maps is None else names_in(maps))
    try:
        files, given = groups[CorpusOptions], files_or_corpus(corpus)
    except TypeError as error:
        raise OptionError(f"the corpus must be a file, a list of files, or inputs: {error}") from error
    if isinstance(given, Corpus):
        if files != CorpusOptions():
            raise OptionError("CorpusOptions apply to a corpus that is read from files, not to one that is loaded")
    elif given != (SAMPLE,):
        if files.text:
            raise OptionError("the corpus is given twice, as corpus and as text in CorpusOptions")
        groups = groups.with_values(CorpusOptions, corpus=names_in(given))
    part_options = groups[PartOptions]
    if part_options.part is not None:
        raise OptionError("a share is counted by the command: attentionology analyze … --parts FOLDER --part K/N")
    names = None if analyses is None else names_in(analyses)
    with showing(progress):
        return execute(
            AnalyzeJob(groups.without(PartOptions), names, seed),
            part_options=part_options,
            model=encoder,
            corpus=given if isinstance(given, Corpus) else None,
            out=None if out is None else Path(out),
            overwrite=overwrite,
            command="attentionology.analyze(…)",
        )

"""`probe`: what the command of the same name does, from Python."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..analyses.contract import OptionGroup, OptionSet, PlanCounts, Titles
from ..analyses.option_groups import groups_of, names_in
from ..analyses.probing.analysis import Probing
from ..analyses.probing.options import ProbeOptions, Role, TreebankOptions
from ..analyses.probing.record import counted_probes, describe
from ..analyses.probing.rows import NAME, STATES, ProbeFacts, ProbeResults, RightWords, StateCounts
from ..analyses.probing.run_options import ProbingOptions
from ..analyses.probing.scores import methods_table
from ..analyses.probing.trainings.inputs import LoadedInputs, Workspace, read_inputs
from ..analyses.probing.trainings.training import Kept, train_probes
from ..analyses.shared.builtin import SAMPLE
from ..analyses.shared.cache_folder import cache_folder
from ..analyses.shared.input_options import model_or_encoder, paths_read
from ..analyses.shared.merged_facts import key_of_texts
from ..corpora_loaders import Treebank, WordVectors
from ..reports.page import Section
from ..reports.progress import showing
from ..reports.run_folder import RunFolder
from ..storage.characters import in_html
from ..storage.durable import delete
from .corpus import title_of_files
from .counting.passes import PassCounts
from .results.part import Part, complete_record, sections_of, with_results
from .results.run import Run, write_run
from .stored_run import states_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..extractors import Encoder

Source = str | Path | Iterable[str | Path] | Treebank
"""One file, several files, ``"sample"``, or a treebank that was loaded before."""


_GROUPS = groups_of(ProbingOptions)


@dataclass(frozen=True, repr=False)
class ProbingRun(Run):
    """The results of a probing run.

    It has everything that `Run` has, above all ``record``, ``titles`` and ``folder``, and:

    Attributes:
        results: tables, weights of the heads, and the history of all trainings.
        section: the section of the report.
        counts: what all methods got right, word by word, with which `attentionology.compare` compares runs.

    Example:
        >>> from attentionology import probe
        >>> from attentionology.analyses import ProbeOptions, ProbeTrainingOptions, TreebankOptions
        >>> groups = [TreebankOptions(limit=12, folds=2), ProbeOptions(controls=("none",))]
        >>> run = probe("demo", options=[*groups, ProbeTrainingOptions(recipe="paper", seeds=1)])
        >>> run.tables["probe"]["method"].tolist()[-2:]
        ['best single head', 'attention']
        >>> run
        ProbingRun(attention of all-MiniLM-L6-v2 on en_sample.conllu)
    """

    @property
    def results(self) -> ProbeResults:
        """Tables, weights of the heads, and the history of all trainings."""
        return cast("ProbeResults", self.parts[0].results)

    @property
    def counts(self) -> PlanCounts[ProbeFacts]:
        """What all methods got right, word by word."""
        return self.parts[0].counts

    @property
    def section(self) -> Section:
        """The section of the report."""
        return self.shown_sections[0]

    def show(self, width: int) -> RenderableType:
        """Return what a terminal of ``width`` columns shows."""
        return methods_table(self.results).terminal(width)

    def __repr__(self) -> str:
        return f"ProbingRun({', '.join(self.results.probes)} of {self.titles.figure or 'a model'})"

    def _repr_html_(self) -> str:
        return f"<p>{in_html(repr(self))}</p>{self.results._repr_html_()}"


def probe(
    model: str | Path | Encoder = "demo",
    *,
    test: Source = SAMPLE,
    train: Source | None = None,
    dev: Source | None = None,
    probes: str | Sequence[str] | None = None,
    vectors: str | Path | WordVectors | None = None,
    options: OptionGroup | Sequence[OptionGroup] = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    seed: int = 0,
    progress: bool | None = None,
) -> ProbingRun:
    """Train probes that predict syntactic heads from the attention maps of all heads of a model together.

    The results are those of ``attentionology probe`` with the same options.

    Args:
        model: a folder, a name on the Hugging Face Hub, ``"demo"``, or an encoder.
        test: the treebank to test on.
        train: the treebank to train on. Without it, the test treebank is divided into folds.
        dev: a treebank on which the score is computed after each epoch, to stop training.
        probes: names of probes, see `attentionology.probes.list_probes`. Default: ``"attention"``, and with vectors all
            probes of the toolkit.
        vectors: word vectors, or a file of them.
        options: one option group, or several of different classes, for example ``ProbeTrainingOptions(seeds=1)`` or
            ``ProbeOptions(controls=("none",))``. Groups that are not given have their defaults, those of the command.
        out: where to write the report, its tables and figures, and the trained probes; None to write nothing. Then the
            word maps are kept in a temporary folder, unless ``MapStoreOptions(cache=…)`` names another one.
        overwrite: whether to replace the folder of an earlier run.
        seed: the first seed of the probes, and the seed of everything else that is random.
        progress: whether to show progress bars. Default: in an interactive session and in a notebook.

    Raises:
        OptionError: an option cannot be used, or contradicts another one.
        CorpusError: a treebank or the vectors cannot be read or used.
        ModelError: the model cannot be loaded, or gives no attention.
        ExtractionError: none of the sentences could be read.
        TrainingError: a probe cannot be trained.

    Example:
        >>> from attentionology import probe
        >>> from attentionology.analyses import ProbeOptions, ProbeTrainingOptions, TreebankOptions
        >>> groups = [TreebankOptions(limit=12, folds=2), ProbeOptions(controls=("none",))]
        >>> run = probe("demo", options=[*groups, ProbeTrainingOptions(recipe="paper", seeds=1)])
        >>> run.tables["probe"]["method"].tolist()[-2:]
        ['best single head', 'attention']
    """
    groups, encoder = model_or_encoder(model, OptionSet.of(options, _GROUPS.values(), "probe"))
    sources: dict[Role, Source | None] = {"train": train, "dev": dev, "test": None if test == SAMPLE else test}
    loaded = {role: source for role, source in sources.items() if isinstance(source, Treebank)}
    groups.check_once(TreebankOptions, loaded)
    for role, source in sources.items():
        if source is not None and not isinstance(source, Treebank):
            groups = groups.with_values(TreebankOptions, **{role: names_in(source)})
    groups = groups.with_values(ProbeOptions, probe=None if probes is None else names_in(probes))
    if isinstance(vectors, WordVectors):
        groups.check_once(ProbeOptions, ["vectors"])
    else:
        groups = groups.with_values(ProbeOptions, vectors=None if vectors is None else Path(vectors))
    with showing(progress):
        return execute(
            ProbingOptions(**{name: groups[kind] for name, kind in _GROUPS.items()}, seed=seed),
            LoadedInputs(encoder, loaded, vectors if isinstance(vectors, WordVectors) else None),
            out=None if out is None else Path(out),
            overwrite=overwrite,
            command="attentionology.probe(…)",
        )


def execute(
    options: ProbingOptions,
    loaded: LoadedInputs | None = None,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> ProbingRun:
    """Validate the options, run everything that they ask for, and write the results."""
    loaded = loaded or LoadedInputs()
    options.check(list(loaded.treebanks), has_vectors=loaded.vectors is not None)
    loaded_files = {role: [file.path for file in treebank.files] for role, treebank in loaded.treebanks.items()}
    shown: dict[str, Any] = dict(shown_options or {})
    for files_by_role in (options.treebanks.files(loaded.treebanks), loaded_files):
        shown.update(files_by_role.items())
    if loaded.encoder is not None:
        shown["model"] = loaded.encoder.name

    cache, files = options.store.cache, options.treebanks
    named_files = (files.train, files.dev, files.test, options.probes.vectors)
    reads = paths_read(options.model.model, *named_files, *loaded_files.values())
    if out is None and cache is None:
        with tempfile.TemporaryDirectory() as scratch:
            return _run(options, loaded, Workspace(Path(scratch)), command, shown)[0]
    if out is None:
        workspace = Workspace(cache_folder(cache, out, reads))
        run, checkpoints = _run(options, loaded, workspace, command, {**shown, "cache": str(cache)})
    else:
        cache = cache_folder(cache, out, reads)
        with RunFolder(out, overwrite=overwrite, reads=reads) as folder:
            shown |= {"out": str(out), "cache": str(cache)}
            run, checkpoints = _run(options, loaded, Workspace(cache, folder.path), command, shown)
        run = replace(run, folder=out)
    for path in checkpoints:  # they are of no use once the results are in place
        delete(path)
    return run


def _run(
    options: ProbingOptions, loaded: LoadedInputs, workspace: Workspace, command: str, shown_options: Mapping[str, Any]
) -> tuple[ProbingRun, list[Path]]:
    """Read the inputs, train the probes, and return the run and the checkpoints of its trainings."""
    inputs = read_inputs(options, loaded, workspace)
    trained = train_probes(options, inputs, workspace)
    test_treebank = inputs.treebanks["test"]
    title = title_of_files([file.path for file in test_treebank.files]) or "a treebank"
    titles = Titles(inputs.encoder.name, title)
    counted = counted_probes(options, inputs, trained)
    key = key_of_texts(sentence.id for sentence in inputs.sentences)
    lookups = Probing().lookups(key, Kept(options, inputs, workspace, trained))
    groups = OptionSet([options.counts])
    with workspace.stages("tables and figures"):
        names = (NAME, STATES) if STATES in counted.metrics else (NAME,)
        parts = with_results([Part(Probing(), options.maps.map, names, counted, lookups)], groups)
        sections = () if workspace.folder is None else sections_of(parts, titles)
    record = describe(options, inputs, trained, workspace, command=command, shown_options=shown_options)
    right_words = counted.metric(NAME, RightWords)
    counts = PassCounts(metrics={NAME: right_words}, arguments={NAME: {"attempts": right_words.attempts}})
    if STATES in counted.metrics:
        counts.metrics[STATES] = of_states = counted.metric(STATES, StateCounts)
        counts.arguments[STATES] = {"tried": of_states.tried}
    run = ProbingRun(parts, titles, complete_record(record, parts, groups), sections=sections, options=groups)
    run = replace(run, stored=partial(states_of, run, counts, record, inputs=test_treebank))
    if workspace.folder is not None:
        run = write_run(workspace.folder, run)
    return run, trained.checkpoints

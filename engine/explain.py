"""`explain`: what the command of the same name does, from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from ..analyses.contract import OptionError, OptionGroup, OptionSet, PlanCounts, Titles
from ..analyses.explanation.analysis import ExplainFacts, ExplanationTests
from ..analyses.explanation.contract.options import ExplanationTestOptions, TextOptions
from ..analyses.explanation.contract.results import ExplainResults
from ..analyses.explanation.examination.options import ClassifierTrainingOptions, ExplainOptions, Loaded
from ..analyses.explanation.examination.record import describe
from ..analyses.explanation.examination.sources import save_model, threads_for
from ..analyses.explanation.examination.subject import Tested
from ..analyses.explanation.run import choose, examine_share, find_facts, prepare, train_tested
from ..analyses.explanation.showing.section import explain_table
from ..analyses.option_groups import groups_of, names_in
from ..analyses.shared.cache_folder import cache_folder
from ..analyses.shared.input_options import OptionalModelOptions, paths_read
from ..analyses.shared.part_options import ShareOptions
from ..corpora_loaders import LabeledTexts, load_labeled
from ..corpora_loaders.labeled_frames import is_frame
from ..reports.explorer.preview import findings_html
from ..reports.page import Section
from ..reports.progress import showing
from ..reports.run_folder import RunFolder
from ..storage.characters import in_html
from ..storage.writing import amount
from .corpus import title_of_files
from .counting.parts import check_folder
from .counting.passes import PassCounts
from .results.part import Part, complete_record, with_results
from .results.run import Run, write_run
from .stored_run import states_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..extractors import AttentionModel

Texts = str | Path | Iterable[str | Path] | LabeledTexts | pd.DataFrame

_GROUPS = groups_of(ExplainOptions)


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(Run):
    """Whether the attention of a model can be read as an explanation: what the tests found.

    It has everything that `Run` has, above all ``record``, ``titles`` and ``folder``, and:

    Attributes:
        model: the tested model, trained if necessary.
        results: all tables.
        section: the section of the report.
        counts: what was found text by text, with which `attentionology.compare` compares runs.

    Example:
        >>> from pathlib import Path
        >>> from attentionology import explain
        >>> from attentionology.analyses import ClassifierOptions, ClassifierTrainingOptions
        >>> rows = [f"{i % 2} a {'fine' if i % 2 else 'dull'} film, number {i}" for i in range(60)]
        >>> _ = Path("texts.txt").write_text("\\n".join(rows))
        >>> options = [ClassifierOptions(encoder="average"), ClassifierTrainingOptions(epochs=1)]
        >>> explanation = explain("texts.txt", tests="permutation", options=options)
        >>> explanation.verdicts["test"].tolist()
        ['permutation']
    """

    model: AttentionModel = field(kw_only=True)

    @property
    def results(self) -> ExplainResults:
        """All tables."""
        return cast("ExplainResults", self.parts[0].results)

    @property
    def counts(self) -> PlanCounts[ExplainFacts]:
        """What was found text by text."""
        return self.parts[0].counts

    @property
    def section(self) -> Section:
        """The section of the report."""
        return self.shown_sections[0]

    @property
    def verdicts(self) -> pd.DataFrame:
        """One row per question: what was compared, the difference with its interval, and the verdict."""
        return self.results.verdicts

    @property
    def summary(self) -> pd.DataFrame:
        """Means of all measures, overall and by predicted class."""
        return self.results.summary

    @property
    def texts(self) -> pd.DataFrame:
        """One row per tested text."""
        return self.results.texts

    def show(self, width: int) -> RenderableType:
        """Return what a terminal of ``width`` columns shows."""
        return explain_table(self.results, width=width)

    def __repr__(self) -> str:
        verdicts = list(self.verdicts["verdict"]) if len(self.verdicts) else []
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("passes", "fails", "undecided"))
        return f"Explanation({self.record['model']['name']}, {amount(len(self.texts), 'texts')}: {counts})"

    def _repr_html_(self) -> str:
        columns = ["test", "question", "difference", "low", "high", "verdict"]
        table = self.verdicts[columns].to_html(index=False, border=0) if len(self.verdicts) else ""
        return f"<p>{in_html(repr(self))}</p>{findings_html(self.findings)}{table}"


def explain(
    data: Texts | None = None,
    *,
    test: Texts | None = None,
    dev: Texts | None = None,
    model: str | Path | AttentionModel | None = None,
    tests: str | Sequence[str] | None = None,
    options: OptionGroup | Sequence[OptionGroup] = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    cache: str | Path | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Explanation:
    """Test whether the attention of a text classifier can be read as an explanation of its decisions.

    The results are those of ``attentionology explain`` with the same options.

    Args:
        data: labeled texts to train on: one file or several; a data frame with the columns ``text`` and ``label``; or
            what `attentionology.load_labeled` makes of these, a `attentionology.corpora_loaders.LabeledTexts`.
        test: labeled texts to run the tests on. Default: a fifth of ``data``, held out.
        dev: labeled texts on which the best epoch is chosen. Default: a tenth of the rest of ``data``, held out.
        model: a transformer by its folder or its name on the Hugging Face Hub, ``"demo"``, a classifier that was saved
            by an earlier run, or an attention model such as an
            `attentionology.probes.classifiers.AttentionClassifier` that was trained before. Default: a classifier is
            trained on ``data``.
        tests: names of the tests. Default: all except those that take long.
        options: one option group, or several of different classes, for example ``ClassifierOptions(encoder="cnn")`` or
            ``ExplanationTestOptions(draws=20)``. Groups that are not given have their defaults, those of the command.
        out: where to write the report, its tables and figures; None to write nothing.
        overwrite: replace the folder of an earlier run.
        cache: where trained models are kept. Default: the folder ``cache`` beside ``out``; without ``out`` nowhere.
        seed: the seed of everything random.
        progress: whether to show progress bars. Default: in an interactive session and in a notebook.

    Raises:
        OptionError: an option cannot be used, or contradicts another one.
        CorpusError: the texts cannot be read, or there are too few.
        ModelError: the model cannot be loaded, or its attention cannot be replaced.
        TrainingError: a model cannot be trained.

    Example:
        >>> from pathlib import Path
        >>> from attentionology import explain
        >>> from attentionology.analyses import ClassifierOptions, ClassifierTrainingOptions
        >>> rows = [f"{i % 2} a {'fine' if i % 2 else 'dull'} film, number {i}" for i in range(60)]
        >>> _ = Path("texts.txt").write_text("\\n".join(rows))
        >>> options = [ClassifierOptions(encoder="average"), ClassifierTrainingOptions(epochs=1)]
        >>> explanation = explain("texts.txt", tests="permutation", options=options)
        >>> explanation.record["corpus"]["files"][0]["path"]
        'texts.txt'
    """
    groups = OptionSet.of(options, _GROUPS.values(), "explain")
    loaded: dict[str, Any] = {}  # the texts and the model that are objects, not names, by the fields of `Loaded`
    given: dict[str, Any] = {"data": data, "test": test, "dev": dev}
    for role, texts in given.items():
        if is_frame(texts):
            texts = load_labeled(texts)
        if isinstance(texts, LabeledTexts):
            groups.check_once(TextOptions, [role])
            loaded[role] = texts
        elif texts is not None:
            groups = groups.with_values(TextOptions, **{role: names_in(texts)})
    groups = groups.with_values(ExplanationTestOptions, tests=None if tests is None else names_in(tests))
    if model is None or isinstance(model, str | Path):
        groups = groups.with_values(OptionalModelOptions, model=None if model is None else str(model))
    else:
        groups.check_once(OptionalModelOptions, ["model"])
        loaded["model"] = model
    if cache is not None:
        groups = groups.with_group(replace(groups[ClassifierTrainingOptions], cache=Path(cache)))
    if groups[ShareOptions].part is not None:
        raise OptionError("a share is counted by the command: attentionology explain … --parts FOLDER --part K/N")
    with showing(progress):
        return execute(
            ExplainOptions(**{name: groups[kind] for name, kind in _GROUPS.items()}, seed=seed),
            Loaded(**loaded),
            out=None if out is None else Path(out),
            overwrite=overwrite,
            command="attentionology.explain(…)",
        )


def execute(
    options: ExplainOptions,
    loaded: Loaded | None = None,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> Explanation:
    """Run everything that the options ask for."""
    loaded = loaded or Loaded()
    chosen = choose(options, loaded)
    reads, cache = _paths_read(options), options.training.cache
    if options.shares.parts is not None:
        check_folder(options.shares.parts, reads, out)
    if out is None:
        tested = prepare(options, loaded, chosen, cache and cache_folder(cache, out, reads))
        return _explanation(tested, folder=None, command=command, shown_options=shown_options or {})
    cache = cache_folder(cache, out, reads)
    with RunFolder(out, overwrite=overwrite, reads=reads) as folder:
        shown = {**(shown_options or {}), **options.shares.described(), "out": str(out)}
        explanation = _explanation(prepare(options, loaded, chosen, cache), folder.path, command, shown)
    return replace(explanation, folder=out)


def _paths_read(options: ExplainOptions) -> list[Path]:
    """Return the paths of the model, the texts and the vectors."""
    texts = options.texts
    return paths_read(options.model.model, texts.data, texts.dev, texts.test, options.classifier.vectors)


def count_share(options: ExplainOptions, out: Path) -> list[str]:
    """Train the tested model if need be, examine a share of its texts, and return lines about its parts."""
    chosen = choose(options, Loaded())
    reads = _paths_read(options)
    check_folder(options.shares.parts or out, reads)
    tested = prepare(options, Loaded(), chosen, cache_folder(options.training.cache, out, reads))
    with threads_for(tested.model):
        return examine_share(train_tested(tested))


def _explanation(tested: Tested, folder: Path | None, command: str, shown_options: Mapping[str, Any]) -> Explanation:
    """Train the model if need be, run the tests, and write the report if there is a folder for it."""
    stages = tested.stages
    with threads_for(tested.model):
        tested = train_tested(tested)
        # The analysis reads no maps, so it has no metrics and no logs, and its facts stand for its options.
        texts, no_options = tested.texts.test, OptionSet()
        with stages("results"):
            plan_counts = PlanCounts(find_facts(tested), metrics={}, logs={})
            parts = with_results([Part(ExplanationTests(), kind=None, requests=(), counts=plan_counts)], no_options)
        record = describe(tested, parts[0].results.left_out, command, shown_options)
        titles = Titles(record["model"]["name"], title_of_files([file.path for file in texts.files]))
        complete = complete_record(record, parts, no_options)
        explanation = Explanation(parts, titles, complete, options=no_options, model=tested.model)
        make_states = partial(states_of, explanation, PassCounts(), record, texts)
        write_model = None
        if tested.source is not None:
            write_model = partial(save_model, tested.model, finetuned=tested.options.transformer.finetune)
        explanation = replace(explanation, stored=make_states, trained=write_model)
        if folder is not None:
            with stages("tables and figures"):
                explanation = write_run(folder, explanation)
    return explanation

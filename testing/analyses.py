"""The contract of an analysis: what `check_analysis` checks."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd

from ..analyses.contract import Analysis, AnalysisRow, OptionGroup
from ..analyses.counting.metric import StateError
from ..analyses.registry import lend
from ..analyses.shared.input_options import LimitOptions
from ..analyses.shared.merged_facts import MergeError
from ..analyses.shared.options import CountOptions, MapOptions
from ..analyses.shared.part_options import PartOptions
from ..corpora_loaders import Corpus
from ..engine.analyze import analyze
from ..engine.counting import parts as engine_parts
from ..engine.merge import merge_states
from ..engine.results.run import Run
from ..engine.results.states import RunStates
from ..engine.stored_run import load_run, restore_results
from ..extractors import Encoder
from ..extractors.maps import batching
from ..reports.columns import Schema
from ..reports.drawing import blank_figures
from ..storage.errors import AttentionologyError
from . import corpora
from .failing import allow_own_errors, fail
from .models import small_encoder
from .names import HOSTILE
from .tables import check_close, check_declared, check_equal, check_finite, check_headers, check_same_rows
from .written import check_files, check_printed

_ALONE = 1
"""So few cells that every input is a batch of its own. Then values have the same digits in any order."""

_WINDOW = 4
_SUMS = "Sum whole numbers, or let the metric be an ExactMetric that adds one value per sentence"
_RENAMED = {f"q{number:02}z": name for number, name in enumerate(HOSTILE) if ":" not in name}
"""A plain name for each that means something elsewhere. The universal relation of a subtype may be counted instead."""

_PLAIN = [next((plain for plain, other in _RENAMED.items() if other == name), name) for name in HOSTILE]


def check_analysis(
    analysis: type[Analysis[Any, Any]],
    options: OptionGroup | Sequence[OptionGroup] = (),
    *,
    schemas: Sequence[Schema] = (),
) -> None:
    """Check that an analysis of ``analyze`` keeps its contract.

    The tables must be the same in batches of any size, for any order of the inputs, if the corpus is counted in parts
    or by runs that are merged, and if the report is made again of the stored counts. Unusual corpora and models, such
    as one word, sentences with roots alone, a model with one head and a causal one, may be refused with an error of the
    toolkit, but cause no other. Names of any characters must be written as they are into tables, and must break neither
    the page nor figures, LaTeX and the terminal. Every table has the same columns for every corpus.

    The analysis need not be registered. It takes as long as about twenty runs on a few sentences.

    Args:
        analysis: the class, as an entry point names it.
        options: its options, in which it is checked. Of `CountOptions`, the default is few replicates.
        schemas: the columns of its tables, if it declares them.

    Raises:
        AssertionError: the analysis does not keep the contract. The message says what is wrong, and what to do.
        RegistryError: the class is no complete analysis, or its name is taken.

    Example:
        >>> from attentionology.analyses import SurfaceOptions
        >>> from attentionology.analyses.surface.analysis import Surface
        >>> check_analysis(Surface, SurfaceOptions(gradients="none"))  # doctest: +SKIP
    """
    with tempfile.TemporaryDirectory(prefix="attentionology-") as folder, lend(analysis) as row:
        given = [options] if isinstance(options, OptionGroup) else list(options)
        if CountOptions in row.options and not any(isinstance(group, CountOptions) for group in given):
            given.append(CountOptions(min_count=1, replicates=20))
        bench = Bench(analysis, row, tuple(given), Path(folder), tuple(schemas))
        halves = corpora.documents()
        bench.write("first", halves[: len(halves) // 2])
        bench.write("second", halves[len(halves) // 2 :])
        with allow_own_errors("on an ordinary corpus", refuses=False):
            whole = bench.run(bench.corpus("first", "second"), cells=_ALONE)
        tables = bench.tables(whole)
        check_finite(tables, "on an ordinary corpus")
        for check in CHECKS:
            check(bench, tables)


@dataclass(frozen=True)
class Bench:
    """An analysis with its options, and a folder for corpora and runs."""

    analysis: type[Analysis[Any, Any]]
    row: AnalysisRow
    options: tuple[OptionGroup, ...]
    folder: Path
    schemas: tuple[Schema, ...]

    def write(self, name: str, documents: str | Sequence[str]) -> None:
        """Write a corpus."""
        corpora.write(self.folder / f"{name}.conllu", documents)

    def corpus(self, *names: str) -> Corpus:
        """Read corpora that have been written as one."""
        kind = {"mentions": self.row.of_mentions, "pairs": self.row.of_pairs}
        return corpora.load_corpora([self.folder / f"{name}.conllu" for name in names], **kind)

    def run(self, corpus: Corpus, encoder: Encoder | None = None, *, cells: int | None = None, **arguments: Any) -> Run:
        """Run the analysis alone."""
        further = arguments.pop("further", ())
        limits = LimitOptions() if cells is None else LimitOptions(batch_cells=cells)
        groups = [*self.options, limits, *further]
        names = arguments.pop("analyses", [self.row.name])
        return analyze(encoder or small_encoder(), corpus, analyses=names, options=groups, progress=False, **arguments)

    def tables(self, run: Run) -> dict[str, pd.DataFrame]:
        """Return the tables of a run, whose columns must be declared if there are schemas; figures stay blank."""
        with blank_figures():
            tables = run.tables
        check_declared(tables, self.schemas)
        return tables


def check_batches(bench: Bench, tables: dict[str, pd.DataFrame]) -> None:
    """Check that large batches with padding give the same tables as each sentence alone."""
    with allow_own_errors("in large batches", refuses=False):
        found = bench.tables(bench.run(bench.corpus("first", "second")))
    advice = "Leave out padding (MapBatch.unpadded, MapBatch.words), and count sentence by sentence"
    check_close(found, tables, "in larger batches", advice)


def check_order(bench: Bench, tables: dict[str, pd.DataFrame]) -> None:
    """Check that the last sentence, or the last document, may as well come first."""
    documents = corpora.documents()[::-1]
    blocks = [block for document in documents for block in document.split("\n\n")[::-1]]
    bench.write("reversed", documents if bench.row.of_mentions else blocks)
    with allow_own_errors("on sentences in another order", refuses=False):
        found = bench.tables(bench.run(bench.corpus("reversed"), cells=_ALONE))
    advice = f"{_SUMS}; draw at random by ids; and break ties by names, not by what comes first"
    check_equal(found, tables, "if the sentences come in another order", advice)


def check_parts(bench: Bench, tables: dict[str, pd.DataFrame]) -> None:
    """Check that parts that are kept in a folder, and read from it, give what the whole corpus does."""
    corpus = bench.corpus("first", "second")
    parts = PartOptions(parts=bench.folder / "parts")
    with _short_windows(), allow_own_errors("if the corpus is counted in parts", refuses=False):
        for time in ("counted in parts", "read from parts that were counted before"):
            found = bench.tables(bench.run(corpus, cells=_ALONE, further=[parts]))
            advice = f"{_SUMS}; keep all that is counted in states (add_state), and say there how they are merged"
            check_equal(found, tables, f"if the corpus is {time}", advice)


def check_merging(bench: Bench, tables: dict[str, pd.DataFrame]) -> None:
    """Check that two runs that are merged give what one run does, unless merging is refused."""
    with allow_own_errors("on part of a corpus", refuses=False):
        runs = [bench.run(bench.corpus(name), cells=_ALONE) for name in ("first", "second")]
    with allow_own_errors("if runs are merged"):
        try:
            stored = [_states_of(run) for run in runs]
            found = bench.tables(restore_results(merge_states(stored, ["first", "second"])))
        except MergeError:
            return  # which users are told
    if bench.analysis.follow_up is not Analysis.follow_up:  # runs that are merged may have looked at something else
        found = {name: found[name] if len(found.get(name, ())) else table for name, table in tables.items()}
    advice = f"{_SUMS}; name the argument of the metric that depends on the corpus in its attribute 'inventory'"
    check_equal(found, tables, "if two runs are merged", advice)


def _states_of(run: Run) -> RunStates:
    """Return the states of a run."""
    assert run.stored is not None  # noqa: S101  # as of every run that was counted
    try:
        return run.stored()
    except StateError as error:
        fail(str(error), "Let facts, and what follow_up returns, be plain data or frozen dataclasses of it")


def check_kinds(bench: Bench, tables: dict[str, pd.DataFrame]) -> None:
    """Check that a run with two kinds of maps has the tables of both."""
    if MapOptions not in bench.row.options:
        return
    corpus = bench.corpus("first", "second")
    with allow_own_errors("with two kinds of maps", refuses=False):
        both = bench.tables(bench.run(corpus, cells=_ALONE, maps=["weight", "norm"]))
        norms = bench.tables(bench.run(corpus, cells=_ALONE, maps=["norm"]))
    advice = "Let the names of requests contain the kind, and keep no state in the analysis"
    for kind, expected in (("weight", tables), ("norm", norms)):
        found = {
            name: table[table["map"] == kind].drop(columns="map").astype(expected[name].dtypes.to_dict())
            for name, table in both.items()
            if name in expected
        }
        check_close(found, expected, f"for the kind {kind!r} of two kinds of maps", advice)


def check_unusual(bench: Bench, tables: dict[str, pd.DataFrame]) -> None:
    """Check that unusual corpora are read or refused, and what they give is shown."""
    for what, text in corpora.unusual().items():
        bench.write("unusual", text)
        _check_shown(bench, lambda: bench.run(bench.corpus("unusual")), f"on a corpus {what}", tables)


def check_models(bench: Bench, tables: dict[str, pd.DataFrame]) -> None:
    """Check that models with one head and causal ones are read or refused."""
    models = {"for a model with one head": {"layers": 1, "heads": 1}, "for a causal model": {"causal": True}}
    for where, shape in models.items():
        encoder = small_encoder(**shape)  # type: ignore[arg-type]
        _check_shown(bench, lambda encoder=encoder: bench.run(bench.corpus("first"), encoder), where)
    if bench.row.needs:
        names = [*bench.row.needs, bench.row.name]
        where = f"together with {' and '.join(bench.row.needs)}"
        _check_shown(bench, lambda: bench.run(bench.corpus("first"), analyses=names), where)


def _check_shown(bench: Bench, make: Any, where: str, tables: dict[str, pd.DataFrame] | None = None) -> None:
    """Check that a run can be made and shown, unless an error of the toolkit refuses it."""
    try:
        with allow_own_errors(where):
            run = make()
    except AttentionologyError:
        return
    with allow_own_errors(where, refuses=False):
        check_printed(run.parts[-1].show)
        run.explorer()
        found = run.tables  # with their figures
    check_declared(found, bench.schemas)
    check_finite(found, where)
    check_headers(found, tables or {}, where)


def check_names(bench: Bench, tables: dict[str, pd.DataFrame]) -> None:
    """Check that names are data: in all files, in a terminal, and if the report is made again."""
    bench.write("names", corpora.hostile_treebank(HOSTILE))
    where = "on a corpus whose names have braces, markup or control characters"
    with allow_own_errors(where, refuses=False):
        run = bench.run(bench.corpus("names"), out=bench.folder / "run")
        check_printed(run.parts[-1].show)
    found = bench.tables(run)
    check_headers(found, tables, where)
    check_files(bench.folder / "run")
    with allow_own_errors("if the report is made again of the stored counts", refuses=False):
        again = load_run(bench.folder / "run")
        check_printed(again.parts[-1].show)
        made = bench.tables(again)
    advice = "Make results of the counts, the facts and what follow_up returned alone, and name their types"
    check_equal(made, found, "if the report is made again", advice)
    bench.write("plain", corpora.hostile_treebank(_PLAIN))
    plain = bench.tables(bench.run(bench.corpus("plain")))
    advice = "Let names be values, never part of a template or of a format string"
    check_same_rows(found, plain, _RENAMED, "if relations have names with braces, markup or control characters", advice)


@contextmanager
def _short_windows() -> Iterator[None]:
    """Let parts have a few inputs, so that a small corpus has several."""
    with mock.patch.object(batching, "WINDOW", _WINDOW), mock.patch.object(engine_parts, "WINDOW", _WINDOW):
        yield


CHECKS: tuple[Callable[[Bench, dict[str, pd.DataFrame]], None], ...] = (
    check_batches,
    check_order,
    check_parts,
    check_merging,
    check_kinds,
    check_unusual,
    check_models,
    check_names,
)
"""What is checked one after the other, given the tables of an ordinary corpus."""

"""`compare`: the differences of all statistics between runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analyses.comparison.findings import comparison_findings
from ..analyses.comparison.results import Comparison, Contrast, Pairing, Side, contrasts_of
from ..analyses.comparison.section import comparison_section
from ..analyses.contract import OptionError
from ..analyses.dependency.options import DEPENDENCY
from ..analyses.shared.options import CountOptions
from ..analyses.shared.record import describe_command
from ..reports.help.options import flag
from ..reports.page import Section
from ..reports.progress import Stages
from ..reports.run_folder import EVERY_RUN, RunFolder, address_of
from ..storage.nearest import did_you_mean
from ..storage.paths import find_repetition
from .beside import explorers_of
from .compared_run import (
    NO_RESULT,
    Compared,
    ComparedRun,
    differ_in,
    in_words,
    load_compared_run,
    names_of,
    pairing_of,
)
from .results.run import Run, write_run
from .stored_run import registered_analysis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def compare(
    first: Compared,
    *others: Compared,
    names: Sequence[str] = (),
    min_count: int = CountOptions.min_count,
    relations: Sequence[str] = (),
) -> Comparison:
    """Compare runs: what is the difference of each statistic, and is it more than chance?

    Every statistic that has bootstrap replicates is compared: for each relation and type of mention, the held-out
    accuracy of the best head; the surface statistics as means over heads; the measures of the explanation tests as
    means over texts; and the attachment scores of probes. If the runs read the same inputs, the intervals are paired,
    because each replicate draws the same inputs for all runs.

    Args:
        first: the run from whose values those of the others are subtracted, or its folder.
        others: at least one other run or folder.
        names: the names of all runs in the table and the figures. Default: what distinguishes the runs, which is the
            model, the corpus or the map.
        min_count: groups with fewer decisions in either run are listed, but not tested. P values are adjusted for the
            number of tested groups alone.
        relations: of the analysis dependency, only these relations, totals and groups are compared, and count when p
            values are adjusted. Default: all that the runs have.

    Returns:
        the differences, with their intervals and p values in `Comparison.table`.

    Raises:
        OptionError: there is only one run, the names do not fit, or the runs have nothing to compare.

    Example:
        >>> from attentionology import CorpusOptions, CountOptions, analyze, compare
        >>> options = [CorpusOptions(limit=12), CountOptions(replicates=100)]
        >>> runs = [analyze("demo", analyses="dependency", maps=kind, options=options) for kind in ("norm", "weight")]
        >>> comparison = compare(*runs, min_count=20)
        >>> comparison
        Comparison(dependency: norm − weight)
        >>> comparison.table.query("group == 'det'")[["n_a", "choice_a", "choice_b", "paired"]].values.tolist()
        [[21, '5-10 dep->head', '3-9 dep->head', 'paired']]
    """
    if isinstance(first, list | tuple):
        raise OptionError("runs are given one by one, not as a list: compare(*runs)")
    _check_folders([run for run in (first, *others) if isinstance(run, str | Path)])
    runs = [ComparedRun.of(run) for run in (first, *others)]
    if not others:
        raise OptionError("a comparison needs at least two runs")
    labels = list(names) or names_of(runs)
    if len(labels) != len(runs) or len(set(labels)) < len(labels):
        raise OptionError(f"each of the {len(runs)} runs needs a different name, not: {', '.join(labels)}")
    CountOptions(min_count=min_count).check()
    notes: list[str] = []
    if relations:
        runs = _restrict(runs, relations)
        notes.append(f"Of the syntactic relations, only {', '.join(relations)} are compared.")

    # Every other run is compared with the first.
    contrasts: list[Contrast] = []
    base, base_label = runs[0], labels[0]
    for label, run in zip(labels[1:], runs[1:], strict=True):
        pairing, about_inputs = pairing_of(base.record, run.record)
        about_options = _differing_options(base.record["options"], run.record["options"])
        notes.append(f"{base_label} is compared with {label}. {about_inputs}{about_options}")
        contrasts_of_pair = _contrasts(base, run, (base_label, label), pairing, min_count=min_count)
        if not any(row.first and row.second for contrast in contrasts_of_pair for row in contrast.differences):
            raise OptionError(
                "the runs have no statistics that can be compared with each other: "
                f"{base_label} has {base}, and {label} has {run}"
            )
        contrasts += contrasts_of_pair
    analyses = dict.fromkeys(name for run in runs for name in run.analyses)
    if left_out := [name for name in analyses if not any(run.analyses.get(name) for run in runs)]:
        notes.append(f"Analyses without statistics that can be compared: {', '.join(left_out)}.")

    comparison = Comparison(tuple(contrasts), min_count, tuple(notes))
    comparison = replace(comparison, findings=comparison_findings(comparison))
    shown_options = {"names": labels, "min_count": min_count, "relations": list(relations)}
    by_label = dict(zip(labels, runs, strict=True))
    written = partial(_as_run, comparison, by_label, shown_options, "attentionology.compare(…)", Stages())
    # The page, its figures and `save` all ask for the run, whose figures take longest. They get the same one.
    return replace(comparison, written=cache(written))


def _check_folders(folders: Sequence[str | Path]) -> None:
    """Check that no run is compared with itself."""
    if twice := find_repetition(folders):
        raise OptionError(f"a run is given twice: {' and '.join(twice)}")


def _restrict(runs: Sequence[ComparedRun], relations: Sequence[str]) -> list[ComparedRun]:
    """Return the runs with these relations alone among those of the analysis dependency."""
    known: set[str] = set()  # the relations of all runs
    restricted = []
    for run in runs:
        families = dict(run.families)
        for (analysis, kind), families_of_kind in run.families.items():
            if analysis == DEPENDENCY.name:
                known |= {measured.group for family in families_of_kind for measured in family.measured}
                families[analysis, kind] = [
                    replace(family, measured=tuple(row for row in family.measured if row.group in relations))
                    for family in families_of_kind
                ]
        restricted.append(replace(run, families=families))
    for relation in relations:
        if relation not in known:
            raise OptionError(f"no run has the relation {relation!r}{did_you_mean(relation, sorted(known))}")
    return restricted


def _contrasts(
    first: ComparedRun, second: ComparedRun, names: tuple[str, str], pairing: Pairing, *, min_count: int
) -> list[Contrast]:
    """Compare two runs, analysis by analysis, and kind by kind."""
    second_families = second.families
    may_share_ids = first.inputs is None or second.inputs is None or first.inputs & second.inputs
    if pairing == "unpaired" and may_share_ids:
        # Different inputs may have the same id, by which the bootstrap would draw them together.
        second_families = {
            key: [family.independent("second") for family in families] for key, families in second_families.items()
        }
    contrasts: list[Contrast] = []
    for analysis in dict.fromkeys([*first.analyses, *second.analyses]):
        first_kinds, second_kinds = first.analyses.get(analysis, []), second.analyses.get(analysis, [])
        several_kinds = max(len(first_kinds), len(second_kinds)) > 1
        for first_kind, second_kind in _pairs_of_kinds(first_kinds, second_kinds):
            minuend = () if first_kind is None else first.families[analysis, first_kind]
            subtrahend = () if second_kind is None else second_families[analysis, second_kind]
            differ = first_kind != second_kind
            first_side, second_side = (
                Side(name, kind or "", f"{name} ({kind})" if several_kinds and kind and differ else name)
                for name, kind in zip(names, (first_kind, second_kind), strict=True)
            )
            sides = first_side, second_side
            contrasts += contrasts_of(analysis, minuend, subtrahend, sides, pairing, min_count=min_count)
    return contrasts


def _pairs_of_kinds(first: Sequence[str], second: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """Return which kinds of maps of two runs are compared; None stands for a kind that the other run does not have.

    If each run has one kind, these are compared even if they differ.
    """
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    shared = [kind for kind in first if kind in second]
    return [
        *((kind, kind) for kind in shared),
        *((kind, None) for kind in first if kind not in shared),
        *((None, kind) for kind in second if kind not in shared),
    ]


def _differing_options(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Return a sentence that names the options in which two runs differ; empty if there are none."""
    differing = [
        f"{flag(name)} ({in_words(first.get(name))} and {in_words(second.get(name))})"
        for name in dict.fromkeys([*first, *second])
        if name not in NO_RESULT and differ_in(first, second, name)
    ]
    return f" The runs differ in these options: {', '.join(differing)}." if differing else ""


def compare_folders(
    folders: Sequence[Path],
    out: Path,
    *,
    names: Sequence[str] = (),
    min_count: int,
    relations: Sequence[str] = (),
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> tuple[Comparison, Section]:
    """Compare finished runs, and write the table, the figures and the page."""
    _check_folders(folders)
    stages = Stages()
    with RunFolder(out, overwrite=overwrite, reads=folders) as target:
        with stages("read the runs"):
            runs = [load_compared_run(folder) for folder in folders]
        labels = list(names) or names_of(runs)
        with stages("compare"):
            comparison = compare(*runs, names=labels, min_count=min_count, relations=relations)
        by_label = dict(zip(labels, runs, strict=True))
        shown = {**(shown_options or {}), "out": str(out)}
        run = _as_run(comparison, by_label, shown, command, stages, out)
        write_run(target.path, run)
    return comparison, run.sections[0]


def _as_run(
    comparison: Comparison,
    runs: Mapping[str, ComparedRun],
    shown_options: Mapping[str, Any],
    command: str,
    stages: Stages,
    out: Path | None,
) -> Run:
    """Return a comparison in the form of a run, which can be written. From ``out``, heads lead to reports of runs."""
    with stages("tables and figures"):
        reports = None
        if out is not None:
            pages = {name: run.folder / EVERY_RUN[0] for name, run in runs.items() if run.folder is not None}
            reports = {name: address_of(page, out) for name, page in pages.items() if page.is_file()}
        title, together = _title(list(runs)), _draw_together(runs)
        section = comparison_section(comparison, name="comparison", title=title, together=together, reports=reports)
    record = describe_command(command, shown_options, 0, stages)
    record |= {"runs": [_describe(name, run) for name, run in runs.items()], "warnings": []}
    compared = partial(explorers_of, runs)
    return Run((), record=record, sections=(section,), template="comparison.html.j2", compared=compared)


def _draw_together(runs: Mapping[str, ComparedRun]) -> dict[str, tuple[Figure, str]]:
    """Return the figures that draw what an analysis found in all runs together, with their captions."""
    first, *others = runs.values()
    figures: dict[str, tuple[Figure, str]] = {}
    for name in first.results:
        if all(name in run.results for run in others):
            figures |= registered_analysis(name).together({label: run.results[name] for label, run in runs.items()})
    return figures


def _title(names: Sequence[str]) -> str:
    """Return the title of a comparison. Names of several words, such as “weight and norm”, are quoted."""
    quoted = [f"“{name}”" if " " in name else name for name in names]
    return "Comparison of " + " and ".join([", ".join(quoted[:-1]), quoted[-1]])


def _describe(name: str, run: ComparedRun) -> dict[str, Any]:
    """Describe a run for the record: its folder, and what identifies its model and its corpus."""
    model, corpus = run.record["model"], run.record["corpus"]
    return {
        "name": name,
        "folder": None if run.folder is None else str(run.folder),
        "command": run.record["command"],
        "model": model["name"],
        "revision": model["revision"],
        "weights_sha256": model["weights_sha256"],
        "corpus": run.titles.corpus,
        "files": [{"name": file["name"], "sha256": file["sha256"]} for file in corpus["files"]],
    }

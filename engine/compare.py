"""`compare`: the differences of all statistics between runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analyses.comparison.results import Comparison, Contrast, Pairing, Side, contrasts_of
from ..analyses.comparison.section import comparison_section
from ..analyses.contract import OptionError
from ..analyses.option_groups import Bounds
from ..analyses.shared.comparable import Comparable
from ..analyses.shared.options import CountOptions
from ..analyses.shared.record import describe_command
from ..reports.help.options import flag
from ..reports.page import Section, write_report
from ..reports.progress import Stages
from ..reports.run_folder import RunFolder
from .compared_run import ComparedRun, load_compared_run, pairing_of
from .explain import Explanation
from .probe import ProbingRun
from .run import Run

_NO_RESULT = (
    *("out", "overwrite", "json", "device", "batch_cells", "parts", "part", "workers", "engine", "address"),
    *("cache", "train_device"),
)
"""The options that do not decide what a run counts."""


Compared = Run | Explanation | ProbingRun | ComparedRun
"""What `attentionology.analyze`, `explain` or `probe` returns, or what is compared of it."""


TABLE = "comparison"
"""The name of the table of differences."""


def compare(
    first: Compared, *others: Compared, names: Sequence[str] = (), min_count: int = CountOptions.min_count
) -> Comparison:
    """Compare runs: what is the difference of each statistic, and is it more than chance?

    Every statistic that has bootstrap replicates is compared: for each relation and type of mention, the held-out
    accuracy of the best head; the surface statistics as means over heads; the measures of the explanation tests as
    means over texts; and the attachment scores of probes. If the runs read the same inputs, the intervals are paired,
    because each replicate draws the same inputs for all runs.

    Args:
        first: the run from whose values those of the others are subtracted.
        others: at least one other run.
        names: the names of all runs in the table and the figures. Default: what distinguishes the runs, which is the
            model, the corpus or the map.
        min_count: groups with fewer decisions in either run are listed, but not tested. P values are adjusted for the
            number of tested groups alone.

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
    runs = [ComparedRun.of(run) for run in (first, *others)]
    if not others:
        raise OptionError("a comparison needs at least two runs")
    labels = list(names) or names_of(runs)
    if len(labels) != len(runs) or len(set(labels)) < len(labels):
        raise OptionError(f"each of the {len(runs)} runs needs a different name, not: {', '.join(labels)}")
    Bounds(1).check("min_count", min_count)
    contrasts: list[Contrast] = []
    notes: list[str] = []
    for index in range(1, len(runs)):
        pairing, sentence = pairing_of(runs[0].record, runs[index].record)
        differing = _differing_options(runs[0].record, runs[index].record)
        notes.append(f"{labels[0]} is compared with {labels[index]}. {sentence}{differing}")
        pair = labels[0], labels[index]
        second = runs[index].families
        if pairing == "unpaired" and _may_share_ids(runs[0], runs[index]):
            second = {key: [one.independent("second") for one in families] for key, families in second.items()}
        compared = _contrasts(runs[0].families, second, pair, pairing, min_count=min_count)
        if not any(row.first and row.second for contrast in compared for row in contrast.differences):
            have = ", and ".join(
                f"{label} has {_described(run)}" for label, run in zip(pair, (runs[0], runs[index]), strict=True)
            )
            raise OptionError(f"the runs have no statistics that can be compared with each other: {have}")
        contrasts += compared
    notes += _left_out(runs)
    return Comparison(tuple(contrasts), min_count, tuple(notes))


def _described(run: ComparedRun) -> str:
    """The analyses of a run, each with its kinds of maps, or with the remark that it has nothing to compare."""
    kinds: dict[str, list[str]] = {name: [] for name in run.analyses}
    for name, kind in run.families:
        kinds[name].append(kind)
    return " and ".join(
        f"{name} ({', '.join(of)})" if any(of) else name if of else f"{name} (nothing to compare)"
        for name, of in kinds.items()
    )


def names_of(runs: Sequence[Compared]) -> list[str]:
    """Return names that distinguish runs: the models, the maps, the corpora, or several of these; at worst numbers."""
    compared = [ComparedRun.of(run) for run in runs]
    models = [run.titles.model or "model" for run in compared]
    maps = [" and ".join(run.kinds) for run in compared]
    corpora = [run.titles.corpus or "corpus" for run in compared]
    differing = [facts for facts in (models, maps, corpora) if len(set(facts)) > 1]
    names = [", ".join(filter(None, facts)) for facts in zip(*differing, strict=True)] if differing else models
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({number})" for number, name in enumerate(names, start=1)]


def _may_share_ids(first: ComparedRun, second: ComparedRun) -> bool:
    """Whether different inputs of two runs may have the same id, by which the bootstrap would draw them together."""
    return first.inputs is None or second.inputs is None or bool(first.inputs & second.inputs)


def _contrasts(
    first: Mapping[tuple[str, str], Sequence[Comparable]],
    second: Mapping[tuple[str, str], Sequence[Comparable]],
    names: tuple[str, str],
    pairing: Pairing,
    *,
    min_count: int,
) -> list[Contrast]:
    """Compare two runs, analysis by analysis, and kind by kind."""
    contrasts: list[Contrast] = []
    for analysis in dict.fromkeys(name for name, _ in (*first, *second)):
        kinds = [[kind for name, kind in families if name == analysis] for families in (first, second)]
        for pair in _pairs_of_kinds(*kinds):
            several = len(kinds[0]) > 1 or len(kinds[1]) > 1
            sides = [
                Side(name, kind or "", f"{name} ({kind})" if several and kind else name)
                for name, kind in zip(names, pair, strict=True)
            ]
            statistics = [
                families.get((analysis, kind), ()) if kind is not None else ()
                for families, kind in zip((first, second), pair, strict=True)
            ]
            contrasts += contrasts_of(
                analysis, statistics[0], statistics[1], (sides[0], sides[1]), pairing, min_count=min_count
            )
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
    options = first["options"], second["options"]
    differing = [
        f"{flag(name)} ({_in_words(options[0].get(name))} and {_in_words(options[1].get(name))})"
        for name in dict.fromkeys([*options[0], *options[1]])
        if name not in _NO_RESULT and options[0].get(name) != options[1].get(name)
    ]
    return f" The runs differ in these options: {', '.join(differing)}." if differing else ""


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _left_out(runs: Sequence[ComparedRun]) -> list[str]:
    """Return a sentence that names the analyses that have nothing to compare."""
    analyses = dict.fromkeys(name for run in runs for name in run.analyses)
    compared = {name for run in runs for name, _ in run.families}
    left_out = [name for name in analyses if name not in compared]
    return [f"Analyses without statistics that can be compared: {', '.join(left_out)}."] if left_out else []


def compare_folders(
    folders: Sequence[Path],
    out: Path,
    *,
    names: Sequence[str] = (),
    min_count: int,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> tuple[Comparison, Section]:
    """Compare finished runs, and write the table, the figures and the page."""
    stages = Stages()
    with RunFolder(out, overwrite=overwrite, reads=folders) as target:
        with stages("read the runs"):
            runs = [load_compared_run(folder) for folder in folders]
        labels = list(names) or names_of(runs)
        with stages("compare"):
            comparison = compare(*runs, names=labels, min_count=min_count)
        with stages("tables and figures"):
            section = comparison_section(comparison, name=TABLE, title=_title(labels))
        record = describe_command(command, {**(shown_options or {}), "out": str(out)}, 0, stages)
        record |= {
            "runs": [_describe(*described) for described in zip(labels, folders, runs, strict=True)],
            "warnings": [],
        }
        write_report(target.path, run=record, sections=[section], template="comparison.html.j2")
    return comparison, section


def _title(names: Sequence[str]) -> str:
    """The title of a comparison. Names of several words, such as “weight and norm”, are quoted."""
    quoted = [f"“{name}”" if " " in name else name for name in names]
    return "Comparison of " + " and ".join([", ".join(quoted[:-1]), quoted[-1]])


def _describe(name: str, folder: Path, run: ComparedRun) -> dict[str, Any]:
    """Describe a run for the record: its folder, and what identifies its model and its corpus."""
    model, corpus = run.record["model"], run.record["corpus"]
    return {
        "name": name,
        "folder": str(folder),
        "command": run.record["command"],
        "model": model["name"],
        "revision": model["revision"],
        "weights_sha256": model["weights_sha256"],
        "corpus": run.titles.corpus,
        "files": [{"name": file["name"], "sha256": file["sha256"]} for file in corpus["files"]],
    }

"""How many heads does each method find? Attachment scores of probes, beside what is simpler than they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...probes import registered_state_probes
from ...probes.registry import RANDOM
from ...reports.columns import Row, Schema, TableColumn, bar, bounds
from ...reports.drawing import BLACK, TEXT, finish, panel, with_style
from ...reports.finding import Finding
from ...reports.format import interval, percent, rows_of
from ...reports.shapes import name_rows
from ...reports.table import ShownTable
from ...storage.writing import amount
from ..counting.best_head import interval as bootstrap_interval
from ..counting.held_out import NO_CLAIM
from ..counting.resampling import FEWEST_UNITS
from ..shared.measures import points, share
from .methods import BASELINES, color, meaning
from .rows import NAME, Attempt, ProbeQuestion, ProbeResults, Tested, TestedWords, deviation, mean, scores

PROBE = Schema(
    "probe",
    "One row per method and way of decoding.",
    (
        TableColumn("method", "text", "the probe or baseline", "method"),
        TableColumn("decoding", "text", "`argmax`: the best candidate of each word; `tree`: the best tree"),
        TableColumn("runs", "count", "training runs with different seeds"),
        TableColumn("correct", "count", "found words, without punctuation, added up over all runs"),
        TableColumn("total", "count", "scored words, without punctuation, of each run"),
        bar("uas", "control_accuracy"),
        TableColumn(
            "uas uas_low uas_high",
            "share",
            "the mean over runs: `correct` / (`total` × `runs`); intervals over sentences",
            "UAS",
            beside=bounds("uas"),
        ),
        TableColumn(
            "uas_sd",
            "share",
            "the standard deviation of the UAS over runs",
            "sd over runs",
            terminal="sd",
            optional=True,
        ),
        TableColumn("uas_all", "share", "the UAS with punctuation", "with punctuation", room="page"),
        TableColumn("uas_noroot", "share", "the UAS without punctuation and roots", "without roots", room="page"),
    ),
)

_AS_TREE = TableColumn("tree_uas", "share", "", "as a tree", terminal="tree", optional=True)
"""The score of the same method in another row of the table."""

_VERDICTS = {1: "clearly more", 0: "not clearly more", -1: "clearly fewer"}
"""How a text says on which side of something else a probe is."""


class Scores(ProbeQuestion):
    """How many heads does each method find?"""

    name = "scores"
    tables = (PROBE,)
    template = Path(__file__).with_name("scores.html.j2")

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the scores of all methods."""
        rows = [
            {"method": method, "decoding": decoding, **_score_columns(counts.words, attempts, counts.replicated[key])}
            for key, attempts in counts.groups.items()
            for method, decoding in (key,)
        ]
        return pd.DataFrame(rows)

    def frames(self, answer: pd.DataFrame, results: ProbeResults) -> Mapping[str, pd.DataFrame]:
        """Return the table with the columns of all questions."""
        return {PROBE.name: results.methods}

    def show(self, answer: pd.DataFrame, results: ProbeResults) -> Sequence[ShownTable]:
        """Return the table."""
        return (methods_table(results),)

    def draw(self, answer: pd.DataFrame, results: ProbeResults, title: str) -> Mapping[str, Figure]:
        """Draw the scores."""
        return {"probe": methods_figure(results.methods, title=title)}

    def values(self, answer: pd.DataFrame, results: ProbeResults) -> Mapping[str, Any]:
        """Return what was trained on what, and how to read the table."""
        argmax, of_states = results.argmax, registered_state_probes()
        shown = [of_states[name] for name in argmax["method"] if name in of_states]
        reads_maps = bool(results.probes) or any(probe.reads_maps for probe in shown)
        read = [*(["attention maps"] if reads_maps else []), *(["hidden states"] if shown else [])]
        return {
            "rows": rows_of(argmax),
            "tree": bool((results.methods["decoding"] == "tree").any()),
            "meanings": {name: meaning(name) for name in argmax["method"]},
            "has_control": "control_accuracy" in argmax and bool(argmax["control_accuracy"].notna().any()),
            "has_published": "paper_uas" in argmax,
            "has_intervals": bool((argmax["uas_low"] < argmax["uas_high"]).any()),
            # Probes on random weights have more runs, because every copy of the network has its own.
            "runs": min(argmax.loc[argmax["method"].isin([*results.probes, *of_states]), "runs"], default=1),
            "read": " and ".join(read) or "attention maps",
            "facts": list(results.facts),
            "notes": list(results.notes),
        }

    def findings(self, answer: pd.DataFrame, results: ProbeResults) -> Sequence[Finding]:
        """Say how each probe does."""
        return [Finding(text, "#methods") for _, text in score_texts(results)]


def _score_columns(words: TestedWords, attempts: Sequence[Attempt], replicated: np.ndarray) -> dict[str, Any]:
    """Return the scores of a method and decoding, given its attempts, and its score in replicates."""
    of_runs = scores(words.scored, attempts)
    low, high = bootstrap_interval(replicated)
    return {
        "runs": len(attempts),
        "correct": sum(int((attempt.right & words.scored).sum()) for attempt in attempts),
        "total": int(words.scored.sum()),
        "uas": mean(of_runs),
        "uas_sd": deviation(of_runs),
        "uas_low": low,
        "uas_high": high,
        "uas_all": mean(scores(words.known, attempts)),
        "uas_noroot": mean(scores(words.noroot, attempts)),
    }


def methods_table(results: ProbeResults) -> ShownTable:
    """Return the scores of all methods, and in a terminal their differences below them."""
    methods = results.methods
    tree_scores = methods[methods["decoding"] == "tree"].set_index("method")["uas"].to_dict()
    rows: list[Row] = [
        {"control_accuracy": float("nan"), **row, "tree_uas": tree_scores.get(row["method"], float("nan"))}
        for row in rows_of(results.argmax)
    ]
    facts_as_sentences = [f"{fact[0].upper()}{fact[1:]}." for fact in results.facts]
    notes = [*facts_as_sentences, *results.notes]
    for row in results.differences:
        difference = f"{percent(row['difference'], sign=True)} {interval(row['low'], row['high'])}".rstrip()
        notes.append(f"{row['first']} − {row['second']}: {difference}")
    title = "Syntactic heads found (UAS in %, without punctuation)"
    return ShownTable(NAME, title, (*PROBE.columns, *results.added, _AS_TREE), rows, notes=notes, wide=110)


@with_style
def methods_figure(methods: pd.DataFrame, *, title: str) -> Figure:
    """Draw scores of all methods as bars with intervals; the control task as a hollow mark, trees as a filled one."""
    rows = methods[methods["decoding"] == "argmax"].to_dict("records")
    tree_rows = methods[methods["decoding"] == "tree"].to_dict("records")
    figure, axes = panel(TEXT, 0.9 + 0.28 * len(rows), "x")
    for position, row in enumerate(rows):
        axes.barh(position, 100 * row["uas"], height=0.62, color=color(row["method"]), zorder=2)
        if row["uas_low"] < row["uas_high"]:
            low, high = 100 * row["uas_low"], 100 * row["uas_high"]
            axes.plot([low, high], [position, position], color=BLACK, linewidth=1, zorder=3)
    marks: list[tuple[str, str, Any, dict[str, float]]] = [
        ("control task", "D", {"facecolor": "white", "edgecolor": BLACK}, _of_methods(rows, "control_accuracy")),
        ("as a tree", "^", {"color": BLACK}, _of_methods(tree_rows, "uas")),
        ("paper, on the Penn Treebank", "|", {"color": BLACK, "linewidth": 2}, _of_methods(rows, "paper_uas")),
    ]
    names = [row["method"] for row in rows]
    for label, marker, style, of_methods in marks:
        positions = [position for position, name in enumerate(names) if name in of_methods]
        values = [100 * of_methods[names[position]] for position in positions]
        if positions:
            axes.scatter(values, positions, s=18, marker=marker, zorder=4, label=label, **style)
    name_rows(axes, names, [percent(row["uas"]) for row in rows])
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 100)
    axes.set_xlabel("unlabeled attachment score without punctuation (%)")
    finish(figure, axes, title)
    return figure


def _of_methods(rows: Sequence[dict[Any, Any]], column: str) -> dict[str, float]:
    """Return the values of a column by method, where there is one."""
    values = {row["method"]: float(row.get(column, np.nan)) for row in rows}
    return {method: value for method, value in values.items() if not np.isnan(value)}


def score_texts(results: ProbeResults) -> Iterator[tuple[str, str]]:
    """Yield each probe and how it does beside its control task and beside what is simpler."""
    has_enough = results.units >= FEWEST_UNITS
    argmax = results.argmax
    for row in rows_of(argmax[argmax["method"].isin(results.probes) & (argmax["total"] > 0)]):
        score = share(row["uas"], row["uas_low"], row["uas_high"])
        runs = f", as a mean of {row['runs']} runs" if row["runs"] > 1 else ""
        text = (
            f"{score} of {amount(row['total'], 'words')} have a syntactic head that the probe {row['method']} finds in "
            f"sentences that did not train it{runs}"
        )
        if not has_enough or math.isnan(row["uas_low"]):
            not_compared = f"It is not compared: {NO_CLAIM.format(units='sentences')}."
            yield row["method"], f"{text}{_name_strongest(results)}. {not_compared}"
            continue
        if not math.isnan(row.get("control_accuracy", math.nan)):
            verdict, control = _VERDICTS[side_of_control(row)], share(row["control_accuracy"])
            text += f", {verdict} than on its control task ({control}, {points(row['selectivity'])})"
        text += _name_strongest(results)
        methods_by_verdict: dict[str, list[str]] = {verdict: [] for verdict in _VERDICTS.values()}
        for contrast in results.differences:
            if contrast["first"] == row["method"]:
                difference = points(contrast["difference"], contrast["low"], contrast["high"])
                methods_by_verdict[_VERDICTS[side_of_second(contrast)]].append(f"“{contrast['second']}” ({difference})")
        verdicts = [
            f"{verdict} than {', '.join(simpler)}" for verdict, simpler in methods_by_verdict.items() if simpler
        ]
        said = " and ".join(filter(None, [", ".join(verdicts[:-1]), *verdicts[-1:]]))
        yield row["method"], f"{text}." + (f" It finds {said}." if said else "")


def _name_strongest(results: ProbeResults) -> str:
    """Name the strongest baseline, which may be a probe on random weights; empty if the run has none."""
    simpler = [each.name for each in BASELINES]
    table = results.argmax
    is_simpler = table["method"].isin(simpler) | table["method"].str.endswith(RANDOM)
    for best in rows_of(table[is_simpler & table["uas"].notna()].nlargest(1, "uas")):
        return f"; the strongest baseline, “{best['method']}”, finds {share(best['uas'])}"
    return ""


def side_of_control(row: Mapping[str, Any]) -> int:
    """Return on which side of the accuracy on the control task the score is with its whole interval; 0 if on none."""
    return int(row["uas_low"] > row["control_accuracy"]) - int(row["uas_high"] < row["control_accuracy"])


def side_of_second(row: Mapping[str, Any]) -> int:
    """Return on which side of 0 a difference of two methods is with its whole interval; 0 if on none."""
    return int(row["low"] > 0) - int(row["high"] < 0)

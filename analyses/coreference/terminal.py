"""The table of the best head of each type of mention for a terminal."""

from __future__ import annotations

from rich import box
from rich.markup import escape
from rich.table import Table

from ...reports.format import best_direction, best_head, head_name, interval, percent, rows_of
from ...reports.terminal import WIDE
from .contrasts_section import contrast_lines
from .section import CoreferenceResults, best_of, candidates_in_words


def coreference_table(results: CoreferenceResults, *, width: int = WIDE) -> Table:
    """Return a rich table of the best head per type of mention, beside the baselines."""
    best = best_of(results.tables.best, results.candidates)
    rows = [row for row in rows_of(best) if row["total"]]
    wide = width >= WIDE
    has_intervals = wide and bool((best["accuracy_low"] < best["accuracy_high"]).any())
    account = results.account
    lines = [
        f"n in parentheses: fewer than {results.min_count} mentions. "
        f"Candidates are {candidates_in_words(results)[results.candidates]}."
        + (" In square brackets: 95 % intervals." if has_intervals else ""),
        f"Mentions that have an antecedent in the corpus: {account['anaphors']:,}; scored: {account['scored']:,}."
        + (f" Asked for, but with no right candidate: {account['no answer']:,}." if account["no answer"] else ""),
        *results.notes,
        *(
            f"{row['first']} {percent(row['first_accuracy'])}, {row['second']} {percent(row['second_accuracy'])}: "
            f"difference {percent(row['difference'], sign=True)} "
            f"{interval(row['difference_low'], row['difference_high'])} (head {head_name(row['layer'], row['head'])})"
            for row in rows_of(results.tables.contrasts)
            if row["candidates"] == results.candidates
        ),
        *contrast_lines(results.tables, results.candidates),
        *(f"{fact[0].upper()}{fact[1:]}." for fact in results.map_facts if not fact.startswith("map “weight”")),
    ]
    table = Table(
        title="Best attention head per type of mention (antecedents found in %)",
        caption=escape("\n".join(lines)),
        title_justify="left",
        caption_justify="left",
        box=box.HEAVY_HEAD if wide else None,
        padding=(0, 1) if wide else (0, 1, 0, 0),
    )
    has_control = "control_accuracy" in best
    table.add_column("mentions", no_wrap=True)
    for heading in ("n", "head"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("direction", no_wrap=True)
    same_head, gain_heading = ("same head", "held-out gain") if wide else ("same\nhead", "held-\nout\ngain")
    headings = ["accuracy", "nearest", same_head, "rules", "held-\nout", gain_heading]
    for heading in [*headings, *(["random"] if has_control else [])]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        accuracy, gain = percent(row["accuracy"]), percent(row["heldout_gain"], sign=True)
        if has_intervals:
            accuracy += " " + interval(row["accuracy_low"], row["accuracy_high"])
            gain += " " + interval(row["heldout_gain_low"], row["heldout_gain_high"])
        values = [row[f"{name}_accuracy"] for name in ("nearest", "head_match", "rule_based")]
        n = f"{row['total']:,}" if row["total"] >= results.min_count else f"({row['total']:,})"
        cells = [row["type"], n, best_head(row), best_direction(row), accuracy.strip()]
        cells += [*(percent(value) for value in values), percent(row["heldout_accuracy"]), gain.strip()]
        table.add_row(*cells, *([percent(row["control_accuracy"])] if has_control else []))
    return table

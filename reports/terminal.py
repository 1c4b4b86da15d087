"""What the analyses found, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from rich import box
from rich.markup import escape
from rich.table import Table

from attentionology.analyses.coreference.contrasts_section import contrast_lines
from attentionology.analyses.coreference.section import CoreferenceResults, best_of, candidates_in_words
from attentionology.analyses.norms.section import NormResults
from attentionology.analyses.surface.section import (
    BY_LAYER,
    ClusterResults,
    SurfaceResults,
    label_rows,
    statistic_names,
)
from attentionology.reports.format import (
    best_direction,
    best_head,
    best_offset,
    head_name,
    interval,
    number,
    percent,
    rows_of,
    shown_rows,
)

WIDE = 130
"""Columns of a terminal that the table with intervals needs."""


def best_heads_table(best: pd.DataFrame, *, min_count: int, width: int = WIDE, map_facts: Sequence[str] = ()) -> Table:
    """A rich table of the best head per relation; relations rarer than ``min_count`` come last, in brackets.

    In a terminal narrower than `WIDE` the intervals are left to the report. ``map_facts`` say what the maps are.
    """
    wide = width >= WIDE
    has_intervals = wide and bool(best["accuracy_low"].notna().any())
    caption = f"n in brackets: fewer than {min_count} words, too few to read much into."
    table = Table(
        title="Best attention head per relation (accuracy in %)",
        caption=caption
        + (" In square brackets: 95 % intervals." if has_intervals else "")
        + escape("".join(f"\n{fact[0].upper()}{fact[1:]}." for fact in map_facts)),
        title_justify="left",
        caption_justify="left",
        box=box.HEAVY_HEAD if wide else None,
        padding=(0, 1) if wide else (0, 1, 0, 0),
    )
    table.add_column("relation", no_wrap=True)
    for name in ("n", "head"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("direction", no_wrap=True)
    for name in ("accuracy", "offset", "gain", "held-out"):
        table.add_column(name, justify="right", no_wrap=True)
    has_control = "control_accuracy" in best
    if has_control:
        table.add_column("random", justify="right", no_wrap=True)
    for row, frequent in shown_rows(best, min_count):
        accuracy, gain = percent(row["accuracy"]), percent(row["gain"], sign=True)
        if has_intervals:
            accuracy += " " + interval(row["accuracy_low"], row["accuracy_high"])
            gain += " " + interval(row["gain_low"], row["gain_high"])
        cells = [
            escape(row["relation"]),
            f"{row['total']:,}" if frequent else f"({row['total']:,})",
            best_head(row),
            best_direction(row),
            accuracy.strip(),
            f"{percent(row['offset_accuracy'])} {best_offset(row)}".strip(),
            gain.strip(),
            percent(row["heldout_accuracy"]),
        ]
        if has_control:
            cells.append(percent(row["control_accuracy"]))
        table.add_row(*cells, style=None if frequent else "dim")
    return table


def norms_table(results: NormResults) -> Table:
    """A rich table of the main numbers on norms, layer by layer."""
    over_heads = results.shares.groupby(["layer", "class"])[["weight", "norm_share"]].mean()
    mixing = results.mixing[results.mixing["class"] == "all"].set_index(["layer", "variant"])["mean"]
    change = None if results.change is None else results.change.set_index(["layer", "component"])["change"]
    specials = [name for name in ("[CLS]", "[SEP]") if name in set(results.shares["class"])]
    variants = ["attn-w", "attnresln-n", "atbffresln-n"]
    table = Table(
        title="Weights and norms by layer",
        caption="α, ‖αf‖: share of attention weights, of norms (%). Mixing ratios in %. "
        "Change of the map by the FF network and by the whole block, 1 − ρ.",
        title_justify="left",
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    table.add_column("layer", justify="right")
    headings = [f"{what} {escape(name)}" for name in specials for what in ("α", "‖αf‖")]
    headings += [*variants, "expansion", *(["FF", "FFB"] if change is not None else [])]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in results.expansion.to_dict("records"):
        layer = row["layer"]
        cells = [
            percent(over_heads.loc[(layer, name), column]) for name in specials for column in ("weight", "norm_share")
        ]
        cells += [percent(mixing.loc[(layer, variant)]) for variant in variants]
        cells.append(number(row["expansion"], 2))
        if change is not None:
            cells += [number(change.loc[(layer, component)]) for component in ("FF", "FFB")]
        table.add_row(str(layer), *cells)
    return table


def surface_table(results: SurfaceResults) -> Table:
    """A rich table of the surface statistics, layer by layer, and the labels of heads below it."""
    layers, names = results.tables.layers, statistic_names(results.specials)
    columns = [name for name in BY_LAYER if layers[name].notna().any()]
    labels = [
        f"{row['label']}: {' '.join(row['heads'][:8])}{' …' if len(row['heads']) > 8 else ''}"
        for row in label_rows(results.tables.heads, results.specials)
        if row["heads"] and row["label"] != "no label"
    ]
    uniform = number(layers["uniform_entropy"].iloc[0], 2)
    table = Table(
        title="Where attention goes by layer (mean over heads, %)",
        caption=escape(
            "\n".join(
                [f"Entropy in nats; attention to all tokens alike would have {uniform}.", *labels, *results.notes]
            )
        ),
        title_justify="left",
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for heading in ("layer", *(escape(names[name]) for name in columns), "entropy", "rel. entropy"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in layers.to_dict("records"):
        shares = [percent(row[name]) for name in columns]
        table.add_row(str(row["layer"]), *shares, number(row["entropy"], 2), percent(row["entropy_relative"]))
    return table


def clusters_table(results: ClusterResults, *, notes: bool = True) -> Table:
    """A rich table of how alike the heads of a layer are, with the notes unless they were shown before."""
    geography = results.geography
    summary = (
        f"Stress of the map in two dimensions: {number(geography.stress, 2)}. Clusters: "
        f"{geography.embedding['cluster'].nunique()}, mean silhouette {number(geography.silhouette, 2)}."
    )
    table = Table(
        title=f"Which heads attend alike (Jensen-Shannon divergence, {results.distances.rows:,} rows)",
        caption=escape("\n".join([summary, *(results.notes if notes else ())])),
        title_justify="left",
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
        min_width=96,
        show_header=not geography.neighbours.empty,
    )
    table.add_column("")
    for heading in ("found", "layers shuffled", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in geography.neighbours.to_dict("records"):
        table.add_row(row["question"], number(row["found"]), number(row["shuffled"]), number(row["p"], 4))
    return table


def coreference_table(results: CoreferenceResults, *, width: int = WIDE) -> Table:
    """A rich table of the best head per type of mention, against the baselines."""
    best = best_of(results.tables.best, results.candidates)
    rows = [row for row in rows_of(best) if row["total"]]
    wide = width >= WIDE
    has_intervals = wide and bool((best["accuracy_low"] < best["accuracy_high"]).any())
    account = results.account
    lines = [
        f"n in brackets: fewer than {results.min_count} mentions. "
        f"Candidates: {candidates_in_words(results)[results.candidates]}."
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
    headings = ["accuracy", "nearest", "same head", "rules", "gain", "held-out", *(["random"] if has_control else [])]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        accuracy, gain = percent(row["accuracy"]), percent(row["gain"], sign=True)
        if has_intervals:
            accuracy += " " + interval(row["accuracy_low"], row["accuracy_high"])
            gain += " " + interval(row["gain_low"], row["gain_high"])
        values = [row[f"{name}_accuracy"] for name in ("nearest", "head_match", "rule_based")]
        n = f"{row['total']:,}" if row["total"] >= results.min_count else f"({row['total']:,})"
        cells = [row["type"], n, best_head(row), best_direction(row), accuracy.strip()]
        cells += [*(percent(value) for value in values), gain.strip(), percent(row["heldout_accuracy"])]
        table.add_row(*cells, *([percent(row["control_accuracy"])] if has_control else []))
    return table

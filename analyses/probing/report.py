"""The results of probing, its section, and its part in the explorer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pandas as pd

from ...reports.columns import Row, TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure
from ...reports.finding import Finding
from ...reports.format import ARROWS, head_name, interval, percent, rare_in_parentheses, rows_of
from ...reports.page import Section
from ...reports.table import ShownTable
from ...reports.tables import records
from ..contract import Titles
from ..shared.explored import address, head_measures, share
from ..shared.previews import results_html, results_line
from .attachment import AttachmentTables
from .columns import PROBE, PROBE_CONTRASTS, PROBE_WEIGHTS, PROBE_WEIGHTS_BY_RELATION
from .figures import lengths_figure, methods_figure, training_figure, weights_figure
from .findings import findings_of_weights, measure_id, score_texts, trained_probes
from .head_weights import HeadWeights


class ProbeResults(NamedTuple):
    """The results of probing. Layers and heads are 1-based, scores are shares of words.

    Attributes:
        tables: the scores of all methods. ``tables.methods`` has one row per ``method`` and ``decoding``, with the
            unlabeled attachment score ``uas``, its interval (``uas_low``, ``uas_high``), the ``control_accuracy`` and
            the ``selectivity``; ``tables.runs`` has one row per training ``run``; ``tables.relations`` and
            ``tables.lengths`` have the score by ``relation`` and by ``length`` of the arc; and ``tables.contrasts``
            has the ``difference`` of two methods on the same words, with its interval.
        weights: which heads each attention probe uses, by the name of the probe. ``heads`` has one row per
            ``direction``, ``layer`` and ``head``, with its ``weight``, ``contribution`` and ``accuracy``;
            ``relations`` has the head with the largest weight by ``relation``; and ``correlations`` has the
            correlations of weight and contribution with accuracy over all heads.
        history: one row per ``method``, ``task``, ``run``, ``fold`` and ``epoch``, with ``loss``, ``train_uas`` and
            ``dev_uas``.
        published: the paper's scores in percent by method, if the model is the paper's.
        min_count: relations with fewer words are grayed.
        facts: what was trained on what, one phrase each.
        notes: how the numbers were computed, one sentence each.
        meanings: what each method is, one phrase each.
    """

    tables: AttachmentTables
    weights: Mapping[str, HeadWeights]
    history: pd.DataFrame
    published: Mapping[str, int] | None = None
    min_count: int = 50
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    meanings: Mapping[str, str] = MappingProxyType({})

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)


def beside_paper(results: ProbeResults) -> pd.DataFrame:
    """Return the methods, with the paper's scores as a share in ``paper_uas`` if the model is the paper's."""
    methods = results.tables.methods
    if results.published is None:
        return methods
    percent = methods["method"].map(dict(results.published))
    return methods.assign(paper_uas=percent.where(methods["decoding"] == "argmax") / 100)


def used_heads(results: ProbeResults) -> dict[str, HeadWeights]:
    """Return the weights of the probes that have any; without an arc there are no weights."""
    return {name: weights for name, weights in results.weights.items() if len(weights.relations)}


_SHOWN_HEADS = 10


def probe_section(results: ProbeResults, titles: Titles) -> Section:
    """Return the tables, the figures and the section of the page."""
    scores = results.tables
    title = titles.figure
    methods = beside_paper(results)
    tables = {
        "probe": methods,
        "probe_runs": scores.runs,
        "probe_by_relation": scores.relations,
        "probe_by_length": scores.lengths,
        "probe_contrasts": scores.contrasts,
        "probe_training": results.history,
    }
    figures = {
        "probe": methods_figure(methods, title=title),
        "probe_lengths": lengths_figure(scores.lengths, title=title),
        "probe_training": training_figure(results.history, title=title),
    }
    used = used_heads(results)
    if used:
        heads = {probe: weights.heads for probe, weights in used.items()}
        figures["probe_weights"] = weights_figure(heads, title=title)
        tables["probe_weights"] = _of_all_probes(used, "heads")
        tables["probe_weights_by_relation"] = _of_all_probes(used, "relations")
        tables["probe_weights_correlation"] = _of_all_probes(used, "correlations")
    argmax = methods[methods["decoding"] == "argmax"]
    trained = trained_probes(results.history)
    return Section(
        title=f"What the attention heads of {titles.model} together know of syntax",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "rows": rows_of(argmax),
            "tree": bool((methods["decoding"] == "tree").any()),
            "meanings": {name: results.meanings.get(name, "") for name in argmax["method"]},
            "contrasts": len(scores.contrasts),
            "weights": {name: rows_of(weights.correlations) for name, weights in used.items()},
            "published": results.published,
            "has_control": bool(argmax["control_accuracy"].notna().any()),
            "has_intervals": bool((argmax["uas_low"] < argmax["uas_high"]).any()),
            # Where the numbers differ, those on random weights are larger: every copy of the network has its own runs.
            "runs": int(argmax.loc[argmax["method"].isin(results.history["method"]), "runs"].min()),
            "facts": list(results.facts),
            "notes": list(results.notes),
            "min_count": results.min_count,
        },
        shown=shown_tables(results),
        summary={
            "probe": records(methods),
            "probe_contrasts": records(scores.contrasts),
            "probe_weights": {name: records(weights.correlations) for name, weights in used.items()},
            "probe_notes": list(results.notes),
        },
        tables=tables,
        figures=figures,
        findings=[Finding(text, "#methods") for _, text in score_texts(scores, trained)],
    )


def _of_all_probes(used: Mapping[str, HeadWeights], table: str) -> pd.DataFrame:
    """Return a table of `HeadWeights` of all probes, with the name of the probe in the first column."""
    together: pd.DataFrame = pd.concat([getattr(of_probe, table).assign(probe=name) for name, of_probe in used.items()])
    return together[["probe", *together.columns.drop("probe")]]


def shown_tables(results: ProbeResults) -> list[ShownTable]:
    """Return the tables of the page: methods, their differences, relations, and the heads that each probe uses."""
    contrasts = rows_of(results.tables.contrasts)
    tables = [
        methods_table(results),
        ShownTable("probe_contrasts", "What each adds (points of UAS)", PROBE_CONTRASTS.columns, contrasts),
        _relations(results.tables.relations, results.min_count),
    ]
    for number, (name, weights) in enumerate(used_heads(results).items(), start=1):
        top = weights.heads.sort_values("weight", ascending=False, kind="stable").head(_SHOWN_HEADS)
        columns = PROBE_WEIGHTS_BY_RELATION.columns
        if name == "attention":  # whose weights are the same for all relations
            columns = tuple(column for column in columns if not column.names.startswith("weight"))
        tables += [
            ShownTable(
                f"probe_weights_{number}", f"The largest weights of {name}", PROBE_WEIGHTS.columns, rows_of(top)
            ),
            ShownTable(
                f"probe_weights_by_relation_{number}",
                f"The most weighted heads of {name} by relation",
                columns,
                rows_of(weights.relations),
                style=lambda row: "" if row["arcs"] >= results.min_count else "rare",
            ),
        ]
    return tables


def methods_table(results: ProbeResults) -> ShownTable:
    """Return the scores of all methods, and in a terminal their differences below them."""
    methods = beside_paper(results)
    tree_scores = methods[methods["decoding"] == "tree"].set_index("method")["uas"].to_dict()
    argmax = rows_of(methods[methods["decoding"] == "argmax"])
    rows: list[Row] = [{**row, "tree_uas": tree_scores.get(row["method"], float("nan"))} for row in argmax]
    facts_as_sentences = [f"{fact[0].upper()}{fact[1:]}." for fact in results.facts]
    notes = [*facts_as_sentences, *results.notes]
    for row in rows_of(results.tables.contrasts):
        difference = f"{percent(row['difference'], sign=True)} {interval(row['low'], row['high'])}".rstrip()
        notes.append(f"{row['first']} − {row['second']}: {difference}")
    as_tree = TableColumn("tree_uas", "share", "", "as a tree", terminal="tree", optional=True)
    title = "Syntactic heads found (UAS in %, without punctuation)"
    return ShownTable("probe", title, (*PROBE.columns, as_tree), rows, notes=notes, wide=110)


def _relations(relations: pd.DataFrame, min_count: int) -> ShownTable:
    """Return the scores of all methods for each relation, the best of each relation in bold."""
    argmax = relations[relations["decoding"] == "argmax"]
    methods = list(dict.fromkeys(argmax["method"]))
    table = argmax.pivot_table(index=["relation", "total"], columns="method", values="uas", sort=False)
    rows = [
        {
            "relation": relation,
            "total": total,
            "is_frequent": total >= min_count,
            "best": max(scores.values()),
            **{f"uas {name}": score for name, score in scores.items()},
        }
        for (relation, total), scores in zip(table.index, rows_of(table), strict=True)
    ]
    columns = [
        TableColumn("relation", "text", "", "relation"),
        TableColumn("total", "count", "", "n", cell=rare_in_parentheses),
        *map(_score_column, methods),
    ]
    title = "UAS by relation (%)"
    return ShownTable("probe_relations", title, columns, rows, style=lambda row: "" if row["is_frequent"] else "rare")


def _score_column(method: str) -> TableColumn:
    """Return the column of the scores of a method, whose name may hold spaces."""
    key = f"uas {method}"
    share = TableColumn("value", "share", "")
    return replace(
        share,
        names="",
        heading=method,
        cell=lambda row: share.text({"value": row[key]}),
        look=lambda row: "strong" if row[key] == row["best"] and row["best"] > 0 else "",
    )


def explored_probes(results: ProbeResults) -> Contribution | None:
    """Return the weights of all heads in all probes of attention; None if there are none."""
    probes = used_heads(results)
    if not probes:
        return None
    measures: list[Measure] = []
    facts: dict[str, tuple[Fact, ...]] = {}  # by the name of the head, as are phrases
    phrases: dict[str, tuple[str, ...]] = {}
    for probe, weights in probes.items():
        measures += _measures(probe, weights.heads)
        for head, fact, phrase in _facts(probe, weights.heads):
            facts[head] = (*facts.get(head, ()), fact)
            phrases[head] = (*phrases.get(head, ()), phrase)
    findings = (*_findings_of_scores(results, probes), *findings_of_weights(probes))
    return Contribution(tuple(measures), findings, phrases, facts)


def _measures(probe: str, heads: pd.DataFrame) -> Iterator[Measure]:
    """Yield the measures of a probe in each direction."""
    for name, rows in heads.groupby("direction", sort=False):
        direction = str(name)
        facts, id_of = (
            {"probe": probe, "arrow": ARROWS[direction]},
            partial(measure_id, probe=probe, direction=direction),
        )
        yield from head_measures(PROBE_WEIGHTS, rows, id_of, facts, direction=direction)


def _facts(probe: str, heads: pd.DataFrame) -> Iterator[tuple[str, Fact, str]]:
    """Yield for each head its name, a line of its card and a phrase about it, both about its larger weight."""
    ranked = heads.sort_values("weight", ascending=False, kind="stable").drop_duplicates(["layer", "head"])
    ranks = ranked["weight"].rank(ascending=False, method="min").astype(int)
    best = ranked.assign(rank=ranks).sort_values(["layer", "head"])
    for row in rows_of(best):
        rank, weight, arrow = f"{row['rank']} of {len(best)}", f"{row['weight']:.3f}", ARROWS[row["direction"]]
        text = f"{rank}; weight {weight}, {arrow}; alone {share(row['accuracy'])}"
        fact = Fact(f"rank in the probe {probe}", text, measure_id("weight", probe, row["direction"]))
        phrase = f"has rank {rank} in the probe {probe}, by its weight of {weight} ({arrow})"
        yield head_name(row["layer"], row["head"]), fact, phrase


def _findings_of_scores(results: ProbeResults, probes: Mapping[str, HeadWeights]) -> Iterator[Finding]:
    """Yield how each probe does, with the view of its weights if it has any."""
    for probe, text in score_texts(results.tables, trained_probes(results.history)):
        view = ""
        if probe in probes:
            direction = str(rows_of(probes[probe].heads.nlargest(1, "weight"))[0]["direction"])
            view = address(measure=measure_id("weight", probe, direction))
        yield Finding(text, view)

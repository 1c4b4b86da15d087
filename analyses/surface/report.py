"""The section of where attention goes, and its part in the explorer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure, Profile
from ...reports.finding import Finding
from ...reports.format import named_head, percent, ranges, rows_of
from ...reports.page import Section
from ...reports.tables import records
from ..contract import Titles
from ..shared.explored import address, head_measures, names_of, share
from .columns import GRADIENTS, SURFACE
from .figures import surface_figures
from .shown_tables import SurfaceResults, class_names, shown_tables
from .statistics import LEARNED_SINK


def surface_section(results: SurfaceResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    heads, layers, offsets, counts = results.tables
    specials = results.specials
    tables = {"surface": heads, "surface_layers": layers, "offsets": offsets, "surface_counts": counts}
    summary = {"surface": records(heads), "surface_layers": records(layers)}
    gradients = None
    if results.gradients is not None:
        tables["gradients"] = results.gradients
        summary["gradients"] = records(results.gradients)
        mean_loss = float(results.gradients["loss"].iloc[0])  # all rows have the same
        gradients = {"loss": mean_loss, "inputs": int(results.gradients["inputs"].max())}
    return Section(
        title="What attention heads do on the surface of the text",
        template=Path(__file__).with_name("section.html.j2"),
        context={"notes": results.notes, "sink": sinks(layers, specials), "gradients": gradients},
        shown=shown_tables(results),
        summary=summary,
        tables=tables,
        figures=surface_figures(results, (titles or Titles()).figure),
    )


def sinks(layers: pd.DataFrame, specials: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the special tokens that get the most attention in any layer, with these layers and the range of shares."""
    return [
        {
            "column": str(name),
            "name": specials.get(str(name), str(name)),
            "layers": ranges(group["layer"].tolist()),
            "low": group["sink_share"].min(),
            "high": group["sink_share"].max(),
        }
        for name, group in layers[layers["sink"] != ""].groupby("sink", sort=False)
    ]


_CLASSES = ("first_special", "last_special", "punctuation", "other", LEARNED_SINK)
_POSITIONS = ("previous", "next", "self")


def explored_surface(results: SurfaceResults, kind: str) -> Contribution:
    """Return the shares, the entropies and the gradients of all heads, their profiles by offset, and what was found."""
    heads = results.tables.heads.sort_values(["layer", "head"])
    names = {"previous": "the previous token", "next": "the next token", "self": "the token itself"}
    names |= {"punctuation": "punctuation", "other": "other words", LEARNED_SINK: "the learned sink"}
    names |= {name: results.specials.get(name, name.replace("_", " ")) for name in ("first_special", "last_special")}
    inputs = {str(name): int(count) for name, count in results.tables.counts.set_index("statistic")["inputs"].items()}
    return Contribution(
        measures=(
            *head_measures(SURFACE, heads, partial(_id, about=kind), names, inputs, kind=kind),
            *_gradients(results),
        ),
        findings=tuple(_findings(results, heads, kind)),
        phrases=_phrases(heads, names),
        facts=_facts(heads, names, kind),
        profiles=_profiles(results.tables.offsets),
    )


def _gradients(results: SurfaceResults) -> Iterator[Measure]:
    """Yield the gradients of all heads for each class of tokens."""
    if results.gradients is None:
        return
    names = class_names(results.specials)
    for name, heads in results.gradients.groupby("class", sort=False):
        target = names.get(str(name), str(name))
        yield from head_measures(GRADIENTS, heads, partial(_id, about=str(name)), {"target": target})


def _id(column: str, about: str) -> str:
    """Return the id of a measure of the explorer, which is about a kind of map or a class of tokens."""
    return f"surface/{column}/{about}"


def _phrases(heads: pd.DataFrame, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return a phrase for each head: the share that gave it its label, or else where most of its attention goes."""
    columns = {"next": "next", "previous": "previous", "self": "self", "punctuation": "punctuation"}
    columns |= {"first-special": "first_special", "last-special": "last_special"}
    phrases: dict[str, tuple[str, ...]] = {}
    for name, row in zip(names_of(heads), heads.to_dict("records"), strict=True):
        label = str(row["label"])
        if label in columns:
            column = columns[label]
            phrases[name] = (f"directs {share(float(row[column]))} of its attention to {names[column]}",)
        elif label == "broad":
            entropy = percent(float(row["entropy_relative"]))
            phrases[name] = (f"attends broadly, with {entropy} % of the entropy of uniform attention",)
        else:
            targets = [f"{names[target]} ({share(float(row[target]))})" for target in _by_share(row, _CLASSES)[:2]]
            phrases[name] = (f"divides its attention, most of which goes to {' and '.join(targets)}",)
    return phrases


def _by_share(row: Mapping[Any, Any], targets: Sequence[str]) -> list[str]:
    """Return those targets that the text has, by falling share."""
    return sorted((target for target in targets if pd.notna(row.get(target))), key=lambda target: -row[target])


def _facts(heads: pd.DataFrame, names: Mapping[str, str], kind: str) -> dict[str, tuple[Fact, ...]]:
    """Return, for each head, where its attention goes by class and by position, and its entropy."""
    facts = {}
    for name, row in zip(names_of(heads), heads.to_dict("records"), strict=True):
        lines = []
        for label, group in (("by class of token", _CLASSES), ("by position", _POSITIONS)):
            targets = _by_share(row, group)
            shares = "; ".join(f"{names[target]} {share(float(row[target]))}" for target in targets)
            lines.append(Fact(f"attention {label}", shares, _id(targets[0], kind) if targets else None))
        entropy = f"{float(row['entropy']):.2f} nats, {percent(float(row['entropy_relative']))} % of uniform attention"
        facts[name] = (*lines, Fact("entropy", entropy, _id("entropy", kind)))
    return facts


def _profiles(offsets: pd.DataFrame) -> dict[str, Profile]:
    """Return the attention of each head by offset."""
    defined = offsets[offsets["attention"].notna()].sort_values("offset")
    return {
        str(name): Profile(tuple(rows["offset"].tolist()), tuple(rows["attention"].tolist()))
        for name, rows in defined.assign(name=names_of(defined)).groupby("name", sort=False)
    }


def _findings(results: SurfaceResults, heads: pd.DataFrame, kind: str) -> Iterator[Finding]:
    """Yield the sink, and the heads that attend to neighbors."""
    if all_sinks := sinks(results.tables.layers, results.specials):
        sink = max(all_sinks, key=itemgetter("high"))
        column = sink["column"]
        top = _largest(heads, column)
        text = (
            f"In layers {sink['layers']}, {sink['name']} gets the most attention of all special tokens: from "
            f"{percent(sink['low'])} to {percent(sink['high'])} % on average over the heads of a layer, and "
            f"{percent(float(top[column]))} % in head {named_head(top)}."
        )
        yield Finding(text, address(head=named_head(top), measure=_id(column, kind), kind=kind))
    counts = {label: int((heads["label"] == label).sum()) for label in ("previous", "next")}
    if sum(counts.values()):
        label = max(counts, key=counts.__getitem__)
        top = _largest(heads, label)
        text = (
            f"Of {len(heads)} heads, {counts['previous']} attend{'s' if counts['previous'] == 1 else ''} mostly to the "
            f"previous token and {counts['next']} to the next one; head {named_head(top)} directs "
            f"{percent(float(top[label]))} % of its attention to the {label} token."
        )
        yield Finding(text, address(head=named_head(top), measure=_id(label, kind), kind=kind))


def _largest(heads: pd.DataFrame, column: str) -> dict[str, Any]:
    """Return the row of the head with the largest value."""
    return max(rows_of(heads[heads[column].notna()]), key=lambda row: float(row[column]))

"""What are heads for? A label says in a word what a head attends to (Clark et al. 2019, §6 and the published code)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.columns import TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import name_head, percent
from ...reports.table import ShownTable
from ...storage.writing import amount, verb
from ..contract import OptionSet
from ..shared.measures import address, names_of, share
from .options import ReadingOptions
from .rows import (
    CLASSES,
    LABELS,
    Statistics,
    SurfaceQuestion,
    SurfaceResults,
    by_share,
    find_largest,
    label_rows,
    measure_id,
    target_names,
)

_STATISTIC = {
    "next": "next",
    "previous": "previous",
    "self": "self",
    "broad": "entropy_relative",
    "first-special": "first_special",
    "last-special": "last_special",
    "punctuation": "punctuation",
}


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of the labels. A head gets a label if its statistic is above the threshold."""

    position: float = 0.5  # the threshold of `next`, `previous` and `self`
    target: float = 0.6  # the threshold of the special tokens and punctuation
    # the threshold of the entropy, as a share of the entropy of uniform attention. The paper's 3.8 nats are 0.8 of
    # the entropy of uniform attention over its inputs of some 120 tokens; shorter inputs never reach them
    broad: float = 0.8

    def of(self, label: str) -> float:
        """Return the threshold of a label."""
        if label in ("next", "previous", "self"):
            return self.position
        return self.broad if label == "broad" else self.target

    @classmethod
    def chosen(cls, options: OptionSet) -> Thresholds:
        """Return the thresholds of a run."""
        limits = options[ReadingOptions]
        return cls(limits.position_threshold, limits.target_threshold, limits.broad_threshold)


class MoreLabels:
    """The base class of the answers of questions before this one that add labels of heads.

    Attributes:
        more_labels: the labels of heads, by layer and head from 1. They have no spaces.
    """

    more_labels: Mapping[tuple[int, int], tuple[str, ...]]


class Labels(SurfaceQuestion):
    """What is each head for?"""

    name = "labels"
    added = (
        TableColumn(
            "label",
            "text",
            "what the head does: `next`, `previous`, `self`, `broad`, `first-special`, `last-special`, `punctuation`, "
            "one that `--detectors` adds if none of these, or `other`",
        ),
        TableColumn("labels", "text", "all labels that apply, separated by spaces"),
    )
    template = Path(__file__).with_name("labels.html.j2")

    def find(self, counts: Statistics, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the labels of all heads."""
        labeled = label_heads(counts.tables.heads, Thresholds.chosen(counts.options))
        for answer in earlier.values():
            if isinstance(answer, MoreLabels):
                labeled = _with_more(labeled, answer.more_labels)
        return labeled[["layer", "head", "label", "labels"]]

    def columns(self, answer: pd.DataFrame) -> pd.DataFrame:
        """Return the labels by layer and head."""
        return answer.set_index(["layer", "head"])

    def show(self, answer: pd.DataFrame, results: SurfaceResults) -> Sequence[ShownTable]:
        """Return the heads that have each label."""
        columns = [
            TableColumn("label", "text", "", "label"),
            TableColumn("heads", "count", "", "heads", cell=lambda row: str(len(row["heads"]))),
            TableColumn("heads", "text", "", "which heads", cell=lambda row: " ".join(row["heads"]) or "–", wraps=True),
        ]
        rows = label_rows(results.tables.heads, results.specials)
        return (ShownTable("surface_labels", "What heads are for", columns, rows),)

    def explore(self, answer: pd.DataFrame, counts: Statistics, results: SurfaceResults, kind: str) -> Contribution:
        """Add what each head does in a phrase, and how many heads attend to neighbors."""
        heads = results.tables.heads.sort_values(["layer", "head"])
        phrases = _phrases(heads, target_names(results.specials))
        return Contribution(findings=tuple(_findings(heads, kind)), phrases=phrases)


def label_heads(heads: pd.DataFrame, thresholds: Thresholds | None = None) -> pd.DataFrame:
    """Add the columns ``label`` and ``labels`` (all labels that apply, separated by spaces)."""
    thresholds = thresholds or Thresholds()
    has_label = {label: heads[statistic] > thresholds.of(label) for label, statistic in _STATISTIC.items()}
    labels_of_heads = [[label for label in LABELS[1:] if has_label[label].iloc[row]] for row in range(len(heads))]
    return heads.assign(
        label=[labels[-1] if labels else "other" for labels in labels_of_heads],  # the last one wins, see `LABELS`
        labels=[" ".join(labels) for labels in labels_of_heads],
    )


def _with_more(heads: pd.DataFrame, more: Mapping[tuple[int, int], Sequence[str]]) -> pd.DataFrame:
    """Add labels to heads; that of a head without a label is the first one."""
    places = list(zip(heads["layer"], heads["head"], strict=True))
    added = [more.get(place, ()) for place in places]
    return heads.assign(
        label=[
            labels[0] if labels and label == "other" else label
            for label, labels in zip(heads["label"], added, strict=True)
        ],
        labels=[" ".join([*old.split(), *new]) for old, new in zip(heads["labels"], added, strict=True)],
    )


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
        elif label not in LABELS:
            phrases[name] = ()  # the question that has added it says it
        elif label == "broad":
            entropy = percent(float(row["entropy_relative"]))
            phrases[name] = (f"attends broadly, with {entropy} % of the entropy of uniform attention",)
        else:
            targets = [f"{names[target]} ({share(float(row[target]))})" for target in by_share(row, CLASSES)[:2]]
            phrases[name] = (f"divides its attention, most of which goes to {' and '.join(targets)}",)
    return phrases


def _findings(heads: pd.DataFrame, kind: str) -> Iterator[Finding]:
    """Yield how many heads attend to neighbors, and the one that does most."""
    counts = {label: int((heads["label"] == label).sum()) for label in ("previous", "next")}
    if sum(counts.values()):
        label = max(counts, key=counts.__getitem__)
        top = find_largest(heads, label)
        text = (
            f"{counts['previous']} of {amount(len(heads), 'heads')} "
            f"{verb(counts['previous'], 'attend', of=len(heads))} mostly to the previous token and {counts['next']} to "
            f"the next one; head {name_head(top)} directs {percent(float(top[label]))} % of its attention to the "
            f"{label} token."
        )
        yield Finding(text, address(head=name_head(top), measure=measure_id(label, kind), kind=kind))

"""How much do models differ that differ only by the seeds of their training?

A head of one seed has nothing to do with the head of another seed that has the same number. Therefore each seed has a
best head of its own for each relation, and only the accuracies of these heads are averaged. Intervals are over seeds
and sentences, see `attentionology.analyses.counting.multi_bootstrap`. Fewer than five seeds are too few for an
interval; then the values of the seeds are shown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from ...corpora_loaders import OFFSETS
from ...reports.columns import Schema, TableColumn, bounds
from ...reports.drawing import BLUE, GREEN, ORANGE, PURPLE, SKY, TEXT, YELLOW, finish, panel, with_style
from ...reports.finding import Finding
from ...reports.format import percent
from ...reports.shapes import intervals
from ...reports.table import ShownTable
from ...storage.short_names import distinguishing
from ...storage.writing import amount
from ..comparison.results import Pairing
from ..counting.comparable import Comparable, Measured
from ..counting.held_out import interval_around, standard_error
from ..counting.multi_bootstrap import FEWEST_SEEDS, mean_over_seeds
from ..dependency.accuracy import TOTALS
from ..dependency.findings import strongest_rule
from ..shared.measures import share
from .collecting import CellCounts, Collector, KeptCell
from .rows import SurveyFacts, SurveyQuestion, rows_table

Array = npt.NDArray[Any]


SURVEY_SEEDS = Schema(
    "survey_seeds",
    "One row per group of models that differ only by their seeds, treebank, kind of map and relation. Each seed has a "
    "best head of its own. It is written if there is such a group.",
    (
        TableColumn("group", "text", "the name of the group, in which `*` stands for the seed", "models", wraps=True),
        TableColumn("treebank", "text", "the treebank", "treebank"),
        TableColumn("map", "text", "the kind of map", "map"),
        TableColumn("relation", "text", "the relation", "relation"),
        TableColumn("seeds", "count", "seeds that were counted", "seeds"),
        TableColumn("n", "count", "words of the relation", "n"),
        TableColumn(
            "mean low high",
            "share",
            "the mean of the held-out accuracies of the seeds, with the interval over seeds and sentences; without one "
            f"below {FEWEST_SEEDS} seeds",
            "mean",
            beside=lambda row: row["values"] if row["seeds"] < FEWEST_SEEDS else bounds()(row),
        ),
        TableColumn("sd_seeds", "share", "the standard deviation of the accuracies over seeds", "SD over seeds"),
        TableColumn(
            "se_sentences",
            "share",
            "the standard error of the accuracy of one seed over sentences, as the root of the mean square over seeds",
            "SE over sentences",
        ),
        TableColumn("values", "text", "the held-out accuracy of each seed in percent"),
        TableColumn(
            "layers",
            "text",
            "the layers of the best heads, each with the number of seeds: `8 (×4), 9`",
            "layers of best heads",
        ),
        TableColumn(
            "above_offset",
            "number",
            "the mean number of heads that find more words than the best fixed offset in one of the directions",
            "heads above offset",
            digits=1,
            beside=lambda row: f"{row['above_offset_min']:.0f}–{row['above_offset_max']:.0f}",
        ),
        TableColumn("above_offset_min above_offset_max", "count", "the smallest and the largest number of any seed"),
        TableColumn("heads", "count", "all heads of a model"),
    ),
)

_MOST_ROWS = 40
"""The number of rows of the page. All are in the table."""

_MOST_DRAWN = 20
"""The number of relations of the figure."""

_COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)


class SeedCounts(NamedTuple):
    """What is kept of the counts of a cell, by relation or total."""

    above_offset: Mapping[str, int]  # heads that find more words than the best fixed offset
    heads: int  # all heads


@dataclass(frozen=True, eq=False)
class SeedRows:
    """The rows of ``survey_seeds.csv``, each with the value of each seed as ``by_seed``."""

    rows: Sequence[Mapping[str, Any]] = ()


class Seeds(SurveyQuestion):
    """How much do models differ that differ only by the seeds of their training?"""

    name = "seeds"
    tables = (SURVEY_SEEDS,)
    template = Path(__file__).with_name("seeds.html.j2")
    collection = SeedRows

    def collector(self, facts: SurveyFacts) -> SeedCollector | None:
        """Return what measures seeds, if models differ by their seeds."""
        return SeedCollector(facts.seed_groups) if facts.seed_groups else None

    def find(self, counts: SurveyFacts, lookups: SeedRows | None, earlier: Mapping[str, Any]) -> SeedRows | None:
        """Return the accuracies over seeds; None if no group has two seeds that were counted."""
        return lookups if lookups and lookups.rows else None

    def frames(self, answer: SeedRows, results: SurveyFacts) -> Mapping[str, pd.DataFrame]:
        """Return the table as it is written."""
        return {SURVEY_SEEDS.name: rows_table(answer.rows, SURVEY_SEEDS)}

    def show(self, answer: SeedRows, results: SurveyFacts) -> Sequence[ShownTable]:
        """Return the accuracies over seeds, those of the relation of the survey first."""
        return (seeds_table(answer, results),)

    def draw(self, answer: SeedRows, results: SurveyFacts, title: str) -> Mapping[str, Figure]:
        """Draw the accuracy of each seed for the most frequent relations of the first treebank, if there are any."""
        figure = seeds_figure(answer, results)
        return {} if figure is None else {"survey_seeds": figure}

    def values(self, answer: SeedRows, results: SurveyFacts) -> Mapping[str, Any]:
        """Return how many seeds an interval needs."""
        return {"fewest_seeds": FEWEST_SEEDS}

    def findings(self, answer: SeedRows, results: SurveyFacts) -> Sequence[Finding]:
        """Say for each group in how many relations seeds vary more than one of them does over sentences."""
        return list(_findings(answer, results))


class SeedCollector(Collector[SeedCounts, SeedRows]):
    """Measures the seeds of each group, treebank by treebank."""

    def __init__(self, groups: Mapping[str, Mapping[str, str]]) -> None:
        self.groups = groups
        self._rows: list[dict[str, Any]] = []

    def keep(self, counts: CellCounts) -> SeedCounts:
        """Return how many heads find more than the best offset."""
        words, above, heads = counts.words, {}, 0
        for name, rows in words.members.items():
            correct = words.subsets.correct[rows, 0].sum(0).max(0)  # of the better direction, on the whole corpus
            # Offsets come first of the baselines.
            offset = words.subsets.baselines[rows, 0, : len(OFFSETS)].sum(0).max()
            above[name], heads = int((correct > offset).sum()), correct.size
        return SeedCounts(above, heads)

    def add(self, treebank: str, cells: Sequence[KeptCell], pairing_of: Callable[[str, str], Pairing]) -> None:
        """Measure the seeds that were counted on a treebank."""
        for kind, groups in counted_seeds(cells, self.groups).items():
            for group, seeds in groups.items():
                families = {seed: cell.families[kind][0] for seed, cell in seeds.items()}
                kept = [cell.kept[kind] for cell in seeds.values()]
                names = {"group": group, "treebank": treebank, "map": kind}
                self._rows += [{**names, **row} for row in relation_rows(families, kept, group)]

    def collect(self) -> SeedRows:
        """Return the rows of all treebanks."""
        return SeedRows(self._rows)


def counted_seeds(
    cells: Sequence[KeptCell], groups: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, dict[str, KeptCell]]]:
    """Return the cells of a treebank by kind of map, group and seed, if two seeds of a group were counted."""
    by_model = {cell.model: cell for cell in cells}
    found: dict[str, dict[str, dict[str, KeptCell]]] = {}
    for kind in dict.fromkeys(kind for cell in cells for kind in cell.families):
        for group, models in groups.items():
            seeds = {seed: by_model[model] for seed, model in models.items() if model in by_model}
            counted = {seed: cell for seed, cell in seeds.items() if kind in cell.families}
            if len(counted) > 1:
                found.setdefault(kind, {})[group] = counted
    return found


def groups_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the short names of the groups that rows name."""
    return distinguishing(list(dict.fromkeys(row["group"] for row in rows)))


def name_of_seeds(names: Mapping[str, str], groups: Mapping[str, str], survey: SurveyFacts, seeds: str) -> str:
    """Name seeds with their group, treebank and kind of map, where there are several."""
    parts = [groups[names["group"]], seeds] if len(groups) > 1 else [seeds]
    parts += [survey.short_treebanks[names["treebank"]]] if len(survey.treebanks) > 1 else []
    parts += [names["map"]] if len(survey.maps) > 1 else []
    return ", ".join(parts)


def measured_by_relation(families: Mapping[str, Comparable]) -> dict[str, list[Measured]]:
    """Return the statistics of all seeds of each relation that all of them have."""
    first, *others = ({one.group: one for one in family.measured} for family in families.values())
    shared = [name for name in first if all(name in other for other in others)]
    return {name: [by_name[name] for by_name in (first, *others)] for name in shared}


def values_in_words(seeds: Iterable[str], values: Array, *, sign: bool = False) -> str:
    """Return the value of each seed in percent as one text."""
    return "; ".join(f"{name}: {percent(value, sign=sign)}" for name, value in zip(seeds, values, strict=True))


def relation_rows(
    families: Mapping[str, Comparable], kept: Sequence[SeedCounts], group: str
) -> Iterator[dict[str, Any]]:
    """Yield a row for each relation that all seeds have, given the statistics and the counts of each seed."""
    seed = next(iter(families.values())).seed
    for relation, measured in measured_by_relation(families).items():
        values = np.array([one.value for one in measured])
        mean = mean_over_seeds(relation, measured, seed, group)
        low, high = interval_around(mean.value, standard_error(mean.deviations), lowest=0.0)
        errors = [standard_error(one.deviations) for one in measured]
        above = [counts.above_offset[relation] for counts in kept]
        layers = Counter(int(one.choice.split("-")[0]) for one in measured if one.choice)
        yield {
            "relation": relation,
            "seeds": len(measured),
            "n": measured[0].n,
            "mean": mean.value,
            "low": low,
            "high": high,
            "sd_seeds": float(values.std(ddof=1)),
            "se_sentences": math.sqrt(sum(error**2 for error in errors) / len(errors)),
            "values": values_in_words(families, values),
            "by_seed": values.tolist(),
            "layers": ", ".join(f"{layer} (×{n})" if n > 1 else str(layer) for layer, n in sorted(layers.items())),
            "above_offset": float(np.mean(above)),
            "above_offset_min": min(above),
            "above_offset_max": max(above),
            "heads": kept[0].heads,
        }


def _shown(answer: SeedRows, survey: SurveyFacts) -> list[Mapping[str, Any]]:
    """Return the rows of the page: of relations with enough words, the relation of the survey first."""
    frequent = [row for row in answer.rows if row["n"] >= survey.min_count and row["relation"] != "root"]
    ordered = sorted(frequent, key=lambda row: (row["relation"] != survey.relation, row["relation"] in TOTALS))
    return ordered[:_MOST_ROWS]


def seeds_table(answer: SeedRows, survey: SurveyFacts) -> ShownTable:
    """Return the accuracies over seeds, those of the relation of the survey first."""
    headings = [column.heading for column in SURVEY_SEEDS.columns if column.heading]
    several = {
        "treebank": len(survey.treebanks) > 1,
        "map": len(survey.maps) > 1,
        "models": len(groups_of(answer.rows)) > 1,
    }
    columns = SURVEY_SEEDS.only(*(heading for heading in headings if several.get(heading, True)))
    groups, treebanks = groups_of(answer.rows), survey.short_treebanks
    rows = [
        {**row, "group": groups[row["group"]], "treebank": treebanks[row["treebank"]]} for row in _shown(answer, survey)
    ]
    title = "Held-out accuracies over seeds, each with a best head of its own (in %)"
    return ShownTable(
        "survey_seeds", title, columns, rows, style=lambda row: "total" if row["relation"] in TOTALS else ""
    )


@with_style
def seeds_figure(answer: SeedRows, survey: SurveyFacts) -> Figure | None:
    """Draw the accuracy of each seed as a dot, by relation and group, for the first treebank and kind of map."""
    groups = groups_of(answer.rows)
    first = answer.rows[0]["treebank"], answer.rows[0]["map"]
    rows = [row for row in answer.rows if (row["treebank"], row["map"]) == first and row["n"] >= survey.min_count]
    single = {row["relation"]: row["n"] for row in rows if row["relation"] not in (*TOTALS, "root")}
    relations = sorted(single, key=lambda name: (name != survey.relation, -single[name]))[:_MOST_DRAWN]
    if not relations:
        return None
    shown = [*groups][: len(_COLORS)]
    figure, axes = panel(TEXT, 1.3 + (0.12 + 0.12 * len(shown)) * len(relations), grid="x")
    for index, (group, color) in enumerate(zip(shown, _COLORS, strict=False)):
        shift = 0.7 * ((index + 0.5) / len(shown) - 0.5)
        by_relation = {row["relation"]: row for row in rows if row["group"] == group}
        for place, row in ((y, by_relation[name]) for y, name in enumerate(relations) if name in by_relation):
            y = place + shift
            if not math.isnan(row["low"]):
                intervals(axes, [y], 100 * row["low"], 100 * row["high"], color)
            values = [100 * value for value in row["by_seed"]]
            axes.plot(values, [y] * len(values), "o", mec=color, mfc="none", ms=3.5, mew=0.8, zorder=3)
            axes.plot(100 * row["mean"], y, "|", color=color, ms=8, mew=1.6, zorder=4)
        axes.plot([], [], "o", mec=color, mfc="none", ms=3.5, label=groups[group])
    axes.set_yticks(range(len(relations)), relations)
    axes.set_ylim(len(relations) - 0.5, -0.5)
    axes.set_xlabel("held-out accuracy (%) of the best head of each seed; bars: means")
    title = survey.short_treebanks[first[0]] + (f" ({first[1]})" if len(survey.maps) > 1 else "")
    finish(figure, axes, title if len(survey.treebanks) > 1 or len(survey.maps) > 1 else "")
    return figure


def _findings(answer: SeedRows, survey: SurveyFacts) -> Iterator[Finding]:
    """Yield in how many relations seeds vary more than one of them does over sentences, and where most."""
    groups = groups_of(answer.rows)
    frequent = [row for row in answer.rows if row["n"] >= survey.min_count and row["relation"] not in (*TOTALS, "root")]
    for group, short in groups.items():
        for treebank in survey.treebanks:
            key = group, treebank, survey.maps[0]
            rows = [row for row in frequent if (row["group"], row["treebank"], row["map"]) == key]
            if not rows:
                continue
            wider = [row for row in rows if row["sd_seeds"] > row["se_sentences"]]  # no, if there is no standard error
            widest = max(rows, key=lambda row: row["sd_seeds"])
            where = f"{survey.short_treebanks[treebank]} in {amount(widest['seeds'], 'seeds')} of {short}"
            row = survey.best_row(next(iter(survey.seed_groups[group].values())), *key[1:], widest["relation"])
            rule = "" if row is None else f"; strongest rule {share(strongest_rule(row, pd.DataFrame()).rate)}"
            sd, se = percent(widest["sd_seeds"]), percent(widest["se_sentences"])
            spread = f"{percent(min(widest['by_seed']))} to {percent(max(widest['by_seed']))} %"
            yield Finding(
                f"{len(wider)} of {len(rows)} relations of {where}: the accuracy varies more over seeds than that of "
                f"one seed does over sentences. Most: {widest['relation']}, "
                f"{share(widest['mean'], widest['low'], widest['high'])} (n = {widest['n']:,}; {spread}; SD {sd} over "
                f"seeds, standard error {se} over sentences{rule}).",
                "#seeds",
            )

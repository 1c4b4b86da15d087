"""What the figures and the page of a survey show, with made-up numbers at the borders of what they mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attentionology.analyses.comparison.differences import Difference
from attentionology.analyses.counting.comparable import Measured
from attentionology.analyses.survey import accuracy, contrasts, training, transfer
from attentionology.analyses.survey.accuracy import (
    MatrixMaker,
    accuracies_figure,
    accuracies_table,
    relations_of,
)
from attentionology.analyses.survey.choosers import ChooserContrast, ModelChoosers
from attentionology.analyses.survey.contrasts import differences_figure
from attentionology.analyses.survey.results import Survey, survey_section
from attentionology.analyses.survey.rows import CellFailure, short_names
from attentionology.analyses.survey.training import TrainingRows, training_figure
from attentionology.analyses.survey.transfer import (
    TransferRows,
    transfer_figure,
    transfer_relation_table,
    transfer_table,
)
from attentionology.reports.drawing import BLUE, GREEN, ORANGE, PURPLE
from tests.shown_tables import on_page
from tests.unit.test_survey_reading import printed, surveyed

TREEBANKS = ("data/x", "data/y", "data/z")


def drawn(figure: Figure | None) -> list[Any]:
    assert figure is not None
    return figure.axes


def entries(axes: Axes) -> list[tuple[str, Any]]:
    """The texts of the entries of a matrix, with their colors."""
    return [(text.get_text(), text.get_color()) for text in axes.texts]


def labels(axes: Axes) -> tuple[list[str], list[str]]:
    """The names of rows and of columns."""
    return [each.get_text() for each in axes.get_yticklabels()], [each.get_text() for each in axes.get_xticklabels()]


@pytest.mark.parametrize(
    ("names", "short"),
    [(["hub/a", "b/", "c"], ["a", "b", "c"]), (["x/a", "y/a", "y/b"], ["x/a", "y/a", "b"]), (["/"], ["/"])],
)
def test_short_names_are_the_last_parts_that_are_different(names: list[str], short: list[str]) -> None:
    assert short_names(names) == dict(zip(names, short, strict=True))


def test_dark_entries_of_accuracies_have_white_text() -> None:
    """The share from which on the text is white is 60 %, which is still black."""
    survey = surveyed()
    axes, colors = drawn(accuracies_figure(MatrixMaker(survey), "obj"))
    assert colors.get_ylabel() == "held-out accuracy (%)"
    assert entries(axes) == [("(33.3)", "black"), ("60.0", "black"), ("(66.7)", "white"), ("50.0", "black")]
    assert labels(axes) == (["a", "b"], ["few", "many"])
    np.testing.assert_allclose(np.ravel(axes.collections[0].get_array()), [100 / 3, 60, 200 / 3, 50])
    assert accuracies_figure(MatrixMaker(survey), "nsubj") is None


def test_means_stand_below_the_differences_and_alone_if_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = surveyed(min_count=3)
    assert [len(one.contrast.tested) for one in survey.means] == [1]
    names = [f"a − b (weight), {name}" for name in ("few", "many", "mean")]
    values = [-100 / 3, 10, -70 / 6]
    only_means = "\n(means over treebanks; all 3 differences are in the table)"
    for most, rows, note in ((3, [0, 1, 2], ""), (2, [2], only_means), (1, [2], only_means)):
        monkeypatch.setattr(contrasts, "_MOST_CONTRASTS", most)
        axes = drawn(differences_figure(survey))[0]
        assert axes.figure.get_suptitle() == survey.relation + note
        assert labels(axes)[0] == [names[row] for row in rows]
        assert axes.get_xlabel() == "difference of held-out accuracies (percentage points)"
        dots = [line.get_xdata() for line in axes.lines if line.get_marker() == "o" and np.size(line.get_xdata())]
        np.testing.assert_allclose(np.ravel(dots), [values[row] for row in rows])
    monkeypatch.setattr(contrasts, "_MOST_CONTRASTS", 0)
    assert differences_figure(survey) is None
    monkeypatch.undo()
    assert differences_figure(replace(survey, relation="nsubj")) is None
    assert differences_figure(surveyed(scale=0)) is None  # without variation, there are no intervals


def loss(chosen_on: str, scored_on: str, value: float, **names: str) -> dict[str, Any]:
    """A row of the tables of transfer."""
    given = {"model": "hub/m", "map": "weight", "relation": "det", "direction": "dep->head", **names}
    head = {"layer": 2, "head": 1, "n": 20, "relations": 3, "only_chosen": "", "loss": value}
    bounds = {"loss_low": value - 0.01, "loss_high": value + 0.01}
    return {**given, "chosen_on": chosen_on, "scored_on": scored_on, **head, **bounds}


def transferred(losses: Sequence[float], **changes: Any) -> Survey:
    """A survey of three treebanks whose heads lose so much on the next one."""
    pairs = zip(TREEBANKS, (*TREEBANKS[1:], TREEBANKS[0]), losses, strict=True)
    rows = tuple(loss(*pair) for pair in pairs)
    return with_losses(
        Survey(("hub/m",), TREEBANKS, ("weight",), (), "det", 1), **{"rows": rows[:2], "means": rows, **changes}
    )


def with_losses(survey: Survey, choosers: Sequence[ModelChoosers] = (), **changes: Any) -> Survey:
    """A survey with other rows of the tables of transfer."""
    rows = {name: changes.pop(name) for name in ("rows", "means") if name in changes}
    found = replace(survey.collected.get("transfer", TransferRows()), choosers=tuple(choosers), **rows)
    return replace(survey, collected={**survey.collected, "transfer": found}, **changes)


def losses_of(survey: Survey) -> TransferRows:
    found: TransferRows = survey.collected["transfer"]
    return found


def transfer_of(survey: Survey) -> Figure | None:
    return transfer_figure(losses_of(survey), survey)


def with_differences(survey: Survey, **changes: Any) -> Survey:
    """A survey with other differences within treebanks, or of means."""
    found = replace(survey.collected["contrasts"], **changes)
    return replace(survey, collected={**survey.collected, "contrasts": found})


@pytest.mark.parametrize(
    ("losses", "limits", "colors"),
    [
        ((-0.1, -0.086, -0.084), (-10, 10), ["white", "white", "black"]),
        ((-0.05, 0.05, 0.0), (-5, 5), ["white", "white", "black"]),
        ((0.002, 0.002, 0.002), (-1, 1), ["black", "black", "black"]),  # no color shows tenths of a point
    ],
)
def test_losses_are_on_a_scale_around_0_and_the_largest_have_white_text(
    losses: Sequence[float], limits: tuple[float, float], colors: list[str]
) -> None:
    left, right, bar = drawn(transfer_of(transferred(losses)))
    assert bar.get_xlabel() == "loss (percentage points; below 0, the chosen head finds less)"
    assert [color for _, color in entries(left)] == colors
    assert left.collections[0].get_clim() == pytest.approx(limits)
    values: Any = np.ma.filled(np.ma.asarray(left.collections[0].get_array(), dtype=float), np.nan).reshape(3, 3)
    places = [0, 1, 2], [1, 2, 0]
    np.testing.assert_allclose(values[places], [100 * value for value in losses])
    assert np.isfinite(values).sum() == 3
    at = [tuple(int(part) for part in text.get_position()) for text in left.texts]
    assert at == [(1, 0), (2, 1), (0, 2)]
    assert labels(left) == (["x", "y", "z"], ["x", "y", "z"])
    assert labels(right)[0] == ["x", "y"]
    assert [axes.get_title("left") for axes in (left, right)] == ["m: mean over relations", "m: det"]
    assert (left.get_ylabel(), left.get_xlabel()) == ("chosen on", "scored on")


def test_models_and_maps_have_a_row_of_losses_each_and_none_where_the_relation_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    survey = transferred((-0.1, -0.04, -0.039), maps=("weight", "norm"))
    means = losses_of(survey).means
    norm = {**means[0], "map": "norm", "loss": -0.2}
    survey = with_losses(survey, means=(*means, norm))
    first, _, second, empty, _ = drawn(transfer_of(survey))
    assert [axes.get_title("left").split() for axes in (first, second)] == [
        "m (weight): mean over relations".split(), "m (norm): mean over relations".split(),
    ]  # fmt: skip
    assert (empty.get_visible(), entries(second)) == (False, [("-20.0", "white")])
    assert {axes.collections[0].get_clim() for axes in (first, second)} == {(-20.0, 20.0)}
    assert first.figure.get_suptitle() == ""
    monkeypatch.setattr(transfer, "_MOST_ROWS", 1)
    first, _, _ = drawn(transfer_of(survey))  # two panels and the bar of colors
    assert first.figure.get_suptitle().split()[:5] == "The first 1 of 2".split()
    assert transfer_of(transferred((0, 0, 0), means=())) is None


def test_titles_of_losses_do_not_run_into_each_other() -> None:
    model = "bert-base-multilingual-cased"
    rows = tuple(loss(*pair, -0.1, model=model) for pair in (("data/x", "data/y"), ("data/y", "data/x")))
    survey = transferred((0, 0, 0), models=(model,), treebanks=TREEBANKS[:2], means=rows)
    figure = transfer_of(with_losses(survey, rows=rows))
    left, right, _ = drawn(figure)
    left.figure.draw_without_rendering()
    assert left._left_title.get_window_extent().x1 < right._left_title.get_window_extent().x0


def test_the_page_names_relations_of_one_treebank_and_what_is_transferred() -> None:
    survey = transferred((-0.1, -0.04, 0))
    first, *others = losses_of(survey).means
    means = [{**first, "only_chosen": "goeswith"}, *others]
    means += [loss("data/x", "", -0.3), loss("data/y", "", -0.1)]
    row = Difference("", Measured("", -0.3, 900, np.zeros(2)), Measured("", -0.1, 900, np.zeros(2)), -0.2, -0.3, -0.1)
    worse = ChooserContrast("data/x", "data/y", ("data/z",), 7, replace(row, p=0.001, p_holm=0.002))
    survey = with_losses(survey, [ModelChoosers("hub/m", "weight", (worse,))], means=means)
    context = survey_section(survey).context
    assert context["only_in_one"] == {"data/x but not data/y": "goeswith"}
    assert context["transfer_relation"] == "det"
    (finding,) = context["transfer_findings"]
    assert "those of data/x lose -30.0 points on data/z, and those of data/y -10.0 points" in finding
    assert [row["mean"] for row in on_page(transfer_table(losses_of(survey), survey))] == [
        "-30.0 [-31.0, -29.0]",
        "-10.0 [-11.0, -9.0]",
        "–",
    ]


@pytest.mark.parametrize(("maps", "names"), [(("weight",), ["model"]), (("weight", "norm"), ["model", "map"])])
def test_kinds_of_maps_have_a_column_if_there_are_several(maps: tuple[str, ...], names: list[str]) -> None:
    survey = transferred((-0.1, 0.04, 0), maps=maps)
    scored = [*names, "chosen on", "x", "y", "z", "mean"]
    assert [[*row] for row in on_page(transfer_table(losses_of(survey), survey))] == [scored] * 3
    head = [*names, "chosen on", "attention head", "direction", "x", "y", "z"]
    assert [[*row] for row in on_page(transfer_relation_table(losses_of(survey), survey))] == [head] * 2
    accuracies = on_page(accuracies_table(MatrixMaker(survey), "det"))
    assert [[*row] for row in accuracies] == [[*names, "x", "y", "z"]] * len(maps)
    (row,) = on_page(transfer_table(losses_of(survey), survey))[1:2]
    assert (row["model"], row["chosen on"], row["z"]) == ("m", "y", "+4.0 [3.0, 5.0]")


def test_the_page_is_told_what_is_shown_of_these_cells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Relations for which there is no room are named, but not the one that the survey is about."""
    survey = surveyed(min_count=3)
    best = pd.concat(
        [survey.results[0].best["weight"].assign(relation=name) for name in ("all", "det", "nsubj", "obj")]
    )
    results = tuple(replace(each, best={"weight": best}) for each in survey.results)
    monkeypatch.setattr(accuracy, "_MOST_ENTRIES", 2 * 6)  # two models and a mean on two treebanks, for two relations
    context = survey_section(replace(survey, results=results)).context
    assert [one["relation"] for one in context["matrices"]] == ["all", "obj"]
    assert (context["left_out"], context["first"], context["min_count"]) == (["det", "nsubj"], "obj", 3)
    names = ("has_means", "has_failures", "has_contrasts", "has_reports", "has_fit")
    assert "transfer_relation" not in context
    assert {name: context[name] for name in names} == {
        **dict.fromkeys(names, False), "has_means": True, "has_contrasts": True,
    }  # fmt: skip
    failed = replace(results[0], failures=(CellFailure("", "no trees"),))
    without = replace(survey, results=(failed,), collected={})
    context = survey_section(without, tmp_path).context
    assert [context[name] for name in names[:4]] == [False, True, False, False]
    reported = replace(without, results=(replace(failed, reports={"weight": tmp_path / "r.html"}),))
    assert survey_section(reported, tmp_path).context["has_reports"]
    assert not survey_section(reported).context["has_reports"]


def test_the_terminal_counts_cells_that_failed_and_names_the_kind_of_map() -> None:
    """A cell of which two kinds failed is one cell."""
    survey = surveyed()
    failed = (CellFailure("norm", "no norms"), CellFailure("", "no trees"))
    survey = replace(survey, results=(replace(survey.results[0], failures=failed), *survey.results[1:]))
    said = " ".join(printed(survey).split())
    assert "Warning: 1 of 4 cells failed, completely or partly; see below." in said
    assert "Failed: a on few (norm): no norms Failed: a on few: no trees" in said


def test_heads_that_are_left_out_are_counted_by_cell_and_together() -> None:
    survey = surveyed()
    records = [{**(each.record or {}), "dependency": {"left_out": {"roots": 1000 + k, "empty_nodes": k}}}
               for k, each in enumerate(survey.results[1:])]  # fmt: skip
    enhanced = [replace(each, record=made) for each, made in zip(survey.results[1:], records, strict=True)]
    survey = replace(survey, results=(survey.results[0], *enhanced))
    cells = (("b", "few"), ("a", "many"), ("b", "many"))
    assert survey.left_out_heads == [
        {"model": model, "treebank": treebank, "roots": 1000 + k, "empty_nodes": k}
        for k, (model, treebank) in enumerate(cells)
    ]
    said = " ".join(printed(survey).split())
    assert "left out in all cells together: 3,003 heads that are the root, 3 that are empty nodes." in said


STEPS = (1, 10, 100)
N = {"all": 900, "root": 500, "det": 40, "obj": 60, "nsubj": 90, "rare": 9}
"""The words of each relation."""


def curves(model: str = "m", steps: Sequence[float] = STEPS, kind: str = "weight") -> list[dict[str, Any]]:
    """The rows of the table of training: relations, and two layers."""
    curves = [*({"about": "relation", "relation": name, "n": n} for name, n in N.items())]
    curves += [{"about": "layer", "relation": "", "layer": layer, "n": 50} for layer in (1, 2)]
    return [
        {"model": model, "checkpoint": f"{model}@{step}", "step": step, "treebank": treebank, "map": kind,
         "relations": 1, "heldout": 0.5, "low": 0.4, "high": 0.6, **curve}
        for treebank in TREEBANKS for curve in curves for step in steps
    ]  # fmt: skip


def trained(rows: Sequence[dict[str, Any]], **changes: Any) -> Survey:
    made = Survey(("m",), TREEBANKS, ("weight",), (), "det", 10, collected={"training": TrainingRows(rows)})
    return replace(made, **changes)


def curves_of(survey: Survey) -> Figure:
    return training_figure(survey.training_table, survey, "m")


def test_relations_with_as_many_words_as_asked_for_have_a_curve() -> None:
    """The survey's relation, which is black, has none in this table."""
    axes = curves_of(trained(curves(steps=(1,)), min_count=9, relation="iobj")).axes[0]
    assert {line.get_label(): line.get_color() for line in axes.lines} == {
        "nsubj": BLUE, "obj": ORANGE, "det": GREEN, "rare": PURPLE,
    }  # fmt: skip


@pytest.mark.parametrize(("steps", "scale"), [((2, 10, 200), "linear"), ((2, 10, 201), "log"), ((0, 2, 200), "linear")])
def test_steps_that_are_far_apart_have_a_logarithmic_axis(steps: Sequence[float], scale: str) -> None:
    figure = curves_of(trained(curves(steps=steps)))
    assert {axes.get_xscale() for axes in figure.axes} == {scale}
    assert labels(figure.axes[3])[1] == [str(step) for step in steps]


def test_training_figures_have_a_few_treebanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_MOST_PANELS", 2)
    figure = curves_of(trained(curves(steps=(1,))))
    assert [axes.get_title("left") for axes in figure.axes] == ["x", "y", "", ""]


def test_the_page_draws_a_few_models_and_names_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_CURVES", 2)
    found = survey_section(trained([row for model in "abc" for row in curves(model)]))
    assert [*found.figures] == found.context["training"] == ["survey_training", "survey_training_2"]
    assert [figure.get_suptitle() for figure in found.figures.values()] == ["a", "b"]
    assert found.context["curves_left_out"] == ["c"]
    assert set(found.tables) == {"survey", "survey_contrasts", "survey_means", "survey_cells", "survey_training"}


def test_relations_beyond_the_room_of_the_page_are_left_out_but_not_the_chosen_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two treebanks, two models and a mean are six entries per relation."""
    monkeypatch.setattr(accuracy, "accuracies_figure", lambda *_: None)
    monkeypatch.setattr(contrasts, "differences_figure", lambda *_: None)
    survey = surveyed(min_count=3)
    best = survey.results[0].best["weight"]
    words = {"all": 1000, "nmod": 210, "obj": 3, "a": 3}  # obj has 206 in all
    more = pd.concat([best.assign(relation=name, total=n) for name, n in words.items()])
    survey = replace(survey, results=(replace(survey.results[0], best={"weight": more}), *survey.results[1:]))
    assert relations_of(survey) == ["all", "obj", "nmod", "a"]  # totals; two treebanks; more words
    for room, relation, shown in (
        (18, "obj", ["all", "obj", "nmod"]), (17, "obj", ["all", "obj"]), (12, "a", ["all", "a"]), (1, "a", ["a"]),
    ):  # fmt: skip
        monkeypatch.setattr(accuracy, "_MOST_ENTRIES", room)
        context = survey_section(replace(survey, relation=relation)).context
        assert ([one["relation"] for one in context["matrices"]], context["first"]) == (shown, relation)
        assert len(context["left_out"]) == 4 - len(shown)
    monkeypatch.undo()
    context = survey_section(replace(survey, relation="none")).context
    assert context["first"] == "all"
    assert [one["differences"] is None for one in context["matrices"]] == [True, False, True, True]

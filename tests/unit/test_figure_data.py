"""The artists of every figure hold the columns that the figure names."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attentionology.analyses.alignment.best import heads_figure as alignment_heads_figure
from attentionology.analyses.alignment.example import AlignedExample, ExampleMap, example_figure
from attentionology.analyses.alignment.layers import CELLS as ALIGNMENT_CELLS
from attentionology.analyses.alignment.layers import error_figure
from attentionology.analyses.coreference.figures import best_figure, distance_figure
from attentionology.analyses.coreference.figures import heads_figure as coreference_heads_figure
from attentionology.analyses.coreference.rows import under
from attentionology.analyses.dependency.figures import best_heads_figure, heads_figure
from attentionology.analyses.norms.feed_forward import change_figure
from attentionology.analyses.norms.mixing import mixing_figure
from attentionology.analyses.norms.shares import shares_figure
from attentionology.analyses.surface.figures import entropy_figure, special_figure, statistics_figure
from attentionology.analyses.surface.gradients import gradients_figure
from attentionology.analyses.surface.offsets import offsets_figure
from attentionology.reports.drawing import GREY, panels
from attentionology.reports.shapes import by_bins
from tests.documents import counted_mentions
from tests.maps import RELATIONS, counted_words
from tests.shown_tables import distinct, with_control
from tests.unit.test_norm_reports import results as norms  # noqa: F401  # a fixture
from tests.unit.test_shown_alignment import SERIES, made_up
from tests.unit.test_surface_reports import results as surface_results

SPECIALS = {"first_special": "<cls>", "last_special": "[SEP]"}


def lines(axes):
    """The points of the lines of some axes by their labels."""
    return {str(line.get_label()): np.column_stack(line.get_data()) for line in axes.get_lines()}


def segments(axes):
    """The two ends of the segments of some axes, in percent of the interval that they show."""
    return [path.vertices for collection in axes.collections for path in collection.get_paths()]


def cells_of(axes):
    """The cells of a matrix."""
    (drawn,) = (each for each in axes.collections if each.get_array() is not None)
    return drawn


def values_of(cells, rows):
    """The values of the cells of a matrix."""
    return np.asarray(cells.get_array()).reshape(rows, -1)


def assert_values(points, values, *, axis=1):
    """Compare the coordinates of points with values."""
    np.testing.assert_allclose(points[:, axis], np.asarray(values, dtype=float))


@pytest.fixture(scope="module")
def dependency():
    tables = counted_words().compute()
    best = distinct(with_control(tables.best, [tables.best]))
    return distinct(tables.cells), best[best["relation"] != "root"]


def test_best_heads_of_relations(dependency):
    _, best = dependency
    (axes, *_) = best_heads_figure(best, min_count=0).axes
    shown = lines(axes)
    columns = {
        "best head (95 % interval)": "accuracy",
        "chosen on one half, scored on the other": "heldout_accuracy",
        "best fixed offset": "offset_accuracy",
        "best head, random weights": "control_accuracy",
    }
    for label, column in columns.items():
        assert_values(shown[label], 100 * best[column], axis=0)
    ends = np.array(segments(axes))[:, :, 0]
    np.testing.assert_allclose(ends, 100 * best[["accuracy_low", "accuracy_high"]].to_numpy())
    names = axes.get_yticklabels()
    assert [name.get_text() for name in names] == [f"{row.relation} (n = {row.total:,})" for row in best.itertuples()]
    links = [
        f"../report.html#head={row.layer}-{row.head}&relation={row.relation}&direction={row.direction}"
        for row in best.itertuples()
    ]
    assert [name.get_url() for name in names] == axes.collections[0].get_urls() == links
    (right,) = axes.child_axes
    assert [name.get_text() for name in right.get_yticklabels()] == [
        f"{row.layer}-{row.head}" for row in best.itertuples()
    ]
    (border,) = (line for line in axes.get_lines() if line.get_color() == GREY and line.get_linestyle() == "-")
    assert np.asarray(border.get_ydata())[0] == sum(name.startswith("all") for name in best["relation"]) - 0.5


def test_best_heads_beside_rules_and_ensembles_for_frequent_relations(dependency):
    best = dependency[1].assign(tag_rule_heldout=[0.01 * number for number in range(len(dependency[1]))])
    best.iloc[0, best.columns.get_loc("accuracy_low")] = np.nan
    least = sorted(best["total"])[1]
    frequent = best[best["total"] >= least]
    ensembles = frequent[["relation"]].iloc[::-1].assign(heldout_accuracy=np.linspace(0.3, 0.6, len(frequent))).iloc[1:]
    shown = lines(best_heads_figure(best, min_count=least, ensembles=ensembles).axes[0])
    assert_values(shown["nearest word by part of speech"], 100 * frequent["tag_rule_heldout"], axis=0)
    known = ensembles.set_index("relation")["heldout_accuracy"]
    together = [100 * known.get(name, np.nan) for name in frequent["relation"]]
    assert_values(shown["ensemble, scored on the other half"], together, axis=0)
    assert np.isnan(together).sum() == 1
    assert "best head (95 % interval)" in shown  # that one head has no interval is no matter
    without = lines(best_heads_figure(best.assign(accuracy_low=np.nan), min_count=10**6).axes[0])
    assert_values(without["best head"], 100 * best["accuracy"], axis=0)  # all of them are rare


def test_maps_of_relations_show_the_better_direction_and_mark_the_best_head(dependency):
    cells, best = dependency
    figure: Any = heads_figure(cells, best)
    panels = [axes for axes in figure.axes if axes.patches]
    rows = best[best["relation"].isin(RELATIONS)].to_dict("records")[: len(panels)]  # of which tests draw two
    assert len(rows) > 1
    assert figure.get_figheight() == pytest.approx(0.5 + 0.4 + 1.4 * 2 / 3)  # one line of maps of 2 layers × 3 heads
    for axes, row in zip(panels, rows, strict=True):
        assert axes.get_title() == f"{row['relation']}: {row['layer']}-{row['head']}, {100 * row['accuracy']:.0f} %"
        of_relation = cells[cells["relation"] == row["relation"]]
        better = of_relation.groupby(["layer", "head"])["accuracy"].max().to_numpy().reshape(2, 3)
        drawn = cells_of(axes)
        np.testing.assert_allclose(values_of(drawn, 2), 100 * better)
        assert axes.get_ylim() == (1.5, -0.5)  # the first layer is on top
        (mark,) = axes.patches
        assert (*mark.get_xy(), mark.get_width()) == (row["head"] - 1.5, row["layer"] - 1.5, 1)
        best_cells = of_relation.loc[of_relation.groupby(["layer", "head"])["accuracy"].idxmax()]
        assert drawn.get_urls() == [
            f"../report.html#head={cell.layer}-{cell.head}&relation={row['relation']}&direction={cell.direction}"
            for cell in best_cells.sort_values(["layer", "head"]).itertuples()
        ]


@pytest.fixture(scope="module")
def coreference():
    tables = counted_mentions().compute()
    best = distinct(with_control(tables.best, [tables.best], key=("candidates", "type")))
    return tables._replace(cells=distinct(tables.cells), best=best, distances=distinct(tables.distances))


def test_best_heads_of_types_of_mentions(coreference):
    best = under("preceding", coreference.best)
    best = best[best["total"] > 0]
    paper = {"head 5-4": {"all": 65, "pronoun": 64, "proper": 73, "nominal": 58}}
    (axes, *_) = best_figure(best, paper).axes
    shown = lines(axes)
    columns = {
        "best head (95 % interval)": "accuracy",
        "chosen on one half, scored on the other": "heldout_accuracy",
        "nearest mention": "nearest_accuracy",
        "same head word": "head_match_accuracy",
        "rules": "rule_based_accuracy",
        "chance": "random_accuracy",
        "best head, random weights": "control_accuracy",
    }
    for label, column in columns.items():
        assert_values(shown[label], 100 * best[column], axis=0)
    assert_values(
        shown["BERT’s head 5-4, CoNLL-2012 (paper)"], [paper["head 5-4"][kind] for kind in best["type"]], axis=0
    )
    ends = np.array(segments(axes))[:, :, 0]
    np.testing.assert_allclose(ends, 100 * best[["accuracy_low", "accuracy_high"]].to_numpy())


def test_maps_of_mentions_show_each_direction(coreference):
    best = under("preceding", coreference.best)
    figure = coreference_heads_figure(coreference.cells, best, "preceding")
    cells = coreference.cells[(coreference.cells["candidates"] == "preceding") & (coreference.cells["type"] == "all")]
    for axes, direction in zip(figure.axes, ("mention->antecedent", "antecedent->mention"), strict=False):
        of_direction = cells[cells["direction"] == direction].sort_values(["layer", "head"])
        expected = 100 * of_direction["accuracy"].to_numpy().reshape(2, 3)
        np.testing.assert_allclose(values_of(cells_of(axes), 2), expected)
        assert cells_of(axes).get_urls() == [
            f"../report.html#head={layer}-{head}&relation=coreference&direction={direction}"
            for layer, head in itertools.product((1, 2), (1, 2, 3))
        ]


def wilson(correct, total):
    """The interval of a share in percent (Wilson 1927)."""
    z, share = 1.959963984540054, correct / total
    middle = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z / (1 + z**2 / total) * (share * (1 - share) / total + z**2 / (4 * total**2)) ** 0.5
    return 100 * (middle - half), 100 * (middle + half)


def test_a_line_joins_only_neighbors_with_enough_decisions():
    """Bins of fewer than fifty decisions, and bins before the first, have a mark but no line."""
    (axes,) = panels(3, 2)[1].flat
    by_bins(axes, [10, 20, 30, 40, 50], [90, 50, 49, 80, 60], "black", "o", "found", first=1)
    marks, line = axes.get_lines()
    assert_values(np.column_stack(marks.get_data()), [10, 20, 30, 40, 50])
    assert_values(np.column_stack(line.get_data()), [np.nan, 20, np.nan, 40, 50])


def test_accuracies_by_distance(coreference):
    best = under("preceding", coreference.best)
    head = best[best["type"] == "all"].iloc[0]
    figure = distance_figure(coreference.distances, best, "preceding")
    of_all = coreference.distances[coreference.distances["type"] == "all"]
    for axes, unit in zip(figure.axes, ("sentences", "words"), strict=True):
        shown, of_unit = lines(axes), of_all[of_all["unit"] == unit]
        same = (of_unit[["layer", "head", "direction"]] == head[["layer", "head", "direction"]]).all(axis=1)
        of_head = of_unit[same & (of_unit["candidates"] == "preceding")]
        (label,) = (name for name in shown if name.startswith("best head"))
        assert_values(shown[label], 100 * of_head["accuracy"])
        there = of_head[of_head["total"] > 0]
        ends = np.array(segments(axes))[:, :, 1]
        np.testing.assert_allclose(ends, [wilson(row.correct, row.total) for row in there.itertuples()])
        for label, name in {"nearest mention": "nearest", "rules": "rule-based", "chance": "random"}.items():
            assert_values(shown[label], 100 * of_unit[of_unit["candidates"] == name]["accuracy"])


@pytest.fixture(scope="module")
def surface():
    found, _ = surface_results("bert")
    assert found.gradients is not None
    tables = [distinct(each) for each in (*found.tables[:3], found.gradients)]
    for table in tables:  # no mean is a median, too
        names = table.select_dtypes("float").columns
        table[names] = table[names] ** 2
    return tables


def test_where_attention_goes(surface):
    heads, *_ = surface
    columns = ("previous", "next", "self", "first_special", "last_special", "punctuation")
    labels = ("previous token", "next token", "itself", "<cls>", "[SEP]", "punctuation")
    for axes, column, label in zip(statistics_figure(heads, SPECIALS).axes, columns, labels, strict=True):
        assert axes.get_ylabel() == f"to {'the ' if 'token' in label else ''}{label} (%)"
        (dots,) = axes.collections
        assert dots.get_label() == "head"
        assert_values(np.asarray(dots.get_offsets()), 100 * heads[column])
        assert dots.get_urls() == [f"../report.html#head={row.layer}-{row.head}" for row in heads.itertuples()]
        assert_values(lines(axes)["mean of the layer"], 100 * heads.groupby("layer")[column].mean())
        assert axes.get_ylim() == pytest.approx((0, 106 * heads[column].max()))


def test_attention_to_special_tokens_from_themselves_and_others(surface):
    heads, *_ = surface
    first, last = special_figure(heads, SPECIALS).axes
    for axes, end, name in ((first, "first", "<cls>"), (last, "last", "[SEP]")):
        assert axes.get_ylabel() == f"attention to {name} (%)"
        shown = lines(axes)
        for source, column in (("all others", f"rest_to_{end}"), ("themselves", f"{end}_to_{end}")):
            (dots,) = (each for each in axes.collections if each.get_label() == f"from {source}: head")
            assert_values(np.asarray(dots.get_offsets()), heads[column] * 100)
            assert_values(shown[f"from {source}: mean"], heads.groupby("layer")[column].mean() * 100)


def test_entropy_beside_that_of_uniform_attention(surface):
    heads, layers, *_ = surface
    for axes, column in zip(entropy_figure(heads, layers, SPECIALS).axes, ("entropy", "entropy_first"), strict=True):
        assert_values(np.asarray(axes.collections[0].get_offsets()), heads[column])
        assert_values(lines(axes)["uniform attention"], [layers["uniform_entropy"].iloc[0]] * 2)
        assert axes.get_ylim() == pytest.approx((0, 1.06 * layers["uniform_entropy"].iloc[0]))


def test_attention_by_offset(surface):
    *_, offsets, _ = surface
    by_head = offsets.set_index(["layer", "head", "offset"])["attention"].unstack()
    shown = {"mean over heads": by_head.groupby("layer").mean(), "head with most": by_head.groupby("layer").max()}
    for axes, (title, expected) in zip(offsets_figure(offsets).axes, shown.items(), strict=False):
        assert axes.get_title(loc="left") == title
        np.testing.assert_allclose(values_of(cells_of(axes), len(expected)), 100 * expected.to_numpy())
        assert cells_of(axes).get_clim() == pytest.approx((0, 100 * expected.to_numpy().max()))


def test_gradients_and_attention(surface):
    *_, gradients = surface
    left, right = gradients_figure(gradients, SPECIALS).axes
    for name, group in gradients.groupby("class"):
        means = group.groupby("layer")[["gradient", "attention"]].mean()
        label = {"[CLS]": "<cls>"}.get(str(name), str(name))
        assert_values(lines(left)[label], means["gradient"])
        assert_values(lines(right)[label], 100 * means["attention"])


def test_weights_and_norms_by_layer(norms):  # noqa: F811  # the fixture
    shares = distinct(norms.shares)
    shares[["weight", "value_norm", "norm_share"]] **= 2  # no mean is a median, too
    columns = {"weight": 100, "value_norm": 1, "norm_share": 100}
    for axes, (column, factor) in zip(shares_figure(shares).axes, columns.items(), strict=True):
        for name, group in shares.groupby("class"):
            assert_values(lines(axes)[str(name)], factor * group.groupby("layer")[column].mean())
        assert (list(lines(axes)), axes.get_ylim()[0]) == (list(shares["class"].unique()), 0)


def test_mixing_ratios(norms):  # noqa: F811  # the fixture
    mixing = distinct(norms.mixing)
    figure: Any = mixing_figure(mixing)
    left, right = figure.axes
    by_layer = mixing[mixing["layer"] > 0]
    for variant, group in by_layer[by_layer["class"] == "all"].groupby("variant"):
        assert_values(lines(left)[f"_{variant}"], 100 * group["mean"])
    for name, group in by_layer[by_layer["variant"] == "attnresln-n"].groupby("class"):
        assert_values(lines(right)[f"_{name}"], 100 * group["mean"])
        (label,) = (text for text in right.texts if text.get_text() == name)
        assert label.xy[1] == pytest.approx(100 * group["mean"].iloc[-1])
    assert (left.get_ylim(), right.get_ylim()[0]) == ((0, 100), 0)
    (label,) = (text for text in left.texts if text.get_text() == "+ layer norm")
    assert label.xy[1] == pytest.approx(lines(left)["_attnresln-n"][-1, 1])


def test_change_of_the_map(norms):  # noqa: F811  # the fixture
    change = distinct(norms.feed_forward.change)
    (axes,) = change_figure(change).axes
    for name, group in change.groupby("component"):
        assert_values(lines(axes)[str(name)], group.sort_values("layer")["change"])


@pytest.fixture(scope="module")
def alignment():
    rows = [{**each, "layer": layer, "head": 0} for each in SERIES for layer in (1, 2) if each["heads"] == "all"]
    single = [each for each in SERIES if each["heads"] == "single" and each["direction"] == "forward"]
    rows += [{**each, "layer": layer, "head": head} for each in single for layer in (1, 2) for head in (1, 2, 3)]
    table = made_up(ALIGNMENT_CELLS, rows)
    return table.assign(error_rate=table["error_rate"].to_numpy()[::-1])  # the last head has the fewest errors


def test_error_rates_by_layer(alignment):
    errors, special = error_figure(alignment).axes
    forward = alignment[(alignment["heads"] == "all") & (alignment["direction"] == "forward")]
    groups = [rows for _, rows in forward.groupby(["setting", "measure"])]
    for number, rows in enumerate(groups):
        label = f"{rows['setting'].iloc[0]}, {rows['measure'].iloc[0]}"
        assert_values(lines(errors)[label], 100 * rows["error_rate"])
        assert_values(lines(errors)[label], rows["layer"], axis=0)
        (line,) = (each for each in errors.get_lines() if each.get_label() == label)
        dashed = line.get_linestyle() == "--" and line.get_markerfacecolor() == "white"
        assert dashed == label.endswith("weight")
        of_special = np.column_stack(special.get_lines()[number].get_data())
        np.testing.assert_allclose(of_special, rows[["layer", "on_special"]] * [1, 100])
    ends = np.array(segments(errors))
    expected = np.concatenate([rows[["layer", "low", "layer", "high"]].to_numpy() for rows in groups])
    np.testing.assert_allclose(ends.reshape(-1, 4), expected * [1, 100, 1, 100])
    some = alignment["low"].where(alignment["layer"] == 2)  # intervals of only some layers are not drawn
    assert not segments(error_figure(alignment.assign(low=some)).axes[0])
    (alone,) = error_figure(alignment.drop(columns="error_rate")).axes
    assert alone.get_ylabel() == special.get_ylabel() == "words on special tokens (%)"
    assert_values(lines(alone)[label], 100 * groups[-1]["on_special"])


def test_error_rates_of_heads(alignment):
    figure: Any = alignment_heads_figure(alignment)
    single = alignment[alignment["heads"] == "single"]
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert panels[0].get_gridspec().ncols == min(2, len(panels)) == 2
    for axes, (name, rows) in zip(panels, single.groupby(["setting", "measure"]), strict=True):
        least = rows.sort_values("error_rate").iloc[0]
        head = f"{least['layer']}-{least['head']}, {100 * least['error_rate']:.0f} %"
        assert axes.get_title() == f"{', '.join(map(str, name))}: {head}"
        expected = 100 * rows.sort_values(["layer", "head"])["error_rate"].to_numpy().reshape(2, 3)
        drawn = cells_of(axes)
        np.testing.assert_allclose(values_of(drawn, 2), expected)
        (mark,) = axes.patches
        assert mark.get_xy() == (least["head"] - 1.5, least["layer"] - 1.5)
        assert drawn.get_urls()[4] == "../report.html#head=2-2"
        fewest, most = (drawn.cmap(drawn.norm(rate)) for rate in (0, 100))
        assert sum(fewest[:3]) < sum(most[:3])  # few errors are dark


def test_maps_of_a_sentence_pair_and_its_gold_links():
    values = ((0.0, 0.0, 0.0), (0.1, 0.4, 0.2))
    example = AlignedExample(
        "7", "AWI", 0, ("x", "y"), ("<s>", "a", "b"), (True, False, False), (ExampleMap("norm", values),),
        sure=((1, 0),), possible=((0, 1), (1, 0)),
    )  # fmt: skip
    figure: Any = example_figure(example)
    gold, norm = figure.axes
    assert [axes.get_title() for axes in (gold, norm)] == ["gold links", "norm, AWI"]
    assert not values_of(cells_of(gold), 2).any()
    np.testing.assert_allclose(values_of(cells_of(norm), 2), [[0.0, 0.0, 0.0], [0.25, 1.0, 0.5]])
    assert cells_of(norm).get_clim() == (0, 1)
    assert [label.get_text() for label in norm.get_xticklabels()] == ["<s>", "a", "b"]
    assert [label.get_text() for label in gold.get_yticklabels()] == ["x", "y"]
    for axes, is_filled in ((gold, True), (norm, False)):
        possible, sure = axes.patches  # in the second row at the first word, in the first row at the second one
        assert (possible.get_xy(), sure.get_xy()) == ((0.5, 0.5), (1.5, -0.5))
        assert (possible.get_linestyle(), sure.get_linestyle()) == (":", "-")  # which the page calls dotted and solid
        assert possible.get_edgecolor() != sure.get_edgecolor()
        assert (possible.get_facecolor()[-1] > 0) == (sure.get_facecolor()[-1] > 0) == is_filled
    (only,) = example_figure(replace(example, sure=(), possible=())).axes
    assert only.get_title() == "norm, AWI"
    maps = (ExampleMap("norm", ((0.5,) * 20,) * 2),)
    long = replace(example, columns=("a",) * 20, special=(False,) * 20, maps=maps)
    one, two = (example_figure(each).get_figwidth() for each in (replace(long, sure=(), possible=()), long))
    assert two > 1.5 * one  # there is room for both matrices

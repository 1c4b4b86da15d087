"""The figures of trained probes, read back from matplotlib, and what the explorer shows of them."""

from __future__ import annotations

import math
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy.stats import binomtest

from attentionology.analyses.probing.head_weights import weights_figure
from attentionology.analyses.probing.lengths import by_bin, lengths_figure, wilson
from attentionology.analyses.probing.runs import training_figure
from attentionology.analyses.probing.scores import methods_figure
from attentionology.reports.drawing import BLUE, GREY
from tests.probing_results import ATTENTION, Case, explore_probes, results, with_answers
from tests.shown_tables import percent


def test_lengths_are_put_in_bins():
    lengths = pd.DataFrame(
        [("a", "argmax", length, 2, correct, total, 0.0) for length, correct, total in
         ((0, 3, 2), (1, 8, 10), (2, 1, 1), (3, 4, 4), (4, 0, 4), (8, 2, 1), (9, 1, 1), (40, 0, 1))]
        + [("b", "argmax", length, 1, 1, 1, 0.0) for length in (1, 5, 7)],
        columns=["method", "decoding", "length", "runs", "correct", "total", "uas"],
    )  # fmt: skip
    assert by_bin(lengths).to_numpy().tolist() == [
        ["a", "root", 2, 3 / 2 / 2],
        ["a", "1", 10, 8 / 2 / 10],
        ["a", "2", 1, 0.5],
        ["a", "3–4", 8, 4 / 2 / 8],
        ["a", "5–8", 1, 1.0],
        ["a", "9+", 2, 1 / 2 / 2],
        ["b", "1", 1, 1.0],
        ["b", "5–8", 2, 1.0],
    ]


def test_figure_of_methods_shows_scores_intervals_and_marks():
    found = results(Case(tree=True))
    methods = found.methods.assign(paper_uas=np.nan)
    methods.loc[methods["method"] == "attention", "paper_uas"] = 0.61
    methods.loc[methods["decoding"] == "tree", "paper_uas"] = np.nan
    alone = methods["method"] == "best offset"  # without width, its interval is not drawn
    methods.loc[alone, ["uas_low", "uas_high"]] = 0.3
    argmax = methods[methods["decoding"] == "argmax"].reset_index(drop=True)
    axes = methods_figure(methods, title="t").axes[0]
    widths = [patch.get_width() for patch in axes.patches]  # type: ignore[attr-defined]
    assert widths == pytest.approx((100 * argmax["uas"]).tolist())
    colors = {name: to_hex(patch.get_facecolor()) for name, patch in zip(argmax["method"], axes.patches, strict=True)}
    assert (colors["best offset"], colors["attention"]) == (to_hex(GREY), to_hex(BLUE))
    ends = [np.column_stack(line.get_data()) for line in axes.lines]
    wide = argmax[argmax["uas_low"] != argmax["uas_high"]]
    assert len(wide) == len(argmax) - 1
    np.testing.assert_allclose(np.array(ends)[:, :, 0], 100 * wide[["uas_low", "uas_high"]])
    assert [set(each[:, 1]) for each in ends] == [{place} for place in wide.index]
    marks = {str(c.get_label()): np.asarray(c.get_offsets()).tolist() for c in axes.collections}
    places = dict(zip(argmax["method"], argmax.index, strict=True))
    assert marks["control task"] == [
        [pytest.approx(100 * row["control_accuracy"]), places[row["method"]]]
        for row in argmax.to_dict("records") if not math.isnan(row["control_accuracy"])
    ]  # fmt: skip
    assert marks["as a tree"] == [
        [pytest.approx(100 * row["uas"]), places[row["method"]]]
        for row in methods[methods["decoding"] == "tree"].to_dict("records")
    ]
    assert marks["paper, on the Penn Treebank"] == [[61.0, places["attention"]]]
    assert axes.get_xlabel() == "unlabeled attachment score without punctuation (%)"
    assert [label.get_text() for label in axes.get_yticklabels()] == argmax["method"].tolist()
    (right,) = axes.child_axes
    assert [label.get_text() for label in right.get_yticklabels()] == [percent(uas) for uas in argmax["uas"]]


def test_figure_of_lengths_has_a_line_for_every_method_that_says_something():
    lengths = results(Case(tree=True)).lengths
    figure = lengths_figure(lengths, title="t")
    lines = {str(line.get_label()): line for line in figure.axes[0].lines[::2]}  # each has a mark and a line
    assert set(lines) == {"best offset", "best single head", "attention", "attention+words", "words+distances"}
    table = by_bin(lengths[lengths["decoding"] == "argmax"])
    for name, line in lines.items():
        own = table[table["method"] == name]
        assert list(np.asarray(line.get_ydata())) == pytest.approx((100 * own["uas"]).tolist())
    own = table[table["method"] == "attention"]
    ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert ticks == [f"{row.bin}\nn = {row.total}" for row in own.itertuples()]
    assert ticks[0].startswith("root")
    labels = figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    assert labels == ("distance between word and head, in words", "UAS (%)")
    joined = np.asarray(figure.axes[0].lines[1].get_ydata())
    assert np.isnan(joined[0])  # roots have no distance
    of_attention = figure.axes[0].collections[[*lines].index("attention")]
    limits = [np.asarray(path.vertices, dtype=float)[:, 1] / 100 for path in of_attention.get_paths()]
    for ends, uas, total in zip(limits, own["uas"], own["total"], strict=True):
        assert tuple(ends) == pytest.approx(wilson(uas, total))


@pytest.mark.parametrize(("correct", "n"), [(0, 5), (5, 5), (13, 40)])
def test_intervals_of_lengths_are_those_of_scipy(correct, n):
    expected = binomtest(correct, n).proportion_ci(method="wilson")
    assert wilson(correct / n, n) == pytest.approx((expected.low, expected.high), abs=1e-6)


@pytest.mark.parametrize("dev", [False, True])
def test_figure_of_training_has_a_line_per_run_of_the_first_fold(dev):
    case = Case(runs=2, folds=3, epochs=4, dev=dev)
    history = results(case).runs.history
    loss, train, on_dev = training_figure(history, title="t").axes
    names = ["loss per word (nats)", "UAS in training (%)", "dev UAS (%)"]
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in (loss, train, on_dev)] == [("epoch", x) for x in names]
    assert len(loss.lines) == 3 * 2
    assert list(np.asarray(loss.lines[0].get_ydata())) == [2.0, 1.0, 2 / 3, 0.5]
    assert list(np.asarray(loss.lines[0].get_xdata())) == [1, 2, 3, 4]
    assert loss.get_xlim() == (0.5, 4.5)
    assert loss.get_xticks().tolist() == [1, 2, 3, 4]
    assert [line.get_label() for line in loss.lines if not str(line.get_label()).startswith("_")] == list(case.probes)
    assert {float(y) for line in train.lines for y in np.asarray(line.get_ydata())} == {50.0}
    assert [text.get_text() for text in on_dev.texts] == ([] if dev else ["no dev sentences"])
    if dev:
        assert list(np.asarray(on_dev.lines[0].get_ydata())) == pytest.approx([10.0, 20.0, 30.0, 40.0])
        last_epoch = history["dev_uas"].where(history["epoch"] == 4)  # the only one with scores
        assert not training_figure(history.assign(dev_uas=last_epoch), title="t").axes[2].texts


@pytest.mark.parametrize("shape", [(2, 3), (3, 1), (1, 1), (12, 12)])
def test_figure_of_weights_shows_every_head(shape):
    found = results(Case(shape=shape)).head_weights
    figure = weights_figure({name: w.heads for name, w in found.items()}, title="t")
    images = [cells for axes in figure.axes for cells in axes.collections if cells.get_array() is not None][:4]
    assert len(images) == 4
    assert [axes.get_title("left") for axes in figure.axes[:4]] == [
        f"{name}: {arrow}" for name in ATTENTION for arrow in ("dep→head", "head→dep")
    ]
    assert [axes.get_xlabel() for axes in figure.axes[:4]] == ["head"] * 4
    assert [axes.get_ylabel() for axes in figure.axes] == ["layer", ""] * 2 + ["weight"] * 2
    for axis, n in zip((figure.axes[0].yaxis, figure.axes[0].xaxis), shape, strict=True):
        numbers = [label.get_text() for label in axis.get_ticklabels()]
        assert numbers == [str(number) for number in range(1, n + 1, 2 if n > 6 else 1)]
    for k, (name, direction) in enumerate((n, d) for n in ATTENTION for d in ("dep->head", "head->dep")):
        table = found[name].heads
        own = table[table["direction"] == direction]["weight"].to_numpy().reshape(shape)
        np.testing.assert_allclose(np.asarray(images[k].get_array()), own.ravel())
        assert images[k].get_clim() == pytest.approx((-table["weight"].abs().max(), table["weight"].abs().max()))


def test_measures_and_ranks_are_those_of_the_weights():
    probed = results(Case())
    explorer = explore_probes(probed)
    assert explorer is not None
    measures = {measure.id: measure for measure in explorer.measures}
    assert len(measures) == len(explorer.measures) == 2 * 3 * 2
    for name, weights in probed.head_weights.items():
        heads = {str(direction): rows for direction, rows in weights.heads.groupby("direction")}
        for column in ("weight", "contribution", "accuracy"):
            for direction in ("dep->head", "head->dep"):
                values = vars(measures[f"probing/{column}/{direction}/{name}"])["values"]
                assert list(values) == heads[direction].sort_values(["layer", "head"])[column].tolist()
        largest = np.stack([rows.sort_values(["layer", "head"])["weight"] for rows in heads.values()]).max(0)
        for index, (head, facts) in enumerate(explorer.facts.items()):
            [fact] = [fact for fact in facts if fact.label == f"weight in the probe {name}"]
            assert fact.measure is not None
            rank = f"{1 + (largest > largest[index]).sum()} of 6; weight {largest[index]:.3f}, "
            alone = vars(measures[fact.measure.replace("/weight/", "/accuracy/")])["values"][index]
            assert fact.text.startswith(rank)
            assert fact.text.endswith(f"; alone {100 * alone:.1f} %")
            assert vars(measures[fact.measure])["values"][index] == largest[index]
            assert head == f"{index // 3 + 1}-{index % 3 + 1}"


@pytest.mark.parametrize("order", [1, -1])
def test_findings_lead_to_the_head_with_the_largest_weight(order):
    probed = results(Case(probes=("attention",)))
    weights = probed.head_weights["attention"]
    probed = with_answers(probed, head_weights={"attention": weights._replace(heads=weights.heads[::order])})
    explorer = explore_probes(probed)
    assert explorer is not None
    ids = {measure.id for measure in explorer.measures}
    states = [dict(part.split("=", 1) for part in each.address[1:].split("&")) for each in explorer.findings]
    best = max(probed.head_weights["attention"].heads.to_dict("records"), key=lambda row: row["weight"])
    views = [f"probing/{column}/{best['direction']}/attention" for column in ("weight", "weight", "accuracy")]
    assert [unquote(state["measure"]) for state in states] == views
    assert {*views} <= ids
    arrow = best["direction"].replace("->", "→")
    weight = f"{best['weight']:.3f}"
    assert explorer.findings[1].text == (
        f"{weight} is the largest weight of the probe attention, that of head {best['layer']}-{best['head']} ({arrow})."
    )
    assert explorer.phrases[f"{best['layer']}-{best['head']}"] == (
        f"has rank 1 of 6 in the probe attention, by its weight of {weight} ({arrow})",
    )
    assert "head" not in states[0]  # the scores come first
    assert states[1]["head"] == f"{best['layer']}-{best['head']}"
    correlations = probed.head_weights["attention"].correlations.set_index("of")
    spearman = correlations["spearman"]["weight"]
    assert f"{spearman:.2f}" in explorer.findings[2].text


def test_without_weights_there_is_nothing_to_explore():
    assert explore_probes(results(Case(probes=("words+distances",)))) is None

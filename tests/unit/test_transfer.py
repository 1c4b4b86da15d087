"""Transfer between the treebanks of a survey, and training curves over the checkpoints of a model."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import attentionology
from attentionology import CorpusOptions, CountOptions
from attentionology.analyses.counting.comparable import replicate_order
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.survey.checkpoints import checkpoints_of, half_gain_step
from attentionology.analyses.survey.results import SCHEMAS, Survey
from attentionology.analyses.survey.rows import rows_table
from attentionology.analyses.survey.training import SURVEY_TRAINING, training_figure, training_findings
from attentionology.analyses.survey.transfer import (
    SURVEY_TRANSFER,
    SURVEY_TRANSFER_MEANS,
    TransferRows,
    _mean_over_treebanks,
    _TransferRows,
    only_in_one,
    transfer_figure,
    transfer_relation_table,
    transfer_table,
)
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.reports.format import rows_of
from tests import tiny
from tests.reference.naive import around
from tests.shown_tables import as_shown, assert_declared, distinct_table, in_latex, on_page

STEPS = (9, 10, 2000)
MODELS = tuple(f"tiny@step{step}" for step in (10, 2000, 9))
SIZES = {"first": (0, 25), "second": (25, 50)}
MIN_COUNT = 10
OPTIONS: list[Any] = [CountOptions(replicates=40, min_count=MIN_COUNT)]
TOTALS = ("all", "all-nopunct", "all-nopunct-noroot")


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """Three models whose names are those of revisions, and two treebanks with the same sentence ids."""
    folder = tmp_path_factory.mktemp("transfer")
    for seed, name in enumerate(MODELS):
        tiny.save(folder / name, seed=seed, max_position_embeddings=200)
    sentences = SAMPLE_TREEBANK.read_text(encoding="utf-8").split("\n\n")
    for name, (start, end) in SIZES.items():
        text = "\n\n".join(re.sub("# sent_id = .*", f"# sent_id = {k}", s) for k, s in enumerate(sentences[start:end]))
        (folder / f"{name}.conllu").write_text(text + "\n\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def surveyed(grid) -> Survey:
    return attentionology.survey(
        [grid / name for name in MODELS],
        [grid / f"{name}.conllu" for name in SIZES],
        options=OPTIONS,
        relation="det",
        out=grid / "out",
    )


@pytest.fixture(scope="module")
def runs(grid):
    """Two runs of `analyze` with one of the models, by the name of the treebank."""
    return {
        name: attentionology.analyze(
            grid / MODELS[0], grid / f"{name}.conllu", analyses="dependency", options=OPTIONS
        )
        for name in SIZES
    }  # fmt: skip


def read(grid, name):
    return pd.read_csv(grid / "out" / "tables" / f"{name}.csv", keep_default_na=False, na_values={"layer": [""]})


def of_model(table, grid):
    return table[table["model"] == str(grid / MODELS[0])]


def best_cell(rows, relation):
    """The head with the most words: of several, that of the highest layer, then head, then the last direction."""
    rows = [row for row in rows if row["relation"] == relation]
    last = {"dep->head": 0, "head->dep": 1, "both": 2}
    return max(rows, key=lambda row: (row["correct"], row["layer"], row["head"], last[row["direction"]]))


@pytest.mark.parametrize(("chosen_on", "scored_on"), [("first", "second"), ("second", "first")])
def test_transfer_is_a_recount_of_two_runs(grid, surveyed, runs, chosen_on, scored_on):
    table = of_model(read(grid, "survey_transfer"), grid).query("chosen_on == @chosen_on and scored_on == @scored_on")
    choice, score = (runs[name]["dependency"] for name in (chosen_on, scored_on))
    own = score.best.set_index("relation")
    assert set(table["relation"]) == set(choice.best["relation"]) & set(own.index)
    differs = 0
    choice_cells, score_cells = rows_of(choice.cells), rows_of(score.cells)
    for row in rows_of(table):
        best = best_cell(choice_cells, row["relation"])
        where = ("relation", "direction", "layer", "head")
        assert tuple(row[name] for name in where) == tuple(best[name] for name in where)
        (scored,) = [one for one in score_cells if all(one[name] == best[name] for name in where)]
        assert (row["n_chosen"], row["n"], row["correct"]) == (best["total"], scored["total"], scored["correct"])
        assert float(row["accuracy"]) == pytest.approx(scored["correct"] / scored["total"])
        heldout = own.loc[row["relation"], "heldout_accuracy"]
        if np.isnan(heldout):
            assert row["heldout"] == row["loss"] == ""
            continue
        assert float(row["heldout"]) == pytest.approx(heldout)
        assert float(row["loss"]) == pytest.approx(scored["correct"] / scored["total"] - heldout)
        differs += scored["correct"] != own.loc[row["relation"], "correct"]
    assert differs > 3  # the treebanks choose different heads, so that a mistake would be seen
    means = of_model(read(grid, "survey_transfer_means"), grid)
    (mean,) = rows_of(means.query("chosen_on == @chosen_on and scored_on == @scored_on"))
    frequent = table[(table["n"] >= MIN_COUNT) & (table["n_chosen"] >= MIN_COUNT)]
    frequent = frequent[~frequent["relation"].isin([*TOTALS, "root"])]
    assert len(frequent) == mean["relations"] > 2
    assert mean["n"] == frequent["n"].sum()
    for name in ("accuracy", "heldout", "loss"):
        assert float(mean[name]) == pytest.approx(frequent[name].astype(float).mean())
    assert float(mean["loss_low"]) < float(mean["loss_high"])
    only = [name for name in choice.best["relation"] if name not in own.index]
    assert mean["only_chosen"] == ", ".join(only)
    assert only_in_one(rows_of(surveyed.transfer_means_table))[f"{chosen_on} but not {scored_on}"] == ", ".join(only)


def counted(run, relation):
    """The counts over the corpus and its replicates of one relation."""
    (part,) = run.parts
    metric = part.counts.metric(part.counts.facts.requests["best_heads"][0], DependencyAccuracy)
    subsets, replicates = metric.split_counts()
    index = metric.groups.index(relation)
    return subsets.correct[index, 0], subsets.total[index, 0], replicates.correct[index], replicates.total[index]


def argbest(correct):
    """The direction, layer and head with the largest count, by a plain search."""
    places = list(np.ndindex(*correct.shape))
    return max(places, key=lambda place: (correct[place], place[1], place[2], place[0]))


def test_intervals_are_those_of_a_loop_over_replicates(grid, surveyed, runs):
    del surveyed
    (row,) = rows_of(of_model(read(grid, "survey_transfer"), grid).query("chosen_on == 'first' and relation == 'case'"))
    chosen, _, chosen_again, chosen_totals = counted(runs["first"], "case")
    scored, n, scored_again, totals = counted(runs["second"], "case")
    head = argbest(chosen)
    accuracies = [right[head] / total for right, total in zip(scored_again, totals, strict=True)]
    assert (float(row["low"]), float(row["high"])) == pytest.approx(tuple(np.quantile(accuracies, [0.025, 0.975])))
    (part,) = runs["second"].parts
    own = next(one for one in part.analysis.comparable(part.counts)[0].measured if one.group == "case")
    of_choices = [scored[argbest(right)] / n for right in chosen_again]
    assert min(chosen_totals) > 0
    deviations = []
    for here, there in zip(replicate_order("second", 40), replicate_order("first", 40), strict=True):
        of_scores = accuracies[here] - scored[head] / n - own.deviations[here]
        deviations.append(of_scores + of_choices[there] - np.mean(of_choices))
    expected = around(float(row["loss"]), deviations)
    assert (float(row["loss_low"]), float(row["loss_high"])) == pytest.approx(expected)


def made_up(rows, schema):
    """Rows in which all shares and differences are different."""
    return rows_of(distinct_table(rows_table(rows, schema)))


def test_page_and_latex_say_what_the_tables_say(surveyed, grid):
    counted = surveyed.answers["transfer"]
    answer = TransferRows(made_up(counted.rows, SURVEY_TRANSFER), made_up(counted.means, SURVEY_TRANSFER_MEANS))
    means = {(r["model"], r["chosen_on"], r["scored_on"]): r for r in answer.means}
    of_all = {(r["model"], r["chosen_on"], r["scored_on"]): r for r in answer.rows if r["relation"] == "all"}
    tables = (transfer_table(answer, surveyed), means), (transfer_relation_table(answer, surveyed), of_all)
    for table, rows in tables:
        for shown in (on_page(table), in_latex(table)):
            assert len(shown) == len(MODELS) * len(SIZES)
            for one in shown:
                model = str(grid / one["model"])
                for scored_on, heading in (*((name, name) for name in SIZES), ("", "mean")):
                    if heading not in one:
                        continue
                    row = rows.get((model, one["chosen on"], scored_on))
                    assert one[heading] == (as_shown(row, "loss loss_low loss_high", "+") if row else "–")
                if rows is of_all:
                    row = next(r for key, r in of_all.items() if key[:2] == (model, one["chosen on"]))
                    assert one["attention head"] == f"{row['layer']}-{row['head']}"
    page = (grid / "out" / "report.html").read_text(encoding="utf-8")
    for table in (transfer_table(counted, surveyed), transfer_relation_table(counted, surveyed)):
        assert str(table).partition("<tbody>")[2] in page
        assert (grid / "out" / "tables" / f"{table.name}.tex").read_text(encoding="utf-8") == table.latex()
    assert "first but not second: " in page
    figure = transfer_figure(answer, surveyed)
    assert figure is not None
    left, right = figure.axes[:2]
    for axes, rows in ((left, means), (right, of_all)):
        drawn = [text.get_text() for text in axes.texts]
        pairs = (("first", "second"), ("second", "first"))
        # A row for each model, since a matrix of two treebanks would have two cells.
        keys = [(str(grid / model), *pair) for model in MODELS for pair in pairs]
        assert drawn == [as_shown(rows[key], "loss", "+") for key in keys if key in rows]
        names = [[label.get_text() for label in axis.get_ticklabels()] for axis in (axes.yaxis, axes.xaxis)]
        assert names == [[*MODELS], ["first → second", "second → first"]]


def overall(chosen_on, loss, low, high):
    return {
        "model": "bert", "map": "weight", "chosen_on": chosen_on, "scored_on": "", "treebanks": 2, "relations": 20,
        "n": 1234, "accuracy": 0.5, "heldout": 0.5 - loss, "loss": loss, "loss_low": low, "loss_high": high,
        "only_chosen": "", "only_scored": "",
    }  # fmt: skip


def test_a_mean_over_treebanks_counts_the_relations_of_several_once():
    pairs = [
        _TransferRows([], {**overall("ewt", -0.1, -0.2, 0.0), "relations": 2, "used": used}, np.zeros(3), {})
        for used in (["det", "obj"], ["obj", "nsubj"])
    ]
    mean = _mean_over_treebanks(pairs)
    assert [mean[name] for name in ("treebanks", "relations", "n")] == [2, 3, 2468]


def test_relations_of_one_treebank_are_named_after_both():
    pairs = (("ewt", "gsd", "goeswith"), ("gsd", "ewt", ""))
    means = [{"chosen_on": chosen_on, "scored_on": other, "only_chosen": only} for chosen_on, other, only in pairs]
    assert only_in_one(means) == {"ewt but not gsd": "goeswith"}


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (["a@step1000", "a@step2000", "a@step64", "b@main"], {"a": [64, 1000, 2000]}),
        (["a@step1000", "a@step2000", "b@step3000"], {}),
        (["run/checkpoint-1000", "run/checkpoint-500", "run/checkpoint-2000"], {"run": [500, 1000, 2000]}),
        (["m-step_20k", "m-step_1m", "m-step_0"], {"m": [0, 20_000, 1_000_000]}),
        (["a@stage1-step5-tokens3B", "a@stage1-step7-tokens1B", "a@stage1-step6-tokens2B"], {"a": [5, 6, 7]}),
        (["a@v1.0", "a@v1.5", "a@v2"], {"a": [1, 1.5, 2]}),
        (["a@0123abc", "a@0124abc", "a@0125abc"], {}),
        (["L-2_H-128", "L-4_H-128", "L-6_H-128"], {}),
        (["a@step1-x", "a@step1-y", "a@step2"], {}),
    ],
)
def test_checkpoints_are_sorted_by_number(models, expected):
    found = {model: [one.step for one in checkpoints] for model, checkpoints in checkpoints_of(models).items()}
    assert found == expected


def test_training_curves_are_in_the_order_of_steps(grid, surveyed):
    table = read(grid, "survey_training")
    assert list(table) == SURVEY_TRAINING.names
    assert set(table["model"]) == {str(grid / "tiny")}
    best = read(grid, "survey")
    for treebank in SIZES:
        of = table[table["treebank"] == treebank]
        det = of.query("relation == 'det'")
        assert det["step"].tolist() == list(STEPS)
        assert det["checkpoint"].tolist() == [str(grid / f"tiny@step{step}") for step in STEPS]
        cells = best[(best["treebank"] == treebank) & (best["relation"] == "det")].set_index("model")
        np.testing.assert_allclose(
            det["heldout"].astype(float), cells.loc[det["checkpoint"], "heldout"].astype(float), rtol=1e-12
        )
        assert (det["low"].astype(float) < det["heldout"].astype(float)).all()
        assert of.query("layer == 2")["step"].tolist() == list(STEPS)
    figure = training_figure(surveyed.training_table, surveyed, str(grid / "tiny"))
    assert figure.axes[0].get_xscale() == "log"
    above, below = figure.axes[0], figure.axes[2]
    first = table.query("treebank == 'first'")
    for axes, label, rows in (
        (above, "det", first.query("relation == 'det'")), (below, "layer 2", first.query("layer == 2")),
    ):  # fmt: skip
        (line,) = [line for line in axes.get_lines() if line.get_label() == label]
        points = np.column_stack(line.get_data())
        np.testing.assert_allclose(points, np.column_stack([STEPS, 100 * rows["heldout"].astype(float)]))
        segments = [path.vertices for drawn in axes.collections for path in drawn.get_paths()]
        for step, low, high in zip(STEPS, rows["low"].astype(float), rows["high"].astype(float), strict=True):
            assert any(np.allclose(ends, [[step, 100 * low], [step, 100 * high]]) for ends in segments)
    assert (grid / "out" / "figures" / "survey_training.svg").exists()


def test_values_are_of_the_types_that_the_reference_gives_them(surveyed):
    assert_declared(surveyed.tables, SCHEMAS)
    of_seeds = {"survey_seeds", "survey_seed_heads", "survey_seed_contrasts"}  # which these models are not
    for schema in (schema for schema in SCHEMAS if schema.name not in of_seeds):
        differences = [column.names.split()[0] for column in schema.columns if column.type == "points"]
        assert all((surveyed.tables[schema.name][name] < 0).any() for name in differences)  # else they could be shares


def test_lines_of_layers_can_be_told_apart_however_many_there_are(grid, surveyed):
    table = surveyed.training_table
    of_first = table[table["layer"] == 1]
    more = pd.concat([table[table["about"] == "relation"], *(of_first.assign(layer=layer) for layer in range(1, 25))])
    figure: Any = training_figure(more, surveyed, str(grid / "tiny"))
    below = figure.axes[len(figure.axes) // 2]
    lines = below.get_lines()
    assert [line.get_label() for line in lines] == [f"layer {layer}" for layer in range(3, 25, 3)]
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == len(lines)
    assert below.get_ylabel().endswith("(one layer in 3)")


def test_step_0_has_a_place_on_the_axis_of_training(grid, surveyed):
    table = surveyed.training_table
    table = table.assign(step=table["step"].where(table["step"] != STEPS[0], 0))
    axes: Any = training_figure(table, surveyed, str(grid / "tiny")).axes[0]
    assert axes.get_xscale() == "symlog"
    assert axes.xaxis.get_transform().linthresh == STEPS[1]  # linear up to the first step after 0


def test_layers_are_means_of_what_their_own_heads_reach(grid, surveyed, runs):
    del surveyed
    row = read(grid, "survey_training").query("treebank == 'first' and layer == 3 and step == 10").iloc[0]
    (part,) = runs["first"].parts
    metric = part.counts.metric(part.counts.facts.requests["best_heads"][0], DependencyAccuracy)
    subsets, _ = metric.split_counts()
    accuracies, words = [], 0
    for index, name in enumerate(metric.groups):
        total, correct = subsets.total[index], subsets.correct[index][:, :, 2:, :]
        if total[0] < MIN_COUNT or name == "root":
            continue
        right = scored = 0
        for split in range(1, len(total)):
            halves = [(correct[split], total[split]), (correct[0] - correct[split], total[0] - total[split])]
            for (choosing, size), (scoring, n) in (halves, halves[::-1]):
                if size:
                    right, scored = right + scoring[argbest(choosing)], scored + n
        accuracies.append(right / scored)
        words += int(total[0])
    assert (row["relations"], row["n"]) == (len(accuracies), words)
    assert float(row["heldout"]) == pytest.approx(np.mean(accuracies))


@pytest.mark.slow
def test_one_treebank_and_two_models_have_neither(grid, tmp_path):
    options = [CorpusOptions(limit=3), CountOptions(replicates=0)]
    models = [grid / name for name in MODELS[:2]]
    survey = attentionology.survey(models, grid / "first.conllu", options=options, out=tmp_path / "out")
    assert survey.transfer_table.empty
    assert survey.training_table.empty
    written = {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    assert not [name for name in written if "transfer" in name or "training" in name]


def test_treebanks_differ_as_the_comparison_of_two_runs_says(grid, surveyed, runs):
    """The comparison calls the second run second, as the treebank is called, so that replicates have the same order."""
    found = of_model(read(grid, "survey_treebanks"), grid)
    assert set(found["treebank_a"]) == {"first"}
    assert set(found["treebank_b"]) == {"second"}
    expected = attentionology.compare(runs["first"], runs["second"], min_count=MIN_COUNT).table
    assert set(expected["family"]) == {"relations", "gains over the offset", "gains over the rules"}
    for name, other in (("family", "family"), ("relation", "group"), ("reason", "reason"), ("choice_b", "choice_b")):
        assert found[name].tolist() == expected[other].tolist()
    for name in ("value_a", "value_b", "difference", "low", "high", "p", "p_holm"):
        values = pd.to_numeric(found[name]).to_numpy()
        np.testing.assert_allclose(values, expected[name].to_numpy(dtype=float), atol=1e-9, err_msg=name)


def test_findings_say_by_which_step_half_of_the_final_gain_is_reached(grid, surveyed):
    curves = {"det": (0.1, 0.6, 0.9), "obj": (0.1, 0.2, 0.9), "nsubj": (0.4, 0.5, 0.6), "case": (0.1, 0.45, 0.8)}
    rows = [
        {"model": "tiny", "checkpoint": str(grid / f"tiny@step{step}"), "step": step, "treebank": "first", "n": 50,
         "map": "weight", "about": "relation", "relation": name, "heldout": value, "low": value - width,
         "high": value + width} for name, values in curves.items() for step, value in zip(STEPS, values, strict=True)
        for width in (0.15 if name == "nsubj" else 0.01,)
    ]  # fmt: skip
    (found,) = training_findings(pd.DataFrame(rows), surveyed)
    assert found.text.startswith("2 of 4 relations of first reach half of their final gain by step 10: det (10.0 % ")
    assert "case (10.0 % to 80.0 %, strongest rule " in found.text
    assert found.text.endswith(").")
    assert found.more == "1 by step 2,000 (obj). No clear gain from the first to the last step: nsubj."
    assert found.address == "#training"
    assert half_gain_step([0, 5, 9], [0.5, 0.2, 0.1]) == 0  # of a loss, the first step has half

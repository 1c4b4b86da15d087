"""What the alignment analysis says of baselines, findings and choices, and when it says nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.alignment.analysis import Alignment
from attentionology.analyses.alignment.baselines import BASELINES
from attentionology.analyses.alignment.best import BEST
from attentionology.analyses.alignment.contrasts import CONTRASTS
from attentionology.analyses.alignment.correlations import CORRELATIONS
from attentionology.analyses.alignment.example import choose_pair
from attentionology.analyses.alignment.layers import CELLS
from attentionology.analyses.alignment.rows import LayerChoice, choose
from attentionology.analyses.alignment.series import Series
from attentionology.corpora_loaders.alignment import SentencePair
from tests.alignment import alignment_section, explored_alignment, made_results, shown_tables, with_answers
from tests.shown_tables import cells, distinct_table, in_brackets, in_latex, on_page, percent

SERIES = [
    {"setting": setting, "measure": measure, "heads": heads, "direction": direction}
    for setting in ("AWI", "AWO")
    for measure in ("weight", "norm")
    for heads in ("all", "single")
    for direction in ("forward", "reverse")
]


def made_up(schema, rows):
    """A table with all columns of a schema, in which all numbers are different."""
    names = [name for column in schema.columns for name in column.names.split()]
    return distinct_table(pd.DataFrame([{**dict.fromkeys(names, 0.5), **row} for row in rows])[names])


@pytest.fixture(scope="module")
def results():
    cells = made_up(CELLS, [{**each, "layer": layer, "head": 0} for each in SERIES for layer in (1, 2)])
    best = made_up(BEST, [{**each, "layer": 2, "head": 3 * (each["heads"] == "single")} for each in SERIES])
    best.loc[best["measure"] == "weight", "largest_error_rate"] = np.nan
    differences = [{"contrast": "norm − weight", "of": "AWI", "layer": layer} for layer in (1, 2)]
    rhos = [{"setting": "AWI", "over": over, "n": n} for over, n in (("layers", 6), ("heads", 72))]
    correlations = made_up(CORRELATIONS, rhos)
    correlations.loc[0, ["rho", "low", "high"]] = np.nan
    baselines = made_up(BASELINES, [{"name": "diagonal", "links": 1234}, {"name": "other", "links": 7}])
    contrasts = made_up(CONTRASTS, differences)
    chosen = LayerChoice(Series("AWI", "norm"), 0, by_gold=True)
    return made_results(
        cells, chosen, units=20, best=best, contrasts=contrasts, correlations=correlations, baselines=baselines,
        controls=(best,),
    )  # fmt: skip


@pytest.fixture(scope="module")
def shown(results):
    return {table.name: table for table in shown_tables(results)}


def test_the_direction_of_links_is_left_out_if_there_is_only_one(results, shown):
    cells, best = (table[table["direction"] == "forward"] for table in (results.cells, results.best))
    forward = shown_tables(with_answers(replace(results, cells=cells), best=best))[1]
    assert "links" not in on_page(forward)[0]
    assert [row["links"] for row in on_page(shown["alignment_best"])] == [*results.best["direction"]]


def test_baselines_and_copies_with_random_weights(results, shown):
    page = cells(
        results.baselines.to_dict("records"),
        {
            "alignment": "name",
            "links": ",d links",
            "error rate": "% error_rate low high",
            "precision": "% precision",
            "recall": "% recall",
        },
    )
    lowest = percent(results.best["error_rate"].min())
    copy = {"links": "–", "error rate %": lowest, "precision %": "–", "recall %": "–"}
    expected = [*page, {"alignment": "random weights, copy 1, best of all", **copy}]
    assert on_page(shown["alignment_baselines"]) == in_latex(shown["alignment_baselines"]) == expected


def test_without_gold_links_nothing_is_scored(results):
    names = ["sure", "hits_sure", "hits_possible", "error_rate", "low", "high", "precision", "recall", "f1"]
    chosen = LayerChoice(Series("AWI", "norm"), 0, by_gold=False)
    (layers,) = shown_tables(made_results(results.cells.drop(columns=names), chosen))
    headings = ["layer", "setting", "measure", "on special tokens %", "on punctuation %", "mean norm"]
    assert list(on_page(layers)[0]) == headings


@pytest.fixture(scope="module")
def explored(results):
    """Results in which each series has another number of heads, and the last one has the fewest errors."""
    rows: list[dict[str, object]] = []
    for number, each in enumerate(SERIES):
        heads = [0] if each["heads"] == "all" else range(1, 8 - number // 4)
        rows += [{**each, "layer": layer, "head": head} for layer in (1, 2) for head in heads]
    cells = made_up(CELLS, rows)
    for name in ("error_rate", "low", "high", "on_special"):
        cells[name] = cells[name].to_numpy()[::-1]
    unknown = cells[["setting", "measure", "heads", "layer", "head"]].eq(["AWI", "weight", "single", 1, 1]).all(axis=1)
    cells.loc[unknown, ["error_rate", "low", "high"]] = np.nan
    rate = cells.loc[cells["setting"].eq("AWO") & cells["measure"].eq("norm") & cells["head"].eq(2), "high"].max()
    baselines = pd.DataFrame([{"name": "worse", "error_rate": 0.99}, {"name": "diagonal", "error_rate": rate}])
    rows_of_contrasts = [
        ["norm − weight", "AWI", 1, 0.1, 0.05, 0.2], ["norm − weight", "AWO", 2, -0.3, -0.4, 0.0],
        ["norm − weight", "AWO", 1, 0.9, np.nan, np.nan], ["AWI − AWO", "weight", 2, 0.2, 0.1, 0.3],
        ["AWI − AWO", "norm", 1, -0.1, -0.3, -0.05],
    ]  # fmt: skip
    contrasts = pd.DataFrame(rows_of_contrasts, columns=["contrast", "of", "layer", "difference", "low", "high"])
    beside = {"baselines": baselines.assign(low=0.25, high=0.75), "contrasts": contrasts}
    made = with_answers(replace(results, cells=cells), **beside)
    return cells[cells["direction"] == "forward"], made, explored_alignment(made)


def id_of(column, row):
    return f"alignment/{column}/{row['setting']}/{row['measure']}{'/all' if row['heads'] == 'all' else ''}"


def rate_of(row):
    return f"{percent(row['error_rate'])} %{in_brackets(row['low'], row['high'])}"


def test_findings_name_the_series_with_the_fewest_errors_and_lead_there(explored):
    forward, results, contribution = explored
    head, layer, baseline, norms, settings, rests = contribution.findings
    for found, heads in ((head, "single"), (layer, "all")):
        rows = forward[forward["heads"] == heads]
        least = rows.loc[rows["error_rate"].idxmin()]
        best = results.best
        same = best[["setting", "measure", "heads", "direction"]] == least[["setting", "measure", "heads", "direction"]]
        held_out = best.loc[same.all(axis=1), "heldout_error_rate"].item()
        assert found.text.startswith(f"{rate_of(least)} is the lowest alignment error rate of all heads")
        where = f"by {least['measure']} ({least['setting']}), beside {percent(results.baselines['error_rate'].min())} %"
        assert f"{where} [25.0, 75.0] of diagonal, the best baseline; held out, the best ones have " in found.text
        assert found.text.endswith(f" have {percent(held_out)} %.")
        assert found.address == f"#head={least['layer']}-{least['head'] or 1}&measure={id_of('error_rate', least)}"
    assert "of all heads of a layer together, in layer 2 by" in layer.text
    single = forward[forward["heads"].eq("single") & forward["error_rate"].notna()]
    least = single.loc[single["error_rate"].idxmin()]
    rows = single[single["setting"].eq(least["setting"]) & single["measure"].eq(least["measure"])]
    rate = results.baselines["error_rate"].min()
    below = sum(high < rate for high in rows["high"])
    assert 0 < below < len(rows)
    where = f"diagonal ({percent(rate)} % [25.0, 75.0]), by {least['measure']} ({least['setting']})."
    start = f"{below} of {len(rows)} heads have an interval below the error rate of the best baseline, {where}"
    assert baseline.text.startswith(start)
    assert baseline.address == head.address
    shows = "comparisons show that norms align words better than weights, and 1 that they do worse; the other has"
    assert norms.text.startswith(f"0 of 2 {shows}")
    assert norms.text.endswith("the differences of error rates lie between -30.0 points and +10.0 points.")
    assert norms.address == "#head=2-1&measure=alignment/error_rate/AWO/norm/all"  # the largest difference
    rows_of_both = "the rows of positions that read the target word (AWI) align words better than those of positions"
    assert settings.text.startswith(f"1 of 2 comparisons shows that {rows_of_both} that predict it (AWO), and 1 that")
    assert settings.address == "#head=2-1&measure=alignment/error_rate/AWI/weight/all"
    weights = forward[forward["heads"].eq("all") & forward["measure"].eq("weight")]
    most = weights.loc[weights["on_special"].idxmax()]
    norm = forward[
        forward["heads"].eq("all") & forward["measure"].eq("norm")
        & forward["setting"].eq(most["setting"]) & forward["layer"].eq(most["layer"])
    ]["on_special"].item()  # fmt: skip
    start = f"{percent(most['on_special'])} % of the target words rest on special tokens by weight"
    where = f"in layer {most['layer']} ({most['setting']}). These words have no link."
    assert rests.text == f"{start}, and {percent(norm)} % by norm, {where}"
    assert rests.address == f"#head={most['layer']}-1&measure={id_of('on_special', most)}"


def test_words_on_special_tokens_are_those_of_one_setting(explored):
    """By norm as by weight."""
    _, results, _ = explored
    cells = results.cells.assign(on_special=0.1)
    for setting, measure, share in (("AWI", "norm", 0.5), ("AWO", "norm", 0.3), ("AWO", "weight", 0.4)):
        cells.loc[cells["setting"].eq(setting) & cells["measure"].eq(measure), "on_special"] = share
    *_, rests = explored_alignment(replace(results, cells=cells)).findings
    words = "40.0 % of the target words rest on special tokens by weight, and 30.0 % by norm, in layer 1 (AWO)."
    assert rests.text.startswith(words)


def test_without_gold_links_nothing_is_found(explored):
    _, results, contribution = explored
    cells = results.cells.drop(columns=["error_rate", "low", "high"])
    chosen = LayerChoice(Series("AWI", "norm"), 0, by_gold=False)
    without = explored_alignment(made_results(cells, chosen))
    assert (without.findings, without.phrases, len(without.measures)) == ((), {}, 8)
    assert {fact.label for each in without.facts.values() for fact in each} == {"rests on special tokens"}
    assert without.facts.keys() == contribution.facts.keys()


def test_nothing_is_said_of_what_is_not_there(explored):
    _, results, contribution = explored

    def said(cells: pd.DataFrame = results.cells, **answers: pd.DataFrame) -> list[str]:
        found = explored_alignment(with_answers(replace(results, cells=cells), **answers)).findings
        return [finding.text for finding in found]

    head, layer, baseline, *others = [finding.text for finding in contribution.findings]
    assert said(results.cells.assign(error_rate=np.nan, low=np.nan, high=np.nan)) == others
    without = [text.partition(", beside")[0] + text.partition("best baseline")[2] for text in (head, layer)]
    assert said(baselines=results.baselines[:0]) == [*without, *others]
    assert said(contrasts=results.contrasts[:0]) == [head, layer, baseline, others[-1]]
    assert said(results.cells.assign(on_special=0.0)) == [head, layer, baseline, *others[:-1]]


def test_word_vectors_have_no_heads(explored):
    _, results, _ = explored
    cells, best = (
        table.query("heads == 'all' and setting == 'AWI' and measure == 'norm'").assign(measure="cosine")
        for table in (results.cells, results.best)
    )
    made = explored_alignment(with_answers(replace(results, cells=cells), best=best))
    assert {measure.label for measure in made.measures} == {"AWI, by cosine"}
    assert "is the lowest alignment error rate of all word vectors, in layer 2 by cosine" in made.findings[0].text


def test_the_page_explains_what_was_chosen_and_directions_if_there_are_two(explored, monkeypatch):
    _, results, _ = explored
    for question in Alignment.questions:
        monkeypatch.setattr(type(question), "draw", lambda *_: {})

    def context(example: Any = None, **changes: Any) -> Any:
        return alignment_section(with_answers(replace(results, **changes), example=example)).context

    assert (context()["both"], context()["correlations"], context()["has_gold"]) == (True, 2, True)
    assert "example" not in context()
    example: Any = SimpleNamespace(id="p7", layer=4)  # 0-based
    assert context(example=example)["example"] == {"id": "p7", "layer": 5}
    cells = results.cells
    assert not context(cells=cells[cells["direction"] == "forward"])["both"]
    for measure, reason in (
        ("norm", "whose mean norm is the largest"),
        ("cosine", "which is two thirds of the way up"),
    ):
        chosen = LayerChoice(Series("AWI", measure), 1, by_gold=True)
        assert context(chosen=chosen)["chosen"] == {"layer": 2, "setting": "AWI", "measure": measure, "reason": reason}


@pytest.mark.parametrize("sizes", [(4, 16), (16, 4)])
@pytest.mark.parametrize("number", range(5))
def test_a_pair_of_four_to_sixteen_words_is_drawn_whatever_the_hashes(number, sizes):
    others = [(3, 16), (4, 17), (16, 3), (17, 4)]
    pairs = [
        SentencePair(id=f"{number}: {source}, {target}", source=("x",) * source, words=("y",) * target)
        for source, target in (*others, sizes)
    ]
    assert choose_pair(pairs) == pairs[-1]


def test_the_layer_whose_links_are_written():
    def layer(measure: str, sizes: list[float], rates: list[float]) -> tuple[str, int, int]:
        series = [Series("AWI", "weight"), Series("AWI", measure), Series("AWI", measure, "single")]
        made: Any = [
            SimpleNamespace(
                size=np.array([sizes]).T, error_rates=lambda value=value: np.array([[[rate + value] for rate in rates]])
            )
            for value in (0.2, 0.1, 0)
        ]
        choices = [choose(dict(zip(series, made, strict=True)), "forward", has_gold=gold) for gold in (False, True)]
        assert [choice.by_gold for choice in choices] == [False, True]
        assert choices[1].series == series[1]
        return choices[0].series.measure, choices[0].layer, choices[1].layer

    assert layer("norm", [1, 3, 2], [0.3, 0.2, 0.1]) == ("norm", 1, 2)
    assert layer("cosine", [3, 1, 2], [0.3, np.nan, 0.4]) == ("weight", 1, 0)  # two thirds of the way up
    assert [layer("cosine", [0] * n, [0] * n)[1] for n in (1, 2, 4, 6, 12)] == [0, 1, 2, 3, 7]

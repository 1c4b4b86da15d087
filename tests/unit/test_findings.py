"""Every finding has a case in which it holds and one in which it just does not; differences are first − other."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.alignment.rows import LayerChoice
from attentionology.analyses.alignment.series import Series
from attentionology.analyses.comparison.differences import is_significant
from attentionology.analyses.coreference.contrasts import PAIRS
from attentionology.analyses.counting.held_out import gain_columns, side_of_baseline
from attentionology.analyses.counting.resampling import FEWEST_UNITS
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.norms.shares import explored_shares
from attentionology.analyses.shared.ensembles import finds_more
from attentionology.analyses.surface.shares import sinks
from attentionology.reports.explorer.contribution import Contribution
from tests.alignment import explored_alignment
from tests.alignment import made_results as made_alignment
from tests.clusters import explored_clusters, with_answers
from tests.coreference import explored_coreference, groups_of
from tests.coreference import made_results as made_of_mentions
from tests.dependency import explored_dependency, made_results
from tests.documents import counted_mentions
from tests.maps import RELATIONS, batch_of, counted_words, random_corpus
from tests.shown_tables import in_brackets, numbers, percent
from tests.surface import changed_results, explored_surface
from tests.unit.test_norm_reports import results as norms  # noqa: F401  # a fixture
from tests.unit.test_surface_reports import results as surface_results


@pytest.fixture(scope="module")
def found():
    return surface_results("bert")


def of_surface(found, **columns):
    """The findings about heads with these values; heads without a value have little of it."""
    surface, _ = found
    heads = surface.tables.heads.assign(label="other", previous=0.1, next=0.1, first_special=0.2, last_special=0.1)
    for name, values in columns.items():
        heads.loc[: len(values) - 1, name] = values
    layers = surface.tables.layers.assign(sink=["last_special", *["first_special"] * 2], sink_share=[0.5, 0.2, 0.6])
    tables = surface.tables._replace(heads=heads, layers=layers)
    return [finding.text for finding in explored_surface(changed_results(surface, tables=tables), "weight").findings]


def test_the_sink_and_the_head_with_most_of_it(found):
    (sink,) = of_surface(found, first_special=[0.3, 0.9, 0.8], last_special=[0.95])
    assert sink.startswith("20.0 to 60.0 % of the attention goes to <cls> in layers 2–3, on average over the heads")
    assert sink.endswith("in head 1-2, 90.0 %.")


def test_layers_without_special_tokens_have_no_sink():
    layers = pd.DataFrame(
        {"layer": [1, 2, 3, 4, 5], "sink": ["a", "", "b", "a", "a"], "sink_share": [0.5, 0.9, 0.4, 0.3, 0.2]}
    )
    assert sinks(layers, {"a": "[A]"}) == [
        {"column": "a", "name": "[A]", "layers": "1, 4–5", "low": 0.2, "high": 0.5},
        {"column": "b", "name": "b", "layers": "3", "low": 0.4, "high": 0.4},
    ]


def test_the_sink_is_the_column_and_not_what_its_token_is_called(found):
    """A model may write both of its special tokens alike."""
    surface, _ = found
    heads = surface.tables.heads.assign(first_special=0.7, last_special=0.2)
    alike = replace(
        surface, tables=surface.tables._replace(heads=heads), specials=dict.fromkeys(surface.specials, "</s>")
    )
    sink = explored_surface(alike, "weight").findings[0]
    assert "</s>" in sink.text
    assert "70.0 %" in sink.text
    assert "measure=surface/first_special/weight" in sink.address


def test_heads_of_neighbors_are_counted_by_their_labels(found):
    _, neighbors = of_surface(found, label=["previous", "next", "previous"], previous=[0.7, 0.1, 0.9], next=[0.1, 0.95])
    assert neighbors == (
        "2 of 12 heads attend mostly to the previous token and 1 to the next one; head 1-3 directs 90.0 % of its "
        "attention to the previous token."
    )
    _, one = of_surface(found, label=["next"], previous=[0.99], next=[0.6])
    assert numbers(one) == ["0", "12", "1", "1-1", "60.0"]
    assert len(of_surface(found, previous=[0.99])) == 1  # no head has such a label


def of_clusters(found, p):
    _, clusters = found
    changed = with_answers(clusters, layers=clusters.layers.assign(p=p, found=0.5, shuffled=0.25))
    return [finding.text for finding in explored_clusters(changed, "weight").findings]


def test_heads_of_a_layer_are_alike_only_below_five_percent(found):
    (alike,) = of_clusters(found, 0.0499)
    assert alike.startswith("50.0 % of the heads have the head that attends most alike in their own layer, more often")
    assert "at random (25.0 %, p = 0.0499)." in alike
    (not_clearly,) = of_clusters(found, 0.05)
    assert "not clearly more often than if heads were assigned" in not_clearly


def of_norms(norms, weight, norm_share):  # noqa: F811  # the fixture
    shares = norms.shares.assign(weight=0.2, norm_share=0.2)
    shares.loc[shares["class"] == "[SEP]", ["weight", "norm_share"]] = [weight, norm_share]
    shares.loc[shares["class"] == "[CLS]", ["weight", "norm_share"]] = [0.3, 0.25]
    return [finding.text + finding.address for finding in explored_shares(shares).findings]


def test_the_class_whose_weight_and_norm_differ_most(norms):  # noqa: F811  # the fixture
    assert of_norms(norms, 0.5, 0.1) == [
        "10.0 % of what is moved by norm comes from [SEP], less than their weights suggest: 50.0 % of the weights, "
        "both on average over all heads.#measure=norms/norm_share/%5BSEP%5D"
    ]
    (more,) = of_norms(norms, 0.1, 0.5)
    assert "[SEP], more than" in more
    assert numbers(more)[:2] == ["50.0", "10.0"]
    (other,) = of_norms(norms, 0.24, 0.2)  # less than the difference of another class
    assert "[CLS]" in other
    assert numbers(other)[:2] == ["25.0", "30.0"]


HEADS = [
    {"setting": setting, "measure": measure, "heads": heads, "direction": "forward", "layer": layer, "head": head}
    for setting in ("AWI", "AWO")
    for measure in ("weight", "norm")
    for heads, layer, head in (("all", 1, 0), ("all", 2, 0), ("single", 1, 1), ("single", 2, 1))
]


def of_pairs(contrasts, special=0.4, units=FEWEST_UNITS):
    cells = pd.DataFrame(HEADS).assign(error_rate=0.5, low=0.45, high=0.55, on_special=0.1)
    is_best = (cells["setting"] == "AWI") & (cells["measure"] == "norm") & (cells["layer"] == 2)
    cells.loc[is_best & (cells["heads"] == "single"), ["error_rate", "low", "high"]] = [0.2, 0.15, 0.3]
    cells.loc[is_best & (cells["heads"] == "all"), ["error_rate", "low", "high"]] = [0.25, 0.2, 0.3]
    by_weight = (cells["setting"] == "AWO") & (cells["measure"] == "weight") & (cells["layer"] == 2)
    cells.loc[by_weight & (cells["heads"] == "all"), "on_special"] = special
    undefined = dict.fromkeys(("heldout_error_rate", "heldout_gain", "heldout_gain_low", "heldout_gain_high"), np.nan)
    baselines = pd.DataFrame([{"name": "diagonal", "error_rate": 0.3, "low": 0.28, "high": 0.32}])
    table = pd.DataFrame(contrasts, columns=["contrast", "of", "layer", "difference", "low", "high"])
    chosen = LayerChoice(Series("AWI", "norm"), 0, by_gold=True)
    best = cells.assign(**undefined)
    results = made_alignment(cells, chosen, units=units, best=best, contrasts=table, baselines=baselines)
    return "\n".join(finding.text for finding in explored_alignment(results).findings)


def test_the_lowest_error_rates_and_how_many_heads_are_below_the_baseline():
    said = of_pairs([])
    lowest, beside = "is the lowest alignment error rate", "beside 30.0 % [28.0, 32.0] of diagonal, the best baseline."
    assert f"20.0 % [15.0, 30.0] {lowest} of all heads, that of head 2-1 by norm (AWI), {beside}" in said
    assert f"25.0 % [20.0, 30.0] {lowest} of all heads of a layer together, in layer 2 by norm (AWI), {beside}" in said
    assert "0 of 2 heads have an interval below the error rate" in said  # its upper end is at the rate, not below it


def test_norms_are_better_only_where_the_interval_lies_below_0():
    rows = [["norm − weight", "AWI", 1, -0.2, -0.3, -0.001], ["norm − weight", "AWI", 2, -0.1, -0.3, 0.0]]
    said = of_pairs([*rows, ["norm − weight", "AWO", 1, 0.1, 0.001, 0.2], ["AWI − AWO", "norm", 1, 0.2, 0.1, 0.3]])
    assert "1 of 3 comparisons shows that norms align words better than weights, and 1 that they do worse; the" in said
    assert "the differences of error rates lie between -20.0 points and +10.0 points." in said
    assert "0 of 1 comparison shows that the rows of positions that read the target word (AWI) align" in said
    assert "comparisons" not in of_pairs([])
    assert "comparisons" not in of_pairs(rows, units=FEWEST_UNITS - 0.01)


def test_words_that_rest_on_special_tokens():
    assert (
        "40.0 % of the target words rest on special tokens by weight, and 10.0 % by norm, in layer 2 (AWO)."
        in of_pairs([])
    )
    assert "10.0 % by norm, in layer 1 (AWI)." in of_pairs([], special=0.05)


def test_the_shares_of_the_surface_say_how_many_inputs_they_are_means_of(found):
    surface, _ = found
    counts = surface.tables.counts.set_index("statistic")["inputs"]
    counted = {measure.id: measure.n for measure in explored_surface(surface, "weight").measures if measure.kind}
    assert counted["surface/next/weight"] == counts["next"] > 0
    assert counted == {name: counts[name.split("/")[1]] for name in counted}


def assert_differences(table: pd.DataFrame, difference: str, first: str, second: str) -> None:
    """Compare the differences of a table with its two sides, of which some differ."""
    expected = table[first] - table[second]
    assert (expected.abs() > 0.01).any()
    np.testing.assert_allclose(table[difference], expected, atol=1e-12)


def test_gain_over_the_best_offset():
    assert_differences(counted_words().compute().best, "gain", "accuracy", "offset_accuracy")


@pytest.fixture(scope="module")
def coreference():
    return counted_mentions(labels=PAIRS[0])


def test_gains_over_rules_and_the_nearest_mention(coreference):
    best = coreference.compute().best.query("total > 0")
    assert_differences(best, "gain", "accuracy", "rule_based_accuracy")
    assert_differences(best, "gain_nearest", "accuracy", "nearest_accuracy")


def test_differences_between_groups_of_documents(coreference):
    groups = groups_of(coreference)
    for table in (groups.best, groups.heads, groups.largest):
        assert_differences(table, "difference", "first_accuracy", "second_accuracy")
    contrasts = groups.best
    np.testing.assert_allclose(contrasts["ratio"], contrasts["first_accuracy"] / contrasts["second_accuracy"])


NAN = math.nan
BETTER = {"gain": 0.119, "gain_low": 0.008, "gain_high": 0.22}
"""A gain that is above 0 with its whole interval, on the data that chose the head."""
HELD_OUT = {"heldout_gain": 0.1, "heldout_gain_low": 0.001, "heldout_gain_high": 0.2}
JUST_NOT = {**HELD_OUT, "heldout_gain_low": -0.001}
WITHOUT = dict.fromkeys(HELD_OUT, NAN)
WORSE = {"heldout_gain": -0.1, "heldout_gain_low": -0.2, "heldout_gain_high": -0.001}


@pytest.mark.parametrize(
    ("changes", "side"),
    [
        (HELD_OUT, 1),
        (JUST_NOT, 0),
        (WITHOUT, 0),
        (WORSE, 0),  # better on the data that chose it, worse on other data
        ({**HELD_OUT, "gain_low": -0.001}, 0),
        ({**WORSE, "gain": -0.1, "gain_low": -0.2, "gain_high": -0.01}, -1),
        ({**WORSE, "heldout_gain_high": 0.001, "gain": -0.1, "gain_low": -0.2, "gain_high": -0.01}, 0),
        ({"gain_low": NAN, "gain_high": NAN, **WITHOUT, "heldout_gain": 0.01}, 0),  # no bootstrap
        ({"gain_low": NAN, "gain_high": NAN, **HELD_OUT}, 0),
    ],
)
def test_a_claim_needs_both_gains_on_its_side(changes, side):
    assert side_of_baseline({**BETTER, **changes}) == side


def test_heads_find_more_together_only_with_the_whole_interval():
    assert finds_more({"gain": 0.1, "gain_low": 0.001})
    assert not finds_more({"gain": 0.1, "gain_low": 0.0})
    assert not finds_more({"gain": 0.1, "gain_low": NAN})


def test_a_p_value_of_five_percent_is_not_significant():
    assert is_significant(0.0499)
    assert not is_significant(0.05)
    assert not is_significant(NAN)


def test_a_table_without_a_gain_on_the_same_data_goes_by_the_held_out_gain_alone():
    assert [side_of_baseline(row) for row in (HELD_OUT, JUST_NOT, WORSE)] == [1, 0, -1]


def test_deviations_that_cancel_out_are_no_gain():
    noise = np.array([1e-17, -1e-17, np.nan])
    assert gain_columns(0.0, noise) == {"heldout_gain": 0.0, "heldout_gain_low": 0.0, "heldout_gain_high": 0.0}


def said(contribution: Contribution) -> str:
    """All findings, phrases and facts of the page, but not what the heads are called."""
    phrases = [phrase for each in contribution.phrases.values() for phrase in each]
    return "\n".join([*(finding.text for finding in contribution.findings), *phrases])


@pytest.fixture(scope="module")
def words():
    texts, maps = random_corpus(22, sentences=100)
    for text, of_text in zip(texts, maps, strict=True):  # head 2-3 finds every word's head, head 2-1 two of three
        for word, head in enumerate(text.heads, start=1):
            of_text[1, 2, word, head or 0] += 100
            of_text[1, 0, word, head or 0] += 100 * (word % 3 > 0)
    metric = DependencyAccuracy(RELATIONS, 2, 3, replicates=20)
    metric.update(batch_of(texts, maps))
    return metric, metric.compute()


def of_words(words, det, obj):
    """What is said of two relations, of which the second has the larger gain on the data that chose its head."""
    metric, tables = words
    best = tables.best[tables.best["relation"].isin(["det", "obj"])].set_index("relation")
    for relation, columns in (("det", {**BETTER, **det}), ("obj", {**BETTER, "gain": 0.2, **obj})):
        best.loc[relation, list(columns)] = list(columns.values())
    results = made_results(tables.cells, best.reset_index(), min_count=1)
    return explored_dependency(results, metric, "weight")


def test_heads_beat_position_only_if_they_do_held_out(words):
    both = of_words(words, {**HELD_OUT, "heldout_gain": 0.15}, HELD_OUT)
    text = both.findings[0].text
    assert numbers(text)[:3] == ["2", "2", "1"]
    assert text.index("det: ") < text.index("obj: ")  # the largest held-out gain comes first
    assert "+15.0 points [0.1, 20.0]" in text
    assert {fact.label.split(",")[0] for each in both.facts.values() for fact in each} == {"det", "obj"}
    for relation in (JUST_NOT, WITHOUT, WORSE):
        one = of_words(words, HELD_OUT, relation)
        (found,) = one.findings
        assert "relation=det" in found.address
        assert numbers(found.text)[:3] == ["1", "2", "1"]
        assert found.more == (
            "For 1 of 2 relations with at least 1 word, no head is clearly better than the best fixed offset: obj."
        )
        assert re.findall(r"\b(?:det|obj)\b", str(one.phrases)) == ["det"]
        assert {fact.label.split(",")[0] for each in one.facts.values() for fact in each} == {"det"}


def test_cards_and_summaries_of_heads_name_the_relations_with_the_largest_gains(words):
    metric, tables = words
    best = tables.best[tables.best["relation"] != "root"].assign(**HELD_OUT, offset_accuracy=0.01)  # most heads gain
    best["gain_low"], best["heldout_gain"] = 0.01, np.linspace(0.1, 0.2, len(best))
    best.loc[best["relation"] == "nsubj", "direction"] = "head->dep"  # a head may be the best in one direction alone
    single = [row for row in best.to_dict("records") if row["relation"] in RELATIONS]
    least = sorted(row["total"] for row in single)[1]
    rows = {row["relation"]: row for row in single if row["total"] >= least}
    contribution = explored_dependency(made_results(tables.cells, best, min_count=least), metric, "weight")
    pairs = {measure.id: measure for measure in contribution.measures}
    facts: dict[str, list[tuple[float, str, str]]] = {}
    for cell in tables.cells.to_dict("records"):
        row = rows.get(cell["relation"])
        accuracy, gain = (
            pairs.get(f"dependency/{cell['relation']}/{cell['direction']}/{name}/weight")
            for name in ("accuracy", "gain")
        )
        index = 3 * cell["layer"] + cell["head"] - 4
        if row is None or accuracy is None or gain is None or not (gain.low or ())[index] > 0:
            continue
        low, high = np.array([accuracy.low, accuracy.high], dtype=float)[:, index]
        value = cell["accuracy"] - row["offset_accuracy"]
        text = f"{percent(cell['accuracy'])} %{in_brackets(low, high)} of {row['total']:,} words, "
        text += f"{percent(value, '+')} points over a fixed offset"
        if all(cell[name] == row[name] for name in ("layer", "head", "direction")):
            text += "; it is the best head; held out, the best heads gain "
            text += f"{percent(row['heldout_gain'], '+')} points [0.1, 20.0]"
        facts.setdefault(f"{cell['layer']}-{cell['head']}", []).append((-value, text, accuracy.id))
    said = {head: [(fact.text, fact.measure) for fact in each] for head, each in contribution.facts.items()}
    assert said == {
        head: [tuple(fact) for _, *fact in sorted(each, key=lambda fact: fact[0])[:3]] for head, each in facts.items()
    }
    assert {head: len(each) for head, each in facts.items()}.items() >= {("2-3", len(rows)), ("2-1", len(rows))}
    first, second, *_ = sorted(rows.values(), key=lambda row: -row["heldout_gain"])
    phrases = contribution.phrases["2-3"]
    assert all(f"{row['relation']} (dependent → head), with" in phrases[i] for i, row in enumerate((first, second)))
    gains = [percent(first[name]) for name in ("gain", "gain_low", "gain_high")]
    assert numbers(phrases[0])[:5] == ["100.0", f"{first['total']:,}", *gains]


def test_the_explorer_averages_ensembles_of_several_heads(words):
    metric, tables = words
    table = pd.DataFrame({"relation": ["det", "obj"], "heads": ["2-3", "2-3 + 1-1←"], "gain_low": 0.0})
    table["method"] = "raw"
    results = made_results(tables.cells, tables.best, ensembles=table, min_count=1)
    (found,) = explored_dependency(results, metric, "weight").ensembles
    assert (found.relation, found.kind, found.divided) == ("obj", "weight", False)
    assert [(each.head, each.direction) for each in found.heads] == [("2-3", "dep->head"), ("1-1", "head->dep")]


@pytest.fixture(scope="module")
def mentions():
    metric = counted_mentions(60)
    return metric, metric.compute()


def of_mentions(mentions, changes, min_count=1):
    metric, tables = mentions
    best = tables.best[tables.best["type"] == "all"].assign(**{**BETTER, **changes})
    return explored_coreference(made_of_mentions(tables._replace(best=best), min_count=min_count), metric, "weight")


def test_heads_beat_the_rules_only_if_they_do_held_out(mentions):
    claim, best = of_mentions(mentions, HELD_OUT), mentions[1].best.query("type == 'all'").iloc[0]
    head, held_out = f"{best['layer']}-{best['head']}", percent(best["heldout_accuracy"])
    assert claim.findings[0].text.startswith(f"{held_out} % of {best['total']} mentions have an antecedent that the")
    assert f"(head {head}) finds held out, more than the rules" in claim.findings[0].text
    strongest = max(best[f"{name}_accuracy"] for name in ("rule_based", "head_match", "nearest"))
    assert f"); {percent(strongest)} % by the " in claim.findings[0].text
    assert claim.findings[0].more.startswith(f"On the documents that chose it, head {head} finds ")
    assert "+10.0 points [0.1, 20.0]" in claim.findings[0].text
    assert re.findall(r"\+\d.*?\]", str(claim.phrases)) == ["+11.9 points [0.8, 22.0]", "+10.0 points [0.1, 20.0]"]
    assert "not clearly" not in said(claim)
    assert "held out" in of_mentions(mentions, HELD_OUT, int(best["total"])).findings[0].text  # just enough mentions
    for changes in (JUST_NOT, WORSE):
        none = of_mentions(mentions, changes)
        assert "neither clearly more nor clearly less than the rules" in none.findings[0].text
        assert "but not clearly better than the rules" in said(none)
    worse = {**WORSE, "gain": -0.1, "gain_low": -0.2, "gain_high": -0.01}
    assert "but clearly worse than the rules" in said(of_mentions(mentions, worse))
    assert "but not clearly better than the rules" in said(of_mentions(mentions, worse, 10**6))
    for changes, min_count in ((WITHOUT, 1), (HELD_OUT, 10**6)):  # no held-out value, or too few mentions
        silent = of_mentions(mentions, changes, min_count)
        assert "more than" not in silent.findings[0].text
        assert "held out" not in silent.findings[0].text
        assert "not clearly" in said(silent)


def of_baseline(changes, units=FEWEST_UNITS):
    series = {"setting": "AWI", "measure": "norm", "heads": "single", "direction": "forward"}
    head = {**series, "layer": 1, "error_rate": 0.2, "low": 0.1, "high": 0.3, "on_special": 0.0}
    cells = pd.DataFrame([{**head, "head": 1}, {**head, "head": 2, "error_rate": 0.4, "low": 0.3, "high": 0.5}])
    best = pd.DataFrame([{**head, "head": 1, "heldout_error_rate": 0.25, **changes}])
    baselines = pd.DataFrame([{"name": "diagonal", "error_rate": 0.35, "low": 0.32, "high": 0.38}])
    chosen = LayerChoice(Series("AWI", "norm"), 0, by_gold=True)
    return said(explored_alignment(made_alignment(cells, chosen, units=units, best=best, baselines=baselines)))


def test_heads_beat_the_best_baseline_only_if_they_do_held_out():
    assert "the best heads are better than the best baseline (+10.0 points [0.1, 20.0])" in of_baseline(HELD_OUT)
    assert "neither clearly better nor clearly worse than the best baseline" in of_baseline(JUST_NOT)
    assert "the best heads are worse than the best baseline (-10.0 points" in of_baseline(WORSE)
    assert "than the best baseline" not in of_baseline(WITHOUT)
    beside = "by norm (AWI), beside 35.0 % [32.0, 38.0] of diagonal, the best baseline"
    assert f"that of head 1-1 {beside}; held out, the best ones have 25.0 %." in of_baseline(HELD_OUT)
    for units in (FEWEST_UNITS - 0.01, NAN):
        silent = of_baseline(HELD_OUT, units)
        assert "diagonal. Heads are not compared with it: a claim needs bootstrap replicates and" in silent
        assert "have an interval below" not in silent


@pytest.mark.parametrize("replicates", [0, 200])
def test_nothing_is_claimed_of_few_sentences_or_without_replicates(replicates):
    """In nine sentences, one head finds all heads of words."""
    texts, maps = random_corpus(22, sentences=9 if replicates else 40)
    for text, of_text in zip(texts, maps, strict=True):
        for word, head in enumerate(text.heads, start=1):
            of_text[1, 2, word, head or 0] += 100
    metric = DependencyAccuracy(RELATIONS, 2, 3, replicates=replicates)
    metric.update(batch_of(texts, maps))
    tables = metric.compute()
    assert (tables.best["accuracy"] == 1).any()
    contribution = explored_dependency(made_results(tables.cells, tables.best, min_count=1), metric, "weight")
    assert [(finding.text, finding.address) for finding in contribution.findings] == [
        (
            "0 of 5 relations with at least 1 word allow a claim: a claim needs bootstrap replicates and an effective "
            "number of 20 sentences or more.",
            "",
        )
    ]
    assert not contribution.phrases
    assert not contribution.facts


def test_few_documents_are_not_compared_with_the_rules():
    metric = counted_mentions()  # eight documents
    best = metric.compute().best.assign(**BETTER, **HELD_OUT)
    results = made_of_mentions(metric.compute()._replace(best=best), min_count=1)
    contribution = explored_coreference(results, metric, "weight")
    assert contribution.findings[0].text.endswith(
        "They are not compared: a claim needs bootstrap replicates and an effective number of 20 documents or more."
    )
    assert "better than the rules do" not in said(contribution)


def test_findings_of_all_stored_runs_begin_with_their_number():
    """As the terminal shows them, which cuts none."""
    texts = sorted((Path(__file__).parents[1] / "approved" / "texts").glob("*/terminal.txt"))
    found = [line for path in texts for line in path.read_text(encoding="utf-8").splitlines() if line[:1] == "•"]
    assert len(found) > 30
    assert [line for line in found if not re.match(r"• [+-]?\d", line)] == []

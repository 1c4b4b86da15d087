"""Every finding has a case in which it holds and one in which it just does not; it names the right head and numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.alignment.explored import explored_alignment
from attentionology.analyses.alignment.results import AlignmentResults, LayerChoice
from attentionology.analyses.alignment.series import Series
from attentionology.analyses.alignment.tables import AlignmentTables
from attentionology.analyses.clusters.report import explored_clusters
from attentionology.analyses.norms.report import explored_norms
from attentionology.analyses.surface.report import explored_surface
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
    layers = surface.tables.layers.assign(sink="first_special", sink_share=[0.2, 0.6, 0.4])
    tables = surface.tables._replace(heads=heads, layers=layers)
    return [finding.text for finding in explored_surface(replace(surface, tables=tables), "weight").findings]


def test_the_sink_and_the_head_with_most_of_it(found):
    (sink,) = of_surface(found, first_special=[0.3, 0.9, 0.8], last_special=[0.95])
    assert "In layers 1–3, <cls> gets the most attention of all special tokens: from 20.0 to 60.0 %" in sink
    assert "and 90.0 % in head 1-2." in sink


def test_the_sink_is_the_column_and_not_what_its_token_is_called(found):
    """A model may write both of its special tokens alike."""
    surface, _ = found
    heads = surface.tables.heads.assign(first_special=0.7, last_special=0.2)
    alike = replace(
        surface, tables=surface.tables._replace(heads=heads), specials=dict.fromkeys(surface.specials, "</s>")
    )
    sink = explored_surface(alike, "weight").findings[0]
    assert "</s> gets the most attention" in sink.text
    assert "and 70.0 % in head" in sink.text
    assert "measure=surface/first_special/weight" in sink.address


def test_heads_of_neighbors_are_counted_by_their_labels(found):
    _, neighbors = of_surface(found, label=["previous", "next", "previous"], previous=[0.7, 0.1, 0.9], next=[0.1, 0.95])
    assert neighbors == (
        "Of 12 heads, 2 attend mostly to the previous token and 1 to the next one; head 1-3 directs 90.0 % of its "
        "attention to the previous token."
    )
    _, one = of_surface(found, label=["next"], previous=[0.99], next=[0.6])
    assert "Of 12 heads, 0 attend mostly to the previous token and 1 to the next one; head 1-1 directs 60.0 %" in one
    assert len(of_surface(found, previous=[0.99])) == 1  # no head has such a label


def of_clusters(found, p):
    _, clusters = found
    neighbors = clusters.geography.neighbors.assign(p=p, found=0.5, shuffled=0.25)
    changed = replace(clusters, geography=clusters.geography._replace(neighbors=neighbors))
    return [finding.text for finding in explored_clusters(changed, "weight").findings]


def test_heads_of_a_layer_are_alike_only_below_five_percent(found):
    (alike,) = of_clusters(found, 0.0499)
    assert "is in the same layer for 50.0 % of the heads, more often than if heads were assigned" in alike
    assert "at random (25.0 %, p = 0.0499)." in alike
    (not_clearly,) = of_clusters(found, 0.05)
    assert "not clearly more often than if heads were assigned" in not_clearly


def of_norms(norms, weight, norm_share):  # noqa: F811  # the fixture
    shares = norms.shares.assign(weight=0.2, norm_share=0.2)
    shares.loc[shares["class"] == "[SEP]", ["weight", "norm_share"]] = [weight, norm_share]
    shares.loc[shares["class"] == "[CLS]", ["weight", "norm_share"]] = [0.3, 0.25]
    return [finding.text for finding in explored_norms(replace(norms, shares=shares)).findings]


def test_the_class_whose_weight_and_norm_differ_most(norms):  # noqa: F811  # the fixture
    assert of_norms(norms, 0.5, 0.1) == [
        "Attention to [SEP] moves less than its weights suggest: it has 50.0 % of the weights and 10.0 % of what is "
        "moved by norm, on average over all heads."
    ]
    (more,) = of_norms(norms, 0.1, 0.5)
    assert "Attention to [SEP] moves more than its weights suggest: it has 10.0 % of the weights" in more
    (other,) = of_norms(norms, 0.24, 0.2)  # less than the difference of another class
    assert other.startswith("Attention to [CLS] moves less")


HEADS = [
    {"setting": setting, "measure": measure, "heads": heads, "direction": "forward", "layer": layer, "head": head}
    for setting in ("AWI", "AWO")
    for measure in ("weight", "norm")
    for heads, layer, head in (("all", 1, 0), ("all", 2, 0), ("single", 1, 1), ("single", 2, 1))
]


def of_pairs(contrasts, special=0.4):
    cells = pd.DataFrame(HEADS).assign(error_rate=0.5, low=0.45, high=0.55, on_special=0.1)
    is_best = (cells["setting"] == "AWI") & (cells["measure"] == "norm") & (cells["layer"] == 2)
    cells.loc[is_best & (cells["heads"] == "single"), ["error_rate", "low", "high"]] = [0.2, 0.15, 0.3]
    cells.loc[is_best & (cells["heads"] == "all"), ["error_rate", "low", "high"]] = [0.25, 0.2, 0.3]
    by_weight = (cells["setting"] == "AWO") & (cells["measure"] == "weight") & (cells["layer"] == 2)
    cells.loc[by_weight & (cells["heads"] == "all"), "on_special"] = special
    undefined = dict.fromkeys(("heldout_error_rate", "heldout_gain", "heldout_gain_low", "heldout_gain_high"), np.nan)
    baselines = pd.DataFrame([{"name": "diagonal", "error_rate": 0.3, "low": 0.28, "high": 0.32}])
    table = pd.DataFrame(contrasts, columns=["contrast", "of", "layer", "difference", "low", "high"])
    tables = AlignmentTables(cells, cells.assign(**undefined), table, pd.DataFrame(), baselines)
    chosen = LayerChoice(Series("AWI", "norm"), 0, by_gold=True)
    results = AlignmentResults("cross-attention", tables, (), chosen)
    return "\n".join(finding.text for finding in explored_alignment(results).findings)


def test_the_lowest_error_rates_and_how_many_heads_are_below_the_baseline():
    said = of_pairs([])
    assert "Head 2-1 has the lowest alignment error rate of all heads, 20.0 % [15.0, 30.0] by norm (AWI)." in said
    assert "those of layer 2 have the lowest: 25.0 % [20.0, 30.0] by norm (AWI)." in said
    assert "the interval is below this rate for 0 of 2 heads" in said  # its upper end is at the rate, not below it


def test_norms_are_better_only_where_the_interval_lies_below_0():
    rows = [["norm − weight", "AWI", 1, -0.2, -0.3, -0.001], ["norm − weight", "AWI", 2, -0.1, -0.3, 0.0]]
    said = of_pairs([*rows, ["norm − weight", "AWO", 1, 0.1, 0.001, 0.2], ["AWI − AWO", "norm", 1, 0.2, 0.1, 0.3]])
    assert "Norms align words better than weights in 1 of 3 comparisons, and worse in 1; the others have an" in said
    assert "The differences of error rates lie between -20.0 points and +10.0 points." in said
    assert "those of positions that predict it (AWO) in 0 of 1 comparisons, and worse in 1. The" in said
    assert "comparisons" not in of_pairs([])


def test_words_that_rest_on_special_tokens():
    assert (
        "In layer 2 (AWO), 40.0 % of the target words rest on special tokens by weight, and 10.0 % by norm."
        in of_pairs([])
    )
    assert "In layer 1 (AWI), 10.0 % of the target words rest on special tokens" in of_pairs([], special=0.05)


def test_the_shares_of_the_surface_say_how_many_inputs_they_are_means_of(found):
    surface, _ = found
    counts = surface.tables.counts.set_index("statistic")["inputs"]
    counted = {measure.id: measure.n for measure in explored_surface(surface, "weight").measures if measure.kind}
    assert counted["surface/next/weight"] == counts["next"] > 0
    assert counted == {name: counts[name.split("/")[1]] for name in counted}

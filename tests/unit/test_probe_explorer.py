"""The explorer of a probing run: weights, contributions and accuracies of heads, and their ranks."""

from __future__ import annotations

from urllib.parse import unquote

import numpy as np

from attentionology.analyses.probing.report import explored_probes
from tests.probing_results import Case, results


def test_measures_and_ranks_are_those_of_the_weights():
    probed = results(Case())
    explorer = explored_probes(probed)
    assert explorer is not None
    measures = {measure.id: measure for measure in explorer.measures}
    assert len(measures) == len(explorer.measures) == 2 * 3 * 2
    for name, weights in probed.weights.items():
        heads = {str(direction): rows for direction, rows in weights.heads.groupby("direction")}
        for column in ("weight", "contribution", "accuracy"):
            for direction in ("dep->head", "head->dep"):
                values = measures[f"probing/{column}/{direction}/{name}"].values
                assert list(values) == heads[direction].sort_values(["layer", "head"])[column].tolist()
        largest = np.stack([rows.sort_values(["layer", "head"])["weight"] for rows in heads.values()]).max(0)
        for index, (head, facts) in enumerate(explorer.facts.items()):
            [fact] = [fact for fact in facts if fact.label == f"rank in the probe {name}"]
            assert fact.text.startswith(f"{1 + (largest > largest[index]).sum()} of 6; weight {largest[index]:.3f}, ")
            assert fact.measure is not None
            assert measures[fact.measure].values[index] == largest[index]
            assert head == f"{index // 3 + 1}-{index % 3 + 1}"


def test_findings_lead_to_the_head_with_the_largest_weight():
    probed = results(Case(probes=("attention",)))
    explorer = explored_probes(probed)
    assert explorer is not None
    ids = {measure.id for measure in explorer.measures}
    states = [dict(part.split("=", 1) for part in each.address[1:].split("&")) for each in explorer.findings]
    assert all(unquote(state["measure"]) in ids for state in states)
    best = max(probed.weights["attention"].heads.to_dict("records"), key=lambda row: row["weight"])
    assert "head" not in states[0]  # the scores come first
    assert states[1]["head"] == f"{best['layer']}-{best['head']}"
    correlations = probed.weights["attention"].correlations.set_index("of")
    spearman = correlations["spearman"]["weight"]
    assert f"{spearman:.2f}" in explorer.findings[2].text


def test_without_weights_there_is_nothing_to_explore():
    assert explored_probes(results(Case(probes=("words+distances",)))) is None

"""Models that differ only by their seeds: which they are, the multi-bootstrap, matched heads, and groups of seeds."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import transformers
from scipy.optimize import linear_sum_assignment

import attentionology
from attentionology import CorpusOptions, CountOptions
from attentionology.analyses.contract import OptionError
from attentionology.analyses.counting.comparable import Comparable, Measured
from attentionology.analyses.counting.multi_bootstrap import mean_over_seeds, multi_bootstrap, seed_draws
from attentionology.analyses.survey.collecting import KeptCell
from attentionology.analyses.survey.results import SCHEMAS, Survey, survey_section
from attentionology.analyses.survey.seed_contrasts import SeedContrastCollector, group_contrast
from attentionology.analyses.survey.seed_groups import seed_groups, seed_patterns
from attentionology.analyses.survey.seed_matches import MatchCollector, Profiles, match_rows
from attentionology.analyses.survey.seeds import SeedCollector, SeedCounts
from tests import tiny
from tests.shown_tables import assert_declared

REPLICATES = 400


@pytest.mark.parametrize(
    ("models", "patterns", "expected"),
    [
        (["hub/m-seed_0", "hub/m-seed_12", "hub/other"], {}, {"hub/m-seed_*": ["0", "12"]}),
        (["m-seed_0", "m-seed_0-step_20k", "m-seed_1-step_20k"], {}, {"m-seed_*-step_20k": ["0", "1"]}),
        (["m-seed1@step10", "m-seed2@step10", "m-seed2@step20"], {}, {"m-seed*@step10": ["1", "2"]}),
        (["seeds/run_seed=3", "seeds/run_seed=4"], {}, {"seeds/run_seed=*": ["3", "4"]}),
        (["m-1", "m-2"], {}, {}),
        (["m-seed_0", "m-seed_a"], {}, {}),
        (["a/m-1", "b/m-2x", "m-3-4"], {"m": "m-*"}, {"m": ["1", "2x"]}),
        (["m-seed_0", "m-seed_1", "n-1", "n-2"], {"n": "n-*"}, {"n": ["1", "2"]}),
        (["m.x-1", "mox-1", "m.x-2"], {"m": "m.x-*"}, {"m": ["1", "2"]}),
    ],
)
def test_seeds_are_known_by_their_names(models, patterns, expected):
    found = seed_groups(models, patterns)
    assert {name: [*by_seed] for name, by_seed in found.items()} == expected
    assert all(model in models for by_seed in found.values() for model in by_seed.values())


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["m-*"], "NAME=PATTERN|pattern that has one"),
        (["m=m-1"], "one \\*"),
        (["m=m-*-*"], "one \\*"),
        (["m=m-*", "m=n-*"], "different names"),
        (["m=x-*"], "m=x-\\*: fewer than two of the models .* m-1, m-2, x/m-2"),
        (["m=m-*", "n=*"], "fewer than two"),
        (["m=m-*"], "m=m-\\*: m-2 and x/m-2 have the same seed, 2"),
    ],
)
def test_patterns_that_name_no_seeds_are_refused(texts, said):
    with pytest.raises(OptionError, match=said):
        seed_patterns(texts, ["m-1", "m-2", "x/m-2"])


def test_a_model_is_a_seed_of_one_group():
    with pytest.raises(OptionError, match="m-1 is one of a and one of b"):
        seed_patterns(["a=m-*", "b=*-1"], ["m-1", "m-2", "n-1"])


def test_the_multi_bootstrap_is_that_of_a_loop():
    rng = np.random.default_rng(0)
    values, deviations = rng.random(4), rng.normal(size=(4, 3))
    draws = np.array([[4, 0, 0, 0], [1, 1, 1, 1], [0, 2, 1, 1]]) / 4
    expected = []
    for replicate, seeds in enumerate(([0, 0, 0, 0], [0, 1, 2, 3], [1, 1, 2, 3])):
        drawn = [values[seed] + deviations[seed, replicate] for seed in seeds]
        expected.append(math.sqrt(4 / 3) * (sum(drawn) / 4 - sum(values) / 4))
    np.testing.assert_allclose(multi_bootstrap(values, deviations, draws), expected)


def test_seeds_are_drawn_with_replacement_and_by_name():
    draws = 5 * seed_draws(5, 2000, 0, "a")
    np.testing.assert_array_equal(draws.sum(1), 5)
    np.testing.assert_array_equal(draws, 5 * seed_draws(5, 2000, 0, "a"))
    assert abs(draws.mean(0) - 1).max() < 0.1
    assert abs(draws.var(0) - 0.8).max() < 0.12  # n · 1/n · (1 − 1/n)
    for other in (seed_draws(5, 2000, 0, "b"), seed_draws(5, 2000, 1, "a")):
        assert abs(np.corrcoef(draws[:, 0], other[:, 0])[0, 1]) < 0.1


def simulated(rng: np.random.Generator, effects: Any, sentences: Any, weights: Any) -> list[Measured]:
    """Seeds with these effects, read on sentences of this difficulty, which replicates draw so often."""
    cells = 0.5 + effects[:, None] + sentences + rng.normal(scale=0.2, size=(len(effects), len(sentences)))
    values = cells.mean(1)
    deviations = cells @ weights.T / weights.sum(1) - values[:, None]
    return [Measured("det", value, len(sentences), of_seed) for value, of_seed in zip(values, deviations, strict=True)]


@pytest.mark.parametrize("n_seeds", [5, 20])
@pytest.mark.parametrize("design", ["mean", "unpaired", "paired"])
def test_intervals_contain_the_truth_as_often_as_they_say(n_seeds, design):
    """With 200 sentences, which have effects of their own, and seeds that vary as much as those of a real model."""
    rng = np.random.default_rng(7 * n_seeds)
    hits, simulations = 0, 400
    for number in range(simulations):
        weights = rng.poisson(1.0, size=(200, 200)).astype(float)
        sentences, effects = rng.normal(scale=0.5, size=200), rng.normal(scale=0.06, size=n_seeds)
        mean = mean_over_seeds("det", simulated(rng, effects, sentences, weights), number, "a")
        value, deviations, truth = mean.value, mean.deviations, 0.5
        if design != "mean":
            own = rng.normal(scale=0.06, size=n_seeds)
            others = simulated(rng, effects + own if design == "paired" else own, sentences, weights)
            other = mean_over_seeds("det", others, number, "a" if design == "paired" else "b")
            value, deviations, truth = value - other.value, deviations - other.deviations, 0.0
        hits += abs(value - truth) <= 1.96 * deviations.std(ddof=1)
    # 400 simulations have a standard error of .011. Intervals may be wider, as what a seed does on a sentence is in
    # both draws, but not narrower.
    assert 0.92 <= hits / simulations <= 0.98


def family(values: Mapping[str, float], shift: float = 0.0, choice: str = "3-9 dep->head") -> Comparable:
    """The statistics of one model by relation, whose replicates differ."""
    rng = np.random.default_rng(1)
    measured = tuple(
        Measured(name, value + shift, 90, rng.normal(scale=0.03, size=REPLICATES), choice, 80.0)
        for name, value in values.items()
    )
    return Comparable("relations", measured, "words whose head is found", "words", 3)


def seeds_of(*shifts: float, first: int = 0) -> dict[str, Comparable]:
    values = {"det": 0.5, "obj": 0.3}
    return {str(seed): family(values, shift) for seed, shift in enumerate(shifts, first)}


def test_groups_of_identical_models_do_not_differ():
    seeds = seeds_of(0.0, 0.05, 0.1, -0.1, 0.02)
    found = group_contrast("t", "weight", ("a", seeds), ("b", seeds), 20)
    for row in found.contrast.differences:
        assert (row.difference, row.low, row.high, row.p) == (0.0, 0.0, 0.0, 1.0)
    assert (found.contrast.pairing, found.seeds) == ("paired", (5, 5))
    assert found.by_seed["det"] == "; ".join(f"{seed}: +0.0" for seed in range(5))


def test_paired_seeds_leave_out_how_much_seeds_vary():
    """Every seed gains .08: paired, the difference has no variation of seeds; unpaired, it has all of it."""
    shifts = (0.0, 0.2, 0.1, -0.1, -0.2)
    other = {seed: family({"det": 0.42, "obj": 0.22}, shift) for seed, shift in zip("01234", shifts, strict=True)}
    paired = group_contrast("t", "weight", ("a", seeds_of(*shifts)), ("b", other), 20)
    renamed = {f"x{seed}": of_seed for seed, of_seed in other.items()}
    unpaired = group_contrast("t", "weight", ("a", seeds_of(*shifts)), ("b", renamed), 20)
    assert (paired.contrast.pairing, unpaired.contrast.pairing) == ("paired", "unpaired")
    assert unpaired.by_seed == {}
    for narrow, wide in zip(paired.contrast.differences, unpaired.contrast.differences, strict=True):
        assert narrow.difference == wide.difference == pytest.approx(0.08)
        assert wide.high - wide.low > 0.2  # ± 1.96 · √(2 · .025 / 5)
        assert not narrow.high - narrow.low > 0.01  # or no interval, as the replicates agree


def test_p_values_are_at_least_one_in_the_number_of_replicates():
    lower = {seed: family({"det": 0.1, "obj": 0.29}, 0.001 * int(seed) ** 2) for seed in "01234"}
    found = group_contrast("t", "weight", ("a", seeds_of(0, 0.01, 0, 0.02, 0)), ("b", lower), 20)
    det, obj = found.contrast.differences
    assert det.p == 1 / REPLICATES
    assert det.p_holm == pytest.approx(2 / REPLICATES)
    assert 1 / REPLICATES < obj.p == obj.p_holm


def test_only_seeds_that_both_groups_have_are_compared():
    first, other = seeds_of(0, 0.1, 0.2, 0.3, 0.4, 0.5), seeds_of(9, 0.1, 0.2, 0.3, 0.4, 0.5, first=0)
    del first["0"]
    found = group_contrast("t", "weight", ("a", first), ("b", other), 20)
    assert found.seeds == (5, 5)
    assert [row.difference for row in found.contrast.differences] == [0.0, 0.0]
    assert found.by_seed["obj"].startswith("1: +0.0; 2: ")


def test_few_seeds_have_their_values_in_place_of_an_interval():
    found = group_contrast("t", "weight", ("a", seeds_of(0, 0.1, 0.2)), ("b", seeds_of(0.1, 0.1, 0.1)), 20)
    for row in found.contrast.differences:
        assert row.reason == "no interval: fewer than 5 seeds"
        assert row.difference == pytest.approx(0.0)
        assert math.isnan(row.low)
        assert not row.tested
    assert found.by_seed["det"] == "0: -10.0; 1: +0.0; 2: +10.0"
    assert not len(mean_over_seeds("det", [one.measured[0] for one in seeds_of(0, 1, 2, 3).values()], 0, "").deviations)


def counts(*above: int) -> list[SeedCounts]:
    return [SeedCounts({"det": number, "obj": 0}, 144) for number in above]


def cells_of(families: Mapping[str, Comparable], kept: list[Any]) -> list[KeptCell]:
    return [
        KeptCell(f"m-seed_{seed}", {"weight": of_seed}, {"weight": one}) if isinstance(of_seed, tuple) else
        KeptCell(f"m-seed_{seed}", {"weight": (of_seed,)}, {"weight": one})
        for (seed, of_seed), one in zip(families.items(), kept, strict=True)
    ]  # fmt: skip


def models_of(families: Mapping[str, Any]) -> list[str]:
    return [f"m-seed_{seed}" for seed in families]


def test_accuracies_are_those_of_the_best_head_of_each_seed():
    shifts = (0.0, 0.1, 0.1, 0.2, 0.1)
    families = seeds_of(*shifts)
    families["3"] = family({"det": 0.5, "obj": 0.3}, 0.2, "1-4 head->dep")
    collector = SeedCollector(seed_groups(models_of(families), {}))
    collector.add("t", cells_of(families, counts(3, 5, 3, 3, 4)), lambda first, other: "paired")
    det, obj = collector.collect().rows
    values = 0.5 + np.array(shifts)
    assert (det["group"], det["treebank"], det["map"], det["seeds"], det["n"]) == ("m-seed_*", "t", "weight", 5, 90)
    assert det["mean"] == pytest.approx(values.mean())
    assert det["sd_seeds"] == pytest.approx(math.sqrt(((values - values.mean()) ** 2).sum() / 4))
    errors = [one.measured[0].deviations.std(ddof=1) for one in families.values()]
    assert det["se_sentences"] == pytest.approx(math.sqrt(np.mean(np.square(errors))))
    assert det["values"] == "0: 50.0; 1: 60.0; 2: 60.0; 3: 70.0; 4: 60.0"
    assert det["layers"] == "1, 3 (×4)"
    assert (det["above_offset"], det["above_offset_min"], det["above_offset_max"]) == (3.6, 3, 5)
    assert det["heads"] == 144
    assert det["low"] < det["mean"] - 0.03
    assert obj["mean"] == pytest.approx(0.4)


def test_sd_of_copies_is_0():
    families = seeds_of(0.0, 0.0, 0.0)
    collector = SeedCollector(seed_groups(models_of(families), {}))
    collector.add("t", cells_of(families, counts(1, 1, 1)), lambda first, other: "paired")
    assert [row["sd_seeds"] for row in collector.collect().rows] == [0.0, 0.0]
    assert all(math.isnan(row["low"]) for row in collector.collect().rows)


def test_seeds_that_failed_are_left_out():
    families = seeds_of(0.0, 0.1, 0.2)
    collector = SeedCollector(seed_groups(models_of(families), {}))
    collector.add("t", cells_of(families, counts(1, 1, 1))[1:], lambda first, other: "paired")
    collector.add("u", cells_of(families, counts(1, 1, 1))[2:], lambda first, other: "paired")
    assert {(row["treebank"], row["seeds"], row["values"][:2]) for row in collector.collect().rows} == {("t", 2, "1:")}


def accuracies(rng: np.random.Generator, layers: int = 3, heads: int = 4) -> dict[str, Any]:
    return {name: rng.beta(0.5, 2, size=(2, layers, heads)) for name in ("det", "obj", "nsubj", "case", "amod")}


def test_heads_that_were_permuted_within_layers_are_found_again():
    rng = np.random.default_rng(0)
    first = accuracies(rng)
    order = np.stack([rng.permutation(4) for _ in range(3)])
    other = {name: np.stack([rates[:, k, order[k]] for k in range(3)], 1) for name, rates in first.items()}
    rows = [*match_rows({"0": Profiles(first, 0), "1": Profiles(other, 0)})]
    assert len(rows) == 12
    for row in rows:
        assert row["layer"] == row["other_layer"]
        assert order[row["layer"] - 1, row["other_head"] - 1] == row["head"] - 1
        assert row["similarity"] == pytest.approx(1)
        assert (row["above"], row["relations"]) == (1, 5)


def test_matches_have_the_largest_sum_and_a_threshold_of_shuffled_profiles():
    rng = np.random.default_rng(1)
    first, more = accuracies(rng), accuracies(rng, heads=5)
    # Heads of the other model do the same in another order, so that profiles that are not shuffled are more similar.
    other = {name: np.concatenate([first[name][..., ::-1], more[name][..., 4:]], -1) for name in first}
    rows = [*match_rows({"0": Profiles(first, 5), "x": Profiles(other, 5)})]

    def profile(rates: dict[str, Any], layer: int, head: int) -> Any:
        return np.array([rates[name][direction, layer, head] for name in rates for direction in (0, 1)])

    sides = (
        [profile(first, k, h) for k in range(3) for h in range(4)],
        [profile(other, k, h) for k in range(3) for h in range(5)],
    )
    cosine = np.array([[one @ two / math.sqrt((one @ one) * (two @ two)) for two in sides[1]] for one in sides[0]])
    best = linear_sum_assignment(-cosine)
    assert sum(row["similarity"] for row in rows) == pytest.approx(cosine[best].sum())
    for row in rows:
        place = 4 * (row["layer"] - 1) + row["head"] - 1, 5 * (row["other_layer"] - 1) + row["other_head"] - 1
        assert row["similarity"] == pytest.approx(cosine[place])
        assert row["above"] == (row["similarity"] > row["threshold"])
    shuffled = np.random.default_rng(99)
    found = []
    for _ in range(200):
        columns = np.stack([shuffled.permutation(column) for column in np.array(sides[1]).T], 1)
        columns /= np.linalg.norm(columns, axis=1, keepdims=True)
        similarity = np.array(sides[0]) / np.linalg.norm(sides[0], axis=1, keepdims=True) @ columns.T
        found += similarity[linear_sum_assignment(-similarity)].tolist()
    assert rows[0]["threshold"] == pytest.approx(np.quantile(found, 0.95), abs=0.02)


def test_scores_of_detectors_tell_heads_apart_that_find_the_same_relations():
    first = {"det": np.full((2, 1, 2), 0.5)}
    scores = {("repeated", "same-back"): np.array([[0.9, 0.0]]), ("corpus", "previous"): np.array([[0.0, 0.3]])}
    swapped = {name: of_heads[:, ::-1] for name, of_heads in scores.items()}
    plain = [*match_rows({"0": Profiles(first, 0), "1": Profiles(first, 0)})]
    assert [(row["head"], row["other_head"], row["patterns"]) for row in plain] == [(1, 1, 0), (2, 2, 0)]
    more = {**swapped, ("corpus", "same-back"): np.ones((1, 2))}  # which the first one does not have
    rows = [*match_rows({"0": Profiles(first, 0, scores), "1": Profiles(first, 0, more)})]
    assert [(row["head"], row["other_head"], row["relations"], row["patterns"]) for row in rows] == [
        (1, 2, 1, 2),
        (2, 1, 1, 2),
    ]
    assert rows[0]["similarity"] == pytest.approx(1)


def test_heads_that_find_nothing_match_nothing():
    first = {"det": np.zeros((2, 1, 2))}
    first["det"][0, 0, 0] = 0.5
    rows = [*match_rows({"0": Profiles(first, 0), "1": Profiles(first, 0), "2": Profiles({}, 0)})]
    assert [(row["head"], row["other_head"], row["similarity"]) for row in rows] == [(1, 1, 1.0), (2, 2, 0.0)]


def survey_of(families: Mapping[str, Comparable], others: Mapping[str, Comparable]) -> Survey:
    """A survey of two groups."""
    models = [*models_of(families), *(f"n-seed_{seed}" for seed in others)]
    groups = seed_groups(models, {})
    rng = np.random.default_rng(0)
    cells, kept = [], {}
    for seeds, name in ((families, "m"), (others, "n")):
        for seed, of_seed in seeds.items():
            cells.append(KeptCell(f"{name}-seed_{seed}", {"weight": (of_seed,)}, {}))
            kept[f"{name}-seed_{seed}"] = SeedCounts({"det": 2, "obj": 1}, 12), Profiles(accuracies(rng), 0)
    collectors: dict[str, Any] = {
        "seeds": SeedCollector(groups), "seed_matches": MatchCollector(groups),
        "seed_contrasts": SeedContrastCollector(groups, 20),
    }  # fmt: skip
    for number, collector in enumerate(collectors.values()):
        given = [replace(cell, kept={"weight": kept[cell.model][number]} if number < 2 else {}) for cell in cells]
        collector.add("t", given, lambda first, other: "paired")
    collected = {name: collector.collect() for name, collector in collectors.items()}
    return Survey(tuple(models), ("t",), ("weight",), (), "obj", 20, collected=collected)


def test_findings_compare_groups_and_say_how_far_seeds_vary():
    lower = seeds_of(-0.3, -0.2, -0.31, -0.3, -0.25)
    survey = survey_of(seeds_of(0.0, 0.05, 0.1, -0.1, 0.02), lower)
    texts = [finding.text for finding in survey.findings]
    assert texts[0].startswith("2 of 2 tested relations of t over 5 seeds: “m” clearly finds more than “n”")
    assert texts[1].startswith("2 of 2 relations of t in 5 seeds of m: the accuracy varies more over seeds than")
    assert re.search(r"Most: (det, 51.4|obj, 31.4) % \[", texts[1])  # which vary equally
    assert re.search(
        r"\(n = 90; (40.0 to 60.0|20.0 to 40.0) %; SD 7.4 over seeds, standard error [23].\d over", texts[1]
    )
    assert "of the heads of seed 0 of m in t find the same relations as a head of another seed" in texts[2]
    assert "(4 other seeds; " in texts[2]
    assert [finding.address for finding in survey.findings[:3]] == ["#seed_contrasts", "#seeds", "#seed_matches"]


def test_values_are_of_the_types_that_the_reference_gives_them():
    survey = survey_of(seeds_of(0.0, 0.05, 0.1, -0.1, 0.02), seeds_of(0.1, 0.2, 0.2, 0.3, 0.1))
    tables = survey_section(survey).tables
    assert_declared(tables, SCHEMAS)
    assert (tables["survey_seed_contrasts"]["difference"] < 0).all()
    assert {"survey_seeds", "survey_seed_heads"} < {*tables}


def test_the_figure_has_a_dot_for_each_seed():
    survey = survey_of(seeds_of(0.0, 0.05, 0.1, -0.1, 0.02), seeds_of(0.2, 0.3))
    figure = survey_section(survey).figures["survey_seeds"]
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["obj", "det"]
    dots = [np.ravel(line.get_xdata()) for line in axes.lines if line.get_marker() == "o" and np.size(line.get_xdata())]
    expected = [[30, 35, 40, 20, 32], [50, 55, 60, 40, 52], [50, 60], [70, 80]]
    for drawn, values in zip(dots, expected, strict=True):
        np.testing.assert_allclose(drawn, values)
    means = [np.ravel(line.get_xdata())[0] for line in axes.lines if line.get_marker() == "|"]
    np.testing.assert_allclose(means, [np.mean(values) for values in expected])
    assert sum(len(lines.get_paths()) for lines in axes.collections) == 2  # intervals of the group with five seeds


def test_a_copy_with_permuted_heads_has_the_same_accuracies(tmp_path):
    """A survey of a model and of a copy whose heads are permuted within layers."""
    size: dict[str, Any] = {"hidden_size": 48, "num_attention_heads": 6, "max_position_embeddings": 200}
    tiny.save(tmp_path / "m-seed_0", seed=5, **size)
    shutil.copytree(tmp_path / "m-seed_0", tmp_path / "m-seed_1")
    model = transformers.AutoModel.from_pretrained(tmp_path / "m-seed_1")
    rng, orders = np.random.default_rng(2), []
    for layer in model.encoder.layer:
        orders.append(rng.permutation(6))
        rows = np.concatenate([np.arange(8 * head, 8 * head + 8) for head in orders[-1]])
        for projection in (layer.attention.self.query, layer.attention.self.key, layer.attention.self.value):
            projection.weight.data, projection.bias.data = projection.weight.data[rows], projection.bias.data[rows]
        layer.attention.output.dense.weight.data = layer.attention.output.dense.weight.data[:, rows]
    model.save_pretrained(tmp_path / "m-seed_1")
    models = [tmp_path / f"m-seed_{seed}" for seed in (0, 1)]
    options = [CorpusOptions(limit=40), CountOptions(min_count=30, replicates=20)]
    surveyed = attentionology.survey(models, "sample", options=options, detectors=2, progress=False)
    accuracies = surveyed.tables["survey_seeds"].set_index("relation")
    assert (accuracies["sd_seeds"]["all"], accuracies["seeds"]["all"]) == (0, 2)
    # Heads that find equally many words of one half are chosen by their place, and may find other words of the other.
    assert accuracies.loc[accuracies["n"] >= 30, "sd_seeds"].max() < 0.01
    heads = surveyed.tables["survey_seed_heads"]
    assert len(heads) == 3 * 6
    # Seven of repeated sequences, as these models have no mask token, and three of the treebank.
    assert set(heads["patterns"]) == {10}
    assert (heads["similarity"] > 1 - 1e-9).all()
    assert (heads["layer"] == heads["other_layer"]).all()
    found = [orders[layer - 1][head - 1] + 1 for layer, head in heads[["layer", "other_head"]].to_numpy(int)]
    assert found == heads["head"].tolist()


def test_detectors_are_for_seeds():
    with pytest.raises(OptionError, match="--detectors has an effect only on models that differ by their seeds"):
        attentionology.survey("demo", "sample", detectors=2, progress=False)

"""`attentionology.compare`: which statistics of runs are compared with which, and how that is shown."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color

import attentionology
from attentionology.analyses.comparison.figures import contrast_figure
from attentionology.analyses.comparison.results import COMPARISON, contrasts_of_kinds
from attentionology.analyses.comparison.section import comparison_section
from attentionology.analyses.contract import Titles
from attentionology.analyses.coreference.decisions import POLICIES
from attentionology.analyses.counting.comparable import Comparable, Measured
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import Corpus, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.compare import _differing_options, compare
from attentionology.engine.compared_run import ComparedRun, names_of, pairing_of
from attentionology.reports.drawing import ORANGE
from tests import tiny
from tests.documents import corpus, random_document

pytestmark = pytest.mark.usefixtures("quick_geography")

SENTENCES = 60
COUNTS = CountOptions(replicates=100, min_count=20)
NUMBERS = ["value_a", "value_b", "difference", "low", "high", "p", "p_holm"]


@pytest.fixture(scope="module")
def encoder():
    return tiny.encoder(max_position_embeddings=200)


@pytest.fixture(scope="module")
def treebank():
    return load_treebank(SAMPLE_TREEBANK, limit=SENTENCES)


def analyze(encoder, treebank, **options):
    options = {"analyses": "dependency", "options": [COUNTS], **options}
    return attentionology.analyze(encoder, treebank, **options)


@pytest.fixture(scope="module")
def run(encoder, treebank):
    return analyze(encoder, treebank)


@pytest.fixture(scope="module")
def other(treebank):
    """A run of another model over the same sentences."""
    return analyze(tiny.encoder("electra", max_position_embeddings=200), treebank)


@pytest.fixture(scope="module")
def comparison(run, other):
    return compare(run, other, names=("first", "second"), min_count=20)


def test_values_are_the_heldout_accuracies_of_the_report(run, other, comparison):
    table = comparison.table.set_index("group")
    assert list(comparison.table) == COMPARISON.names
    for suffix, source in (("a", run), ("b", other)):
        best = source["dependency"].best.set_index("relation").loc[table.index]
        np.testing.assert_array_equal(table[f"value_{suffix}"], best["heldout_accuracy"])
        np.testing.assert_array_equal(table[f"n_{suffix}"], best["total"])
        for group, choice in table[f"choice_{suffix}"].items():
            row = best.loc[group]
            assert choice == (f"{row['layer']}-{row['head']} {row['direction']}" if row["correct"] else "")
    np.testing.assert_allclose(table["difference"], table["value_a"] - table["value_b"], rtol=0, atol=1e-15)


@pytest.mark.slow
def test_kinds_of_one_run_are_compared_as_two_runs_are(encoder, treebank, run):
    both = analyze(encoder, treebank, maps=["weight", "norm"])
    norm = analyze(encoder, treebank, maps="norm")
    families = [(part.analysis.name, str(part.kind), part.analysis.comparable(part.counts)) for part in both.parts]
    of_kinds = contrasts_of_kinds(families, "tiny", min_count=20)
    assert of_kinds is not None
    of_runs = compare(run, norm, min_count=20)
    assert of_runs.table["map_a"].unique().tolist() == of_kinds.table["map_a"].unique().tolist() == ["weight"]
    pd.testing.assert_frame_equal(of_kinds.table[["group", *NUMBERS]], of_runs.table[["group", *NUMBERS]], rtol=1e-9)
    assert run.contrasts is None
    assert both.contrasts is not None
    assert [(section.tab, section.map) for section in both.shown_sections][:3] == [
        ("Dependency", "weight"),
        ("Dependency", "norm"),
        ("Dependency", "difference"),
    ]
    written = [name for section in both.shown_sections for name in section.tables]
    assert sorted(written) == sorted(set(written))
    pd.testing.assert_frame_equal(
        both.contrasts.table, of_kinds.table.assign(run_a=both.titles.model, run_b=both.titles.model)
    )
    assert contrasts_of_kinds(families[:1], "tiny", min_count=20) is None
    assert contrasts_of_kinds([("clusters", "weight", ()), ("clusters", "norm", ())], "tiny", min_count=20) is None
    one_sided = compare(both, run, names=("both", "weight"), min_count=20).table
    assert one_sided[["map_a", "map_b"]].drop_duplicates().to_numpy().tolist() == [["weight", "weight"], ["norm", ""]]
    missing = one_sided[one_sided["map_a"] == "norm"]
    assert len(missing) == len(of_runs.table)
    assert missing["difference"].isna().all()
    assert (missing["reason"] == "only both (norm) has this group").all()


def record(seed: int = 0, files: str = "ab", **options: Any) -> dict[str, Any]:
    """What decides whether runs read the same, with a file for each letter."""
    corpus = {"files": [{"sha256": name} for name in files], "unit": "sentences", "counts": {"sentences": 9}}
    return {"seed": seed, "corpus": corpus, "sentences": {"skipped": []}, "options": options}


@pytest.mark.parametrize(
    ("second", "pairing", "said"),
    [
        (record(), "paired", "Both runs read the same inputs: the intervals are paired."),
        (record(files="bc"), "partly paired", "The runs share some of their inputs: the intervals are paired for"),
        (record(files="cd"), "unpaired", "The runs read different inputs: the intervals are unpaired."),
        (record(files=""), "unpaired", "At least one of the corpora was not read from files."),
        (record(7), "unpaired", "The runs have different seeds, 0 and 7, so their replicates sample different "),
        (record(limit=5), "partly paired", "The runs share some of their inputs"),
    ],
)  # fmt: skip
def test_a_sentence_says_how_the_inputs_of_two_runs_are_paired(second, pairing, said):
    found, sentence = pairing_of(record(), second)
    assert found == pairing
    assert sentence.startswith(said)


def test_sides_are_named_by_their_kinds_if_either_run_has_several():
    def run(*kinds: str) -> ComparedRun:
        family = Comparable("relations", (Measured("det", 0.5, 100, np.zeros(0)),), "words found", "words", 0)
        return ComparedRun(Titles("m", "c"), record(), {("dependency", kind): (family,) for kind in kinds})

    one, both = run("norm"), run("weight", "norm")
    for runs, names in (
        ((one, both), [("a", "b"), ("a", "b (weight)")]),
        ((both, one), [("a", "b"), ("a (weight)", "b")]),
        ((one, run("weight")), [("a", "b")]),
    ):
        found = compare(*runs, names=("a", "b"))
        assert [(each.first.name, each.second.name) for each in found.contrasts] == names


def test_the_options_in_which_runs_differ_are_named_in_the_order_of_the_runs():
    first = {"out": "a", "map": ["norm", "weight"], "limit": None, "seed": 1, "min_count": 5, "batch_cells": 3}
    second = {"out": "b", "map": [], "limit": 20, "seed": 1, "min_count": 6, "batch_cells": 4}
    assert _differing_options(first, second) == (
        " The runs differ in these options: --map (norm weight and none), --limit (none and 20), --min-count (5 and 6)."
    )
    assert _differing_options(first, {**first, "out": "b"}) == ""


@pytest.mark.slow
def test_runs_are_paired_if_they_read_the_same(encoder, treebank, run, other):
    assert pairing_of(run.record, other.record)[0] == "paired"
    seed = analyze(encoder, treebank, seed=1)
    assert pairing_of(run.record, seed.record)[0] == "unpaired"
    assert set(compare(run, seed, min_count=20).table["paired"]) == {"unpaired"}
    loose = analyze(encoder, Corpus(tuple(treebank)))
    pairing, sentence = pairing_of(run.record, loose.record)
    assert pairing == "unpaired"
    assert "not read from files" in sentence
    changed = {**run.record, "corpus": {**run.record["corpus"], "files": [{"sha256": "0" * 64}]}}
    assert pairing_of(run.record, changed)[0] == "unpaired"
    skipped = {**run.record, "sentences": {**run.record["sentences"], "skipped": [{"id": "s1"}]}}
    assert pairing_of(run.record, skipped)[0] == "partly paired"


@pytest.mark.slow
def test_runs_are_named_after_what_distinguishes_them(run, other):
    assert len(set(names_of([run, other]))) == 2
    renamed = dataclasses.replace(run, titles=dataclasses.replace(run.titles, model="small"))
    assert names_of([renamed, run]) == ["small", run.titles.model]
    both = dataclasses.replace(renamed, titles=dataclasses.replace(renamed.titles, corpus="dev"))
    assert names_of([both, run]) == ["small, dev", f"{run.titles.model}, en_sample"]
    assert names_of([run, run]) == ["a", "b"]


@pytest.mark.slow
def test_coreference_is_compared_by_candidates(encoder):
    rng = np.random.default_rng(2)
    documents = corpus(*(random_document(rng, f"d{index}") for index in range(12)))
    runs = [
        attentionology.analyze(model, documents, analyses="coreference", options=[CountOptions(replicates=50)])
        for model in (encoder, tiny.encoder("electra", max_position_embeddings=200))
    ]
    table = compare(*runs, min_count=5).table
    families = [f"candidates: {policy}{gains}" for policy in POLICIES for gains in ("", ", gains")]
    assert table["family"].unique().tolist() == families
    for suffix, source in (("a", runs[0]), ("b", runs[1])):
        best = source["coreference"].tables.best.set_index(["candidates", "type"])
        for row in table.to_dict("records"):
            policy, _, gains = row["family"].removeprefix("candidates: ").partition(", ")
            expected = best.loc[policy, row["group"]]
            assert row[f"n_{suffix}"] == expected["total"]
            value = expected["heldout_gain" if gains else "heldout_accuracy"]
            np.testing.assert_allclose(row[f"value_{suffix}"], value, atol=1e-12)


def test_the_figure_sorts_differences_and_fills_significant_dots(comparison):
    (contrast,) = comparison.contrasts
    rows = contrast.tested
    assert [row.difference for row in rows] == sorted((row.difference for row in rows), reverse=True)
    rows[0] = dataclasses.replace(rows[0], p_holm=0.01)
    rows[1:] = [dataclasses.replace(row, p_holm=0.5) for row in rows[1:]]
    figure = contrast_figure(dataclasses.replace(contrast, differences=tuple(rows)))
    assert figure is not None
    (axes,) = figure.axes
    dots = [line for line in axes.get_lines() if line.get_marker() == "o" and np.size(line.get_xdata())]
    ends = [np.asarray(path.vertices)[:, 0] for each in axes.collections for path in each.get_paths()]
    for row, dot, limits in zip(rows, dots, ends, strict=True):
        assert np.ravel(dot.get_xdata()).tolist() == pytest.approx([100 * row.difference])
        assert limits == pytest.approx([100 * row.low, 100 * row.high])
        assert same_color(dot.get_markerfacecolor(), ORANGE if row.significant else "white")
    for row, label in zip(rows, axes.get_yticklabels(), strict=True):
        assert row.first
        assert label.get_text() == f"{row.group} (n = {row.first.n:,})"
    assert {label.get_url() for label in axes.get_yticklabels()} == {None}  # two runs have no page together
    second = dataclasses.replace(contrast.second, run=contrast.first.run, map="norm")
    of_kinds = contrast_figure(dataclasses.replace(contrast, second=second, differences=tuple(rows)))
    assert of_kinds is not None
    for row, label in zip(rows, of_kinds.axes[0].get_yticklabels(), strict=True):
        side, better = (contrast.first, row.first) if row.difference > 0 else (second, row.second)
        head, direction = better.choice.split() if better else ("", "")
        shown = f"head={head}&relation={row.group}&direction={direction}&kind={side.map}"
        assert label.get_url() == f"../report.html#{shown}"
    assert contrast_figure(dataclasses.replace(contrast, differences=())) is None


@pytest.mark.slow
def test_surface_statistics_are_compared(encoder, treebank):
    models = (encoder, tiny.encoder("electra", max_position_embeddings=200))
    first, second = (analyze(model, treebank, analyses="surface") for model in models)
    table = compare(first, second, names=("first", "second"), min_count=20).table
    assert table["family"].value_counts().to_dict() == {"layer by layer": 24, "all layers": 14, "entropy": 4}
    assert set(table["unit"]) == {"%", "nats"}
    assert table["p_holm"].notna().all()
    heads = first["surface"].tables.heads
    row = table[table["group"] == "next"].iloc[0]
    assert row["value_a"] == pytest.approx(heads["next"].mean())
    assert row["n_a"] == SENTENCES
    assert row["low"] < row["difference"] < row["high"]
    same = compare(first, first, min_count=20).table
    assert (same[["difference", "low", "high"]] == 0).all(axis=None)
    assert (same["p"] == 1).all()
    section = comparison_section(compare(first, second, min_count=20), name="comparison", title="Differences")
    assert len(section.figures) == 3


def test_a_list_of_runs_is_refused_with_what_to_write():
    with pytest.raises(attentionology.OptionError, match=r"not as a list: compare\(\*runs\)"):
        compare(["a", "b"])  # type: ignore[arg-type]

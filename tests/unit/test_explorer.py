"""The data of the explorer: measures that are those of the tables, cards, findings, and JSON in the page."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

import attentionology
from attentionology import ControlOptions, CountOptions, load_treebank
from attentionology.analyses import SurfaceOptions
from attentionology.corpora_loaders import Corpus
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.results.explorer import MOST_FINDINGS
from attentionology.reports.explorer.data import Bench, Explorer, Sample, SampledSentence, script_json
from tests import documents, tiny
from tests.shown_tables import with_unit

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_geography")]

HOSTILE = ("</script><script>alert(1)</script>", "<!--", "]]>", "&lt;", "\u2028", '"', "\\", "日本", "<script")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of four analyses with a word that tries to break out of the page."""
    treebank = load_treebank(SAMPLE_TREEBANK, limit=40)  # enough for claims
    first = treebank[0]
    hostile = replace(first, words=(*HOSTILE, *first.words[len(HOSTILE) :]), id="</script>")
    options: list[Any] = [
        CountOptions(replicates=40, min_count=3),
        ControlOptions(control="random-init"),
        SurfaceOptions(gradients="none"),
    ]
    return attentionology.analyze(
        tiny.encoder(max_position_embeddings=200),
        Corpus((hostile, *treebank[1:])),
        analyses=["dependency", "surface", "clusters", "norms"],
        options=options,
        out=tmp_path_factory.mktemp("explorer") / "run",
    )


@pytest.fixture(scope="module")
def explorer(run):
    return run.explorer()


@pytest.fixture(scope="module")
def coreference():
    rng = np.random.default_rng(0)
    corpus = documents.corpus(*(documents.random_document(rng, f"d{number}") for number in range(12)))
    options = [CountOptions(replicates=20, min_count=3)]
    return attentionology.analyze(tiny.encoder(), corpus, analyses="coreference", options=options)


def measure(explorer: Explorer, name: str):
    [found] = [each for each in explorer.measures if each.id == name]
    return found


def test_accuracies_and_gains_are_those_of_the_tables(run, explorer):
    results = run["dependency"]
    for row in results.best.to_dict("records"):
        if row["relation"] == "root":
            continue
        for direction in ("dep->head", "head->dep"):
            cells = results.cells.query("relation == @row['relation'] and direction == @direction")
            cells = cells.sort_values(["layer", "head"])
            name = f"dependency/{row['relation']}/{direction}"
            accuracy, gain = (measure(explorer, f"{name}/{kind}/weight") for kind in ("accuracy", "gain"))
            assert list(accuracy.values) == cells["accuracy"].tolist()
            assert accuracy.baseline == row["offset_accuracy"]
            assert np.allclose(gain.values, cells["accuracy"] - row["offset_accuracy"])
            assert (accuracy.n, accuracy.relation, accuracy.direction) == (row["total"], row["relation"], direction)
            if direction == row["direction"]:
                index = (row["layer"] - 1) * explorer.heads + row["head"] - 1
                assert accuracy.low[index] == pytest.approx(row["accuracy_low"], abs=1e-4)
                assert accuracy.high[index] == pytest.approx(row["accuracy_high"], abs=1e-4)
                assert gain.low[index] == pytest.approx(row["gain_low"], abs=1e-4)
                assert gain.high[index] == pytest.approx(row["gain_high"], abs=1e-4)


def test_measures_are_read_beside_what_the_tables_have(run, explorer):
    """Accuracies of a relation have the same marks and layers in both directions, and gains are over the best rule."""
    references = {each.id: each for each in explorer.references}
    assert len(references) == len(explorer.references)
    named = {each.reference for each in explorer.measures if each.reference}
    assert named == {name for name in references if not name.startswith("dependency/mean/")}
    for row in run["dependency"].best.to_dict("records"):
        if row["relation"] == "root" or math.isnan(row["tag_rule_heldout"]):
            continue
        reference = references[f"dependency/{row['relation']}/weight"]
        offset = row["heldout_accuracy"] - row["heldout_gain"]
        of_tags = max(row["tag_offset_heldout"], row["tag_rule_heldout"])
        values = {mark.role: mark.value for mark in reference.marks}
        expected = {"heldout": row["heldout_accuracy"], "position": offset, "rule": of_tags}
        assert values == pytest.approx({**expected, "random": row["control_accuracy"]})
        for direction in ("dep->head", "head->dep"):
            name = f"dependency/{row['relation']}/{direction}"
            accuracy, gain = (measure(explorer, f"{name}/{kind}/weight") for kind in ("accuracy", "over_rule"))
            assert accuracy.reference == gain.reference == reference.id
            assert np.allclose(gain.values, np.array(accuracy.values) - max(offset, of_tags), atol=1e-6)
        assert len(reference.layers.values) == explorer.layers
        several = len(run["dependency"].claimed) > 1
        assert reference.beside == ("dependency/mean/weight" if several else "")
        assert not several or reference.beside in references


def test_other_measures_are_those_of_the_tables(run, explorer):
    heads = run["surface"].tables.heads
    for name in ("entropy", "previous", "last_special"):
        assert list(measure(explorer, f"surface/{name}/weight").values) == heads[name].tolist()
    clusters = measure(explorer, "clusters/cluster/weight")
    assert [value + 1 for value in clusters.values] == run["clusters"].clusters.embedding["cluster"].tolist()
    shares = run["norms"].shares
    assert (
        list(measure(explorer, "norms/norm_share/[SEP]").values)
        == shares.query("`class` == '[SEP]'")["norm_share"].tolist()
    )


def test_every_measure_has_a_value_for_every_head_and_an_id_of_its_own(explorer):
    ids = [each.id for each in explorer.measures]
    assert len(set(ids)) == len(ids)
    assert all(len(each.values) == explorer.layers * explorer.heads for each in explorer.measures)
    for each in explorer.measures:
        if each.low is not None and each.high is not None:
            assert all(low <= high for low, high in zip(each.low, each.high, strict=True))


def test_cards_are_about_all_heads_and_link_to_measures(explorer, run):
    assert [card.head for card in explorer.cards] == [
        f"{layer}-{head}" for layer in range(1, explorer.layers + 1) for head in range(1, explorer.heads + 1)
    ]
    ids = {each.id for each in explorer.measures}
    per_row = run["clusters"].distances.per_row
    for card in explorer.cards:
        assert {fact.measure for fact in card.facts} <= {*ids, None}
        assert card.summary.startswith(("Head", "No analysis"))
        assert card.summary.endswith(".")
        nearest = per_row.loc[card.head].drop(card.head).sort_values(kind="stable")
        assert [per_row.loc[card.head, name] for name in card.nearest] == nearest.tolist()[: len(card.nearest)]
        assert card.profile is not None
        offset = card.profile.offsets.index(-1)
        previous = run["surface"].tables.heads.set_index(["layer", "head"])["previous"]
        layer, head = map(int, card.head.split("-"))
        assert card.profile.values[offset] == pytest.approx(previous[layer, head])


def test_findings_are_few_and_lead_to_measures(explorer):
    assert 3 <= len(explorer.findings) <= MOST_FINDINGS
    ids = {each.id for each in explorer.measures}
    for finding in explorer.findings:
        assert finding.text.endswith((".", "; …"))
        assert re.match(r"[+-]?\d", finding.text)  # the number comes first
        state = dict(part.split("=", 1) for part in finding.address.removeprefix("#").split("&"))
        assert unquote(state["measure"]) in ids
    assert any("random weights" in finding.text for finding in explorer.findings)
    assert any("_special/weight" in finding.address for finding in explorer.findings)  # the sink


def test_coreference_is_part_of_it(coreference):
    explorer = coreference.explorer()
    results = coreference["coreference"]
    cells = results.tables.cells.query("candidates == 'preceding' and type == 'all'")
    for direction, table in cells.groupby("direction"):
        found = measure(explorer, f"coreference/all/{direction}/accuracy/weight")
        assert list(found.values) == table.sort_values(["layer", "head"])["accuracy"].tolist()
        assert found.relation == "coreference"
        gain = measure(explorer, f"coreference/all/{direction}/over_rule/weight")
        rules = results.tables.baselines.query("type == 'all' and baseline in ['rule-based', 'nearest']")["accuracy"]
        assert np.allclose(gain.values, np.array(found.values) - rules.max(), atol=1e-6)
        reference = next(each for each in explorer.references if each.id == found.reference)
        assert [mark.role for mark in reference.marks] == ["heldout", "position", "rule", "random"]
        assert reference.marks[3].value is None
        assert reference.marks[0].value == pytest.approx(
            results.tables.best.query("candidates == 'preceding' and type == 'all'")["heldout_accuracy"].item()
        )
    assert "rules" in explorer.findings[0].text
    best = results.tables.best.query("candidates == 'preceding' and type == 'all'").iloc[0]
    [card] = [card for card in explorer.cards if card.head == f"{best['layer']}-{best['head']}"]
    assert with_unit(best, "gain gain_low gain_high", "points", "+") in card.summary
    assert explorer.sample is not None
    assert any(sentence.mentions for sentence in explorer.sample.sentences)
    sentence = next(each for each in explorer.sample.sentences if each.mentions)
    assert set(sentence.guesses) == {"weight/mention->antecedent", "weight/antecedent->mention"}
    for mention in sentence.mentions:
        assert mention.start <= mention.head <= mention.end < len(sentence.rows)


def test_no_word_breaks_out_of_the_page(run, explorer):
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    [text] = re.findall(r'<script type="application/json" id="explorer-data">(.*?)</script>', page, re.DOTALL)
    assert not set(text) & set("<>&\u2028")
    page_data = json.loads(text)
    assert page_data["live"] is None
    [data] = page_data["runs"]
    assert data["model"] == explorer.model
    [sentence] = [each for each in data["sample"]["sentences"] if each["id"] == "</script>"]
    assert sentence["rows"][1 : len(HOSTILE) + 1] == list(HOSTILE)
    for finding in explorer.findings:
        assert finding.text.split(";")[0].split("<")[0] in page.replace("&#39;", "'").replace("&gt;", ">")
    assert '<div id="explorer">' in page


def test_numbers_that_are_not_finite_are_refused():
    sentence = SampledSentence("s1", None, "", None, ("w",), (False,))
    explorer = Explorer("m", "c", "sentences", 1, 1, sample=Sample((), "", (sentence,)))
    assert json.loads(script_json(Bench((explorer,))))["runs"][0]["sample"]["sentences"][0]["columns"] is None
    with pytest.raises(ValueError, match="JSON"):
        script_json(Bench((replace(explorer, sample=replace(explorer.sample, note=float("nan"))),)))  # type: ignore[type-var]

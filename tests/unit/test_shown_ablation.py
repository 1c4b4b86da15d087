"""What figures, tables and findings show of effects of heads, with made-up numbers and at the borders of conditions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.ablation.heads import ABLATION, heads_figure, heads_table, largest_effect
from attentionology.analyses.ablation.predictions import beats_position
from attentionology.analyses.ablation.pruning import PRUNING, pruning_figure, pruning_table
from attentionology.analyses.ablation.relations import RELATIONS, SUMMARY, conclusion, relations_table, shown_table
from attentionology.analyses.ablation.relations import _relations as relations_of
from attentionology.analyses.ablation.relations import _summary as summary_of
from attentionology.analyses.ablation.rows import AblationResults, AblationTables, _of_predictions
from attentionology.analyses.contract import Titles
from attentionology.reports.drawing import BLUE, GREY
from tests.ablation import ablation_section, changed_results, explored_ablation
from tests.ablation import made_results as made_ablation
from tests.dependency import made_results
from tests.shown_tables import cells, distinct_table, on_page

HEADS = 12
"""The heads of two layers, of which the last has the largest effect, and the one before it no interval."""


def made(*names: str, rows: int = 1, **given: Any) -> pd.DataFrame:
    """A table in which every number is another one, but for the columns that are given."""
    return distinct_table(pd.DataFrame({name: [0.0] * rows for name in names})).assign(**given)


def results(loss: bool = True, relations: int = 2) -> AblationResults:
    places = {"layer": [1] * 6 + [2] * 6, "head": [*range(1, 7)] * 2}
    heads = made(*ABLATION.names, rows=HEADS, **places)
    heads.loc[HEADS - 2, ["loss_low", "cosine_low"]] = np.nan
    if not loss:
        heads = heads.drop(columns=["loss", "loss_low", "loss_high", "importance"])
    effects = ["cosine", "loss"] if loss else ["cosine"]
    names = [(effect, f"relation {k}") for effect in effects for k in range(relations)]
    whole = {"layer": 2, "head": 1, "total": 1234, "sentences": 567, "rank": 3, "heads": 6}
    effect, relation = zip(*names, strict=True) if names else ((), ())
    found = made(*RELATIONS.names, rows=len(names), effect=effect, relation=relation, **whole)
    counts = {"above": 1, "relations": relations, "sentences": 567}
    largest = {"layer": 2, "head": 6, "rival_layer": 1, "rival_head": 2, "lead_low": 0.25}
    summary = made(*SUMMARY.names, rows=len(effects), effect=effects, **counts, **largest)
    tables = AblationTables(heads, pd.DataFrame(), found, summary)
    pruning = made(
        *PRUNING.names, rows=4, order=["effect"] * 2 + ["random"] * 2, effect=effects[-1], total=[7, 9, 7, 9]
    )
    pruning.loc[0, "low"] = np.nan
    return made_ablation(tables, pruning, ("a note",))


@pytest.mark.parametrize("loss", [True, False])
def test_tables_say_what_the_csv_files_say(loss: bool) -> None:
    """The ten heads with the largest effects, and the relations with the effect that is shown."""
    found = results(loss)
    effect, heads = ("loss", found.tables.heads) if loss else ("cosine", found.tables.heads)
    label = "loss" if loss else "change of final vectors, 1 − cosine"

    def bounded(name: str) -> Any:
        def text(row: Any) -> str:
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            return f"{row[name]:.4f}" if np.isnan(low) else f"{row[name]:.4f} [{low:.4f}, {high:.4f}]"

        return text

    columns: dict[str, Any] = {"head": lambda row: f"{row['layer']}-{row['head']}", label: bounded(effect)}
    if loss:
        columns |= {"change of final vectors, 1 − cosine": ".4f cosine", "importance": ".4f importance"}
    top = heads.sort_values(effect, ascending=False).head(10).to_dict("records")
    assert (top[0]["head"], top[1]["head"]) == (6, 5)
    assert on_page(heads_table(found))[1][label] == f"{top[1][effect]:.4f}"  # without an interval
    assert on_page(heads_table(found)) == cells(top, columns)
    rows = found.tables.relations.query("effect == @effect").to_dict("records")
    shown: dict[str, Any] = {
        "relation": "relation", "best head": lambda row: "2-1", "accuracy": "% accuracy", "n": lambda row: "1,234",
        "effect of head": bounded("value"), "other heads": ".4f others", "difference": bounded("difference"),
        "on all words": ".4f everywhere", "rank": lambda row: "3 of 6", "p": ".4f p", "ρ": ".3f rho",
    }  # fmt: skip
    assert on_page(relations_table(found)) == cells(rows, shown)
    assert shown_table(found).name == "ablation_relations"
    assert shown_table(results(loss, relations=0)).name == "ablation_heads"


def test_the_section_has_what_was_measured() -> None:
    found = results()
    section = ablation_section(found, Titles(model="bert"))
    assert section.title == "Which attention heads of bert matter"
    assert ablation_section(found).title == "Which attention heads matter"
    tables = ["ablation", "ablation_groups", "ablation_relations", "ablation_summary", "ablation_pruning"]
    assert [*section.tables] == tables
    assert [table.name for table in section.shown] == ["ablation_heads", "ablation_relations"]
    assert (section.context["has_relations"], section.context["pruning_total"]) == (True, 9)
    assert [*section.figures] == ["ablation_heads", "ablation_pruning"]
    less = ablation_section(changed_results(results(relations=0), pruning=None))
    assert [*less.tables] == [name for name in tables if name not in ("ablation_relations", "ablation_pruning")]
    assert [table.name for table in less.shown] == ["ablation_heads"]
    context = {"has_relations": False, "conclusion": ""}
    assert {name: less.context[name] for name in context} == context
    assert "pruning_total" not in less.context
    assert [*less.figures] == ["ablation_heads"]


def test_the_curves_have_the_number_of_items_of_their_effect() -> None:
    """There are fewer masked pieces than words."""
    found = results()
    of_words = found.pruning.assign(effect="cosine", total=33)
    section = ablation_section(changed_results(found, pruning=pd.concat([of_words, found.pruning])))
    assert section.context["pruning_total"] == 9


@pytest.mark.parametrize(("low", "limits"), [(-0.25, (-0.5, 0.5)), (0.25, (0, 0.5))])
def test_the_colors_of_effects_begin_at_0_or_are_around_it_if_some_are_below(
    low: float, limits: tuple[float, float]
) -> None:
    """Heads that were not switched off, here all of the first layer and 2-2, have an empty field."""
    heads = pd.DataFrame({"layer": [2, 2], "head": [1, 3], "loss": [low, 0.5]})
    axes, bar = heads_figure(heads, "loss").axes
    values: Any = np.ma.filled(np.ma.asarray(axes.collections[0].get_array(), dtype=float), np.nan)
    np.testing.assert_array_equal(values.reshape(2, 3), [[np.nan] * 3, [low, np.nan, 0.5]])
    assert axes.collections[0].get_clim() == limits
    assert bar.get_ylabel() == "increase of −log p (nats)"


def test_curves_have_a_band_where_all_values_have_limits() -> None:
    pruning = results().pruning
    other = pruning.assign(effect="cosine", value=0.0)
    (axes,) = pruning_figure(pd.concat([pruning, other]), "loss").axes
    assert [(line.get_label(), line.get_color()) for line in axes.lines] == [
        ("smallest effect first", BLUE), ("random (ten orders)", GREY),
    ]  # fmt: skip
    for line, order in zip(axes.lines, ("effect", "random"), strict=True):
        rows = pruning[pruning["order"] == order]
        np.testing.assert_allclose(np.asarray(line.get_data()), [100 * rows["share"], rows["value"]])
    (band,) = axes.collections
    last = pruning.iloc[3]
    corners = np.asarray(band.get_paths()[0].vertices)
    for limit in ("low", "high"):
        assert np.isclose(corners, [100 * last["share"], last[limit]]).all(1).any()


@pytest.mark.parametrize(
    ("p", "relations", "said"),
    [
        (
            0.0499,
            2,
            "1 of 2 relations has a head with an effect above the mean of its layer: heads that find",
        ),
        (
            0.05,
            2,
            "1 of 2 relations has a head with an effect above the mean of its layer: it was not shown that heads",
        ),
        (
            0.0499,
            1,
            "1 of 1 relation has a head with an effect above the mean of its layer: heads that find",
        ),
        (
            0.0499,
            0,
            "0 relations can tell whether heads that find relations have a larger effect on their words (loss)",
        ),
    ],
)
def test_the_conclusion_is_about_the_effect_that_is_shown(p: float, relations: int, said: str) -> None:
    found = results()
    of_cosine = {"effect": "cosine", "p": 1 - p, "relations": 5 - relations, "above": 4, "mean_rank": 0.9}
    of_loss = {"effect": "loss", "p": p, "relations": relations, "above": 1, "mean_rank": 0.25}
    found = changed_results(found, summary=pd.DataFrame([of_cosine, of_loss]))
    text = conclusion(found)
    assert text.startswith(said)
    few = "fewer than 50 masked pieces or predicted words, or fewer than 30 sentences with them"
    end = f"other heads of their layers (mean relative rank 0.25, where 0.5 is chance; p = {p:.4f})."
    assert text.endswith(end if relations else f": all relations have {few}.")
    assert conclusion(results(relations=0)) == ""


@pytest.mark.parametrize(
    ("mask", "causal", "lacking"),
    [
        (3, False, "the checkpoint has no language-model head"),
        (None, True, "the checkpoint has no language-model head"),
        (None, False, "the tokenizer has no mask token"),
    ],
)
def test_the_note_says_why_effects_on_predictions_are_missing(mask: int | None, causal: bool, lacking: str) -> None:
    setting: Any = SimpleNamespace(
        encoder=SimpleNamespace(tokenizer=SimpleNamespace(mask_token_id=mask), causal=causal),
        load_masked_lm=lambda: None,
        load_causal_lm=lambda: None,
    )
    expected = None, f"Effects on predictions were not measured: {lacking}."
    assert _of_predictions(setting, setting) == expected


@pytest.mark.parametrize("complete", [True, False])
def test_the_explorer_names_the_head_with_the_largest_effect(complete: bool) -> None:
    """Measures need the values of all heads."""
    found = results()
    shown = explored_ablation(found, complete=complete)
    measure = "ablation/loss" if complete else None
    assert [each.id for each in shown.measures] == [f"ablation/{name}" for name in ("cosine", "l2", "loss")][
        : 3 * complete
    ]
    losses = found.tables.heads["loss"]
    first, second = shown.findings
    assert first.text == largest_effect(found)
    assert first.address == "#head=2-6" + ("&measure=ablation/loss" if complete else "")
    assert second.text == conclusion(found)
    assert len(explored_ablation(results(relations=0), complete=complete).findings) == 1
    assert len(shown.facts) == HEADS
    (fact,) = shown.facts["1-2"]
    assert (fact.label, fact.text, fact.measure) == ("without it", f"loss: {losses.iloc[1]:.4f}", measure)


SHOWN = (
    "0.1231 [{low}, 0.2912] (loss) is the effect of switching off 2-6, which changes most: 0.0200 {lead}more than 1-2."
)
NOT_SHOWN = (
    "0.1231 [{low}, 0.2912] (loss) is the largest effect of switching off a head, that of 2-6, but it was not shown "
    "that this head changes most: "
)
DIFFERENCE = "that of 1-2 may be as large (difference 0.0200 [{low}, 0.0900])."


@pytest.mark.parametrize(
    ("low", "lead_low", "said"),
    [
        (0.0450, 0.0100, SHOWN.format(low="0.0450", lead="[0.0100, 0.0900] ")),
        (0.0, 0.0100, f"{NOT_SHOWN.format(low='0.0000')}its interval contains 0."),
        (0.0450, 0.0, NOT_SHOWN.format(low="0.0450") + DIFFERENCE.format(low="0.0000")),
        (-0.1, -0.1, f"{NOT_SHOWN}its interval contains 0, and {DIFFERENCE}".format(low="-0.1000")),
        (0.0450, None, NOT_SHOWN.format(low="0.0450") + "that of 1-2 may be as large (difference 0.0200)."),
        (0.1132, None, SHOWN.format(low="0.1132", lead="")),
    ],
)  # fmt: skip
def test_a_head_changes_most_if_its_interval_and_that_of_its_lead_are_above_0(
    low: float, lead_low: float | None, said: str
) -> None:
    """Runs of earlier versions have no interval of the lead, so that the head must lie above that of 1-2, 0.1131."""
    found = results()
    heads, summary = found.tables.heads.copy(), found.tables.summary.copy()
    heads.loc[HEADS - 1, ["loss", "loss_low", "loss_high"]] = [0.1231, low, 0.2912]
    heads.loc[1, ["loss", "loss_low", "loss_high"]] = [0.1031, 0.0931, 0.1131]
    bounds = [np.nan, np.nan] if lead_low is None else [lead_low, 0.09]
    summary.loc[summary["effect"] == "loss", ["lead", "lead_low", "lead_high"]] = [0.02, *bounds]
    assert largest_effect(changed_results(found, heads=heads, summary=summary)) == said


@pytest.mark.parametrize(("sentences", "lead"), [(29, 0.5), (30, 0.5), (30, np.nan)])
def test_nothing_is_said_of_few_sentences_or_of_a_single_head(sentences: int, lead: float) -> None:
    found = results()
    summary = found.tables.summary.assign(sentences=sentences, lead=lead)
    found = changed_results(found, summary=summary)
    findings = [finding.text for finding in explored_ablation(found, complete=True).findings]
    assert findings[1:] == ([conclusion(found)] if sentences == 30 and lead == 0.5 else [])
    assert findings[:1] == [largest_effect(found) or conclusion(found)]
    warned = "The effects were measured in 29 sentences. With fewer than 30, intervals are too narrow"
    remarks = (
        heads_table(found).notes[-1],
        relations_table(found).notes[-1],
        ablation_section(found).context["notes"][-1],
    )
    assert [note.startswith(warned) for note in remarks] == [sentences == 29] * 3


def test_relations_are_gray_by_what_was_measured() -> None:
    """As many words are not as many masked pieces, and some sentences have many words of a relation."""
    found = results(relations=3)
    relations = found.tables.relations.assign(total=[9] * 3 + [49, 50, 50], sentences=[9] * 3 + [30, 29, 30])
    table = relations_table(changed_results(found, relations=relations))
    assert [table.style(row) for row in table.rows] == ["rare", "rare", ""]
    assert [row["n"] for row in on_page(table)] == ["(49)", "(50)", "50"]
    few = "fewer than 50 masked pieces or predicted words, or fewer than 30 sentences with them"
    assert table.rare == few
    of_vectors = results(loss=False)
    assert (
        ablation_section(of_vectors).context["too_few"] == "fewer than 50 words, or fewer than 30 sentences with them"
    )


def test_relations_have_the_numbers_of_their_effect() -> None:
    """Words and predictions differ in number, and an effect on all words is another one than that on some."""
    ends = ("", "_low", "_high", "_difference", "_difference_low", "_difference_high")
    names = [f"{effect}{end}" for effect in ("cosine", "loss") for end in ends]
    places = {"layer": [1] * 3 + [2] * 3, "head": [1, 2, 3] * 2}
    all_groups = [("all", "all", 99), ("relation", "obj", 40), ("relation", "det", 30), ("relation", "iobj", 20)]
    every = made(*names, rows=24)
    cells = pd.concat(
        every.iloc[6 * k : 6 * k + 6].assign(
            by=by, group=group, total=total, predicted=total - 7, sentences=total - 1, predicted_sentences=31, **places
        )
        for k, (by, group, total) in enumerate(all_groups)
    )
    best = [{"relation": "obj", "layer": 2, "head": 2}, {"relation": "det", "layer": 1, "head": 3}]
    rare = {"relation": "iobj", "layer": 1, "head": 1, "total": 29, "accuracy": 0.5}
    rows = [{**row, "total": 30, "accuracy": 0.6} for row in (*best, {**best[0], "relation": "all"})]
    accuracies = pd.DataFrame(places).assign(relation="obj", accuracy=0.5)
    found = relations_of(cells, made_results(accuracies, pd.DataFrame([*rows, rare])), ["cosine", "loss"], min_count=30)
    assert [(row["effect"], row["relation"]) for row in found] == [
        (effect, relation) for effect in ("cosine", "loss") for relation in ("obj", "det")
    ]
    by_place: Any = cells.set_index(["group", "layer", "head"])
    for row, rank in zip(found, (2, 1) * 2, strict=True):
        effect = str(row["effect"])
        own = by_place.loc[(row["relation"], row["layer"], row["head"])]
        assert row["total"] == own["predicted" if effect == "loss" else "total"]
        shown = [row[f"{name}{end}"] for name in ("value", "difference") for end in ends[:3]]
        assert shown == [own[f"{effect}{end}"] for end in ends]
        assert row["everywhere"] == by_place.loc[("all", row["layer"], row["head"]), effect]
        assert (row["rank"], row["heads"], row["accuracy"]) == (rank, 3, 0.6)
        assert row["sentences"] == own["predicted_sentences" if effect == "loss" else "sentences"]
        # There are fewer than 30 masked pieces of `det`, and fewer than 30 sentences with its words.
        is_tested = row["relation"] == "obj"
        assert (row["p"], row.get("p_holm")) == (pytest.approx(rank / 3), pytest.approx(2 / 3) if is_tested else None)


def test_a_head_beats_position_with_its_whole_interval() -> None:
    gains = pd.DataFrame({"heldout_gain_low": [0.0, 1e-9, -0.1, np.nan]})
    assert beats_position(gains).tolist() == [False, True, False, False]


def test_a_head_with_the_mean_effect_of_its_layer_is_not_above_it():
    heads = pd.DataFrame({"layer": [1, 1, 1], "head": [1, 2, 3], "l2": [0.1, 0.2, 0.3]})
    rows = [{"difference": found, "layer": 1, "place": 0, "all_ranks": [0, 0.5, 1]} for found in (0.2, 0.0, -0.1)]
    assert summary_of("l2", rows, heads, None, 0)["above"] == 1


def test_effects_are_correlated_with_the_accuracy_for_all_words_and_with_importance():
    heads = pd.DataFrame({"layer": [1, 1, 1], "head": [1, 2, 3], "l2": [0.1, 0.2, 0.3], "importance": [3.0, 1.0, 2.0]})
    cells = pd.concat(
        heads[["layer", "head"]].assign(relation=name, direction=way, accuracy=accuracies)
        for name, way, accuracies in (
            ("all", "dep->head", [0.1, 0.4, 0.3]),
            ("all", "head->dep", [0.2, 0.0, 0.5]),  # the better directions give 0.2, 0.4, 0.5
            ("obj", "dep->head", [0.9, 0.5, 0.1]),
        )
    )
    summary = summary_of("l2", [], heads, made_results(cells, pd.DataFrame()), 0)
    assert (summary["rho_accuracy"], summary["rho_importance"]) == (pytest.approx(1), pytest.approx(-0.5))
    without = summary_of("l2", [], heads.drop(columns="importance"), None, 0)
    assert np.isnan([without["rho_accuracy"], without["rho_importance"], without["p"]]).all()


def test_only_random_orders_have_a_range():
    drawn = [("effect", 0, 0.1), ("random", 0, 0.2), ("random", 1, 0.5), ("random", 2, 0.2)]
    rows = [
        {"order": order, "seed": seed, "heads": 3, "effect": "l2", "value": value, "total": 9}
        for order, seed, value in drawn
    ]
    effect, random = pruning_table(rows, 12).to_dict("records")
    assert (effect["value"], effect["share"], effect["total"]) == (0.1, 0.25, 9)
    assert np.isnan([effect["low"], effect["high"]]).all()
    assert (random["value"], random["low"], random["high"]) == pytest.approx((0.3, 0.2, 0.5))

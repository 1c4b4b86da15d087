"""What the page says of best heads of relations has the numbers of their rows; rows of rare relations are gray."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd

from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.dependency.best_heads import best_table
from attentionology.analyses.dependency.findings import findings_of, strongest_rule
from attentionology.analyses.dependency.rows import DependencyResults
from attentionology.analyses.dependency.rules import Rules
from attentionology.analyses.shared.failures import FailureTables
from attentionology.analyses.shared.picks import READINGS
from attentionology.reports.explorer.contribution import join_contributions
from tests.dependency import explored_dependency, made_results
from tests.maps import counted_words
from tests.shown_tables import distinct_table, with_unit

WORDED = {"dep->head": "dependent → head", "head->dep": "head → dependent"}


def test_phrases_about_heads_have_the_numbers_of_their_relations(monkeypatch):
    monkeypatch.setattr("attentionology.analyses.dependency.best_heads.FEWEST_UNITS", 0)
    metric = counted_words()
    tables = metric.compute()
    best = distinct_table(tables.best[tables.best["relation"].isin(["det", "obj"])])
    results = made_results(tables.cells, best, min_count=1)
    phrases: dict[str, tuple[str, ...]] = {}
    for row in sorted(best.to_dict("records"), key=lambda row: -row["heldout_gain"]):
        head = f"{row['layer']}-{row['head']}"
        accuracy = with_unit(row, "accuracy accuracy_low accuracy_high", "%")
        gain, held_out = (
            with_unit(row, f"{name} {name}_low {name}_high", "points", "+") for name in ("gain", "heldout_gain")
        )
        phrase = (
            f"is the best head for {row['relation']} ({WORDED[row['direction']]}), with {accuracy} of {row['total']:,} "
            f"words, {gain} over the best fixed offset ({held_out} held out)"
        )
        phrases[head] = (*phrases.get(head, ()), phrase)
    assert explored_dependency(results, metric, "weight").phrases == phrases


def test_rows_of_rare_relations_are_gray_and_totals_stand_out():
    tables = counted_words().compute()
    best = tables.best
    frequent = best.loc[best["relation"] == "det", "total"].item()
    table = best_table(made_results(tables.cells, best, min_count=frequent))
    styles = {row["relation"]: table.style(row) for row in table.rows}
    assert styles["det"] == ""
    assert styles["all"] == "total"
    assert styles == {
        row["relation"]: " ".join(["rare"] * (row["total"] < frequent) + ["total"] * row["relation"].startswith("all"))
        for row in best.to_dict("records")
        if row["relation"] != "root"
    }


ENDS = ("", "_low", "_high")


def made_up(number, **changes):
    """A row of the table of best heads whose values tell which row and which column they are from."""
    names = ["accuracy", "gain", "heldout_gain", "tag_offset_gain", "tag_rule_gain"]
    columns = [name + end for name in names for end in ENDS]
    columns += ["offset_accuracy", "heldout_accuracy", "tag_offset_heldout", "tag_rule_heldout", "control_accuracy"]
    values = {name: (20 * number + index) / 1000 for index, name in enumerate(columns)}
    direction = ("dep->head", "head->dep")[number % 2]
    head = {
        "relation": f"r{number}",
        "layer": number,
        "head": number + 1,
        "direction": direction,
        "total": 1000 + number,
        "offset": -2,
    }
    return {**head, **values, **changes}


def leads_to(row, show=""):
    measure = f"dependency/{row['relation']}/{row['direction']}/accuracy/norm"
    where = f"#head={row['layer']}-{row['head']}&measure={measure}&kind=norm&relation={row['relation']}"
    return f"{where}&direction={row['direction']}{show}"


def said_of(frequent, certain, best=(), **values):
    """What is said of rows, with the addresses."""
    if certain and "tag_rule_gain" in certain[0]:
        values["rules"] = Rules(RULES_OF_ALL, pd.DataFrame())
    made = made_results(pd.DataFrame(), pd.DataFrame([*(best or [{"relation": "r1"}])]), min_count=7, **values)
    of_these = type("OfTheseRows", (DependencyResults,), {"frequent": frequent, "certain": certain})
    object.__setattr__(made, "__class__", of_these)
    counts = SimpleNamespace(metric=SimpleNamespace(directions=READINGS))
    others = [each.explore(answer, counts, made, "norm") for each, answer in Dependency().pair_answers(made)[1:]]
    return [(found.text, found.address) for found in (*findings_of(made, "norm"), *join_contributions(others).findings)]


RULES_OF_ALL = pd.DataFrame(
    [
        ("r1", "NOUN", 9, +1, "before", "VERB"),
        ("r2", "NOUN", 2, +1, "before", "ADP"),
        ("r2", "PRON", 3, +2, "after", "AUX"),
        ("r2", "ADV", 2, +2, "before", "ADP"),
    ],
    columns=["relation", "tag", "total", "offset", "side", "nearest"],
)


def test_the_strongest_rule_is_that_which_finds_most_and_heads_must_beat_all_of_them():
    row = {"relation": "r2", "offset": -2, "heldout_accuracy": 0.7}
    for name, rate, low, high in (
        ("heldout", 0.4, 0.2, 0.4),
        ("tag_offset", 0.5, 0.1, 0.3),
        ("tag_rule", 0.6, 0.05, 0.15),
    ):
        row |= {f"{name}_heldout": rate, f"{name}_gain": 0.7 - rate, f"{name}_gain_low": low, f"{name}_gain_high": high}
    row |= {"gain": 0.15, "gain_low": 0.1, "gain_high": 0.2}
    found = strongest_rule(row, RULES_OF_ALL)
    assert (found.name, found.rate, found.side) == ("“the nearest adposition before” for most words", 0.6, 1)
    assert found.gain == (0.7 - 0.6, 0.05, 0.15)
    alone = strongest_rule({**row, "relation": "r1"}, RULES_OF_ALL)
    assert alone.name == "“the nearest verb before”"
    offset = strongest_rule({**row, "tag_offset_heldout": 0.65}, RULES_OF_ALL)
    assert offset.name == "the best distance by part of speech (+2, for most words)"
    without = strongest_rule(row, None)
    assert (without.name, without.rate) == ("the fixed offset -2", 0.7 - (0.7 - 0.4))
    assert strongest_rule({**row, "relation": "group"}, RULES_OF_ALL).name == "a rule by part of speech"
    for name in ("heldout", "tag_offset", "tag_rule", ""):
        prefix = f"{name}_gain" if name else "gain"
        unclear = {**row, f"{prefix}_low": -0.01}
        assert strongest_rule(unclear, RULES_OF_ALL).side == 0, name
        if name.startswith("tag"):
            worse = {**unclear, f"{prefix}_high": -0.005}
            assert strongest_rule(worse, RULES_OF_ALL).side == -1


def test_what_heads_find_stands_beside_the_strongest_rule():
    """Rules that beat the head of a relation that gains most over an offset come first."""
    low = {"tag_rule_gain": -0.2, "tag_rule_gain_low": -0.3, "tag_rule_gain_high": -0.1, "tag_rule_heldout": 0.912}
    rows = [made_up(number, heldout_accuracy=0.7, tag_offset_heldout=0.1, **low) for number in range(1, 6)]
    rows[4] |= {"tag_rule_gain": 0.3, "tag_rule_gain_low": 0.2, "tag_rule_gain_high": 0.4, "tag_rule_heldout": 0.4}
    (text, address), *_ = said_of(rows, rows)
    assert text == (
        "1 of 5 relations with at least 7 words is clearly found better by a head than by every rule (r5: 70.0 % by "
        "head 5-6, 59.4 % by the fixed offset -2, +10.6 points [10.7, 10.8]), and 4 clearly worse (r4: 70.0 % by head "
        "4-5, 91.2 % by a rule by part of speech, -20.0 points [-30.0, -10.0]; r3: 70.0 % by head 3-4, 91.2 % by a "
        "rule by part of speech, -20.0 points [-30.0, -10.0]; …); heads and rules are chosen on one half and scored on "
        "the other."
    )
    assert address == leads_to(rows[4])
    worse, second = said_of(rows[:1], rows[:1])[:2]
    assert worse == (
        "0 of 1 relation with at least 7 words is clearly found better by a head than by every rule, and 1 clearly "
        "worse (r1: 70.0 % by head 1-2, 91.2 % by “the nearest verb before”, -20.0 points [-30.0, -10.0]); heads and "
        "rules are chosen on one half and scored on the other.",
        leads_to(rows[0]),
    )
    assert second[0].endswith(
        "rules find: r1 70.0 % by head 1-2 (offset 67.4 %, +2.6 points [2.7, 2.8]; strongest rule 91.2 %)."
    )


def test_without_rules_that_know_parts_of_speech_the_offset_is_the_strongest():
    rows = [made_up(number, heldout_accuracy=0.7) for number in range(1, 12)]
    for row in rows:
        del row["tag_rule_gain"], row["tag_rule_heldout"]
    rows[8]["gain_low"] = -1.0
    (found,) = said_of(rows, rows)
    assert found[0].startswith(
        "10 of 11 relations with at least 7 words are clearly found better by a head than by the"
    )
    assert "best fixed offset (r11: 70.0 % by head 11-12, 47.4 % by the fixed offset -2, +22.6 points" in found[0]
    assert found[0].count(" by head ") == 3
    assert found[1] == leads_to(rows[10])
    assert said_of([], []) == []


def test_best_heads_are_compared_with_those_of_random_copies():
    rows = [made_up(number, accuracy=accuracy) for number, accuracy in ((1, 0.5), (2, 0.8), (3, 0.6))]
    rows[2]["control_accuracy"] = 0.58
    control = 100 * sum(row["control_accuracy"] for row in rows) / 3
    for certain, which in (
        (rows, "the 3 relations in which one head beats the offset"),
        (rows[:1], "the one relation in which one head beats the offset"),
        ([], "the 3 relations with at least 7 words"),
    ):
        averages = (100 * rows[0]["control_accuracy"], 50) if len(certain) == 1 else (control, 190 / 3)
        of_these = certain or rows
        heldout = sum(row["heldout_accuracy"] for row in of_these) / len(of_these)
        by_tag = ("tag_offset_heldout", "tag_rule_heldout") if certain else ()  # `said_of` has rules for certain rows
        rules = [
            max(row["heldout_accuracy"] - row["heldout_gain"], *(row[name] for name in by_tag), -1) for row in of_these
        ]
        beside = f"{100 * heldout:.1f} % held out, and {100 * sum(rules) / len(rules):.1f} % by the strongest rules."
        for copies, of in ((1, "a copy"), (2, "2 copies")):
            text, address = said_of(rows, certain, rows, controls=(pd.DataFrame(),) * copies)[-1]
            assert text == (
                f"{averages[0]:.1f} % on average is what the best heads of {of} of the model with random weights reach "
                f"for {which}, where those of the model reach {averages[1]:.1f} % on the same text; {beside}"
            )
            assert address == leads_to(max(certain or rows[:1], key=lambda row: row["heldout_gain"]))


def test_ensembles_are_named_by_their_gain():
    rows = [made_up(number) for number in (1, 2, 3, 4, 5)]
    ensembles = pd.DataFrame(rows)[["relation", "total"]].assign(
        heads=["1-1→", "2-1→", "3-1→", "4-1→", "5-1→"], heldout_accuracy=[0.51, 0.52, 0.53, 0.54, 0.55],
        single_accuracy=[0.41, 0.42, 0.43, 0.44, 0.45], gain=[0.1, 0.4, 0.5, 0.2, 0.3],
        gain_low=[0.01, 0.02, 0.0, 0.04, 0.05], gain_high=[0.61, 0.62, 0.63, 0.64, 0.65],
    )  # fmt: skip
    (found,) = [found for found in said_of(rows, rows, rows, ensembles=ensembles) if "averaged maps" in found[0]]
    assert found[0].startswith(
        "4 of 5 relations with at least 7 words are found more often by averaged maps of several"
    )
    rules = [f"{100 * strongest_rule(row, RULES_OF_ALL).rate:.1f} % by " for row in rows]
    assert f": r2 by 2-1→ (52.0 % of 1,002 words, one head 42.0 %, {rules[1]}" in found[0]
    assert f"; +40.0 points [2.0, 62.0]); r5 by 5-1→ (55.0 % of 1,005 words, one head 45.0 %, {rules[4]}" in found[0]
    assert f"; +30.0 points [5.0, 65.0]); r4 by 4-1→ (54.0 % of 1,004 words, one head 44.0 %, {rules[3]}" in found[0]
    assert found[0].endswith("; +20.0 points [4.0, 64.0]); …")
    assert found[1] == leads_to(rows[1])
    alone = said_of(rows, rows, rows, ensembles=ensembles.iloc[2:3])
    none = "0 of 1 relation with at least 7 words is clearly found more often by averaged maps of several heads than"
    assert (f"{none} by one head.", leads_to(rows[2])) in alone
    assert not [text for text, _ in said_of(rows, rows, rows, ensembles=ensembles[:0]) if "averaged" in text]


def test_three_mistakes_are_named_and_the_first_is_shown():
    rows = [made_up(number) for number in (1, 2, 3, 4)]
    kinds = ("sibling", "none", "out of reach", "dependent")
    texts = (
        "another dependent of its head",
        "nothing",
        "a word although it cannot see the head",
        "a dependent of the word",
    )
    shares = {"share": 0.3, "share_low": 0.25, "share_high": 0.35}
    offset = {"offset_share": 0.125, "offset_low": 0.1, "offset_high": 0.15}
    picked = [
        {**row, "picked": name, "count": count, **shares, **offset}
        for row, kind in zip(rows, kinds, strict=True)
        for name, count in (("head", 900), (kind, 300))
    ]
    for first, show in ((0, "&show=wrong:sibling"), (1, "&show=wrong"), (2, "&show=wrong")):
        shown = said_of(rows[first:], rows[first:], failures=FailureTables(pd.DataFrame(), pd.DataFrame(picked)))[-1]
        named = "; ".join(
            f"30.0 % [25.0, 35.0] of {row['total']:,} words with {row['relation']}, for which head {row['layer']}-"
            f"{row['head']} picks {text} (the best fixed offset: 12.5 % [10.0, 15.0])"
            for row, text in list(zip(rows, texts, strict=True))[first : first + 3]
        )
        assert shown == (f"{named}: the most frequent mistakes of the best heads.", leads_to(rows[first], show))

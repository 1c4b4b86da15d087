"""What the page says of best heads of relations has the numbers of their rows; rows of rare relations are gray."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd

from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.dependency.best_heads import best_table, findings_of
from attentionology.analyses.dependency.decisions import READINGS
from attentionology.analyses.dependency.rows import DependencyResults
from attentionology.analyses.dependency.rules import Rules
from attentionology.analyses.shared.failures import FailureTables
from attentionology.reports.explorer.contribution import together
from tests.dependency import explored_dependency, made_results
from tests.maps import counted_words
from tests.shown_tables import as_shown, distinct, with_unit

WORDED = {"dep->head": "dependent → head", "head->dep": "head → dependent"}


def test_phrases_about_heads_have_the_numbers_of_their_relations(monkeypatch):
    monkeypatch.setattr("attentionology.analyses.dependency.best_heads.FEWEST_UNITS", 0)
    metric = counted_words()
    tables = metric.compute()
    best = distinct(tables.best[tables.best["relation"].isin(["det", "obj"])])
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
    names = ["accuracy", "heldout_gain", "tag_offset_gain", "tag_rule_gain"]
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
    }
    return {**head, **values, **changes}


def leads_to(row, show=""):
    measure = f"dependency/{row['relation']}/{row['direction']}/accuracy/norm"
    where = f"#head={row['layer']}-{row['head']}&measure={measure}&kind=norm&relation={row['relation']}"
    return f"{where}&direction={row['direction']}{show}"


def said_of(frequent, certain, best=(), **values):
    """What is said of rows, with the addresses."""
    if certain and "tag_rule_gain" in certain[0]:
        values["rules"] = Rules(pd.DataFrame(), pd.DataFrame())
    made = made_results(pd.DataFrame(), pd.DataFrame([*(best or [{"relation": "r1"}])]), min_count=7, **values)
    of_these = type("OfTheseRows", (DependencyResults,), {"frequent": frequent, "certain": certain})
    object.__setattr__(made, "__class__", of_these)
    counts = SimpleNamespace(metric=SimpleNamespace(directions=READINGS))
    others = [each.explore(answer, counts, made, "norm") for each, answer in Dependency().asked(made)[1:]]
    return [(found.text, found.address) for found in (*findings_of(made, "norm"), *together(others).findings)]


def test_the_three_largest_held_out_gains_are_named_and_six_relations_without():
    rows = [made_up(number) for number in range(1, 12)]
    rows[8]["heldout_gain"] = -1.0  # those without a head are in the order of their words
    certain = [{**row, "heldout_gain": gain} for row, gain in zip(rows, (0.1, 0.4, 0.2, 0.3), strict=False)]
    for row in certain:
        del row["tag_rule_gain"]
    found, missed = said_of([*certain, *rows[4:]], certain)
    named = "; ".join(
        f"{row['relation']} by head {row['layer']}-{row['head']} "
        f"({with_unit(row, 'accuracy accuracy_low accuracy_high', '%')}, fixed offset "
        f"{as_shown(row, 'offset_accuracy')} %; held out "
        f"{with_unit(row, 'heldout_gain heldout_gain_low heldout_gain_high', 'points', '+')})"
        for row in (certain[1], certain[3], certain[2])
    )
    assert found == (
        "For 4 of 11 relations with at least 7 words, one head finds the other word more often than the best fixed "
        "offset, and heads that were chosen on one half of the text still do on the other. The largest held-out gains: "
        f"{named}.",
        leads_to(certain[1]),
    )
    none = "relations with at least 7 words, no head is clearly better than the best fixed offset: "
    assert missed == (f"For 7 of 11 {none}r11, r10, r9, r8, r7, r6, ….", leads_to(rows[-1]))
    assert said_of(rows[:6], []) == [(f"For 6 of 6 {none}r6, r5, r4, r3, r2, r1.", leads_to(rows[5]))]
    assert said_of(rows[:1], [])[0][0].startswith("For 1 of 1 relation with at least 7 words")
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
        for copies, of in ((1, "a copy"), (2, "2 copies")):
            text, address = said_of(rows, certain, rows, controls=(pd.DataFrame(),) * copies)[-1]
            assert text == (
                f"In {of} of the model with random weights, the best heads for {which} reach {averages[0]:.1f} % on "
                f"average, where those of the model reach {averages[1]:.1f} %."
            )
            assert not address  # no view shows the heads of random weights


def test_rules_that_know_parts_of_speech_are_named_by_the_better_one():
    less = {"tag_offset_gain": 0.1, "tag_rule_gain": -0.1, "tag_rule_gain_low": -0.2, "tag_rule_gain_high": -0.05}
    rows = [made_up(number, heldout_gain=1 - number / 10) for number in (1, 2, 3, 4)]

    def told(row, rule="tag_offset"):
        gain = with_unit(row, " ".join(f"{rule}_gain{end}" for end in ENDS), "points", "+")
        head = f"head {row['layer']}-{row['head']} {as_shown(row, 'heldout_accuracy')} %"
        return f"{row['relation']} ({head}, rule {as_shown(row, f'{rule}_heldout')} %; {gain})"

    def said(rows):
        (found,) = [found for found in said_of(rows, rows) if "parts of speech" in found[0]]
        return found[0].partition("scored on the other)")[2], found[1]

    three = "; ".join(told(row) for row in rows[:3])
    assert said(rows) == (f": {three}; …", leads_to(rows[0]))
    assert said(rows[:3]) == (f": {three}.", leads_to(rows[0]))
    worse = [{**row, **less} for row in rows[:2]]
    both = f": {told(rows[2])}. In 2, such a rule finds more than the head: "
    assert said([*worse, rows[2]]) == (
        both + "; ".join(told(row, "tag_rule") for row in worse) + ".",
        leads_to(rows[2]),
    )
    assert said(worse)[1] == leads_to(worse[0])
    neither = [{**row, "tag_rule_gain_low": -0.01} for row in rows[:2]]
    assert said(neither) == (".", leads_to(neither[0]))
    for some, start in ((rows, "In 4 of the 4 relations in which"), (rows[:1], "In the one relation in which")):
        assert sum(text.startswith(start) for text, _ in said_of(some, some)) == 1


def test_ensembles_are_named_by_their_gain():
    rows = [made_up(number) for number in (1, 2, 3, 4, 5)]
    ensembles = pd.DataFrame(rows)[["relation", "total"]].assign(
        heads=["1-1→", "2-1→", "3-1→", "4-1→", "5-1→"], heldout_accuracy=[0.51, 0.52, 0.53, 0.54, 0.55],
        single_accuracy=[0.41, 0.42, 0.43, 0.44, 0.45], gain=[0.1, 0.4, 0.5, 0.2, 0.3],
        gain_low=[0.01, 0.02, 0.0, 0.04, 0.05], gain_high=[0.61, 0.62, 0.63, 0.64, 0.65],
    )  # fmt: skip
    (found,) = [found for found in said_of(rows, rows, rows, ensembles=ensembles) if "averaged maps" in found[0]]
    assert found[0].startswith("For 4 of 5 relations with at least 7 words, averaged maps of several heads find more")
    assert found[0].endswith(
        "The largest gains: r2 by 2-1→ (52.0 % of 1,002 words, one head 42.0 %; +40.0 points [2.0, 62.0]); "
        "r5 by 5-1→ (55.0 % of 1,005 words, one head 45.0 %; +30.0 points [5.0, 65.0]); "
        "r4 by 4-1→ (54.0 % of 1,004 words, one head 44.0 %; +20.0 points [4.0, 64.0])."
    )
    assert found[1] == leads_to(rows[1])
    alone = said_of(rows, rows, rows, ensembles=ensembles.iloc[2:3])
    none = "For none of 1 relation with at least 7 words, averaged maps of several heads clearly find more words than"
    assert (f"{none} one head.", leads_to(rows[2])) in alone
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
        shown = said_of(rows[first:], rows, failures=FailureTables(pd.DataFrame(), pd.DataFrame(picked)))[-1]
        named = "; ".join(
            f"for {row['relation']}, head {row['layer']}-{row['head']} picks {text} for 30.0 % [25.0, 35.0] of "
            f"{row['total']:,} words (the best fixed offset: 12.5 % [10.0, 15.0])"
            for row, text in list(zip(rows, texts, strict=True))[first : first + 3]
        )
        assert shown == (f"The most frequent mistakes of the best heads: {named}.", leads_to(rows[first], show))

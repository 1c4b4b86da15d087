"""What the page says of best heads of relations has the numbers of their rows; rows of rare relations are gray."""

from __future__ import annotations

from attentionology.analyses.dependency.explored import explored_dependency
from attentionology.analyses.dependency.section import DependencyResults, best_table
from tests.maps import counted_words
from tests.shown_tables import distinct, with_unit
from tests.unit.test_shown_dependency import WORDED


def test_phrases_about_heads_have_the_numbers_of_their_relations():
    metric = counted_words()
    tables = metric.compute()
    best = distinct(tables.best[tables.best["relation"].isin(["det", "obj"])])
    results = DependencyResults(tables.cells, best, min_count=1)
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
    table = best_table(DependencyResults(tables.cells, best, min_count=frequent))
    styles = {row["relation"]: table.style(row) for row in table.rows}
    assert styles["det"] == ""
    assert styles["all"] == "total"
    assert styles == {
        row["relation"]: " ".join(["rare"] * (row["total"] < frequent) + ["total"] * row["relation"].startswith("all"))
        for row in best.to_dict("records")
        if row["relation"] != "root"
    }

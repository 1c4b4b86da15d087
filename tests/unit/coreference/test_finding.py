"""The finding about the best head for antecedents says what the row of that head says."""

from __future__ import annotations

from attentionology.analyses.coreference.explored import explored_coreference
from attentionology.analyses.coreference.shown_tables import CoreferenceResults
from tests.documents import counted_mentions
from tests.shown_tables import as_shown, distinct


def test_the_finding_has_the_numbers_of_the_best_head():
    metric = counted_mentions()
    tables = metric.compute()
    best = distinct(tables.best[tables.best["type"] == "all"])
    (row,) = best[best["candidates"] == best["candidates"].iloc[0]].to_dict("records")
    (finding, *_) = explored_coreference(
        CoreferenceResults(tables._replace(best=best), min_count=1), metric, "weight"
    ).findings
    accuracy = as_shown(row, "accuracy accuracy_low accuracy_high").replace(" ", " % ", 1)
    rules, held_out = (as_shown(row, f"{name}_accuracy") for name in ("rule_based", "heldout"))
    gain = as_shown(row, "heldout_gain heldout_gain_low heldout_gain_high", "+").replace(" ", " points ", 1)
    assert finding.text == (
        f"Head {row['layer']}-{row['head']} finds an antecedent of {accuracy} of {row['total']:,} mentions, and the "
        f"rules of {rules} %. Held out, the best heads have {held_out} %, more than the rules ({gain})."
    )

"""The columns of all tables of probes."""

from __future__ import annotations

from ...reports.columns import Explored, Schema, TableColumn, bar, bounds
from ...reports.format import ARROWS, head_name, named_head
from ...reports.format import direction as shown_direction

_LABEL = "{probe}, {arrow}"
"""The name of the measure of a column in the explorer."""

PROBE = Schema(
    "probe",
    "One row per method and way of decoding.",
    (
        TableColumn("method", "text", "the probe or baseline", "method"),
        TableColumn("decoding", "text", "`argmax`: the best candidate of each word; `tree`: the best tree"),
        TableColumn("runs", "count", "training runs with different seeds"),
        TableColumn("correct", "count", "found words, without punctuation, added up over all runs"),
        TableColumn("total", "count", "scored words, without punctuation, of each run"),
        bar("uas", "control_accuracy"),
        TableColumn(
            "uas uas_low uas_high",
            "share",
            "the mean over runs: `correct` / (`total` × `runs`); intervals over sentences",
            "UAS",
            beside=bounds("uas"),
        ),
        TableColumn(
            "uas_sd",
            "share",
            "the standard deviation of the UAS over runs",
            "sd over runs",
            terminal="sd",
            optional=True,
        ),
        TableColumn("uas_all", "share", "the UAS with punctuation", "with punctuation", room="page"),
        TableColumn("uas_noroot", "share", "the UAS without punctuation and roots", "without roots", room="page"),
        TableColumn("control_accuracy", "share", "the accuracy on the control task", "control task", optional=True),
        TableColumn("control_sd", "share", "its standard deviation over runs"),
        TableColumn("selectivity", "points", "`uas` − `control_accuracy`", "selectivity", optional=True),
        TableColumn("paper_uas", "share", "the UAS of the paper, if it has one for this model", "paper", optional=True),
    ),
)

PROBE_RUNS = Schema(
    "probe_runs",
    "One row per method, task, way of decoding and run.",
    (
        TableColumn("method decoding", "text", "as in `probe.csv`"),
        TableColumn("task", "text", "`dependencies`, or `control` for the control task"),
        TableColumn("run", "number from 1", "the training run"),
        TableColumn("correct total", "count", "found and scored words, without punctuation"),
        TableColumn("uas", "share", "`correct` / `total`"),
        TableColumn("correct_all total_all", "count", "the same with punctuation"),
        TableColumn("correct_noroot total_noroot", "count", "the same without punctuation and roots"),
    ),
)

PROBE_BY_RELATION = Schema(
    "probe_by_relation",
    "One row per method, way of decoding and relation.",
    (
        TableColumn("method decoding", "text", "as in `probe.csv`"),
        TableColumn("relation", "text", "the relation"),
        TableColumn("runs", "count", "training runs"),
        TableColumn("correct", "count", "found words of the relation, added up over all runs"),
        TableColumn("total", "count", "scored words of the relation, of each run"),
        TableColumn("uas", "share", "the mean over runs: `correct` / (`total` × `runs`)"),
    ),
)

PROBE_BY_LENGTH = Schema(
    "probe_by_length",
    "One row per method, way of decoding and length of the arc.",
    (
        TableColumn("method decoding", "text", "as in `probe.csv`"),
        TableColumn("length", "count", "the distance between a word and its syntactic head in words; 0 for roots"),
        TableColumn("runs", "count", "training runs"),
        TableColumn("correct", "count", "found words at this distance, added up over all runs"),
        TableColumn("total", "count", "scored words at this distance, of each run"),
        TableColumn("uas", "share", "the mean over runs: `correct` / (`total` × `runs`)"),
    ),
)

PROBE_CONTRASTS = Schema(
    "probe_contrasts",
    "One row per pair of methods.",
    (
        TableColumn("first", "text", "the first method", "difference of"),
        TableColumn("second", "text", "the second method", "and"),
        TableColumn(
            "difference low high",
            "points",
            "the UAS of the first minus that of the second; the interval is paired",
            "points of UAS",
            beside=bounds(),
        ),
    ),
)

PROBE_TRAINING = Schema(
    "probe_training",
    "One row per method, task, run, fold and epoch.",
    (
        TableColumn("method task", "text", "as in `probe_runs.csv`"),
        TableColumn("run fold epoch", "number from 1", "the training run, the fold and the epoch"),
        TableColumn("loss", "nats", "the mean cross-entropy of a word"),
        TableColumn("train_uas dev_uas", "share", "the UAS on training and dev sentences; empty without dev sentences"),
    ),
)

PROBE_WEIGHTS = Schema(
    "probe_weights",
    "One row per probe that reads attention, direction, layer and head.",
    (
        TableColumn("probe", "text", "the probe"),
        TableColumn("layer head", "number from 1", "the attention head", "head", cell=named_head),
        TableColumn(
            "direction", "text", "the direction to which the weight belongs", "direction", cell=shown_direction
        ),
        TableColumn(
            "weight",
            "number",
            "the weight of the head, as a mean over runs and arcs",
            "weight",
            digits=2,
            explored=Explored("Weight in the probe", _LABEL, center=0),
        ),
        TableColumn(
            "weight_sd",
            "number",
            "its standard deviation over runs; empty with one run",
            "sd over runs",
            digits=2,
            optional=True,
        ),
        TableColumn(
            "contribution",
            "number",
            "the mean of weight times attention on the tested arcs",
            "weight × attention",
            digits=2,
            explored=Explored("Contribution to the probe", _LABEL, center=0),
        ),
        TableColumn(
            "correct total", "count", "training words whose syntactic head this head finds by itself, and all of them"
        ),
        TableColumn(
            "accuracy",
            "share",
            "`correct` / `total`",
            "accuracy of the head alone",
            explored=Explored(
                "Accuracy alone",
                _LABEL,
                "The share of words of the training sentences whose syntactic head this head alone finds.",
                counted="total",
            ),
        ),
    ),
)

PROBE_WEIGHTS_BY_RELATION = Schema(
    "probe_weights_by_relation",
    "One row per probe and relation: the heads that matter most to it.",
    (
        TableColumn("probe", "text", "the probe"),
        TableColumn("relation", "text", "the relation", "relation"),
        TableColumn("arcs", "count", "tested arcs of the relation", "arcs"),
        TableColumn(
            "weight_layer weight_head",
            "number from 1",
            "the head with the largest mean weight",
            "largest weight",
            cell=lambda row: head_name(row["weight_layer"], row["weight_head"]),
        ),
        TableColumn(
            "weight_direction", "text", "its direction", "direction", cell=lambda row: ARROWS[row["weight_direction"]]
        ),
        TableColumn("weight", "number", "its weight", "weight", digits=2),
        TableColumn(
            "contribution_layer contribution_head",
            "number from 1",
            "the head with the largest contribution",
            "largest weight × attention",
            cell=lambda row: head_name(row["contribution_layer"], row["contribution_head"]),
        ),
        TableColumn(
            "contribution_direction",
            "text",
            "its direction",
            "direction of this head",
            cell=lambda row: ARROWS[row["contribution_direction"]],
        ),
        TableColumn("contribution", "number", "its contribution", "weight × attention", digits=2),
    ),
)

PROBE_WEIGHTS_CORRELATION = Schema(
    "probe_weights_correlation",
    "One row per probe and measure: whether the heads that a probe uses are those that know most by themselves.",
    (
        TableColumn("probe", "text", "the probe"),
        TableColumn("of", "text", "what is correlated with the accuracy of the head alone: `weight` or `contribution`"),
        TableColumn("heads", "count", "heads and directions"),
        TableColumn(
            "spearman pearson", "number, −1 to 1", "the correlations; empty for fewer than five heads and directions"
        ),
    ),
)

SCHEMAS = (
    PROBE,
    PROBE_RUNS,
    PROBE_BY_RELATION,
    PROBE_BY_LENGTH,
    PROBE_CONTRASTS,
    PROBE_TRAINING,
    PROBE_WEIGHTS,
    PROBE_WEIGHTS_BY_RELATION,
    PROBE_WEIGHTS_CORRELATION,
)
"""The tables that ``probe`` writes."""

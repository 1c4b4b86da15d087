"""How did the training runs go? The score of each run, and the loss and the scores of each epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ...probes.registry import RANDOM
from ...reports.columns import Schema, TableColumn
from ...reports.drawing import GREY, MARKERS, TEXT, finish, panels, series_label, ticks, with_style
from ..counting.best_head import rate
from .methods import color
from .rows import Attempt, ProbeQuestion, ProbeResults, Tested, TestedWords
from .trainings.folds import TrainedEpoch

if TYPE_CHECKING:
    from .trainings.training import Kept

RUNS = Schema(
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

TRAINING = Schema(
    "probe_training",
    "One row per method, task, run, fold and epoch.",
    (
        TableColumn("method task", "text", "as in `probe_runs.csv`"),
        TableColumn("run fold epoch", "number from 1", "the training run, the fold and the epoch"),
        TableColumn("loss", "nats", "the mean cross-entropy of a word"),
        TableColumn("train_uas dev_uas", "share", "the UAS on training and dev sentences; empty without dev sentences"),
    ),
)


class RunTables(NamedTuple):
    """The answer: one row per run in ``scores``, and one row per epoch in ``history``."""

    scores: pd.DataFrame
    history: pd.DataFrame


class Runs(ProbeQuestion):
    """How did the training runs go?"""

    name = "runs"
    tables = (RUNS, TRAINING)
    template = Path(__file__).with_name("runs.html.j2")

    def look(self, lookup_context: Kept) -> list[dict[str, Any]]:
        """Keep what was measured in each epoch of each training."""
        return [asdict(epoch) for outcome in lookup_context.trained.outcomes for epoch in outcome.history]

    def join(self, lookups: Sequence[Any]) -> Any:
        """Return the history of the first of merged runs, which were trained on the same sentences."""
        return next(iter(lookups), ())

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> RunTables:
        """Return the score of each run, and what was measured in each epoch."""
        scores = pd.DataFrame([_run_row(counts.words, attempt) for attempt in counts.attempts])
        return RunTables(scores, pd.DataFrame(lookups, columns=[each.name for each in fields(TrainedEpoch)]))

    def frames(self, answer: RunTables, results: ProbeResults) -> Mapping[str, pd.DataFrame]:
        """Return both tables."""
        return {RUNS.name: answer.scores, TRAINING.name: answer.history}

    def draw(self, answer: RunTables, results: ProbeResults, title: str) -> Mapping[str, Figure]:
        """Draw the history."""
        return {"probe_training": training_figure(answer.history, title=title)} if len(answer.history) else {}


def _run_row(words: TestedWords, attempt: Attempt) -> dict[str, Any]:
    """Return the row of one attempt."""
    correct, total = int(attempt.right[words.scored].sum()), int(words.scored.sum())
    return {
        "method": attempt.method,
        "task": attempt.task,
        "decoding": attempt.decoding,
        "run": attempt.run,
        "correct": correct,
        "total": total,
        "uas": rate(correct, total),
        "correct_all": int(attempt.right[words.known].sum()),
        "total_all": int(words.known.sum()),
        "correct_noroot": int(attempt.right[words.noroot].sum()),
        "total_noroot": int(words.noroot.sum()),
    }


@with_style
def training_figure(history: pd.DataFrame, *, title: str) -> Figure:
    """Draw loss and scores by epoch, a line for each run; dots where there is one epoch."""
    epochs = history[(history["task"] == "dependencies") & (history["fold"] == 1)]
    last = int(epochs["epoch"].max())
    figure, ((loss_axes, train_axes, dev_axes),) = panels(TEXT, 2.8, columns=3)
    for axes, column, label, factor in (
        (loss_axes, "loss", "loss per word (nats)", 1),
        (train_axes, "train_uas", "UAS in training (%)", 100),
        (dev_axes, "dev_uas", "dev UAS (%)", 100),
    ):
        methods = list(dict.fromkeys(epochs["method"]))
        for (method, run), rows in epochs.groupby(["method", "run"], sort=False):
            is_random = str(method).endswith(RANDOM)
            axes.plot(
                rows["epoch"],
                factor * rows[column].astype(float),
                marker=MARKERS[methods.index(method) % len(MARKERS)],
                markersize=3,
                linewidth=0.8,
                linestyle=":" if is_random else "-",
                markerfacecolor="white" if is_random else None,
                color=color(str(method).removesuffix(RANDOM)),
                label=series_label(str(method)) if run == 1 else None,
            )
        axes.set_xlabel("epoch")
        axes.set_ylabel(label)
        axes.set_xticks([tick + 1 for tick in ticks(last)])
        axes.set_xlim(0.5, last + 0.5)
        if not epochs[column].notna().any():
            axes.text(0.5, 0.5, "no dev sentences", transform=axes.transAxes, ha="center", color=GREY)
            axes.set_yticks([])
    finish(figure, loss_axes, title)
    return figure

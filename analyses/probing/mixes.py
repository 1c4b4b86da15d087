"""Which layers does a mix of all of them weigh most? (Peters et al. 2018; Tenney et al. 2019)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from ...probes import LayerMix
from ...reports.columns import Schema, TableColumn
from ...reports.format import rows_of
from ...reports.table import ShownTable
from .rows import ProbeQuestion, ProbeResults, Tested
from .trainings.state_folds import GOLD, MODEL
from .trainings.training import Kept

MIXES = Schema(
    "probe_mix",
    "With `--layers mix`. One row per probe, training run, fold and layer that is mixed.",
    (
        TableColumn("probe", "text", "the probe, with what it learns", "probe"),
        TableColumn("run fold", "number from 1", "the training run and the fold"),
        TableColumn("layer", "count", "the layer, 0 for the output of the embedding block", "layer"),
        TableColumn("s", "number", "the learned s of the layer"),
        TableColumn("softmax_s", "share", "softmax(s), the weight of the layer", "softmax(s)"),
        TableColumn("mean_norm", "number", "the mean length of its states of training words", "mean ‖h‖", digits=2),
        TableColumn(
            "norm_weighted", "share", "the share of the layer in softmax(s) · mean ‖h‖", "norm-weighted",
            help="the share of the layer in softmax(s) · mean ‖h‖, because longer states weigh more in a mix",
        ),
        TableColumn("gamma", "number", "the learned factor γ of the mix", "γ", digits=2),
    ),
)  # fmt: skip


class Mixes(ProbeQuestion):
    """Which layers does a mix of all of them weigh most?"""

    name = "mixes"
    tables = (MIXES,)
    template = Path(__file__).with_name("mixes.html.j2")

    def look(self, lookup_context: Kept) -> list[dict[str, Any]] | None:
        """Keep what each training on the states of the model has learned of the layers."""
        mixes = [
            {"probe": outcome.tried[0].probe, **asdict(mix)}
            for outcome in lookup_context.trained.states.outcomes
            if (outcome.tried[0].source, outcome.tried[0].task) == (MODEL, GOLD)
            for mix in outcome.mixes
        ]
        return mixes or None

    def join(self, lookups: Sequence[Any]) -> Any:
        """Return the mixes of the first of merged runs, if all have the same, as they do of the same training data."""
        return lookups[0] if lookups and all(each == lookups[0] for each in lookups) else None

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the table; None without a mix."""
        return None if lookups is None else pd.DataFrame(list(_rows(lookups)), columns=MIXES.names)

    def frames(self, answer: pd.DataFrame, results: ProbeResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {MIXES.name: answer}

    def show(self, answer: pd.DataFrame, results: ProbeResults) -> Sequence[ShownTable]:
        """Return the mean over runs and folds."""
        means = answer.groupby(["probe", "layer"], sort=False).mean().reset_index()
        return (ShownTable(MIXES.name, "Weights of the layers in a mix (%)", MIXES.columns, rows_of(means)),)


def _rows(mixes: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the row of each layer of each mix."""
    for stored in mixes:
        mix = LayerMix(stored["layers"])
        with torch.no_grad():
            mix.s.copy_(torch.tensor(stored["s"]))
            mix.norms.copy_(torch.tensor(stored["norms"]))
        columns = zip(stored["layers"], stored["s"], mix.softmax, stored["norms"], mix.norm_weighted, strict=True)
        for row in columns:
            names = ("layer", "s", "softmax_s", "mean_norm", "norm_weighted")
            of_mix = {name: stored[name] for name in ("probe", "run", "fold", "gamma")}
            yield of_mix | dict(zip(names, row, strict=True))

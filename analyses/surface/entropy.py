"""How broadly do heads attend? The entropy of their rows, beside that of uniform attention."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact
from ...reports.format import percent
from ..shared.measures import names_of
from .figures import entropy_figure
from .rows import Statistics, SurfaceQuestion, SurfaceResults, measure_id


class Entropy(SurfaceQuestion):
    """How broadly does each head attend?"""

    name = "entropy"
    template = Path(__file__).with_name("entropy.html.j2")

    def find(self, counts: Statistics, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the entropies of all heads, which are columns of the main table."""
        return counts.tables.heads[["layer", "head", "entropy", "entropy_relative", "entropy_first"]]

    def draw(self, answer: pd.DataFrame, results: SurfaceResults, title: str) -> Mapping[str, Figure]:
        """Draw the entropy of each head."""
        return {"surface_entropy": entropy_figure(answer, results.tables.layers, results.specials, title=title)}

    def explore(self, answer: pd.DataFrame, counts: Statistics, results: SurfaceResults, kind: str) -> Contribution:
        """Add the entropy of each head to its card."""
        facts = {}
        for name, row in zip(names_of(answer), answer.to_dict("records"), strict=True):
            relative = percent(float(row["entropy_relative"]))
            text = f"{float(row['entropy']):.2f} nats, {relative} % of uniform attention"
            facts[name] = (Fact("entropy", text, measure_id("entropy", kind)),)
        return Contribution(facts=facts)

"""What did the paper find? Its scores beside those of the same model (Clark et al. 2019, Table 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ...reports.columns import TableColumn
from ..shared.published import published_probes
from .rows import ProbeQuestion, Tested


class Published(ProbeQuestion):
    """What did the paper find for the same model?"""

    name = "published"
    added = (
        TableColumn("paper_uas", "share", "the UAS of the paper, if it has one for this model", "paper", optional=True),
    )
    needs = ("scores",)

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the score of each method as a share; None if the model is not that of the paper."""
        published = published_probes(counts.facts.model)
        if published is None:
            return None
        methods = earlier["scores"]
        percent = methods["method"].map(dict(published))
        return pd.DataFrame({"paper_uas": percent.where(methods["decoding"] == "argmax") / 100})

    def columns(self, answer: pd.DataFrame) -> pd.DataFrame:
        """Return them as they are."""
        return answer

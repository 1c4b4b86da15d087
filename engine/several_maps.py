"""Combining the sections that one analysis has for several kinds of maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ..reports.page import Section


def with_kinds(sections: Sequence[tuple[str, Section]]) -> list[Section]:
    """Combine sections: the first one gets the tables of all kinds of maps, with a first column ``map``."""
    tables: dict[str, pd.DataFrame] = {}
    summary: dict[str, Any] = {}
    for kind, section in sections:
        for name, table in section.tables.items():
            labelled = table.assign(map=kind)[["map", *table.columns]]
            tables[name] = pd.concat([tables[name], labelled], ignore_index=True) if name in tables else labelled
        for name, rows in section.summary.items():
            summary.setdefault(name, []).extend({"map": kind, **row} for row in rows)
    combined = []
    for kind, section in sections:
        # Not every file system allows the colon of a kind such as rollout:norm.
        suffix, title = f"-{kind.replace(':', '-')}", f"{section.title} (map “{kind}”)"
        combined.append(replace(section, title=title, suffix=suffix, tables=tables, summary=summary))
        tables, summary = {}, {}
    return combined

"""The sections of one analysis for several kinds of maps, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from attentionology.reports.page import Section


def with_kinds(sections: Sequence[tuple[str, Section]]) -> list[Section]:
    """One section for each kind of map. The first holds the tables of all kinds, with a column ``map`` in front.

    Args:
        sections: the kind of map and the section made of it.
    """
    tables: dict[str, pd.DataFrame] = {}
    summary: dict[str, Any] = {}
    for kind, section in sections:
        for name, table in section.tables.items():
            labelled = table.assign(map=kind)[["map", *table.columns]]
            tables[name] = pd.concat([tables[name], labelled], ignore_index=True) if name in tables else labelled
        for name, rows in section.summary.items():
            summary.setdefault(name, []).extend({"map": kind, **row} for row in rows)
    together = []
    for kind, section in sections:
        # A kind such as rollout:norm has a character that not every file system takes.
        suffix, title = f"-{kind.replace(':', '-')}", f"{section.title} (map “{kind}”)"
        together.append(replace(section, title=title, suffix=suffix, tables=tables, summary=summary))
        tables, summary = {}, {}
    return together

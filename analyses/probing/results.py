"""The results of probing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import pandas as pd

from ..shared.previews import results_html, results_line
from .attachment import AttachmentTables
from .head_weights import HeadWeights


class ProbeResults(NamedTuple):
    """The results of probing."""

    tables: AttachmentTables  # the scores of all methods
    weights: Mapping[str, HeadWeights]  # which heads each attention probe uses
    history: pd.DataFrame  # one row per training, split and epoch
    published: Mapping[str, int] | None = None  # the paper's scores in percent by method, if the model is the paper's
    min_count: int = 50  # relations with fewer words are grayed
    facts: tuple[str, ...] = ()  # what was trained on what, a phrase each
    notes: tuple[str, ...] = ()  # how the numbers came about, a sentence each
    meanings: Mapping[str, str] = MappingProxyType({})  # what each method is, a phrase each

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)


def beside_paper(results: ProbeResults) -> pd.DataFrame:
    """Return the methods, with the paper's scores as a share in ``paper_uas`` if the model is the paper's."""
    methods = results.tables.methods
    if results.published is None:
        return methods
    percent = methods["method"].map(dict(results.published))
    return methods.assign(paper_uas=percent.where(methods["decoding"] == "argmax") / 100)


def used_heads(results: ProbeResults) -> dict[str, HeadWeights]:
    """Return the weights of the probes that have any; without an arc there are no weights."""
    return {name: weights for name, weights in results.weights.items() if len(weights.relations)}

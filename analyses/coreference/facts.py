"""The facts that the results of the coreference analysis need from the plan, and what is looked up after counting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..shared.map_facts import MapFacts
from ..shared.merged_facts import merges_by
from .shown_examples import ShownExample


@dataclass(frozen=True)
class CoreferenceFacts:
    """The facts that the results need from the plan.

    Attributes:
        model: the name of the request for the model.
        copies: the names of the requests for its copies.
        model_name: the name of the model.
        maps: a description of the maps.
        seed: the seed of the run.
        asked: whether the corpus asks questions of its own, which come with candidates.
        notes: sentences about how the documents are read.
    """

    model: str
    copies: tuple[str, ...]
    model_name: str
    maps: MapFacts
    seed: int
    asked: bool
    notes: tuple[str, ...] = merges_by("union")


@dataclass(frozen=True)
class CoreferenceLookup:
    """What was looked up after counting.

    Attributes:
        account: the numbers of mentions that are scored and of those that are not by reason, see
            `attentionology.analyses.coreference.choices.account`.
        head: the direction, layer and head whose decisions were looked up, None if there are none.
        examples: right and wrong decisions of this head.
    """

    account: Mapping[str, int] = merges_by("add")
    head: tuple[str, int, int] | None = merges_by("common")
    examples: tuple[ShownExample, ...] = merges_by("all")

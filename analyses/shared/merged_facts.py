"""Merging the facts of two runs over different texts: what must be equal, and what is added up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass, replace
from typing import Any, Literal

from ...corpora_loaders.errors import AttentionologyError

_RULE = "merge"

Rule = Literal["sum", "union", "add", "all", "common", "first", "rows"]


class MergeError(AttentionologyError, ValueError):
    """Two runs differ in something that must be equal if their counts are to be added up."""


def merges_by(rule: Rule, default: Any = MISSING) -> Any:
    """Declare how a field of facts is merged if it differs between runs. Other fields must be equal.

    Args:
        rule: ``"sum"`` for numbers that are added up; ``"add"`` for mappings whose values are added up by key;
            ``"all"`` for tuples or mappings that are put together; ``"union"`` for the same without repetitions;
            ``"common"`` for a value that becomes None; ``"first"`` for the value of the first run; ``"rows"`` for data
            frames, and mappings of these, whose rows are put together.
        default: the default value of the field, if it has one.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Facts:
        ...     model: str
        ...     sentences: int = merges_by("sum")
        >>> merge_facts(Facts("bert", 3), Facts("bert", 4))
        Facts(model='bert', sentences=7)
    """
    return field(default=default, metadata={_RULE: rule})


def merge_facts(first: Any, second: Any, what: str = "the facts") -> Any:
    """Merge the facts of two runs, see `merges_by`."""
    if first == second:
        return first
    if type(first) is type(second):
        if is_dataclass(first) and not isinstance(first, type):
            return replace(first, **{each.name: _merge_field(each, first, second, what) for each in fields(first)})
        if isinstance(first, Mapping):
            in_both = {key: merge_facts(first[key], second[key], what) for key in first if key in second}
            return {**first, **second, **in_both}
    raise MergeError(f"the runs differ in {what}: {_shorten(first)} and {_shorten(second)}")


def _merge_field(declared: Field[Any], first_facts: Any, second_facts: Any, what: str) -> Any:
    """Merge a field of the facts of two runs, called ``what``, by its rule; without one, its values must be equal."""
    first, second = getattr(first_facts, declared.name), getattr(second_facts, declared.name)
    match declared.metadata.get(_RULE):
        case "sum":
            return first + second
        case "add":
            return {key: first.get(key, 0) + second.get(key, 0) for key in dict.fromkeys([*first, *second])}
        case "all":
            return {**first, **second} if isinstance(first, Mapping) else (*first, *second)
        case "union":
            return tuple(dict.fromkeys((*first, *second)))
        case "common":
            return first if first == second else None
        case "first":
            return first
        case "rows":
            return _rows_together(first, second)
    return merge_facts(first, second, f"{declared.name.replace('_', ' ')} of {what}")


def key_of_texts(ids: Iterable[str]) -> str:
    """Return a name for the texts that were read, which differs between runs on different texts."""
    return hashlib.blake2b("\n".join(ids).encode(), digest_size=8).hexdigest()


def _rows_together(first: Any, second: Any) -> Any:
    """Put the rows of two data frames together, or of those in two mappings by key."""
    if isinstance(first, Mapping):
        return {key: _rows_together(first[key], second[key]) if key in second else first[key] for key in first}
    import pandas as pd

    return pd.concat([first, second], ignore_index=True)


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"

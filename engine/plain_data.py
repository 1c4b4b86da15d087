"""Facts and options as plain data, which JSON can hold, and back."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from ..analyses.shared.metric_states import StateError
from ..corpora_loaders.errors import AttentionologyError
from ..extractors import ExtractionError, ModelError

_CLASSES: dict[str, type[AttentionologyError]] = {kind.__name__: kind for kind in (ExtractionError, ModelError)}


class PlainDataError(StateError):
    """A value cannot be written as JSON, or stored data are not those of the expected type."""


def to_plain(value: object, what: str) -> Any:
    """Return a value as numbers, strings, lists and dictionaries; ``what`` it is stands in the message of an error."""
    try:
        return json.loads(json.dumps(value, default=_simpler))
    except (TypeError, ValueError, RecursionError) as error:
        raise PlainDataError(f"{what} cannot be stored: {error}") from None


def _simpler(value: Any) -> Any:
    """Return something that JSON can hold, or that is a step nearer to it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "dtypes"):  # a data frame; pandas need not be imported to know one
        return [[str(name), str(value[name].dtype), json.dumps(value[name].tolist())] for name in value]
    raise TypeError(f"{type(value).__name__} is no plain data")


def from_plain(plain: Any, kind: Any, what: str) -> Any:
    """Return the value of a type that `to_plain` has made plain; ``object`` is for data that are used as they are."""
    if kind is object:
        return plain
    import cattrs  # which takes a while; runs that only write their facts do without it

    try:
        return _converter().structure(plain, kind)
    except (cattrs.BaseValidationError, TypeError, ValueError, KeyError, AttributeError) as error:
        reasons = "; ".join(cattrs.transform_error(error)) if isinstance(error, Exception) else str(error)
        raise PlainDataError(f"{what} cannot be read: {reasons}") from None


@functools.cache
def _converter() -> Any:
    import pandas as pd
    from cattrs.preconf.json import make_converter

    converter = make_converter(forbid_extra_keys=True)
    converter.register_structure_hook(
        pd.DataFrame,
        lambda columns, _: pd.DataFrame(
            {name: pd.Series(json.loads(text), dtype=kind) for name, kind, text in columns}
        ),
    )
    return converter


def plain_failure(error: Exception) -> tuple[str, str]:
    """Return the name of the class of an error, and its message."""
    return type(error).__name__, str(error)


def restored_failure(name: str, message: str) -> Exception:
    """Return the error that `plain_failure` has made plain."""
    return _CLASSES.get(name, AttentionologyError)(message)

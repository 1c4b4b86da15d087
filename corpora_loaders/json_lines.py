"""Strict JSON for corpora, without anything that two readers could understand in different ways."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def parse_json(text: str) -> Any:
    """The value of a JSON text."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("lists or objects are nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is not a character") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at column {error.colno}") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON value")

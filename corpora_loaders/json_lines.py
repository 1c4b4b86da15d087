"""JSON as it is read from corpora: nothing that two readers may understand in two ways."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: not JSON (RFC 8259), which ``NaN`` and ``Infinity`` are not; an object with the same key twice, of
            which Python would silently keep the last; half of a surrogate pair, which is no text; lists or objects
            nested too deeply, or a number with thousands of digits.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("lists or objects are nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is no text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at column {error.colno}") from None
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON value")

"""Shapes in annotations are checked while the tests run, in every function that has such an annotation.

The import hook of jaxtyping decorates all functions and classes, which takes half a minute for each process and makes
every call slower, although mypy has checked all other types. So what has no shapes in its annotations is left as it is,
the rest is decorated when it is first called, and a function is trusted after `CALLS` calls.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import jaxtyping

CALLS = 50
"""The number of calls of a function whose shapes are checked, by each process."""

_ROOMS = ["attentionology.extractors", "attentionology.analyses", "attentionology.probes"]
_SHAPE = re.compile(r"\b(Float|Int|Integer|Bool|Shaped|Num|Complex)\[")


def check_shapes() -> None:
    """Check the shapes in every room with tensors that is imported from now on."""
    jaxtyping.jaxtyped = _decorated(jaxtyping.jaxtyped)
    jaxtyping.install_import_hook(_ROOMS, "beartype.beartype")


def _decorated(jaxtyped: Callable[..., Any]) -> Callable[..., Any]:
    """What the hook puts before functions and classes, instead of jaxtyping's own decorator."""

    def decorator(checked: Any = None, **options: Any) -> Any:
        if checked is None:
            return functools.partial(decorator, **options)
        if not has_shapes(checked):
            return checked
        return jaxtyped(checked, **options) if inspect.isclass(checked) else first_calls(checked, jaxtyped, options)

    return decorator


def has_shapes(checked: Any) -> bool:
    """Whether an annotation of a function, or of the fields of a class, is or names the shape of an array."""
    known = getattr(inspect.getmodule(checked), "__dict__", {})
    for annotation in map(str, getattr(checked, "__annotations__", {}).values()):
        named = (known.get(name) for name in re.findall(r"\w+", annotation))
        if _SHAPE.search(annotation) or any(
            inspect.isclass(n) and issubclass(n, jaxtyping.AbstractArray) for n in named
        ):
            return True
    return False


def first_calls(function: Callable[..., Any], jaxtyped: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Check the first calls of a function."""
    calls, checked = 0, function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls, checked
        if calls >= CALLS:
            return function(*args, **kwargs)
        if not calls:
            checked = jaxtyped(function, **options)
        calls += 1
        return checked(*args, **kwargs)

    return called

"""Types and shapes in annotations, checked at every call.

The import hook of jaxtyping checks the arguments of a function twice, once more beside its result, and makes room for
the sizes of axes for every function. That doubles the time of tests which call many small functions. Here, beartype
checks the arguments and the result once each, and jaxtyping keeps the sizes of axes only for functions whose
annotations have axes. What is checked is the same.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype

Function = Callable[..., Any]
checked_by_jaxtyping = functools.partial(jaxtyping.jaxtyped, typechecker=beartype)
with_axes = jaxtyping.jaxtyped(typechecker=None)
typechecker = beartype(conf=BeartypeConf(violation_type=jaxtyping.TypeCheckError))


def hints_of(function: Function) -> dict[str, Any]:
    """The annotations of a function. Those with names that exist for type checkers only are `Any`."""
    hints = {}
    for name, annotation in function.__annotations__.items():
        holder = FunctionType(hints_of.__code__, function.__globals__)
        holder.__annotations__ = {name: annotation}
        try:
            hints[name] = get_type_hints(holder, include_extras=True)[name]
        except Exception:  # whatever its evaluation raises
            hints[name] = Any
    return hints


def has_axes(hint: Any) -> bool:
    """Whether arrays are part of a type, or whether that is unknown."""
    if isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray):
        return True
    return isinstance(hint, str) or any(map(has_axes, get_args(hint)))


def checked(target: Any) -> Any:
    """A function, or a dataclass, whose arguments and result are checked."""
    if isinstance(target, type):
        init = vars(target).get("__init__")
        if dataclasses.is_dataclass(target) and init is not None and not hasattr(init, "__wrapped__"):
            target.__init__ = checked(init)  # type: ignore[method-assign]
        return target
    if inspect.isgeneratorfunction(target):
        return checked_by_jaxtyping(target)
    hints = hints_of(target)
    function = FunctionType(
        target.__code__, target.__globals__, target.__name__, target.__defaults__, target.__closure__
    )
    functools.update_wrapper(function, target)
    function.__kwdefaults__, function.__annotations__ = target.__kwdefaults__, hints
    function = typechecker(function)
    if any(map(has_axes, hints.values())):
        function = with_axes(function)
    return functools.update_wrapper(function, target)


def check_shapes(modules: Sequence[str]) -> None:
    """Check all functions and dataclasses of modules that are imported from now on."""
    jaxtyping.install_import_hook(modules, "beartype.beartype")
    # The hook adds this decorator to the code of the modules.
    jaxtyping.jaxtyped = lambda *, typechecker: checked  # type: ignore[assignment]

"""What hundreds of small runs would do again and again is done once in a test process."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from types import CodeType
from typing import Any

import jinja2
import pytest
from tyro._parsers import ParserSpecification


def take_shortcuts(patch: pytest.MonkeyPatch) -> None:
    """Let small runs of commands in this process spend their time on what is tested.

    * Files are not flushed to the disk, which is a matter of power failures.
    * The code of a template is compiled once.
    * That a class has no source code, as that of the options of ``analyze``, which tyro asks for each of its fields, is
      found out once.
    * So is which options a command has.
    * The commit of the checkout is looked up once.
    """
    from attentionology.reports import provenance

    patch.setattr(provenance, "_git", functools.cache(provenance._git))
    patch.setattr(os, "fsync", lambda descriptor: None)
    patch.setattr(jinja2.Environment, "compile", _compiled_once(jinja2.Environment.compile))
    patch.setattr(inspect, "getsource", _found_once(inspect.getsource))
    specify = ParserSpecification.from_callable_or_type
    patch.setattr(ParserSpecification, "from_callable_or_type", staticmethod(_specified_once(specify)))


def _compiled_once(compile_template: Callable[..., Any]) -> Callable[..., Any]:
    codes: dict[object, CodeType] = {}

    def compiled(environment: jinja2.Environment, source: Any, *names: Any, **options: Any) -> Any:
        settings = (environment.autoescape, environment.undefined, environment.trim_blocks, environment.lstrip_blocks)
        key = (source, names, *sorted(options.items()), settings, frozenset(environment.filters))
        if key not in codes:
            codes[key] = compile_template(environment, source, *names, **options)
        return codes[key]

    return compiled


def _found_once(getsource: Callable[[Any], str]) -> Callable[[Any], str]:
    @functools.cache
    def found(target: type) -> str | OSError:
        try:
            return getsource(target)
        except OSError as error:
            return error

    def source(target: Any) -> str:
        if not isinstance(target, type):
            return getsource(target)
        result = found(target)
        if isinstance(result, OSError):
            raise result
        return result

    return source


def _specified_once(specify: Callable[..., Any]) -> Callable[..., Any]:
    specified: dict[object, Any] = {}

    def once(command: Any, **settings: Any) -> Any:
        if settings["parent_classes"] or settings["intern_prefix"]:  # a group of options in a command
            return specify(command, **settings)
        if command not in specified:
            specified[command] = specify(command, **settings)
        return specified[command]

    return once


def draw_few_heatmaps(patch: pytest.MonkeyPatch) -> None:
    """Let the figure of the heads of ``dependency`` have two heatmaps instead of twelve."""
    from attentionology.analyses.dependency.figures import heads_figure

    defaults = inspect.unwrap(heads_figure).__kwdefaults__
    assert defaults is not None
    patch.setitem(defaults, "most", 2)


def scale_quickly(patch: pytest.MonkeyPatch) -> None:
    """Let the map and the tests of ``clusters`` end after a tenth of their iterations and permutations or less."""
    from attentionology.analyses.clusters import clusters, layers

    patch.setattr(clusters, "STARTS", 1)
    patch.setattr(clusters, "MAX_STEPS", 50)
    patch.setattr(layers, "PERMUTATIONS", 100)

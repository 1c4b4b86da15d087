"""Finds what docstrings refer to: they use the names that are short or imported, and each object is documented once."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
ROOMS = ("storage", "corpora_loaders", "reports", "extractors", "probes", "analyses", "engine", "scripts", "testing")


def resolve(app: Any, environment: Any, node: Any, content: Any) -> Any:
    """Make the link for a reference to a Python object that is documented under another name.

    A reference to something that exists, but is not documented, becomes code. Anything else is left to be reported.

    This is a listener to Sphinx's event ``missing-reference``.
    """
    if node.get("refdomain") != "py":
        return None
    domain = environment.get_domain("py")
    target = node["reftarget"].removesuffix("()")
    name = documented_name(target, domain.objects, node.get("py:class"), node.get("py:module"))
    if name is None:
        parts = target.removeprefix("attentionology.").split(".")
        # What napoleon takes for a type may be prose; and not all that exists is documented.
        return content if " " in target or defined_names().issuperset(parts) else None
    return domain.resolve_xref(environment, node["refdoc"], app.builder, "obj", name, node, content)


def split_attributes(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Give each attribute of a docstring that describes several at once (``low, high: …``) an entry of its own.

    This is a listener to Sphinx's event ``autodoc-process-docstring``. Otherwise, napoleon takes the first of these
    names for the type of the last.
    """
    result: list[str] = []
    names: list[str] = []
    entry: list[str] = []
    for line in [*lines, ""]:
        if names and not line.startswith(" " * 8):
            result += [text for each in names for text in (entry[0].replace(NAME, each), *entry[1:])]
            names = []
        if match := SEVERAL.match(line):
            names, entry = match[1].split(", "), [f"    {NAME}: {match[2]}"]
        elif names:
            entry.append(line)
        else:
            result.append(line)
    lines[:] = result[:-1]


NAME = "\0"
SEVERAL = re.compile(r" {4}(\w+(?:, \w+)+): (.*)")


def documented_name(target: str, names: Mapping[str, Any], inside: str | None, module: str | None) -> str | None:
    """The documented name of what is referred to.

    Args:
        target: a name as it is written.
        names: the names that are documented.
        inside: the class whose docstring refers to it.
        module: the package of that class.

    Returns:
        the name of the same object, wherever it is imported from; else the only name that ends with the target, or the
        one in the same class or package; None if there is none.
    """
    if target.startswith("attentionology."):
        written = _origin(target)
        return next((name for name in names if written and _origin(name) == written), None)
    endings = [name for name in names if name.endswith(f".{target}")]
    for place in (inside, module):
        if place and f"attentionology.{place}.{target}" in names:
            return f"attentionology.{place}.{target}"
        if place and f"{place}.{target}" in names:
            return f"{place}.{target}"
    tops = [name for name in endings if name.split(".")[-2].islower()] or endings  # those that are in no class
    return tops[0] if len(tops) == 1 else None


@functools.cache
def defined_names() -> frozenset[str]:
    """All names that the packages define: modules, classes, functions, attributes, constants and parameters."""
    names = set()
    for room in ROOMS:
        for path in (REPOSITORY / room).rglob("*.py"):
            names |= {path.stem, path.parent.name}
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef | ast.FunctionDef):
                    names.add(node.name)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
                elif isinstance(node, ast.arg):
                    names.add(node.arg)
    return frozenset(names)


@functools.cache
def _origin(name: str) -> tuple[str, str] | None:
    """The module and the name in it that define an object; None if there is no such object."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: Any = import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            if not hasattr(thing, part):
                return None
            thing = getattr(thing, part)
        module, qualified = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        return (module, qualified) if isinstance(module, str) and isinstance(qualified, str) else None
    return None


def skip_of_scikit_learn(app: object, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out the methods for metadata that scikit-learn gives its estimators, whose texts link to its own pages."""
    if name == "get_metadata_routing" or (name.startswith("set_") and name.endswith("_request")):
        return True
    return None

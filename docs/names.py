"""The reference of Python names: for every name of a package's ``__all__`` the directive that documents it."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import re
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import attentionology
from attentionology.reports.help.options import option_sections
from attentionology.reports.help.pages import blocks

FRONT = "attentionology"


def reference(*packages: str) -> str:
    """Directives for the public names that come from some packages, and for the other names of these packages.

    Args:
        packages: packages; or, after them, single names with their modules that the others refer to.
    """
    room = ".".join(packages[0].split(".")[:2])
    front = [name for name in attentionology.__all__ if f"{imports(FRONT)[name]}.".startswith(f"{room}.")]
    parts = ["## Public names", "These names are imported from `attentionology`.", *_directives(FRONT, front)]
    for package in filter(_is_module, packages):
        if further := [name for name in of(package) if not _is_documented_elsewhere(package, name, packages)]:
            parts += [f"## {package}", docstring(package, ""), *_directives(package, further)]
    if single := [name.rpartition(".") for name in packages if not _is_module(name)]:
        parts += ["## Types that these names refer to"]
        parts += [directive for module, _, name in single for directive in _directives(module, [name])]
    return "\n\n".join(parts)


def _is_module(name: str) -> bool:
    return name.rpartition(".")[2].islower()


def of(package: str) -> list[str]:
    """The names in the ``__all__`` of a package, without modules.

    Raises:
        ValueError: one of the names has no docstring.
    """
    module = import_module(package)
    names = [name for name in getattr(module, "__all__", []) if not isinstance(getattr(module, name), ModuleType)]
    if silent := [name for name in names if not docstring(package, name)]:
        raise ValueError(f"{package}: no docstring for {', '.join(silent)}")
    return names


def docstring(package: str, name: str) -> str:
    """The docstring of a name of a package; of the package itself if the name is empty."""
    module = import_module(package)
    if not name:
        return inspect.getdoc(module) or ""
    thing = getattr(module, name)
    if _has_docstring(thing):
        return inspect.getdoc(thing) or ""
    return _constants(module_of(package, name)).get(name, ("", ""))[0]


@functools.cache
def imports(package: str) -> dict[str, str]:
    """The names that a module, or its stub, imports from the toolkit, with the modules that it imports them from."""
    module = import_module(package)
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    tree = ast.parse(stub.read_text("utf-8") if stub.exists() else inspect.getsource(module))
    return {
        alias.asname or alias.name: resolve_name("." * node.level + (node.module or ""), module.__package__)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }


@functools.cache
def module_of(package: str, name: str) -> str:
    """The module that a name of a package is imported from, through all packages between."""
    module = imports(package).get(name)
    return module_of(module, name) if module else package


def _has_docstring(thing: Any) -> bool:
    return inspect.isclass(thing) or inspect.isroutine(thing)


def _is_documented_elsewhere(package: str, name: str, packages: tuple[str, ...]) -> bool:
    """Whether a name is public, or is one of a package that comes earlier on the page."""
    defined = module_of(package, name)
    before = packages[: packages.index(package)]
    return (name in attentionology.__all__ and module_of(FRONT, name) == defined) or any(
        name in getattr(import_module(other), "__all__", []) and module_of(other, name) == defined for other in before
    )


def _directives(package: str, names: list[str]) -> list[str]:
    return [f"```{{eval-rst}}\n{_directive(package, name)}\n```" for name in sorted(names, key=str.lower)]


def _directive(package: str, name: str) -> str:
    thing = getattr(import_module(package), name)
    if name.endswith("Options"):
        return _options(f"{package}.{name}", thing)
    if inspect.isclass(thing):
        kind = "exception" if issubclass(thing, Exception) else "class"
        return f".. auto{kind}:: {package}.{name}\n   :members:"
    if inspect.isroutine(thing):
        return f".. autofunction:: {package}.{name}"
    text, written = _constants(module_of(package, name))[name]
    lines = [f".. py:data:: {package}.{name}", *([f"   :type: {shown}"] if (shown := _type(thing, written)) else [])]
    return "\n".join([*lines, "", *(f"   {line}".rstrip() for line in text.splitlines())])


def _options(name: str, group: type[Any]) -> str:
    """The directive of a group of options. Its fields are described as the help of the commands does."""
    options = [option for section in option_sections(group, ()).values() for option in section]
    fields = {option.flag.removeprefix("--no-").removeprefix("--").replace("-", "_"): option for option in options}
    defaults = group()
    lines = [f".. autoclass:: {name}({', '.join(f'{field}={getattr(defaults, field)!r}' for field in fields)})"]
    for field, option in fields.items():
        lines += ["", f"   .. py:attribute:: {field}"]
        for paragraph in re.split(r"\n\s*\n", option.text.strip()):
            for block in blocks(paragraph):
                lines += ["", f"      {RST.sub(_literal, block)}"]
    return "\n".join(lines)


RST = re.compile(r"(?<![\w-])--[a-z][\w-]*|[\\\\`*|_]")
"""Options, which become code, and characters that reStructuredText reads as markup."""


def _literal(match: re.Match[str]) -> str:
    return f"``{match[0]}``" if match[0].startswith("--") else f"\\{match[0]}"


def _type(thing: Any, written: str) -> str:
    """What the page says about the type of a constant: its annotation, the choices of a literal, or its class."""
    if get_origin(thing) is Literal:
        return " | ".join(map(repr, get_args(thing)))
    return written or (type(thing).__name__ if type(thing).__module__ == "builtins" else "")


@functools.cache
def _constants(module: str) -> dict[str, tuple[str, str]]:
    """The docstrings below the constants of a module, each with the annotation of the constant."""
    body = ast.parse(inspect.getsource(import_module(module))).body
    constants = {}
    for node, below in itertools.pairwise(body):
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            text = inspect.cleandoc(below.value.value)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                constants[node.target.id] = (text, ast.unparse(node.annotation))
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                constants[node.targets[0].id] = (text, "")
    return constants

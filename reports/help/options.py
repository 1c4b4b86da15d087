"""What the help says about the options of a command, read from its dataclass and from the groups in it."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from tyro.conf import Positional

_POSITIONAL = get_args(Positional[str])[1]  # the note that marks a type

_NAMES_OF_VALUES: dict[Any, str] = {int: "N", float: "X"}
"""The placeholders for the values of options that name none, by type."""


@dataclass(frozen=True)
class OptionHelp:
    """What the help says about one option."""

    flag: str  # the option as it is typed, `--min-count`; empty for an argument without a name
    value: str  # the placeholder for its value, `N` or `{none,row}`; empty for a switch
    text: str  # its description, with the line breaks of the source
    # the value that it has unless it is given; empty where that is no value, or where a switch is off
    default: str = ""


def option_sections(command: type[Any], most_used: Sequence[str]) -> dict[str, list[OptionHelp]]:
    """Return the options of a command as its help shows them, by the titles of their groups."""
    options = [(title or "Further options", option) for title, option in _options(command)]
    by_flag = {option.flag: option for _, option in options}
    most_used_flags = [flag(name) for name in most_used]
    if unknown := [name for name in most_used_flags if name not in by_flag]:
        raise ValueError(f"{command.__name__} has no option {unknown[0]}")
    arguments = [option for _, option in options if not option.flag]
    sections = {"Arguments": arguments} if arguments else {}
    sections["Most used options"] = [by_flag[name] for name in most_used_flags]
    # Options keep their order, but those that have no group come last.
    for title, option in sorted(options, key=lambda title_and_option: title_and_option[0] == "Further options"):
        if option.flag and option.flag not in most_used_flags:
            sections.setdefault(title, []).append(option)
    return sections


def _options(command: type[Any], defaults: Any = MISSING) -> Iterator[tuple[str, OptionHelp]]:
    """All options of a dataclass, each with the title of its group; an empty one for those that are in no group."""
    types = get_type_hints(command, include_extras=True)
    for field in fields(command):
        of_field = field.default if field.default_factory is MISSING else field.default_factory()
        default = of_field if defaults is MISSING else getattr(defaults, field.name)  # a command may have others
        kind = _bare(types[field.name])
        if isinstance(kind, type) and is_dataclass(kind):
            yield from ((title or _title(kind), option) for title, option in _options(kind, default))
        else:
            yield "", _option(command, field.name, types[field.name], default)


def _option(command: type[Any], name: str, kind: Any, default: Any) -> OptionHelp:
    """Return what the help says about a field of a command, given its annotation and its default."""
    written_flag = "" if _POSITIONAL in _notes(kind) else flag(f"no_{name}" if default is True else name)
    if default in (None, MISSING, ()) or isinstance(default, bool):
        written_default = ""
    else:
        written_default = " ".join(map(str, default)) if isinstance(default, tuple | list) else str(default)
    return OptionHelp(written_flag, _value(kind), _note(kind, "help") or _docstring(command, name), written_default)


def flag(name: str) -> str:
    """Return how a field is written on the command line."""
    return f"--{name.replace('_', '-')}"


def _bare(kind: Any) -> Any:
    """A type without its annotations, and without None."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    others = [choice for choice in get_args(kind) if choice is not NoneType]
    return _bare(others[0]) if len(others) == 1 and NoneType in get_args(kind) else kind


def _value(kind: Any) -> str:
    """The placeholder for the value of an option: its metavar, or else its choices, or else the name of its type."""
    if metavar := _note(kind, "metavar"):
        return metavar
    bare = _bare(kind)
    if get_origin(bare) is Literal:
        return f"{{{','.join(map(str, get_args(bare)))}}}"
    return "" if bare is bool else _NAMES_OF_VALUES.get(bare, getattr(bare, "__name__", "value").upper())


def _note(kind: Any, name: str) -> str:
    """The ``help`` or ``metavar`` of ``arg(…)`` in the annotation of a field; empty if there is none."""
    return next((text for note in _notes(kind) if (text := getattr(note, name, None))), "")


def _notes(kind: Any) -> tuple[Any, ...]:
    """The annotations of a type."""
    return get_args(kind)[1:] if get_origin(kind) is Annotated else ()


def _title(group: type[Any]) -> str:
    """The first sentence of the docstring of a group."""
    paragraph = " ".join((inspect.getdoc(group) or "").split("\n\n", 1)[0].split())
    return paragraph.split(". ", 1)[0].rstrip(".") or f"Options of {group.__name__}"


def _docstring(command: type[Any], name: str) -> str:
    """The docstring below a field, in the class that has it or in one that it is derived from."""
    for kind in command.__mro__:
        if text := _field_docstrings(kind.__module__).get((kind.__name__, name)):
            return text
    return ""


@functools.cache
def _field_docstrings(module: str) -> dict[tuple[str, str], str]:
    """The docstrings below the fields of all classes of a module, by the names of class and field."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):  # a module without a file: built in, or made while the program runs
        return {}
    classes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    docstrings: dict[tuple[str, str], str] = {}
    for node in classes:
        for statements in itertools.pairwise(node.body):
            match statements:
                case ast.AnnAssign(target=ast.Name(id=field)), ast.Expr(value=ast.Constant(value=str(text))):
                    docstrings[node.name, field] = inspect.cleandoc(text)
    return docstrings

"""The commands by name, each with the options that its help shows first."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import tyro


class Runnable(Protocol):
    """The options of a command as they were given, which can run it."""

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Run the command and return its exit status."""


@dataclass(frozen=True)
class Command:
    """A command of the program.

    Attributes:
        load: returns the dataclass of its options. Its docstring describes the command; its fields are options or
            groups of options.
        most_used: names of the six options that most people need, in the order of the help.
        resumes: whether the same command line continues a run that was interrupted.
    """

    load: Callable[[], type[Any]]
    most_used: tuple[str, ...]
    resumes: bool = False


def _analyze() -> type[Any]:
    from attentionology.scripts.analyze import analyze_command

    return analyze_command()


def _report() -> type[Any]:
    from attentionology.scripts.report import Report

    return Report


def _merge() -> type[Any]:
    from attentionology.scripts.merge import Merge

    return Merge


def _probe() -> type[Any]:
    from attentionology.scripts.probe import ProbeCommand

    return ProbeCommand


def _explain() -> type[Any]:
    from attentionology.scripts.explain import Explain

    return Explain


def _compare() -> type[Any]:
    from attentionology.scripts.compare import Compare

    return Compare


def _doctor() -> type[Any]:
    from attentionology.scripts.doctor import Doctor

    return Doctor


def _show() -> type[Any]:
    from attentionology.scripts.show import Show

    return Show


def _treebanks() -> type[Any]:
    from attentionology.scripts.treebanks import Treebanks

    return Treebanks


COMMANDS = {
    "analyze": Command(_analyze, ("model", "corpus", "analyses", "map", "out", "limit")),
    "report": Command(_report, ("min_count", "out", "overwrite", "json")),
    "merge": Command(_merge, ("out", "overwrite", "json")),
    "probe": Command(_probe, ("model", "train", "test", "vectors", "probe", "out"), resumes=True),
    "explain": Command(_explain, ("data", "test", "encoder", "model", "tests", "out"), resumes=True),
    "compare": Command(_compare, ("out", "names", "min_count", "overwrite", "json")),
    "show": Command(_show, ("head", "map", "model", "corpus", "sentence", "out")),
    "doctor": Command(_doctor, ("model", "corpus", "sentences", "device", "revision", "json")),
    "treebanks": Command(_treebanks, ("json",)),
}


def parser_type(name: str | None) -> Any:
    """What tyro reads a command line into: the options of one command, or of any if none is named."""
    if name is not None:
        return COMMANDS[name].load()
    named = [Annotated[command.load(), tyro.conf.subcommand(key)] for key, command in COMMANDS.items()]
    return functools.reduce(operator.or_, named)

"""The commands by name, each with the options that its help shows first."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol


class Runnable(Protocol):
    """The options of a command as they were given, which can run it."""

    def run(self, command: str = "") -> int:
        """Run the command and return its exit status; the run record has the command line."""
        ...


@dataclass(frozen=True)
class Command:
    """A command of the program."""

    # The dataclass of its options, or a function that makes it, as ``module:name`` within this package. The docstring
    # of the dataclass describes the command; its fields are options or groups of options.
    value: str
    most_used: tuple[str, ...]  # the options that most people need, in the order of the help
    resumes: bool = False  # whether the same command line continues a run that was interrupted

    def load(self) -> type[Any]:
        """Import the dataclass of the options and return it."""
        module, _, name = self.value.partition(":")
        command: Any = getattr(import_module(f"attentionology.scripts.{module}"), name)
        return command if isinstance(command, type) else command()


COMMANDS = {
    "analyze": Command("analyze:analyze_command", ("model", "corpus", "analyses", "map", "out", "limit")),
    "report": Command("report:Report", ("min_count", "out", "overwrite", "json")),
    "merge": Command("merge:Merge", ("out", "overwrite", "json")),
    "cite": Command("cite:Cite", ("json",)),
    "probe": Command("probe:ProbeCommand", ("model", "train", "test", "vectors", "probe", "out"), resumes=True),
    "explain": Command("explain:Explain", ("data", "test", "encoder", "model", "tests", "out"), resumes=True),
    "align": Command("align:Align", ("model", "source", "target", "gold", "one_based", "out")),
    "compare": Command("compare:Compare", ("out", "names", "min_count", "overwrite", "json")),
    "survey": Command("survey:SurveyCommand", ("models", "treebanks", "maps", "parts", "out", "dry_run")),
    "grid": Command("grid:GridCommand", ("vary", "over", "arguments", "out", "commands", "json"), resumes=True),
    "show": Command("show:Show", ("head", "map", "model", "corpus", "sentence", "out")),
    "explore": Command("explore:Explore", ("model", "map", "text", "out", "overwrite")),
    "doctor": Command("doctor:Doctor", ("model", "corpus", "sentences", "map", "device", "json")),
    "treebanks": Command("treebanks:Treebanks", ("check", "json")),
}

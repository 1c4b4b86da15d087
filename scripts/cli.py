"""Entry point of the ``attentionology`` command, and its commands by name."""

from __future__ import annotations

import inspect
import io
import os
import re
import shlex
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, Protocol, get_type_hints, runtime_checkable

import tyro

from ..analyses.contract import OptionError
from ..analyses.option_groups import check_bounds
from ..analyses.shared.numbers import NUMBERS
from ..analyses.shared.record import flat_options
from ..corpora_loaders import AttentionologyError, CorpusError
from ..corpora_loaders.errors import out_of_memory
from ..reports.help.pages import command_page, front_page, no_command
from ..reports.streams import complain, guard, messages_printed, warnings_in_one_line

_DESCRIPTION = """What do the attention heads of a transformer encoder know about language?"""

_NOT_UTF_8 = re.compile(r"[\ud800-\udfff]")
"""The halves of surrogate pairs as which Python reads bytes that are not UTF-8."""

_EXAMPLES = """To run the demo model on the sample treebank:
$ attentionology analyze

To analyze your own treebank with a model of the Hugging Face Hub:
$ attentionology analyze --model google-bert/bert-base-uncased --corpus TREEBANK.conllu --out runs/mine

Whether heads find antecedents in a coreference corpus (CoNLL-2012, CorefUD, GAP or WinoBias):
$ attentionology analyze --analyses coreference --corpus FILE

To train probes on the attention of all heads together:
$ attentionology probe --train TRAIN.conllu --test DEV.conllu --vectors glove.6B.zip/glove.6B.100d.txt

To test whether the attention of a text classifier may be read as an explanation:
$ attentionology explain --data LABELED.txt --encoder lstm

To compare two runs, for example of two models:
$ attentionology compare runs/mine runs/other --out runs/comparison

To compare several models and kinds of maps on several treebanks:
$ attentionology survey --models MODEL MODEL --treebanks A.conllu B.conllu --maps weight norm --parts parts/survey

To run explain for several encoders and seeds, with one table of all runs:
$ attentionology grid explain --vary encoder=lstm,cnn seed=0,1,2 --over seed --arguments="--data LABELED.txt"

To explore what all heads do on your own sentences:
$ attentionology explore "The cat sat on the mat." "It was tired."

To type sentences and see at once what the heads do, beside the results of a run:
$ attentionology serve runs/mine

To check a model that you have not used before:
$ attentionology doctor --model MODEL

To print the version:
$ attentionology --version

The exit status is
- 0 if the command succeeded;
- 1 if the input or the model cannot be used (the message says why), or if doctor found a problem;
- 2 if the options are wrong;
- 3 if some cells of a survey or a grid failed (the results of the others are written);
- 130 if the command was interrupted;
- 141 if the reader of the output closed it.

A command that fails leaves no partial results. The caches of probe and explain and the parts of analyze --parts and
survey --parts are kept, so that the same command continues where it stopped."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: ``sys.argv``) and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return guard(lambda: _run(arguments))
    except KeyboardInterrupt:  # before or after the work itself
        return complain("attentionology: interrupted", 130)


def _run(arguments: list[str]) -> int:
    """Print help or the version, or run a command; return the exit status."""
    try:
        if asked := {"-h", "--help", "--help-all"} & set(arguments):
            print(_help(arguments[0], whole="--help-all" in asked))
            return 0
        if arguments in (["--version"], ["-V"]):
            print(_version())
            return 0
        _check_words(arguments)
        _check_environment()
        command = _parse(arguments)
    except AttentionologyError as error:
        return _fail(error)
    except SystemExit as stop:  # the options do not parse
        return stop.code if isinstance(stop.code, int) else 2
    return _execute(command, arguments)


def _help(name: str, *, whole: bool = False) -> str:
    """Return the help of the command of this name, or of the program if there is none."""
    if name in COMMANDS:
        return command_page(f"attentionology {name}", COMMANDS[name].load(), COMMANDS[name].most_used, whole=whole)
    descriptions = {key: inspect.getdoc(command.load()) or "" for key, command in COMMANDS.items()}
    summaries = {key: description.split("\n\n")[0] for key, description in descriptions.items()}
    return front_page("attentionology", _DESCRIPTION, summaries, _EXAMPLES)


def _version() -> str:
    """Return the version of the toolkit."""
    try:
        return version("attentionology")
    except PackageNotFoundError:
        return "attentionology (not installed)"


def _check_words(arguments: list[str]) -> None:
    """Check that the arguments begin with a command, that results can record them, and that no option is repeated."""
    for word in arguments:
        if _NOT_UTF_8.search(word):
            raise AttentionologyError(
                f"{word}: this name is not UTF-8, so the results cannot record it; rename the file or folder"
            )
    name = arguments[0] if arguments and not arguments[0].startswith("-") else None
    if name not in COMMANDS:
        raise OptionError(no_command(name, tuple(COMMANDS)))
    # The parser takes --min_count as well as --min-count, and of an option that is repeated, only the last values.
    options = Counter(word.split("=", 1)[0].replace("_", "-") for word in arguments if word.startswith("--"))
    for option, times in options.items():
        if times > 1:
            raise OptionError(f"{option} is given twice; give all its values after one {option}")


def _check_environment() -> None:
    """Check the date of reproducible builds, which numpy and matplotlib read when they are imported."""
    date = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not re.fullmatch("[0-9]{1,11}", date):
        raise AttentionologyError(
            f"the environment variable SOURCE_DATE_EPOCH must be a number of seconds since 1970, or unset, not {date!r}"
        )


def _parse(arguments: list[str]) -> Runnable:
    """Return the command with its options; raise `SystemExit` with messages on stderr if they do not parse."""
    name, messages = arguments[0], io.StringIO()
    try:
        with redirect_stderr(messages):
            command: Runnable = tyro.cli(
                COMMANDS[name].load(),
                prog=f"attentionology {name}",
                args=arguments[1:],
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.HelptextFromCommentsOff, tyro.conf.OmitArgPrefixes),
                registry=NUMBERS,
            )
    except SystemExit:
        for line in filter(None, messages.getvalue().split("\n")):
            complain(line, 2)  # with its control characters escaped, which tyro repeats as they are
        raise
    _check_values(command, arguments)
    return command


def _check_values(options: Any, arguments: Sequence[str]) -> None:
    """Raise `OptionError` if an option that takes several values has none, and so would do nothing."""
    # An option that has values by default, such as --controls, may be given without any, so that it has none.
    alone = {word for word, following in pairwise([*arguments, "--"]) if following.startswith("--")}
    for option in fields(options):
        value = getattr(options, option.name)
        if is_dataclass(value):
            _check_values(value, arguments)
        elif value == () and option.default in ((), None) and f"--{option.name.replace('_', '-')}" in alone:
            metadata = getattr(get_type_hints(type(options), include_extras=True)[option.name], "__metadata__", ())
            expected = next(filter(None, (getattr(each, "metavar", None) for each in metadata)), "VALUE")
            raise OptionError(f"--{option.name.replace('_', '-')} has no value; it takes {expected}")


def run_words(arguments: Sequence[str]) -> None:
    """Run a command line for another command, without what it prints, and raise its errors."""
    from ..engine.counting.memory import MemoryShortageError, shortage

    command = check_command(arguments)
    options = flat_options(command)
    with redirect_stdout(io.StringIO()), _formats_of(options):
        try:
            command.run(shlex.join(["attentionology", *arguments]))
        except Exception as error:
            # A grid goes on after an error of the toolkit. Python and torch have errors of their own for this one.
            if reason := out_of_memory(error):
                raise MemoryShortageError(shortage(reason, options)) from error
            raise


def check_command(arguments: Sequence[str]) -> Runnable:
    """Return the command of a command line whose options parse and are within their bounds."""
    _check_words(list(arguments))
    command = _parse(list(arguments))
    check_bounds(command)
    return command


def _execute(command: Runnable, arguments: list[str]) -> int:
    """Run a command, print its error if it has one, and return the exit status."""
    from ..engine.counting.memory import collect_rarely, return_large_blocks, shortage
    from ..reports.progress import showing

    if threading.current_thread() is threading.main_thread():
        # A cluster's time limit is an interruption, too, and so is a terminal that is closed, unless nohup has said no.
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):  # Windows has no SIGHUP
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.default_int_handler)
    return_large_blocks()
    collect_rarely()
    options = flat_options(command)
    try:
        check_bounds(command)
        with messages_printed(), showing(sys.stderr.isatty()), _formats_of(options), warnings_in_one_line():
            return command.run(shlex.join(["attentionology", *arguments]))
    except KeyboardInterrupt:
        # Caches and parts are written while a command counts; its results folder appears at the end.
        resumes = COMMANDS[arguments[0]].resumes or options.get("parts") is not None
        hint = "; the same command goes on where it stopped" if resumes else ""
        return complain(f"attentionology: interrupted; no results were written{hint}", 130)
    except Exception as error:
        if reason := out_of_memory(error):
            return complain(f"attentionology: {shortage(reason, options)}", 1)
        if isinstance(error, AttentionologyError | OSError):
            return _fail(error)
        raise


@contextmanager
def _formats_of(options: Mapping[str, Any]) -> Iterator[None]:
    """Let figures and tables be written in the formats of the options while a block runs."""
    with ExitStack() as stack:
        if formats := options.get("figures"):
            from ..reports.drawing import figure_formats  # it imports matplotlib

            stack.enter_context(figure_formats(*formats))
        if options.get("tables"):
            if find_spec("pyarrow") is None:
                raise OptionError("--tables parquet needs the library pyarrow: pip install 'attentionology[parquet]'")
            from ..reports.tables import also_as_parquet  # it imports pandas

            stack.enter_context(also_as_parquet())
        yield


def _fail(error: Exception) -> int:
    """Print the message of an error, and return the exit status."""
    status = 2 if isinstance(error, OptionError) else 1
    lines = error.mistakes if isinstance(error, CorpusError) else (error,)
    for line in lines:
        complain(f"attentionology: {line}", status)
    return status


class Runnable(Protocol):
    """The options of a command as they were given, which can run it."""

    def run(self, command: str = "") -> int:
        """Run the command and return its exit status; the run record has the command line."""
        ...


@runtime_checkable
class Checkable(Runnable, Protocol):
    """The options of a command that a grid runs, which checks them before any cell is begun."""

    def check_first(self) -> None:
        """Check everything that can be checked before anything is read."""
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
    "serve": Command("serve:Serve", ("model", "port", "host", "device")),
    "doctor": Command("doctor:Doctor", ("model", "corpus", "sentences", "map", "device", "json")),
    "treebanks": Command("treebanks:Treebanks", ("check", "json")),
}

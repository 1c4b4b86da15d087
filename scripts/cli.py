"""Entry point of the ``attentionology`` command."""

from __future__ import annotations

import functools
import operator
import signal
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import tyro

from attentionology.analyses.contract import OptionError
from attentionology.analyses.registry import RegistryError
from attentionology.analyses.shared.numbers import NUMBERS
from attentionology.corpora_loaders import AttentionologyError
from attentionology.corpora_loaders.errors import out_of_memory
from attentionology.engine.memory import shortage
from attentionology.scripts.allocator import return_large_blocks
from attentionology.scripts.analyze import Analyze, analyze_command
from attentionology.scripts.doctor import Doctor
from attentionology.scripts.explain import Explain
from attentionology.scripts.probe import ProbeCommand
from attentionology.scripts.terminal import complain, delivered, guarded, say, visible

DESCRIPTION = """What do the attention heads of a transformer encoder know about language?

First run, with the model of the `demo` extra and a sample treebank:
$ attentionology analyze

On your own data:
$ attentionology analyze --model google-bert/bert-base-uncased --corpus TREEBANK.conllu --out runs/mine

On a coreference corpus (CoNLL-2012, CorefUD, GAP, WinoBias), to the ends of its documents:
$ attentionology analyze --analyses coreference --corpus FILE --stride 256

Train probes on the attention of all heads together:
$ attentionology probe --train TRAIN.conllu --test DEV.conllu --vectors glove.6B.zip/glove.6B.100d.txt

Test whether the attention of a text classifier may be read as an explanation:
$ attentionology explain --data LABELLED.txt --encoder lstm

Before trusting a model that you have not used here:
$ attentionology doctor --model MODEL

Which version this is:
$ attentionology --version

Exit status: 0 done; 1 the input or the model cannot be used (the message says why); 2 wrong options; \
130 interrupted; 141 the reader of the output went away. Nothing half-finished is left behind in any of these, but for \
the cache of probe and explain."""


def _commands() -> Any:
    """All commands; tyro reads their options and help from them."""
    commands = {"analyze": analyze_command(), "probe": ProbeCommand, "explain": Explain, "doctor": Doctor}
    named = [Annotated[command, tyro.conf.subcommand(name)] for name, command in commands.items()]
    return functools.reduce(operator.or_, named)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: ``sys.argv``) and return its exit status."""
    return_large_blocks()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return guarded(lambda: _run(arguments))
    except KeyboardInterrupt:  # before or after the work itself
        return _fail("interrupted", 130)


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        try:
            say(version("attentionology"))
        except PackageNotFoundError:
            say("attentionology (not installed)")
        return 0
    if unnamed := next((word for word in arguments if not _is_text(word)), None):
        return _fail(f"{unnamed}: this name is not UTF-8, so results cannot state it; rename the file or folder", 1)
    options = [a.split("=", 1)[0].replace("_", "-") for a in arguments if a.startswith("--")]
    if repeated := next((option for option in options if options.count(option) > 1), None):
        return _fail(f"{repeated} is given twice; give all its values after one {repeated}", 2)
    try:
        command = _parsed(arguments)
    except SystemExit as stop:  # --help, or options that do not parse
        return stop.code if isinstance(stop.code, int) else 2
    except RegistryError as error:
        return _fail(error, 1)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cluster's time limit is an interruption too
    try:
        return command.run(arguments)
    except Exception as error:
        if reason := out_of_memory(error):
            return _fail(shortage(reason, command), 1)
        if isinstance(error, OptionError):
            return _fail(error, 2)
        if isinstance(error, AttentionologyError | OSError):
            return _fail(error, 1)
        raise
    except KeyboardInterrupt:
        again = "; the same command goes on where it stopped" if isinstance(command, ProbeCommand | Explain) else ""
        return _fail(f"interrupted; no results were written{again}", 130)


def _parsed(arguments: list[str]) -> Analyze | ProbeCommand | Explain | Doctor:
    """The command with its options.

    Raises:
        SystemExit: help was asked for, or the options do not parse; tyro has said so.
    """

    def parse(words: list[str], *, aloud: bool) -> Analyze | ProbeCommand | Explain | Doctor:
        with delivered():
            command: Analyze | ProbeCommand | Explain | Doctor = tyro.cli(
                _commands(),
                prog="attentionology",
                description=DESCRIPTION,
                args=words,
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes),
                registry=NUMBERS,
                console_outputs=aloud,
            )
            return command

    shown = [visible(word) for word in arguments]
    if shown == arguments:
        return parse(arguments, aloud=True)
    try:
        return parse(arguments, aloud=False)  # tyro would repeat them as they are
    except SystemExit:
        parse(shown, aloud=True)
        raise


def _is_text(argument: str) -> bool:
    """Whether an argument is UTF-8; Python reads other bytes as halves of surrogate pairs."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fail(message: object, status: int) -> int:
    return complain(f"attentionology: {message}", status)


if __name__ == "__main__":
    sys.exit(main())

"""Entry point of the ``attentionology`` command."""

from __future__ import annotations

import inspect
import re
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import tyro

from ..analyses.contract import OptionError
from ..analyses.shared.input_options import OutputOptions
from ..analyses.shared.numbers import NUMBERS
from ..corpora_loaders import AttentionologyError, CorpusError
from ..corpora_loaders.errors import out_of_memory
from ..reports.help.pages import command_page, front_page, no_command
from ..reports.streams import complain, delivered, guarded, say
from ..reports.terminal import visible
from ..storage.plugins import RegistryError
from .commands import COMMANDS, Runnable, parser_type

_DESCRIPTION = """What do the attention heads of a transformer encoder know about language?"""

_NOT_UTF_8 = re.compile(r"[\ud800-\udfff]")
"""The halves of surrogate pairs as which Python reads bytes that are not UTF-8."""

_EXAMPLES = """To run the demo model on the sample treebank:
$ attentionology analyze

To analyze your own treebank with a model of the Hugging Face Hub:
$ attentionology analyze --model google-bert/bert-base-uncased --corpus TREEBANK.conllu --out runs/mine

To read the documents of a coreference corpus (CoNLL-2012, CorefUD, GAP or WinoBias) to their ends:
$ attentionology analyze --analyses coreference --corpus FILE --stride 256

To train probes on the attention of all heads together:
$ attentionology probe --train TRAIN.conllu --test DEV.conllu --vectors glove.6B.zip/glove.6B.100d.txt

To test whether the attention of a text classifier may be read as an explanation:
$ attentionology explain --data LABELED.txt --encoder lstm

To compare two runs, for example of two models:
$ attentionology compare runs/mine runs/other --out runs/comparison

To compare several models and kinds of maps on several treebanks:
$ attentionology survey --models MODEL MODEL --treebanks A.conllu B.conllu --maps weight norm --parts parts/survey

To check a model that you have not used before:
$ attentionology doctor --model MODEL

To print the version:
$ attentionology --version

The exit status is
- 0 if the command succeeded;
- 1 if the input or the model cannot be used (the message says why), or if doctor found a problem;
- 2 if the options are wrong;
- 3 if some cells of a survey failed (the results of the others are written);
- 130 if the command was interrupted;
- 141 if the reader of the output closed it.

A command that fails leaves no partial results. The caches of probe and explain and the parts of analyze --parts and
survey --parts are kept, so that the same command continues where it stopped."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: ``sys.argv``) and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return guarded(lambda: _run(arguments))
    except KeyboardInterrupt:  # before or after the work itself
        return _fail("interrupted", 130)


def _run(arguments: list[str]) -> int:
    name = arguments[0] if arguments and arguments[0] in COMMANDS else None
    if {"-h", "--help"} & set(arguments):
        try:
            page = _help(name)
        except RegistryError as error:
            return _fail(error, 1)
        with delivered():
            print(page)
        return 0
    if arguments in (["--version"], ["-V"]):
        from importlib.metadata import PackageNotFoundError, version

        try:
            say(version("attentionology"))
        except PackageNotFoundError:
            say("attentionology (not installed)")
        return 0
    if unnamed := next((word for word in arguments if _NOT_UTF_8.search(word)), None):
        return _fail(
            f"{unnamed}: this name is not UTF-8, so the results cannot record it; rename the file or folder", 1
        )
    if name is None and (not arguments or not arguments[0].startswith("-")):
        return _fail(no_command(arguments[0] if arguments else None, tuple(COMMANDS)), 2)
    options = [a.split("=", 1)[0].replace("_", "-") for a in arguments if a.startswith("--")]
    if repeated := next((option for option in options if options.count(option) > 1), None):
        return _fail(f"{repeated} is given twice; give all its values after one {repeated}", 2)
    try:
        command = _parsed(name, arguments)
    except SystemExit as stop:  # the options do not parse
        return stop.code if isinstance(stop.code, int) else 2
    except RegistryError as error:
        return _fail(error, 1)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cluster's time limit is an interruption too
    from ..engine.memory import return_large_blocks

    return_large_blocks()
    try:
        with _figure_formats(command):
            return command.run(arguments)
    except Exception as error:
        if reason := out_of_memory(error):
            from ..engine.memory import shortage

            return _fail(shortage(reason, command), 1)
        if isinstance(error, OptionError):
            return _fail(error, 2)
        if isinstance(error, AttentionologyError | OSError):
            return _fail(error, 1)
        raise
    except KeyboardInterrupt:
        resumes = name is not None and (COMMANDS[name].resumes or "--parts" in options)
        again = "; the same command goes on where it stopped" if resumes else ""
        return _fail(f"interrupted; no results were written{again}", 130)


def _figure_formats(command: Runnable) -> AbstractContextManager[None]:
    """Let the figures of a command be written in the formats that its options name."""
    output = getattr(command, "output", None)
    if not isinstance(output, OutputOptions) or not output.figures:
        return nullcontext()
    from ..reports.drawing import figure_formats

    return figure_formats(*output.figures)


def _help(name: str | None) -> str:
    """The help of a command, or of the program if none is named."""
    if name is not None:
        command = COMMANDS[name]
        return command_page(f"attentionology {name}", command.load(), command.most_used)
    summaries = {key: (inspect.getdoc(command.load()) or "").split("\n\n")[0] for key, command in COMMANDS.items()}
    return front_page("attentionology", _DESCRIPTION, summaries, _EXAMPLES)


def _parsed(name: str | None, arguments: list[str]) -> Runnable:
    """The command with its options."""
    kind = parser_type(name)
    program = f"attentionology {name}" if name else "attentionology"

    def parse(words: list[str], *, aloud: bool) -> Runnable:
        with delivered():
            command: Runnable = tyro.cli(
                kind,
                prog=program,
                args=words[1:] if name else words,
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


def _fail(message: object, status: int) -> int:
    for line in message.mistakes if isinstance(message, CorpusError) else (message,):
        complain(f"attentionology: {line}", status)
    return status

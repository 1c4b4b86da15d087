"""Options that several commands have are declared once, or say the same; other meanings of a name are listed here."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from attentionology.reports.help.options import option_sections
from attentionology.scripts.commands import COMMANDS

MEANINGS = {
    "cache": "The command probe keeps word maps, and explain keeps trained models.",
    "controls": "Probes have several kinds of controls; alignments have copies with random weights only.",
    "corpus": "The commands analyze, show and doctor read files of different formats.",
    "dev": "Treebanks and labeled texts are held out in different ways.",
    "direction": "The command show reads guesses in a direction; alignments are read in one or two.",
    "epochs": "Probes and classifiers have recipes of their own.",
    "json": "The commands doctor, treebanks and cite have no results folder, and hence no other option of the results.",
    "learning_rate": "Probes and classifiers have recipes of their own.",
    "limit": "It limits sentences, paragraphs, documents, tested texts or sentence pairs.",
    "map": "A probe reads one kind of maps, and the other commands read several.",
    "max_length": "The analyses of documents also cut them into windows of this length.",
    "min_count": "It grays relations, keeps them out of tests, or makes rare words unknown.",
    "model": "The model is an encoder, a classifier that replaces one that is trained, or a translation model.",
    "out": "The command report writes to the run itself by default, and show writes a file.",
    "overwrite": "The command show writes a file.",
    "relations": "The command compare chooses among the relations that runs have counted.",
    "replicates": "Without intervals, explanation tests decide nothing.",
    "seed": "What is random differs from command to command.",
    "seeds": "Probes are trained several times; a tested classifier is compared with others.",
    "test": "Treebanks and labeled texts have different defaults.",
    "text": "The command show draws the texts that it is given, analyze reads them from files.",
    "vectors": "Words without vectors are treated differently by probes and by classifiers.",
    "workers": "Workers count or train.",
}
"""The names of options with more than one meaning, each with the reason."""


def declarations(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """The options of a dataclass and of the groups in it, each with the class that declares it."""
    types = get_type_hints(kind)
    for option in fields(kind):
        if isinstance(types[option.name], type) and is_dataclass(types[option.name]):
            yield from declarations(types[option.name])
        else:
            owner = next(base for base in kind.__mro__ if option.name in inspect.get_annotations(base))
            yield option.name, owner.__name__


def helps(kind: type[Any]) -> dict[str, set[str]]:
    """The help of each option of a command by its name, with all white space as one blank."""
    texts: dict[str, set[str]] = {}
    for section in option_sections(kind, ()).values():
        for option in section:
            texts.setdefault(option.flag.removeprefix("--").replace("-", "_"), set()).add(" ".join(option.text.split()))
    return texts


def different(commands: dict[str, type[Any]]) -> set[str]:
    """The options that several classes declare with different help."""
    owners: dict[str, set[str]] = {}
    texts: dict[str, set[str]] = {}
    for command in commands.values():
        for name, owner in declarations(command):
            owners.setdefault(name, set()).add(owner)
        for name, help_texts in helps(command).items():
            texts.setdefault(name, set()).update(help_texts)
    return {name for name, classes in owners.items() if len(classes) > 1 and len(texts.get(name, set())) > 1}


def test_an_option_has_one_help_wherever_it_is_declared():
    assert different({name: command.load() for name, command in COMMANDS.items()}) == set(MEANINGS)

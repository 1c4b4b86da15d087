"""What a paper says of a run: a sentence for the section on methods, and BibTeX of what was used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..corpora_loaders.describing import amount
from ..corpora_loaders.errors import AttentionologyError
from ..extractors.tokens.text_fit import TextFit
from ..storage.paths import read_record

_TITLE = "attentionology: what do the attention heads of a transformer encoder know about language?"
_YEARS = {"0.2.0": 2026, "0.3.0": 2026, "0.4.0": 2026}
"""The years in which versions were released, as in CHANGELOG.md."""

_PAPER = re.compile(r"^% used: (.*)\n(@[\s\S]*?^})", re.MULTILINE)
"""The names of what a paper of `papers.bib` is cited for, and its entry."""


class Citation(NamedTuple):
    """What a paper says of a run."""

    methods: str
    bibtex: str


def cite_run(folder: Path) -> Citation:
    """Return what a paper says of the run in a folder."""
    record = read_record(folder)
    if record is None:
        why = "is not the folder of a run" if folder.is_dir() else "does not exist, or is no folder"
        raise AttentionologyError(f"{folder} {why}")
    try:
        return Citation(methods(record), bibtex(record))
    except (KeyError, TypeError):
        command = record["command"]
        raise AttentionologyError(
            f"{folder} is no run of one model on one corpus, which can be cited, but of the command {command}"
        ) from None


def warning_of(record: Mapping[str, Any]) -> str:
    """Return the warning about a text whose words go to pieces; empty if the model could read the text."""
    return TextFit.read_record(record["text_fit"]).warning if "text_fit" in record else ""


def methods(record: Mapping[str, Any]) -> str:
    """Return sentences for the section on methods, from the record of a run."""
    model, options, reading = record["model"], record["options"], record["sentences"]
    versions = record["versions"]
    unit = record["corpus"]["unit"]
    files = " and ".join(map(_file, record["corpus"]["files"])) or "the text"
    maps = ", ".join(_names(options["map"]))
    revision = f"revision {model['revision']}, " if model["revision"] else ""
    commit = f", commit {record['git_commit']}" if record["git_commit"] else ""
    read = f"{amount(reading['read'], unit)} ({amount(reading['words'], 'words')})"
    sentences = [
        f"We read {read} of {files} with {model['name']} ({revision}"
        f"{amount(model['layers'], 'layers')} of {amount(model['heads'], 'heads')}, "
        f"SHA-256 of the weights {model['weights_sha256'][:12]}), "
        f"and analyzed its maps of the kind {maps} with attentionology {versions['attentionology']}{commit}, "
        f"transformers {versions['transformers']} and torch {versions['torch']}."
    ]
    if skipped := len(reading["skipped"]):
        sentences.append(f"{amount(skipped, unit)} {'was' if skipped == 1 else 'were'} left out.")
    if warning := warning_of(record):
        sentences.append(warning)
    if coreference := record.get("coreference"):
        account = coreference["account"]
        sentences.append(
            f"{coreference['notes'][0]} {account['scored']:,} of the {account['anaphors']:,} mentions that have an "
            "antecedent were scored."
        )
    if options.get("trees") == "enhanced":
        sentences.append("Syntactic heads are those of the enhanced dependencies (column DEPS).")
    if pairs := options.get("pairs"):
        sentences.append(f"The gold are pairs of words, of the file {Path(pairs).name}.")
    if relations := _names(options.get("relations")):
        sentences.append(f"Before the run, we chose the relations {', '.join(relations)}.")
    if groups := _names(options.get("group")):
        sentences.append(f"Groups of relations are {'; '.join(groups)}.")
    if options.get("replicates"):
        sentences.append(
            f"Intervals are from {amount(options['replicates'], 'bootstrap replicates')} (seed {record['seed']})."
        )
    if options.get("control"):
        sentences.append(f"The control is {options['control']}.")
    return " ".join([*sentences, f"The command was: {record['command']}"])


def bibtex(record: Mapping[str, Any]) -> str:
    """Return the BibTeX entries of what a run used."""
    options = record["options"]
    subcommand = record["command"].split()[1:2]  # the second word; a function of Python has none
    # `papers.bib` says of each paper what it is cited for: names of analyses, tests, commands, kinds of maps and
    # options.
    used = {*_names(options.get("analyses")), *_names(options.get("tests")), *subcommand}
    for kind in _names(options["map"]):
        used.update(kind.split(":"))  # such as rollout:norm
    # Probes of hidden states; what follows the colon is the key.
    used |= {name.partition(":")[0] for name in record.get("states", {}).get("probes", ())}
    used |= {name for name in ("ensembles", "spanning_trees") if options.get(name)}
    if any(file.get("source", {}).get("name", "").startswith("ud:") for file in record["corpus"]["files"]):
        used.add("ud")
    papers = _PAPER.findall(Path(__file__).with_name("papers.bib").read_text(encoding="utf-8"))
    entries = [entry for names, entry in papers if used & set(names.split())]
    return "\n\n".join([*entries, _software(record["versions"]["attentionology"])])


def _software(version: str) -> str:
    """Return the entry of a version of the toolkit, with the year of its release if there is one."""
    fields = {"title": f"{{{_TITLE}}}", "author": "{The attentionology developers}"}
    if version in _YEARS:
        fields["year"] = str(_YEARS[version])
    lines = [f"  {name:<7} = {{{value}}}" for name, value in {**fields, "version": version}.items()]
    return "@software{attentionology,\n" + ",\n".join(lines) + "\n}"


def _file(file: Mapping[str, Any]) -> str:
    """Return the name of a file with its release, or else with its checksum."""
    source = file.get("source") or {}
    if "release" in source:
        return f"{source['name']} (Universal Dependencies {source['release']})"
    return f"{source.get('name', file['name'])} (SHA-256 {file['sha256'][:12]})"


def _names(value: str | Iterable[str] | None) -> list[str]:
    """Return the names that are the value of an option, which may be one name, several, or none."""
    return [value] if isinstance(value, str) else list(value or ())

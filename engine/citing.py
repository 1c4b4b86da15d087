"""What a paper says of a run: a sentence for the section on methods, and BibTeX of what was used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..corpora_loaders.errors import AttentionologyError

_TOOL = """@software{attentionology,
  title   = {attentionology},
  author  = {{The attentionology developers}},
  version = {VERSION}
}"""


class Paper(NamedTuple):
    """A paper, and what of a run it is cited for."""

    key: str
    title: str
    author: str
    booktitle: str
    year: int
    used: frozenset[str]  # names of analyses, commands, kinds of maps, tests and options

    def bibtex(self) -> str:
        """Return the entry; a journal is the place of an article."""
        place = "journal" if self.booktitle.startswith("Computational") else "booktitle"
        kind = "article" if place == "journal" else "inproceedings"
        rows = {"title": f"{{{self.title}}}", "author": self.author, place: self.booktitle, "year": self.year}
        width = max(map(len, rows))
        return f"@{kind}{{{self.key},\n" + ",\n".join(f"  {n:<{width}} = {{{v}}}" for n, v in rows.items()) + "\n}"


_KOBAYASHI = "Kobayashi, Goro and Kuribayashi, Tatsuki and Yokoi, Sho and Inui, Kentaro"


def _paper(key: str, title: str, author: str, booktitle: str, year: int, used: str) -> Paper:
    return Paper(key, title, author, booktitle, year, frozenset(used.split()))


PAPERS = (
    _paper("clark-etal-2019-bert", "What Does BERT Look at? An Analysis of BERT's Attention",
           "Clark, Kevin and Khandelwal, Urvashi and Levy, Omer and Manning, Christopher D.",
           "Proceedings of the 2019 ACL Workshop BlackboxNLP: Analyzing and Interpreting Neural Networks for NLP", 2019,
           "dependency surface clusters coreference probe"),
    _paper("hewitt-liang-2019-designing", "Designing and Interpreting Probes with Control Tasks",
           "Hewitt, John and Liang, Percy", "Proceedings of EMNLP-IJCNLP 2019", 2019, "probe"),
    _paper("limisiewicz-etal-2020-universal", "Universal Dependencies According to BERT: Both More Specific and More "
           "General", "Limisiewicz, Tomasz and Mareček, David and Rosa, Rudolf", "Findings of EMNLP 2020", 2020,
           "ensembles"),
    _paper("ravishankar-etal-2021-attention", "Attention Can Reflect Syntactic Structure (If You Let It)",
           "Ravishankar, Vinit and Kulmizev, Artur and Abdou, Mostafa and Søgaard, Anders and Nivre, Joakim",
           "Proceedings of EACL 2021", 2021,
           "ensembles spanning_trees"),
    _paper("kobayashi-etal-2020-attention", "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms",
           _KOBAYASHI, "Proceedings of EMNLP 2020", 2020, "norm attn norms"),
    _paper("kobayashi-etal-2021-incorporating", "Incorporating Residual and Normalization Layers into Analysis of "
           "Masked Language Models", _KOBAYASHI, "Proceedings of EMNLP 2021", 2021, "attnres attnresln norms"),
    _paper("kobayashi-etal-2024-analyzing", "Analyzing Feed-Forward Blocks in Transformers through the Lens of "
           "Attention Maps", _KOBAYASHI, "International Conference on Learning Representations", 2024,
           "atbff atbffres atbffresln"),
    _paper("abnar-zuidema-2020-quantifying", "Quantifying Attention Flow in Transformers",
           "Abnar, Samira and Zuidema, Willem", "Proceedings of ACL 2020", 2020, "rollout"),
    _paper("modarressi-etal-2022-globenc", "GlobEnc: Quantifying Global Token Attribution by Incorporating the Whole "
           "Encoder Layer in Transformers", "Modarressi, Ali and Fayyaz, Mohsen and Yaghoobzadeh, Yadollah and "
           "Pilehvar, Mohammad Taher", "Proceedings of NAACL 2022", 2022, "globenc"),
    _paper("ferrando-etal-2022-measuring", "Measuring the Mixing of Contextual Information in the Transformer",
           "Ferrando, Javier and Gállego, Gerard I. and Costa-jussà, Marta R.", "Proceedings of EMNLP 2022", 2022,
           "alti alti-l2"),
    _paper("mohebbi-etal-2023-quantifying", "Quantifying Context Mixing in Transformers",
           "Mohebbi, Hosein and Zuidema, Willem and Chrupała, Grzegorz and Alishahi, Afra", "Proceedings of EACL 2023",
           2023, "value-zeroing"),
    _paper("jain-wallace-2019-attention", "Attention is not Explanation", "Jain, Sarthak and Wallace, Byron C.",
           "Proceedings of NAACL 2019", 2019, "correlation permutation adversarial"),
    _paper("wiegreffe-pinter-2019-attention", "Attention is not not Explanation", "Wiegreffe, Sarah and Pinter, Yuval",
           "Proceedings of EMNLP-IJCNLP 2019", 2019, "uniform seeds guided imitation"),
    _paper("serrano-smith-2019-attention", "Is Attention Interpretable?", "Serrano, Sofia and Smith, Noah A.",
           "Proceedings of ACL 2019", 2019, "erasure removal"),
    _paper("tutek-snajder-2020-staying", "Staying True to Your Word: (How) Can Attention Become Explanation?",
           "Tutek, Martin and Šnajder, Jan", "Proceedings of the 5th Workshop on Representation Learning for NLP", 2020,
           "single-token regularizers"),
    _paper("deyoung-etal-2020-eraser", "ERASER: A Benchmark to Evaluate Rationalized NLP Models",
           "DeYoung, Jay and Jain, Sarthak and Rajani, Nazneen Fatema and Lehman, Eric and Xiong, Caiming and "
           "Socher, Richard and Wallace, Byron C.", "Proceedings of ACL 2020", 2020, "eraser"),
    _paper("de-marneffe-etal-2021-universal", "Universal Dependencies",
           "de Marneffe, Marie-Catherine and Manning, Christopher D. and Nivre, Joakim and Zeman, Daniel",
           "Computational Linguistics", 2021, "ud"),
)  # fmt: skip
"""The papers that runs may use. Those of `CITATION.cff` have the titles of that file."""


class Citation(NamedTuple):
    """What a paper says of a run."""

    methods: str
    bibtex: str


def cite_run(folder: Path) -> Citation:
    """Return what a paper says of the run in a folder.

    Raises:
        AttentionologyError: the folder has no record of one run of a model on a corpus.
    """
    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        return Citation(methods(record), bibtex(record))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AttentionologyError(f"{folder}: no run of one model on one corpus to cite ({error!r})") from None


def methods(record: Mapping[str, Any]) -> str:
    """Return sentences for the section on methods, from the record of a run."""
    model, options, sentences = record["model"], record["options"], record["sentences"]
    revision = f"revision {model['revision']}, " if model["revision"] else ""
    files = " and ".join(map(_file, record["corpus"]["files"])) or "the text"
    unit, skipped = record["corpus"]["unit"], len(sentences["skipped"])
    commit = f", commit {record['git_commit']}" if record["git_commit"] else ""
    maps = ", ".join(_names(options["map"]))
    relations, groups = _names(options.get("relations")), _names(options.get("group"))
    parts = [
        f"We read {sentences['read']:,} {unit} ({sentences['words']:,} words) of {files} with {model['name']} "
        f"({revision}{model['layers']} layers of {model['heads']} heads, SHA-256 of the weights "
        f"{model['weights_sha256'][:12]}), and analyzed its maps of the kind {maps} with attentionology "
        f"{record['versions']['attentionology']}{commit}, "
        f"transformers {record['versions']['transformers']} and torch {record['versions']['torch']}."
    ]
    if skipped:
        parts.append(f"{skipped:,} {unit} were left out.")
    if coreference := record.get("coreference"):
        account = coreference["account"]
        parts.append(
            f"{coreference['notes'][0]} {account['scored']:,} of the {account['anaphors']:,} mentions that have an "
            "antecedent were scored."
        )
    if options.get("trees") == "enhanced":
        parts.append("Syntactic heads are those of the enhanced dependencies (column DEPS).")
    if relations:
        parts.append(f"Before the run, we chose the relations {', '.join(relations)}.")
    if groups:
        parts.append(f"Groups of relations are {'; '.join(groups)}.")
    if options.get("replicates"):
        parts.append(f"Intervals are from {options['replicates']:,} bootstrap replicates (seed {record['seed']}).")
    if options.get("control"):
        parts.append(f"The control is {options['control']}.")
    return " ".join([*parts, f"The command was: {record['command']}"])


def bibtex(record: Mapping[str, Any]) -> str:
    """Return the BibTeX entries of what a run used."""
    options = record["options"]
    words = record["command"].split()
    used = {*_names(options.get("analyses")), *_names(options.get("tests")), *(words[1:2] if len(words) > 1 else ())}
    for kind in _names(options["map"]):
        used.update(kind.split(":"))
    used |= {name for name in ("ensembles", "spanning_trees") if options.get(name)}
    if any(file.get("source", {}).get("name", "").startswith("ud:") for file in record["corpus"]["files"]):
        used.add("ud")
    tool = _TOOL.replace("VERSION", record["versions"]["attentionology"])
    return "\n\n".join([*(paper.bibtex() for paper in PAPERS if paper.used & used), tool])


def _file(file: Mapping[str, Any]) -> str:
    """Name a file with its release, or else with its checksum."""
    source = file.get("source") or {}
    if "release" in source:
        return f"{source['name']} (Universal Dependencies {source['release']})"
    return f"{source.get('name', file['name'])} (SHA-256 {file['sha256'][:12]})"


def _names(value: str | Iterable[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())

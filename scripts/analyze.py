"""``attentionology analyze``: a treebank and a model in, a report on every head out."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.console import Console
from tyro.conf import arg

from corpora_loaders import CorpusError, load_treebank
from scripts import dependency, norms
from scripts.builtin import DEMO, SAMPLE, corpus_path, load_encoder
from scripts.errors import UsageError
from scripts.job import Job, Outcome
from scripts.options import OptionalNumber
from scripts.progress import Stages
from scripts.record import describe_command, describe_corpus, describe_model, describe_reading, warnings_of

ANALYSES = {"dependency": dependency.run, "norms": norms.run}
_READ_BY = {
    **dict.fromkeys(("map", "merge", "normalize", "coarse", "control"), "dependency"),
    **dict.fromkeys(("mask_rate", "frequencies", "ff_sentences"), "norms"),
}
"""Options that one analysis alone reads."""

_CONTROL = re.compile(r"random-init(?::(?P<copies>\d+))?")


@dataclass(frozen=True)
class Analyze:
    """Report what the attention heads of a model do on a treebank.

    dependency: for every word the most attended other word is taken as a guess at its syntactic head, as in section
    4.2 of Clark et al. 2019. norms: where attention goes by weight and by the norm of what it moves, how much context
    each layer mixes in, and what the feed-forward block changes (Kobayashi et al. 2020, 2021, 2024).

    The results folder holds report.html to read first, tables with every count as CSV, figures as SVG and PNG, and
    run.json with all it takes to repeat the run. Without options it runs the demo model on the sample treebank.
    """

    model: Annotated[str, arg(metavar="MODEL")] = DEMO
    """Folder with config.json, a tokenizer and *.safetensors; or a Hugging Face Hub id such as
    google-bert/bert-base-uncased; or 'demo', the model of the demo extra."""

    revision: Annotated[str | None, arg(metavar="REVISION")] = None
    """Branch, tag or commit on the Hub."""

    corpus: Annotated[tuple[str, ...], arg(metavar="FILE [FILE ...]")] = (SAMPLE,)
    """One or more CoNLL-U files (.gz is fine), all after one --corpus; or 'sample'. CoNLL-X works too."""

    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Results folder; default runs/MODEL-CORPUS."""

    overwrite: bool = False
    """Replace the results folder of an earlier run."""

    analyses: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ("dependency",)
    """What to compute: dependency, norms."""

    map: Annotated[str, arg(metavar="KIND")] = "weight"
    """What flows from token to token in the dependency analysis. weight: attention weights. Per head, times the norm of
    the vector: norm. All heads of a layer together, from the attention block on to the whole layer: attn, attnres,
    attnresln, atbff, atbffres, atbffresln; and globenc, alti, alti-l2, value-zeroing. Over the layers: rollout, or
    rollout:KIND."""

    merge: Literal["norm", "vector"] = "norm"
    """How pieces become words in maps of norms: add up their norms, or the vectors themselves before the norm."""

    normalize: Literal["none", "row"] = "none"
    """row divides each row of the map by its sum (weight, rollout, alti and value-zeroing sum to 1 as they are)."""

    ff_bias: Literal["input", "fixed"] = "input"
    """For all that passes the feed-forward block: its bias is an input like the tokens, or there from the start."""

    mask_rate: Annotated[float, arg(metavar="SHARE")] = 0.12
    """Share of the pieces of words that are masked while the norms analysis measures context mixing, as in the paper;
    0 for the text as it is."""

    frequencies: Annotated[Path | None, arg(metavar="FILE")] = None
    """Lines of a piece and its count, for the frequency ranks in the norms analysis; default: count the corpus."""

    ff_sentences: Annotated[int, arg(metavar="N")] = 100
    """How many sentences, from the first on, the norms analysis follows through the feed-forward block, which costs
    tens of times the forward pass; 0 for none."""

    tokens: Literal["syntactic", "surface"] = "syntactic"
    """What the model reads as words: the syntactic words of the trees (French 'de le'), or surface tokens ('du')
    with the words of a multiword token merged into one node."""

    coarse: bool = False
    """Count universal relations (nsubj) instead of subtypes as given (nsubj:pass)."""

    limit: OptionalNumber = None
    """Read only the first so many sentences."""

    max_length: OptionalNumber = None
    """Skip sentences of more pieces, [CLS] and [SEP] included, although the model takes them (the paper: 128)."""

    too_long: Literal["skip", "error"] = "skip"
    """What to do with sentences that are too long: leave out and report them, or stop."""

    min_count: Annotated[int, arg(metavar="N")] = 50
    """Relations with fewer words are greyed in the report; the tables always hold all."""

    replicates: Annotated[int, arg(metavar="N")] = 1000
    """Bootstrap replicates for the intervals; 0 for none."""

    control: Annotated[str | None, arg(metavar="random-init[:K]")] = None
    """random-init or random-init:K repeats the run with 1 or K copies of the model that keep the embeddings and
    have random weights otherwise. What they reach, embeddings and positions alone can explain."""

    device: Annotated[str, arg(metavar="DEVICE")] = "cpu"
    """Where to compute: cpu, cuda, cuda:1, mps."""

    batch_cells: OptionalNumber = None
    """Bound on sentences × pieces² per batch; lower it if memory is short. Results do not depend on it."""

    seed: Annotated[int, arg(metavar="N")] = 0
    """Of the bootstrap, the halvings for held-out accuracy, the control, and the masking."""

    json: bool = False
    """Print the summary as JSON instead of a table."""

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Do it; returns the exit status."""
        self._check()
        out = self.out or Path("runs") / _slug(self.model, self.corpus)
        from reports import RunFolder

        with RunFolder(out, overwrite=self.overwrite) as folder:
            run, outcomes = self._analyze(folder.path, out, arguments)
        self._show(run, outcomes, out)
        return 0

    def control_copies(self) -> int:
        """How many randomly initialised copies of the model to run."""
        match = _CONTROL.fullmatch(self.control or "")
        return int(match["copies"] or 1) if match else 0

    def map_options(self) -> dict[str, Any]:
        """What `extractors.extract` must know about the maps."""
        return {"kind": self.map, "merge": self.merge, "normalize": self.normalize, "ff_bias": self.ff_bias}

    def map_facts(self, *, per_head: bool) -> list[str]:
        """What the maps are, for a reader."""
        from extractors import get_kind

        kind = get_kind(self.map)
        facts = [f"map “{self.map}”: {kind.description}"]
        if not per_head:
            facts.append("one map for all heads of a layer, shown as head 1")
        if kind.vectors:
            facts.append("words from pieces by " + {"norm": "adding norms", "vector": "adding vectors"}[self.merge])
        if self.normalize == "row":
            facts.append("rows divided by their sums")
        if self.map.removeprefix("rollout:").startswith("atbff"):
            facts.append(f"feed-forward bias: {self.ff_bias}")
        return facts

    def _check(self) -> None:
        """Refuse impossible options before anything slow happens."""
        for name in ("corpus", "analyses"):
            if not getattr(self, name):
                raise UsageError(f"--{name} needs at least one name")
        for name in self.analyses:
            if name not in ANALYSES:
                raise UsageError(f"unknown analysis {name!r}; choose from: {', '.join(ANALYSES)}")
        for option, name in _READ_BY.items():
            if name not in self.analyses and getattr(self, option) != getattr(Analyze, option):
                flag = option.replace("_", "-")
                raise UsageError(f"--{flag} is for the analysis {name}, which is not among --analyses")
        for name in ("limit", "max_length", "batch_cells", "min_count"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
        for name in ("replicates", "ff_sentences"):
            if getattr(self, name) < 0:
                raise UsageError(f"--{name.replace('_', '-')} must not be negative, not {getattr(self, name)}")
        if not 0 <= self.mask_rate <= 1:
            raise UsageError(f"--mask-rate must be from 0 to 1, not {self.mask_rate}")
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"--seed must be from 0 to {2**32 - 1}, not {self.seed}")
        if self.control and self.control_copies() < 1:
            raise UsageError(f"unknown control {self.control!r}; choose random-init or random-init:K, K at least 1")
        if len(set(self.analyses)) < len(self.analyses):
            raise UsageError("an analysis is named twice")
        for file in [*map(Path, self._corpus_files()), *([self.frequencies] if self.frequencies else [])]:
            if not file.exists():
                raise CorpusError("there is no such file", file=file)

    def _corpus_files(self) -> list[str]:
        return [corpus_path(name) for name in self.corpus]

    def _analyze(self, folder: Path, out: Path, arguments: Sequence[str]) -> tuple[dict[str, Any], list[Outcome]]:
        """Fill the folder; returns the run record and what was found."""
        stages = Stages()
        with stages("read the corpus"):
            treebank = load_treebank(self._corpus_files(), tokens=self.tokens, limit=self.limit)
        with stages("load the model"):
            from extractors import MapMaker, get_kind
            from reports import write_report

            try:
                MapMaker(get_kind(self.map), "word", self.merge, self.normalize, self.ff_bias)
            except ValueError as error:
                raise UsageError(str(error)) from None
            encoder = load_encoder(self.model, revision=self.revision, device=self.device)
        job = Job(self, encoder, treebank, folder, stages)
        outcomes = [ANALYSES[name](job) for name in self.analyses]
        reading = describe_reading(treebank, outcomes[0].log)
        run = {
            **describe_command(
                self,
                arguments,
                stages,
                out=str(out),
                corpus=self._corpus_files(),
                frequencies=self.frequencies and str(self.frequencies),
            ),
            "model": describe_model(encoder),
            "corpus": describe_corpus(treebank),
            "sentences": reading,
            "warnings": warnings_of(reading),
        }
        for outcome in outcomes:
            run |= outcome.record
        write_report(folder, run=run, sections=[outcome.section for outcome in outcomes])
        return run, outcomes

    def _show(self, run: dict[str, Any], outcomes: list[Outcome], out: Path) -> None:
        from reports import WIDE, to_json

        if self.json:
            found = {name: table for outcome in outcomes for name, table in outcome.section.summary.items()}
            print(to_json({"out": str(out), "run": run, **found}), end="")
            return
        console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False, markup=False, soft_wrap=False)
        for outcome in outcomes:
            console.print(outcome.show(console.width))
        model, sentences = run["model"], run["sentences"]
        lines = ["", f"{model['name']}, {model['layers']} layers × {model['heads']} heads"]
        if self.model == DEMO:
            lines.append("The demo model's weights were verified by sha256.")
        skipped = len(sentences["skipped"])
        lines.append(
            f"Sentences read: {sentences['read']:,}, skipped: {skipped:,}" + (" (see the report)" if skipped else "")
        )
        lines += [f"Careful: {warning}" for warning in run["warnings"]]
        lines += [f"Report: {out / 'report.html'}", f"Tables: {out / 'tables'}"]
        console.print("\n".join(lines), soft_wrap=True)


def _slug(model: str, corpus: Sequence[str]) -> str:
    names = [model.rstrip("/").rsplit("/", 1)[-1], *(Path(c).name.split(".", 1)[0] for c in corpus[:1])]
    return re.sub(r"[^\w.-]+", "_", "-".join(names))

"""``attentionology analyze``: a treebank and a model in, a report on every head out."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from scripts.errors import UsageError
from scripts.models import DEMO, load_encoder
from scripts.progress import Stages, progress_bar

if TYPE_CHECKING:
    from analyses.linguistic import DependencyTables
    from corpora_loaders import Treebank
    from extractors import Encoder, ExtractionLog

SAMPLE = "sample"
ANALYSES = ("dependency",)
_CONTROL = re.compile(r"random-init(?::(?P<copies>[1-9]\d*))?")


@dataclass(frozen=True)
class Analyze:
    """Report what every attention head of a model knows about a treebank.

    For every word the most attended other word is taken as a guess at its syntactic head (Clark et al. 2019,
    §4.2). The results folder holds report.html to read first, tables/*.csv with every count, figures/*.svg
    and *.png, and run.json with all it takes to repeat the run.

    Without options it runs the demo model on the sample treebank.
    """

    model: Annotated[str, arg(metavar="MODEL")] = DEMO
    """Folder with config.json, a tokenizer and *.safetensors; or a Hugging Face Hub id such as
    google-bert/bert-base-uncased; or 'demo'."""

    revision: Annotated[str | None, arg(metavar="REVISION")] = None
    """Branch, tag or commit on the Hub."""

    corpus: Annotated[tuple[str, ...], arg(metavar="FILE [FILE ...]")] = (SAMPLE,)
    """One or more CoNLL-U files (.gz is fine), or 'sample'. CoNLL-X works too."""

    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Results folder; default runs/MODEL-CORPUS."""

    overwrite: bool = False
    """Replace the results folder of an earlier run."""

    analyses: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ANALYSES
    """What to compute: dependency."""

    map: Annotated[str, arg(metavar="KIND")] = "weight"
    """What flows from token to token: weight (attention weights)."""

    tokens: Literal["syntactic", "surface"] = "syntactic"
    """What the model reads as words: the syntactic words of the trees (French 'de le'), or surface tokens ('du')
    with the words of a multiword token merged into one node."""

    coarse: bool = False
    """Count universal relations (nsubj) instead of subtypes as given (nsubj:pass)."""

    limit: Annotated[int | None, arg(metavar="N")] = None
    """Read only the first so many sentences."""

    max_length: Annotated[int | None, arg(metavar="N")] = None
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

    batch_cells: Annotated[int | None, arg(metavar="N")] = None
    """Bound on sentences × pieces² per batch; lower it if memory is short. Results do not depend on it."""

    seed: Annotated[int, arg(metavar="N")] = 0
    """Of the bootstrap, the halves for held-out accuracy, and the control."""

    json: bool = False
    """Print the summary as JSON instead of a table."""

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Do it; returns the exit status."""
        copies = self._check()
        started = datetime.now(UTC).isoformat(timespec="seconds")
        from corpora_loaders import CorpusError, load_treebank
        from reports import RunFolder, git_commit, versions, write_dependency_record, write_dependency_tables

        out = self.out or Path("runs") / _slug(self.model, self.corpus)
        folder = RunFolder(out, overwrite=self.overwrite)
        stages = Stages()
        with stages("read the corpus"):
            treebank = load_treebank(self._corpus_files(), tokens=self.tokens, limit=self.limit)
        if not treebank.relations:
            raise CorpusError("no word has a head; this analysis needs trees", file=self.corpus[0])
        with stages("load the model"):
            encoder = self._encoder()
        with stages("dependency"):
            result, log = self._dependency(encoder, treebank, "dependency", self.replicates)
        controls = []
        for k in range(copies):
            with stages("control"):
                label = f"random weights {k + 1}/{copies}"
                controls.append(self._dependency(encoder.random_init(self.seed + k), treebank, label, 0)[0].best)

        from analyses.linguistic import with_control

        best = with_control(result.best, controls)
        run = {
            "command": shlex.join(["attentionology", *arguments]),
            "started": started,
            "options": {**asdict(self), "out": str(out), "corpus": list(self._corpus_files())},
            "seed": self.seed,
            "model": _describe_model(encoder),
            "corpus": _describe_corpus(treebank),
            "sentences": _describe_reading(log),
            "control": {
                "kind": "random-init",
                "copies": copies,
                "seeds": [self.seed + k for k in range(copies)],
            }
            if copies
            else None,
            "versions": versions(),
            "git_commit": git_commit(),
            "seconds": stages.seconds,
        }
        with folder:
            tables: dict[str, Any] = {"cells": result.cells, "best": best, "min_count": self.min_count}
            with stages("tables and figures"):
                write_dependency_tables(folder.path, **tables, controls=controls)
            write_dependency_record(folder.path, run=run, **tables)
        self._show(run, best, out)
        return 0

    def _check(self) -> int:
        """Refuse impossible options before anything slow happens; returns the number of control copies."""
        for name in self.analyses:
            if name not in ANALYSES:
                raise UsageError(f"unknown analysis {name!r}; choose from: {', '.join(ANALYSES)}")
        for name in ("limit", "max_length", "batch_cells", "min_count"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
        if self.replicates < 0:
            raise UsageError(f"--replicates must not be negative, not {self.replicates}")
        match = _CONTROL.fullmatch(self.control or "")
        if self.control and not match:
            raise UsageError(f"unknown control {self.control!r}; choose random-init or random-init:K")
        from extractors import get_kind

        try:
            get_kind(self.map)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return int(match["copies"] or 1) if match else 0

    def _corpus_files(self) -> tuple[str, ...]:
        from corpora_loaders.sample import SAMPLE_TREEBANK

        return tuple(
            str(SAMPLE_TREEBANK) if name == SAMPLE and not Path(name).exists() else name for name in self.corpus
        )

    def _encoder(self) -> Encoder:
        return load_encoder(self.model, revision=self.revision, device=self.device)

    def _dependency(
        self, encoder: Encoder, treebank: Treebank, label: str, replicates: int
    ) -> tuple[DependencyTables, ExtractionLog]:
        from analyses.linguistic import DependencyAccuracy
        from extractors import DEFAULT_BATCH_CELLS, ExtractionError, ExtractionLog, extract

        log = ExtractionLog()
        batches = extract(
            encoder,
            treebank,
            kind=self.map,
            batch_cells=self.batch_cells or DEFAULT_BATCH_CELLS,
            too_long=self.too_long,
            max_length=self.max_length,
            log=log,
        )
        with progress_bar(label, len(treebank)) as advance:
            first = next(batches, None)
            if first is None:
                raise ExtractionError(f"none of the {len(treebank)} sentences could be read: {log.reasons()}")
            _, n_layers, n_heads, *_ = first.maps.shape
            accuracy = DependencyAccuracy(
                list(treebank.relations),
                n_layers,
                n_heads,
                coarse=self.coarse,
                replicates=replicates,
                seed=self.seed,
            )
            for batch in chain([first], batches):
                accuracy.update(batch)
                advance(len(batch))
        return accuracy.compute(), log

    def _show(self, run: dict[str, Any], best: Any, out: Path) -> None:
        from reports import best_heads_table, records, to_json

        if self.json:
            print(to_json({"out": str(out), "run": run, "dependency_best": records(best)}), end="")
            return
        from rich.console import Console

        console = Console(width=None if sys.stdout.isatty() else 130, highlight=False)
        read, skipped = run["sentences"]["read"], len(run["sentences"]["skipped"])
        console.print(best_heads_table(best, min_count=self.min_count))
        console.print(f"\n{run['model']['name']}, {run['model']['layers']} layers × {run['model']['heads']} heads")
        if self.model == DEMO:
            console.print("The demo model's weights were verified by sha256.")
        console.print(f"Sentences read: {read:,}, skipped: {skipped:,}" + (" (see the report)" if skipped else ""))
        if run["sentences"]["unknown_words"] > 0.05 * run["sentences"]["words"]:
            unknown = run["sentences"]["unknown_words"] / run["sentences"]["words"]
            console.print(f"Careful: the tokenizer does not know all of {unknown:.0%} of the words.")
        console.print(f"Report: {out / 'report.html'}\nTables: {out / 'tables'}\n", soft_wrap=True, end="")


def _slug(model: str, corpus: Sequence[str]) -> str:
    names = [model.rstrip("/").rsplit("/", 1)[-1], *(Path(c).name.split(".", 1)[0] for c in corpus[:1])]
    return re.sub(r"[^\w.-]+", "_", "-".join(names))


def _describe_model(encoder: Encoder) -> dict[str, Any]:
    tokenizer = encoder.tokenizer
    return {
        "name": encoder.name,
        "family": encoder.family,
        "revision": encoder.files.revision,
        "files": encoder.files.sha256,
        "weights_sha256": encoder.weights_sha256(),
        "layers": encoder.n_layers,
        "heads": encoder.n_heads,
        "max_length": encoder.max_length,
        "dtype": str(encoder.dtype).removeprefix("torch."),
        "device": str(encoder.device),
        "tokenizer": {"class": type(tokenizer).__name__, "vocabulary": len(tokenizer)},
    }


def _describe_corpus(treebank: Treebank) -> dict[str, Any]:
    return {
        "tokens": treebank.tokens,
        "files": [{"name": Path(file.path).name, **asdict(file)} for file in treebank.files],
        "counts": treebank.counts(),
        "relations": dict(treebank.relations),
    }


def _describe_reading(log: ExtractionLog) -> dict[str, Any]:
    return {
        "read": log.read,
        "words": log.words,
        "unknown_words": log.unknown_words,
        "substituted_words": log.substituted_words,
        "skipped": [
            {
                "id": one.sentence.id,
                "file": one.sentence.file,
                "line": one.sentence.line,
                "reason": one.reason,
            }
            for one in log.skipped
        ],
    }

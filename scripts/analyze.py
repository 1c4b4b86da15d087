"""``attentionology analyze``: a treebank and a model in, a report on every head out."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.console import Console
from tyro.conf import arg

from corpora_loaders import CorpusError, Treebank, load_treebank
from scripts.builtin import DEMO, SAMPLE, corpus_path, load_encoder
from scripts.errors import UsageError
from scripts.options import OptionalNumber
from scripts.progress import Stages, progress_bar
from scripts.record import describe_command, describe_corpus, describe_model, describe_reading, warnings_of

if TYPE_CHECKING:
    import pandas as pd

    from analyses.linguistic import DependencyTables
    from extractors import Encoder, ExtractionLog

ANALYSES = ("dependency",)
_CONTROL = re.compile(r"random-init(?::(?P<copies>\d+))?")


@dataclass(frozen=True)
class Analyze:
    """Report what every attention head of a model knows about a treebank.

    For every word the most attended other word is taken as a guess at its syntactic head, as in section 4.2 of
    Clark et al. 2019. The results folder holds report.html to read first, tables with every count as CSV, figures
    as SVG and PNG, and run.json with all it takes to repeat the run.

    Without options it runs the demo model on the sample treebank.
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

    analyses: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ANALYSES
    """What to compute: dependency."""

    map: Annotated[str, arg(metavar="KIND")] = "weight"
    """What flows from token to token: weight (attention weights)."""

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
    """Of the bootstrap, the halvings for held-out accuracy, and the control."""

    json: bool = False
    """Print the summary as JSON instead of a table."""

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Do it; returns the exit status."""
        copies = self._check()
        out = self.out or Path("runs") / _slug(self.model, self.corpus)
        from reports import RunFolder

        with RunFolder(out, overwrite=self.overwrite) as folder:
            run, best = self._analyze(folder.path, out, copies, arguments)
        self._show(run, best, out)
        return 0

    def _check(self) -> int:
        """Refuse impossible options before anything slow happens; returns the number of control copies."""
        for name in ("corpus", "analyses"):
            if not getattr(self, name):
                raise UsageError(f"--{name} needs at least one name")
        for name in self.analyses:
            if name not in ANALYSES:
                raise UsageError(f"unknown analysis {name!r}; choose from: {', '.join(ANALYSES)}")
        for name in ("limit", "max_length", "batch_cells", "min_count"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
        if self.replicates < 0:
            raise UsageError(f"--replicates must not be negative, not {self.replicates}")
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"--seed must be from 0 to {2**32 - 1}, not {self.seed}")
        match = _CONTROL.fullmatch(self.control or "")
        copies = int(match["copies"] or 1) if match else 0
        if self.control and copies < 1:
            raise UsageError(f"unknown control {self.control!r}; choose random-init or random-init:K, K at least 1")
        for file in self._corpus_files():
            if not Path(file).exists():
                raise CorpusError("there is no such file", file=file)
        return copies

    def _corpus_files(self) -> list[str]:
        return [corpus_path(name) for name in self.corpus]

    def _analyze(
        self, folder: Path, out: Path, copies: int, arguments: Sequence[str]
    ) -> tuple[dict[str, Any], pd.DataFrame]:
        """Fill the folder; returns the run record and the best heads."""
        stages = Stages()
        with stages("read the corpus"):
            treebank = load_treebank(self._corpus_files(), tokens=self.tokens, limit=self.limit)
        if not treebank.relations:
            raise CorpusError("no word has a head; this analysis needs trees", file=self.corpus[0])
        with stages("load the model"):
            from analyses.linguistic import with_control
            from extractors import get_kind
            from reports import write_dependency_record, write_dependency_tables

            try:
                get_kind(self.map)
            except ValueError as error:
                raise UsageError(str(error)) from None
            encoder = load_encoder(self.model, revision=self.revision, device=self.device)
        with stages("dependency"):
            result, log = self._dependency(encoder, treebank, "dependency", self.replicates)
        controls = []
        for k in range(copies):
            with stages("control"):
                label = f"random weights {k + 1}/{copies}"
                controls.append(self._dependency(encoder.random_init(self.seed + k), treebank, label, 0)[0].best)
        best = with_control(result.best, controls)
        with stages("tables and figures"):
            title = f"{encoder.name} on {', '.join(Path(file.path).name for file in treebank.files)}"
            write_dependency_tables(
                folder, cells=result.cells, best=best, controls=controls, min_count=self.min_count, title=title
            )
        reading = describe_reading(treebank, log)
        run = {
            **describe_command(self, arguments, stages, out=str(out), corpus=self._corpus_files()),
            "model": describe_model(encoder),
            "corpus": describe_corpus(treebank),
            "sentences": reading,
            "warnings": warnings_of(reading),
            "control": {"kind": "random-init", "copies": copies, "seeds": [self.seed + k for k in range(copies)]}
            if copies
            else None,
        }
        write_dependency_record(folder, run=run, cells=result.cells, best=best, min_count=self.min_count)
        return run, best

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
            try:
                accuracy = DependencyAccuracy(
                    list(treebank.relations),
                    *first.maps.shape[1:3],
                    coarse=self.coarse,
                    replicates=replicates,
                    seed=self.seed,
                )
            except ValueError as error:
                raise CorpusError(str(error), file=self.corpus[0]) from None
            for batch in chain([first], batches):
                accuracy.update(batch)
                advance(len(batch))
        return accuracy.compute(), log

    def _show(self, run: dict[str, Any], best: pd.DataFrame, out: Path) -> None:
        from reports import WIDE, best_heads_table, records, to_json

        if self.json:
            print(to_json({"out": str(out), "run": run, "dependency_best": records(best)}), end="")
            return
        console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False, markup=False, soft_wrap=False)
        console.print(best_heads_table(best, min_count=self.min_count, width=console.width))
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

"""The analysis ``dependency`` of ``attentionology analyze``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from corpora_loaders import CorpusError
from scripts.errors import UsageError
from scripts.job import Job, Outcome
from scripts.progress import progress_bar

if TYPE_CHECKING:
    from analyses.linguistic import DependencyTables
    from extractors import Encoder, ExtractionLog


_CONTROL = re.compile(r"random-init(?::(?P<copies>\d+))?")


@dataclass(frozen=True)
class DependencyOptions:
    """Of the analysis dependency."""

    coarse: bool = False
    """Count universal relations (nsubj) instead of subtypes as given (nsubj:pass)."""

    control: Annotated[str | None, arg(metavar="random-init[:K]")] = None
    """random-init or random-init:K repeats the run with 1 or K copies of the model that keep the embeddings and
    have random weights otherwise. What they reach, embeddings and positions alone can explain."""

    def control_copies(self) -> int:
        """How many randomly initialised copies of the model to run."""
        match = _CONTROL.fullmatch(self.control or "")
        return int(match["copies"] or 1) if match else 0

    def check(self) -> None:
        """Refuse what is impossible."""
        if self.control and self.control_copies() < 1:
            raise UsageError(f"unknown control {self.control!r}; choose random-init or random-init:K, K at least 1")


def run(job: Job) -> Outcome:
    """Accuracy of every head, and of the control's."""
    from analyses.linguistic import with_control
    from reports import best_heads_table, write_dependency

    options = job.options
    if not job.corpus.relations:
        raise CorpusError(
            "no word has a head, and the analysis dependency needs trees; --analyses surface,clusters does without",
            file=job.corpus.files[0].path,
        )
    with job.stages("dependency"):
        result, log = _accuracy(job, job.encoder, "dependency", options.replicates)
    copies = options.dependency.control_copies()
    seeds = range(options.seed, options.seed + copies)
    controls = []
    for k, seed in enumerate(seeds, start=1):
        with job.stages("control"):
            label = f"random weights {k}/{copies}"
            controls.append(_accuracy(job, job.encoder.random_init(seed), label, 0)[0].best)
    best = job.found["dependency"] = with_control(result.best, controls)
    facts = options.map_facts(per_head=int(result.cells["head"].max()) == job.encoder.n_heads)
    with job.stages("tables and figures"):
        section = write_dependency(
            job.folder,
            cells=result.cells,
            best=best,
            controls=controls,
            min_count=options.min_count,
            model=job.encoder.name,
            corpus=job.corpus_name,
            map_facts=facts,
        )
    control = {"kind": "random-init", "copies": copies, "seeds": list(seeds)} if copies else None
    return Outcome(
        section=section,
        log=log,
        show=lambda width: best_heads_table(
            best, min_count=options.min_count, width=width, map_facts=[] if options.map == "weight" else facts
        ),
        record={"control": control},
    )


def _accuracy(job: Job, encoder: Encoder, label: str, replicates: int) -> tuple[DependencyTables, ExtractionLog]:
    from analyses.linguistic import DependencyAccuracy
    from extractors import ExtractionLog, extract

    options, corpus, log = job.options, job.corpus, ExtractionLog()
    batches = extract(encoder, corpus, log=log, **options.map_options(), **job.reading())
    with progress_bar(label, len(corpus)) as advance:
        first, batches = job.peek(batches, log)
        try:
            accuracy = DependencyAccuracy(
                list(corpus.relations),
                *first.maps.shape[1:3],
                coarse=options.dependency.coarse,
                replicates=replicates,
                seed=options.seed,
            )
        except ValueError as error:
            raise CorpusError(str(error), file=corpus.files[0].path) from None
        for batch in batches:
            accuracy.update(batch)
            advance(len(batch))
    return accuracy.compute(), log

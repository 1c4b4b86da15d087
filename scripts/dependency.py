"""The analysis ``dependency`` of ``attentionology analyze``."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from corpora_loaders import CorpusError
from scripts.job import Job, Outcome
from scripts.progress import progress_bar

if TYPE_CHECKING:
    from analyses.linguistic import DependencyTables
    from extractors import Encoder, ExtractionLog


def run(job: Job) -> Outcome:
    """Accuracy of every head, and of the control's."""
    from analyses.linguistic import with_control
    from reports import best_heads_table, write_dependency

    options = job.options
    if not job.treebank.relations:
        raise CorpusError("no word has a head; this analysis needs trees", file=options.corpus[0])
    with job.stages("dependency"):
        result, log = _accuracy(job, job.encoder, "dependency", options.replicates)
    copies, seeds = options.control_copies(), range(options.seed, options.seed + options.control_copies())
    controls = []
    for k, seed in enumerate(seeds, start=1):
        with job.stages("control"):
            label = f"random weights {k}/{copies}"
            controls.append(_accuracy(job, job.encoder.random_init(seed), label, 0)[0].best)
    best = with_control(result.best, controls)
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
    from extractors import ExtractionError, ExtractionLog, extract

    options, treebank, log = job.options, job.treebank, ExtractionLog()
    batches = extract(encoder, treebank, log=log, **options.map_options(), **job.reading())
    with progress_bar(label, len(treebank)) as advance:
        first = next(batches, None)
        if first is None:
            raise ExtractionError(f"none of the {len(treebank)} sentences could be read: {log.reasons()}")
        try:
            accuracy = DependencyAccuracy(
                list(treebank.relations),
                *first.maps.shape[1:3],
                coarse=options.coarse,
                replicates=replicates,
                seed=options.seed,
            )
        except ValueError as error:
            raise CorpusError(str(error), file=options.corpus[0]) from None
        for batch in chain([first], batches):
            accuracy.update(batch)
            advance(len(batch))
    return accuracy.compute(), log

"""The analysis ``dependency`` of ``attentionology analyze``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attentionology.corpora_loaders import CorpusError
from attentionology.scripts.control import control_record, run_control
from attentionology.scripts.job import Job, Outcome

if TYPE_CHECKING:
    from attentionology.analyses.dependency.tables import DependencyTables
    from attentionology.extractors import Encoder, ExtractionLog


@dataclass(frozen=True)
class DependencyOptions:
    """Of the analysis dependency."""

    coarse: bool = False
    """Count universal relations (nsubj) instead of subtypes as given (nsubj:pass)."""


def prepare(job: Job) -> None:
    """Find out before anything slow whether there are trees, and no more words than can be counted."""
    from attentionology.analyses.dependency.accuracy import words_by_group
    from attentionology.analyses.shared.outcomes import check_limit

    options, relations = job.options, job.corpus.relations
    if not relations:
        raise CorpusError(
            "no word has a head, and the analysis dependency needs trees; --analyses surface,clusters does without",
            file=job.corpus.files[0].path,
        )
    check_limit(words_by_group(relations, coarse=options.dependency.coarse), options.replicates)


def run(job: Job) -> Outcome:
    """Accuracy of every head, and of the control's."""
    from attentionology.analyses.dependency.section import write_dependency
    from attentionology.analyses.shared.best_head import with_control
    from attentionology.reports.terminal import best_heads_table

    options = job.options
    with job.stages("dependency"):
        result, log = _accuracy(job, job.encoder, "dependency", options.replicates)
    controls = run_control(job, lambda twin, label: _accuracy(job, twin, label, 0)[0].best)
    best = job.found["dependency"] = with_control(result.best, controls)
    facts = job.map_facts(per_head=int(result.cells["head"].max()) == job.encoder.n_heads)
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
    return Outcome(
        section=section,
        log=log,
        show=lambda width: best_heads_table(
            best, min_count=options.min_count, width=width, map_facts=[] if options.map == "weight" else facts
        ),
        record=control_record(job),
    )


def _accuracy(job: Job, encoder: Encoder, label: str, replicates: int) -> tuple[DependencyTables, ExtractionLog]:
    from attentionology.analyses.dependency.accuracy import DependencyAccuracy

    options, corpus = job.options, job.corpus

    def metric(n_layers: int, n_heads: int) -> DependencyAccuracy:
        try:
            return DependencyAccuracy(
                list(corpus.relations),
                n_layers,
                n_heads,
                coarse=options.dependency.coarse,
                replicates=replicates,
                seed=options.seed,
            )
        except ValueError as error:
            raise CorpusError(str(error), file=corpus.files[0].path) from None

    def state_bytes(n_layers: int, n_heads: int) -> int:
        coarse = options.dependency.coarse
        return DependencyAccuracy.state_bytes(
            list(corpus.relations), n_layers, n_heads, coarse=coarse, replicates=replicates
        )

    accuracy, log = job.measure(encoder, corpus, label, metric, state_bytes)
    return accuracy.compute(), log

"""The analysis ``coreference`` of ``attentionology analyze``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from attentionology.scripts.control import control_record, run_control
from attentionology.scripts.errors import UsageError
from attentionology.scripts.job import Job, Outcome
from attentionology.scripts.options import OptionalNumber

if TYPE_CHECKING:
    from attentionology.analyses.coreference.examples import Example
    from attentionology.analyses.coreference.tables import CoreferenceTables
    from attentionology.extractors import Encoder, ExtractionLog, Windows

EXAMPLES = 5
"""Of right and of wrong decisions in the report."""

_FEW_DOCUMENTS = 10
_WINDOWS_AT_ONCE = 16
_MOST_WINDOWS = 128  # that examples are looked for in


@dataclass(frozen=True)
class CoreferenceOptions:
    """Of the analysis coreference."""

    candidates: Literal["preceding", "mentions", "words"] = "preceding"
    """Which candidates the report is about (the tables hold all): the mentions before the one to be resolved, as for
    the baselines; all other mentions; or all other words."""

    singletons: Literal["drop", "keep"] = "drop"
    """Whether mentions of entities that are mentioned only once are candidates. The paper's corpus marks none."""

    stride: OptionalNumber = None
    """Read documents to their ends, in windows of --max-length pieces (default: what the model takes, at most 512) that
    start so many pieces after one another. Without it, their first 128 pieces are read (or --max-length), as in the
    paper; of GAP and WinoBias as many as the model takes."""

    def check(self) -> None:
        """Refuse what is impossible."""
        if self.stride is not None and self.stride < 1:
            raise UsageError(f"--stride must be at least 1, not {self.stride}")


def prepare(job: Job) -> None:
    """Cut the documents, before other analyses take their time: here options may turn out to be impossible."""
    from attentionology.analyses.coreference.accuracy import mentions_by_group
    from attentionology.analyses.shared.outcomes import check_limit
    from attentionology.corpora_loaders.coreference import Documents
    from attentionology.extractors import make_windows

    options, own, corpus = job.options, job.options.coreference, job.corpus
    assert isinstance(corpus, Documents)  # noqa: S101  # read_corpus() knows that coreference was asked for
    if all(document.questions is not None for document in corpus.documents):
        for name, usual in (("singletons", "drop"), ("candidates", "preceding")):
            given = getattr(own, name)
            if given not in (usual, "words"):
                raise UsageError(f"--{name} {given} says nothing to GAP and WinoBias, which come with candidates")
    check_limit(mentions_by_group(corpus), options.replicates)
    with job.stages("cut documents"):
        try:
            job.found["windows"] = make_windows(job.encoder, corpus, length=options.max_length, stride=own.stride)
        except ValueError as error:
            raise UsageError(f"--max-length and --stride: {error}") from None


def run(job: Job) -> Outcome:
    """Antecedent selection accuracy of every head, of baselines, and of the control."""
    from attentionology.analyses.coreference.agreement import source_of_agreement
    from attentionology.analyses.coreference.choices import account
    from attentionology.analyses.coreference.section import CoreferenceResults, write_coreference
    from attentionology.analyses.shared.best_head import with_control
    from attentionology.analyses.shared.published import published_coreference
    from attentionology.reports.terminal import coreference_table

    options, own = job.options, job.options.coreference
    windows: Windows = job.found["windows"]
    documents = windows.corpus.documents
    with job.stages("coreference"):
        tables, log = _accuracy(job, job.encoder, windows, "coreference", options.replicates)
    controls = run_control(job, lambda twin, label: _accuracy(job, twin, windows, label, 0)[0].best)
    skipped = {one.sentence.id for one in log.skipped}
    read = [window for window in windows.sentences if window.id not in skipped]
    best = with_control(tables.best, controls, key=("candidates", "type"))
    told = account(windows.corpus, read, singletons=own.singletons == "keep")
    with job.stages("examples"):
        examples = _examples(job, windows, tables) if told["scored"] else []
    per_head = int(tables.cells["head"].max()) == job.encoder.n_heads
    sources = sorted({source_of_agreement(document) for document in documents})
    asked = all(document.questions is not None for document in documents)
    results = CoreferenceResults(
        tables=tables._replace(best=best),
        controls=tuple(controls),
        examples=tuple(examples),
        account=told,
        candidates=own.candidates,
        singletons=own.singletons,
        published=None if asked else published_coreference(job.encoder.name),
        map_facts=tuple(job.map_facts(per_head=per_head)),
        notes=(windows.remarks()[0], f"Agreement, for the rules: {' or '.join(sources)}."),
        asked=asked,
        min_count=options.min_count,
    )
    with job.stages("tables and figures"):
        section = write_coreference(job.folder, results, model=job.encoder.name, corpus=job.corpus_name)
    return Outcome(
        section=section,
        log=log,
        show=lambda width: coreference_table(results, width=width),
        record={**control_record(job), "coreference": {"account": results.account, "notes": list(results.notes)}},
        corpus=windows,
        warnings=_warnings(told),
    )


def _warnings(told: dict[str, int]) -> list[str]:
    """What a reader must be told before the numbers."""
    if not told["scored"]:
        more = " Read more of the documents with --max-length or --stride." if told["anaphors"] else ""
        return [f"No mention could be scored; {told['anaphors']:,} have an antecedent in the corpus.{more}"]
    if told["documents"] < _FEW_DOCUMENTS:
        return [
            f"Documents with mentions that were scored: {told['documents']}. Intervals and held-out accuracies of so "
            "few mean little."
        ]
    return []


def _accuracy(
    job: Job, encoder: Encoder, windows: Windows, label: str, replicates: int
) -> tuple[CoreferenceTables, ExtractionLog]:
    from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy

    singletons, seed = job.options.coreference.singletons == "keep", job.options.seed

    def metric(n_layers: int, n_heads: int) -> CoreferenceAccuracy:
        return CoreferenceAccuracy(
            windows.corpus, n_layers, n_heads, singletons=singletons, replicates=replicates, seed=seed
        )

    def state_bytes(n_layers: int, n_heads: int) -> int:
        return CoreferenceAccuracy.state_bytes(windows.corpus, n_layers, n_heads, replicates=replicates)

    accuracy, log = job.measure(encoder, windows, label, metric, state_bytes)
    return accuracy.compute(), log


def _examples(job: Job, windows: Windows, tables: CoreferenceTables) -> list[Example]:
    """A few decisions of the best head, right ones and wrong ones, from as many documents as possible."""
    from attentionology.analyses.coreference.examples import examples_of
    from attentionology.extractors import ExtractionLog, extract

    own = job.options.coreference
    best = tables.best
    (row,) = best[(best["candidates"] == own.candidates) & (best["type"] == "all")].to_dict("records")
    place = row["direction"], row["layer"], row["head"]
    found: list[Example] = []
    chosen: list[list[Example]] = [[], []]
    for at in range(0, min(len(windows), _MOST_WINDOWS), _WINDOWS_AT_ONCE):
        some = windows.sentences[at : at + _WINDOWS_AT_ONCE]
        for batch in extract(job.encoder, some, log=ExtractionLog(), **job.map_options(), **job.reading()):
            decided = examples_of(batch, place, own.candidates, singletons=own.singletons == "keep")
            found += [example for example in decided if example.weights.keys() - example.choice.gold]
        chosen = [_spread([example for example in found if example.right == right]) for right in (True, False)]
        if all(len({example.document.id for example in some}) == EXAMPLES for some in chosen):
            break
    return [*chosen[0], *chosen[1]]


def _spread(examples: list[Example]) -> list[Example]:
    """The first of each document, then the second of each, and so on, up to `EXAMPLES`."""
    seen: Counter[str] = Counter()
    ranks = []
    for example in examples:
        ranks.append(seen[example.document.id])
        seen[example.document.id] += 1
    order = sorted(range(len(examples)), key=lambda at: ranks[at])
    return [examples[at] for at in order[:EXAMPLES]]

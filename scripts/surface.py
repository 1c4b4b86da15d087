"""The analysis ``surface`` of ``attentionology analyze``, and the reading it shares with ``clusters``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from tyro.conf import arg

from attentionology.corpora_loaders.errors import out_of_memory
from attentionology.scripts.builtin import load_head
from attentionology.scripts.errors import UsageError
from attentionology.scripts.job import Job, Outcome, read_all
from attentionology.scripts.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd

    from attentionology.analyses.clusters.distances import HeadDistanceTables
    from attentionology.analyses.surface.statistics import SurfaceTables
    from attentionology.extractors import ExtractionLog, MapBatch


@dataclass(frozen=True)
class ReadingOptions:
    """Of the analyses surface and clusters."""

    level: Literal["token", "word"] = "token"
    """Whether pieces are tokens of their own, or merged into the words of a treebank."""

    smoothing: Literal["none", "release"] = "none"
    """release mixes a little uniform attention into every row first, as the paper's published code does: 0.0001 for the
    entropy, 0.001 for the distances between heads."""

    position_threshold: Annotated[float, arg(metavar="SHARE")] = 0.5
    """A head is labelled next, previous or self if more than this share of its attention goes there."""

    target_threshold: Annotated[float, arg(metavar="SHARE")] = 0.6
    """The same for special tokens and punctuation."""

    broad_threshold: Annotated[float, arg(metavar="SHARE")] = 0.8
    """A head is labelled broad if its entropy is above this share of the entropy of uniform attention."""

    def check(self) -> None:
        """Refuse what is impossible."""
        for name in ("position_threshold", "target_threshold", "broad_threshold"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"--{name.replace('_', '-')} must be from 0 to 1, not {getattr(self, name)}")


@dataclass(frozen=True)
class SurfaceOptions:
    """Of the analysis surface."""

    reach: Annotated[int, arg(metavar="N")] = 5
    """Attention to tokens up to so many places away is tabulated offset by offset."""

    gradients: Literal["auto", "mlm", "hidden", "none"] = "auto"
    """Loss whose gradient tells what attention matters. mlm: masked-LM loss, for models with that head. hidden:
    distance of the final hidden states with masks from those without. auto: mlm where there is a head, else nothing."""

    gradient_sentences: Annotated[int, arg(metavar="N")] = 100
    """How many sentences, paragraphs or segments, from the first on, to take gradients of."""

    def check(self) -> None:
        """Refuse what is impossible."""
        for name in ("reach", "gradient_sentences"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {getattr(self, name)}")
        if self.gradients == "none" and self.gradient_sentences != SurfaceOptions.gradient_sentences:
            raise UsageError("--gradient-sentences says nothing to --gradients none")


class Reading(NamedTuple):
    """What one pass over the corpus gave for both analyses.

    Attributes:
        tables: surface statistics, heads with labels.
        distances: between heads, if the analysis clusters was asked for.
        specials: what the model calls the first and the last special token.
        notes: how the numbers came about, a sentence each.
        log: what was read.
    """

    tables: SurfaceTables
    distances: HeadDistanceTables | None
    specials: dict[str, str]
    notes: list[str]
    log: ExtractionLog


def run(job: Job) -> Outcome:
    """Surface statistics and gradients."""
    from attentionology.analyses.surface.section import SurfaceResults, write_surface
    from attentionology.reports.terminal import surface_table

    reading = read(job)
    gradients, notes = _gradients(job)
    results = SurfaceResults(reading.tables, reading.specials, gradients, (*reading.notes, *notes))
    with job.stages("tables and figures"):
        section = write_surface(job.folder, results, model=job.encoder.name, corpus=job.corpus_name)
    return Outcome(
        section=section,
        log=reading.log,
        show=lambda _: surface_table(results),
        record={"surface": {"notes": list(results.notes), "specials": reading.specials}},
    )


def read(job: Job) -> Reading:
    """Read the corpus once for ``surface`` and ``clusters``."""
    if "reading" not in job.found:
        job.found["reading"] = _read(job)
    found: Reading = job.found["reading"]
    return found


def _read(job: Job) -> Reading:
    from attentionology.analyses.clusters import distances as js
    from attentionology.analyses.clusters.distances import HeadDistances
    from attentionology.analyses.surface import statistics as entropy
    from attentionology.analyses.surface.labels import Thresholds, best_relations, label_heads
    from attentionology.analyses.surface.statistics import SurfaceStatistics
    from attentionology.extractors import ExtractionLog, extract, get_kind

    options, own, corpus, log = job.options, job.options.reading, job.corpus, ExtractionLog()
    released = own.smoothing == "release"
    maps = job.map_options()
    notes = []
    if not get_kind(options.map).rows_sum_to_one:
        maps["normalize"] = "row"
        notes.append("Every row of the map was divided by its sum: shares and entropies are those of distributions.")
    if released:
        notes.append(
            f"As in the published code, {entropy.SMOOTHING:g} of uniform attention was mixed into rows for the "
            f"entropy, and {js.SMOOTHING:g} for the distances between heads."
        )
    label = "surface and clusters" if "clusters" in options.chosen() else "surface"
    batches = extract(job.encoder, corpus, level=own.level, log=log, **maps, **job.reading())
    distances: HeadDistances | None = None
    specials: dict[str, str] = {}
    with job.stages(label), progress_bar(label, len(corpus)) as advance:
        (layers, heads, *_), batches = job.peek(batches, log)
        shape = layers, heads
        smoothing = (entropy.SMOOTHING, js.SMOOTHING) if released else (0.0, 0.0)
        statistics = SurfaceStatistics(*shape, reach=options.surface.reach, smoothing=smoothing[0])
        if "clusters" in options.chosen():
            distances = HeadDistances(*shape, smoothing=smoothing[1])

        def name_specials(batch: MapBatch) -> None:
            if not specials:
                specials.update(_special_names(batch.special[0].tolist(), batch.labels[0]))

        read_all(batches, advance, name_specials, statistics.update, *([distances.update] if distances else []))
    tables = statistics.compute()
    best = job.found.get("dependency")
    relations = None if best is None else best_relations(_single(best), options.min_count)
    facts = job.map_facts(per_head=shape[1] == job.encoder.n_heads, words=own.level == "word")
    positions = "pieces" if own.level == "token" else "words"
    notes = [f"Positions are {positions}; {'; '.join(facts)}.", *notes]
    thresholds = Thresholds(own.position_threshold, own.target_threshold, own.broad_threshold)
    tables = tables._replace(heads=label_heads(tables.heads, thresholds, relations))
    return Reading(tables, distances.compute() if distances else None, specials, notes, log)


def _single(best: pd.DataFrame) -> pd.DataFrame:
    """Rows of single relations."""
    from attentionology.analyses.dependency.tables import TOTALS

    return best[~best["relation"].isin([*TOTALS, "root"])]


def _special_names(special: list[bool], labels: tuple[str, ...]) -> dict[str, str]:
    """What stands at the first and the last special token of an input."""
    places = [i for i, is_special in enumerate(special) if is_special]
    names = {}
    if places and places[0] == 0:
        names["first_special"] = labels[0]
    if places and (places[0] != 0 or len(places) > 1):
        names["last_special"] = labels[places[-1]]
    return names


def prepare(job: Job) -> None:
    """Find out before anything slow whether the gradients that were asked for can be computed.

    Raises:
        ModelError: they cannot.
    """
    from attentionology.extractors import ModelError

    wanted, encoder = job.options.surface.gradients, job.encoder
    if wanted == "none":
        return
    why = ""
    if encoder.tokenizer.mask_token_id is None:
        why = "this tokenizer has no mask token, and the loss is that of masked pieces"
    elif wanted != "hidden":
        with job.stages("load the masked-LM head"):
            job.found["head"] = load_head(encoder)
        if job.found["head"] is None:
            why = (
                "this checkpoint has no masked-LM head, which the loss of the paper needs. --gradients hidden uses "
                "another loss, how far masks move the final hidden states"
            )
    if why and wanted != "auto":
        raise ModelError(f"{encoder.name}: {why}")
    job.found["no gradients"] = why


def _gradients(job: Job) -> tuple[pd.DataFrame | None, list[str]]:
    """The table, and what to say about it; None where there is nothing to take gradients of."""
    from attentionology.analyses.surface.gradients import GradientImportance
    from attentionology.extractors import ModelError, extract_gradients

    own, encoder = job.options.surface, job.encoder
    if own.gradients == "none":
        return None, []
    if why := job.found["no gradients"]:
        return None, [f"Gradients were not computed: {why}."]
    loss: Literal["mlm", "hidden"] = "hidden" if own.gradients == "hidden" else "mlm"
    some = job.corpus[: own.gradient_sentences]
    metric = GradientImportance(encoder.n_layers, encoder.n_heads)
    options: dict[str, Any] = {"masked_lm": job.found.get("head"), "seed": job.options.seed, **job.reading()}
    try:
        with job.stages("gradients"), progress_bar("gradients", len(some)) as advance:
            for batch in extract_gradients(encoder, some, loss, **options):
                metric.update(batch)
                advance(len(batch.sentences))
    except ModelError as error:
        if own.gradients != "auto" or out_of_memory(error):
            raise
        return None, [f"Gradients were not computed: {error}."]
    read = int(metric.total)
    if not read:
        return None, [f"Gradients were not computed: none of the first {len(some):,} {job.corpus.unit} could be read."]
    said = {
        "mlm": "the masked-LM loss, the mean over masked pieces",
        "hidden": "the squared distance of the final hidden states of masked pieces from those without masks",
    }
    number = f"{read:,}" if read == len(some) else f"{read:,} of the first {len(some):,}"
    return metric.compute(), [
        f"Gradients are those of {said[loss]}, on {number} {job.corpus.unit} with 15 % of the pieces masked; always of "
        "attention weights, whatever the map."
    ]

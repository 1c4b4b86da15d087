"""The analysis ``norms`` of ``attentionology analyze``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from attentionology.scripts.errors import UsageError
from attentionology.scripts.job import Job, Outcome
from attentionology.scripts.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from attentionology.analyses.norms.feed_forward import FeedForwardTables
    from attentionology.corpora_loaders import Sentence


@dataclass(frozen=True)
class NormsOptions:
    """Of the analysis norms."""

    mask_rate: Annotated[float, arg(metavar="SHARE")] = 0.12
    """Share of the pieces of words that are masked while context mixing is measured, as in the paper; 0 for the text as
    it is."""

    frequencies: Annotated[Path | None, arg(metavar="FILE")] = None
    """Lines of a piece and its count, for the frequency ranks; default: count the corpus."""

    ff_sentences: Annotated[int, arg(metavar="N")] = 100
    """How many sentences, from the first on, to follow through the feed-forward block, which costs tens of times the
    forward pass; 0 for none."""

    def check(self) -> None:
        """Refuse what is impossible."""
        if not 0 <= self.mask_rate <= 1:
            raise UsageError(f"--mask-rate must be from 0 to 1, not {self.mask_rate}")
        if self.ff_sentences < 0:
            raise UsageError(f"--ff-sentences must not be negative, not {self.ff_sentences}")


def run(job: Job) -> Outcome:
    """Shares, context mixing, frequency, and what the feed-forward block changes."""
    import pandas as pd

    from attentionology.analyses.norms.frequency import FrequencyCorrelation
    from attentionology.analyses.norms.mixing import MixingRatios
    from attentionology.analyses.norms.paper import published
    from attentionology.analyses.norms.section import NormResults, write_norms
    from attentionology.analyses.norms.shares import NormShares
    from attentionology.extractors import ExtractionLog, extract_norms
    from attentionology.reports.terminal import norms_table

    options, encoder, corpus, log = job.options, job.encoder, job.corpus, ExtractionLog()
    layers = encoder.layers  # before anything slow: this says if the architecture is not known
    ranks, notes = _ranks(job)
    shares = NormShares(encoder.n_layers, encoder.n_heads)
    frequency, mixing = FrequencyCorrelation(ranks), MixingRatios(encoder.n_layers)
    rate = options.norms.mask_rate
    if rate and encoder.tokenizer.mask_token_id is None:
        rate = 0.0
        notes.append("Context mixing is measured on the text as it is, because this tokenizer has no mask token.")
    elif rate:
        notes.append(
            f"Context mixing is measured with {100 * rate:.3g} % of the pieces of words masked, all else without masks."
        )
    with job.stages("norms"), progress_bar("norms", len(corpus)) as advance:
        for batch in extract_norms(encoder, corpus, log=log, ff_bias=options.ff_bias, **job.reading()):
            shares.update(batch)
            frequency.update(batch)
            if not rate:
                mixing.update(batch)
            advance(len(batch.sentences))
    if not log.read:
        raise job.nothing_read(log)
    if rate:
        with job.stages("norms, masked"), progress_bar("context mixing", len(corpus)) as advance:
            masking: dict[str, Any] = {"mask_rate": rate, "seed": options.seed, "ff_bias": options.ff_bias}
            for batch in extract_norms(encoder, corpus, **masking, **job.reading()):
                mixing.update(batch)
                advance(len(batch.sentences))
    change = amplified = None
    some = corpus[: options.norms.ff_sentences]
    if len(some):
        with job.stages("feed-forward block"):
            found = _feed_forward(job, some)
        change, amplified = found.change, _with_pieces(job, found, some)
        if len(some) < len(corpus):
            notes.append(f"What the feed-forward block changes is measured on the first {len(some):,} {corpus.unit}.")
    rates = [layer.expansion_rate() for layer in layers.weights]
    results = NormResults(
        shares=shares.compute(),
        mixing=mixing.compute(),
        frequency=frequency.compute(),
        expansion=pd.DataFrame({"layer": range(1, len(rates) + 1), "expansion": rates}),
        change=change,
        amplified=amplified,
        published=published(encoder.name),
        notes=tuple(notes),
    )
    with job.stages("tables and figures"):
        section = write_norms(job.folder, results, model=encoder.name, corpus=job.corpus_name)
    return Outcome(
        section=section,
        log=log,
        show=lambda _: norms_table(results),
        record={"norms": {"notes": notes, "mask_rate": rate}},
    )


def _ranks(job: Job) -> tuple[dict[int, int] | None, list[str]]:
    """Frequency ranks by vocabulary id from the file, if there is one, and what to say about it."""
    from attentionology.analyses.norms.frequency import frequency_ranks
    from attentionology.corpora_loaders import CorpusError, read_frequencies

    file = job.options.norms.frequencies
    if file is None:
        return None, ["Frequency ranks are counted on this corpus."]
    counts = read_frequencies(file)
    vocabulary = job.encoder.tokenizer.get_vocab()
    known = {vocabulary[form]: count for form, count in counts.items() if form in vocabulary}
    if not known:
        raise CorpusError("none of its forms is a piece of this model's vocabulary", file=file)
    return frequency_ranks(known), [
        f"Frequency ranks are those of {file}; {len(known):,} of its {len(counts):,} forms are "
        "pieces of this model's vocabulary."
    ]


def _feed_forward(job: Job, sentences: Sequence[Sentence]) -> FeedForwardTables:
    from attentionology.analyses.norms.feed_forward import FeedForwardChange
    from attentionology.extractors import extract_stages

    encoder = job.encoder
    metric: FeedForwardChange | None = None
    with progress_bar("feed-forward block", len(sentences)) as advance:
        for batch in extract_stages(encoder, sentences, ff_bias=job.options.ff_bias, **job.reading()):
            metric = metric or FeedForwardChange(encoder.n_layers, batch.components)
            metric.update(batch)
            advance(len(batch.sentences))
    return (metric or FeedForwardChange(encoder.n_layers, ("FF", "RES", "LN"))).compute()


def _with_pieces(job: Job, found: FeedForwardTables, sentences: Sequence[Sentence]) -> pd.DataFrame:
    from attentionology.analyses.norms.feed_forward import with_examples
    from attentionology.analyses.shared.resampling import sentence_keys
    from attentionology.extractors.pieces import Pieces

    keys = sentence_keys([sentence.id for sentence in sentences]).view("int64").tolist()
    wanted = set(found.amplified["key"])
    named = {key: sentence for key, sentence in zip(keys, sentences, strict=True) if key in wanted}
    aligned = job.encoder.align(list(named.values())) if named else []
    texts = {
        key: (sentence, tuple(pieces.tokens))
        for (key, sentence), pieces in zip(named.items(), aligned, strict=True)
        if isinstance(pieces, Pieces)
    }
    return with_examples(found.amplified, texts)

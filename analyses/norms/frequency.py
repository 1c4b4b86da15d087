"""Do weights, norms and mixing depend on frequency? (Kobayashi et al. 2020, §4.3; 2021, §5)

Ranks are known only after the whole corpus, so the measures of single tokens are kept. To bound the memory, these are
the tokens of a sample of sentences once the corpus has more than a million tokens. A sentence is in the sample if the
hash of its id lies below a bound, which is halved whenever the sample is too large. The bound depends on the sentences
alone and not on their order, so parts of a corpus have samples that merge to that of the whole. Frequencies are always
counted on all tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor

from ...corpora_loaders import read_frequencies
from ...corpora_loaders.errors import CorpusError
from ...extractors import MIXING_VARIANTS, TOKEN_CLASSES, NormBatch
from ...reports.columns import Schema, TableColumn
from ...reports.drawing import BLUE, ORANGE, TEXT, finish, log_scale, panels, with_style
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..contract import Request
from ..counting.counting import CountWith
from ..counting.exact_sums import ExactMetric, ExactSumError
from ..counting.metric import Metric
from ..counting.resampling import sentence_keys
from ..shared.correlation import correlation
from .paper import PublishedNumbers
from .rows import NormCounts, NormQuestion, NormResults, PlanContext

FREQUENCY = Schema(
    "norms_frequency",
    "One row per measure and selection of tokens.",
    (
        TableColumn("measure", "text", "what is correlated with the frequency rank"),
        TableColumn("tokens", "text", "`all`, or `words` without special tokens"),
        TableColumn(
            "rho",
            "number, −1 to 1",
            "Spearman's ρ; rank 1 is the most frequent token. Empty for fewer than five tokens",
        ),
        TableColumn("count", "count", "tokens"),
        TableColumn("published", "number, −1 to 1", "the ρ of the paper, if it has one for this model"),
    ),
)

POINTS = Schema(
    "norms_frequency_points",
    "One row per token of a few sentences: what the scatter plots of frequency show.",
    (
        TableColumn("rank", "number from 1", "the frequency rank"),
        TableColumn("special", "`True` or `False`", "whether the token is [CLS] or [SEP]"),
        TableColumn("value_norm", "number", "its ‖f(x)‖, as the mean over layers and heads"),
        TableColumn(
            "weight norm", "number", "the weight and ‖αf(x)‖ that it receives, as means over layers, heads, queries"
        ),
        TableColumn(
            " ".join(MIXING_VARIANTS),
            "share",
            "its mixing ratios, as means over layers; the names are those of `norms_mixing.csv`",
        ),
    ),
)

MOST_TOKENS = 1_000_000
"""The largest number of tokens whose measures are kept."""

MOST_POINTS = 600
"""How many tokens scatter plots show."""

_BYTES_PER_TOKEN = 76

_HASH_BITS = 63

MEASURES = ("value_norm", "weight", "norm", *MIXING_VARIANTS)
_SPECIAL = [TOKEN_CLASSES.index(name) for name in ("[CLS]", "[SEP]")]

_AGAINST_RANK = (
    ("value_norm", "norm of f(x)", 1),
    ("weight", "attention weight received (%)", 100),
    ("attnresln-n", "mixing ratio, attnresln-n (%)", 100),
)


class FrequencyTables(NamedTuple):
    """The results of `FrequencyCorrelation`."""

    correlations: pd.DataFrame  # one row per measure and choice of tokens, with rho
    points: pd.DataFrame  # the tokens of a few sentences, with their ranks


class Frequency(NormQuestion):
    """Do weights, norms and mixing depend on the frequency of a token?"""

    name = "frequency"
    tables = (FREQUENCY, POINTS)
    long = (POINTS.name,)
    template = Path(__file__).with_name("frequency.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Keep the measures of single tokens."""
        vocabulary = plan_context.setting.encoder.tokenizer.get_vocab()
        ranks, note = _ranks(plan_context.chosen.frequencies, vocabulary)
        plan_context.notes.append(note)
        ranking = (("vocabulary", 1 + max(vocabulary.values())), ("ranks", ranks))
        return (plan_context.request("frequency", CountWith(FrequencyCorrelation, ranking)),)

    def find(self, counts: NormCounts, lookups: Any, earlier: Mapping[str, Any]) -> FrequencyTables | None:
        """Return the correlations, and note of how many inputs they are."""
        for metric in counts.metrics_of(self.name, FrequencyCorrelation):
            sampled, total = metric.sample_size()
            if sampled < total:
                counts.notes.append(
                    f"The correlations with frequency are those of {sampled:,} of {total:,} inputs, which were sampled "
                    "by a hash of their ids. Ranks that are counted on this corpus are counted on all of it."
                )
            return FrequencyTables(with_published(metric.compute(), counts.published), metric.points())
        return None

    def frames(self, answer: FrequencyTables, results: NormResults) -> Mapping[str, pd.DataFrame]:
        """Return both tables."""
        return {FREQUENCY.name: answer.correlations, POINTS.name: answer.points}

    def show(self, answer: FrequencyTables, results: NormResults) -> Sequence[ShownTable]:
        """Return the correlations."""
        return (_frequency(answer.correlations),)

    def draw(self, answer: FrequencyTables, results: NormResults, title: str) -> Mapping[str, Figure]:
        """Draw the measures of a few tokens against their ranks."""
        return {"norms_frequency": frequency_figure(answer.points, title=title)}

    def values(self, answer: FrequencyTables, results: NormResults) -> Mapping[str, Any]:
        """Return the number of tokens that are drawn."""
        return {"points": len(answer.points)}


class FrequencyCorrelation(ExactMetric):
    """Spearman's ρ between the frequency rank of a token (1 is the most frequent) and its measures, over a corpus."""

    # The measures of a token are `value_norm`, its ‖f(x)‖ as the mean over layers and heads; `weight` and `norm`, the
    # attention weight and ‖αf(x)‖ that it receives as means over layers, heads and queries; and its mixing ratios as
    # means over layers. The metric keeps 76 bytes per token of the sample.

    counts: Int[Tensor, " vocabulary"]
    sentences: Int[Tensor, ""]
    level: Int[Tensor, ""]
    tokens: list[Tensor]
    values: list[Tensor]

    def __init__(
        self, vocabulary: int, ranks: Mapping[Any, int] | None = None, *, most_tokens: int = MOST_TOKENS
    ) -> None:
        super().__init__()
        self.most_tokens = most_tokens
        # By vocabulary id, which is a string in JSON. Ids that are not in it come after all others; None to count.
        self.ranks = None if ranks is None else {int(token): rank for token, rank in ranks.items()}
        self.add_state("counts", torch.zeros(vocabulary, dtype=torch.int64), "sum")
        self.add_state("sentences", torch.tensor(0), "sum")
        # Sentences are in the sample if this many of the highest bits of their hash are 0.
        self.add_state("level", torch.tensor(0), "max")
        # One row per token of the sample: the hash of the sentence, the position in it, the vocabulary id, and whether
        # the token is special. Each tensor of the list is sorted.
        self.add_state("tokens", [], "cat")
        self.add_state("values", [], "cat")

    def most_bytes(self) -> float:
        """Return the bytes that the tokens of a full sample take."""
        return _BYTES_PER_TOKEN * self.most_tokens

    def update(self, batch: NormBatch) -> None:
        """Add a batch of norms."""
        is_token = batch.mask.cpu()
        measures = torch.stack(  # (batch, n, measures)
            [
                batch.value_norms.mean((1, 2)),
                batch.received.mean((1, 2)),
                (batch.received * batch.value_norms).mean((1, 2)),
                *batch.ratios.mean(2).unbind(1),
            ],
            dim=-1,
        )
        values = measures.cpu()[is_token].float()
        if not bool(values.isfinite().all()):
            raise ExactSumError("a norm or mixing ratio is not finite")
        ids = batch.ids.cpu()
        largest_id = int(ids[is_token].max())
        if largest_id >= len(self.counts):
            raise ValueError(f"the vocabulary id {largest_id} is not below {len(self.counts)}")
        self.counts += torch.bincount(ids[is_token], minlength=len(self.counts)).to(self.counts.device)
        self.sentences += len(batch.lengths)
        # The lowest bit is dropped, so that hashes are not negative as int64.
        keys = (sentence_keys([sentence.id for sentence in batch.sentences]) >> np.uint64(1)).astype(np.int64)
        key_of_token = torch.from_numpy(keys)[:, None].expand_as(ids)
        positions = is_token.cumsum(1) - 1
        special = torch.isin(batch.classes.cpu(), torch.tensor(_SPECIAL)).long()
        tokens = torch.stack([key_of_token, positions, ids, special], dim=-1)[is_token]  # (tokens of the batch, 4)
        chunks = [*self._chunks(), *_within([_sort_tokens(tokens, values)], int(self.level))]
        self._replace_sample(chunks)
        if _size(chunks) > self.most_tokens:
            self._thin()

    def compute(self) -> pd.DataFrame:
        """Return a table with one row per measure and choice of tokens."""
        # The choice `all` is of all tokens, `words` of those that are neither [CLS] nor [SEP], both of the sample. The
        # column `count` is their number. ρ is NaN if the ranks or the values do not vary, or if there are fewer than
        # five tokens.
        ranks, special, values = self._rank()
        rows = []
        for column, measure in enumerate(MEASURES):
            for name, is_chosen in (("all", np.ones(len(ranks), dtype=bool)), ("words", ~special)):
                rho = correlation("spearman", ranks[is_chosen], values[is_chosen, column])
                rows.append({"measure": measure, "tokens": name, "rho": rho, "count": int(is_chosen.sum())})
        return pd.DataFrame(rows)

    def points(self, most: int = MOST_POINTS) -> pd.DataFrame:
        """Return a table with one row per token of a few sentences, those with the lowest hashes, for scatter plots."""
        # The columns are `rank`, `special` (whether it is [CLS] or [SEP]) and the measures.
        ranks, special, values = self._rank()
        # The tokens are sorted by hash, and a sentence is shown if it ends within the limit. The first one always is.
        keys = self.tokens[0][:, 0].cpu().numpy()
        ends = np.searchsorted(keys, keys, side="right")
        fits = ends <= max(most, int(ends[:1].sum()))
        table = pd.DataFrame({"rank": ranks[fits], "special": special[fits]})
        return table.assign(**{measure: values[fits, column] for column, measure in enumerate(MEASURES)})

    def _rank(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.float32]]:
        """Return the rank of each token of the sample, whether it is special, and its measures."""
        self._thin()
        tokens, values = (state.cpu().numpy() for state in self._compact())
        counts = self.counts.cpu().numpy()
        known_ranks = self.ranks
        if known_ranks is None:
            known_ranks = frequency_ranks({int(token): int(counts[token]) for token in np.flatnonzero(counts)})
        ranks_by_id = np.full(len(counts), max(known_ranks.values(), default=0) + 1)
        for token, rank in known_ranks.items():
            if token < len(ranks_by_id):
                ranks_by_id[token] = rank
        _, _, ids, special = tokens.T
        return ranks_by_id[ids], special.astype(bool), values

    def sample_size(self) -> tuple[int, int]:
        """Return the number of sentences in the sample, and the number of all sentences."""
        self._thin()
        tokens, _ = self._compact()
        positions = tokens[:, 1]
        return int((positions == 0).sum()), int(self.sentences)

    def merge_state(self, incoming_state: Mapping[str, Any] | Metric) -> None:
        """Add the counts and the sample of another part of the corpus."""
        super().merge_state(incoming_state)
        self._thin()

    @property
    def metric_state(self) -> dict[str, Any]:
        """The states. They depend on the sentences that were counted, and not on their order."""
        self._compact()
        return super().metric_state

    def _chunks(self) -> list[tuple[Tensor, Tensor]]:
        """Return the parts of the sample, each as its tokens and their values."""
        return list(zip(self.tokens, self.values, strict=True))

    def _replace_sample(self, chunks: list[tuple[Tensor, Tensor]]) -> None:
        """Make these parts the sample, each given by its tokens and their values, as `_chunks` returns them."""
        self.tokens = [tokens for tokens, _ in chunks]
        self.values = [values for _, values in chunks]

    def _thin(self) -> None:
        """Leave out what is above the bound, and halve the bound until the sample is small enough."""
        level = int(self.level)
        chunks = _within(self._chunks(), level)
        while _size(chunks) > self.most_tokens and level < _HASH_BITS:
            level += 1
            chunks = _within(chunks, level)
        self.level = torch.full_like(self.level, level)
        self._replace_sample(chunks)

    def _compact(self) -> tuple[Tensor, Tensor]:
        """Replace the parts of the sample by one that is sorted, and return it."""
        chunks = self._chunks() or [(torch.zeros(0, 4, dtype=torch.int64), torch.zeros(0, len(MEASURES)))]
        if len(chunks) > 1:
            tokens, values = (torch.cat(parts) for parts in zip(*chunks, strict=True))
            chunks = [_sort_tokens(tokens, values)]
        self._replace_sample(chunks)
        return chunks[0]


def _within(chunks: list[tuple[Tensor, Tensor]], level: int) -> list[tuple[Tensor, Tensor]]:
    """Return the tokens of those sentences whose hash begins with as many zeros as the level says."""
    kept = []
    for tokens, values in chunks:
        is_kept = tokens[:, 0] >> (_HASH_BITS - level) == 0  # by the hash of their sentence
        if bool(is_kept.all()):
            kept.append((tokens, values))
        elif bool(is_kept.any()):
            kept.append((tokens[is_kept], values[is_kept]))
    return kept


def _size(chunks: list[tuple[Tensor, Tensor]]) -> int:
    """Return the number of tokens."""
    return sum(len(tokens) for tokens, _ in chunks)


def _sort_tokens(
    tokens: Int[Tensor, "tokens 4"], values: Float[Tensor, "tokens measures"]
) -> tuple[Int[Tensor, "tokens 4"], Float[Tensor, "tokens measures"]]:
    """Sort tokens by sentence and position. Ids of sentences may repeat, so the order is also by all else."""
    columns = [*tokens.cpu().numpy().T, *values.cpu().numpy().T]
    order = torch.from_numpy(np.lexsort(columns[::-1])).to(tokens.device)  # lexsort takes the first key last
    return tokens[order], values[order]


def frequency_ranks(counts: Mapping[int, int]) -> dict[int, int]:
    """Return the ranks of vocabulary ids by falling count, from 1."""
    # Equally frequent ids share the best of their ranks.
    best_rank: dict[int, int] = {}  # by count
    for rank, count in enumerate(sorted(counts.values(), reverse=True), start=1):
        best_rank.setdefault(count, rank)
    return {int(token): best_rank[count] for token, count in counts.items()}


def with_published(frequency: pd.DataFrame, published: PublishedNumbers | None) -> pd.DataFrame:
    """Return the correlations with a column ``published`` if the paper has numbers of this model."""
    if published is None:
        return frequency
    rhos: dict[tuple[str, str], float] = {}  # by measure and choice of tokens
    for measure, (rho_of_all, rho_of_words) in published.frequency.items():
        rhos |= {(measure, "all"): rho_of_all, (measure, "words"): rho_of_words}
    choices = zip(frequency["measure"], frequency["tokens"], strict=True)
    return frequency.assign(published=[rhos.get(choice, float("nan")) for choice in choices])


def _ranks(file: Path | None, vocabulary: Mapping[str, int]) -> tuple[Mapping[int, int] | None, str]:
    """Return the frequency ranks by vocabulary id, None if the corpus is to be counted, and a note on their source."""
    if file is None:
        return None, "Frequency ranks are counted on this corpus."
    counts = read_frequencies(file)
    by_id = {vocabulary[form]: count for form, count in counts.items() if form in vocabulary}
    if not by_id:
        raise CorpusError("none of its forms is a piece of this model's vocabulary", file=file)
    return frequency_ranks(by_id), (
        f"Frequency ranks are those of {file}; {len(by_id):,} of its {len(counts):,} forms are "
        "pieces of this model's vocabulary."
    )


def _frequency(frequency: pd.DataFrame) -> ShownTable:
    """Return the ρ of all tokens and that of words for each measure."""
    rows: dict[str, dict[str, Any]] = {}
    for row in rows_of(frequency):
        values = {f"{column}_{row['tokens']}": row[column] for column in ("rho", "published") if column in row}
        rows.setdefault(row["measure"], {"measure": row["measure"]}).update(values)
    headings = {
        "rho_all": "ρ, all tokens",
        "rho_words": "ρ, words only",
        "published_all": "published, all",
        "published_words": "published, words",
    }
    columns = [
        TableColumn("measure", "text", "", "measure"),
        *(TableColumn(name, "number", "", heading, digits=2) for name, heading in headings.items()),
    ]
    return ShownTable("norms_frequency", "Spearman’s ρ with the rank by frequency", columns, list(rows.values()))


@with_style
def frequency_figure(points: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the frequency rank of tokens against ‖f(x)‖, the weight that they receive, and their mixing ratio."""
    figure, grid = panels(TEXT, 2.5, columns=3)
    for axes, (column, label, factor) in zip(grid.flat, _AGAINST_RANK, strict=True):
        for is_special, name, color, marker in ((False, "words", BLUE, "o"), (True, "[CLS], [SEP]", ORANGE, "s")):
            tokens = points[points["special"] == is_special]
            values = tokens[column] * factor
            axes.scatter(tokens["rank"], values, s=5, color=color, marker=marker, alpha=0.5, linewidths=0)
            axes.scatter([], [], s=12, color=color, marker=marker, label=name)  # a larger dot for the legend
        log_scale(axes, "x")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("frequency rank")
        axes.set_ylabel(label)
    finish(figure, grid[0, 0], title)
    return figure

"""Which heads attend to earlier copies of a piece, or to what followed them? Previous, duplicate and induction heads.

The model reads sequences of random pieces twice in a row, where no meaning helps and nothing but the repetition can be
attended to (Olsson et al. 2022), and the corpus as it is. What counts as a match is that of the
head detector of TransformerLens, except that only rows are counted that have a candidate. In a masked model, the piece
that is to be predicted is the query itself, so a piece is also masked in one copy, and attention to the same place of
the other copy is measured.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ...corpora_loaders import Sentence
from ...extractors import Encoder, MapBatch
from ...extractors.tokens.pieces import Pieces, Segment
from ...reports.columns import Schema, TableColumn, bounds
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Measure
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ...reports.table import ShownTable
from ..contract import OptionError, Request
from ..counting.counting import CountMaps
from ..counting.exact_sums import ExactMetric, add_values, floating, to_fixed_point
from ..counting.resampling import FEWEST_UNITS, poisson_weights
from ..shared.measures import address, finite_values, share
from ..shared.options import CountOptions
from .batches import check_shape
from .labels import MoreLabels
from .rows import PlanContext, Statistics, SurfaceQuestion, SurfaceResults, measure_id

LENGTH = 50
"""How many pieces a sequence has before it is repeated, or fewer if the model takes fewer."""
_LEAST = 12  # pieces: with fewer, the shifted offsets would all lie outside of a sequence
_SHIFTS = (*range(-10, -4), *range(5, 11))
_MASK_STEP = 5  # every fifth piece of a copy is masked, so that both neighbors of each are there
_RANDOM_HEADS = 72  # with random weights, which a score has to exceed at least
STRONG, WEAK = 0.5, 0.1
"""The shares of attention from which on a head has the label of a type, or that with “weak-” before it."""

_OFFSETS = {"same": 0, "after": 1, "before": -1}
REPEATED = ("previous", *(f"{name}-{way}" for way in ("back", "ahead") for name in _OFFSETS), "mask-back", "mask-ahead")
"""What is measured in repeated sequences: the attention to the previous piece, to the same piece of the other copy and
to those after and before it, and of a masked piece to its copy."""
NATURAL = ("previous", "same-back", "after-back")
"""What is measured in any text: the same for all earlier copies of a piece."""


DETECTORS = Schema(
    "detectors",
    "With `--detectors`. One row per head, text and pattern.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("text", "text", "`repeated`: random pieces that are read twice in a row; or `corpus`"),
        TableColumn(
            "pattern",
            "text",
            "what is attended to: the `previous` piece; the `same` piece, or that `after` or `before` it, `back` in an "
            "earlier copy or `ahead` in a later one; `mask-back` and `mask-ahead`: the place of a masked piece in the "
            "other copy",
        ),
        TableColumn("rows", "count", "rows that have a match"),
        TableColumn("score score_low score_high", "share", "the attention to matches, as a mean over these rows"),
        TableColumn("uniform", "share", "the same if all that a row sees had the same attention"),
        TableColumn(
            "control",
            "share",
            "the same for what is no match: 5 to 10 pieces beside it, or at the same distance in the corpus",
        ),
        TableColumn("gain gain_low gain_high", "points", "`score` − `control`"),
        TableColumn("random_weights", "share", "the largest score of all heads of copies with random weights"),
        TableColumn("mul", "share", "the score of TransformerLens: matches as a share of all attention of an input"),
    ),
)

TYPES = {"same-back": "duplicate", "same-ahead": "duplicate", "mask-back": "mask-copy", "mask-ahead": "mask-copy"}
"""The labels of heads by what they attend to in repeated sequences; in a causal model, `after-back` is induction."""
INDUCTION = "induction"


@dataclass(frozen=True)
class Detected(MoreLabels):
    """The answer: the table of all heads, the labels of some, and whether the model is causal."""

    table: pd.DataFrame
    more_labels: Mapping[tuple[int, int], tuple[str, ...]]
    causal: bool


class Detectors(SurfaceQuestion):
    """Which heads attend to earlier copies of a piece?"""

    name = "detectors"
    tables = (DETECTORS,)
    template = Path(__file__).with_name("detectors.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Read repeated sequences with the model and with copies that have random weights, and the corpus."""
        number = plan_context.chosen.detectors
        if not number:
            return
        setting, maker = plan_context.setting, replace(plan_context.maker, level="token", merge="norm")
        inputs, first, length = repeat_pieces(setting.encoder, number, setting.max_length, setting.seed)
        of_text = {"causal": setting.encoder.causal, "seed": setting.seed}
        of_sequences = {**of_text, "first": first, "length": length}
        n_copies = math.ceil(_RANDOM_HEADS / (setting.encoder.n_layers * setting.encoder.n_heads))
        planned: list[tuple[str, Any, Any, int | None]] = [
            ("", inputs, of_sequences, None),
            ("-corpus", setting.corpus, of_text, None),
        ]
        planned += [(f"-random{k + 1}", inputs, of_sequences, k) for k in range(n_copies)]
        replicates = plan_context.options[CountOptions].replicates
        for suffix, read, arguments, copy in planned:
            own = {**arguments, "replicates": replicates if copy is None else 0}
            counting = CountMaps(DetectorScores, tuple(own.items()))
            yield Request(f"detectors{suffix}/{maker.kind}", "detectors", read, maker, counting, copy)

    def find(self, counts: Statistics, lookups: Any, earlier: Mapping[str, Any]) -> Detected | None:
        """Return the scores of all heads, beside the largest ones of random weights, and the labels that follow."""
        metrics = counts.metrics_of(self.name, DetectorScores)
        if not metrics:
            return None
        model, corpus, *copies = metrics
        table = pd.concat([model.compute(), corpus.compute()], ignore_index=True)
        largest = pd.concat([copy.compute() for copy in copies]).groupby("pattern")["score"].max()
        of_sequences = table["text"] == "repeated"
        table["random_weights"] = table["pattern"].map(largest).where(of_sequences)
        return Detected(table[DETECTORS.names], labels_of(table[of_sequences], causal=model.causal), model.causal)

    def frames(self, answer: Detected, results: SurfaceResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {DETECTORS.name: answer.table}

    def show(self, answer: Detected, results: SurfaceResults) -> Sequence[ShownTable]:
        """Return the head with the largest score for each pattern."""
        named = {"repeated": "random pieces, read twice", "corpus": "the corpus"}
        columns = [
            TableColumn("text", "text", "", "text", cell=lambda row: named[row["text"]]),
            TableColumn("pattern", "text", "", "attention to", cell=lambda row: _phrase(row["pattern"])),
            TableColumn("head", "text", "", "head with most", cell=lambda row: head_name(row["layer"], row["head"])),
            TableColumn("score score_low score_high", "share", "", "its attention", beside=bounds("score")),
            TableColumn("mean", "share", "", "mean of all heads"),
            TableColumn("control", "share", "", "no match"),
            TableColumn("uniform", "share", "", "uniform"),
            TableColumn("random_weights", "share", "", "random weights"),
            TableColumn("rows", "count", "", "rows"),
        ]
        best = answer.table.loc[answer.table.groupby(["text", "pattern"], sort=False)["score"].idxmax()]
        mean = answer.table.groupby(["text", "pattern"])["score"].mean().rename("mean")
        rows = rows_of(best.join(mean, on=["text", "pattern"]))
        return (ShownTable("detectors_best", "Heads that find copies (attention in %)", columns, rows),)

    def values(self, answer: Detected, results: SurfaceResults) -> Mapping[str, Any]:
        """Return whether the model is causal."""
        return {"detectors": {"causal": answer.causal}}

    def explore(self, answer: Detected, counts: Statistics, results: SurfaceResults, kind: str) -> Contribution:
        """Add the scores of all heads, a phrase for each head that has a label, and how many there are."""
        scores = answer.table[answer.table["text"] == "repeated"]
        phrases = {}
        for (layer, head), labels in answer.more_labels.items():
            of_head = scores[(scores["layer"] == layer) & (scores["head"] == head)]
            rows = [row for row in rows_of(of_head) if _label(row["pattern"], answer.causal)]
            top = max(rows, key=lambda row: float(row["score"]))
            phrases[head_name(layer, head)] = (
                f"directs {share(top['score'], top['score_low'], top['score_high'])} of its attention to "
                f"{_phrase(top['pattern'])} in random pieces that are read twice ({' '.join(labels)}; random weights: "
                f"at most {share(top['random_weights'])})",
            )
        measures = tuple(_measures(scores, kind))
        return Contribution(measures=measures, findings=(_finding(answer, scores, kind),), phrases=phrases)


def repeat_pieces(
    encoder: Encoder, number: int, max_length: int | None, seed: int
) -> tuple[tuple[Segment, ...], int, int]:
    """Return sequences of random pieces, each twice in a row, the index of the first piece, and the length of a copy.

    For a model with a mask token, each is there with every fifth piece of the second copy masked, and of the first.

    Raises:
        OptionError: the model takes too few pieces, or its vocabulary has too few whole words.
    """
    words = whole_words(encoder)
    (frame,) = encoder.align([Sentence("frame", tuple(encoder.forms[piece] for piece in words[:1]) or ("a",))])
    if not isinstance(frame, Pieces):
        raise OptionError("--detectors: the tokenizer cannot read a word of its own vocabulary")
    inside = [index for index, word in enumerate(frame.word_of) if word >= 0]
    before, after = frame.ids[: inside[0]], frame.ids[inside[-1] + 1 :]
    limits = [limit for limit in (max_length, encoder.max_length) if limit is not None]
    room = min(limits, default=2 * LENGTH + len(before) + len(after)) - len(before) - len(after)
    length = min(LENGTH, room // 2, len(words))
    if length < _LEAST:
        raise OptionError(
            f"--detectors needs sequences of {_LEAST} different whole words that are read twice; this model takes "
            f"{max(0, room)} pieces and has {len(words)} such words"
        )
    mask, rng = encoder.tokenizer.mask_token_id, random.Random(f"{seed} detectors")  # noqa: S311
    ways: dict[str, list[int]] = {"random": []}
    if mask is not None and not encoder.causal:
        places = masked_places(length)
        ways |= {"mask-back": [length + place for place in places], "mask-ahead": places}
    inputs = []
    for k in range(number):
        drawn = rng.sample(words, length)
        for kind, masked in ways.items():
            twice = [mask if index in masked else piece for index, piece in enumerate([*drawn, *drawn])]
            ids = [*before, *twice, *after]
            special = [True] * len(before) + [False] * len(twice) + [True] * len(after)
            tokens = encoder.tokenizer.convert_ids_to_tokens(ids)
            pieces = Pieces(ids, tokens, list(range(len(ids))), special, substituted=0, unknown=0)
            forms = tuple(encoder.forms[piece] for piece in twice)
            inputs.append(Segment(id=f"{kind} {k + 1}", words=forms, pieces=pieces))
    return tuple(inputs), len(before), length


def whole_words(encoder: Encoder) -> list[int]:
    """Return the ids of pieces that are words of two letters or more by themselves, in order."""
    vocabulary = encoder.tokenizer.get_vocab()
    marks = [mark for mark in ("Ġ", "▁") if sum(token.startswith(mark) for token in vocabulary) > _LEAST]
    special = {*encoder.tokenizer.all_special_ids, *encoder.tokenizer.added_tokens_decoder}
    return sorted(
        piece
        for token, piece in vocabulary.items()
        if piece not in special
        and (token.startswith(marks[0]) if marks else token.isalpha())
        and len(encoder.forms[piece]) > 1
        and encoder.forms[piece].isalpha()
    )


def labels_of(scores: pd.DataFrame, *, causal: bool) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return the labels of heads, by layer and head from 1, given their scores in repeated sequences.

    A head has a label if its score exceeds those of all heads with random weights, and the control with its whole
    interval: “weak-” from 10 % of its attention on, and without from 50 % on.
    """
    strength: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    for row in rows_of(scores):
        label = _label(row["pattern"], causal)
        if label and row["score"] >= WEAK and row["score"] > row["random_weights"] and row["gain_low"] > 0:
            of_head = strength[row["layer"], row["head"]]
            of_head[label] = max(of_head.get(label, 0.0), row["score"])
    return {
        head: tuple(label if score >= STRONG else f"weak-{label}" for label, score in sorted(labels.items()))
        for head, labels in strength.items()
    }


def _label(pattern: str, causal: bool) -> str:
    """Return the label of heads that attend to a pattern; empty if there is none."""
    return INDUCTION if causal and pattern == "after-back" else TYPES.get(pattern, "")


def _phrase(pattern: str) -> str:
    """Return what a pattern attends to, as a part of a sentence."""
    what, _, way = pattern.partition("-")
    if what == "previous":
        return "the previous piece"
    copy = "an earlier copy" if way == "back" else "a later copy"
    if what == "mask":
        return f"the place of a masked piece in {copy}"
    return copy if what == "same" else f"the piece {what} {copy}"


def _measures(scores: pd.DataFrame, kind: str) -> Iterator[Measure]:
    """Yield the scores of all heads for each pattern of repeated sequences."""
    for pattern, rows in scores.sort_values(["layer", "head"]).groupby("pattern", sort=False):
        low, high = (finite_values(rows[f"score_{end}"], 4) for end in ("low", "high"))
        yield Measure(
            id=measure_id(f"detectors-{pattern}", kind),
            group="copies in random pieces",
            label=_phrase(str(pattern)),
            kind=kind,
            unit="%",
            values=finite_values(rows["score"]),
            low=None if None in low else low,
            high=None if None in high else high,
            n=int(rows["rows"].iloc[0]),
            baseline=float(rows["random_weights"].iloc[0]),
            note=f"Attention to {_phrase(str(pattern))} in random pieces that are read twice in a row.",
        )


def _finding(answer: Detected, scores: pd.DataFrame, kind: str) -> Finding:
    """Say how many heads have each label, and which head attends most to copies."""
    named = ["duplicate", *([INDUCTION] if answer.causal else ["mask-copy"])]
    parts = []
    for label in named:
        of_label = [labels for labels in answer.more_labels.values() if label in labels or f"weak-{label}" in labels]
        weak = sum(label not in labels for labels in of_label)
        weakly = f" ({weak} weak)" if weak else ""
        parts.append(f"{len(of_label) or 'none'}{weakly} {'is a' if len(of_label) == 1 else 'are'} {label}")
    matches = scores[scores["pattern"].isin([p for p in REPEATED if _label(p, answer.causal)])]
    top = rows_of(matches.loc[[matches["score"].idxmax()]])[0]
    n_heads = len(scores[scores["pattern"] == "previous"])
    head = head_name(top["layer"], top["head"])
    text = (
        f"{share(top['score'], top['score_low'], top['score_high'])} of the attention of head {head} goes to "
        f"{_phrase(top['pattern'])} in random pieces that are read twice{_strongest_floor(top)}. Of {n_heads} heads, "
        f"{' and '.join(parts)} heads."
    )
    return Finding(text, address(head=head, measure=measure_id(f"detectors-{top['pattern']}", kind), kind=kind))


def _strongest_floor(row: Mapping[str, Any]) -> str:
    """Name the largest of the numbers that a score is to exceed, in brackets; empty if none was counted."""
    floors = [
        (row["random_weights"], "all heads with random weights"),
        (row["control"], "attention to what is no match"),
        (row["uniform"], "uniform attention"),
    ]
    counted = [floor for floor in floors if not math.isnan(floor[0])]
    if not counted:
        return ""
    value, name = max(counted)
    return f" (strongest baseline, {name}: {share(value)})"


class DetectorScores(ExactMetric):
    """The attention of every head to the matches of each row, added up over rows, and the same of what is no match.

    The states have an axis of values: the attention to matches, that of the control, and that of uniform attention.

    Args:
        n_layers, n_heads: the shape of the maps.
        causal: whether rows see only what comes before.
        length: the number of pieces of a copy if inputs are repeated sequences; 0 for any text.
        first: the index of the first piece of a repeated sequence.
        replicates, seed: those of the bootstrap over inputs.
    """

    sums: Int[Tensor, "3 patterns layers heads"]
    mul: Int[Tensor, "patterns layers heads"]
    rows: Int[Tensor, " patterns"]
    inputs: Int[Tensor, " patterns"]
    bootstrap: Int[Tensor, "replicates 2 patterns layers heads"]
    drawn: Int[Tensor, "replicates patterns"]

    def __init__(
        self, n_layers: int, n_heads: int, *, causal: bool, length: int = 0, first: int = 0, replicates: int = 0,
        seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_layers, self.n_heads, self.causal, self.length, self.first = n_layers, n_heads, causal, length, first
        self.replicates, self.seed = replicates, seed
        self.patterns = REPEATED if length else NATURAL
        shape = (len(self.patterns), n_layers, n_heads)
        self.add_state("sums", torch.zeros(3, *shape, dtype=torch.int64), "sum")
        self.add_state("mul", torch.zeros(shape, dtype=torch.int64), "sum")
        self.add_state("rows", torch.zeros(len(self.patterns), dtype=torch.int64), "sum")
        self.add_state("inputs", torch.zeros(len(self.patterns), dtype=torch.int64), "sum")
        self.add_state("bootstrap", torch.zeros(replicates, 2, *shape, dtype=torch.int64), "sum")
        self.add_state("drawn", torch.zeros(replicates, len(self.patterns), dtype=torch.int64), "sum")

    def update(self, batch: MapBatch) -> None:
        """Add a batch at token level.

        Raises:
            ExactSumError: a value is not finite, or a sum would be too large.
        """
        check_shape(batch, self.n_layers, self.n_heads)
        values = torch.zeros(len(batch), 3, *self.sums.shape[1:], dtype=torch.float64)
        mul = torch.zeros(len(batch), *self.mul.shape, dtype=torch.float64)
        rows = torch.zeros(len(batch), len(self.patterns), dtype=torch.int64)
        for index, sentence in enumerate(batch.sentences):
            n = int(batch.lengths[index])
            alpha = batch.maps[index, :, :, :n, :n].cpu().double()
            is_word = [not special for special in batch.special[index, :n].tolist()]
            kind = sentence.id.partition(" ")[0] if self.length else ""
            for pattern, cells, control in (
                self._repeated_cells(kind, n) if self.length else self._natural_cells(batch.labels[index], is_word)
            ):
                number = self.patterns.index(pattern)
                if not cells:
                    continue
                query, key = torch.tensor(cells).T
                rows[index, number] = len(set(query.tolist()))
                values[index, 0, number] = alpha[..., query, key].sum(-1)
                values[index, 1, number] = control(alpha)
                seen = query + 1 if self.causal else torch.full_like(query, n)
                values[index, 2, number] = float((1 / seen.double()).sum())
                mul[index, number] = values[index, 0, number] / alpha.sum((-1, -2)).clamp(min=1e-30)
        has_rows = (rows > 0).long()
        self.sums = add_values(self.sums, values)
        self.mul = add_values(self.mul, mul)
        self.rows += rows.sum(0).to(self.rows.device)
        self.inputs += has_rows.sum(0).to(self.inputs.device)
        if self.replicates:
            ids = [sentence.id for sentence in batch.sentences]
            weights = torch.from_numpy(poisson_weights(ids, self.replicates, self.seed).astype(np.int64))
            drawn = torch.tensordot(weights, to_fixed_point(values[:, :2]), 1)
            self.bootstrap = self.bootstrap + drawn.to(self.bootstrap.device)
            self.drawn = self.drawn + (weights @ rows).to(self.drawn.device)

    def _natural_cells(self, labels: Sequence[str], is_word: Sequence[bool]) -> Iterator[tuple[str, list[Any], Any]]:
        """Yield the cells of each pattern in any text: row q and key k, from 0."""
        earlier: dict[str, list[int]] = defaultdict(list)  # of each piece, where it was before
        same, after = list[tuple[int, int]](), list[tuple[int, int]]()
        for q, (label, word) in enumerate(zip(labels, is_word, strict=True)):
            if word:
                same += [(q, k) for k in earlier[label]]
                after += [(q, k + 1) for k in earlier[label] if is_word[k + 1]]
                earlier[label].append(q)
        previous = [(q, q - 1) for q in range(1, len(labels)) if is_word[q] and is_word[q - 1]]
        yield "previous", previous, lambda alpha: alpha.new_zeros(alpha.shape[:2])
        for name, cells in (("same-back", same), ("after-back", after)):
            yield name, cells, lambda alpha, cells=cells: _at_same_distance(alpha, cells, is_word)

    def _repeated_cells(self, kind: str, n: int) -> Iterator[tuple[str, list[Any], Any]]:
        """Yield the same for a repeated sequence, or one of which pieces of a copy are masked."""
        first, size = self.first, self.length
        end = first + 2 * size

        def mean_over_shifts(rows: Sequence[int], distance: int) -> Any:
            cells = list[tuple[int, int, float]]()
            for q in rows:
                keys = [k for s in _SHIFTS if first <= (k := q + distance + s) < (q + 1 if self.causal else end)]
                cells += [(q, k, 1 / len(keys)) for k in keys]
            query, key, weight = zip(*cells, strict=True)
            return lambda alpha: alpha[..., query, key] @ alpha.new_tensor(weight)

        if kind == "random":
            second = range(first + size + 1, end)  # without the first piece, before which there is a copy's last one
            yield "previous", [(q, q - 1) for q in second], mean_over_shifts(second, -1)
            ways = [("back", second, -size)]
            ways += [] if self.causal else [("ahead", range(first, first + size - 1), size)]
            for way, rows, distance in ways:
                for name, shift in _OFFSETS.items():
                    yield f"{name}-{way}", [(q, q + distance + shift) for q in rows], mean_over_shifts(rows, distance)
            return
        way = kind.removeprefix("mask-")
        start, distance = (first + size, -size) if way == "back" else (first, size)
        places = [start + index for index in masked_places(size)]
        yield f"mask-{way}", [(q, q + distance) for q in places], mean_over_shifts(places, distance)

    def compute(self) -> pd.DataFrame:
        """Return one row per head and pattern that has rows."""
        values, rows = floating(self.sums.cpu()), self.rows.cpu()
        mul = floating(self.mul.cpu())
        drawn = self.drawn.cpu().double().numpy()
        table = []
        for number, pattern in enumerate(self.patterns):
            n = int(rows[number])
            if not n:
                continue
            score, control, uniform = (values[:, number] / n).numpy()
            low, high, gain_low, gain_high = (np.full_like(score, math.nan) for _ in range(4))
            if self.replicates and int(self.inputs[number]) >= FEWEST_UNITS:
                replicates = floating(self.bootstrap[:, :, number].cpu()).numpy()  # replicate, value, layer, head
                with np.errstate(invalid="ignore", divide="ignore"):
                    means = replicates / drawn[:, number, None, None, None]
                low, high = np.nanquantile(means[:, 0], [0.025, 0.975], axis=0)
                gain_low, gain_high = np.nanquantile(means[:, 0] - means[:, 1], [0.025, 0.975], axis=0)
            has_control = bool(self.length) or pattern != "previous"
            for layer, head in np.ndindex(*score.shape):
                at = layer, head
                table.append(
                    {
                        "layer": layer + 1,
                        "head": head + 1,
                        "text": "repeated" if self.length else "corpus",
                        "pattern": pattern,
                        "rows": n,
                        "score": score[at],
                        "score_low": low[at],
                        "score_high": high[at],
                        "uniform": uniform[at],
                        "control": control[at] if has_control else math.nan,
                        "gain": score[at] - control[at] if has_control else math.nan,
                        "gain_low": gain_low[at] if has_control else math.nan,
                        "gain_high": gain_high[at] if has_control else math.nan,
                        "mul": math.nan if self.length else float(mul[number][at]) / int(self.inputs[number]),
                    }
                )
        return pd.DataFrame(table)


def _at_same_distance(
    alpha: Float[Tensor, "layers heads n n"], cells: Sequence[tuple[int, int]], is_word: Sequence[bool]
) -> Float[Tensor, "layers heads"]:
    """Return for each cell the mean attention at the same distance where there is no match, added up."""
    matches = set(cells)
    total = alpha.new_zeros(alpha.shape[:2])
    distances: dict[int, int] = defaultdict(int)
    for q, k in cells:
        distances[q - k] += 1
    for distance, count in distances.items():
        others = [
            (q, q - distance)
            for q in range(distance, len(is_word))
            if is_word[q] and is_word[q - distance] and (q, q - distance) not in matches
        ]
        if not others:  # nothing to compare with: the matches themselves, so that nothing is gained
            others = [(q, k) for q, k in cells if q - k == distance]
        query, key = torch.tensor(others).T
        total = total + count * alpha[..., query, key].mean(-1)
    return total


def masked_places(length: int) -> list[int]:
    """Return which pieces of a copy are masked, from 0: never the first and the last one, and no neighbors."""
    return list(range(_MASK_STEP // 2, length - 1, _MASK_STEP))

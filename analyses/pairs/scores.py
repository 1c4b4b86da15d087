"""The score of a sentence: its log-probability by a causal model, or its pseudo-log-likelihood by a masked one.

A causal model reads the sentence without its special tokens after the token with which texts begin, as the LM
Evaluation Harness does: the tokenizer's BOS, else its EOS; if the sentence begins with that very token, it is the
context. A masked model predicts one piece at a time (Salazar et al. 2020), with the later pieces of the same word
masked, too (Kauf & Ivanova 2023), unless the original is asked for. Special tokens are seen, and not scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from tokenizers.pre_tokenizers import ByteLevel
from torch import Tensor

from ...extractors import Encoder, ModelError, SharedBatch
from ...extractors.replaceable.heads_off import Head, HeadSwitch
from ...extractors.tokens.pieces import Pieces

_ROWS = 64  # how many inputs a model reads at once


@dataclass(frozen=True)
class Scoring:
    """How a sentence is scored: the inputs that a model reads, of equal length, and one target in each or several.

    Attributes:
        rows: the ids of each input.
        at: for each target, the input and the position whose logits predict it.
        targets: the ids of the targets.
    """

    rows: list[list[int]]
    at: list[tuple[int, int]]
    targets: list[int]


def causal_scoring(tokenizer: Any, text: str, *, harness: bool = False) -> Scoring:
    """Return how a causal model scores a sentence.

    Raises:
        ModelError: the tokenizer has neither a BOS nor an EOS token.
    """
    with as_written(tokenizer):
        ids = list(tokenizer(f" {text}" if harness else text, add_special_tokens=False).input_ids)
    begin = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if begin is None:
        raise ModelError("the tokenizer has neither a BOS nor an EOS token, after which a sentence could be scored")
    row = ids if ids[:1] == [begin] else [begin, *ids]
    return Scoring([row], [(0, index) for index in range(len(row) - 1)], row[1:])


def masked_scoring(tokenizer: Any, text: str, *, within_words: bool = True) -> Scoring:
    """Return how a masked model scores a sentence: an input for each piece that is no special token."""
    with as_written(tokenizer):
        encoding = tokenizer(text).encodings[0]
    mask, ids, words = tokenizer.mask_token_id, list(encoding.ids), encoding.word_ids
    scored = [index for index, special in enumerate(encoding.special_tokens_mask) if not special]
    rows = []
    for piece in scored:
        hidden = {other for other in scored if other >= piece and words[other] == words[piece]} if within_words else {}
        rows.append([mask if index == piece or index in hidden else each for index, each in enumerate(ids)])
    return Scoring(rows, list(enumerate(scored)), [ids[piece] for piece in scored])


@contextmanager
def as_written(tokenizer: Any) -> Iterator[None]:
    """Let a byte-level tokenizer read a text as it is, without a space before it."""
    # Words of treebanks get a space before each, see `attentionology.extractors.tokens.tokenizer`.
    before = tokenizer.backend_tokenizer.pre_tokenizer
    adds = isinstance(before, ByteLevel) and before.add_prefix_space
    if adds:
        before.add_prefix_space = False
    try:
        yield
    finally:
        if adds:
            before.add_prefix_space = True


@dataclass(frozen=True)
class Scorer:
    """Scores sentences with the head of a model for predictions.

    Attributes:
        lm: the model with its head.
        causal: whether it predicts the next piece, and not masked ones.
        within_words: whether a masked model sees no later pieces of the word whose piece is scored.
        harness: whether a space stands before a sentence.
    """

    lm: Any
    causal: bool
    within_words: bool = True
    harness: bool = False

    def plan(self, tokenizer: Any, text: str) -> Scoring:
        """Return how a sentence is scored."""
        if self.causal:
            return causal_scoring(tokenizer, text, harness=self.harness)
        return masked_scoring(tokenizer, text, within_words=self.within_words)

    def score(self, encoder: Encoder, text: str) -> tuple[float, int]:
        """Return the score of a sentence in nats, and the number of its scored pieces."""
        planned = self.plan(encoder.tokenizer, text)
        total = 0.0
        model = self.lm.to(encoder.device).eval()
        for start in range(0, len(planned.rows), _ROWS):
            ids = torch.tensor(planned.rows[start : start + _ROWS], device=encoder.device)
            with torch.inference_mode():
                logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
            total += float(log_p(logits, planned, start).sum())
        return total, len(planned.targets)

    def switch(self, encoder: Encoder, text: str) -> tuple[HeadSwitch, Scoring]:
        """Return what scores the sentence with heads switched off."""
        planned = self.plan(encoder.tokenizer, text)
        inputs = [Pieces(row, [""] * len(row), list(range(len(row))), [False] * len(row), 0, 0) for row in planned.rows]
        return HeadSwitch(encoder, inputs, self.lm.to(encoder.device).eval()), planned


def log_p(
    logits: Float[Tensor, "*runs rows n vocabulary"], planned: Scoring, start: int = 0
) -> Float[Tensor, "*runs targets"]:
    """Return the log-probabilities of the targets, given the logits of the inputs from ``start`` on, in float64."""
    stop = start + logits.shape[-3]
    chosen = [
        (row - start, position, target)
        for (row, position), target in zip(planned.at, planned.targets, strict=True)
        if start <= row < stop
    ]
    rows, positions, targets = torch.tensor(chosen, device=logits.device).T
    of_targets = logits[..., rows, positions, :].double().log_softmax(-1)
    return of_targets.gather(-1, targets.expand(of_targets.shape[:-1])[..., None]).squeeze(-1)


@dataclass(frozen=True)
class ScoreMaker:
    """Makes the scores of the sentences of a batch, shape (sentences, 2): nats, and scored pieces."""

    reads_weights: ClassVar[bool] = False

    scorer: Scorer

    def of(self, batch: SharedBatch) -> tuple[list[str], Float[Tensor, "sentences 2"]]:
        """Score each sentence."""
        scores = [self.scorer.score(batch.encoder, sentence.text or "") for sentence in batch.sentences]
        return [sentence.id for sentence in batch.sentences], torch.tensor(scores, dtype=torch.float64)


@dataclass(frozen=True)
class EstimateMaker:
    """Makes the first-order effect of each head on scores, ``Σ z · ∂score/∂z``, shape (sentences, layers, heads)."""

    reads_weights: ClassVar[bool] = False

    scorer: Scorer

    def of(self, batch: SharedBatch) -> tuple[list[str], Float[Tensor, "sentences layers heads"]]:
        """Estimate the effects in each sentence."""
        effects = []
        for sentence in batch.sentences:
            switch, planned = self.scorer.switch(batch.encoder, sentence.text or "")
            products = switch.products(partial(log_p, planned=planned), signed=True)
            effects.append(products.sum(0).double().cpu())
        return [sentence.id for sentence in batch.sentences], torch.stack(effects)


@dataclass(frozen=True)
class WithoutMaker:
    """Makes the scores of sentences without some heads, one at a time, shape (sentences, heads); they give zeros."""

    reads_weights: ClassVar[bool] = False

    scorer: Scorer
    heads: tuple[Head, ...]

    def of(self, batch: SharedBatch) -> tuple[list[str], Float[Tensor, "sentences heads"]]:
        """Score each sentence without each head."""
        scores: list[list[float]] = []
        for sentence in batch.sentences:
            switch, planned = self.scorer.switch(batch.encoder, sentence.text or "")
            if not scores:
                switch.check_place()
            without = [float(log_p(switch.run(head[0], [[head]])[0], planned).sum()) for head in self.heads]
            scores.append(without)
        return [sentence.id for sentence in batch.sentences], torch.tensor(scores, dtype=torch.float64)


def by_pair(ids: Sequence[str], batches: Iterator[tuple[list[str], Tensor]]) -> Tensor:
    """Return what makers have made of the two sentences of each pair, NaN where a sentence was not read.

    Args:
        ids: the ids of the pairs.
        batches: the ids of sentences, each with a row.
    """
    rows = {name: row for names, values in batches for name, row in zip(names, values, strict=True)}
    shape = next(iter(rows.values())).shape if rows else ()
    missing = torch.full(shape, torch.nan, dtype=torch.float64)
    both = [torch.stack([rows.get(f"{pair} {end}", missing) for end in ("good", "bad")]) for pair in ids]
    return torch.stack(both)

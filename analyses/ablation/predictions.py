"""What a model predicts for the words of a few sentences, as it is and without a head, for people who want to look.

A masked-LM predicts each word with all of its pieces masked, one word at a time; a causal LM predicts it after what
precedes it. The log-probability of a word is the sum over its pieces. What is likeliest is said of its first piece.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from ...corpora_loaders import Sentence
from ...extractors import SharedBatch
from ...extractors.replaceable.heads_off import HeadSwitch
from ...extractors.tokens.pieces import Pieces
from ...reports.explorer.data import Predicted
from ...reports.format import head_name
from ..dependency.accuracy import DependencyAccuracy
from ..dependency.tables import TOTALS
from ..shared.input_sample import InputSample
from .counting import Values
from .effects import NUMBERS, AblationMaker

PREDICTED = "predictions "
"""The beginning of the names under which predictions are stored."""

SENTENCES = 40
"""The number of sentences of the sample, of at most `WORDS` words, for which predictions are kept."""

WORDS = 25

_MOST_HEADS = 6
_LIKELIEST = 3
_DIGITS = 4

Head = tuple[int, int]


def sentences_to_show(metrics: Mapping[str, Any], inputs: Sequence[Sentence]) -> list[Sentence]:
    """Return the first short sentences of the sample that the explorer shows."""
    sampled = [each for metric in metrics.values() if isinstance(metric, InputSample) for each in metric.sampled()]
    words: dict[str, tuple[str, ...]] = {}
    for annotation in (each.annotation for each in sampled):
        pairs = zip(annotation.rows, annotation.special, strict=True)
        words.setdefault(annotation.id, tuple(word for word, special in pairs if not special))
    # Samples of windows and of pieces have other inputs.
    found = {each.id: each for each in inputs if words.get(each.id) == each.words and len(each.words) <= WORDS}
    return [found[name] for name in words if name in found][:SENTENCES]


def beats_position(best: pd.DataFrame) -> pd.Series[bool]:
    """Say in which rows the best head finds more than the best fixed offset, held out and with its whole interval."""
    return best["heldout_gain_low"] > 0


def heads_to_show(metrics: Mapping[str, Any], heads: Sequence[Head], effect: Values) -> tuple[Head, ...]:
    """Return the head with the largest effect, the best heads of relations, and the heads with the next effects."""
    by_effect = [heads[k] for k in np.argsort(-effect, kind="stable")]
    finders: list[Head] = []
    for name, metric in metrics.items():
        if name.startswith("dependency/") and isinstance(metric, DependencyAccuracy):
            best = metric.compute().best
            better = best[beats_position(best) & ~best["relation"].isin([*TOTALS, "root"])]
            better = better.sort_values("heldout_gain", ascending=False, kind="stable")
            finders += zip(better["layer"] - 1, better["head"] - 1, strict=True)
            break
    wanted = dict.fromkeys((int(i), int(h)) for i, h in (by_effect[0], *finders, *by_effect))
    return tuple(sorted([head for head in wanted if head in heads][:_MOST_HEADS]))


@dataclass(frozen=True)
class PredictionMaker:
    """Makes the predictions for each word of each sentence of a batch, with all heads and without each of some."""

    reads_weights: ClassVar[bool] = False

    heads: tuple[Head, ...]  # in ascending order
    maker: AblationMaker

    def of(self, batch: SharedBatch) -> list[Predicted]:
        """Return what is predicted in each sentence: first by the model as it is."""
        return [
            each
            for sentence, pieces in zip(batch.sentences, batch.pieces, strict=True)
            for each in self._of_sentence(batch, sentence, pieces)
        ]

    def _of_sentence(self, batch: SharedBatch, sentence: Sentence, pieces: Pieces) -> list[Predicted]:
        inputs, places = self._asked(batch, pieces)
        names = ["", *(head_name(layer + 1, head + 1) for layer, head in self.heads)]
        words: dict[str, list[tuple[float | None, Any]]] = {name: [] for name in names}
        lm = self.maker.lm.to(batch.encoder.device).eval()
        size = len(pieces) * lm.config.get_text_config().vocab_size * len(names)
        at_once = max(1, NUMBERS // size) if len(inputs) > 1 else 1
        for start in range(0, len(inputs), at_once):
            switch = HeadSwitch(batch.encoder, inputs[start : start + at_once], lm)
            for name, logits in zip(names, self._without(switch, batch), strict=True):
                for row, of_word in places:
                    if start <= row < start + at_once:
                        words[name].append(self._prediction(logits[row - start], of_word, batch))
        return [
            Predicted(sentence.id, name, tuple(p for p, _ in each), tuple(likeliest for _, likeliest in each))
            for name, each in words.items()
        ]

    def _asked(
        self, batch: SharedBatch, pieces: Pieces
    ) -> tuple[list[Pieces], list[tuple[int, list[tuple[int, int]]]]]:
        """Return what the model reads, and for each word the input and the places of its pieces with their ids."""
        at = [[piece for piece, word in enumerate(pieces.word_of) if word == number] for number in range(pieces.words)]
        if self.maker.causal:  # the logits at a piece are about the next one, and nothing predicts the first
            return [pieces], [(0, [(i - 1, pieces.ids[i]) for i in each] if 0 not in each else []) for each in at]
        mask, token = batch.encoder.tokenizer.mask_token_id, batch.encoder.tokenizer.mask_token
        inputs = [
            replace(
                pieces,
                ids=[mask if i in each else id_ for i, id_ in enumerate(pieces.ids)],
                tokens=[token if i in each else piece for i, piece in enumerate(pieces.tokens)],
            )
            for each in at
        ]
        return inputs, [(row, [(i, pieces.ids[i]) for i in each]) for row, each in enumerate(at)]

    def _without(self, switch: HeadSwitch, batch: SharedBatch) -> Iterator[Tensor]:
        """Yield the logits of the model as it is, and then without each head."""
        fill = None if self.maker.means is None else self.maker.means.of(batch.encoder)
        yield switch.plain
        for layer, group in itertools.groupby(self.heads, key=lambda head: head[0]):
            yield from switch.run(layer, [head for _, head in group], None if fill is None else fill[layer])

    def _prediction(
        self, logits: Tensor, places: Sequence[tuple[int, int]], batch: SharedBatch
    ) -> tuple[float | None, tuple[tuple[str, float], ...]]:
        """Return log p of a word, and the likeliest first pieces with their probabilities."""
        if not places:
            return None, ()
        at, gold = zip(*places, strict=True)
        log_p = torch.log_softmax(logits[list(at)].double(), dim=-1)
        values, ids = log_p[0].exp().topk(_LIKELIEST)
        names = [_text(batch, int(each)) for each in ids]
        likeliest = zip(names, (round(value, _DIGITS) for value in values.tolist()), strict=True)
        return round(float(log_p[range(len(gold)), gold].sum()), _DIGITS), tuple(likeliest)


def _text(batch: SharedBatch, id_: int) -> str:
    """Return a piece as people read it."""
    tokenizer = batch.encoder.tokenizer
    return tokenizer.decode([id_]).strip() or str(tokenizer.convert_ids_to_tokens(id_))

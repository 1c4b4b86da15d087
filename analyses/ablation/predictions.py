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
from ...extractors.replaceable.heads_off import Head, HeadSwitch
from ...extractors.tokens.pieces import Pieces
from ...reports.explorer.data import Predicted
from ...reports.format import head_name
from ..dependency.accuracy import DependencyAccuracy
from ..dependency.tables import TOTALS
from ..shared.input_sample import InputSample
from .counting import Values
from .effects import COMPONENTS_AT_ONCE, AblationMaker

PREDICTED = "predictions "
"""The beginning of the names under which predictions are stored."""

MAX_SENTENCES = 40
"""The number of sentences of the sample, of at most `MAX_WORDS` words, for which predictions are kept."""

MAX_WORDS = 25

_MAX_HEADS = 6
_N_LIKELIEST = 3
_DIGITS = 4

Places = list[tuple[int, int]]
"""For each piece of a word the position whose logits predict it, and its id; empty if nothing predicts the word."""


def sentences_to_show(metrics: Mapping[str, Any], inputs: Sequence[Sentence]) -> list[Sentence]:
    """Return the first short ones of the sampled sentences, which are those that the explorer shows."""
    samples = [metric for metric in metrics.values() if isinstance(metric, InputSample)]
    words: dict[str, tuple[str, ...]] = {}  # of each input of the samples, by its id
    for annotation in (sampled.annotation for sample in samples for sampled in sample.sampled()):
        rows = zip(annotation.rows, annotation.special, strict=True)
        words.setdefault(annotation.id, tuple(word for word, is_special in rows if not is_special))
    # Samples of windows and of pieces have other inputs.
    short = (sentence for sentence in inputs if len(sentence.words) <= MAX_WORDS)
    by_id = {sentence.id: sentence for sentence in short if words.get(sentence.id) == sentence.words}
    return [by_id[id_] for id_ in words if id_ in by_id][:MAX_SENTENCES]


def beats_position(best: pd.DataFrame) -> pd.Series[bool]:
    """Say in which rows the best head finds more than the best fixed offset, held out and with its whole interval."""
    return best["heldout_gain_low"] > 0


def heads_to_show(metrics: Mapping[str, Any], heads: Sequence[Head], effect: Values) -> tuple[Head, ...]:
    """Return the head with the largest effect, the best heads of relations, and the heads with the next effects."""
    by_effect = [heads[index] for index in np.argsort(-effect, kind="stable")]
    finders: list[Head] = []
    for name, metric in metrics.items():
        if name.startswith("dependency/") and isinstance(metric, DependencyAccuracy):
            best = metric.compute().best
            better = best[beats_position(best) & ~best["relation"].isin([*TOTALS, "root"])]
            better = better.sort_values("heldout_gain", ascending=False, kind="stable")
            finders += zip(better["layer"] - 1, better["head"] - 1, strict=True)
            break
    by_priority = dict.fromkeys((int(layer), int(head)) for layer, head in (by_effect[0], *finders, *by_effect))
    switched_off = [head for head in by_priority if head in heads]  # finders may be heads that are always on
    return tuple(sorted(switched_off[:_MAX_HEADS]))


@dataclass(frozen=True)
class PredictionMaker:
    """Makes the predictions for each word of each sentence of a batch, with all heads and without each of some."""

    reads_weights: ClassVar[bool] = False

    heads: tuple[Head, ...]  # in ascending order
    maker: AblationMaker

    def of(self, batch: SharedBatch) -> list[Predicted]:
        """Return what is predicted in each sentence: first by the model as it is."""
        predicted: list[Predicted] = []
        for sentence, pieces in zip(batch.sentences, batch.pieces, strict=True):
            predicted += self._of_sentence(batch, sentence, pieces)
        return predicted

    def _of_sentence(self, batch: SharedBatch, sentence: Sentence, pieces: Pieces) -> Iterator[Predicted]:
        """Yield what is predicted for each word of a sentence: by the model as it is, and then without each head."""
        inputs, words = self._inputs_and_words(batch, pieces)
        names = ["", *(head_name(layer + 1, head + 1) for layer, head in self.heads)]
        predictions: dict[str, list[tuple[float | None, Any]]] = {name: [] for name in names}
        lm = self.maker.lm.to(batch.encoder.device).eval()
        logits_of_input = len(pieces) * lm.config.get_text_config().vocab_size * len(names)
        inputs_at_once = max(1, COMPONENTS_AT_ONCE // logits_of_input) if len(inputs) > 1 else 1
        for start in range(0, len(inputs), inputs_at_once):
            end = start + inputs_at_once
            switch = HeadSwitch(batch.encoder, inputs[start:end], lm)
            for name, logits in zip(names, self._without(switch, batch), strict=True):
                for input_index, places in words:
                    if start <= input_index < end:
                        predictions[name].append(self._prediction(logits[input_index - start], places, batch))
        for name, of_words in predictions.items():
            log_p, likeliest = zip(*of_words, strict=True) if of_words else ((), ())
            yield Predicted(sentence.id, name, log_p, likeliest)

    def _inputs_and_words(self, batch: SharedBatch, pieces: Pieces) -> tuple[list[Pieces], list[tuple[int, Places]]]:
        """Return what the model reads, and for each word the index of the input that predicts it, and its places."""
        pieces_of_words: list[list[int]] = [[] for _ in range(pieces.words)]
        for piece, word in enumerate(pieces.word_of):
            if word >= 0:
                pieces_of_words[word].append(piece)
        if self.maker.causal:
            # The logits at a piece are about the next one, and nothing predicts the first.
            predicted = ([] if 0 in of_word else of_word for of_word in pieces_of_words)
            return [pieces], [(0, [(piece - 1, pieces.ids[piece]) for piece in of_word]) for of_word in predicted]
        mask_id, mask_token = batch.encoder.tokenizer.mask_token_id, batch.encoder.tokenizer.mask_token
        inputs: list[Pieces] = []
        words: list[tuple[int, Places]] = []
        for masked in pieces_of_words:  # one input for each word
            ids = [mask_id if piece in masked else id_ for piece, id_ in enumerate(pieces.ids)]
            tokens = [mask_token if piece in masked else token for piece, token in enumerate(pieces.tokens)]
            words.append((len(inputs), [(piece, pieces.ids[piece]) for piece in masked]))
            inputs.append(replace(pieces, ids=ids, tokens=tokens))
        return inputs, words

    def _without(self, switch: HeadSwitch, batch: SharedBatch) -> Iterator[Tensor]:
        """Yield the logits of the model as it is, and then without each head."""
        fill = None if self.maker.means is None else self.maker.means.of(batch.encoder)
        yield switch.plain
        for layer, group in itertools.groupby(self.heads, key=lambda head: head[0]):
            yield from switch.run(layer, [[head] for head in group], fill)

    def _prediction(
        self, logits: Tensor, places: Places, batch: SharedBatch
    ) -> tuple[float | None, tuple[tuple[str, float], ...]]:
        """Return log p of a word, None if nothing predicts it, and the likeliest first pieces with probabilities."""
        if not places:
            return None, ()
        positions, gold = zip(*places, strict=True)
        log_p = torch.log_softmax(logits[list(positions)].double(), dim=-1)  # (pieces of the word, vocabulary)
        probabilities, ids = log_p[0].exp().topk(_N_LIKELIEST)  # of the first piece
        tokenizer = batch.encoder.tokenizer
        # A piece that is only white space is named by its token.
        texts = [tokenizer.decode([id_]).strip() or str(tokenizer.convert_ids_to_tokens(id_)) for id_ in ids.tolist()]
        likeliest = zip(texts, (round(p, _DIGITS) for p in probabilities.tolist()), strict=True)
        return round(float(log_p[range(len(gold)), gold].sum()), _DIGITS), tuple(likeliest)

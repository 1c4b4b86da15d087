"""What does a model predict for the words of a few sentences, as it is and without a head? For people who look.

A masked-LM predicts each word with all of its pieces masked, one word at a time; a causal LM predicts it after what
precedes it. The log-probability of a word is the sum over its pieces. What is likeliest is said of its first piece.
All of this costs no more than the effects of heads, which people have asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from ...corpora_loaders import Sentence
from ...extractors import Encoder, SharedBatch
from ...extractors.maps.alone import each_alone
from ...extractors.replaceable.heads_off import Head, HeadSwitch
from ...extractors.tokens.pieces import Pieces
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Predicted
from ...reports.format import head_name
from ..dependency.accuracy import TOTALS, DependencyAccuracy
from ..shared.input_sample import InputSample
from .effects import AblationMaker, at_once
from .heads import HeadEffects, Values
from .rows import HEADS, AblationQuestion, AblationResults, Effects, LookupContext, PlanContext

MAX_SENTENCES = 40
"""The most sentences of the sample, of at most `MAX_WORDS` words, for which predictions are kept."""

MAX_WORDS = 25

_MAX_HEADS = 6
_N_LIKELIEST = 3
_DIGITS = 4


class Predictions(AblationQuestion):
    """What does the model predict with and without some heads?"""

    name = "predictions"

    def passes(self, plan_context: PlanContext) -> float:
        """Return about how many forward passes the predictions take, before it is known of which heads."""
        if "predictions" not in plan_context.makers:
            return 0
        sentences = plan_context.setting.corpus.sentences
        of_effects = len(sentences) * sum(maker.forward_passes for maker in plan_context.makers.values())
        return min(of_effects, expected_passes(sentences, plan_context.heads, plan_context.makers["predictions"]))

    def look(self, lookup_context: LookupContext) -> list[dict[str, Any]] | None:
        """Predict the words of some of the sampled sentences; no more of them than the effects have taken."""
        maker, counts = lookup_context.makers[-1], lookup_context.effects
        if maker.lm is None:
            return None
        effect = counts.metrics_of(HEADS, HeadEffects)[-1].compute().mean[0, :, 0]  # of each head on all words
        heads = heads_to_show(counts.metrics, counts.facts.heads, effect)
        words = sum(each.forward_passes for each in lookup_context.makers) * sum(
            len(each.words) for each in lookup_context.inputs
        )
        sentences = limit_words(sentences_to_show(counts.metrics, lookup_context.inputs), heads, maker, words)
        batches = lookup_context.read(sentences, PredictionMaker(heads, maker)) if sentences else ()
        return [asdict(predicted) for batch in batches for predicted in batch]

    def join(self, lookups: Sequence[Any]) -> list[dict[str, Any]] | None:
        """Return the predictions in the sentences of all runs."""
        return list(itertools.chain.from_iterable(lookups)) if lookups else None

    def find(self, counts: Effects, lookups: Any, earlier: Mapping[str, Any]) -> tuple[Predicted, ...] | None:
        """Return what is predicted."""
        return None if lookups is None else tuple(Predicted(**row) for row in lookups)

    def explore(
        self, answer: tuple[Predicted, ...], counts: Effects, results: AblationResults, kind: str
    ) -> Contribution:
        """Let the explorer show what is predicted."""
        return Contribution(predictions=answer)


def sentences_to_show(metrics: Mapping[str, Any], inputs: Sequence[Sentence]) -> list[Sentence]:
    """Return the first short ones of the sampled sentences, which are those that the explorer shows."""
    samples = [metric for metric in metrics.values() if isinstance(metric, InputSample)]
    words: dict[str, tuple[str, ...]] = {}  # of each input of the samples, by its id
    for annotation in (sampled.annotation for sample in samples for sampled in sample.sort_inputs()):
        rows = zip(annotation.rows, annotation.special, strict=True)
        words.setdefault(annotation.id, tuple(word for word, is_special in rows if not is_special))
    # Samples of windows and of pieces have other inputs.
    short = (sentence for sentence in inputs if len(sentence.words) <= MAX_WORDS)
    by_id = {sentence.id: sentence for sentence in short if words.get(sentence.id) == sentence.words}
    return [by_id[id_] for id_ in words if id_ in by_id][:MAX_SENTENCES]


def limit_words(
    sentences: Sequence[Sentence], heads: Sequence[Head], maker: AblationMaker, words: float
) -> list[Sentence]:
    """Return the first of some sentences, as long as predictions read no more words in them than ``words``."""
    totals = itertools.accumulate(
        len(sentence.words) * _passes(sentence, heads, maker, len(heads)) for sentence in sentences
    )
    return [sentence for sentence, total in zip(sentences, totals, strict=True) if total <= words]


def expected_passes(inputs: Iterable[Sentence], heads: Sequence[Head], maker: AblationMaker) -> float:
    """Return about how many forward passes of single inputs the predictions take, before it is known of which heads."""
    short = (sentence for sentence in inputs if len(sentence.words) <= MAX_WORDS)
    n_heads = min(_MAX_HEADS, len(heads))
    return sum(_passes(sentence, heads, maker, n_heads) for sentence in itertools.islice(short, MAX_SENTENCES))


def _passes(sentence: Sentence, heads: Sequence[Head], maker: AblationMaker, n_heads: int) -> float:
    """Return how many forward passes of a sentence predict its words as it is and without ``n_heads`` of some."""
    from_heads = sum(1 - layer / maker.n_layers for layer, _ in heads) / len(heads)  # on average
    return (1 if maker.causal else len(sentence.words)) * (1 + n_heads * from_heads)


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
class _Input:
    """What a model reads, and which of its logits predict words."""

    pieces: Pieces
    positions: list[int]  # whose logits predict pieces of words
    words: list[tuple[slice, list[int]]]  # the positions of each word, and the ids of its pieces; none if not predicted


@dataclass(frozen=True)
class PredictionMaker:
    """Makes the predictions for each word of each sentence of a batch, with all heads and without each of some."""

    reads_weights: ClassVar[bool] = False

    heads: tuple[Head, ...]  # in ascending order
    maker: AblationMaker

    def of(self, batch: SharedBatch) -> list[Predicted]:
        """Return what is predicted in each sentence: first by the model as it is."""
        fill = None if self.maker.means is None else self.maker.means.of(batch.encoder)
        lm = self.maker.lm.to(batch.encoder.device).eval()
        of_sentences = each_alone(batch, lm, lambda alone, model: list(self._of_sentence(alone, model, fill)))
        return [predicted for of_sentence in of_sentences for predicted in of_sentence]

    def _of_sentence(self, alone: SharedBatch, lm: Any, fill: Tensor | None) -> Iterator[Predicted]:
        """Yield what is predicted for each word of a sentence: by the model as it is, and then without each head."""
        (sentence,), (pieces,) = alone.sentences, alone.pieces
        inputs = list(self._inputs(alone.encoder, pieces))
        names = ["", *(head_name(layer + 1, head + 1) for layer, head in self.heads)]
        predictions: dict[str, list[tuple[float | None, Any]]] = {name: [] for name in names}
        n_positions = max((len(read.positions) for read in inputs), default=0)
        components = n_positions * lm.config.get_text_config().vocab_size * len(names)  # of each input
        n_inputs = at_once(components, alone.encoder.device)
        for start in range(0, len(inputs), n_inputs):
            read = inputs[start : start + n_inputs]
            at = torch.zeros(len(read), n_positions, dtype=torch.long)
            for row, of_input in zip(at, read, strict=True):
                row[: len(of_input.positions)] = torch.tensor(of_input.positions)
            switch = HeadSwitch(alone.encoder, [of_input.pieces for of_input in read], lm, at)
            for name, logits in zip(names, self._without(switch, fill), strict=True):
                for of_input, logits_of_input in zip(read, logits, strict=True):
                    for places, ids in of_input.words:
                        prediction = word_prediction(logits_of_input[places], ids, alone.encoder.tokenizer)
                        predictions[name].append(prediction)
        for name, of_words in predictions.items():
            log_p, likeliest = zip(*of_words, strict=True) if of_words else ((), ())
            yield Predicted(sentence.id, name, log_p, likeliest)

    def _inputs(self, encoder: Encoder, pieces: Pieces) -> Iterator[_Input]:
        """Yield what the model reads for a sentence: one input, or one for each word if it predicts masked pieces."""
        pieces_of_words: list[list[int]] = [[] for _ in range(pieces.words)]
        for piece, word in enumerate(pieces.word_of):
            if word >= 0:
                pieces_of_words[word].append(piece)
        if self.maker.causal:
            # The logits at a piece are about the next one, and nothing predicts the first.
            positions: list[int] = []
            words = []
            for of_word in pieces_of_words:
                predicted = [] if 0 in of_word else of_word
                start = len(positions)
                positions += [piece - 1 for piece in predicted]
                words.append((slice(start, len(positions)), [pieces.ids[piece] for piece in predicted]))
            yield _Input(pieces, positions, words)
            return
        mask_id, mask_token = encoder.tokenizer.mask_token_id, encoder.tokenizer.mask_token
        for masked in pieces_of_words:
            ids = [mask_id if piece in masked else id_ for piece, id_ in enumerate(pieces.ids)]
            tokens = [mask_token if piece in masked else token for piece, token in enumerate(pieces.tokens)]
            places = slice(0, len(masked)), [pieces.ids[piece] for piece in masked]
            yield _Input(replace(pieces, ids=ids, tokens=tokens), masked, [places])

    def _without(self, switch: HeadSwitch, fill: Tensor | None) -> Iterator[Tensor]:
        """Yield the logits of the model as it is, and then without each head."""
        yield switch.plain
        for layer, group in itertools.groupby(self.heads, key=lambda head: head[0]):
            yield from switch.run(layer, [[head] for head in group], fill)


def word_prediction(
    logits: Tensor, ids: Sequence[int], tokenizer: Any, most: int = _N_LIKELIEST
) -> tuple[float | None, tuple[tuple[str, float], ...]]:
    """Return log p of a word, None if nothing predicts it, and the likeliest first pieces with probabilities.

    Args:
        logits: those of the positions that predict the pieces of the word, shape (pieces, vocabulary).
        ids: the pieces.
        tokenizer: gives the pieces their names.
        most: how many of the likeliest are named.
    """
    if not ids:
        return None, ()
    log_p = torch.log_softmax(logits.double(), dim=-1)  # (pieces of the word, vocabulary)
    probabilities, likeliest = log_p[0].exp().topk(most)  # of the first piece
    # A piece that is only white space is named by its token.
    texts = [tokenizer.decode([id_]).strip() or str(tokenizer.convert_ids_to_tokens(id_)) for id_ in likeliest.tolist()]
    named = zip(texts, (round(p, _DIGITS) for p in probabilities.tolist()), strict=True)
    return round(float(log_p[range(len(ids)), ids].sum()), _DIGITS), tuple(named)

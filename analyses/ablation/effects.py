"""What switching heads off changes in a batch, word by word or prediction by prediction."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from ...corpora_loaders import Sentence
from ...extractors import Encoder, ExtractionError, SharedBatch, shared_batches
from ...extractors.maps.alone import each_alone
from ...extractors.maps.gradients import MASK_RATE
from ...extractors.maps.shared_pass import mask_batch
from ...extractors.replaceable.heads_off import Head, HeadSwitch
from ...extractors.tokens.word_merging import WordMerger
from ..counting.exact_sums import add_values, floating

T = TypeVar("T")

HIDDEN = ("cosine", "l2")
"""The effects on the final vectors of words: 1 − cosine, and the length of the change relative to the vector."""

LOSS = ("loss",)
"""The effect on predictions: the increase of −log p of a masked piece, or of the next word."""

COMPONENTS_AT_ONCE = 2**23
"""How many components of final vectors or logits a thread computes at once, 32 MiB in float32; a GPU computes more."""


def at_once(components: int, device: torch.device) -> int:
    """Return how many inputs or runs are computed at once, each of which gives so many components; at least one."""
    most = COMPONENTS_AT_ONCE if device.type == "cpu" else 16 * COMPONENTS_AT_ONCE
    return max(1, most // max(1, components))


@dataclass(frozen=True, eq=False)
class EffectBatch:
    """The effects of switching off each of some heads."""

    # sentence, word: for each row, the index of its sentence and of its word there.

    values: Float[Tensor, "items heads measures"]  # the effects, one row per word or masked piece
    sentence: Int[Tensor, " items"]
    word: Int[Tensor, " items"]
    sentences: tuple[Sentence, ...]
    # Σ |z · ∂L/∂z| of each head in each sentence; None if nothing is predicted
    importance: Float[Tensor, "sentences heads"] | None = None


@dataclass(frozen=True)
class HeadMeans:
    """What heads give on average, over all pieces of some sentences; those that are too long are left out."""

    sentences: Sequence[Sentence] = field(compare=False)
    max_length: int | None = None

    @functools.cached_property
    def _by_encoder(self) -> dict[int, tuple[Encoder, Tensor]]:
        """The means by the id of the encoder, which is held beside them, so that no other object gets its id."""
        return {}

    def of(self, encoder: Encoder) -> Float[Tensor, "layers heads inner"]:
        """Return the means, which a pass over the sentences gives when it is first needed."""
        if id(encoder) not in self._by_encoder:
            self._by_encoder[id(encoder)] = encoder, self._mean_outputs(encoder)
        return self._by_encoder[id(encoder)][1]

    def _mean_outputs(self, encoder: Encoder) -> Float[Tensor, "layers heads inner"]:
        """Return the mean output of each head over all pieces of the sentences."""
        n_pieces, sums = 0, torch.zeros(1, dtype=torch.int64)  # sums in fixed point, (layers, heads × inner)
        for batch in shared_batches(encoder, self.sentences, max_length=self.max_length):
            HeadSwitch(encoder, batch.pieces[:1]).check_place()
            outputs = torch.stack(each_alone(batch, encoder.model, _summed_outputs))
            if not n_pieces:  # the first batch says how large the outputs are
                sums = torch.zeros_like(outputs[0], dtype=torch.int64)
            sums = add_values(sums, outputs)
            n_pieces += sum(map(len, batch.pieces))
        if not n_pieces:
            raise ExtractionError("none of the sentences that give the means of heads could be read")
        return (floating(sums) / n_pieces).view(len(sums), encoder.n_heads, -1)


def _summed_outputs(alone: SharedBatch, model: Any) -> Float[Tensor, "layers inner"]:
    """Return what the heads of each layer give in a sentence, side by side, summed over its pieces."""
    switch = HeadSwitch(alone.encoder, alone.pieces, model)
    return torch.stack([outputs[0].double().sum(0).cpu() for outputs in switch.outputs])


@dataclass(frozen=True)
class AblationMaker:
    """Makes an `EffectBatch`: of the final vectors of words, or of predictions of masked pieces or next words.

    Each sentence of a batch is read alone, see `attentionology.extractors.maps.alone`, and the shapes of all products
    follow from its length and from which heads are switched off. So the same sentence has the same effects, bit by bit,
    in any batch, part and order, and with any number of threads.
    """

    # The heads of a layer are switched off in one batch, beside a copy in which none is. A pass begins at their layer.

    reads_weights: ClassVar[bool] = False

    heads: tuple[Head, ...]  # in ascending order
    n_layers: int
    means: HeadMeans | None = None  # None for zeros
    lm: Any = None  # the model with its masked-LM head, or if it is `causal` the one that predicts the next piece
    causal: bool = False
    seed: int = 0

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the effects."""
        return HIDDEN if self.lm is None else LOSS

    @property
    def forward_passes(self) -> float:
        """How many forward passes of the whole model a batch costs, about."""
        # One that records what heads give, one for comparing, those from the layer of each head on, and about four for
        # the gradients and logits of a loss (measured with the demo model).
        heads_by_layer = Counter(layer for layer, _ in self.heads)
        of_heads = sum((1 + n_heads) * (1 - layer / self.n_layers) for layer, n_heads in heads_by_layer.items())
        return 2 + 4 * (self.lm is not None) + of_heads

    def of(self, batch: SharedBatch) -> EffectBatch:
        """Switch off one head after the other."""
        words, values, importance = zip(*self._of_each(batch, self._effects), strict=True)
        return EffectBatch(
            values=torch.cat(values),
            sentence=torch.repeat_interleave(torch.tensor([len(words_of_sentence) for words_of_sentence in words])),
            word=torch.cat(words),
            sentences=batch.sentences,
            importance=None if self.lm is None else torch.stack(importance),
        )

    def of_sets(self, batch: SharedBatch, sets: Sequence[Sequence[Head]]) -> list[Float[Tensor, "sets items measures"]]:
        """Return the effects in each sentence of switching off several heads at once, those of one of the sets."""

        def of_sets(comparison: _Comparison, fill: Tensor | None) -> Tensor:
            return torch.cat(list(comparison.effects_without(sets, fill)))

        return self._of_each(batch, of_sets)

    def _effects(self, comparison: _Comparison, fill: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return the words of the items of a sentence, the effects (items, heads, measures), and the importance."""
        importance = torch.zeros(len(self.heads), dtype=torch.float64)
        if not len(comparison.word):  # nothing is predicted, so that no head matters
            return comparison.word, torch.zeros(0, len(self.heads), len(self.measures)), importance
        effects: list[Tensor] = []
        for layer, group in itertools.groupby(self.heads, key=lambda head: head[0]):
            effects += comparison.effects_without([[head] for head in group], fill, layer)
        if comparison.loss is not None:
            layers, heads = torch.tensor(self.heads).T
            importance = comparison.switch.products(comparison.loss)[0, layers, heads].double().cpu()
        return comparison.word, torch.cat(effects).transpose(0, 1), importance

    def _of_each(self, batch: SharedBatch, of_sentence: Callable[[_Comparison, Tensor | None], T]) -> list[T]:
        """Return what a function makes of the comparison in each sentence, and of what a head gives that is off."""
        encoder, fill = batch.encoder, None if self.means is None else self.means.of(batch.encoder)
        model = encoder.model if self.lm is None else self.lm.to(encoder.device).eval()
        HeadSwitch(encoder, batch.pieces[:1], model).check_place()  # in the longest sentence
        return each_alone(batch, model, lambda alone, model: of_sentence(self._comparison(alone, model), fill))

    def _comparison(self, alone: SharedBatch, model: Any) -> _Comparison:
        if self.lm is None:
            return _final_vectors(alone, model)
        return _next_words(alone, model) if self.causal else _masked_pieces(alone, model, self.seed)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """How a model is compared with itself without heads in one sentence. An item is a word or a masked piece."""

    switch: HeadSwitch
    word: Int[Tensor, " items"]  # the index of the word of each item
    of_items: Callable[[Tensor], Tensor]  # from outputs (runs, n, …) to what is compared (runs, items, …)
    effects: Callable[[Tensor, Tensor], Tensor]  # from that without and with a change to (runs, items, measures)
    loss: Callable[[Tensor], Tensor] | None = None  # from logits (1, n, …) to the mean −log p, shape (1)

    def effects_without(
        self, sets: Sequence[Sequence[Head]], fill: Tensor | None, layer: int = 0
    ) -> Iterator[Float[Tensor, "runs items measures"]]:
        """Yield the effects of switching off sets of heads, all of them in a ``layer`` or above, a few at a time."""
        # Each time, there is a copy in which none is off. Products of a single run would be rounded in another way.
        n_sets = max(1, at_once(self.switch.plain.numel(), self.switch.plain.device) - 1)
        for start in range(0, len(sets), n_sets):
            outputs = self.switch.run(layer, [(), *sets[start : start + n_sets]], fill)
            self.switch.check_plain(outputs[0], layer)
            compared = self.of_items(outputs[:, 0])  # of the one sentence
            yield self.effects(compared[:1], compared[1:]).cpu()


def _final_vectors(alone: SharedBatch, model: Any) -> _Comparison:
    """Compare the final vectors of the words of a sentence."""
    (pieces,) = alone.pieces
    switch = HeadSwitch(alone.encoder, alone.pieces, model)
    merger = WordMerger(alone.pieces, len(pieces), dtype=torch.float64, device=switch.mask.device)
    means = merger.mean_matrix[0, 0, [not is_special for is_special in pieces.special]]  # (words, n)

    def effects(plain: Tensor, changed: Tensor) -> Tensor:
        # Half the squared distance of unit vectors is 1 − cos, of which rounding would leave hardly a digit.
        plain_direction, changed_direction = (functional.normalize(vectors, dim=-1) for vectors in (plain, changed))
        cosine = (changed_direction - plain_direction).square().sum(-1) / 2
        l2 = (changed - plain).norm(dim=-1) / plain.norm(dim=-1)
        return torch.stack([cosine, l2], dim=-1)

    return _Comparison(switch, torch.arange(len(means)), lambda outputs: torch.matmul(means, outputs.double()), effects)


def _masked_pieces(alone: SharedBatch, masked_lm: Any, seed: int) -> _Comparison:
    """Compare −log p of the masked pieces of a sentence."""
    (pieces,) = alone.pieces
    ((masked, at),) = mask_batch(alone, MASK_RATE, seed)  # the pieces, and which of them are masked
    switch = HeadSwitch(alone.encoder, [masked], masked_lm, torch.tensor([at], dtype=torch.long))
    targets = torch.tensor([pieces.ids[piece] for piece in at], dtype=torch.long, device=switch.mask.device)

    def surprise(logits: Tensor) -> Tensor:
        return functional.cross_entropy(logits.double(), targets, reduction="none")

    return _of_surprise(switch, torch.tensor([pieces.word_of[piece] for piece in at], dtype=torch.long), surprise)


def _next_words(alone: SharedBatch, causal_lm: Any) -> _Comparison:
    """Compare −log p of each word of a sentence after what precedes it."""
    (pieces,) = alone.pieces
    # Nothing predicts the first piece of an input.
    at = [piece for piece, word in enumerate(pieces.word_of) if piece and word >= 0]
    positions = torch.tensor([[piece - 1 for piece in at]], dtype=torch.long)  # whose logits predict these
    switch = HeadSwitch(alone.encoder, alone.pieces, causal_lm, positions)
    # A word is predicted piece by piece, and −log p of the word is the sum.
    of_pieces = torch.tensor([pieces.word_of[piece] for piece in at], dtype=torch.long)
    words, word_of_piece = torch.unique(of_pieces, return_inverse=True)
    targets = torch.tensor([pieces.ids[piece] for piece in at], dtype=torch.long, device=switch.mask.device)

    def surprise(logits: Tensor) -> Tensor:
        values = functional.cross_entropy(logits.double(), targets, reduction="none")
        values = values.cpu()  # a GPU may add up in another order each time
        return values.new_zeros(len(words)).index_add(0, word_of_piece, values)

    return _of_surprise(switch, words, surprise)


def _of_surprise(switch: HeadSwitch, word: Tensor, surprise: Callable[[Tensor], Tensor]) -> _Comparison:
    """Compare −log p, which ``surprise`` computes of each item from the logits of a sentence."""
    return _Comparison(
        switch,
        word,
        lambda outputs: torch.stack([surprise(logits) for logits in outputs]),
        lambda plain, changed: (changed - plain)[..., None],
        lambda logits: surprise(logits[0]).mean(0, keepdim=True),
    )

"""What switching heads off changes in a batch, word by word or prediction by prediction."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from ...corpora_loaders import Sentence
from ...extractors import Encoder, ExtractionError, SharedBatch, shared_batches
from ...extractors.maps.gradients import MASK_RATE
from ...extractors.maps.shared_pass import mask_batch
from ...extractors.replaceable.heads_off import HeadSwitch
from ...extractors.tokens.word_merging import WordMerger
from ..shared.exact_sums import added, floating

HIDDEN = ("cosine", "l2")
"""The effects on the final vectors of words: 1 − cosine, and the length of the change relative to the vector."""

LOSS = ("loss",)
"""The effect on predictions: the increase of −log p of a masked piece, or of the next word."""

COMPONENTS_AT_ONCE = 2**25
"""How many components of final vectors or logits are computed at once, 128 MiB in float32."""


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
            switch = HeadSwitch(encoder, batch.pieces)
            # The outputs of each piece are (batch, layers, pieces, heads × inner), with zeros for padding.
            outputs = torch.stack(switch.outputs, dim=1).masked_fill(~switch.mask[:, None, :, None], 0)
            if not n_pieces:  # the first batch says how large the outputs are
                sums = sums.new_zeros(outputs.shape[1], outputs.shape[-1])
            # One value per sentence is rounded, so that neither batches nor their order change the sums.
            sums = added(sums, outputs.double().sum(2))
            n_pieces += int(switch.mask.sum())
        if not n_pieces:
            raise ExtractionError("none of the sentences that give the means of heads could be read")
        return (floating(sums) / n_pieces).view(len(sums), encoder.n_heads, -1)


@dataclass(frozen=True)
class AblationMaker:
    """Makes an `EffectBatch`: of the final vectors of words, or of predictions of masked pieces or next words."""

    # The heads of a layer are switched off in one batch, beside a copy in which none is. A pass begins at their layer.

    reads_weights: ClassVar[bool] = False

    heads: tuple[tuple[int, int], ...]  # layer and head, from 0, in ascending order
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
        # One that records what heads give, one that checks the place, those from the layer of each head on, about three
        # for merging pieces and comparing vectors (measured with the demo model), and as much for gradients of a loss.
        heads_by_layer = Counter(layer for layer, _ in self.heads)
        of_heads = sum((1 + n_heads) * (1 - layer / self.n_layers) for layer, n_heads in heads_by_layer.items())
        return 5 + 3 * (self.lm is not None) + of_heads

    def of(self, batch: SharedBatch) -> EffectBatch:
        """Switch off one head after the other."""
        comparison = self._comparison(batch)
        fill = None if self.means is None else self.means.of(batch.encoder)
        effects, importance = [], None
        for outputs in self._without(comparison.switch, fill):
            compared = comparison.of_items(outputs)
            plain, changed = compared[:1], compared[1:]
            effects.append(comparison.effects(plain, changed))
        if comparison.losses is not None:
            layers, heads = torch.tensor(self.heads).T
            products = comparison.switch.products(comparison.losses)  # of all heads: (sentences, layers, heads)
            importance = products[:, layers, heads].double().cpu()
        values = torch.cat(effects).transpose(0, 1).cpu()  # (items, heads, measures)
        return EffectBatch(values, comparison.sentence, comparison.word, batch.sentences, importance)

    def several(
        self, batch: SharedBatch, sets: Sequence[Sequence[tuple[int, int]]]
    ) -> Float[Tensor, "sets items measures"]:
        """Switch off several heads at once, one set after the other."""
        comparison = self._comparison(batch)
        fill = None if self.means is None else self.means.of(batch.encoder)
        plain = comparison.of_items(comparison.switch.plain[None])  # one run
        effects = []
        for heads in sets:
            changed = comparison.of_items(comparison.switch.without(heads, fill)[None])
            effects.append(comparison.effects(plain, changed).cpu())
        return torch.cat(effects)

    def _comparison(self, batch: SharedBatch) -> _Comparison:
        if self.lm is None:
            return _final_vectors(batch)
        return _next_words(batch, self.lm) if self.causal else _masked_pieces(batch, self.lm, self.seed)

    def _without(self, switch: HeadSwitch, fill: Tensor | None) -> Iterator[Tensor]:
        """Yield what the model gives, first without any change, then without each of a few heads of one layer."""
        at_once = max(1, COMPONENTS_AT_ONCE // switch.plain.numel() - 1)  # beside a copy in which none is off
        for layer, group in itertools.groupby(self.heads, key=lambda head: head[0]):
            heads = [head for _, head in group]
            for start in range(0, len(heads), at_once):
                switched_off = heads[start : start + at_once]
                outputs = switch.run(layer, [None, *switched_off], None if fill is None else fill[layer])
                switch.check_plain(outputs[0], layer)
                yield outputs


@dataclass(frozen=True, eq=False)
class _Comparison:
    """How a model is compared with itself without heads. An item is a word, a masked piece or a next word."""

    switch: HeadSwitch
    sentence: Int[Tensor, " items"]
    word: Int[Tensor, " items"]
    of_items: Callable[[Tensor], Tensor]  # from outputs (runs, batch, n, …) to what is compared (runs, items, …)
    effects: Callable[[Tensor, Tensor], Tensor]  # from that without and with a change to (runs, items, measures)
    losses: Callable[[Tensor], Tensor] | None = None  # from logits to the mean −log p of each sentence


def _final_vectors(batch: SharedBatch) -> _Comparison:
    """Compare the final vectors of words."""
    switch = HeadSwitch(batch.encoder, batch.pieces)
    n_pieces = switch.mask.shape[1]
    merger = WordMerger(batch.pieces, n_pieces, dtype=torch.float64, device=switch.mask.device)
    places = []
    for row, pieces in enumerate(batch.pieces):
        positions = [position for position, is_special in enumerate(pieces.special) if not is_special]
        places += [(row, position, word) for word, position in enumerate(positions)]
    sentence, position, word = _columns(places)

    def vectors_of_words(outputs: Tensor) -> Tensor:
        # Some models give NaN on padding, and 0 · NaN is NaN.
        inside = outputs.masked_fill(~switch.mask[..., None], 0).double()
        return torch.matmul(merger.mean_matrix.squeeze(1), inside)[:, sentence, position]  # means over pieces

    def effects(plain: Tensor, changed: Tensor) -> Tensor:
        # Half the squared distance of unit vectors is 1 − cos, of which rounding would leave hardly a digit.
        plain_direction, changed_direction = (functional.normalize(vectors, dim=-1) for vectors in (plain, changed))
        cosine = (changed_direction - plain_direction).square().sum(-1) / 2
        l2 = (changed - plain).norm(dim=-1) / plain.norm(dim=-1)
        return torch.stack([cosine, l2], dim=-1)

    return _Comparison(switch, sentence, word, vectors_of_words, effects)


def _masked_pieces(batch: SharedBatch, masked_lm: Any, seed: int) -> _Comparison:
    """Compare −log p of masked pieces."""
    encoder = batch.encoder
    masked = mask_batch(batch, MASK_RATE, seed)  # the pieces of each input, and which of them are masked
    switch = HeadSwitch(encoder, [pieces for pieces, _ in masked], masked_lm.to(encoder.device).eval())
    places = [
        (row, piece, batch.pieces[row].word_of[piece])
        for row, (_, masked_pieces) in enumerate(masked)
        for piece in masked_pieces
    ]
    sentence, piece, word = _columns(places)
    target = encoder.pad(batch.pieces)[0][sentence, piece]  # the ids of the pieces

    def surprise(logits: Tensor) -> Tensor:
        return functional.cross_entropy(logits[sentence, piece].double(), target, reduction="none")

    return _of_surprise(switch, sentence, word, surprise)


def _next_words(batch: SharedBatch, causal_lm: Any) -> _Comparison:
    """Compare −log p of each word after what precedes it."""
    encoder = batch.encoder
    switch = HeadSwitch(encoder, batch.pieces, causal_lm.to(encoder.device).eval())
    # Nothing predicts the first piece of an input.
    places = [
        (row, piece, word)
        for row, pieces in enumerate(batch.pieces)
        for piece, word in enumerate(pieces.word_of)
        if piece and word >= 0
    ]
    row, piece, word = _columns(places)
    # A word is predicted piece by piece, and −log p of the word is the sum.
    words, word_of_piece = torch.unique(torch.stack([row, word]), dim=1, return_inverse=True)
    target = encoder.pad(batch.pieces)[0][row, piece]  # the ids of the pieces

    def surprise(logits: Tensor) -> Tensor:
        of_pieces = functional.cross_entropy(logits[row, piece - 1].double(), target, reduction="none")
        return of_pieces.new_zeros(words.shape[1]).index_add(0, word_of_piece.to(of_pieces.device), of_pieces)

    return _of_surprise(switch, words[0], words[1], surprise)


def _columns(places: Sequence[tuple[int, int, int]]) -> Tensor:
    """Return the rows of a batch, the positions or pieces in them, and the words, each as a column of all places."""
    return torch.tensor(places, dtype=torch.long).view(-1, 3).T  # a batch of inputs of one piece has no next words


def _of_surprise(
    switch: HeadSwitch, sentence: Tensor, word: Tensor, surprise: Callable[[Tensor], Tensor]
) -> _Comparison:
    """Compare −log p, which ``surprise`` computes of each item from logits."""
    n_sentences = len(switch.mask)

    def mean_losses(logits: Tensor) -> Tensor:
        values = surprise(logits)
        n_items = torch.bincount(sentence, minlength=n_sentences).clamp(min=1)  # a sentence without items has loss 0
        sums = values.new_zeros(n_sentences).index_add(0, sentence.to(values.device), values)
        return sums / n_items.to(values.device)

    return _Comparison(
        switch,
        sentence,
        word,
        lambda outputs: torch.stack([surprise(logits) for logits in outputs]),
        lambda plain, changed: (changed - plain)[..., None],
        mean_losses,
    )

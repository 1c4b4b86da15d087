"""One padded batch of pieces → its maps: kind, merging of pieces, normalization, and the checks they must pass.

What a kind needs of a layer besides attention and hidden states is recomputed, and that costs about as much as the
pass itself. So the layers are gone through once, and every maker takes its map of a layer before the layer is dropped:
the recomputation is shared, and only one layer's intermediate results are in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ...storage.nearest import check_choice
from ...storage.plugins import name_extension
from ..kinds import MapKind
from ..kinds.rollout import AGGREGATIONS, Below, row_normalized
from ..layers import FFBias, Layer, TextLoss
from ..layers.verification import check_attention, check_row_sums, off_one
from ..model.encoder import Encoder
from ..model.forward_pass import Forward
from ..tokens.pieces import Pieces
from ..tokens.word_merging import WordMerger
from .map_batch import Level, MapBatch
from .shared_pass import SharedBatch, needs_of

Merge = Literal["norm", "vector"]
"""Whether the pieces of a word are merged by adding norms, or by adding vectors before the norm is taken."""
Normalize = Literal["none", "row"]
"""Whether the rows of a finished map are left as they are, or divided by their sums."""
Maps = Float[Tensor, "batch layers heads n n"]


@dataclass(frozen=True)
class MapMaker:
    """Makes maps of one kind; the fields are the arguments of `attentionology.extractors.extract`.

    Raises:
        ValueError: an option has an unknown value, or vectors are to be merged and the kind has none.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import MapMaker, get_kind
        >>> encoder = load_encoder("demo")
        >>> maker = MapMaker(get_kind("norm"), "token", normalize="row")
        >>> maps, lengths = maker(encoder, encoder.align([Sentence.from_text("Cats sleep.")]))
        >>> maps.shape, lengths
        (torch.Size([1, 6, 12, 5, 5]), [5])
    """

    kind: MapKind
    level: Level = "word"
    merge: Merge = "norm"
    normalize: Normalize = "none"
    ff_bias: FFBias = "input"

    def __post_init__(self) -> None:
        check_options(self, self.kind, level=Level, merge=Merge, normalize=Normalize, ff_bias=FFBias)

    @property
    def reads_weights(self) -> bool:
        """Whether the kind needs hidden states and the layers' weights."""
        return self.kind.reads_weights

    @property
    def gradient_of(self) -> TextLoss | None:
        """The loss whose gradient with respect to attention the kind needs, if it needs any."""
        return self.kind.gradient_of

    @property
    def merges_vectors(self) -> bool:
        """Whether the pieces of words are merged before norms are taken."""
        return self.level == "word" and self.merge == "vector"

    def __call__(
        self, encoder: Encoder, pieces: Sequence[Pieces], first_layers: int | None = None
    ) -> tuple[Maps, list[int]]:
        """Make the maps of one padded batch, with zeros outside the sentences, and count the positions of each.

        At least the ``first_layers`` are in the result.

        Raises:
            ModelError: attention is not a distribution over the sentence, or a map is not what its kind promises.
        """
        if self.reads_weights:  # the layers are verified together
            first_layers = None
        forward = encoder.forward(pieces, first_layers=first_layers, **needs_of([self]))
        return make_maps([self], forward, encoder, pieces)[0]

    def of(self, batch: SharedBatch) -> MapBatch:
        """Make the maps of a batch, with everything that an analysis needs to read them.

        Raises:
            ModelError: for the same reasons as calling the maker.
        """
        return map_batches([self], batch)[0]


def check_options(maker: Any, kind: MapKind, **allowed: Any) -> None:
    """Raise `ValueError` unless all options of a maker have known values, and vectors to merge are there."""
    for name, literal in allowed.items():
        check_choice(name, getattr(maker, name), literal)
    if maker.merge == "vector" and not kind.vectors:
        raise ValueError(f"map kind {kind.name!r} is not made of vectors that could be merged; use merge='norm'")


def map_batches(makers: Sequence[MapMaker], batch: SharedBatch) -> list[MapBatch]:
    """Return what several makers make of one forward pass. The attention of the pass is released on the way."""
    results = make_maps(makers, batch.forward, batch.encoder, batch.pieces)
    return [map_batch_of(maker, *result, batch) for maker, result in zip(makers, results, strict=True)]


@torch.inference_mode()
def make_maps(
    makers: Sequence[MapMaker], forward: Forward, encoder: Encoder, pieces: Sequence[Pieces]
) -> list[tuple[Maps, list[int]]]:
    """Make the maps of several makers, each with the number of positions of every sentence."""
    # Where layers are read in turns, their attention is not all there, and each is checked when it is.
    in_turns = not isinstance(forward.attentions, list)
    if not in_turns:
        check_attention(forward.attentions, forward.mask, forward.mask, encoder.label, sinks=encoder.has_sinks)
    words: WordMerger | None = None
    if any(maker.level == "word" for maker in makers):
        words = WordMerger(pieces, forward.mask.shape[1], dtype=forward.attentions[0].dtype, device=forward.mask.device)
    stacks = [_Stack(maker, forward, words) for maker in makers]
    # A layer is recomputed once for all makers that merge the same vectors and take the same bias into account. The
    # bias matters only to kinds that read the feed-forward block, which are among those that read weights. Only kinds
    # that asked for a gradient see it, and they come last, so that it is released with the attention.
    readings: dict[tuple[bool, FFBias, TextLoss | None], list[_Stack]] = {}
    for stack in sorted(stacks, key=lambda stack: stack.maker.gradient_of is not None):
        bias: FFBias = stack.maker.ff_bias if stack.maker.reads_weights else "input"
        readings.setdefault((stack.maker.merges_vectors, bias, stack.maker.gradient_of), []).append(stack)
    # All maps of one long sentence can take gigabytes, so no layer, and no attention of it, may be alive any longer
    # than it is needed: the last reading releases the attention, and the layer is deleted before the next is made.
    for number, ((merges_vectors, ff_bias, loss), readers) in enumerate(readings.items(), start=1):
        is_last = number == len(readings)
        layers = forward.layers(words if merges_vectors else None, ff_bias, loss, release=is_last)
        for index, layer in enumerate(layers):
            if in_turns and number == 1:
                check_attention([layer.alpha], forward.mask, forward.mask, encoder.label, sinks=encoder.has_sinks)
            for stack in readers:
                stack.add(index, layer)
            del layer
    return [stack.finish(pieces, encoder.label) for stack in stacks]


class _Stack:
    """The maps of one maker, to which the layers are added one by one."""

    def __init__(self, maker: MapMaker, forward: Forward, words: WordMerger | None) -> None:
        self.maker = maker
        # Merges the pieces of a finished map. Where vectors are merged, the map of a layer has words as its rows.
        self.merger = words if maker.level == "word" and not maker.merges_vectors else None
        self.maps = torch.empty(0)  # layers × batch × heads × n × n, so that each layer is written in one piece
        self._forward = forward
        self._product: Tensor | None = None  # what an aggregation has made of the maps up to the last layer

    def add(self, index: int, layer: Layer) -> None:
        """Add the map of a layer, given by its 0-based index."""
        kind = self.maker.kind
        with name_extension("map kind", kind.name, "the function"):
            layer_map = kind.layer_map(layer)
        if kind.aggregation:
            below = Below(self._product, self._forward.mask, kind.residual, index + 1)
            self._product = AGGREGATIONS[kind.aggregation].layer(layer_map, below)
            layer_map = self._product
        if index == 0:
            n = self.merger.k if self.merger else layer_map.shape[-1]
            self.maps = layer_map.new_empty(len(self._forward.attentions), *layer_map.shape[:2], n, n)
        if self.merger:
            self.merger(layer_map, out=self.maps[index])
        else:
            self.maps[index] = layer_map

    def finish(self, pieces: Sequence[Pieces], label: str) -> tuple[Maps, list[int]]:
        """Check and normalize the maps, with zeros outside the sentences; return them with the sentences' lengths."""
        maker, by_layer = self.maker, self.maps
        lengths = [len(of_sentence.special) if maker.level == "word" else len(of_sentence) for of_sentence in pieces]
        inside = torch.arange(by_layer.shape[-1]) < torch.tensor(lengths)[:, None]  # batch × n
        if not self.merger:  # a merger leaves zeros there
            # Indices reach the few cells outside. A mask would be compared with every cell.
            sentence, position = torch.nonzero(~inside).to(by_layer.device).unbind(1)
            by_layer[:, sentence, :, position] = 0
            by_layer[:, sentence, :, :, position] = 0
        maps = by_layer.transpose(0, 1)  # batch × layers × heads × n × n
        if maker.kind.rows_sum_to_one and maker.kind.name != "weight":  # weights are checked when they are read
            largest_errors = off_one(maps.sum(-1), sinks=False).amax((1, 2))  # batch × n, over layers and heads
            check_row_sums(torch.where(inside.to(maps.device), largest_errors, 0).max(), "the map", label)
        if maker.normalize == "row":
            for layer_map in by_layer:
                layer_map.copy_(row_normalized(layer_map, inside.to(layer_map.device)))
        return maps, lengths


def map_batch_of(maker: MapMaker, maps: Maps, lengths: Sequence[int], batch: SharedBatch) -> MapBatch:
    """Return maps that a maker has made of a batch, with everything that an analysis needs to read them."""
    encoder, pieces = batch.encoder, batch.pieces
    if maker.level == "word":
        special = [aligned.special for aligned in pieces]
        labels = [aligned.labels(s.words) for aligned, s in zip(pieces, batch.sentences, strict=True)]
        forms = labels
    else:
        special = [aligned.unmerged().special for aligned in pieces]
        labels = [tuple(aligned.tokens) for aligned in pieces]
        forms = [tuple(encoder.forms[piece] for piece in aligned.ids) for aligned in pieces]

    def recompute(indices: Sequence[int], first_layers: int | None = None) -> list[Tensor]:
        # One by one: without padding, a result cannot depend on the other sentences, and some architectures (ModernBERT
        # in transformers 5) turn padding into NaN in float64. The batch is not held, because it keeps its forward pass.
        double = encoder.double
        return [maker(double, [pieces[i]], first_layers)[0][0].cpu() for i in indices]  # maps of a batch of one

    return MapBatch(
        maps=maps,
        lengths=torch.tensor(lengths),
        special=pad_sequence([torch.tensor(flags) for flags in special], batch_first=True),
        sentences=batch.sentences,
        labels=tuple(labels),
        forms=tuple(forms),
        word_lengths=tuple(tuple(p.word_lengths) for p in pieces),
        kind=maker.kind.name,
        level=maker.level,
        noise=maker.kind.noise,
        recompute=recompute,
        indices=batch.indices,
    )

"""An encoder that reads sentence pairs, each side alone or both in one input: baselines for translation models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from ...corpora_loaders import Sentence
from ...corpora_loaders.alignment import SentencePair
from ..errors import ModelError
from ..maps.map_batch import FLOAT32_NOISE, Columns, MapBatch, Recompute
from ..maps.map_maker import MapMaker, map_batches
from ..maps.shared_pass import SharedBatch
from ..model.encoder import Encoder
from ..model.loaded_model import LoadedModel
from ..tokens.pieces import Pieces, Unalignable
from .joint_input import JointPieces, PairTemplate
from .sides import PairPieces

PairMethod = Literal["similarity", "self-attention"]
"""How an encoder reads a pair: each side alone, to compare word vectors, or both in one input."""


@dataclass(frozen=True)
class SimilarityMaker:
    """Makes maps of the cosine between word vectors, one map for each layer."""


class PairEncoder(LoadedModel):
    """A multilingual encoder that reads sentence pairs.

    Maps go from target words to source words, and special tokens have no columns. With the method ``"similarity"``, a
    value is the cosine of the vectors of two words, each the mean of its pieces' hidden states (SimAlign; Jalili Sabet
    et al. 2020). With ``"self-attention"``, it is attention from the target to the source in one input.

    Args:
        encoder: the encoder.
        method: how pairs are read.

    Raises:
        ValueError: the method is unknown.
        ModelError: the tokenizer does not put special tokens around two texts.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.corpora_loaders.alignment import SentencePair
        >>> from attentionology.extractors.translation import PairEncoder, SimilarityMaker, read_pairs
        >>> pair = SentencePair(id="1", source=("the", "dog"), words=("dogs", "are", "here"))
        >>> [batch] = read_pairs(PairEncoder(load_encoder("demo"), "similarity"), [pair])
        >>> [maps] = batch.maps([SimilarityMaker()])
        >>> int(maps.maps[0, -1, 0, 0].argmax())  # "dogs" is most similar to "dog"
        1
    """

    def __init__(self, encoder: Encoder, method: str) -> None:
        if method not in get_args(PairMethod):
            raise ValueError(f"method must be one of {', '.join(get_args(PairMethod))}, not {method!r}")
        super().__init__(encoder.model, encoder.tokenizer, encoder.name, encoder.files)
        self.encoder, self.method = encoder, method
        self.n_layers, self.n_heads = encoder.n_layers, encoder.n_heads
        self.max_length, self.batching = encoder.max_length, encoder.batching
        self._template = PairTemplate.of(encoder.tokenizer) if method == "self-attention" else None

    def random_init(self, seed: int) -> PairEncoder:
        """Make a copy with random weights that keeps the embedding tables, see `Encoder.random_init`."""
        return PairEncoder(self.encoder.random_init(seed), self.method)

    def align(self, pairs: Sequence[SentencePair], /) -> list[PairPieces | JointPieces | Unalignable]:
        """Tokenize sentence pairs and match words with pieces."""
        sources = self.encoder.align([Sentence(pair.id, pair.source) for pair in pairs])
        targets = self.encoder.align([Sentence(pair.id, pair.words) for pair in pairs])
        aligned: list[PairPieces | JointPieces | Unalignable] = []
        for source, target in zip(sources, targets, strict=True):
            if isinstance(source, Unalignable):
                aligned.append(source)
            elif isinstance(target, Unalignable):
                aligned.append(target)
            elif self._template is None:
                aligned.append(PairPieces(source, target))
            else:
                aligned.append(self._template.join(self.tokenizer, source, target))
        return aligned

    def maps(
        self,
        makers: Sequence[MapMaker | SimilarityMaker],
        pairs: tuple[SentencePair, ...],
        pieces: Sequence[PairPieces | JointPieces],
        *,
        exact: bool = False,
    ) -> list[MapBatch]:
        """Return what several makers make of a batch of pairs.

        Args:
            makers: a `SimilarityMaker`, or a `attentionology.MapMaker` of word maps for each map of self-attention.
            pairs: the sentence pairs.
            pieces: the pieces of each pair.
            exact: whether the maps are made in float64.

        Raises:
            ModelError: a maker is of another method, or attention is not a distribution.
        """
        if exact:
            batches = self._maps(self.encoder.double, makers, pairs, pieces)
            return [replace(batch, maps=batch.maps.cpu(), recompute=None) for batch in batches]
        return self._maps(self.encoder, makers, pairs, pieces)

    def _maps(
        self,
        encoder: Encoder,
        makers: Sequence[MapMaker | SimilarityMaker],
        pairs: tuple[SentencePair, ...],
        pieces: Sequence[PairPieces | JointPieces],
    ) -> list[MapBatch]:
        """Return what several makers make of a batch of pairs that the encoder or its view in float64 reads."""
        similar, attended = (isinstance(maker, SimilarityMaker) for maker in (makers[0], makers[-1]))
        if similar is not attended or similar is not (self.method == "similarity"):
            raise ModelError(f"{self.label}: these maps are not made by the method {self.method!r}")
        if similar:
            sides = [each for each in pieces if isinstance(each, PairPieces)]
            return [_similarity_batch(encoder, pairs, sides)] * len(makers)
        joint: list[Pieces] = [each for each in pieces if isinstance(each, JointPieces)]
        words = tuple(Sentence(pair.id, (*pair.source, *pair.words)) for pair in pairs)
        map_makers = [maker for maker in makers if isinstance(maker, MapMaker)]
        reads = any(maker.reads_weights for maker in map_makers)
        batches = map_batches(map_makers, SharedBatch(encoder, words, joint, reads))
        return [_block(batch, pairs) for batch in batches]


def _similarity_batch(encoder: Encoder, pairs: tuple[SentencePair, ...], pieces: Sequence[PairPieces]) -> MapBatch:
    def recompute(indices: Sequence[int], _first_layers: int | None = None) -> list[Float[Tensor, "layers 1 n m"]]:
        return [_cosines(encoder.double, [pieces[index]])[0].cpu() for index in indices]

    return _of_words(pairs, _cosines(encoder, pieces), "cosine", FLOAT32_NOISE, recompute)


@torch.inference_mode()
def _cosines(encoder: Encoder, pieces: Sequence[PairPieces]) -> Float[Tensor, "batch layers 1 n m"]:
    """Compute the cosines of all words of each pair in each layer, zeros outside."""
    source = _word_vectors(encoder, [pair.source for pair in pieces])
    target = _word_vectors(encoder, [pair.target for pair in pieces])
    return (target @ source.transpose(-1, -2)).transpose(0, 1).unsqueeze(2)


def _word_vectors(encoder: Encoder, batch: Sequence[Pieces]) -> Float[Tensor, "layers batch k dim"]:
    """Return the vectors of words, of length 1, after each layer; zeros outside."""
    forward = encoder.forward(batch, hidden_states=True)
    if forward.hidden_states is None:
        raise ModelError(f"{encoder.label}: the model gives no hidden states")
    hidden = torch.stack(forward.hidden_states[1:])
    mean = torch.zeros(len(batch), max(special.count(False) for special in (p.special for p in batch)), hidden.shape[2])
    for row, pieces in enumerate(batch):
        words = [position for position, special in enumerate(pieces.special) if not special]
        for piece, position in enumerate(pieces.positions):
            if not pieces.special[position]:
                mean[row, words.index(position), piece] = 1
    mean /= mean.sum(-1, keepdim=True).clamp(min=1)
    vectors: Tensor = mean.to(hidden.device, hidden.dtype) @ hidden
    lengths: Tensor = vectors.norm(dim=-1, keepdim=True)
    return vectors / lengths.clamp(min=torch.finfo(vectors.dtype).tiny)


def _block(batch: MapBatch, pairs: tuple[SentencePair, ...]) -> MapBatch:
    """Cut the block from target words to source words out of the maps of joint inputs."""
    words = batch.words

    def cut(maps: Float[Tensor, "layers heads k k"], index: int) -> Float[Tensor, "layers heads n m"]:
        positions = words[index].nonzero().flatten()
        positions = positions[positions < maps.shape[-1]].to(maps.device)
        n_source = len(pairs[index].source)
        return maps[..., positions[n_source:], :][..., positions[:n_source]]

    exact = batch.recompute  # and not the batch, whose maps would be kept

    def recompute(indices: Sequence[int], _first_layers: int | None = None) -> list[Float[Tensor, "layers heads n m"]]:
        return [] if exact is None else [cut(maps, k) for maps, k in zip(exact(indices), indices, strict=True)]

    n, m = max(map(len, pairs)), max(len(pair.source) for pair in pairs)
    maps = batch.maps.new_zeros(*batch.maps.shape[:3], n, m)
    for index, pair in enumerate(pairs):
        maps[index, ..., : len(pair), : len(pair.source)] = cut(batch.maps[index], index)
    return _of_words(pairs, maps, batch.kind, batch.noise, recompute)


def _of_words(
    pairs: tuple[SentencePair, ...],
    maps: Float[Tensor, "batch layers heads n m"],
    kind: str,
    noise: float,
    recompute: Recompute,
) -> MapBatch:
    """Return maps from target words to source words, which have no special tokens."""
    n, m = maps.shape[-2:]
    columns = Columns(
        torch.tensor([len(pair.source) for pair in pairs]),
        torch.zeros(len(pairs), m, dtype=torch.bool),
        tuple(pair.source for pair in pairs),
    )
    return MapBatch(
        maps=maps,
        lengths=torch.tensor([len(pair) for pair in pairs]),
        special=torch.zeros(len(pairs), n, dtype=torch.bool),
        sentences=pairs,
        labels=tuple(pair.words for pair in pairs),
        kind=kind,
        noise=noise,
        recompute=recompute,
        columns=columns,
    )

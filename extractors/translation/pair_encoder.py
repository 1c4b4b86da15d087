"""An encoder that reads sentence pairs, each side alone or both in one input: baselines for translation models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from ...corpora_loaders import Sentence
from ...corpora_loaders.alignment import SentencePair
from ..errors import ModelError
from ..inputs.segments import PairFrame
from ..kinds.registry import FLOAT32_NOISE
from ..maps.map_batch import Columns, MapBatch
from ..maps.map_maker import MapMaker, map_batches
from ..maps.shared_pass import SharedBatch, needs_of
from ..model.encoder import Encoder
from ..model.loaded_model import LoadedModel
from ..tokens.pieces import PairPieces, Pieces, Unalignable
from ..tokens.word_merging import word_means

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
        if method == "self-attention":
            self._frame = PairFrame.of(encoder.tokenizer)
            self._typed = any(encoder.tokenizer("a", "b").get("token_type_ids", ()))  # whether it gives segment ids

    @property
    def double(self) -> PairEncoder:
        """The same in float64, see `LoadedModel.double`.

        It reads pairs one by one. Without padding, a result cannot depend on the other pairs, and some architectures
        turn padding into NaN in float64.
        """
        double = PairEncoder(self.encoder.double, self.method)
        double.batching = "one by one"
        return double

    def random_init(self, seed: int) -> PairEncoder:
        """Make a copy with random weights that keeps the embedding tables, see `Encoder.random_init`."""
        return PairEncoder(self.encoder.random_init(seed), self.method)

    def align(self, pairs: Sequence[SentencePair], /) -> list[Any]:
        """Tokenize sentence pairs and match words with pieces: of each side, or of both in one input."""
        sources = self.encoder.align([Sentence(pair.id, pair.source) for pair in pairs])
        targets = self.encoder.align([Sentence(pair.id, pair.words) for pair in pairs])
        return list(map(self._pair, sources, targets))

    def _pair(self, source: Pieces | Unalignable, target: Pieces | Unalignable) -> PairPieces | Pieces | Unalignable:
        """Put the sides of a pair together, as the method reads them."""
        if isinstance(source, Unalignable):
            return source
        if isinstance(target, Unalignable):
            return target
        if self.method == "similarity":
            return PairPieces(source, target)
        return self._frame.around(source, target, typed=self._typed)

    def maps(
        self,
        makers: Sequence[MapMaker | SimilarityMaker],
        pairs: Sequence[SentencePair],
        pieces: Sequence[Any],
        _depth: int | None = None,
    ) -> list[MapBatch]:
        """Return what several makers make of a batch of pairs, see `PairBatch.maps`."""
        map_makers = [maker for maker in makers if isinstance(maker, MapMaker)]
        # Cosines need no `MapMaker`; everything else is made by one.
        fits = not map_makers if self.method == "similarity" else len(map_makers) == len(makers)
        if not fits:
            raise ModelError(f"{self.label}: these maps are not made by the method {self.method!r}")
        if self.method == "similarity":
            cosines = _batch_of_words(pairs, _cosines(self.encoder, pieces), "cosine", FLOAT32_NOISE)
            return [cosines] * len(makers)
        joint_inputs = tuple(Sentence(pair.id, (*pair.source, *pair.words)) for pair in pairs)
        joint = SharedBatch(self.encoder, joint_inputs, list(pieces), **needs_of(map_makers))
        batches = map_batches(map_makers, joint)
        return [_batch_of_words(pairs, _blocks(batch, pairs), batch.kind, batch.noise) for batch in batches]


@torch.inference_mode()
def _cosines(encoder: Encoder, pieces: Sequence[PairPieces]) -> Float[Tensor, "batch layers 1 n m"]:
    """Compute the cosines of all words of each pair in each layer, zeros outside."""
    source = _word_vectors(encoder, [pair.source for pair in pieces])
    target = _word_vectors(encoder, [pair.target for pair in pieces])
    return (target @ source.transpose(-1, -2)).transpose(0, 1).unsqueeze(2)


def _word_vectors(encoder: Encoder, batch: Sequence[Pieces]) -> Float[Tensor, "layers batch k dim"]:
    """Return the vectors of words, of length 1, after each layer; zeros outside."""
    forward = encoder.forward(batch, hidden_states=True, whole=True)
    hidden = torch.stack(list(forward.hidden_states or ())[1:])
    vectors: Tensor = word_means(batch, hidden.shape[2], hidden.dtype).to(hidden.device) @ hidden
    lengths: Tensor = vectors.norm(dim=-1, keepdim=True)
    return vectors / lengths.clamp(min=torch.finfo(vectors.dtype).tiny)


def _blocks(batch: MapBatch, pairs: Sequence[SentencePair]) -> Float[Tensor, "batch layers heads n m"]:
    """Cut the blocks from target words to source words out of the maps of joint inputs; zeros outside."""
    n, m = max(map(len, pairs)), max(len(pair.source) for pair in pairs)
    blocks = batch.maps.new_zeros(*batch.maps.shape[:3], n, m)
    for index, pair in enumerate(pairs):
        words = batch.words[index].nonzero().flatten().to(blocks.device)
        source, target = words[: len(pair.source)], words[len(pair.source) :]
        blocks[index, ..., : len(pair), : len(pair.source)] = batch.maps[index][..., target, :][..., source]
    return blocks


def _batch_of_words(
    pairs: Sequence[SentencePair], maps: Float[Tensor, "batch layers heads n m"], kind: str, noise: float
) -> MapBatch:
    """Return maps from target words to source words, which have no special tokens."""
    n, m = maps.shape[-2:]
    source_lengths = torch.tensor([len(pair.source) for pair in pairs])
    no_special = torch.zeros(len(pairs), m, dtype=torch.bool)
    return MapBatch(
        maps=maps,
        lengths=torch.tensor([len(pair) for pair in pairs]),
        special=torch.zeros(len(pairs), n, dtype=torch.bool),
        sentences=tuple(pairs),
        labels=tuple(pair.words for pair in pairs),
        kind=kind,
        noise=noise,
        columns=Columns(source_lengths, no_special, tuple(pair.source for pair in pairs)),
    )

"""Sentences with their states and annotation, as probes of hidden states read them, and what such probes compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor, nn

from ...corpora_loaders import Sentence
from ...extractors import MapBatch, StateBatch
from .mixing import LayerMix

Gold = Sequence[Any]
"""What the annotation says of each word: its head, or its label; None if it says nothing."""

_READ_TOGETHER = 20
"""How many sentences are read together where the number does not matter."""


@dataclass(frozen=True, eq=False)
class StateExamples:
    """Sentences with their states and what is to be learned of them, padded to the longest.

    Attributes:
        sentences: the sentences.
        states: shape (batch, words, dim), 0 on padding.
        words: True at words, False on padding; shape (batch, words).
        gold: what the annotation says, sentence by sentence.
        maps: word maps of the same sentences, for probes that read them.

    Example:
        >>> import torch
        >>> from attentionology import Sentence
        >>> from attentionology.extractors import StateBatch
        >>> from attentionology.probes import StateExamples
        >>> sentence = Sentence("s1", ("dogs", "bark"), (2, 0), ("nsubj", "root"))
        >>> StateExamples((sentence,), torch.zeros(1, 2, 5), torch.ones(1, 2, dtype=torch.bool), [(2, 0)]).maps
        ()
    """

    sentences: tuple[Sentence, ...]
    states: Float[Tensor, "batch words dim"]
    words: Bool[Tensor, "batch words"]
    gold: Sequence[Gold]
    maps: Sequence[MapBatch] = ()

    def padded(self, values: Sequence[ndarray], filler: int) -> Tensor:
        """Return arrays of whole numbers, one per sentence, padded in all of their dimensions."""
        n = self.states.shape[1]
        padded = torch.full((len(values), *[n] * values[0].ndim), filler, dtype=torch.long)
        for row, value in enumerate(values):
            padded[row][tuple(slice(size) for size in value.shape)] = torch.from_numpy(value)
        return padded


class StateModule(nn.Module):
    """Base class of what probes of hidden states compute.

    Example:
        >>> from attentionology.probes import StateModule
        >>> class FirstDimension(StateModule):
        ...     def forward(self, examples):
        ...         return examples.states[..., 0]
        >>> FirstDimension()
        FirstDimension()
    """

    def forward(self, examples: StateExamples) -> Tensor:
        """Return what the probe predicts, padded."""
        raise NotImplementedError


class Reading:
    """States of sentences, read batch by batch, with what is known of each."""

    def __init__(
        self, states: Sequence[StateBatch], maps: Sequence[MapBatch], gold: Callable[[Sentence], Gold]
    ) -> None:
        if maps and len(maps) != len(states):
            raise ValueError(f"there are states of {len(states)} sentences and maps of {len(maps)}")
        self.states, self.maps = states, maps
        self.mix: LayerMix | None = None  # of several layers, which become one
        sentences = getattr(states, "sentences", None)  # which stored states know without reading any
        known = sentences or [sentence for batch in states for sentence in batch.sentences]
        if len(known) != len(states):
            raise ValueError("probes of states read sentences one by one; store the states first (store_states)")
        self.gold = [gold(sentence) for sentence in known]

    def __len__(self) -> int:
        return len(self.gold)

    @property
    def dim(self) -> int:
        """The number of dimensions of the states."""
        return int(self.states[0].states.shape[-1])

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers of the states."""
        return self.states[0].layers

    @property
    def heads(self) -> int:
        """The number of heads of all layers in the maps; 0 if there are no maps."""
        return int(np.prod(self.maps[0].maps.shape[1:3])) if self.maps else 0

    def read_together(self, numbers: Sequence[int]) -> StateExamples:
        """Read some sentences, given by their numbers from 0."""
        batches = [self.states[number] for number in numbers]
        if self.mix is None and any(len(batch.layers) != 1 for batch in batches):
            message = "a probe reads the states of one layer: StoredStates.layer; or a mix of several: fit(…, mix=True)"
            raise ValueError(message)
        for batch in batches:
            if self.mix is not None and batch.layers != self.mix.layers:
                mixed, given = (", ".join(map(str, layers)) for layers in (self.mix.layers, batch.layers))
                raise ValueError(f"trained on a mix of the layers {mixed}, these are states of {given}")
        rows = [batch.states[0].movedim(0, 1) for batch in batches]  # words × layers × dim
        padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        states = padded[:, :, 0] if self.mix is None else self.mix(padded)
        lengths = torch.tensor([len(row) for row in rows])
        return StateExamples(
            sentences=tuple(batch.sentences[0] for batch in batches),
            states=states,
            words=torch.arange(padded.shape[1]) < lengths[:, None],
            gold=[self.gold[number] for number in numbers],
            maps=[self._maps_of(number, batches[place]) for place, number in enumerate(numbers)] if self.maps else (),
        )

    def _maps_of(self, number: int, states: StateBatch) -> MapBatch:
        """Return the maps of a sentence, which gradients can flow through."""
        batch = self.maps[number]
        if [each.words for each in batch.sentences] != [each.words for each in states.sentences]:
            sentences = " and ".join(f"{each.id!r}" for each in (states.sentences[0], *batch.sentences))
            raise ValueError(f"states and maps are not of the same sentences in the same order: {sentences}")
        # `extract` makes its maps in the inference mode of torch, which a copy leaves.
        return replace(batch, maps=batch.maps.clone()) if batch.maps.is_inference() else batch

    def norms(self) -> Float[ndarray, " layers"]:
        """Return the mean length of the states of each layer."""
        total, words = np.zeros(len(self.layers)), 0
        for batch in self.states:
            total += batch.states[0].double().norm(dim=-1).sum(-1).numpy()
            words += batch.states.shape[2]
        return total / words

    def in_order(self) -> Iterator[StateExamples]:
        """Yield all sentences in their order, a few at a time."""
        for start in range(0, len(self), _READ_TOGETHER):
            yield self.read_together(range(start, min(start + _READ_TOGETHER, len(self))))


class StandardizedModule(StateModule):
    """Base class of modules that read each dimension in units of its standard deviation over the training words.

    Training then takes fewer steps. The class of functions is the same, because the change is linear.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("scale", torch.ones(dim))

    @torch.no_grad()
    def standardize(self, training: Reading) -> None:
        """Learn the means and standard deviations; those of a mix are of the mix that training begins with."""
        words, total = 0, np.zeros(len(self.mean))
        for examples in training.in_order():
            rows = examples.states[examples.words].double().numpy()
            words, total = words + len(rows), total + rows.sum(0)
        mean = total / words
        # In a second pass, because the difference of large sums of squares would be rounded.
        squares = np.zeros(len(self.mean))
        for examples in training.in_order():
            squares += ((examples.states[examples.words].double().numpy() - mean) ** 2).sum(0)
        deviation = np.sqrt(squares / words)
        self.mean.copy_(torch.from_numpy(mean))
        self.scale.copy_(torch.from_numpy(np.where(deviation > 0, deviation, 1)))

    def in_units(self, examples: StateExamples) -> Float[Tensor, "batch words dim"]:
        """Return the states in these units."""
        return (examples.states - self.mean) / self.scale

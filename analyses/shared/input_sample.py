"""The metric that keeps a sample of inputs with their maps, for people who want to look at them.

Inputs are drawn by hashes of their ids, so that the draw does not depend on the order of the corpus or on how it is cut
into parts. They should come from as many documents as possible: the inputs of a document are ranked by their hashes,
and inputs of rank 0 come first, in the order of the hashes of their documents, then those of rank 1, and so on. If an
analysis judges cases of its own (`Guesses.right`), all inputs with cases are drawn in this way before any others are.

Parts of a corpus merge to the sample of the whole. Let x be in the sample of the whole corpus. In a part, x has at most
the rank that it has in the whole; and of every other document, as many inputs or fewer come before x. So x comes no
later in the order of a part than in that of the whole, and is in the sample of its part. All inputs that come before x
are in the samples of their parts for the same reason, so the merged sample ranks x as the whole corpus does. This
holds for the inputs with cases and for the others alike, as no part has more inputs with cases than the whole.

Further inputs may fill a given space, in the order of their own hashes: each is drawn as long as those before it take
less than the space. This order is the same in the parts. In a part, less comes before x than in the whole, so x is in
the sample of its part. If the whole corpus leaves an input out, the inputs before it fill the space. The merged sample
has all of these inputs, so it leaves this input out as well.

Of the inputs that are too long, the first ones are kept without maps; see `running_text`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ...corpora_loaders import Sentence
from ...extractors import MapBatch
from ..counting.exact_sums import ExactMetric
from ..counting.metric import Metric, equal_but
from ..plans import Guesses
from .annotation import Annotation, document_of
from .running_text import TEXT_ROWS, early_texts, hashes, pack_texts, unpack_texts
from .sampled_input import Drawable, SampledInput, Shape, as_drawable, content_sizes

MOST_ROWS = 128
"""The largest number of words, special tokens included, of an input whose maps are kept; of a pair, on each side."""

MOST_FURTHER_INPUTS = 600
"""The number of further inputs that fill the whole space, however short they are: a list of more is slow to show."""

_SIZES = ("size", "cells")
"""The arguments in which samples may differ that are added up."""

_NUMBERS = 7  # key, document, layers, heads, rows, guesses, bytes of the annotation
_NUMBERS_OF_PAIRS = 8  # the same with the number of columns after that of rows


class InputSample(ExactMetric):
    """A sample of inputs with their maps, quantized to 8 bits.

    First, ``size`` inputs are drawn from as many documents as possible; further ones fill ``cells`` cells of each head.
    ``kind`` names the maps of sentence pairs that are kept, and is None for sentences. ``guessers`` compute what heads
    guess in each direction, and ``guesses`` are the names of all directions. ``unit``: no value is larger than 1.
    """

    keys: list[Tensor]
    content: list[Tensor]
    inputs: Int[Tensor, ""]
    too_long: Int[Tensor, ""]
    running: list[Tensor]

    def __init__(
        self,
        n_layers: int,
        n_heads: int,
        *,
        size: int,
        cells: int = 0,
        seed: int = 0,
        unit: bool = True,
        kind: str | None = None,
        guesses: Sequence[str] = (),
        guessers: Sequence[Guesses] = (),
    ) -> None:
        super().__init__()
        self.n_layers, self.n_heads, self.seed, self.unit = n_layers, n_heads, seed, unit
        self.size, self.cells = size, cells
        self.kind, self.guesses, self.guessers = kind, tuple(guesses), tuple(guessers)
        self._numbers = _NUMBERS if kind is None else _NUMBERS_OF_PAIRS
        # One row of numbers and one run of bytes for each input.
        self.add_state("keys", [], "cat")
        self.add_state("content", [], "cat")
        self.add_state("inputs", torch.tensor(0), "sum")
        self.add_state("too_long", torch.tensor(0), "sum")
        self.add_state("running", [], "cat", since="attentionology 0.4")  # inputs without maps

    @classmethod
    def state_bytes(cls, **arguments: Any) -> int:
        """Return the bytes that the sample takes at most, apart from the words and from one input that is very long."""
        shape = arguments["n_layers"], arguments["n_heads"], MOST_ROWS, MOST_ROWS, 2  # 2: the number of guesses
        # The guesses and scales of an input of two rows or more take at most three times as much as its map.
        further = 4 * arguments["n_layers"] * arguments["n_heads"] * arguments.get("cells", 0)
        running = content_sizes((*shape[:2], TEXT_ROWS, 0, 2))
        return int(arguments["size"] * sum(content_sizes(shape)) + further + sum(running))

    @classmethod
    def joined_arguments(cls, arguments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the arguments of the largest sample into which all of these can be merged: their smallest sizes."""
        smallest = {name: min(each.get(name, 0) for each in arguments) for name in _SIZES}
        equal_but(arguments, *_SIZES)
        joined = {name: smallest.get(name, value) for name, value in arguments[0].items()}
        return {name: value for name, value in joined.items() if value or name not in _SIZES}  # a size of 0 is left out

    def most_bytes(self) -> float:
        """Return the bytes of the states of a full sample, if its inputs are as long as those that are kept now."""
        kept = self.sort_inputs()
        taken = sum(each.content.nbytes + 8 * self._numbers for each in kept)  # the numbers are int64
        if not kept:
            return float("inf")
        return taken * max(self.size / len(kept) + self.cells / sum(self._spaces(_sides(kept))), 1)

    def update(self, batch: MapBatch | Drawable) -> None:
        """Draw from a batch."""
        source = as_drawable(batch)
        if source.shape(self.kind) != (self.n_layers, self.n_heads):
            raise ValueError(f"maps of another shape than {self.n_layers} layers × {self.n_heads} heads")
        sizes = source.sizes()
        short = [index for index, size in enumerate(sizes) if size <= MOST_ROWS]  # the inputs that may be drawn
        self._run_on(source, sizes)
        self.inputs += len(source.sentences)
        self.too_long += len(source.sentences) - len(short)
        identity_of = dict(zip(short, self._identities([source.sentences[index] for index in short]), strict=True))
        kept = self.sort_inputs()
        # An input whose hash equals that of a kept one is a candidate, too: the content decides between them, so the
        # new one goes first here.
        order = [(sampled.document, sampled.key, b"-") for sampled in kept]
        order += [(document, key, b"") for document, key in identity_of.values()]
        spaces = self._spaces([*_sides(kept), *(sizes[index] for index in short)])
        drawn_now = {
            order[index][:2] for index in draw_indices(order, self.size, spaces, self.cells) if index >= len(kept)
        }
        # All inputs of the batch with the same hash are candidates.
        candidates = [index for index, identity in identity_of.items() if identity in drawn_now]
        if candidates:
            batches = source.drawn(candidates, self.kind)
            annotated_maps = [maps for batch_of_maps in batches for maps in self._read(batch_of_maps)]
            inputs = []
            for index, maps in zip(candidates, annotated_maps, strict=True):
                document, key = identity_of[index]
                inputs.append(SampledInput.of(key, document, *maps, unit=self.unit))
            self._hold(kept + inputs)

    def compute(self) -> int:
        """Return the number of inputs that are kept."""
        return len(self.sort_inputs())

    def sort_inputs(self) -> list[SampledInput]:
        """Return the inputs that are held, in the order in which they are drawn."""
        keys, content = self.keys, self.content
        if any(len(rows) != 1 for rows in keys) or len(keys) != len(content):  # restored states hold all in one tensor
            stored = torch.cat(keys).tolist() if keys else []
            sizes = [sum(content_sizes(_shape(numbers))) + numbers[-1] for numbers in stored]
            content = list(torch.split(torch.cat(content), sizes)) if stored else []
        else:
            stored = [rows[0].tolist() for rows in keys]
        inputs = []
        for numbers, bytes_ in zip(stored, content, strict=True):
            key, document, *_, annotation_bytes = numbers
            inputs.append(SampledInput(key, document, _shape(numbers), bytes_, annotation_bytes))
        return inputs

    def texts(self) -> list[SampledInput]:
        """Return the inputs without maps, in order; none if an earlier version drew the sample."""
        return list(unpack_texts(self.running)) if self.was_counted("running") else []

    def merge_state(self, incoming_state: Mapping[str, Any] | Metric) -> None:
        """Add the sample of another part of the corpus."""
        super().merge_state(incoming_state)
        self._hold(self.sort_inputs())
        self._hold_texts(self.texts())

    def rename_files(self, moved: Mapping[str, str]) -> None:
        """Replace the paths of files that were moved after they were counted; see `NamesFiles`."""
        self._hold([each.with_renamed_file(moved) for each in self.sort_inputs()])
        self._hold_texts([each.with_renamed_file(moved) for each in self.texts()])

    @property
    def metric_state(self) -> dict[str, Any]:
        """The states, lists of one tensor. They depend on the inputs that were counted, and not on their order."""
        self._hold(self.sort_inputs())
        keys = [torch.zeros(0, self._numbers, dtype=torch.int64), *self.keys]
        content = [torch.zeros(0, dtype=torch.uint8), *self.content]
        self.keys, self.content = [torch.cat(keys)], [torch.cat(content)]
        if self.was_counted("running"):
            self.running = [torch.cat([torch.zeros(0, dtype=torch.uint8), *self.running])]
        return super().metric_state

    def _run_on(self, source: Drawable, sizes: Sequence[int]) -> None:
        """Keep the inputs of a batch that are too long for maps, if they are no pairs and heads guess something."""
        if self.kind is not None or not self.guessers or not self.was_counted("running"):
            return
        kept = self.texts()
        places = early_texts(kept, source.sentences, sizes, self.seed, MOST_ROWS)
        if places:
            read = [each for batch in source.drawn(list(places), None) for each in self._read(batch)]
            for (document, key), (annotation, maps, guesses) in zip(places.values(), read, strict=True):
                kept.append(SampledInput.of(key, document, annotation, maps[..., :0], guesses, unit=self.unit))
            self._hold_texts(kept)

    def _read(self, batch: MapBatch) -> Iterator[tuple[Annotation, Tensor, Tensor]]:
        """Yield the annotation, the maps and the guesses of each input of a batch."""
        shape = (len(batch), 0, *batch.maps.shape[1:4])  # no guesses, in case there are no guessers
        guesses = torch.cat([torch.zeros(shape, dtype=torch.int64), *(each.of(batch) for each in self.guessers)], dim=1)
        widths = batch.lengths if batch.columns is None else batch.columns.lengths
        for index, (rows, columns) in enumerate(zip(batch.lengths.tolist(), widths.tolist(), strict=True)):
            maps = batch.maps[index, ..., :rows, :columns]
            yield Annotation.of(batch, index, self.guessers), maps, guesses[index, ..., :rows]

    def _identities(self, sentences: Sequence[Sentence]) -> list[tuple[int, int]]:
        """Return the hashes of the documents and of the ids of inputs."""
        # The lowest bit of a hash is dropped, so that int64 fits. The bits of the document are inverted if the input
        # has cases: the number is then negative, by which `draw_indices` knows these inputs, also in stored samples.
        keys = hashes([sentence.id for sentence in sentences], self.seed)
        documents = hashes([document_of(sentence) or "" for sentence in sentences], self.seed)
        identities = []
        for sentence, key, document in zip(sentences, keys, documents, strict=True):
            owner = key if document_of(sentence) is None else document
            has_cases = any(guesser.cases_of(sentence) for guesser in self.guessers)
            identities.append((~owner if has_cases else owner, key))
        return identities

    def _hold_texts(self, texts: Sequence[SampledInput]) -> None:
        """Keep the first inputs without maps, in their order."""
        if self.was_counted("running"):
            self.running = [each.to(self.inputs.device) for each in pack_texts(texts)]

    def _hold(self, inputs: Sequence[SampledInput]) -> None:
        """Keep the inputs that are drawn, in their order."""
        spaces = self._spaces(_sides(inputs))
        chosen = [inputs[index] for index in draw_indices(_order(inputs), self.size, spaces, self.cells)]
        self.keys = [torch.tensor([self._numbers_of(each)], device=self.inputs.device) for each in chosen]
        self.content = [each.content.to(self.inputs.device) for each in chosen]

    def _spaces(self, sides: Iterable[int]) -> list[int]:
        """Return how many cells inputs with these longer sides count for; `MOST_FURTHER_INPUTS` fill the space."""
        return [max(side**2, self.cells // MOST_FURTHER_INPUTS) for side in sides]

    def _numbers_of(self, sampled: SampledInput) -> list[int]:
        """Return the numbers that are stored of an input. The columns of a square map are not among them."""
        layers, heads, rows, columns, guesses = sampled.shape
        sides = [rows] if self.kind is None else [rows, columns]
        return [sampled.key, sampled.document, layers, heads, *sides, guesses, sampled.annotation_bytes]


def _shape(numbers: Sequence[int]) -> Shape:
    """Return the shape of an input, given the numbers that are stored of it."""
    layers, heads, rows, *columns, guesses = numbers[2:-1]
    return layers, heads, rows, columns[0] if columns else rows, guesses


def _sides(inputs: Sequence[SampledInput]) -> list[int]:
    """Return the number of rows or columns of each input, whichever is larger."""
    return [max(each.shape[2:4]) for each in inputs]


def _order(inputs: Sequence[SampledInput]) -> list[tuple[int, int, bytes]]:
    """Return what inputs are sorted by. Ids of merged corpora may repeat; the content then decides."""
    times = Counter(sampled.key for sampled in inputs)
    contents = [sampled.content.cpu().numpy().tobytes() if times[sampled.key] > 1 else b"" for sampled in inputs]
    return [(sampled.document, sampled.key, content) for sampled, content in zip(inputs, contents, strict=True)]


def draw_indices(
    order: Sequence[tuple[int, int, bytes]], size: int, spaces: Sequence[int] = (), most: int = 0
) -> list[int]:
    """Return the indices of the inputs that are drawn, in the order of the draw; see the module.

    Args:
        order: the hashes of the document and of the id of each input, and what decides between equal ones.
        size: the number of inputs from as many documents as possible.
        spaces: the space that each input takes.
        most: the space that is filled in the order of the hashes of the ids, into which the last input need not fit.
    """
    seen: Counter[int] = Counter()  # the inputs of each document so far
    ranked = []
    # Inputs with cases come first: the number of their document is negative.
    for index in sorted(range(len(order)), key=lambda index: order[index]):
        document, _, _ = order[index]
        ranked.append((document >= 0, seen[document], order[index], index))
        seen[document] += 1
    chosen = dict.fromkeys(index for *_, index in sorted(ranked)[:size])

    filled = 0
    by_key = [(document >= 0, key, order[index], index) for index, (document, key, _) in enumerate(order)]
    for *_, index in sorted(by_key):
        if filled >= most:
            break
        chosen[index] = None  # also takes space if it was chosen above
        filled += spaces[index]
    return list(chosen)

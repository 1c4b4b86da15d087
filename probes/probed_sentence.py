"""One sentence with its maps, as probes see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..corpora_loaders import Sentence, is_punct
from ..corpora_loaders.tree import counted_relations
from ..extractors import MapBatch

UNKNOWN = -1
"""The head of a word without one in the corpus."""


@dataclass(frozen=True)
class ProbedSentence:
    """A sentence, its maps, and the positions of its words in them.

    Attributes:
        sentence: the words and their heads.
        maps: word maps of all layers and heads, in the order of layers; rows from, columns to.
        words: the positions of the words.
        start, end: the positions of the special tokens before the first and after the last word ([CLS] and [SEP]); None
            if the model has none there.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import batch_from_array, probed_sentences
        >>> sentence = Sentence("s1", ("dogs", "bark"), (2, 0), ("nsubj", "root"))
        >>> [example] = probed_sentences([batch_from_array(sentence, np.zeros((2, 3, 2, 2), dtype=np.float32))])
        >>> example.maps.shape, example.words, example.start
        (torch.Size([6, 2, 2]), slice(0, 2, None), None)
    """

    sentence: Sentence
    maps: Float[Tensor, "maps n n"]
    words: slice
    start: int | None
    end: int | None

    @property
    def ends(self) -> Float[Tensor, "n 2"]:
        """1 at the start, in the first column, and at the end, in the second; 0 elsewhere."""
        ends = torch.zeros(self.maps.shape[-1], 2)
        if self.start is not None:
            ends[self.start, 0] = 1
        if self.end is not None:
            ends[self.end, 1] = 1
        return ends


def annotate(sentence: Sentence) -> Sentence:
    """Return the sentence with a head and a relation for every word: None and "" if the corpus has no annotation."""
    if sentence.heads and sentence.relations:
        return sentence
    n = len(sentence)
    return replace(sentence, heads=sentence.heads or (None,) * n, relations=sentence.relations or ("",) * n)


def probed_sentences(batches: Iterable[MapBatch]) -> Iterator[ProbedSentence]:
    """Yield the sentences of batches in their order, with maps on the CPU in float32.

    Raises:
        ValueError: the maps are of token level, or a sentence does not fit its map.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import batch_from_array, probed_sentences
        >>> batch = batch_from_array(Sentence("s1", ("dogs", "bark")), np.zeros((1, 4, 2, 2), dtype=np.float32))
        >>> [len(example.sentence) for example in probed_sentences([batch, batch])]
        [2, 2]
    """
    for batch in batches:
        if batch.level != "word":
            raise ValueError("probes read word-level maps (level='word')")
        for sentence, length, special, maps in zip(
            batch.sentences, batch.lengths.tolist(), batch.special, batch.maps, strict=True
        ):
            is_special = special[:length].tolist()
            first = is_special.index(False) if False in is_special else 0  # the first word
            n = is_special.count(False)
            if n != len(sentence) or any(is_special[first : first + n]):
                raise ValueError(f"the map of sentence {sentence.id!r} has {n} words, the sentence {len(sentence)}")
            yield ProbedSentence(
                sentence=annotate(sentence),
                maps=maps[..., :length, :length].flatten(0, 1).to("cpu", torch.float32),
                words=slice(first, first + n),
                start=0 if is_special[0] else None,
                end=length - 1 if is_special[-1] else None,
            )


def batch_from_array(sentence: Sentence, maps: Float[np.ndarray, "layers heads n n"], kind: str = "weight") -> MapBatch:
    """Return a batch with one sentence and word maps of any origin.

    Args:
        sentence: the sentence.
        maps: one map of the words per layer and head, without special tokens; rows from, columns to.
        kind: the kind of map that they are.

    Raises:
        ValueError: the maps do not have one row and one column per word.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import batch_from_array
        >>> batch_from_array(Sentence("s1", ("dogs", "bark")), np.zeros((2, 3, 2, 2), dtype=np.float32))
        MapBatch('weight', word level, 1 sentence, shape (1, 2, 3, 2, 2))
    """
    n = len(sentence)
    if maps.shape[-2:] != (n, n):
        raise ValueError(f"maps of shape {maps.shape} do not fit a sentence of {n} words")
    return MapBatch(
        maps=torch.from_numpy(maps)[None],
        lengths=torch.tensor([n]),
        special=torch.zeros(1, n, dtype=torch.bool),
        sentences=(sentence,),
        kind=kind,
    )


def scored(sentence: Sentence) -> Bool[np.ndarray, " words"]:
    """Return which words an attachment score counts: those with a head, without punctuation (as in the paper).

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import scored
        >>> scored(Sentence("s1", ("dogs", "bark", "!"), (2, 0, 2), ("nsubj", "root", "punct"))).tolist()
        [True, True, False]
    """
    sentence = annotate(sentence)
    words = zip(sentence.heads, counted_relations(sentence), strict=True)
    return np.array([head is not None and not is_punct(relation) for head, relation in words], dtype=bool)


def gold_heads(sentence: Sentence) -> Int[np.ndarray, " words"]:
    """Return the head of every word: 1-based, 0 for the root, or `UNKNOWN`.

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import gold_heads
        >>> gold_heads(Sentence("s1", ("dogs", "bark", "hm"), (2, 0, None), ("nsubj", "root", "dep"))).tolist()
        [2, 0, -1]
    """
    heads = annotate(sentence).heads
    return np.array([UNKNOWN if head is None else head for head in heads], dtype=np.int64)


def uas(batches: Iterable[MapBatch], predicted: Iterable[Int[np.ndarray, " _"]]) -> float:
    """Unlabeled attachment score without punctuation; NaN if no word counts.

    Args:
        batches: batches with the sentences.
        predicted: the predicted heads of every sentence: 1-based, 0 for the root.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import batch_from_array, uas
        >>> sentence = Sentence("s1", ("dogs", "bark"), (2, 0), ("nsubj", "root"))
        >>> uas([batch_from_array(sentence, np.zeros((1, 1, 2, 2), dtype=np.float32))], [np.array([2, 1])])
        0.5
    """
    correct = total = 0
    sentences = (sentence for batch in batches for sentence in batch.sentences)
    for sentence, heads in zip(sentences, predicted, strict=True):
        is_scored = scored(sentence)
        correct += int((heads == gold_heads(sentence))[is_scored].sum())
        total += int(is_scored.sum())
    return correct / total if total else float("nan")

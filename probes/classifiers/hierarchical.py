"""The classifier of documents that attends to words and then to sentences (Yang et al. 2016; Serrano & Smith 2019, §3).

The words of each sentence are encoded and weighed by an attention of their own, which gives a vector for the sentence.
These vectors are encoded and weighed by the second attention, and that is the one which is tested: its items are
sentences. A document is a text whose "words" are its sentences, so everything that deletes, shuffles or removes words
does so with sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from ...corpora_loaders import WordVectors
from ...extractors.replaceable.attention_model import Words
from .attention_classifier import INITIAL_WEIGHTS, AttentionClassifier
from .encoders import BiLSTM
from .saved_classifier import Reads
from .states import normalize
from .vocabulary import PAD, Vocabulary


class HierarchicalClassifier(AttentionClassifier):
    """A classifier of documents with attention to words within sentences, and to sentences.

    It is a `attentionology.extractors.LinearAttentionModel` whose attention is that to sentences. The words of a
    sentence are separated by white space. Both encoders are bidirectional LSTMs, and attention to words is additive.

    Args:
        encoder: ``han``.
        attention, random_state, size, dimensions: as in `AttentionClassifier`; the attention is that to sentences.
        regularizer: None or ``conicity``.

    Raises:
        ValueError: another encoder or regularizer is given.

    Example:
        >>> from attentionology.probes.classifiers import HierarchicalClassifier
        >>> texts = [("It rains .", "A fine film ."), ("A dull film .", "It rains .", "So what ?")] * 20
        >>> classifier = HierarchicalClassifier(dimensions=8, size=8).fit(texts, ["1", "0"] * 20)
        >>> classifier.encode(texts[:2]).alpha.shape  # 2 documents, 1 row of attention, 3 sentences
        torch.Size([2, 1, 3])
    """

    reads: ClassVar[Reads] = "sentences"

    def __init__(
        self, encoder: str = "han", attention: Any = "additive", regularizer: Any = None, **named: Any
    ) -> None:
        if encoder != "han":
            raise ValueError(f"documents are read by the encoder 'han', not by {encoder!r}")
        if regularizer not in (None, "conicity"):
            raise ValueError(f"the regularizer {regularizer!r} is for classifiers of words; han takes conicity")
        super().__init__("han", attention, regularizer, **named)
        # `build` replaces these layers, as it replaces those of the base.
        self.word_encoder, self.attend_words = cast(nn.Module, nn.Identity()), cast(nn.Module, nn.Identity())
        self.encoder = cast(nn.Module, nn.Identity())

    @classmethod
    def words_read(cls, text: Words) -> Words:
        """Return the words of all sentences."""
        return tuple(word for sentence in text for word in sentence.split())

    def build(
        self, vocabulary: Vocabulary, classes: Sequence[str], vectors: WordVectors | None = None
    ) -> HierarchicalClassifier:
        """Make the parameters, the embeddings from vectors if there are any; return the classifier itself."""
        super().build(vocabulary, classes, vectors)
        dimensions, size = self.config["dimensions"], self.config["size"]
        with INITIAL_WEIGHTS, torch.random.fork_rng(devices=[]):
            # With the seed of the base, these layers would have the numbers that it has drawn already.
            torch.manual_seed(self.config["random_state"] + 1)
            self.word_encoder = BiLSTM(dimensions, size)
            self.attend_words = nn.Sequential(
                nn.Linear(size, size // 2), nn.Tanh(), nn.Linear(size // 2, 1, bias=False)
            )
            self.encoder = BiLSTM(size, size)
        return self

    def _lay_out(self, texts: Sequence[Words]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the ids of all words, the sentence of each word, and the positions of the words of each sentence."""
        ids_of = [[self.vocabulary.ids(tuple(sentence.split())) for sentence in text] for text in texts]
        n_sentences = max(chain([1], map(len, texts)))
        n_words = max(chain([1], (len(words) for text in ids_of for words in text)))  # of one sentence
        n_positions = max(chain([1], (sum(map(len, text)) for text in ids_of)))
        ids = torch.full((len(texts), n_positions), PAD)
        sentence_of = torch.full((len(texts), n_positions), -1)  # −1 for no sentence
        # A position behind all others stands for no word.
        position_of = torch.full((len(texts), n_sentences, n_words), n_positions)
        for index, text in enumerate(ids_of):
            start = 0
            for sentence, words in enumerate(text):
                positions = torch.arange(start, start + len(words))
                ids[index, positions] = torch.tensor(words, dtype=torch.long)
                sentence_of[index, positions] = sentence
                position_of[index, sentence, : len(words)] = positions
                start += len(words)
        return ids, sentence_of, position_of

    def _read(self, texts: Sequence[Words], *, gradient: bool, are_parts: bool = False) -> dict[str, Any]:
        """Compute all fields of the state but the attention to sentences; positions are the words of a document."""
        ids, sentence_of, position_of = self._lay_out(texts)
        n_sentences = torch.tensor([len(text) for text in texts])
        n = int(n_sentences.max())
        embedded = self._embed(ids)
        if gradient:
            embedded = embedded.detach().requires_grad_()
        # All sentences of all documents are read as one batch, and their vectors go back to their documents.
        padded = torch.cat([embedded, embedded.new_zeros(len(texts), 1, embedded.shape[-1])], dim=1)
        embedded_words = padded[torch.arange(len(texts))[:, None, None], position_of].flatten(0, 1)
        is_word = (position_of < ids.shape[1]).flatten(0, 1)  # (texts × sentences, words)
        states = self.word_encoder(embedded_words, is_word.sum(1).clamp(min=1))
        weights = normalize(self.attend_words(states)[..., 0], is_word)  # (texts × sentences, 1, words)
        vectors = (weights @ states)[:, 0].unflatten(0, position_of.shape[:2])[:, :n]
        hidden = vectors.new_zeros(len(texts), 0, self.config["size"])
        if n:
            hidden = self.encoder(vectors, n_sentences.clamp(min=1))
        return {
            "texts": tuple(texts),
            "mask": torch.arange(n) < n_sentences[:, None],
            "embeddings": embedded,
            "word_of": sentence_of,
            "attended": hidden,
            "hidden": hidden,
            "words": vectors,
            "ids": ids,
            "lengths": n_sentences + 2,
        }

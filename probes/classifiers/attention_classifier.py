"""The attention classifiers of the papers: embeddings, an encoder, one attention, a linear decoder.

Jain & Wallace (2019, §2) with the encoders ``lstm``, ``cnn`` and ``average``; ``none`` is the model without an encoder
of Serrano & Smith (2019); the regularizers are Tutek & Šnajder's (2020) and the conicity of Mohankumar et al. (2020).
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from ...corpora_loaders import WordVectors
from ...extractors.maps.batching import cut
from ...extractors.replaceable.attention_model import Special, TextState, Words, query_of, state_of
from ...extractors.threads import one_thread
from ...storage.paths import check_file
from ...storage.sealed import ANYWHERE
from ...storage.tensors import write_tensors
from .encoders import ENCODERS, BiLSTM, EncoderName, size_of
from .regularizers import STRENGTHS, Regularizer, masked_word_penalty, state_penalty
from .saved_classifier import Reads, read_classifier
from .states import ClassifierState, WordStates, normalize
from .training import PUBLISHED, ClassifierRecipe, CrossEntropy, train
from .vocabulary import END, PAD, SPECIAL, START, UNKNOWN, Vocabulary

Attention = Literal["additive", "dot"]
_BATCH_CELLS = 1 << 12  # words of a batch
_PART_CELLS = 1 << 13  # of parts of texts: the more are read together, the more of them have something in common
INITIAL_WEIGHTS = threading.Lock()  # the generator of initial weights is that of all threads


class AttentionClassifier(nn.Module):
    """A text classifier that reads a weighted mean of word states, of any number of classes.

    It is a `LinearAttentionModel` without dropout. A text is read as ``[SOS] words [EOS]``, and attention is paid to
    words only. For two classes, the model computes one logit z, and its logits are (0, z).

    Args:
        encoder: ``lstm`` (both directions), ``cnn``, ``average`` (word by word), ``none``. Documents have
            `attentionology.probes.classifiers.HierarchicalClassifier`.
        attention: ``additive``: v · tanh(W h + b) with half as many units as h has; ``dot``: w · h / √size.
        regularizer: ``concat``: states become [h; e], e the embedding; ``residual``: h + e; ``tying``: penalty mean
            over words of ‖h − e‖; ``mlm``: words are masked and must be predicted from the states; ``conicity``:
            penalty mean over words of cos(h, mean of h).
        dimensions: the number of dimensions of the embeddings; with vectors, it is that of the vectors.
        size: the size of the states. The default is that of the papers (256, 128, 128), or that of the embeddings if
            states are added to them or compared with them.
        strength: the weight of the penalty. The defaults are in `STRENGTHS`.
        random_state: the seed of the initial weights and of training.

    Attributes:
        vocabulary, classes: the known words, and the names of the classes in the order of the logits, once it is built.
        history_: the epochs of training, see `train`.

    Raises:
        ValueError: a name is unknown, there are fewer than two classes, or the size is not possible.

    Example:
        >>> from attentionology.probes.classifiers import AttentionClassifier
        >>> texts = [("a", "fine", "film"), ("a", "dull", "film")] * 20
        >>> classifier = AttentionClassifier("average", dimensions=8).fit(texts, ["1", "0"] * 20)
        >>> state = classifier.encode(texts[:2])
        >>> alpha, mask = classifier.attention(state)
        >>> alpha.shape  # 2 texts, 1 row of attention, 3 words
        torch.Size([2, 1, 3])
    """

    special: Special = "keep"
    reads: ClassVar[Reads] = "words"

    def __init__(
        self,
        encoder: EncoderName = "lstm",
        attention: Attention = "additive",
        regularizer: Regularizer | None = None,
        *,
        dimensions: int = 100,
        size: int | None = None,
        strength: float | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__()
        if encoder == "han" and self.reads != "sentences":
            raise ValueError("the encoder han is for documents: JSON Lines with 'sentences', or blocks of lines")
        for name, choice, literal in (
            ("encoder", encoder, EncoderName),
            ("attention", attention, Attention),
            ("regularizer", regularizer or "concat", Regularizer),  # none is possible, too
        ):
            if choice not in get_args(literal):
                raise ValueError(f"unknown {name} {choice!r}; choose from: {', '.join(get_args(literal))}")
        self.regularizer: Regularizer | None = regularizer
        self.config: dict[str, Any] = {
            "encoder": encoder,
            "attention": attention,
            "regularizer": regularizer,
            "dimensions": dimensions,
            "size": size,
            "strength": STRENGTHS.get(regularizer or "", 0.0) if strength is None else strength,
            "random_state": random_state,
        }
        self.vocabulary, self.classes = Vocabulary(()), tuple[str, ...]()
        self.history_, self.scale = list[dict[str, Any]](), 1.0
        # `build` replaces these layers when it knows the words and the classes. The meta device holds no values.
        self.table = nn.Embedding(1, 1, device="meta")
        self.encoder, self.attend = cast(nn.Module, nn.Identity()), cast(nn.Module, nn.Identity())
        self.decoder = nn.Linear(1, 1, device="meta")
        self.tell: nn.Linear | None = None  # tells masked words from their states, for the regularizer mlm

    @classmethod
    def words_read(cls, text: Words) -> Words:
        """Return all words that the classifier reads of a text, those of its query included."""
        return (*text, *query_of(text))

    def build(
        self, vocabulary: Vocabulary, classes: Sequence[str], vectors: WordVectors | None = None
    ) -> AttentionClassifier:
        """Make the parameters, the embeddings from vectors if there are any; return the classifier itself."""
        if len(classes) < 2:
            raise ValueError(f"a classifier needs at least two classes, not {len(classes)}")
        self.vocabulary, self.classes = vocabulary, tuple(classes)
        config = self.config
        dimensions = config["dimensions"] = vectors.dimensions if vectors else config["dimensions"]
        as_embeddings = self.regularizer in ("residual", "tying")
        size = config["size"] = size_of(config["encoder"], dimensions, config["size"], as_embeddings=as_embeddings)
        # The states that are weighed have the embedding of their word beside them, if the regularizer wants it.
        attended_size = size + dimensions if self.regularizer == "concat" else size
        half = attended_size // 2
        is_additive = config["attention"] == "additive"
        self.scale = 1.0 if is_additive else math.sqrt(attended_size)
        with INITIAL_WEIGHTS, torch.random.fork_rng(devices=[]):
            torch.manual_seed(config["random_state"])  # the layers are made in this order, which decides their weights
            self.table = nn.Embedding(len(vocabulary), dimensions, padding_idx=PAD)
            self.encoder = ENCODERS[config["encoder"]](dimensions, size)
            if is_additive:
                self.attend = nn.Sequential(nn.Linear(attended_size, half), nn.Tanh(), nn.Linear(half, 1, bias=False))
            else:
                self.attend = nn.Linear(attended_size, 1, bias=False)
            self.decoder = nn.Linear(attended_size, len(classes) if len(classes) > 2 else 1)
            self.tell = nn.Linear(size, len(vocabulary)) if self.regularizer == "mlm" else None
        with torch.no_grad():
            self.table.weight[UNKNOWN] = 0  # it stays 0 if there are no unknown words in training
            if vectors:
                has_vector = torch.from_numpy(vectors.rows(vocabulary.words) >= 0)
                self.table.weight[len(SPECIAL) :][has_vector] = torch.from_numpy(vectors(vocabulary.words))[has_vector]
        return self

    def fit(
        self,
        texts: Sequence[Words],
        labels: Sequence[str],
        dev: tuple[Sequence[Words], Sequence[str]] | None = None,
        *,
        vectors: WordVectors | None = None,
        min_count: int = 1,
        recipe: ClassifierRecipe = PUBLISHED,
    ) -> AttentionClassifier:
        """Build and train on labeled texts.

        Args:
            texts, labels: the training texts and their labels.
            dev: texts and labels that decide which epoch is kept.
            vectors: the initial values of the embeddings.
            min_count: words that occur less often are unknown words.
            recipe: the hyperparameters.

        Raises:
            ValueError: for the same reasons as the class, or a dev label does not occur in training.
            TrainingError: there are no texts, or the loss is no longer finite.
        """
        classes = sorted(set(labels))
        words = [self.words_read(text) for text in texts]
        self.build(Vocabulary.of(words, min_count=min_count, vectors=vectors), classes, vectors)
        held_out = None if dev is None else (dev[0], [classes.index(label) for label in dev[1]])
        objective = CrossEntropy([classes.index(label) for label in labels], len(classes))
        seed = self.config["random_state"]
        with one_thread():
            self.history_ = train(self, texts, objective, recipe, dev=held_out, seed=seed)
        return self

    def batches(self, texts: Sequence[Words]) -> Iterator[list[int]]:
        """Yield the indices of the texts to encode together, the longest first."""
        return self._batches(texts, _BATCH_CELLS)

    def encode(self, texts: Sequence[Words], *, gradient: bool = False) -> WordStates:
        """Compute the states of the words of each text and the attention to them; see `AttentionModel`."""
        return self._attend(self._read(texts, gradient=gradient))

    @property
    def shares_states(self) -> bool:
        """Whether `logits_of_parts` reads what texts have in common at their beginnings and ends only once."""
        return isinstance(self.encoder, BiLSTM) and self.reads != "sentences"

    @torch.no_grad()
    def logits_of_parts(self, texts: Sequence[Words]) -> Float[Tensor, "texts classes"]:
        """Compute the logits of texts that are parts of others, such as a text without each of its words."""
        logits = self.decoder.bias.new_zeros(len(texts), len(self.classes))
        for batch in self._batches(texts, _PART_CELLS):
            state = self._attend(self._read([texts[i] for i in batch], gradient=False, are_parts=True))
            logits[batch] = self.decode(state, state.alpha[:, None])[:, 0]
        return logits

    def _batches(self, texts: Sequence[Words], batch_cells: int) -> Iterator[list[int]]:
        """Yield the indices of the texts of each batch, beginning with the longest texts."""
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        # A text has two more positions, [SOS] and [EOS]. Positions alone limit a batch, because it has no square maps.
        yield from cut(order, lambda i: len(texts[i]) + 2, "padded", batch_cells=sys.maxsize, batch_pieces=batch_cells)

    def _attend(self, read: dict[str, Any]) -> WordStates:
        """Compute the attention to the states of words that were read."""
        scores = self.attend(read["attended"])[..., 0] / self.scale  # (batch, n)
        evidence = functional.linear(read["attended"], self.decoder.weight)
        return ClassifierState(**read, alpha=normalize(scores, read["mask"]), evidence=evidence)

    def _read(self, texts: Sequence[Words], *, gradient: bool, are_parts: bool = False) -> dict[str, Any]:
        """Compute all fields of `WordStates` but the attention."""
        lengths = torch.tensor([len(text) + 2 for text in texts])  # with [SOS] and [EOS]
        n = int(lengths.max()) - 2  # the most words of a text
        rows = [[START, *self.vocabulary.ids(text), END] + [PAD] * (n - len(text)) for text in texts]
        ids = torch.from_numpy(np.array(rows))  # PyTorch itself takes five times as long to read lists
        embedded = self._embed(ids)
        if gradient:
            embedded = embedded.detach().requires_grad_()
        if are_parts and isinstance(self.encoder, BiLSTM):
            states = self.encoder.of_parts(self.table.weight, ids, lengths)
        else:
            states = self.encoder(embedded, lengths)
        hidden = states[:, 1 : n + 1]  # of words, without [SOS]
        words = embedded[:, 1 : n + 1]
        attended = hidden
        if self.regularizer == "residual":
            attended = hidden + words
        elif self.regularizer == "concat":
            attended = torch.cat([hidden, words], dim=-1)
        word = torch.arange(n + 2).expand(len(texts), -1) - 1  # −1 at [SOS], which comes first
        return {
            "texts": tuple(texts),
            "mask": torch.arange(n) < lengths[:, None] - 2,
            "embeddings": embedded,
            "word_of": torch.where((word >= 0) & (word < lengths[:, None] - 2), word, -1),
            "attended": attended,
            "hidden": hidden,
            "words": words,
            "ids": ids,
            "lengths": lengths,
        }

    def attention(self, state: TextState) -> tuple[Float[Tensor, "batch 1 n"], Bool[Tensor, "batch n"]]:
        """Return the one row of attention, and the mask of words."""
        return state.alpha, state.mask

    def decode(self, state: TextState, alpha: Float[Tensor, "batch k 1 n"]) -> Float[Tensor, "batch k classes"]:
        """Compute the logits under k other attentions per text. Attention without any weight leaves the bias."""
        return self._all_classes(alpha[:, :, 0] @ state_of(state, ClassifierState).evidence + self.decoder.bias)

    def evidence(self, state: TextState) -> tuple[Float[Tensor, "batch n classes"], Float[Tensor, " classes"]]:
        """Return what full attention to each word adds to the logits, and the bias."""
        return self._all_classes(state_of(state, ClassifierState).evidence), self._all_classes(self.decoder.bias)

    def embeddings(self, state: TextState) -> Float[Tensor, "batch positions dim"]:
        """Return the input embeddings of ``[SOS] words [EOS]``."""
        return state.embeddings

    def scores(self, state: TextState) -> Float[Tensor, "batch n"]:
        """Return the attention, by which words are ranked."""
        return state.alpha[:, 0]

    def penalty(self, state: WordStates, generator: torch.Generator) -> Float[Tensor, ""]:
        """Compute what the regularizer adds to the loss, summed over the texts; the generator draws masked words."""
        strength, tell = float(self.config["strength"]), self.tell
        if tell is None:
            return strength * state_penalty(self.regularizer, state.hidden, state.words, state.mask)

        def predict(masked_ids: Tensor, is_masked: Tensor) -> Tensor:
            states = self.encoder(self._embed(masked_ids), state.lengths)[:, 1:-1]  # from the first word on
            return cast(Tensor, tell(states[is_masked]))

        return strength * masked_word_penalty(state.ids, state.mask, generator, predict)

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Return the parameter groups of an optimizer, without weight decay for the attention and the embeddings.

        The code of Jain & Wallace spares the attention, too. Embeddings of words that do not occur in training would
        decay to zero, because Adam makes a step of full length for any gradient.
        """
        spared = [*self.attend.parameters(), *self.table.parameters()]
        rest = [parameter for parameter in self.parameters() if all(parameter is not other for other in spared)]
        return [{"params": rest, "weight_decay": weight_decay}, {"params": spared, "weight_decay": 0.0}]

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write weights, vocabulary and classes to one safetensors file, and replace one only with ``overwrite``."""
        target = check_file(path, overwrite=overwrite)
        facts: dict[str, Any] = {"config": self.config, "classes": self.classes, "words": self.vocabulary.words}
        if self.reads != "words":
            facts["reads"] = self.reads
        write_tensors(target, self.state_dict(), facts, ANYWHERE)

    @classmethod
    def load(cls, path: Path) -> AttentionClassifier:
        """Load a classifier from a file that `save` wrote.

        Raises:
            OSError, SafetensorError, KeyError, ValueError: there is no such file, or it holds no classifier.
            DamagedError: the file has changed since it was written.
        """
        return read_classifier(path, (cls, *cls.__subclasses__()))

    def _embed(self, ids: Int[Tensor, "batch positions"]) -> Float[Tensor, "batch positions dim"]:
        """Return the embeddings of words by their rows in the vocabulary."""
        return cast(Tensor, self.table(ids))

    def _all_classes(self, logits: Tensor) -> Tensor:
        """Turn the one logit z of two classes into (0, z)."""
        both: Tensor = logits if logits.shape[-1] > 1 else functional.pad(logits, (1, 0))
        return both

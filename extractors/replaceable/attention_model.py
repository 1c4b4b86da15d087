"""The protocol of text classifiers whose attention can be read and replaced, and the texts that they read.

It has what the tests of attention as an explanation need (Jain & Wallace 2019; Wiegreffe & Pinter 2019; Serrano &
Smith 2019), whether the model is a small network with one attention layer or a transformer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Words = tuple[str, ...]
"""The words of a text."""


class WordsWithQuery(tuple[str, ...]):
    """The words of a text that is read together with a query: a question about it, or a hypothesis.

    It is a text like any other, whose words can be attended to and deleted. The query goes with it wherever it goes,
    and its words are not among those of the text. Two of them are equal if their words and their queries are.

    Attributes:
        query: the words of the query.

    Example:
        >>> from attentionology.extractors import WordsWithQuery, drop
        >>> text = WordsWithQuery(("Mary", "went", "home", "."), query=("Where", "is", "Mary", "?"))
        >>> len(text), drop(text, 3).query
        (4, ('Where', 'is', 'Mary', '?'))
    """

    query: Words

    def __new__(cls, words: Iterable[str], query: Iterable[str]) -> WordsWithQuery:
        """Make a text of words and the words of its query."""
        text = super().__new__(cls, words)
        text.query = tuple(query)
        return text

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, other) is True and self.query == query_of(other)  # not NotImplemented

    def __ne__(self, other: object) -> bool:  # that of tuples does not ask `__eq__`
        return not self == other

    def __hash__(self) -> int:
        return hash((tuple(self), self.query))

    def __repr__(self) -> str:
        return f"WordsWithQuery({tuple(self)}, query={self.query})"


def query_of(text: object) -> Words:
    """Return the words of the query of a text, none if it has no query."""
    return text.query if isinstance(text, WordsWithQuery) else ()


def replace_words(text: Words, words: Iterable[str]) -> Words:
    """Return a text of other words with the same query, if it has one."""
    return WordsWithQuery(words, text.query) if isinstance(text, WordsWithQuery) else tuple(words)


State = TypeVar("State", bound="TextState")

Special = Literal["keep", "renormalize"]
"""What happens to the attention to special tokens when the attention to words is changed. With ``keep``, it stays as it
was, and weights are only moved among words. With ``renormalize``, all weights, those of special tokens included, are
divided by their sum."""


@dataclass(frozen=True, eq=False)
class TextState:
    """A batch of texts as a model has read them, up to the attention in question.

    A model that has to remember more, in order to continue from here, returns a subclass with further fields.

    Attributes:
        texts: the words of each text; a text may have none.
        alpha: the attention: one or more rows per text (heads, or heads × queries), each a distribution over the words,
            0 outside the text. A text without words has rows of zeros.
        mask: True at words.
        embeddings: the embedding at each input position, which is a word, a piece or a special token.
        word_of: the 0-based word that each input position belongs to, −1 at special tokens and padding.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import TransformerAttention, load_classifier, load_tokenizer
        >>> files = load_encoder("demo").files
        >>> model, files = load_classifier(files, labels=["dull", "fine"])
        >>> classifier = TransformerAttention(model, load_tokenizer(files))
        >>> state = classifier.encode([("a", "fine", "film"), ("boring",)])
        >>> state.alpha.shape, state.mask.tolist()  # 2 texts, 12 heads, up to 3 words
        (torch.Size([2, 12, 3]), [[True, True, True], [True, False, False]])
    """

    texts: tuple[Words, ...]
    alpha: Float[Tensor, "batch rows n"]
    mask: Bool[Tensor, "batch n"]
    embeddings: Float[Tensor, "batch positions dim"]
    word_of: Int[Tensor, "batch positions"]

    def __len__(self) -> int:
        return len(self.texts)


def state_of(state: TextState, kind: type[State]) -> State:
    """Return the state as that of one kind of model, which needs its further fields to continue."""
    if not isinstance(state, kind):
        raise TypeError(f"a {kind.__name__} is needed to continue, not a {type(state).__name__}")
    return state


@runtime_checkable
class AttentionModel(Protocol):
    """A classifier of texts with attention that can be replaced.

    Attributes:
        classes: names of the classes, in the order of the logits.
        special: what happens to special tokens; ``keep`` if there are none.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import TransformerAttention, load_classifier, load_tokenizer
        >>> from attentionology.extractors import AttentionModel
        >>> model, files = load_classifier(load_encoder("demo").files, labels=["dull", "fine"])
        >>> isinstance(TransformerAttention(model, load_tokenizer(files)), AttentionModel)
        True
    """

    classes: tuple[str, ...]
    special: Special

    def batches(self, texts: Sequence[Words]) -> Iterator[list[int]]:
        """Yield the indices of texts to encode together. They have similar lengths, and every index occurs once."""
        ...

    def encode(self, texts: Sequence[Words], *, gradient: bool = False) -> TextState:
        """Read texts up to the attention in question.

        Args:
            texts: at least one.
            gradient: whether the computational graph begins at the embeddings, which then require grad and have no
                history, to take gradients with respect to them. Otherwise it begins at the parameters, if these
                require grad.

        Raises:
            ExtractionError: the model cannot read a text, because it is too long or has a word without pieces.
        """
        ...

    def attention(self, state: TextState) -> tuple[Float[Tensor, "batch rows n"], Bool[Tensor, "batch n"]]:
        """Return the attention, which is differentiable like the rest of the state, and the mask of words."""
        ...

    def decode(self, state: TextState, alpha: Float[Tensor, "batch k rows n"]) -> Float[Tensor, "batch k classes"]:
        """Compute the logits under k other attentions per text; everything before the attention stays as it was read.

        The weights are taken as they are: a row that sums to 1 gives the words together what they had in the original,
        and a row of zeros gives them nothing. With ``special="renormalize"``, all weights of a row, those of special
        tokens included, are then divided by their sum. ``decode(state, attention(state)[0][:, None])`` gives the
        model's own logits. The result is differentiable in ``alpha`` and in the state.
        """
        ...

    def embeddings(self, state: TextState) -> Float[Tensor, "batch positions dim"]:
        """Return the input embeddings, to take gradients with respect to them after ``encode(…, gradient=True)``."""
        ...

    def scores(self, state: TextState) -> Float[Tensor, "batch n"]:
        """Return what a reader is shown as the importance of each word: the mean of the rows, or another map."""
        ...


@runtime_checkable
class LinearAttentionModel(AttentionModel, Protocol):
    """An attention model whose logits are linear in its one row of attention: bias + Σ_t α_t · evidence_t.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import TransformerAttention, load_classifier, load_tokenizer
        >>> from attentionology.extractors import LinearAttentionModel
        >>> model, files = load_classifier(load_encoder("demo").files, labels=["dull", "fine"])
        >>> isinstance(TransformerAttention(model, load_tokenizer(files)), LinearAttentionModel)
        False
    """

    def evidence(self, state: TextState) -> tuple[Float[Tensor, "batch n classes"], Float[Tensor, " classes"]]:
        """Return what full attention to each word adds to the logits, and the bias: the logits without attention."""
        ...


@runtime_checkable
class TanhAttentionModel(AttentionModel, Protocol):
    """An attention model with one hidden layer of tanh between its one row of attention and its logits.

    The logits are bias + weights^T tanh(Σ_t α_t · units_t) for attention that sums to 1.

    Example:
        >>> from attentionology.extractors import TanhAttentionModel, WordsWithQuery
        >>> from attentionology.probes.classifiers import QueryClassifier
        >>> texts = [WordsWithQuery(("a", "b"), ("who",)), WordsWithQuery(("b",), ("what",))]
        >>> classifier = QueryClassifier("average", dimensions=8).fit(texts * 20, ["1", "0"] * 20)
        >>> isinstance(classifier, TanhAttentionModel)
        True
    """

    def hidden_units(
        self, state: TextState
    ) -> tuple[Float[Tensor, "batch n units"], Float[Tensor, "units classes"], Float[Tensor, " classes"]]:
        """Return the hidden units before tanh with full attention to each word, and the weights and bias of logits."""
        ...


@runtime_checkable
class PartReader(Protocol):
    """A classifier that may read what many texts have in common only once.

    Example:
        >>> from attentionology.extractors.replaceable.attention_model import PartReader
        >>> from attentionology.probes.classifiers import AttentionClassifier
        >>> texts = [("a", "fine", "film"), ("a", "dull", "film")] * 20
        >>> classifier = AttentionClassifier("lstm", dimensions=8, size=8).fit(texts, ["1", "0"] * 20)
        >>> isinstance(classifier, PartReader) and classifier.shares_states
        True
    """

    @property
    def shares_states(self) -> bool:
        """Whether the model does."""
        ...

    def logits_of_parts(self, texts: Sequence[Words]) -> Float[Tensor, "texts classes"]:
        """Compute the logits that the texts have when they are encoded and decoded, whose last digits may differ."""
        ...


Attend = Callable[[TextState], Float[Tensor, "batch rows n"]]
"""A function that gives attention in place of the model's own."""


def probabilities(
    model: AttentionModel, texts: Sequence[Words], attend: Attend | None = None
) -> Float[Tensor, "texts classes"]:
    """Compute the class probabilities of texts, in float64.

    Args:
        model: the classifier.
        texts: what to classify; a text that occurs twice is read once.
        attend: gives attention in place of the model's own.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import TransformerAttention, load_classifier, load_tokenizer
        >>> from attentionology.extractors import probabilities
        >>> model, files = load_classifier(load_encoder("demo").files, labels=["dull", "fine"])
        >>> classifier = TransformerAttention(model, load_tokenizer(files))
        >>> probabilities(classifier, [("a", "fine", "film"), ("boring",)]).shape  # texts, classes
        torch.Size([2, 2])
    """
    distinct, indices = _distinct(texts)
    result = torch.zeros(len(distinct), len(model.classes), dtype=torch.float64)
    with torch.no_grad():
        for batch in model.batches(distinct):
            state = model.encode([distinct[i] for i in batch])
            alpha = model.attention(state)[0] if attend is None else attend(state)
            result[batch] = model.decode(state, alpha[:, None])[:, 0].double().softmax(-1)
    return result[indices]


def probabilities_of_parts(model: AttentionModel, texts: Sequence[Words]) -> Float[Tensor, "texts classes"]:
    """Compute what `probabilities` does of texts that are parts of others, such as a text without each of its words.

    What these texts have in common is read once if the model is a `PartReader` that shares states.

    Args:
        model: the classifier.
        texts: what to classify; a text that occurs twice is read once.

    Example:
        >>> from attentionology.extractors.replaceable.attention_model import drop, probabilities_of_parts
        >>> from attentionology.probes.classifiers import AttentionClassifier
        >>> texts = [("a", "fine", "film"), ("a", "dull", "film")] * 20
        >>> classifier = AttentionClassifier("lstm", dimensions=8, size=8).fit(texts, ["1", "0"] * 20)
        >>> probabilities_of_parts(classifier, [drop(texts[0], index) for index in range(3)]).shape  # texts, classes
        torch.Size([3, 2])
    """
    if not isinstance(model, PartReader) or not model.shares_states:
        return probabilities(model, texts)
    distinct, indices = _distinct(texts)
    return model.logits_of_parts(distinct).double().softmax(-1)[indices]


def _distinct(texts: Sequence[Words]) -> tuple[list[Words], list[int]]:
    """Return the different texts, and for each text which of them it is."""
    index_of = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    return list(index_of), [index_of[text] for text in texts]


def drop(words: Words, index: int) -> Words:
    """Return the text without one word, which is deleted and not masked.

    Args:
        words: the text.
        index: the index of the word, 0-based.

    Example:
        >>> from attentionology.extractors import drop
        >>> drop(("not", "a", "dull", "film"), 0)
        ('a', 'dull', 'film')
    """
    return replace_words(words, words[:index] + words[index + 1 :])

"""The attention classifier for texts with queries: questions about a text, or hypotheses (Jain & Wallace 2019, §2).

Text and query are embedded by one table and encoded apart. Attention is paid to the words of the text, and what it
looks for is the query: with h_i the states of the text and q the state with which the encoder ends the query,
φ(h_i, q) = v · tanh(W₁ h_i + W₂ q) or h_i · q / √m, and α is the softmax of φ over the words of the text.

The paper does not say how the context h_α = Σ α_i h_i and the query become logits. Here they are
W_o tanh(W_p h_α + W_q q) plus a bias. They are not linear in α, so what can be computed exactly for a linear decoder
and two classes, the strongest adversary, can only be bounded for this model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...corpora_loaders import WordVectors
from ...extractors.replaceable.attention_model import TextState, Words, WordsWithQuery, query_of, state_of
from .attention_classifier import INITIAL_WEIGHTS, AttentionClassifier
from .encoders import ENCODERS, last_state
from .saved_classifier import Reads
from .states import WordStates, normalize
from .vocabulary import END, PAD, START, Vocabulary


@dataclass(frozen=True, eq=False)
class QueryStates(WordStates):
    """A batch of texts with queries as a classifier has read them."""

    query: Float[Tensor, "batch size"]  # the state with which the encoder ends the query


class QueryClassifier(AttentionClassifier):
    """A classifier of texts with queries that reads a weighted mean of the words of the text, given the query.

    It is an `attentionology.extractors.TanhAttentionModel` without dropout. The arguments and attributes are those of
    `AttentionClassifier`; every text is an `attentionology.extractors.WordsWithQuery`.

    Example:
        >>> from attentionology.extractors import WordsWithQuery
        >>> from attentionology.probes.classifiers import QueryClassifier
        >>> story = ("Mary", "home", "John", "school")
        >>> texts = [WordsWithQuery(story, ("Where", "is", who)) for who in ("Mary", "John")]
        >>> classifier = QueryClassifier("average", dimensions=16).fit(texts * 20, ["home", "school"] * 20)
        >>> classifier.encode(texts).alpha.shape  # 2 texts, 1 row of attention, 4 words
        torch.Size([2, 1, 4])
    """

    reads: ClassVar[Reads] = "queries"

    evidence = None  # type: ignore[assignment]  # the logits are not linear in the attention

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # `build` replaces these layers, as it replaces those of the base.
        self.query_encoder, self.attend = cast(nn.Module, nn.Identity()), cast(nn.Module, nn.Identity())
        self.from_text = self.from_query = self.decoder = nn.Linear(1, 1, device="meta")
        self.scale = 1.0

    def build(
        self, vocabulary: Vocabulary, classes: Sequence[str], vectors: WordVectors | None = None
    ) -> QueryClassifier:
        """Make the parameters, the embeddings from vectors if there are any, and return the classifier itself.

        Raises:
            ValueError: for the same reasons as in `AttentionClassifier`.
        """
        super().build(vocabulary, classes, vectors)
        config = self.config
        size, dimensions = config["size"], config["dimensions"]
        attended_size, n_logits = self.decoder.in_features, self.decoder.out_features  # of the decoder of the base
        half = attended_size // 2
        is_additive = config["attention"] == "additive"
        self.scale = 1.0 if is_additive else math.sqrt(size)
        with INITIAL_WEIGHTS, torch.random.fork_rng(devices=[]):
            torch.manual_seed(config["random_state"] + 1)  # other numbers than those of the base
            self.query_encoder = ENCODERS[config["encoder"]](dimensions, size)
            self.attend = nn.ModuleDict()
            if is_additive:
                self.attend["text"] = nn.Linear(attended_size, half)
                self.attend["query"] = nn.Linear(size, half, bias=False)
                self.attend["score"] = nn.Linear(half, 1, bias=False)
            self.from_text = nn.Linear(attended_size, half)
            self.from_query = nn.Linear(size, half, bias=False)
            self.decoder = nn.Linear(half, n_logits)
        return self

    def encode(self, texts: Sequence[Words], *, gradient: bool = False) -> QueryStates:
        """See `attentionology.extractors.AttentionModel`. Gradients are those of the words of the text.

        Raises:
            ValueError: a text has no query.
        """
        return self._attend(self._read(texts, gradient=gradient))

    def _attend(self, read: dict[str, Any]) -> QueryStates:
        """Compute the attention to the states of words that were read, given the queries of the texts."""
        if not all(isinstance(text, WordsWithQuery) for text in read["texts"]):
            raise ValueError("this classifier reads texts with queries (WordsWithQuery)")
        query = self._read_queries(read["texts"])
        if isinstance(self.attend, nn.ModuleDict) and len(self.attend):
            both = self.attend["text"](read["attended"]) + self.attend["query"](query)[:, None]
            scores = self.attend["score"](both.tanh())[..., 0]
        else:
            # The states as the encoder gives them, because ``concat`` makes those that are weighed larger than q.
            scores = torch.einsum("bnd,bd->bn", read["hidden"], query) / self.scale
        return QueryStates(**read, alpha=normalize(scores, read["mask"]), query=query)

    def _read_queries(self, texts: Sequence[Words]) -> Float[Tensor, "batch size"]:
        """Return the state with which the encoder ends the query of each text."""
        queries = [[START, *self.vocabulary.ids(query_of(text)), END] for text in texts]
        lengths = torch.tensor([len(query) for query in queries])
        ids = torch.tensor([query + [PAD] * (int(lengths.max()) - len(query)) for query in queries])
        return last_state(self.config["encoder"], self.query_encoder(self._embed(ids), lengths), lengths)

    def decode(self, state: TextState, alpha: Float[Tensor, "batch k 1 n"]) -> Float[Tensor, "batch k classes"]:
        """Compute the logits under k other attentions per text. Attention without any weight leaves the query."""
        state = state_of(state, QueryStates)
        context = alpha[:, :, 0] @ state.attended
        both = self.from_text(context) + self.from_query(state.query)[:, None]
        return self._all_classes(self.decoder(both.tanh()))

    def hidden_units(
        self, state: TextState
    ) -> tuple[Float[Tensor, "batch n units"], Float[Tensor, "units classes"], Float[Tensor, " classes"]]:
        """Return the hidden units before tanh with full attention to each word, and the weights and bias of logits."""
        state = state_of(state, QueryStates)
        units = self.from_text(state.attended) + self.from_query(state.query)[:, None]
        return units, self._all_classes(self.decoder.weight.T), self._all_classes(self.decoder.bias)

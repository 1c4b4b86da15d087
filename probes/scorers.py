"""What probes compute: a score of every candidate head for every word of a sentence.

Candidates are ROOT (index 0) and the words (index = number), the word itself among them, as in the published code of
Clark et al. (2019, §5). ROOT comes first in attention, in word vectors and in distances alike; that code put it first
in the one and last in the others, so that every word was paired with its neighbor's vector.

Notation: i the dependent, c the candidate, A^k the word map of attention head k with rows from and columns to. Every
head gives two features, A^k[i, c] (``dep->head``: the dependent attends to the candidate) and A^k[c, i]
(``head->dep``). ROOT has no place in the map; its feature is s · A^k[i, CLS] + e · A^k[i, SEP], in the other direction
s · A^k[CLS, i] + e · A^k[SEP, i], with s and e learned and the same for all heads.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from ..corpora_loaders import WordVectors
from .probed_sentence import UNKNOWN, ProbedSentence

Scores = Float[Tensor, "words candidates"]
Gold = Int[ndarray, " words"]

DISTANCES = 8
"""The number of planes of `DistanceScorer`."""


def glorot(*shape: int, fan: tuple[int, int], generator: Generator) -> nn.Parameter:
    """Draw a parameter within ±√(6 / (fan in + fan out)) (Glorot & Bengio 2010), as TensorFlow 1 does by default."""
    bound = math.sqrt(6 / sum(fan))
    return nn.Parameter((2 * torch.rand(shape, generator=generator) - 1) * bound)


class Scorer(nn.Module):
    """Base class of the modules that score all candidates for all words of one sentence.

    Example:
        >>> import numpy as np
        >>> import torch
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import Scorer, batch_from_array, probed_sentences
        >>> class RootScorer(Scorer):
        ...     def forward(self, example):
        ...         scores = torch.zeros(len(example.sentence), len(example.sentence) + 1)
        ...         scores[:, 0] = 1
        ...         return scores
        >>> sentence = Sentence("s1", ("dogs", "bark"), (2, 0), ("nsubj", "root"))
        >>> [example] = probed_sentences([batch_from_array(sentence, np.zeros((1, 1, 2, 2), dtype=np.float32))])
        >>> RootScorer()(example).tolist()
        [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """

    def learn(self, example: ProbedSentence, gold: Gold) -> tuple[ndarray, float]:
        """Compute the gradient of the loss of a sentence; it replaces any earlier one.

        The loss is the cross-entropy of the candidates, summed over the words that have a head.

        Args:
            example: a sentence with its maps.
            gold: the heads of its words: 1-based, 0 for the root, or `UNKNOWN`; at least one of them is known.

        Returns:
            The scores, and the loss.
        """
        for parameter in self.parameters():
            parameter.grad = None
        scores = self(example)
        loss = cross_entropy(scores, torch.from_numpy(gold), ignore_index=UNKNOWN, reduction="sum")
        loss.backward()  # type: ignore[no-untyped-call]
        return scores.detach().numpy(), loss.item()

    def forward(self, example: ProbedSentence) -> Scores:
        """Return the scores, of shape (words, words + 1); candidate 0 is ROOT."""
        raise NotImplementedError


class HeadScorer(Scorer):
    """Base class of the scorers that give every attention head a weight, of which reports show the largest.

    Example:
        >>> from attentionology.probes import AttentionProbe, HeadScorer
        >>> isinstance(AttentionProbe().make_scorer((6, 12)), HeadScorer)
        True
    """

    def weights(self, example: ProbedSentence, candidate: Int[Tensor, " words"]) -> Float[Tensor, "words features"]:
        """Return the weight of every head in both directions for each word and one candidate word of it (0-based)."""
        raise NotImplementedError


class AttentionScorer(HeadScorer):
    """Σ_k w_k A^k[i, c] + u_k A^k[c, i] (Clark et al. 2019, §5, attention-only)."""

    # weight: w (`dep->head`) and u (`head->dep`), shape (2, n_maps).
    # root: s and e, shape (2,).

    def __init__(self, n_maps: int, generator: Generator) -> None:
        super().__init__()
        self.weight = glorot(2, n_maps, fan=(2 * n_maps, 2 * n_maps), generator=generator)
        self.root = glorot(2, fan=(1, 1), generator=generator)  # for the start and the end

    def weights(self, example: ProbedSentence, candidate: Int[Tensor, " words"]) -> Float[Tensor, "words features"]:
        """Return the weight of every head in both directions for each word and one candidate word of it (0-based)."""
        del example
        return self.weight.flatten().expand(len(candidate), -1)

    def forward(self, example: ProbedSentence) -> Scores:
        """Return the scores, of shape (words, words + 1); candidate 0 is ROOT."""
        n = example.maps.shape[-1]
        from_dependent, to_dependent = (self.weight @ example.maps.to(self.weight).flatten(1)).view(2, n, n)
        by_dependent = (from_dependent + to_dependent.T)[example.words]  # [dependent, any position]
        root = by_dependent @ (example.ends.to(by_dependent) @ self.root)
        return torch.cat([root[:, None], by_dependent[:, example.words]], dim=1)

    def learn(self, example: ProbedSentence, gold: Gold) -> tuple[ndarray, float]:
        """Compute the gradient by hand: on matrices this small, autograd would spend its time on bookkeeping."""
        maps, ends = example.maps.to(self.weight).numpy(), example.ends.to(self.root).numpy()
        weight, root = (parameter.detach().numpy() for parameter in (self.weight, self.root))
        words, n = example.words, maps.shape[-1]
        flat_maps = maps.reshape(-1, n * n)
        # The scores are those of `forward`.
        from_dependent, to_dependent = (weight @ flat_maps).reshape(2, n, n)
        by_dependent = (from_dependent + to_dependent.T)[words]  # [dependent, any position]
        to_ends = by_dependent @ ends
        scores = np.concatenate([(to_ends @ root)[:, None], by_dependent[:, words]], axis=1)
        score_grad, loss = _softmax_loss(scores, gold)
        # The gradient of each cell of the weighted map: the score of ROOT reads the ends, all others read words.
        cell_grad = np.zeros((n, n), dtype=maps.dtype)
        cell_grad[words] = score_grad[:, :1] * (ends @ root)
        cell_grad[words, words] += score_grad[:, 1:]
        self.weight.grad = torch.from_numpy(np.stack([cell_grad.ravel(), cell_grad.T.ravel()]) @ flat_maps.T)
        self.root.grad = torch.from_numpy(score_grad[:, 0] @ to_ends)
        return scores, loss


def _softmax_loss(scores: ndarray, gold: Gold) -> tuple[ndarray, float]:
    """Return the gradient of the cross-entropy with respect to the scores, and its sum over words with a head."""
    known = np.flatnonzero(gold != UNKNOWN)
    shifted = scores - scores.max(1, keepdims=True)  # so that no exponential overflows
    gradient = np.exp(shifted)
    total = gradient.sum(1, keepdims=True)
    loss = float((np.log(total[known, 0]) - shifted[known, gold[known]]).sum())
    gradient /= total  # now the probabilities, from which 1 is taken at the right candidate
    gradient[known, gold[known]] -= 1
    gradient[gold == UNKNOWN] = 0
    return gradient, loss


class AttentionWordsScorer(HeadScorer):
    """`AttentionScorer` with weights that depend on the two words: W (v_i ⊕ v_c) + b in place of w and u (§5)."""

    # ROOT and words without a vector have zeros for v.
    # dependent, candidate: the two halves of W, shape (2 · n_maps, dimensions); `dep->head` first.
    # bias: b, shape (2 · n_maps,).
    # root: s and e, shape (2,).

    def __init__(self, n_maps: int, vectors: WordVectors, generator: Generator) -> None:
        super().__init__()
        self.vectors = vectors
        d = vectors.dimensions
        self.dependent = glorot(2 * n_maps, d, fan=(2 * d, 2 * n_maps), generator=generator)
        self.candidate = glorot(2 * n_maps, d, fan=(2 * d, 2 * n_maps), generator=generator)
        self.bias = nn.Parameter(torch.zeros(2 * n_maps))
        self.root = glorot(2, fan=(1, 1), generator=generator)  # for the start and the end

    def weights(self, example: ProbedSentence, candidate: Int[Tensor, " words"]) -> Float[Tensor, "words features"]:
        """Return the weight of every head in both directions for each word and one candidate word of it (0-based)."""
        of_dependent, of_candidate = self.parts(example)
        return of_dependent + of_candidate[candidate]

    def parts(self, example: ProbedSentence) -> tuple[Float[Tensor, "words features"], Float[Tensor, "words features"]]:
        """Return what the dependent gives to the weights of the heads, b included, and what the candidate adds."""
        v = torch.from_numpy(self.vectors(example.sentence.words)).to(self.bias)
        return torch.addmm(self.bias, v, self.dependent.T), v @ self.candidate.T

    def forward(self, example: ProbedSentence) -> Scores:
        """Return the scores, of shape (words, words + 1); candidate 0 is ROOT."""
        maps = example.maps.to(self.bias)
        of_dependent, of_candidate = self.parts(example)
        both = torch.cat([maps, maps.transpose(-1, -2)])[:, example.words]  # [feature, dependent, any position]
        pairs = both[:, :, example.words]
        words = torch.einsum("if,fic->ic", of_dependent, pairs) + torch.einsum("cf,fic->ic", of_candidate, pairs)
        to_ends = both @ (example.ends.to(both) @ self.root)  # [feature, dependent]
        root = torch.einsum("if,fi->i", of_dependent, to_ends)
        return torch.cat([root[:, None], words], dim=1)


class DistanceScorer(Scorer):
    """A network of one hidden layer that sees the two words and how far apart they are, and no map."""

    # It sees v_i ⊕ v_c and eight planes: (c − i)/n to the right and (i − c)/n to the left, whether c − i is 0, −1, 1,
    # −2, 2, and whether c is ROOT; then tanh and one output (published code of Clark et al. 2019; the constant plane of
    # zeros there is left out).

    def __init__(self, vectors: WordVectors, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.vectors = vectors
        d, fan = vectors.dimensions, (2 * vectors.dimensions + DISTANCES, hidden)
        self.dependent = glorot(hidden, d, fan=fan, generator=generator)
        self.candidate = glorot(hidden, d, fan=fan, generator=generator)
        self.distance = glorot(hidden, DISTANCES, fan=fan, generator=generator)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.output = glorot(hidden, fan=(hidden, 1), generator=generator)
        self.output_bias = nn.Parameter(torch.zeros(()))

    def forward(self, example: ProbedSentence) -> Scores:
        """Return the scores, of shape (words, words + 1); candidate 0 is ROOT."""
        v = torch.from_numpy(self.vectors(example.sentence.words)).to(self.bias)
        of_dependent = torch.addmm(self.bias, v, self.dependent.T)
        of_candidate = nn.functional.pad(v @ self.candidate.T, (0, 0, 1, 0))  # ROOT has zeros
        hidden = distances(len(v), v.dtype) @ self.distance.T
        hidden = hidden + of_dependent[:, None] + of_candidate[None]
        # The output's bias is the same for all candidates; it is there because the published network has it.
        return torch.tanh(hidden) @ self.output + self.output_bias


def distances(n: int, dtype: torch.dtype = torch.float32) -> Float[Tensor, "n candidates planes"]:
    """Return the planes of `DistanceScorer` for a sentence of n words; ROOT has the last one only."""
    number = torch.arange(1, n + 1, dtype=dtype)
    offset = number[None] - number[:, None]  # c − i
    is_offset = [(offset == k).to(dtype) for k in (0, -1, 1, -2, 2)]
    planes = [offset.clamp(min=0) / n, (-offset).clamp(min=0) / n, *is_offset]
    words = nn.functional.pad(torch.stack(planes, dim=-1), (0, 1))  # the last plane is that of ROOT
    root = torch.eye(DISTANCES, dtype=dtype)[-1].expand(n, 1, DISTANCES)
    return torch.cat([root, words], dim=1)

"""What probes of hidden states learn: trees as distances and depths, labels of words, and controls of both."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from ...corpora_loaders import CorpusError, Sentence, coarse_relation, is_punct
from ...corpora_loaders.tree import counted_relations, plain_relation
from ...storage.nearest import UnknownNameError, describe_unknown
from ..probed_sentence import annotate
from ..splits import stable_hash

NO_PATH = -1
"""The distance of two words of different trees, and the depth of a word that is in no tree with a root."""

Heads = Sequence[int | None]
Labels = Sequence[str | None]

LABELS = ("upos", "xpos", "relation", "relation:coarse", "feats:KEY")
"""The labels of words that probes learn; ``feats:Number`` is one of the last kind."""

_EMPTY = ("", "_")
_PTB_SIGNS = frozenset(("''", ",", ".", ":", "``", "-LRB-", "-RRB-"))


def tree_distances(heads: Heads) -> Int[ndarray, "words words"]:
    """Return how many edges are between each two words in the undirected tree; `NO_PATH` between different trees.

    Args:
        heads: the head of each word: 1-based, 0 for a root, None where it is not known.

    Raises:
        ValueError: the heads form a cycle.

    Example:
        >>> from attentionology.probes import tree_distances
        >>> tree_distances([2, 0, 2]).tolist()
        [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    """
    # Two words have the words in common that are above the lowest one which is above both, so that their distance
    # follows from how many are above each. This takes a fifth of the time of a search in a sparse graph.
    above = np.zeros((len(heads), len(heads)), dtype=np.float32)  # for each word, itself and the words above it
    known: set[int] = set()
    for word in range(len(heads)):
        path, at = list[int](), word
        while at not in known:
            path.append(at)
            known.add(at)
            head = heads[at]
            if not head:
                break
            at = head - 1
        else:
            if at in path:
                raise ValueError("the heads form a cycle")
        for below in reversed(path):
            if head := heads[below]:
                above[below] = above[head - 1]
            above[below, below] = 1
    common = above @ above.T
    steps = common.diagonal()
    return np.where(common > 0, steps[:, None] + steps - 2 * common, NO_PATH).astype(np.int64)


def tree_depths(heads: Heads) -> Int[ndarray, " words"]:
    """Return how many edges are between each word and the root of its tree; `NO_PATH` if it has none.

    Example:
        >>> from attentionology.probes import tree_depths
        >>> tree_depths([2, 0, 2, None]).tolist()
        [1, 0, 1, -1]
    """
    distances = tree_distances(heads)
    depths = np.full(len(heads), NO_PATH, dtype=np.int64)
    for root in (word for word, head in enumerate(heads) if head == 0):
        depths = np.where(distances[root] != NO_PATH, distances[root], depths)
    return depths


def kept_words(sentence: Sentence, *, by_xpos: bool = False) -> Bool[ndarray, " words"]:
    """Return which words are no punctuation, and thus in the trees that are scored.

    Args:
        sentence: the sentence.
        by_xpos: whether punctuation is what has a tag of punctuation in the Penn Treebank, as in the published code of
            Hewitt & Manning (2019), where ``$`` and ``#`` are words; by default it is what attachment scores leave out.
    """
    if by_xpos:
        return np.array([tag not in _PTB_SIGNS for tag in sentence.xpos or [""] * len(sentence)], dtype=bool)
    return np.array([not is_punct(relation) for relation in counted_relations(annotate(sentence))], dtype=bool)


def labels(sentence: Sentence, key: str) -> list[str | None]:
    """Return the label of each word; None for a word without one.

    Args:
        sentence: the sentence.
        key: one of `LABELS`. Of relations, words without a head and punctuation have no label.

    Raises:
        ValueError: there is no such key.
        CorpusError: the sentence does not have the column.

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import labels
        >>> feats = ("Number=Plur", "Number=Plur|Tense=Pres", "_")
        >>> labels(Sentence("s1", ("dogs", "bark", "!"), feats=feats), "feats:Tense")
        [None, 'Pres', None]
    """
    check_label(key)
    kind, _, detail = key.partition(":")
    column = {"upos": sentence.tags, "xpos": sentence.xpos, "relation": sentence.relations, "feats": sentence.feats}[
        kind
    ]
    if not column:
        raise CorpusError(f"the words have no {kind}", file=sentence.file, line=sentence.line, sentence=sentence.id)
    if kind == "relation":
        heads = annotate(sentence).heads
        name = coarse_relation if detail else plain_relation
        kept = zip(column, kept_words(sentence), heads, strict=True)
        return [name(relation) if is_kept and head is not None else None for relation, is_kept, head in kept]
    if kind == "feats":
        return [dict(pair.partition("=")[::2] for pair in cell.split("|")).get(detail) for cell in column]
    return [None if value in _EMPTY else value for value in column]


def check_label(key: str) -> None:
    """Raise `ValueError` unless words can have labels of this key."""
    if key not in LABELS[:-1] and not (key.startswith("feats:") and key != "feats:"):
        raise UnknownNameError(describe_unknown("label", key, LABELS))


def control_trees(sentences: Iterable[Sentence], seed: int = 0) -> list[Sentence]:
    """Return the same sentences with trees that depend on nothing but the words and their order.

    Every word type, upper and lower case alike, draws a priority. The tree is the Cartesian tree of the priorities: its
    root is the word of the smallest one, and the words on either side of it are trees of the same kind below it. A
    probe must remember the priorities and compare those of several words, which the position of a word does not tell.
    Words keep their relations, and words without a head have none here, so that scores are about the same words.

    Args:
        sentences: sentences with trees.
        seed: seed of the priorities. A word has the same one wherever it occurs.

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import control_trees
        >>> sentence = Sentence("s1", ("the", "dog", "barks"), (2, 3, 0), ("det", "nsubj", "root"))
        >>> [controlled] = control_trees([sentence], seed=1)
        >>> sorted(controlled.heads).count(0), len(controlled.heads)
        (1, 3)
    """
    controlled = []
    for sentence in map(annotate, sentences):
        heads = cartesian_tree([stable_hash(word.lower(), seed) for word in sentence.words])
        known = zip(heads, sentence.heads, strict=True)
        controlled.append(replace(sentence, heads=tuple(None if gold is None else head for head, gold in known)))
    return controlled


def cartesian_tree(priorities: Sequence[int]) -> list[int]:
    """Return the head of each word in the Cartesian tree, 0 for the root; of equal words, the first is higher."""
    heads = [0] * len(priorities)
    spine: list[int] = []  # the words on the right edge of the tree so far, from the root
    for word, priority in enumerate(priorities):
        below = None  # the highest word of the spine that the new one is above
        while spine and priorities[spine[-1]] > priority:
            below = spine.pop()
        if below is not None:
            heads[below] = word + 1
        if spine:
            heads[word] = spine[-1] + 1
        spine.append(word)
    return heads


def control_labels(
    gold: Callable[[Sentence], Labels], training: Iterable[Sentence], seed: int = 0, *, of_pairs: bool = False
) -> Callable[[Sentence], list[str | None]]:
    """Return the labels of a control task (Hewitt & Liang 2019, §2): every word type has one label, drawn at random.

    Labels are drawn from the distribution of those of the training words, whatever words are labeled later. Words
    without a label have none here.

    Args:
        gold: the labels of the task.
        training: the training sentences.
        seed: seed of the labels. A word has the same one wherever it occurs.
        of_pairs: whether it is the pair of a word and its head whose types draw a label.

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import control_labels, labels
        >>> sentence = Sentence("s1", ("a", "dog", "saw", "a", "cat"), tags=("DET", "NOUN", "VERB", "DET", "NOUN"))
        >>> controlled = control_labels(lambda s: labels(s, "upos"), [sentence])(sentence)
        >>> controlled[0] == controlled[3]
        True
    """
    counts = Counter(label for sentence in training for label in gold(sentence) if label is not None)
    names = sorted(counts)
    ends = list(accumulate(counts[name] for name in names))

    def labels_of(sentence: Sentence) -> list[str | None]:
        types = [word.lower() for word in sentence.words]
        if of_pairs:
            heads = annotate(sentence).heads
            types = [
                f"{of_word}\0{types[head - 1] if head else ''}" for of_word, head in zip(types, heads, strict=True)
            ]
        return [None if label is None else draw_label(name) for name, label in zip(types, gold(sentence), strict=True)]

    def draw_label(name: str) -> str:
        return names[bisect_right(ends, stable_hash(name, seed) % ends[-1])]

    return labels_of

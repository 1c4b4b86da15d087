"""Surface tokens instead of syntactic words: the words of a multiword token become one node.

Universal Dependencies splits tokens such as French *du* into the syntactic words *de* and *le*, which are the nodes of
the tree. A model is trained on running text, in which only *du* occurs. With syntactic words it therefore reads text
that nobody writes; with surface tokens it reads the original text, but one node stands for several words of the tree,
and the arcs between these words are lost. Neither choice suits all questions, so `load_treebank` offers both.
"""

from __future__ import annotations

from dataclasses import replace

from .sentence import Sentence
from .tree import depths


def surface_sentence(sentence: Sentence) -> Sentence:
    """The sentence with its surface tokens as nodes (French *du* is one node instead of *de* and *le*).

    A multiword token takes its head, relation and tags from the one of its words that is highest in the tree (the root
    if it is among them; otherwise the first of the words that are equally high). Arcs that pointed to any of its words
    point to the token, and arcs within the token disappear.

    The result is a tree again. The head of a token's highest word is higher than all words of the token, so it is
    outside the token, and the node that it belongs to is at least as high as the head itself. Each step from a node to
    its head therefore leads strictly upwards, and there can be no cycle.

    The column ``deps`` is dropped, because enhanced dependencies refer to words that no longer exist. The ids of empty
    nodes stay as they are in the file.

    Example:
        >>> from attentionology.corpora_loaders import Sentence, surface_sentence
        >>> words = Sentence("s", ("Marta", "did", "n't", "sleep"), heads=(4, 4, 4, 0), multiword=((2, 3, "didn't"),))
        >>> tokens = surface_sentence(words)
        >>> tokens.words, tokens.heads
        (('Marta', "didn't", 'sleep'), (3, 3, 0))
    """
    if not sentence.multiword:
        return sentence
    range_of = {first: (last, form) for first, last, form in sentence.multiword}
    depth = depths(sentence.heads) if sentence.heads else [0] * len(sentence)
    forms: list[str] = []
    highest: list[int] = []  # for each new node, the 0-based index of its highest word
    node_of = [0] * (len(sentence) + 1)  # 1-based word number → 1-based node number
    word = 1
    while word <= len(sentence):
        last, form = range_of.get(word, (word, sentence.words[word - 1]))
        members = range(word, last + 1)
        forms.append(form)
        # The root and a word without a known head both have depth 0; of the two the root is preferred.
        highest.append(min(members, key=lambda w: (depth[w - 1], sentence.heads[w - 1 : w] != (0,))) - 1)
        for member in members:
            node_of[member] = len(forms)
        word = last + 1

    heads: list[int | None] = []
    for index in highest if sentence.heads else ():
        head = sentence.heads[index]
        heads.append(None if head is None else node_of[head])

    def of_highest(column: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(column[index] for index in highest) if column else ()

    return replace(
        sentence,
        words=tuple(forms),
        heads=tuple(heads),
        relations=of_highest(sentence.relations),
        tags=of_highest(sentence.tags),
        lemmas=of_highest(sentence.lemmas),
        xpos=of_highest(sentence.xpos),
        feats=of_highest(sentence.feats),
        misc=of_highest(sentence.misc),
        lines=tuple(sentence.lines[index] for index in highest) if sentence.lines else (),
        deps=(),
        multiword=(),
    )

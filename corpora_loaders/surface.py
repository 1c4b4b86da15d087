"""Surface tokens instead of syntactic words: the words of one multiword token become one node."""

from __future__ import annotations

from dataclasses import replace

from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.tree import depths


def surface_sentence(sentence: Sentence) -> Sentence:
    """The sentence over its surface tokens (French *du* is one node, not *de* + *le*).

    The rule: a multiword token takes head, relation and tags from that word of it which stands highest in
    the tree (the root if it is among them, else the first of those that stand equally high), and arcs that
    pointed to any of its words point to it. Arcs inside the token disappear. The result is again a tree: the
    head of the highest word lies outside the token and higher still, so following heads always leads upwards.

    Its column ``deps`` is dropped, because enhanced dependencies refer to words that no longer exist; the ids of
    empty nodes stay as the file had them.
    """
    if not sentence.multiword:
        return sentence
    range_of = {first: (last, form) for first, last, form in sentence.multiword}
    depth = depths(sentence.heads) if sentence.heads else [0] * len(sentence)
    forms: list[str] = []
    chosen: list[int] = []  # 0-based index of the word that stands for each new node
    node_of = [0] * (len(sentence) + 1)  # old 1-based word number → new 1-based node number
    word = 1
    while word <= len(sentence):
        last, form = range_of.get(word, (word, sentence.words[word - 1]))
        members = range(word, last + 1)
        forms.append(form)
        chosen.append(min(members, key=lambda w: (depth[w - 1], sentence.heads[w - 1 : w] != (0,))) - 1)
        for member in members:
            node_of[member] = len(forms)
        word = last + 1

    heads: list[int | None] = []
    for index in chosen if sentence.heads else ():
        head = sentence.heads[index]
        heads.append(None if head is None else node_of[head])

    def pick(column: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(column[index] for index in chosen) if column else ()

    return replace(
        sentence,
        words=tuple(forms),
        heads=tuple(heads),
        relations=pick(sentence.relations),
        tags=pick(sentence.tags),
        lemmas=pick(sentence.lemmas),
        xpos=pick(sentence.xpos),
        feats=pick(sentence.feats),
        misc=pick(sentence.misc),
        lines=tuple(sentence.lines[index] for index in chosen) if sentence.lines else (),
        deps=(),
        multiword=(),
    )

"""Trees: surface tokens of their words, and how deep words are."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentionology.corpora_loaders import Sentence, surface_sentence
from attentionology.corpora_loaders.tree import depths


def test_french_du_hangs_where_its_first_word_hung():
    # Il vient du village: de is the case marker of village, le its determiner.
    sentence = Sentence(
        id="s",
        words=("Il", "vient", "de", "le", "village"),
        heads=(2, 0, 5, 5, 2),
        relations=("nsubj", "root", "case", "det", "obl"),
        tags=("PRON", "VERB", "ADP", "DET", "NOUN"),
        lemmas=("il", "venir", "de", "le", "village"),
        xpos=("a", "b", "c", "d", "e"),
        feats=("f", "g", "h", "i", "j"),
        deps=("2:nsubj", "0:root", "5:case", "5:det", "2:obl"),
        misc=("k", "l", "m", "n", "o"),
        multiword=((3, 4, "du"),),
        comments={"genre": "news"},
        text="Il vient du village",
        document="d",
    )
    assert surface_sentence(sentence) == Sentence(
        id="s",
        words=("Il", "vient", "du", "village"),
        heads=(2, 0, 4, 2),
        relations=("nsubj", "root", "case", "obl"),
        tags=("PRON", "VERB", "ADP", "NOUN"),
        lemmas=("il", "venir", "de", "village"),
        xpos=("a", "b", "c", "e"),
        feats=("f", "g", "h", "j"),
        misc=("k", "l", "m", "o"),
        comments={"genre": "news"},
        text="Il vient du village",
        document="d",
    )


def test_plain_words_without_tree_are_merged():
    surface = surface_sentence(Sentence(id="s", words=("de", "le", "lit"), multiword=((1, 2, "du"),)))
    assert (surface.words, surface.heads, surface.relations) == (("du", "lit"), (), ())


@st.composite
def sentences(draw):
    """A random forest under random disjoint multiword tokens; word k is called wk and hangs by relation rk.

    In a random order, each word hangs from an earlier one or has head 0 or None.
    """
    size = draw(st.integers(1, 12))
    order = draw(st.permutations(range(1, size + 1)))
    heads: list[int | None] = [0] * size
    for position, word in enumerate(order):
        choices = [*order[:position], 0, None] if position else [0]
        heads[word - 1] = draw(st.sampled_from(choices))
    starts = draw(st.sets(st.integers(1, size))) | {1}
    spans = [(first, after - 1) for first, after in pairwise([*sorted(starts), size + 1])]
    tokens = [(first, last) for first, last in spans if last > first or draw(st.booleans())]
    return Sentence(
        id="s",
        words=tuple(f"w{k}" for k in range(1, size + 1)),
        heads=tuple(heads),
        relations=tuple(f"r{k}" for k in range(1, size + 1)),
        multiword=tuple((first, last, f"t{first}") for first, last in tokens),
    )


def groups(sentence):
    """The words of each surface token, in order, found word by word."""
    found: list[list[int]] = []
    for word in range(1, len(sentence) + 1):
        inside = any(first < word <= last for first, last, _ in sentence.multiword)
        found = [*found[:-1], [*found[-1], word]] if inside else [*found, [word]]
    return found


def way_up(heads, word):
    """The words from `word` upwards, on a cycle more than there are words."""
    way = [word]
    while heads[way[-1] - 1] and len(way) <= len(heads):
        way.append(heads[way[-1] - 1])
    return way


@given(sentences())
def test_every_arc_is_the_arc_of_the_root_or_the_first_of_the_highest_words(sentence):
    surface = surface_sentence(sentence)
    members = groups(sentence)
    assert len(surface) == len(members)
    for node, (head, relation) in enumerate(zip(surface.heads, surface.relations, strict=True), start=1):
        heights = {word: len(way_up(sentence.heads, word)) for word in members[node - 1]}
        highest = min(members[node - 1], key=lambda word: (heights[word], sentence.heads[word - 1] != 0, word))
        assert relation == f"r{highest}"
        old_head = sentence.heads[highest - 1]
        assert old_head in members[head - 1] if head else old_head == head
        assert len(way_up(surface.heads, node)) <= len(surface)


@given(sentences())
def test_depths_are_those_of_the_definition(sentence):
    heads = sentence.heads
    assert depths(heads) == [len(way_up(heads, word)) - 1 for word in range(1, len(heads) + 1)]


def test_a_chain_of_any_length_is_climbed():
    length = 5000
    assert depths([*range(2, length + 1), 0]) == list(reversed(range(length)))


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.none() | st.integers(0, n), min_size=n, max_size=n)))
def test_exactly_the_cycles_are_refused(heads):
    cyclic = any(len(way_up(heads, word)) > len(heads) for word in range(1, len(heads) + 1))
    if not cyclic:
        assert len(depths(heads)) == len(heads)
        return
    with pytest.raises(ValueError, match="cycle") as caught:
        depths(heads)
    cycle = [int(number) for number in re.findall(r"\d+", str(caught.value))]
    assert cycle[0] == cycle[-1]
    assert [heads[word - 1] for word in cycle[:-1]] == cycle[1:]
    assert len(set(cycle)) == len(cycle) - 1

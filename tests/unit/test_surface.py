from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from attentionology.corpora_loaders import Sentence, surface_sentence


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


def test_arabic_conjunction_and_root_verb_make_the_root():
    # wa+qāla al-rajulu: the second word of the token is the root, the first hangs from it.
    sentence = Sentence(
        id="s",
        words=("wa", "qāla", "al-rajulu"),
        heads=(2, 0, 2),
        relations=("cc", "root", "nsubj"),
        tags=("CCONJ", "VERB", "NOUN"),
        multiword=((1, 2, "waqāla"),),
    )
    surface = surface_sentence(sentence)
    assert surface.words == ("waqāla", "al-rajulu")
    assert surface.heads == (0, 1)
    assert surface.relations == ("root", "nsubj")
    assert surface.tags == ("VERB", "NOUN")


def test_arcs_into_any_word_of_the_token_point_to_the_token():
    # 1 and 5 hang from different words of 2-4, which hang from each other: 2 → 3 → 4 → 6.
    sentence = Sentence(
        id="s",
        words=("a", "b", "c", "d", "e", "f"),
        heads=(2, 3, 4, 6, 3, 0),
        relations=("ra", "rb", "rc", "rd", "re", "rf"),
        multiword=((2, 4, "bcd"),),
    )
    surface = surface_sentence(sentence)
    assert surface.words == ("a", "bcd", "e", "f")
    assert surface.heads == (2, 4, 2, 0)
    assert surface.relations == ("ra", "rd", "re", "rf")


def test_two_tokens_whose_words_hang_from_each_other_both_ways_make_no_cycle():
    # 1 → 3 and 4 → 2 cross between the tokens 1-2 and 3-4; the arc of the higher word remains.
    sentence = Sentence(
        id="s",
        words=("a", "b", "c", "d"),
        heads=(3, 0, 4, 2),
        relations=("ra", "rb", "rc", "rd"),
        multiword=((1, 2, "ab"), (3, 4, "cd")),
    )
    surface = surface_sentence(sentence)
    assert (surface.heads, surface.relations) == ((0, 1), ("rb", "rd"))


def test_a_token_of_words_without_head_has_none():
    sentence = Sentence(
        id="s",
        words=("a", "b", "c", "d"),
        heads=(None, None, 2, 0),
        relations=("_", "_", "rc", "rd"),
        multiword=((1, 2, "ab"),),
    )
    surface = surface_sentence(sentence)
    assert (surface.heads, surface.relations) == ((None, 1, 0), ("_", "rc", "rd"))


def test_a_token_that_holds_the_root_is_the_root_though_another_word_has_no_head():
    sentence = Sentence(
        id="s",
        words=("a", "b", "c"),
        heads=(None, 0, 2),
        relations=("_", "rb", "rc"),
        multiword=((1, 2, "ab"),),
    )
    assert surface_sentence(sentence).heads == (0, 1)


def test_words_outside_tokens_keep_their_missing_heads():
    sentence = Sentence(
        id="s",
        words=("a", "b", "c"),
        heads=(None, 3, 0),
        relations=("_", "rb", "rc"),
        multiword=((2, 3, "bc"),),
    )
    assert surface_sentence(sentence).heads == (None, 0)


def test_plain_words_without_tree_are_merged():
    surface = surface_sentence(Sentence(id="s", words=("de", "le", "lit"), multiword=((1, 2, "du"),)))
    assert (surface.words, surface.heads, surface.relations) == (("du", "lit"), (), ())


@st.composite
def sentences(draw, unattached):
    """A random forest under random disjoint multiword tokens; word k is called wk and hangs by relation rk.

    The words, in a random order, hang from an earlier one or have a head out of `unattached`.
    """
    size = draw(st.integers(1, 12))
    order = draw(st.permutations(range(1, size + 1)))
    heads: list[int | None] = [0] * size
    for position, word in enumerate(order):
        choices = [*order[:position], *unattached] if position else [0]
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
    """The words from `word` upwards; fails on a cycle."""
    way = [word]
    while heads[way[-1] - 1]:
        way.append(heads[way[-1] - 1])
        assert len(way) <= len(heads)
    return way


@given(sentences(unattached=[]))
def test_a_tree_stays_a_tree(sentence):
    surface = surface_sentence(sentence)
    assert len(surface) == len(sentence) - sum(last - first for first, last, _ in sentence.multiword)
    assert surface.heads.count(0) == 1
    root = surface.heads.index(0) + 1
    assert all(way_up(surface.heads, node)[-1] == root for node in range(1, len(surface) + 1))


@given(sentences(unattached=[0, 0]))
def test_the_tokens_that_hold_a_root_are_the_roots(sentence):
    surface = surface_sentence(sentence)
    holding = [any(sentence.heads[word - 1] == 0 for word in members) for members in groups(sentence)]
    assert [head == 0 for head in surface.heads] == holding


@given(sentences(unattached=[0, None]))
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
        way_up(surface.heads, node)

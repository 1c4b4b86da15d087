"""Head words and types of mentions, worked by hand."""

from __future__ import annotations

import pytest

from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.coreference.document import sentence_starts
from attentionology.corpora_loaders.coreference.heads import by_chunk, by_constituents, by_tree, head_word, read_parse
from attentionology.corpora_loaders.coreference.types import PTB, Tagging, mention_type, tagging


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("the/DT mayor/NN of/IN Rome/NNP", "mayor"),
        ("Ann/NNP 's/POS big/JJ house/NN in/IN May/NNP", "house"),
        ("the/DT city/NN 's/POS", "city"),
        ("those/DT in/IN the/DT room/NN", "those"),
        ("adult/NN -/HYPH learned/VBN second/JJ language/NN", "language"),
        ("section/NN 4/CD", "section"),
        ("about/IN 20/CD of/IN them/PRP", "20"),
        ("a/DT small/JJ but/CC fine/JJ garden/NN that/WDT grew/VBD", "garden"),
        ("the/DT attorney/NN general/JJ", "attorney"),
        ("she/PRP", "she"),
        ("the/DT poor/JJ", "poor"),
        ("the/DT man/NN who/WP left/VBD", "man"),
        ("the/DT way/NN we/PRP live/VBP", "way"),
        ("what/WP I/PRP saw/VBD", "what"),
        ("those/DT who/WP left/VBD", "those"),
        ("the/DT man/NN -/: in/IN the/DT house/NN", "man"),
        ("``/`` In/IN Cold/NNP Blood/NNP ''/''", "Blood"),
        ("sister/NN -/HYPH in/IN -/HYPH law/NN", "law"),
    ],
)
def test_chunk_by_penn_treebank_tags(text, head):
    words, tags = zip(*(one.rsplit("/", 1) for one in text.split()), strict=True)
    find = by_chunk(words, Tagging(tags, "PTB"))
    assert words[find(range(len(words)))] == head


def test_chunk_by_universal_tags():
    words, tags = ("de", "l'", "ami", "de", "Marie"), ("ADP", "DET", "NOUN", "ADP", "PROPN")
    assert by_chunk(words, Tagging(tags, "UPOS"))(range(1, 5)) == 2


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("the construction worker", "worker"),
        ("the mayor of Rome", "mayor"),
        ("Ann , a nurse", "Ann"),
        ("the boy 's", "boy"),
        ("a native - born man who left", "man"),
        ("she", "she"),
        ("the way we live", "way"),
        ("she who must", "she"),
    ],
)
def test_chunk_by_form(text, head):
    words = text.split()
    assert words[by_chunk(words, Tagging((), ""))(range(len(words)))] == head


def sentence(words, heads):
    return Sentence("s", tuple(words.split()), heads, ("dep",) * len(heads))


def test_tree_takes_the_word_whose_head_is_outside():
    one = sentence("the mayor of Rome left", (2, 5, 4, 2, 0))
    two = sentence("she and he slept", (4, 3, 4, 0))
    find = by_tree([one, two], sentence_starts((one, two)))
    assert find([0, 1, 2, 3]) == 1
    assert find([2, 3]) == 3
    assert find([5, 6, 7]) == 5  # she and he both hang on slept: the first
    assert find([3, 4, 5]) == 4  # beyond a sentence: the highest


def test_tree_takes_the_highest_of_several():
    one = sentence("a b c d", (0, 1, 2, 3))
    assert by_tree([one], (0,))([1, 3]) == 1
    other = sentence("a b c d", (2, 3, 0, 3))
    assert by_tree([other], (0,))([0, 3]) == 3


def parsed(text):
    """``bits/word/tag`` separated by blanks."""
    bits, words, tags = zip(*(one.split("/") for one in text.split()), strict=True)
    return read_parse(bits, tags), words


@pytest.mark.parametrize(
    ("text", "span", "head"),
    [
        ("(NP(NP*/the/DT *)/mayor/NN (PP*/of/IN (NP*)))/Rome/NNP", (0, 4), "mayor"),
        ("(NP(NP*/the/DT *)/mayor/NN (PP*/of/IN (NP*)))/Rome/NNP", (2, 4), "of"),
        ("(NP(NP*/John/NNP *)/'s/POS */big/JJ *)/dog/NN", (0, 4), "dog"),
        ("(NP(NP*/John/NNP *)/'s/POS */big/JJ *)/dog/NN", (0, 2), "John"),
        ("(NP(QP*/more/JJR */than/IN *)/ten/CD *)/people/NNS", (0, 4), "people"),
        ("(NP(QP*/about/IN *))/ten/CD", (0, 2), "ten"),
        ("(S(NP*)/he/PRP (VP*))/left/VBD", (0, 1), "he"),
        ("(S(NP*)/he/PRP (VP*))/left/VBD", (1, 2), "left"),
        ("(S(NP*/the/DT */new/JJ */city/NN *)/hall/NN (VP*))/burned/VBD", (0, 3), "city"),  # no constituent
        ("(NP*/the/DT *)/poor/JJ", (0, 2), "poor"),
        ("(WHNP*/which/WDT *)/man/NN", (0, 2), "man"),
        ("(NP(NML*/New/NNP *)/York/NNP *)/office/NN", (0, 2), "York"),
        ("(NP*/the/DT *)/accused/VBN", (0, 2), "accused"),
        ("(NP*/our/PRP$ *)/being/VBG", (0, 2), "being"),
        ("(NP*/``/`` (S*)/Meet/VB *)/''/''", (0, 3), "Meet"),
        ("(NP*/John/NNP */and/CC *)/Mary/NNP", (0, 3), "John"),
        ("(NP*/black/JJ */and/CC */white/JJ *)/dog/NN", (0, 4), "dog"),
        ("(NP(NP*)/Ann/NNP */,/, (NP*/a/DT *)/nurse/NN *)/,/,", (0, 5), "Ann"),
    ],
)
def test_head_rules(text, span, head):
    tree, words = parsed(text)
    assert words[head_word(tree, *span)] == head


def test_constituents_of_a_later_sentence_and_beyond():
    first, _ = parsed("(NP*)/Ann/NNP")
    second, _ = parsed("(NP*/her/PRP$ *)/dog/NN")
    sentences = (Sentence("a", ("Ann",)), Sentence("b", ("her", "dog")))
    find = by_constituents(sentences, (0, 1), [first, second], otherwise=max)
    assert find([1, 2]) == 2
    assert find([0, 1, 2]) == 0
    assert by_constituents(sentences, (0, 1), [None, second], otherwise=max)([0, 1]) == 1


def test_a_column_without_constituents_is_no_parse():
    assert read_parse(["*", "-"], ["NN", "NN"]) is None


@pytest.mark.parametrize(
    ("kind", "tag", "expected"),
    [
        ("UPOS", "PRON", "pronoun"), ("UPOS", "DET", "pronoun"), ("UPOS", "PROPN", "proper"),
        ("UPOS", "NOUN", "nominal"), ("UPOS", "VERB", "nominal"), ("PTB", "PRP$", "pronoun"),
        ("PTB", "DT", "pronoun"), ("PTB", "NNPS", "proper"), ("PTB", "NNS", "nominal"),
    ],
)  # fmt: skip
def test_types_by_tag(kind, tag, expected):
    assert mention_type(("X",), 0, (0,), Tagging((tag,), kind)) == expected


@pytest.mark.parametrize(
    ("text", "head", "expected"),
    [("She", 0, "pronoun"), ("its", 0, "pronoun"), ("the Nile", 1, "proper"), ("the dog", 1, "nominal")],
)
def test_types_by_form(text, head, expected):
    words = text.split()
    assert mention_type(words, head, range(len(words)), Tagging((), "")) == expected


def test_which_tags_a_document_has():
    both = Sentence("s", ("a", "b"), tags=("DET", "NOUN"), xpos=("DT", "NN"))
    assert tagging([both]).kind == "UPOS"
    assert tagging([Sentence("s", ("a", "b"), tags=("_", "_"), xpos=("DT", "NN"))]).kind == "PTB"
    assert tagging([Sentence("s", ("a", "b"), xpos=("NOUN", "DET"))]).kind == "UPOS"
    assert tagging([Sentence("s", ("a", "b"), xpos=("NCMS000", "DA0FS0"))]).kind == ""
    assert tagging([both, Sentence("t", ("c",))]).kind == ""
    assert {"NN", "PRP$", "-LRB-"} <= PTB

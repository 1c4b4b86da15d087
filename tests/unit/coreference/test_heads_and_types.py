"""Head words, types, number, gender and person of mentions, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from attentionology.analyses.coreference.decisions import agree, sources_of_agreement, traits
from attentionology.corpora_loaders import CorpusError, Sentence
from attentionology.corpora_loaders.coreference.benchmarks import COLUMNS
from attentionology.corpora_loaders.coreference.building import Marked, build_document
from attentionology.corpora_loaders.coreference.document import sentence_starts
from attentionology.corpora_loaders.coreference.heads import by_chunk, by_constituents, by_tree, head_word, read_parse
from attentionology.corpora_loaders.coreference.types import Tagging, mention_type, tagging
from attentionology.corpora_loaders.coreference.untagged import untagged_head
from attentionology.corpora_loaders.documents import load_documents
from attentionology.corpora_loaders.tags import PTB
from tests.documents import corpus, document


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


def of(text, tags, spans, feats=None):
    """Traits of mentions of one sentence, in text order."""
    columns = {"xpos": [tags]} | ({"feats": [feats]} if feats else {})
    one = document("d", [text], [(start, stop, f"e{n}") for n, (start, stop) in enumerate(spans)], **columns)
    found = traits(one)
    return one, [found[mention] for mention in one.mentions]


@pytest.mark.parametrize(
    ("text", "tags", "span", "expected"),
    [
        ("She left", "PRP VBD", (0, 1), ("Sing", "Fem", "3")),
        ("we left", "PRP VBD", (0, 1), ("Plur", "", "1")),
        ("the dogs left", "DT NNS VBD", (0, 2), ("Plur", "", "3")),
        ("Mr. Lee left", "NNP NNP VBD", (0, 2), ("Sing", "Masc", "3")),
        ("the tall woman left", "DT JJ NN VBD", (0, 3), ("Sing", "Fem", "3")),
        ("the king 's castle", "DT NN POS NN", (0, 4), ("Sing", "", "3")),
        ("Mr. and Mrs. Lee", "NNP CC NNP NNP", (2, 4), ("Sing", "Fem", "3")),
    ],
)
def test_lexicon(text, tags, span, expected):
    one, [found] = of(text, tags, [span])
    assert found == expected
    assert sources_of_agreement(corpus(one)) == ["a lexicon of English pronouns and titles, and tags"]


def test_a_title_is_seen_past_its_full_stop():
    _, found = of("Mrs . R . Lee met Mr . Poe", "", [(0, 5), (6, 9)])
    assert [gender for _, gender, _ in found] == ["Fem", "Masc"]


def test_features_go_before_the_lexicon():
    one, found = of(
        "Mr. Lee and her", "NNP NNP CC PRP", [(0, 2), (3, 4)],
        feats="Number=Sing Number=Sing _ Gender=Masc,Neut|Number=Plur|Person=2",
    )  # fmt: skip
    assert found == [("Sing", "", "3"), ("Plur", "Masc,Neut", "2")]
    assert sources_of_agreement(corpus(one)) == ["UD features"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("Sing", "Fem", "3"), ("Sing", "Fem", "3"), True),
        (("Sing", "Fem", "3"), ("Sing", "", ""), True),
        (("Sing", "Fem", "3"), ("Sing", "Masc", "3"), False),
        (("Sing", "", "3"), ("Plur", "", "3"), False),
        (("", "", "1"), ("", "", "2"), False),
        (("", "Masc,Fem", ""), ("", "Fem", ""), True),
    ],
)
def test_agreement(one, other, expected):
    assert agree(one, other) is agree(other, one) is expected


@pytest.mark.parametrize(
    ("text", "head"),
    [
        # initials, with the full stop as a part of the word or as a word
        ("Howard M . Colvin", "Colvin"),
        ("Howard M. Colvin", "Colvin"),
        ("George H.W . Bush", "Bush"),
        ("G.K . Moopanar", "Moopanar"),
        ("Mrs R . I . Steyn", "Steyn"),
        ("Deborah L . ` ` Debi", "Deborah"),
        ("J.R .", "J.R"),
        ("the U.S . Congress", "Congress"),
        # quotations and apostrophes inside a name
        ("James ' ' Whitey ' ' Bulger", "Bulger"),
        ("James '' Whitey '' Bulger Jr .", "Bulger"),
        ("Arthur ` ` Big Boy ' ' Crudup of Forest", "Crudup"),
        ("William “ Bill ” Rancic", "Rancic"),
        ("Bonnie 'Prince ' Billy", "Billy"),
        ("Catherine de ' Medici", "Medici"),
        ("Catherine de ' Medici , the queen", "Medici"),
        ('Earvin " Magic "', "Earvin"),
        ('The song " Yesterday " Paul wrote', "song"),
        ('a friend " Bob " Smith', "friend"),
        ('Ann " as ever " said', "Ann"),
        ("Ann ' s", "Ann"),
        # titles, and other abbreviations
        ("Dr . Magnus", "Magnus"),
        ("a Dr. Bailey", "Bailey"),
        ("St . Louis", "Louis"),
        ("the No . 4 seed", "seed"),
        ("Warner Bros . Pictures", "Pictures"),
        ("Dr .", "Dr"),
        # what follows a name
        ("John Hibbett DeWitt Jr .", "DeWitt"),
        ("Robert Downey Jr", "Downey"),
        ("Nicholas E . Gonner Jr .", "Gonner"),
        ("Arch Hall , Sr .", "Hall"),
        ("Paul III . Bernini", "Paul"),
        ("Valdemar IV of Denmark", "Valdemar"),
        ("Charles V , Holy Roman Emperor", "Charles"),
        ("Edward I of England", "Edward"),
        ("Richard Rainshaw Rothwell I", "Rothwell"),
        ("World War II veterans", "veterans"),
        # names that are function words too
        ("Stella May Tackett", "Tackett"),
        ("Theresa May", "May"),
        ("the May election", "election"),
        ("Will Smith", "Smith"),
        ("Mary Will Jones", "Jones"),
        ("Carol Off", "Off"),
        ("Emmett Till 's", "Till"),
        # numbers
        ("1 , 000 people", "people"),
        ("Matthew 12 : 40", "Matthew"),
        ("July 2003", "July"),
        ("January 8 , 1880", "8"),
        ("8 - May - 2006", "8"),
        ("the last 20", "20"),
        ("about 20 of them", "20"),
        ("Figure 1.5", "Figure"),
        # what still ends a phrase
        ("the man I saw", "man"),
        ("the man may leave", "man"),
        ("the girl will see", "girl"),
        ("the day off work", "day"),
        ("The House We Own", "House"),
        ("Rome , Italy", "Rome"),
        ("the king . Bernini", "king"),
        ("Martha Wayles Jefferson . Then", "Jefferson"),
        ("20 , Rome", "20"),
        ("Ann 's", "Ann"),
        ("Ann 's big house", "house"),
        ("S", "S"),
        (". . .", "."),
    ],
)
def test_heads(text, head):
    forms = text.split()
    assert forms[untagged_head(forms)] == head


def test_of_common_nouns_it_is_the_last_word_before_a_punctuation_mark_or_function_word():
    rng = np.random.default_rng(0)
    vocabulary = "the old man sea of may will we who 's , ; - ( four".split()
    for _ in range(2000):
        forms = [str(form) for form in rng.choice(vocabulary, size=rng.integers(1, 7))]
        last = None
        for at, form in enumerate(forms):
            if form in (",", ";", "("):
                if last is not None:
                    break
            elif last is not None and form in ("of", "may", "will", "we", "who"):
                break
            elif form != "-" and (last is None or form != "'s" or at < len(forms) - 1):
                last = at
        assert untagged_head(forms) == (len(forms) - 1 if last is None else last), forms


@pytest.mark.parametrize(
    ("first", "second", "heads"),
    [
        ("Dr. Magnus", "Howard M. Colvin", ["Magnus", "Colvin"]),
        ("Jolie G*bor", "Jos* de San Mart*n", ["G*bor", "Mart*n"]),
        ("Ivan *argo", "Charlotte Bront*", ["*argo", "Bront*"]),
        ("*af**ov*", "Jack *", ["*af**ov*", "Jack"]),
        ("Mar*a Ruiz-Garc*a", "Sof*a", ["Ruiz-Garc*a", "Sof*a"]),
        ("James '' Whitey '' Bulger", "Catherine de' Medici", ["Bulger", "Medici"]),
        ("Arthur ``Big Boy'' Crudup", "Bront*'s friend", ["Crudup", "friend"]),
    ],
)
def test_in_a_gap_file(tmp_path, first, second, heads):
    text = f"{first} met {second} (***) before he left."
    row = ["g", text, "he", str(text.index("he left")), first, "0", "FALSE"]
    row += [second, str(len(f"{first} met ")), "TRUE", "http://x"]
    (tmp_path / "gap.tsv").write_text("\t".join(COLUMNS) + "\n" + "\t".join(row) + "\n", encoding="utf-8")
    [document] = load_documents(tmp_path / "gap.tsv").documents
    assert [document.words[m.head or 0] for m in document.mentions] == [*heads, "he"]
    assert document.words[-9:] == ("(", "*", "*", "*", ")", "before", "he", "left", ".")
    assert all(mention.type == "proper" for mention in document.mentions[:2] if not second.endswith("friend"))


@pytest.mark.parametrize("span", [(1, 5), (7, 8), (-1, 1), (2, 1), (10**30, 10**30 + 1)])
def test_mentions_of_words_that_are_not_there(span):
    """A reader of a format, also one of another package, may be given such numbers."""
    sentences = [Sentence("a", ("Ann", "met", "Eve", "."), file="corpus", line=1)]
    with pytest.raises(CorpusError, match=r"corpus:7: a mention of entity 'e' has the words .* of 4"):
        build_document("d", sentences, [Marked((span,), "e", 7)])
    assert build_document("d", sentences, [Marked(((0, 4),), "e", 7), Marked(((4, 4),), "f", 7)]).mentions[0].stop == 4
    with pytest.raises(CorpusError, match="the document 'd' has no sentences"):
        build_document("d", [], [])

"""Entities in CoNLL-U, worked by hand."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest

from attentionology.corpora_loaders import CorpusError
from attentionology.corpora_loaders.coreference.building import Brackets
from attentionology.corpora_loaders.coreference.document import Account
from attentionology.corpora_loaders.documents import load_documents
from tests.corpora import empty, word
from tests.documents import corpus, document

HEADER = "# newdoc id = {doc}\n# global.Entity = eid-etype-head-other\n"


token = functools.partial(word, head=0, upos="NOUN")


@pytest.fixture
def load(write):
    return lambda content, **options: load_documents(write(content), **options)


def shown(document):
    return [(document.text(m), m.entity, m.spans) for m in document.mentions]


def test_nested_singletons_and_chains_over_sentences(load):
    content = (
        HEADER.format(doc="x") + "# sent_id = x-1\n"
        + token(1, "the", head=2, upos="DET", misc="Entity=(e1-person-2-")
        + token(2, "mayor", head=0, relation="root")
        + token(3, "of", head=4, upos="ADP")
        + token(4, "Rome", head=2, upos="PROPN", misc="Entity=(e2-place-1-)e1)|SpaceAfter=No")
        + "\n# sent_id = x-2\n"
        + token(1, "she", head=0, relation="root", upos="PRON", misc="Entity=(e1-person-1-)")
        + "\n"
        + HEADER.format(doc="y") + "# sent_id = y-1\n" + token(1, "it", upos="PRON", misc="Entity=(e1--1-)") + "\n"
    )  # fmt: skip
    corpus = load(content)
    x, y = corpus.documents
    assert (x.id, y.id) == ("x", "y")
    assert shown(x) == [("the mayor of Rome", "e1", ((0, 4),)), ("Rome", "e2", ((3, 4),)), ("she", "e1", ((4, 5),))]
    assert [x.words[m.head or 0] for m in x.mentions] == ["mayor", "Rome", "she"]
    assert [m.type for m in x.mentions] == ["nominal", "proper", "pronoun"]
    assert [m.line for m in x.mentions] == [4, 7, 10]
    assert [x.is_singleton(m) for m in x.mentions] == [False, True, False]
    assert x.chains == {"e1": (0, 2), "e2": (1,)}
    assert [x.sentence_of(word) for word in range(5)] == [0, 0, 0, 0, 1]
    counts = corpus.counts()
    assert (counts["mentions"], counts["entities"], counts["singletons"]) == (4, 3, 2)
    assert x.head_rule.startswith("the word whose syntactic head")


def test_fields_are_named_by_the_header(load):
    content = (
        "# newdoc id = g\n# global.Entity = entity-GRP-infstat-minspan-link\n"
        + token(1, "a", head=3, misc="Entity=(person-7-new-2,3-x-y")
        + token(2, "b", head=3)
        + token(3, "c", head=0, misc="Entity=person-7)(person-7)")
        + "\n"
    )
    mentions = load(content).documents[0].mentions
    assert [(m.entity, m.spans, m.minspan) for m in mentions] == [("7", ((0, 3),), (1, 2)), ("7", ((2, 3),), ())]


def test_discontinuous_mentions(load):
    content = (
        HEADER.format(doc="x")
        + token(1, "a", head=5, misc="Entity=(e1[1/2]-person-1-")
        + token(2, "b", head=1, misc="Entity=e1[1/2])")
        + token(3, "c", head=5)
        + token(4, "d", head=1, misc="Entity=(e1[2/2]-person-1-)(e1--1-)")
        + token(5, "e", head=0)
        + "\n"
    )
    corpus = load(content)
    assert shown(corpus.documents[0]) == [("a b … d", "e1", ((0, 2), (3, 4))), ("d", "e1", ((3, 4),))]
    assert corpus.documents[0].mentions[0].words == (0, 1, 3)
    assert corpus.documents[0].mentions[0].head == 0
    assert corpus.counts()["mentions_discontinuous"] == 1


def test_brackets_on_empty_nodes(load):
    content = (
        HEADER.format(doc="x")
        + empty("0.1", "Entity=(e1--1-)")
        + token(1, "corro", head=0, upos="VERB")
        + token(2, "y", head=1)
        + empty("2.1", "Entity=(e2--1-")
        + token(3, "mi", head=4, upos="PRON", misc="Entity=(e1--1-)")
        + token(4, "perro", head=1)
        + empty("4.1", "Entity=e2)")
        + "\n"
    )
    corpus = load(content)
    document = corpus.documents[0]
    assert shown(document) == [("", "e1", ((0, 0),)), ("mi", "e1", ((2, 3),)), ("mi perro", "e2", ((2, 4),))]
    assert [(m.head, m.type) for m in document.mentions] == [(None, "zero"), (2, "pronoun"), (3, "nominal")]
    assert corpus.counts()["mentions_zero"] == 1
    assert "Mentions on empty nodes, without words: 1." in corpus.remarks()


def test_split_antecedents_and_bridges_are_counted(load):
    content = (
        HEADER.format(doc="x")
        + token(1, "Ann", head=3, misc="Entity=(e1--1-)")
        + token(2, "Bob", head=3, misc="Entity=(e2--1-)|Bridge=e1<e2:part")
        + token(3, "they", head=0, misc="Entity=(e3--1-)|SplitAnte=e1<e3,e2<e3")
        + "\n"
    )
    counts = load(content).counts()
    assert (counts["split_antecedents"], counts["bridges"], counts["mentions"]) == (1, 1, 3)


def test_remarks_count_what_was_read_and_what_was_not_used():
    many = document(
        "a",
        ["Ann saw Bob", "and she waved to him", "then Ann left"],
        [(0, 1, "ann"), (2, 3, "bob"), (4, 5, "ann"), (7, 8, "bob"), (9, 10, "ann"), (1, 4, "it"), (6, 10, "x")],
    )
    accounted = Account(faults=5, repeated=6, split_antecedents=7, bridges=1234)
    read = replace(corpus(many, document("b", ["so what"], [(1, 2, "y")])), account=accounted, renamed=9)
    first, *rest = read.remarks()
    assert first == "8 mentions of 5 entities in 2 documents; 2 entities are mentioned more than once."
    one = document("b", ["so what"], [(1, 2, "y")])
    assert corpus(one).remarks()[0] == "1 mention of 1 entity in 1 document; 0 entities are mentioned more than once."
    twice = document("b", ["so what"], [(0, 1, "y"), (1, 2, "y")])
    assert corpus(twice).remarks()[0] == "2 mentions of 1 entity in 1 document; 1 entity is mentioned more than once."
    assert [remark for remark in rest if not remark.startswith(("Heads of", "Types of"))] == [
        "Mentions that go beyond a sentence: 2.",
        "Mentions marked twice, counted once: 6.",
        "Malformed brackets, ignored: 5.",
        "Mentions with split antecedents, a link that is not used: 7.",
        "Bridging links, not used: 1,234.",
        "Document ids that occurred before, to which a number was appended: 9.",
    ]


def test_pairs_of_winobias_are_counted_without_documents_of_other_families():
    families = ("WinoBias: a", "WinoBias: a", "WinoBias: b", "WinoBias: c", "WinoBias: c", "WinoBias: d", "", "other")
    near_copies = [replace(document("d", ["so what"], []), family=family) for family in families]
    remarks = [remark for remark in corpus(*near_copies).remarks() if "WinoBias" in remark]
    assert remarks == [
        "Of 6 documents of WinoBias only the right occupation is marked; the other was found by the paper's list of "
        "forty.",
        "Sentences of WinoBias that differ in the pronoun alone are sampled and held out together: 2 pairs; 2 "
        "sentences have no counterpart.",
    ]
    assert not any("WinoBias" in remark for remark in corpus(*near_copies[-2:]).remarks())


def test_text_before_the_first_document_is_one(load):
    content = "# global.Entity = eid\n" + token(1, "a", misc="Entity=(1)") + "\n"
    assert load(content).documents[0].id == "file.conllu"


@pytest.mark.parametrize(
    ("misc", "message", "faults"),
    [
        ("Entity=(e1-person-1-", "file.conllu:3: a mention of entity 'e1' is opened but not closed", 1),
        ("Entity=e1)", "file.conllu:3: a mention of entity 'e1' is closed but was not opened", 1),
        ("Entity=e1", "file.conllu:3: Entity=e1 is malformed", 1),
        ("Entity=(e1-a-1-))", "file.conllu:3: Entity=(e1-a-1-)) is malformed", 1),
        ("Entity=", "file.conllu:3: Entity= is malformed", 1),
        ("Entity=()", "file.conllu:3: Entity=() is malformed", 1),
        ("Entity=(e1[2/2]--1-)", "file.conllu:3: a mention of entity 'e1' has part 2 without part 1", 1),
        ("Entity=(e1[1/2]--1-)", "file.conllu:3: a mention of entity 'e1' has only 1 of its 2 parts", 1),
        ("Entity=(e1[3/2]--1-)", "file.conllu:3: Entity=(e1[3/2]--1-) is malformed", 1),
    ],
)
def test_malformed_entities_are_errors_with_their_line_or_counted(load, misc, message, faults):
    content = HEADER.format(doc="x") + token(1, "a", misc=misc) + token(2, "b", head=1, misc="Entity=(e9--1-)") + "\n"
    with pytest.raises(CorpusError) as error:
        load(content)
    assert message in str(error.value)
    corpus = load(content, lenient=True)
    assert corpus.counts()["malformed_brackets"] == faults
    assert ("b", "e9", ((1, 2),)) in shown(corpus.documents[0])


def test_entities_need_a_header(load):
    with pytest.raises(CorpusError, match=r"file.conllu:1: an entity has no comment '# global.Entity"):
        load(token(1, "a", misc="Entity=(e1--1-)") + "\n")


def test_mentions_on_empty_nodes_beside_each_other_are_two(load):
    content = HEADER.format(doc="x") + token(1, "a") + empty("1.1", "Entity=(e6--1-)") + empty("1.2", "Entity=(e6--1-)")
    corpus = load(content + "\n")
    assert [m.line for m in corpus.documents[0].mentions] == [4, 5]
    assert corpus.counts()["mentions_repeated"] == 0


def test_mentions_that_differ_in_an_empty_node_are_two(load):
    content = HEADER.format(doc="x") + empty("0.1", "Entity=(e6--1-") + token(1, "a", misc="Entity=(e6--1-)e6)(e6--1-)")
    corpus = load(content + "\n")
    assert [(m.line, m.spans) for m in corpus.documents[0].mentions] == [(3, ((0, 1),)), (4, ((0, 1),))]
    assert corpus.counts()["mentions_repeated"] == 1  # the one that is marked on the word twice


def test_a_part_goes_on_the_last_mention_that_lacks_it_even_if_an_earlier_one_is_equal():
    brackets = Brackets("file.conllu", Account(), lenient=False)
    for start in (0, 1, 0):
        brackets.read("(e)", "e", (start, start + 1), 1, part=(1, 2))
    for start in (3, 4, 5):
        brackets.read("(e)", "e", (start, start + 1), 1, part=(2, 2))
    assert [mention.spans for mention in brackets.finish()] == [((0, 1), (3, 4)), ((1, 2), (4, 5)), ((0, 1), (5, 6))]


def test_parts_without_words_are_no_parts(load):
    content = (
        HEADER.format(doc="x")
        + empty("0.1", "Entity=(e6[1/2]--1-)")
        + token(1, "a", misc="Entity=(e7[1/2]--1-)")
        + empty("1.1", "_")
        + token(2, "b", head=1, misc="Entity=(e6[2/2]--1-)(e7[2/2]--1-)")
        + "\n"
    )
    corpus = load(content)
    assert shown(corpus.documents[0]) == [("a b", "e7", ((0, 2),)), ("b", "e6", ((1, 2),))]
    assert [m.line for m in corpus.documents[0].mentions] == [4, 3]
    assert corpus.counts()["mentions_discontinuous"] == 0


def test_the_header_may_stand_in_a_block_of_its_own(load):
    content = (
        "# global.Entity = eid-etype-head-other\n# newdoc id = x\n\n" + token(1, "a", misc="Entity=(e1--1-)") + "\n"
    )
    assert shown(load(content).documents[0]) == [("a", "e1", ((0, 1),))]


def test_two_documents_of_one_name_are_two(load):
    once = HEADER.format(doc="x") + token(1, "a", misc="Entity=(e1--1-)") + "\n"
    corpus = load(once + once)
    assert [d.id for d in corpus.documents] == ["x", "x#2"]
    assert corpus.counts()["singletons"] == 2


def test_odd_digits_are_no_numbers(load):
    content = HEADER.format(doc="x").replace("head", "minspan") + token(1, "a", misc="Entity=(e1--²-)") + "\n"
    assert load(content).documents[0].mentions[0].minspan == ()
    with pytest.raises(CorpusError, match=r"is opened but not closed"):
        load(content.replace("(e1--²-)", "(e1[" + "1" * 5000 + "/2]--1-"))

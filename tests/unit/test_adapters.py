"""Sentences from objects of other libraries, here of stand-ins with the attributes that their documentation names."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from attentionology import CorpusError, Sentence
from attentionology.corpora_loaders import as_sentences, treebank_of

ROWS = [
    # the words of "Viene del mar.", with head, relation, part of speech, lemma, tag and features
    ("Viene", 0, "root", "VERB", "venir", "V", {"Mood": "Ind", "Number": "Sing"}),
    ("de", 4, "case", "ADP", "de", "A", None),
    ("el", 4, "det", "DET", "el", "D", None),
    ("mar", 1, "obl", "NOUN", "mar", "N", None),
    (".", 1, "punct", "PUNCT", ".", "P", None),
]
FORMS, HEADS, RELATIONS, TAGS, LEMMAS, XPOS, FEATS = zip(*ROWS, strict=True)
EXPECTED = Sentence(
    "s1",
    FORMS,
    heads=HEADS,
    relations=RELATIONS,
    tags=TAGS,
    lemmas=LEMMAS,
    xpos=XPOS,
    feats=("Mood=Ind|Number=Sing", "_", "_", "_", "_"),
    multiword=((2, 3, "del"),),
    text="Viene del mar.",
)
WITHOUT_TOKENS = ("id", "multiword", "text", "comments", "predicted_by", "document")


def stand_in(module, base=object, **attributes):
    """An object whose class is of a module that is not there."""
    kind = type("StandIn", (base,), {"__module__": module})
    made = kind()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def spacy_document(spaces=True):
    rows = list(ROWS)
    tokens = []
    for word, _, relation, tag, lemma, xpos, feats in rows:
        morph = "|".join(f"{k}={v}" for k, v in feats.items()) if feats else ""
        token = SimpleNamespace(text=word, dep_=relation, pos_=tag, lemma_=lemma, tag_=xpos, morph=morph)
        tokens.append(SimpleNamespace(**vars(token), is_space=False))
    heads = [head - 1 if head else index for index, head in enumerate(HEADS)]
    if spaces:  # between "de" and "el", as head of "de" and with the head "mar"
        space = {"text": "  ", "dep_": "x", "pos_": "SPACE", "lemma_": " ", "tag_": "_SP", "morph": ""}
        tokens.insert(2, SimpleNamespace(**space, is_space=True))
        heads = [0, 2, 4, 4, 0, 0]
    for index, token in enumerate(tokens):
        token.i, token.head = index, tokens[heads[index]]
    kind = type("Span", (list,), {"__module__": "spacy.tokens.span"})
    span = kind(tokens)
    span.text, span.start, span.doc = "Viene del mar.", 0, None
    return stand_in("spacy.tokens.doc", sents=[span], has_annotation=lambda name: True)


def stanza_document():
    names = ("text", "head", "deprel", "upos", "lemma", "xpos")
    words = [
        SimpleNamespace(
            id=number,
            feats="|".join(f"{k}={v}" for k, v in row[-1].items()) if row[-1] else None,
            **dict(zip(names, row[:-1], strict=True)),
        )
        for number, row in enumerate(ROWS, start=1)
    ]
    tokens = [SimpleNamespace(words=of, text=text) for of, text in [(words[:1], "Viene"), (words[1:3], "del")]]
    tokens += [SimpleNamespace(words=[word], text=word.text) for word in words[3:]]
    sentence = SimpleNamespace(words=words, tokens=tokens, sent_id="s1", text="Viene del mar.")
    return stand_in("stanza.models.common.doc", sentences=[sentence])


def conllu_list():
    names = ("form", "head", "deprel", "upos", "lemma", "xpos", "feats")
    tokens: list[dict[str, Any]] = [
        {"id": number, **dict(zip(names, row, strict=True))} for number, row in enumerate(ROWS, start=1)
    ]
    for token in tokens:
        token |= {"deps": None, "misc": None}
    tokens.insert(1, {**dict.fromkeys(tokens[0]), "id": (2, "-", 3), "form": "del"})
    made = stand_in("conllu.models", list)
    made += tokens
    made.metadata = {"sent_id": "s1", "text": "Viene del mar."}
    return made


def udapi_tree():
    nodes = []
    for number, (form, _, relation, tag, lemma, xpos, feats) in enumerate(ROWS, start=1):
        cell: Any = "|".join(f"{k}={v}" for k, v in feats.items()) if feats else "_"
        columns: dict[str, Any] = {
            "form": form,
            "deprel": relation,
            "upos": tag,
            "lemma": lemma,
            "xpos": xpos,
            "feats": cell,
        }
        nodes.append(SimpleNamespace(ord=number, raw_deps="_", misc="", **columns))
    root = SimpleNamespace(ord=0)
    for node, head in zip(nodes, HEADS, strict=True):
        node.parent = nodes[head - 1] if head else root
    token = SimpleNamespace(words=nodes[1:3], form="del")
    facts: dict[str, object] = {
        "sent_id": "s1",
        "text": "Viene del mar.",
        "empty_nodes": [],
        "multiword_tokens": [token],
    }
    return stand_in("udapi.core.root", descendants=nodes, **facts)


def row(**changes):
    classes = {"VERB": 16, "ADP": 2, "DET": 8, "NOUN": 0, "PUNCT": 1}
    columns = {
        "idx": "s1",
        "text": "Viene del mar.",
        "tokens": list(FORMS),
        "head": list(map(str, HEADS)),
        "deprel": list(RELATIONS),
        "upos": [classes[tag] for tag in TAGS],
        "lemmas": list(LEMMAS),
        "xpos": list(XPOS),
        "feats": [str(feats) for feats in FEATS],
        "mwt": [{"id": "2-3", "form": "del"}],
    }
    return columns | changes


OBJECTS = {
    "spacy": spacy_document,
    "stanza": stanza_document,
    "conllu": conllu_list,
    "udapi": udapi_tree,
    "datasets": row,
}


@pytest.mark.parametrize("library", OBJECTS)
def test_all_libraries_give_the_same_sentence(library):
    before = set(sys.modules)
    [sentence] = as_sentences(OBJECTS[library]())
    assert set(sys.modules) == before
    columns = {field: getattr(EXPECTED, field) for field in Sentence.__dataclass_fields__}
    for field in WITHOUT_TOKENS if library == "spacy" else ("comments", "predicted_by"):
        del columns[field]
    assert {field: getattr(sentence, field) for field in columns} == columns
    assert sentence.predicted_by == {"spacy": "spaCy", "stanza": "Stanza"}.get(library)
    [again] = treebank_of([OBJECTS[library]()])
    assert again == sentence


def test_predicted_trees_are_marked_and_counted():
    treebank = treebank_of([stanza_document(), conllu_list(), spacy_document()])
    assert treebank.counts()["predicted_sentences"] == 2
    said = "Annotation that Stanza and spaCy predicted, and no person has checked: 2 of 3 sentences."
    assert said in treebank.remarks()
    assert "predicted_sentences" not in treebank_of(conllu_list()).counts()


def test_a_text_without_annotation_is_not_predicted():
    document = spacy_document()
    for token in document.sents[0]:
        token.dep_ = token.pos_ = token.lemma_ = token.tag_ = ""
        token.head = token
    [sentence] = as_sentences(document)
    assert (sentence.words, sentence.heads, sentence.relations, sentence.predicted_by) == (FORMS, (), (), None)


def test_a_space_that_is_the_root_leaves_a_root_to_what_it_governs():
    document = spacy_document()
    tokens = document.sents[0]
    tokens[0].head = tokens[2].head = tokens[2]  # the verb depends on the space, which is the root
    [sentence] = as_sentences(document)
    assert sentence.heads == (0, 0, 4, 1, 1)


def test_part_of_a_sentence_leaves_heads_outside_of_it_unknown():
    [span] = spacy_document(spaces=False).sents
    part = type(span)(span[1:4])
    part.text, part.start, part.doc = "del mar", 1, None
    [sentence] = as_sentences(part)
    assert (sentence.words, sentence.heads) == (("de", "el", "mar"), (3, 3, None))


def test_the_columns_of_several_rows_and_the_names_of_classes():
    rows = [row(), row(idx="s2", tokens=["Mar"], head=["0"], deprel=["root"], upos=[0], lemmas=["mar"], feats=["None"])]
    rows[1] |= {"xpos": ["N"], "mwt": []}
    assert as_sentences({name: [each[name] for each in rows] for name in rows[0]}) == as_sentences(rows)
    names = SimpleNamespace(feature=SimpleNamespace(names=["N", "_", "P"]))
    data = stand_in("datasets.arrow_dataset", list, features={"upos": names})
    data += [row(upos=[0, 2, 2, 0, 1])]
    assert next(iter(as_sentences(data))).tags == ("N", "P", "P", "N", "_")
    data[0]["upos"][0] = 3
    with pytest.raises(CorpusError, match="index 3, and there are 3"):
        as_sentences(data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": ["Viene", "del", *FORMS[1:]], "head": ["0", "None", *map(str, HEADS[1:])]}, "token 2 'del' has no"),
        ({"head": ["0", "one", "4", "1", "1"]}, "the heads are not numbers"),
        ({"head": ["0", "4", "4"]}, "5 words but 3 heads"),
        ({"head": ["0", "4", "4", "1", "7"]}, "the head of word 5 '.' is 7, outside 0 … 5"),
        ({"tokens": []}, "no words"),
    ],
)
def test_rows_with_mistakes_are_refused_with_their_name(changes, message):
    with pytest.raises(CorpusError, match=rf"(?s)'s1'.*{message}"):
        as_sentences([row(**changes)])


def test_rows_of_texts_and_rows_without_one():
    assert next(iter(as_sentences({"text": "Cats sleep.", "label": 1}))).words == ("Cats", "sleep", ".")
    with pytest.raises(TypeError, match="tokens or text, found the columns question"):
        as_sentences([{"question": "Who?"}])


@pytest.mark.parametrize("module", ["spacy.tokens.token", "stanza.models.common.doc", "udapi.core.node"])
def test_a_part_of_a_sentence_is_refused(module):
    with pytest.raises(TypeError, match=rf"expected .* of {module.partition('.')[0]}, not StandIn"):
        as_sentences(stand_in(module))


def test_sentences_are_in_the_documents_that_their_comments_begin():
    first, second, third = conllu_list(), conllu_list(), conllu_list()
    first.metadata["newdoc id"], third.metadata["newdoc"] = "d1", None
    treebank = treebank_of([first, second, third])
    assert [(each.id, each.document) for each in treebank] == [("s1", "d1"), ("s1#2", "d1"), ("s1#3", "doc2")]

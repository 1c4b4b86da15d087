"""The sample treebank is read here line by line and by hand, so that it also checks the reader."""

import re
from collections import Counter, defaultdict

import pytest

from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK

UNIVERSAL_RELATIONS = {
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj",
    "cop", "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith",
    "iobj", "list", "mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "punct",
    "reparandum", "root", "vocative", "xcomp",
}  # fmt: skip
UNIVERSAL_POS = {
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X",
}  # fmt: skip
NON_PROJECTIVE = {
    "garden-11",
    "bakery-19",
    "field_notes-03",
    "museum-10",
    "council-07",
    "council-11",
    "match-15",
}
MENTION = re.compile(r"\((?P<open>\w+)-(?P<type>\w+)-(?P<head>\d+)-(?P<single>\))?|(?P<close>\w+)\)")


@pytest.fixture(scope="module")
def sample():
    return load_treebank(SAMPLE_TREEBANK)


@pytest.fixture(scope="module")
def blocks():
    """The rows of each sentence, as lists of ten columns, range lines included."""
    return [
        [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        for block in SAMPLE_TREEBANK.read_text(encoding="utf-8").strip().split("\n\n")
    ]


def ancestors(heads, word):
    found = []
    while word:
        word = heads[word - 1]
        found.append(word)
    return found


def is_projective(heads):
    """Every word between a head and its dependent is below that head."""
    return all(
        head in ancestors(heads, between)
        for word, head in enumerate(heads, start=1)
        for between in range(min(word, head) + 1, max(word, head))
    )


def mentions(sample):
    """For each mention: document, entity, type, sentence id, first and last word, head within the mention."""
    for sentence in sample:
        opened = []
        for number, misc in enumerate(sentence.misc, start=1):
            entity = dict(item.split("=", 1) for item in misc.split("|") if "=" in item).get("Entity", "")
            matches = list(MENTION.finditer(entity))
            assert "".join(match[0] for match in matches) == entity, (sentence.id, entity)
            for match in matches:
                if match["open"]:
                    opened.append((match["open"], match["type"], number, int(match["head"])))
                if match["close"] or match["single"]:
                    # brackets are nested, so the last opened is the first to close
                    name, kind, first, head = opened.pop()
                    assert name == match["close"] or match["single"], (sentence.id, entity)
                    yield sentence.document, name, kind, sentence.id, first, number, head
        assert not opened, sentence.id


def test_the_readme_gives_its_size(sample):
    counts = sample.counts()
    readme = " ".join(SAMPLE_TREEBANK.with_name("README.md").read_text(encoding="utf-8").split())
    assert f"{counts['sentences']} English sentences in ten short connected documents" in readme
    assert f"{counts['words']:,} words" in readme
    assert f"{counts['multiword_tokens']} multiword tokens" in readme
    assert f"sentences of {min(map(len, sample))} to {max(map(len, sample))} words" in readme
    assert (counts["sentences"], counts["words"], counts["multiword_tokens"]) == (157, 2809, 34)
    assert (min(map(len, sample)), max(map(len, sample)), counts["documents"]) == (3, 49, 10)


def test_all_rows_are_read(sample, blocks):
    assert [list(sentence.words) for sentence in sample] == [
        [row[1] for row in rows if row[0].isdigit()] for rows in blocks
    ]
    assert sample.counts()["multiword_tokens"] == sum("-" in row[0] for rows in blocks for row in rows)


def test_sentence_ids_name_their_document_and_are_unique(sample):
    assert [s.id for s in sample if s.id.rsplit("-", 1)[0] != s.document] == []
    assert len({s.id for s in sample}) == len(sample)
    assert sample.renamed == 0


def test_each_sentence_is_a_tree_with_one_root(sample):
    for sentence in sample:
        heads = sentence.heads
        assert set(heads) <= set(range(len(heads) + 1)), sentence.id
        assert heads.count(0) == 1, sentence.id
        assert sentence.relations[heads.index(0)] == "root", sentence.id
        assert sentence.relations.count("root") == 1, sentence.id


def test_relations_and_parts_of_speech_are_universal(sample):
    assert len(UNIVERSAL_RELATIONS) == 37
    assert {relation.split(":")[0] for relation in sample.relations} <= UNIVERSAL_RELATIONS
    assert {tag for sentence in sample for tag in sentence.tags} <= UNIVERSAL_POS


def test_text_is_what_the_tokens_spell(sample, blocks):
    for sentence, rows in zip(sample, blocks, strict=True):
        text, covered = "", 0
        for number, form, *_, misc in rows:
            if "-" in number:
                covered = int(number.split("-")[1])
            elif int(number) <= covered:
                continue
            text += form + ("" if "SpaceAfter=No" in misc.split("|") else " ")
        assert text.rstrip() == sentence.text


def test_exactly_the_intended_sentences_are_non_projective(sample):
    assert {s.id for s in sample if not is_projective(s.heads)} == NON_PROJECTIVE


def test_mentions_open_and_close_and_hold_their_head(sample):
    found = list(mentions(sample))
    opening = sum(misc.count("(") for sentence in sample for misc in sentence.misc)
    assert len(found) == opening > 0
    assert [mention for *mention, first, last, head in found if not 1 <= head <= last - first + 1] == []


def test_an_entity_has_one_type_and_one_document(sample):
    seen = defaultdict(set)
    for document, entity, kind, *_ in mentions(sample):
        seen[entity].add((document, kind))
    assert [entity for entity, places in seen.items() if len(places) > 1] == []


def test_each_document_has_at_least_five_chains(sample):
    sizes = Counter((document, entity) for document, entity, *_ in mentions(sample))
    chains = Counter(document for (document, _), size in sizes.items() if size >= 2)
    assert set(chains) == {sentence.document for sentence in sample}
    assert min(chains.values()) >= 5

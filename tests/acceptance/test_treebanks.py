"""Treebanks of Universal Dependencies and texts with labels, from the data folder."""

import re

import conllu
import pytest

from attentionology.corpora_loaders import load_labeled, load_treebank


def non_projective(heads):
    """Whether some word between a head and its dependent is not below that head."""

    def below(word, top):
        while word and word != top:
            word = heads[word - 1]
        return word == top

    return any(
        not below(between, head)
        for word, head in enumerate(heads, start=1)
        for between in range(min(word, head) + 1, max(word, head))
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("en_ewt-dev.conllu", {"sentences": 2001, "words": 25147, "multiword_tokens": 359, "empty_nodes": 4}),
        ("en_ewt-train.conllu", {"sentences": 12544, "words": 204577}),
        ("en_gum-dev.conllu", {"sentences": 1575, "documents": 30}),
        ("en_partut-dev.conllu", {"sentences": 156}),
        ("fr_gsd-dev.conllu", {"sentences": 1476, "multiword_tokens": 1057}),
        ("ko_kaist-dev.conllu", {"sentences": 2066}),
    ],
)
def test_published_counts(data_file, name, expected):
    counts = load_treebank(data_file(f"ud/{name}")).counts()
    assert {key: counts[key] for key in expected} == expected
    assert counts["sentences_without_single_root"] == counts["words_without_head"] == 0
    assert counts["renamed_sentence_ids"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fr_gsd-dev.conllu", "en_gum-dev.conllu", "en_ewt-dev.conllu"])
def test_trees_are_those_of_the_conllu_package(data_file, name):
    path = data_file(f"ud/{name}")
    bank = load_treebank(path)
    with path.open(encoding="utf-8") as file:
        for sentence, theirs in zip(bank, conllu.parse_incr(file), strict=True):
            words = [token for token in theirs if isinstance(token["id"], int)]
            assert sentence.id == theirs.metadata["sent_id"]
            assert sentence.text == theirs.metadata["text"]
            assert list(sentence.words) == [token["form"] for token in words], sentence.id
            assert list(sentence.heads) == [token["head"] for token in words], sentence.id
            assert list(sentence.relations) == [token["deprel"] for token in words], sentence.id


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fr_gsd-dev.conllu", "en_ewt-dev.conllu"])
def test_syntactic_words_are_surface_tokens_and_the_words_merged_into_them(data_file, name):
    path = data_file(f"ud/{name}")
    syntactic, surface = load_treebank(path), load_treebank(path, tokens="surface")
    merged = sum(last - first for sentence in syntactic for first, last, _ in sentence.multiword)
    assert merged > 0
    assert syntactic.counts()["words"] == surface.counts()["words"] + merged
    assert surface.counts()["sentences_without_single_root"] == surface.counts()["multiword_tokens"] == 0


@pytest.mark.slow
def test_korean_trees_cross(data_file):
    bank = load_treebank(data_file("ud/ko_kaist-dev.conllu"))
    assert sum(non_projective(sentence.heads) for sentence in bank) == 473


def test_sst2(data_file):
    path = data_file("classification/sst2.train.txt")
    raw = path.read_text(encoding="utf-8")
    texts = load_labeled(path)
    assert len(texts) == 6920
    assert texts.classes == ("0", "1")
    assert texts.balance() == {label: len(re.findall(f"^{label} ", raw, re.MULTILINE)) for label in "01"}
    assert texts.counts()["words"] == len(raw.split()) - 6920
    assert texts[0].words[:3] == ("a", "stirring", ",")
    assert (texts.blank, texts.wordless) == (0, ())

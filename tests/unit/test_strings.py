"""Strings, lists of words and lists of sentences where files or sentences are expected."""

import numpy as np
import pytest

import attentionology
from attentionology import Sentence, Treebank, extract, load_text, load_treebank
from attentionology.corpora_loaders import CorpusError
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from tests import tiny

TREE = "# sent_id = s1\n# newdoc\n1\tShe\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tsings\t_\t_\t_\t_\t0\troot\t_\t_\n\n"


def by_words(batches):
    return {sentence.words: maps for batch in batches for sentence, maps in batch.unpadded()}


def test_a_string_a_list_of_strings_and_a_list_of_words_have_the_maps_of_their_sentences():
    encoder = tiny.encoder("bert")
    sentences = [Sentence("a", ("The", "dog", "sleeps", ".")), Sentence("b", ("Cats", "sleep"))]
    expected = by_words(extract(encoder, sentences))
    for given in (["The dog sleeps.", "Cats sleep"], [["The", "dog", "sleeps", "."], ("Cats", "sleep")]):
        for made in (given, (text for text in given)):
            maps = by_words(extract(encoder, made))
            assert maps.keys() == expected.keys()
            assert all(np.array_equal(maps[words], expected[words]) for words in expected)
    assert list(by_words(extract(encoder, "Cats sleep"))) == [("Cats", "sleep")]


def test_equal_texts_get_different_ids():
    (batch,) = extract(tiny.encoder("bert"), ["Cats", "Cats", ["Cats"]])
    assert sorted(sentence.id for sentence in batch.sentences) == ["Cats", "Cats#2", "Cats#3"]


@pytest.mark.parametrize(
    ("texts", "error"),
    [("  ", CorpusError), ([[]], CorpusError), ([3], TypeError), (3, TypeError), (b"Cats", TypeError)],
)
def test_texts_that_cannot_be_read_are_refused_by_the_call(texts, error):
    with pytest.raises(error, match="expected"):
        extract(tiny.encoder("bert"), texts)


def test_something_else_than_an_encoder_is_refused_by_the_call():
    with pytest.raises(TypeError, match="expected an encoder, see load_encoder, not 'demo'"):
        extract("demo", "Cats sleep.")  # type: ignore[arg-type]


def test_the_text_of_a_file_is_read_as_the_file(tmp_path):
    (tmp_path / "text").write_text(TREE)
    read, made = load_treebank(tmp_path / "text"), load_treebank(from_string=TREE)
    assert (made[0].id, made[0].words, made[0].heads, made[0].file) == ("s1", ("She", "sings"), (2, 0), None)
    assert made[0].document == "text:doc1"
    assert made.counts() == read.counts()
    assert made.relations == read.relations == {"nsubj": 1, "root": 1}
    text = load_text(from_string="The first.\nThe second.\n\nAnother.\n")
    assert [(each.id, each.document) for each in text] == [
        ("text:1", "text:1"), ("text:2", "text:1"), ("text:4", "text:4"),
    ]  # fmt: skip


def test_mistakes_in_a_string_have_their_lines_but_no_path():
    with pytest.raises(CorpusError, match=r"^text:3: sentence 's1': ") as caught:
        load_treebank(from_string=TREE.replace("\t2\tnsubj", "\t7\tnsubj"))
    assert (caught.value.line, caught.value.sentence) == (3, "s1")
    with pytest.raises(ValueError, match="files or a string"):
        load_text("notes.txt", from_string="Hello.")


def test_a_list_of_sentences_is_analyzed_like_the_slice_of_its_treebank():
    treebank = load_treebank(SAMPLE_TREEBANK)
    encoder = tiny.encoder("bert")
    slice_, listed = treebank[:3], list(treebank[:3])
    assert isinstance(slice_, Treebank)
    runs = [attentionology.analyze(encoder, part, analyses="dependency") for part in (slice_, listed)]
    assert runs[0]["dependency"].best.equals(runs[1]["dependency"].best)
    assert runs[0].record["sentences"] == runs[1].record["sentences"]

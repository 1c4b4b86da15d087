"""Strings and lists where files or sentences are expected, and how running text is cut into words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attentionology
from attentionology import Sentence, Treebank, extract, load_text, load_treebank
from attentionology.corpora_loaders import CorpusError, read_conllu
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.corpora_loaders.words import split_words
from attentionology.extractors import Window
from tests import tiny

TREE = "# sent_id = s1\n# newdoc\n1\tShe\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tsings\t_\t_\t_\t_\t0\troot\t_\t_\n\n"


def by_words(batches):
    return {sentence.words: maps for batch in batches for sentence, maps in batch.unpadded()}


def test_a_string_a_list_of_strings_and_a_list_of_words_have_the_maps_of_their_sentences():
    encoder = tiny.encoder("bert")
    sentences = [Sentence("a", ("The", "dog", "sleeps", ".")), Sentence("b", ("Cats", "sleep"))]
    expected = by_words(extract(encoder, sentences))
    for texts in (["The dog sleeps.", "Cats sleep"], [["The", "dog", "sleeps", "."], ("Cats", "sleep")]):
        for made in (texts, (text for text in texts)):
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


EXAMPLES = {
    "The keys to the cabinet are on the table.": "The|keys|to|the|cabinet|are|on|the|table|.",
    "Don't stop; it's the dogs' well-known 'home'!": "Don't|stop|;|it's|the|dogs|'|well-known|'|home|'|!",
    "O’Neil’s state‐of‐the‐art – not -5": "O’Neil’s|state‐of‐the‐art|–|not|-|5",
    "Pi is 3.14, not 3, at 10:30 for $1,000.50.": "Pi|is|3.14|,|not|3|,|at|10:30|for|$|1,000.50|.",
    "one,two 3,x a:b v2.0.": "one|,|two|3|,|x|a|:|b|v2.0|.",
    "The U.S. team, e.g. snake_case and C++ ...": "The|U.S|.|team|,|e.g|.|snake_case|and|C|+|+|.|.|.",
    "See https://example.com/a?b=c&d, or (www.x.org/). x@y.org": "See|https://example.com/a?b=c&d|,|or|(|www.x.org/|)|.|"
    "x|@|y.org",
    "http://": "http|:|/|/",
    "I ❤️ 👩‍👩‍👧‍👦👍🏽🇩🇪🇫🇷 3️⃣": "I|❤️|👩‍👩‍👧‍👦|👍🏽|🇩🇪|🇫🇷|3️⃣",
    "caf\u0065\u0301s nai\u0308ve \u0301": "caf\u0065\u0301s|nai\u0308ve|\u0301",
    "我喜欢 BERT，真的。": "我|喜|欢|BERT|，|真|的|。",
    "كَتَبَ الوَلَدُ رسالةً، ثم نام؟": "كَتَبَ|الوَلَدُ|رسالةً|،|ثم|نام|؟",
    "می‌خواهم": "می‌خواهم",
    "मैं हिन्दी पढ़ता हूँ।": "मैं|हिन्दी|पढ़ता|हूँ|।",
    "тест—ёлка «да»": "тест|—|ёлка|«|да|»",
    "a\u00a0b\u2028c\td\ne\u200bf\ufeffg": "a|b|c|d|e|f|g",
    "½ cup of H₂O, x²": "½|cup|of|H₂O|,|x²",
    "nul\0bell\a": "nul|\0|bell|\a",
    "&amp; <b>bold</b>": "&|amp|;|<|b|>|bold|<|/|b|>",
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_words_of_a_text(text):
    assert split_words(text) == tuple(EXAMPLES[text].split("|"))


@given(st.text(st.characters() | st.sampled_from("a1.,:'-/ \u0301\u200d\u200b👩🏽🇩")))
def test_nothing_but_white_space_is_lost(text):
    blank = {character for character in text if character.isspace() or character in "\u200b\ufeff"}
    words = split_words(text)
    assert "".join(words) == "".join(character for character in text if character not in blank)
    assert all(words)
    assert not any(set(word) & blank for word in words)


@pytest.mark.parametrize("unit", ["a", "a.", "1,", "\u0301", "\u200d", "👩\u200d", "!", "://", "www.", "a-", "h://!"])
def test_a_very_long_text_is_cut(unit):
    assert "".join(split_words(unit * 100_000)) == unit * 100_000


def test_a_sentence_of_running_text():
    text = "  The keys\tto the cabinet\nare on the table. "
    sentence = Sentence.from_text(text)
    assert sentence.words == ("The", "keys", "to", "the", "cabinet", "are", "on", "the", "table", ".")
    assert sentence.text == text
    assert sentence.id == "The keys to the cabinet are on the table."
    assert (sentence.heads, sentence.tags) == ((), ())
    assert Sentence.from_text(text, id="keys").id == "keys"
    assert type(Window.from_text("a")) is Sentence


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        *(
            (text, CorpusError, "sentence 'x': expected a text with a word in it, found only white space")
            for text in ("", " ", "\n\t\u00a0", "\u200b\ufeff")
        ),
        ("a \ud83d b", CorpusError, "sentence 'x': the text contains half of a surrogate pair"),
        (None, TypeError, "a string, not as NoneType"),
        (["a", "list"], TypeError, "a string, not as list"),
    ],
)
def test_what_is_no_text_with_words_is_refused(text, error, message):
    with pytest.raises(error, match=message):
        Sentence.from_text(text, id="x")


@pytest.mark.parametrize(
    ("column", "name", "message"),
    [
        *((column, "b\0", "NUL") for column in ("relations", "tags", "document")),
        *((column, "\udcff", "surrogate") for column in ("id", "words", "relations", "tags", "document")),
    ],
    ids=ascii,
)
def test_no_column_has_what_is_no_character(column, name, message):
    columns = {"id": "x", "words": ("a", "b"), "relations": ("root", "obj"), "tags": ("VERB", "NOUN"), "document": "d"}
    Sentence(**columns)  # type: ignore[arg-type]
    columns[column] = ("a", name) if isinstance(columns[column], tuple) else name
    with pytest.raises(CorpusError, match=message):
        Sentence(**columns)  # type: ignore[arg-type]


def test_a_treebank_with_a_nul_names_the_sentence(write):
    rows = [f"{n}\tw{n}\t_\tNOUN\t_\t_\t{n - 1}\t{relation}\t_\t_" for n, relation in ((1, "root"), (2, "obj\0"))]
    file = write("# sent_id = s1\n" + "\n".join(rows) + "\n\n")
    with pytest.raises(
        CorpusError, match=r"file\.conllu:1: sentence 's1': a relation, a tag or the document has a NUL"
    ):
        list(read_conllu(file))


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
def test_running_text_can_be_read_by_a_model(family):
    encoder = tiny.encoder(family, max_position_embeddings=256)
    for text in EXAMPLES:
        sentence = Sentence.from_text(text)
        batch = next(extract(encoder, [sentence]))
        assert batch.sentences == (sentence,)
        assert batch.labels[0][1:-1] == sentence.words
        assert batch.lengths.tolist() == [len(sentence) + 2]

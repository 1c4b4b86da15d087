"""Running text is cut into words by the rule that is documented, whatever is in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentionology.corpora_loaders import CorpusError, Sentence
from attentionology.corpora_loaders.words import split_words
from attentionology.extractors import Window, extract
from tests import tiny

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


@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0", "\u200b\ufeff"])
def test_a_text_without_words_is_refused(text):
    with pytest.raises(CorpusError, match="sentence 'x': expected a text with a word in it, found only white space"):
        Sentence.from_text(text, id="x")


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(CorpusError, match="surrogate"):
        Sentence.from_text("a \ud83d b")


@pytest.mark.parametrize("text", [None, b"bytes", ["a", "list"], 3])
def test_what_is_no_string_is_refused(text):
    with pytest.raises(TypeError, match=f"a string, not as {type(text).__name__}"):
        Sentence.from_text(text)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
def test_running_text_can_be_read_by_a_model(family):
    encoder = tiny.encoder(family, max_position_embeddings=256)
    for text in EXAMPLES:
        sentence = Sentence.from_text(text)
        batch = next(extract(encoder, [sentence]))
        assert batch.sentences == (sentence,)
        assert batch.labels[0][1:-1] == sentence.words
        assert batch.lengths.tolist() == [len(sentence) + 2]

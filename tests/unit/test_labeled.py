"""Labeled texts: the formats, what is skipped, what is wrong with a file, and parts of a corpus."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentionology.corpora_loaders import CorpusError, LabeledTexts, Sentence, load_labeled
from tests.corpora import zip_files

LINES = "1 a fine , fine film\n0 dull\n"
WANT = [("1", ("a", "fine", ",", "fine", "film")), ("0", ("dull",))]


@pytest.fixture
def load(write):
    return lambda content, name, **options: load_labeled(write(content, name), **options)


def pairs(texts: LabeledTexts) -> list[tuple[str, tuple[str, ...]]]:
    return [(label, text.words) for label, text in zip(texts.labels, texts, strict=True)]


def corpus(*labeled: tuple[str, int]) -> LabeledTexts:
    """Texts of the given numbers of words, each made of its own place."""
    sentences = [Sentence(f"t:{i}", (str(i),) * length) for i, (_, length) in enumerate(labeled)]
    return LabeledTexts(tuple(sentences), labels=tuple(label for label, _ in labeled))


def shown(value: object) -> str:
    """The beginning of a value, to name a test."""
    return ascii(value)[:30]


CSV = 'id,text,label\n7,"a fine , fine film",1\n8,dull,0\n'
TSV = "label\ttext\n1\ta fine , fine film\n0\tdull\n"
JSONL = '{"text": "a fine , fine film", "label": 1}\n{"label": "0", "text": ["dull"], "more": null}\n'


FRAME = pd.DataFrame({"stars": [1, 0], "review": ["a fine , fine film", ["dull"]], "question": ["is it ?", "why"]})


def test_rows_of_a_data_frame_are_read_as_those_of_a_table():
    renamed = FRAME.rename(columns={"stars": "label", "review": "text"})
    for texts in (
        load_labeled(renamed),
        load_labeled(FRAME, text="review", label="stars"),
        load_labeled(SimpleNamespace(to_pandas=lambda: renamed)),
    ):
        assert pairs(texts) == WANT
    texts = load_labeled(FRAME, text="review", label="stars", query="question", limit=1)
    assert (texts.queries, texts[0].id, texts[0].text) == ((("is", "it", "?"),), "row:1", "a fine , fine film")
    assert texts[0].line == 1


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME, r"data frame: expected columns 'text' and 'label', found 'stars', 'review', 'question'; .*text= and"),
        (pd.DataFrame({"text": ["a", "b"], "label": ["x", None]}), "data frame:2: the label is empty"),
        (pd.DataFrame({"text": ["a", "b"], "label": [1.0, float("nan")]}), "data frame:2: the label is empty"),
        (pd.DataFrame({"text": ["a", float("nan")], "label": [1, 0]}), "data frame:2: 'text' must be a string or"),
        (pd.DataFrame({"text": [], "label": []}), "data frame: there is no text in it"),
    ],
)
def test_a_data_frame_that_cannot_be_read(frame, message):
    with pytest.raises(CorpusError, match=message):
        load_labeled(frame)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", LINES),
        ("a", LINES.replace("1 ", "1\t").replace("0 ", "0\t").rstrip()),
        ("a.txt", "\ufeff" + LINES.replace("\n", "\r\n")),
        ("a.csv", CSV),
        ("a.CSV", CSV.replace("\n", "\r\n").replace("id,text", "id, text ")),
        ("a.tsv", TSV),
        ("a.jsonl", JSONL),
        ("a.json", JSONL),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
        ("a.csv.bz2", bz2.compress(CSV.encode())),
        ("a.tsv.xz", lzma.compress(TSV.encode())),
        ("a.gz", gzip.compress(LINES.encode(), mtime=0)),
        ("a.tsv.zip", zip_files(("data", TSV))),
        ("a.zip", zip_files(("deep/", ""), ("deep/data.jsonl", JSONL), ("__MACOSX/deep/._data.jsonl", "\0"))),
        ("a.zip", zip_files(("data", LINES))),
    ],
    ids=shown,
)
def test_the_same_texts_in_every_format(load, name, content):
    texts = load(content, name)
    assert pairs(texts) == WANT
    assert texts.classes == ("0", "1")
    assert texts.balance() == {"0": 1, "1": 1}
    assert texts.remarks() == []
    assert [text.text for text in texts] == ["a fine , fine film", "dull"]
    assert (texts.files[0].sentences, texts.files[0].words) == (2, 6)
    assert texts.unit == texts.limit_unit == "texts"


def test_one_of_several_files_in_a_zip_file(load, tmp_path):
    with pytest.raises(CorpusError, match=r"the zip file contains d\.csv, e\.txt; name one"):
        load(zip_files(("d.csv", CSV), ("e.txt", LINES)), "a.zip")
    for name in ("d.csv", "e.txt"):
        assert pairs(load_labeled(tmp_path / "a.zip" / name)) == WANT


def test_ids_places_and_words(load, tmp_path):
    texts = load("\npos  One\ttwo \u2028three \n \t\nneg It 's \u201csaid\u201d\n", "a.txt")
    assert pairs(texts) == [("pos", ("One", "two", "three")), ("neg", ("It", "'s", "\u201csaid\u201d"))]
    assert [(t.id, t.line, t.file) for t in texts] == [(f"a.txt:{n}", n, str(tmp_path / "a.txt")) for n in (2, 4)]
    assert texts[0].text == " One\ttwo \u2028three "
    assert texts.remarks() == ["Blank lines that were skipped: 2."]
    assert texts.counts()["blank_lines"] == texts.blank == 2


def test_quoted_fields_of_csv(load):
    texts = load('text,label\n"One,\n""two""\n\nthree",a\n\n,\nfour, b \n', "a.csv")
    assert pairs(texts) == [("a", ("One,", '"two"', "three")), ("b", ("four",))]
    assert [text.line for text in texts] == [2, 8]
    assert texts[0].text == 'One,\n"two"\n\nthree'
    assert texts.blank == 2


def test_quotes_mean_nothing_in_tsv(load):
    texts = load('sentence\tlabel\n"great" movie\t1\n"unclosed, \t0\n" \x0b x\t1\n', "a.tsv", text="sentence")
    assert pairs(texts) == [("1", ('"great"', "movie")), ("0", ('"unclosed,',)), ("1", ('"', "x"))]


def test_labels_and_words_in_json(load):
    rows: list[dict[str, object]] = [
        {"y": True, "x": "one"},
        {"y": -2, "x": ["New York", "", " ", "n't"]},
        {"y": " a b ", "x": "é"},
    ]
    texts = load("\n".join(map(json.dumps, rows)), "a.jsonl", text="x", label="y")
    assert pairs(texts) == [("true", ("one",)), ("-2", ("New York", "n't")), ("a b", ("é",))]
    assert texts[1].text == "New York n't"


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("10", "9", "10", "-1"), ("-1", "9", "10")),
        (("10", "9", "x"), ("10", "9", "x")),
        (("1", "01", "0"), ("0", "01", "1")),
        (("pos", "neg"), ("neg", "pos")),
        (("²", "10"), ("10", "²")),
        ((), ()),
    ],
)
def test_order_of_classes(labels, classes):
    texts = corpus(*((label, 1) for label in labels))
    assert texts.classes == classes
    assert texts.balance() == {label: labels.count(label) for label in classes}
    assert list(texts.balance()) == list(classes)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.txt", "1 x\n1\n0 \t \n", 2),
        ("a.csv", 'text,label\nx,1\n"\n",1\n,1\n', 3),
        ("a.tsv", "text\tlabel\nx\t1\n\t1\n \t1\n", 3),
        ("a.jsonl", '{"text":"x","label":1}\n{"text":[""],"label":1}\n{"text":" ","label":1}', 2),
    ],
)
def test_texts_without_a_word_are_skipped_and_said(load, tmp_path, name, content, line):
    texts = load(content, name)
    assert pairs(texts) == [("1", ("x",))]
    assert (texts.counts()["texts_without_words"], texts.blank) == (2, 0)
    assert texts.remarks() == [f"2 texts without words were skipped; the first is {tmp_path / name}:{line}."]


def test_repeated_texts(load):
    texts = load("1 a b\n1 a  b\n0 c\n0 A b\n1 c\n0 c\n1 d\n", "a.txt")
    assert texts.remarks() == [
        "Texts that repeat an earlier one: 3; of these, repeats of a text that occurs with more than one label: 2."
    ]
    assert texts.counts() == {
        "sentences": 7,
        "words": 10,
        "documents": 0,
        "classes": 2,
        "repeated_texts": 3,
        "repeated_with_other_labels": 2,
        "blank_lines": 0,
        "texts_without_words": 0,
    }


def test_several_files_and_limit(write):
    files = [write(f"\n{label} one\n{label} two\n", f"{label}/a.txt") for label in (1, 0)]
    files.append(write("label,text\n2,three\n", "b.csv"))
    texts = load_labeled(files)
    assert texts.labels == ("1", "1", "0", "0", "2")
    assert [t.id for t in texts] == [*(f"{file}:{n}" for file in files[:2] for n in (2, 3)), "b.csv:2"]
    assert ([f.sentences for f in texts.files], texts.blank) == ([2, 2, 1], 2)
    few = load_labeled(files, limit=3)
    assert (few.labels, [f.sentences for f in few.files]) == (("1", "1", "0"), [2, 1])


COLUMNS = "1: expected columns 'text' and 'label', found "
NAMES = r"; name those to read with text= and label= \(--text-column, --label-column\)"
DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "1 x\n y\n", "2: the label is empty"),
        ("a.txt", "1 x\n1 a\0b\n", "2: expected text, found a NUL byte"),
        ("a.txt", b"1 x\n1 caf\xe9\n", "2: the file is not UTF-8"),
        ("a.txt", "1\n\n", " the file contains no text"),
        ("a.txt", "", " the file contains no text"),
        ("a.csv", "text,label\nx, \n", "2: the label is empty"),
        ("a.csv", "sentence,label\nx,1\n", COLUMNS + "'sentence', 'label'" + NAMES),
        ("a.csv", "\ntext,label,text\n", "2: expected columns 'text' and 'label', found 'text', 'label', 'text'"),
        ("a.csv", 'text,label\n"x\ny",1\nx,1,2\n', "4: expected 2 fields as in the header, found 3"),
        ("a.csv", 'text,label\n"x\ny",1\n"x\nz,1\n', "4: expected a CSV record.*: unexpected end of data"),
        ("a.csv", 'text,label\n"x" y,1\n', "2: expected a CSV record"),
        ("a.tsv", "1\ta fine film\n0\tdull\n", COLUMNS + "'1', 'a fine film'" + NAMES),
        ("a.tsv", "text\tlabel\nx\n", "2: expected 2 fields as in the header, found 1"),
        ("a.jsonl", '{"text":"x"}', "1: expected keys 'text' and 'label', found 'text'" + NAMES),
        ("a.jsonl", "\n{}", "2: expected keys 'text' and 'label', found none" + NAMES),
        ("a.jsonl", "\n{'text': 1}", "2: expected a JSON object on every line: Expecting .* column 2"),
        ("a.json", '[\n{"text":"x"}]', "1: expected a JSON object on every line: Expecting value"),
        ("a.jsonl", "[1, 2]", r"1: expected a JSON object on every line, found \[1, 2\]"),
        ("a.jsonl", '{"text":"\\ud800","label":1}', "1: expected a JSON object on every .*surrogates not allowed"),
        ("a.jsonl", '{"text":"x","label":"a\\u0000"}', "1: the label has a NUL character"),
        ("a.jsonl", '{"text":1,"label":1}', "1: 'text' must be a string or a list of strings, not 1"),
        ("a.jsonl", '{"text":"x","label":1.0}', "1: 'label' must be a string, whole number or boolean, not 1.0"),
        ("a.jsonl", '{"text":"x","label":""}', "1: the label is empty"),
        ("a.jsonl", JSONL + '{"text":"x","label":1,"label":2}', "3: .*: the key 'label' occurs twice"),
        ("a.jsonl", '{"text":"x","label":' + "1" * 5000 + "}", "1: expected a JSON object on every line: "),
        ("a.jsonl", DEEP, "1: expected a JSON object on every line: "),
        ("a.txt", "1 x\r0 y\n", "1: found a carriage return"),
        ("a.csv", CSV.replace("\n", "\r"), "1: expected a CSV record.*: new-line character"),
        ("a.txt", LINES + "\ufeff" + LINES, "3: there is a byte-order mark before the label"),
        ("a.zip", zip_files(), " the zip file is empty"),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:-9], "4: the gzip file is broken"),
    ],
    ids=shown,
)  # fmt: skip
def test_faults(load, name, content, message):
    with pytest.raises(CorpusError, match=name.replace(".", r"\.") + ":" + message):
        load(content, name)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_long_fields(load, ending):
    words = "word " * 100_000
    sign = "," if ending == "csv" else "\t"
    [text] = load(f"label{sign}text\n1{sign}{words}\n", f"a.{ending}")
    assert text.words == ("word",) * 100_000


def test_a_quote_that_is_never_closed_is_told_by_its_line_however_long_the_rest(load):
    with pytest.raises(CorpusError, match=r"a\.csv:3: expected a CSV record.*: unexpected end of data"):
        load('text,label\nx,1\n"x,1\n' + "y,1\n" * 100_000, "a.csv")


class TestColumnsByNumber:
    """Tables without a header."""

    @pytest.mark.parametrize(("name", "sign"), [("a.csv", ","), ("a.tsv", "\t")])
    def test_are_counted_from_1_and_the_first_line_is_a_text(self, load, name, sign):
        content = f"\n7{sign}one two{sign}yes\n8{sign}three{sign}no\n".encode()
        texts = load(content, name, text="2", label="3")
        assert pairs(texts) == [("yes", ("one", "two")), ("no", ("three",))]
        assert [text.line for text in texts] == [2, 3]
        [remark] = [remark for remark in texts.remarks() if "Columns were chosen by number" in remark]
        assert remark.endswith(f"{name}:2.")

    def test_a_header_with_both_names_is_a_header(self, load):
        texts = load("2,1\none,yes\n", "a.csv", text="2", label="1")
        assert pairs(texts) == [("yes", ("one",))]
        assert texts.remarks() == []

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"text": "3", "label": "1"}, "2: there is no column 3; there are 2, counted from 1"),
            ({"text": "0", "label": "1"}, "2: there is no column 0; there are 2, counted from 1"),
            ({"text": "2", "label": "label"}, "2: expected columns '2' and 'label'"),
            ({"text": "-1", "label": "1"}, "2: expected columns '-1' and '1'"),
            ({"text": "٢", "label": "1"}, "2: expected columns '٢' and '1'"),
        ],
    )
    def test_that_are_not_there(self, load, options, message):
        with pytest.raises(CorpusError, match=r"a\.csv:" + message):
            load("\nyes,one\nno,two\n", "a.csv", **options)

    def test_keys_of_json_have_no_numbers(self, load):
        assert pairs(load('{"2": "one", "1": "yes"}\n', "a.jsonl", text="2", label="1")) == [("yes", ("one",))]
        with pytest.raises(CorpusError, match=r"a\.jsonl:1: expected keys '2' and '1'"):
            load('{"label": "yes", "text": "one"}\n', "a.jsonl", text="2", label="1")


def test_what_was_read_is_known_where_a_limit_is_reached(load, tmp_path):
    documents = load("1 A film.\nFine.\n\n0 Dull.\n\n1 C.\n", "a.txt", blocks=True, limit=2)
    assert (documents.reads, documents.counts()["sentences"], documents.counts()["words"]) == ("sentences", 2, 4)
    table = load("1,fine\n0,dull\n1,good\n", "a.csv", text="2", label="1", limit=2)
    assert table.headless == (f"{tmp_path}/a.csv:1",)


def test_files_that_are_not_there(tmp_path):
    for name in ("none.csv", "none.zip/a.csv"):
        with pytest.raises(CorpusError, match=f"{name}: there is no such file"):
            load_labeled(tmp_path / name)
    with pytest.raises(CorpusError, match="this is a folder"):
        load_labeled(tmp_path)


def test_text_and_label_are_two_columns(load):
    with pytest.raises(ValueError, match="different columns, not both 'label'"):
        load(CSV, "a.csv", text="label")


def test_a_label_per_text():
    with pytest.raises(ValueError, match="1 texts but 0 labels"):
        LabeledTexts((Sentence("a", ("x",)),))


@given(st.data())
def test_labels_stay_with_their_texts(data):
    texts = corpus(*data.draw(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5)), min_size=1)))
    label_of = {text.id: label for text, label in zip(texts, texts.labels, strict=True)}
    places = data.draw(st.lists(st.integers(0, len(texts) - 1)))
    part = texts.subset(places)
    assert [text.id for text in part] == [f"t:{place}" for place in places]
    bound = st.none() | st.integers(0, 6)
    low, high = data.draw(bound), data.draw(bound)
    kept, short, long = texts.kept(low, high)
    fits = [(low is None or len(t) >= low) and (high is None or len(t) <= high) for t in texts]
    assert kept.sentences == tuple(text for text, fit in zip(texts, fits, strict=True) if fit)
    assert short == sum(low is not None and len(text) < low for text in texts)
    assert len(kept) + short + long == len(texts)
    for some in (part, kept):
        assert some.labels == tuple(label_of[text.id] for text in some)
        assert sum(some.balance().values()) == len(some)


def hf(labels: list[int | str], *, text: str = "A man walks .") -> str:
    """Pairs as Hugging Face exports SNLI."""
    rows = [{"premise": f"{n} {text}", "hypothesis": "He moves .", "label": label} for n, label in enumerate(labels)]
    return "".join(json.dumps(row) + "\n" for row in rows)


PAIR_COLUMNS: Any = {"text": "premise", "query": "hypothesis"}


@pytest.mark.parametrize("query", [True, False])
def test_minus_one_is_no_label_where_labels_are_counted_from_zero(load, query):
    columns = PAIR_COLUMNS if query else {"text": "premise"}
    texts = load(hf([-1, 1, 2, 0, 1, -1]), "a.jsonl", **columns)
    assert texts.labels == ("1", "2", "0", "1")
    assert texts.classes == ("0", "1", "2")
    assert [text.line for text in texts] == [2, 3, 4, 5]
    assert texts.unlabeled == 2
    assert "Texts with the label -1, which means no gold label, left out: 2." in texts.remarks()
    assert load(hf([-1, 1, 2]), "a.jsonl", limit=1, **columns).labels == ("1",)  # whatever is beyond the limit


@pytest.mark.parametrize(
    ("content", "name", "kept"),
    [
        ("label,text\n-1,bad\n0,so\n1,good\n", "a.csv", ("-1", "0", "1")),  # which are three classes
        ("-1 bad\n1 good\n", "a.txt", ("-1", "1")),
        ("-1 worst\n-2 bad\n2 good\n", "a.txt", ("-1", "-2", "2")),
        ("-1 bad\nyes good\n", "a.txt", ("-1", "yes")),
        ("-1 bad\n3 good\n", "a.txt", ("3",)),
        ("label\ttext\n-1\tbad\n0\tso\n2\tgood\n", "a.tsv", ("0", "2")),
    ],
)
def test_minus_one_is_a_class_beside_others_that_are_not_counted_from_zero(load, content, name, kept):
    texts = load(content, name)
    assert texts.labels == kept
    is_asked = any(remark.startswith("The label -1 is a class.") for remark in texts.remarks())
    assert is_asked == (set(kept) == {"-1", "0", "1"})


def test_the_case_of_minus_one(data_file):
    texts = load_labeled(data_file("cases/hf_snli.jsonl"), **PAIR_COLUMNS)
    assert texts.classes == ("0", "1", "2")
    assert texts.unlabeled > 0


def test_line_breaks_of_html_are_white_space_and_other_html_is_remarked(load):
    texts = load(
        "1 Fine.<br /><br />Really&amp;truly <i>fine</i>.\n0 dull<BR>film < 3 > 2\n1 <br/>\n0 a <b c\n", "a.txt"
    )
    assert [text.words for text in texts] == [
        ("Fine.", "Really&amp;truly", "<i>fine</i>."), ("dull", "film", "<", "3", ">", "2"), ("a", "<b", "c")
    ]  # fmt: skip
    assert texts[0].text == "Fine.  Really&amp;truly <i>fine</i>."
    assert (texts.line_breaks, len(texts.wordless)) == (4, 1)
    assert [place.rpartition(":")[2] for place in texts.markup] == ["1"]
    remarks = " ".join(texts.remarks())
    assert "Line breaks of HTML (<br />), read as white space: 4." in remarks
    assert "Tags and entities of HTML are read as words; the first of 1 text is" in remarks
    plain = load(LINES, "b.txt")
    assert (plain.line_breaks, plain.markup, plain.remarks()) == (0, (), [])

"""How words are written: direction and spaces, in the data of the page, in tables, in examples and in figures."""

from __future__ import annotations

import json
import re

import matplotlib as mpl
import numpy as np
import pytest

from attentionology.analyses.coreference.examples import _shorten_context
from attentionology.corpora_loaders import Sentence
from attentionology.engine.shown_heads import Shown
from attentionology.reports.columns import TableColumn
from attentionology.reports.explorer.data import Bench, Writing, script_json
from attentionology.reports.heads import HeadView, draw
from attentionology.reports.table import ShownTable
from attentionology.scripts.cli import main
from attentionology.storage.writing import is_right_to_left, joined_words, running_text
from tests import tiny
from tests.corpora import chain

HEBREW = ("הילד", "קרא", "את", "הספר", ".")
ENGLISH = ("the", "boy", "read", "it", ".")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (HEBREW, True),
        (("قرأ", "BERT", "كتاب"), True),
        (("the", "word", "שלום"), False),
        (ENGLISH, False),
        (("漢字", "12"), False),
        (("…", "3"), False),
        ((), False),
    ],
)
def test_the_direction_is_that_of_most_letters(words, expected):
    assert is_right_to_left(words) == expected


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("我", "在", "2010", "年", "学习", "Python", "。"), "我在2010年学习Python。"),
        (("今日", "は", "、", "New", "York", "へ", "。"), "今日は、New Yorkへ。"),
        (("ฉัน", "กิน", "ข้าว"), "ฉันกินข้าว"),
        (("한국", "大學", "에서"), "한국 大學 에서"),
        (("Le", "chat", "dort", "."), "Le chat dort ."),
        (("一",), "一"),
        ((), ""),
    ],
)
def test_words_are_joined_where_their_script_has_no_spaces(words, text):
    assert running_text(words) == text
    assert repr(Sentence("s", words))[:-1].count(f"'{text}'") == 1 if words else True


def test_the_page_counts_special_tokens_but_does_not_join_them():
    words, special = ("[CLS]", "私", "は", "。", "[SEP]"), (True, False, False, False, True)
    assert Writing.of(words, special) == Writing("ltr", (1, 2))
    assert joined_words(words[1:4]) == (0, 1)
    assert Writing.of(("[CLS]", *HEBREW, "[SEP]"), (True, *[False] * 5, True)) == Writing("rtl", ())


def test_cells_of_tables_are_isolated_only_if_they_are_read_from_right_to_left():
    table = ShownTable("t", "T", [TableColumn("word", "text", "", "word")], [{"word": "הילד"}, {"word": "boy"}])
    assert re.findall(r"<td.*?</td>", str(table)) == [
        '<td class="left"><bdi dir="rtl">הילד</bdi></td>',
        '<td class="left">boy</td>',
    ]


def test_examples_are_shortened_by_words_even_without_spaces():
    words = tuple("一二三四五六七八九十百千万")
    assert _shorten_context(words) == "一二三四五六七八九十百千 …"
    assert _shorten_context(words, last=True) == "… 二三四五六七八九十百千万"
    assert _shorten_context(ENGLISH) == "the boy read it ."


def view(words):
    n = len(words)
    gold, relations = (1, -1, 3, 1, 1), ("nsubj", "root", "case", "obj", "punct")
    return HeadView("s", words, (False,) * n, np.eye(n), 1, 1, "weight", None, (1, 0, 1, 2, 3), gold, relations)


@pytest.mark.parametrize("words", [HEBREW, ENGLISH])
def test_figures_begin_where_reading_begins(words):
    drawn = {text.get_text(): text.get_position()[0] for text in draw([[view(words)]], layout="arcs").axes[0].texts}
    places = [drawn[word] for word in words]
    assert places == sorted(places, reverse=words is HEBREW)
    axes = draw([[view(words)]]).axes[0]
    assert all(0 < drawn[word] < axes.get_xlim()[1] * 2 for word in words)
    sides = sorted({text.get_position()[0] for text in axes.texts if text.get_text() in words})
    starts = {float(np.asarray(line.get_xdata())[0]) for line in axes.lines}
    assert len(starts) == 1
    assert (abs(starts.pop() - sides[1]) < 0.1) == (words is HEBREW)


def test_an_older_matplotlib_is_warned_of(monkeypatch, tmp_path, recwarn):
    monkeypatch.setattr(mpl, "__version_info__", (3, 10, 0))
    for words in (ENGLISH, HEBREW):
        shown = Shown(((view(words),),), "lines", "model")
        shown.save(tmp_path / "head.svg", overwrite=True)
        assert not any("Matplotlib" in str(each.message) for each in recwarn)
        shown.save(tmp_path / "head.png", overwrite=True)
        assert any("right-to-left" in str(each.message) for each in recwarn) == (words is HEBREW)
        assert 'lang="en"' in shown._page()
        sentence = json.loads(script_json(Bench((shown.explorer(),))))["runs"][0]["sample"]["sentences"][0]
        assert sentence["writing"] == [{"direction": "rtl" if words is HEBREW else "ltr", "joined": []}]


@pytest.mark.parametrize("words", [HEBREW, ENGLISH])
def test_the_report_of_a_run_says_the_direction_of_its_sentences(words, write, tmp_path):
    tiny.save(tmp_path / "model", max_position_embeddings=40)
    corpus = str(write(chain(words)))
    options = ["--model", str(tmp_path / "model"), "--corpus", corpus, "--analyses", "dependency", "--replicates", "0"]
    assert main(["analyze", *options, "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)
    (sentence,) = json.loads(data)["runs"][0]["sample"]["sentences"]
    assert sentence["writing"] == [{"direction": "rtl" if words is HEBREW else "ltr", "joined": []}]

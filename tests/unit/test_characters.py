"""The characters of names in terminals, messages, documents, LaTeX and names of files."""

from __future__ import annotations

import re
import unicodedata
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from attentionology.analyses.shared.input_options import default_folder
from attentionology.reports.columns import TableColumn
from attentionology.reports.drawing import panel, save, series_label, with_style
from attentionology.reports.table import ShownTable
from attentionology.storage.characters import file_name, in_document, in_html, in_latex, one_line, visible
from attentionology.storage.errors import AttentionologyError
from tests.hostile import NAMES, RAW
from tests.outlines import FIGURES

ANY = st.text(st.characters(exclude_categories=()))
"""Any text, with lone surrogates and control characters, too."""

ORDINARY = "naïve “雪” שלום\u200f مرحبا\u200e می\u200cخواهم 👩\u200d🚀 a\tb\n{x} $y$ [bold]"


@given(ANY | st.sampled_from(NAMES))
def test_every_text_can_be_part_of_a_document(text):
    element = ElementTree.fromstring(f"<a b='{in_html(text)}'>{in_html(text)}</a>")  # noqa: S314
    assert element.text == in_document(text) or not text
    assert not RAW.search(in_document(text))
    in_document(text).encode()


@given(ANY | st.sampled_from(NAMES))
def test_no_text_moves_the_cursor(text):
    for character in visible(text):
        assert character == "\n" or unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
    assert "\n" not in one_line(text)


def test_ordinary_text_stays():
    assert in_document(ORDINARY) == ORDINARY
    assert visible("می\u200cخواهم 👩\u200d🚀 {x}\n") == "می\u200cخواهم 👩\u200d🚀 {x}\n"
    assert visible(ORDINARY).count("\\u") == 3  # the marks of direction and the tab
    assert one_line("a\nb\t") == "a\\u000ab\\u0009"


@given(st.text(st.characters(max_codepoint=127)) | st.sampled_from([name for name in NAMES if name.isascii()]))
def test_every_character_stands_for_itself_in_latex(text):
    r"""What LaTeX reads is the text as a message shows it: no character is a command, and no two are a ligature."""
    tokens = re.findall(r"\\[&%$#_{}]|\\text\w+\{\}|\{\}|[^\\&%$#_{}~^<>]|.", in_latex(text), re.DOTALL)
    named = {"asciitilde": "~", "asciicircum": "^", "less": "<", "greater": ">", "backslash": "\\"}
    read = [named[token[5:-2]] if token.startswith("\\text") else token.removeprefix("\\") for token in tokens]
    assert "".join(token for token in read if token != "{}") == one_line(text)
    assert not re.search("--|''|``", in_latex(text))


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("a\x1b[31m", r"a\textbackslash{}u001b[31m"),
        ("-->", r"-{}-\textgreater{}"),
        ("''", "'{}'"),
        ("3–4 − 1 … “q”", r"3--4 $-$ 1 \dots{} ``q''"),
        ("100 % & $x_1^2$ ~", r"100 \% \& \$x\_1\textasciicircum{}2\$ \textasciitilde{}"),
    ],
)
def test_latex(text, latex):
    assert in_latex(text) == latex


@pytest.mark.parametrize("name", ["[x]", "*", "a\nb"])
def test_rows_of_latex_are_no_arguments_of_the_row_before(name):
    table = ShownTable("t", f"T {name}\n\\x", [TableColumn("word", "text", "", "word")], [{"word": name}] * 2)
    title, *lines = table.latex().splitlines()
    assert title == f"% T {one_line(name)}\\u000a\\x"
    assert lines[4:6] == [rf"{'{}' if name[0] in '[*' else ''}{in_latex(name)} \\"] * 2


def test_names_of_files():
    assert file_name("a b/c:d{x}é") == "a_b_c_d_x_é"
    assert file_name("é" * 300) == "é" * 75
    assert file_name("x" * 300, 70) == "x" * 70


def test_errors_show_what_they_quote():
    assert str(AttentionologyError("no relation \x1b[31m\u202e")) == "no relation \\u001b[31m\\u202e"


@with_style
def figure_of(names: list[str]) -> Figure:
    figure, axes = panel(3, 3)
    axes.plot(range(len(names)), range(len(names)), label=series_label(names[0]))
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks(range(len(names)), names, rotation=35)
    axes.text(0, 0, names[0])
    axes.set_xlabel(names[0])
    axes.set_title(names[0])
    figure.legend(handles=[Patch(label=series_label(name)) for name in names])
    figure.suptitle(names[0])
    return figure


def test_figures_are_xml_that_has_the_names(tmp_path):
    with FIGURES.in_full(), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "constrained_layout")
        save(figure_of([*NAMES]), tmp_path, "names")
    root = ElementTree.parse(tmp_path / "names.svg").getroot()  # noqa: S314
    words = "\n".join(root.itertext()).split("\n")
    for name in NAMES:
        assert sum(word.strip() == in_document(name) for word in words) >= 3, name


def test_default_folders_have_names_that_every_system_takes():
    long = default_folder("models/" + "m" * 300, ("x" * 300 + ".conllu",), "probe-")
    assert long.name == f"probe-{'m' * 70}-{'x' * 70}"
    assert default_folder("org/a b", ("c{x}.conllu.gz",)) == Path("runs/a_b-c_x_")

"""Characters that the font of all figures lacks: fonts of the system, or one line of advice."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from fontTools.fontBuilder import FontBuilder  # type: ignore[import-untyped]
from fontTools.pens.ttGlyphPen import TTGlyphPen  # type: ignore[import-untyped]
from matplotlib import font_manager

from attentionology.reports import fonts
from attentionology.reports.drawing import figure_formats, panels, save
from attentionology.reports.streams import warnings_in_one_line


def built(path: Path, characters: str, *, style: str = "Regular") -> str:
    """Write a font of squares that has only these characters."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 800), (800, 800), (800, 0)):
        pen.lineTo(corner)
    pen.closePath()
    square = pen.glyph()
    names = {ord(character): f"c{ord(character)}" for character in characters}
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", *names.values()])
    builder.setupCharacterMap(names)
    builder.setupGlyf(dict.fromkeys([".notdef", *names.values()], square))
    builder.setupHorizontalMetrics(dict.fromkeys([".notdef", *names.values()], (1000, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": path.stem, "styleName": style})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return str(path)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Let a system have the fonts that a test asks for, and forget those of other tests."""

    def install(**characters: str) -> None:
        paths = [built(tmp_path / f"{name.replace('_', ' ')}.ttf", text) for name, text in characters.items()]
        monkeypatch.setattr(fonts, "_system_fonts", lambda: sorted(paths))
        fonts.fallbacks.cache_clear()

    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*font_manager.fontManager.ttflist])
    yield install
    fonts.fallbacks.cache_clear()


def drawn(*words: str) -> Any:
    figure, ((axes,),) = panels(2, 1)
    for word in words:
        axes.text(0, 0, word)
    axes.set_xticks([0], ["中"])
    return figure


def test_the_usual_font_lacks_chinese_but_neither_arabic_nor_accents_nor_control_characters():
    assert fonts.find_missing("중中 ابγé\u0301\n\x07") == {"중", "中"}


def test_as_few_fonts_as_needed_are_used_and_none_of_boxes(installed):
    installed(Few="中", More="中文字", Thai="ไ", LastResort="中文字ไ한", Color_Emoji="한")
    assert fonts.fallbacks(frozenset("中文ไ한")) == (("More", "Thai"), "한")
    assert fonts.fallbacks(frozenset()) == ((), "")


def test_a_png_has_fonts_of_the_system_and_an_svg_those_of_its_reader(installed, tmp_path, capsys):
    installed(More="中文")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(drawn("中文"), tmp_path / "plain", "words")
        with figure_formats("png"):
            save(drawn("中文"), tmp_path, "words")
        figure = drawn("中文")
        assert fonts.use_fallbacks(figure) == ""
    assert [text.get_fontfamily() for text in figure.axes[0].texts] == [[fonts.USUAL, "More"]]
    assert figure.axes[0].get_xticklabels()[0].get_fontfamily() == [fonts.USUAL, "More"]
    assert (tmp_path / "figures").exists() is False
    assert (tmp_path / "words.svg").read_bytes() == (tmp_path / "plain" / "words.svg").read_bytes()
    assert (tmp_path / "words.png").stat().st_size > 0
    assert capsys.readouterr().err == ""


def test_characters_without_a_font_are_one_line_of_advice_for_all_figures(installed, tmp_path, capsys):
    installed(More="中文")
    with warnings.catch_warnings(), figure_formats("png", "pdf"):
        warnings.simplefilter("error")
        for number in range(3):
            save(drawn("한국", "ไทย"), tmp_path, f"words{number}")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Warning: no font of this system has ทยไ국한, which a PNG or PDF shows as boxes")
    assert "fonts-noto-core or fonts-noto-cjk" in line
    assert "the SVG, which has the fonts of its reader" in line


@pytest.mark.parametrize(("version", "says"), [((3, 10, 0), True), ((3, 11, 0), False)])
def test_older_versions_of_matplotlib_write_right_to_left_words_from_the_left(monkeypatch, version, says):
    monkeypatch.setattr(mpl, "__version_info__", version)
    assert bool(fonts.advice_of_direction(["قرأ", "الولد"], "PNG")) == says
    assert not fonts.advice_of_direction(["read", "boys"], "PNG")


def test_a_command_warns_in_one_line():
    with warnings_in_one_line():
        assert warnings.formatwarning("no font", UserWarning, "show.py", 97) == "Warning: no font\n"
        assert "show.py" in warnings.formatwarning("old", DeprecationWarning, "show.py", 97)
    assert "show.py" in warnings.formatwarning("no font", UserWarning, "show.py", 97)

"""What a run leaves on disk."""

from __future__ import annotations

import base64
import copy
import html
import io
import json
import re
from html.parser import HTMLParser
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.image import imread

from attentionology.analyses.contract import Titles
from attentionology.analyses.dependency.best_heads import best_table
from attentionology.reports.drawing import (
    DARK_SCALE,
    PAGE,
    PALETTE,
    REVERSED,
    SCALE,
    STYLE,
    by_layer,
    figure_formats,
    finish,
    number_ticks,
    panels,
    save,
    with_style,
)
from attentionology.reports.format import interval, percent, shown_rows
from attentionology.reports.page import outline, read_bundle, save_figures, write_report, write_section
from attentionology.reports.page.svg import alternative, apply_theme, palette_styles
from attentionology.reports.shapes import heads_map, move_apart
from attentionology.reports.tables import records, to_json
from tests.dependency import dependency_section, made_results
from tests.maps import RELATIONS, counted_words
from tests.shown_tables import read_terminal, with_control

pytestmark = pytest.mark.usefixtures("svgs_are_drawn")

RUN = {
    "command": "attentionology analyze --model '<b>&'",
    "started": "2020-01-01T00:00:00+00:00",
    "options": {"map": "weight", "limit": None},
    "model": {
        "name": "tiny <b>model</b>",
        "family": "bert",
        "revision": "abc",
        "files": {"model.safetensors": "123"},
        "weights_sha256": "456",
        "shape": "2 layers × 3 heads",
        "layers": 2,
        "heads": 3,
        "tokenizer": {"class": "Fast", "vocabulary": 10},
    },
    "corpus": {
        "unit": "sentences",
        "tokens": "syntactic",
        "remarks": ["Empty nodes, not part of the text: 0 <of many>."],
        "relations": {"det": 5},
        "files": [
            {"name": "a.conllu", "path": "x/a.conllu", "sha256": "789", "sentences": 31, "words": 200, "origin": {}}
        ],
        "counts": {"sentences": 31},
    },
    "sentences": {
        "read": 30,
        "words": 190,
        "unknown_words": 7,
        "substituted_words": 0,
        "words_without_head": 4,
        "skipped": [{"id": "s-long", "file": "x/a.conllu", "line": 7, "reason": "too long: 999 pieces"}],
    },
    "warnings": ["mind the <gap>"],
    "control": {"copies": 2},
    "versions": {"attentionology": "0"},
    "seconds": {"dependency": 1.0},
}


@pytest.fixture(scope="module")
def tables():
    return counted_words().compute()


@pytest.fixture(scope="module")
def folder(tables, tmp_path_factory):
    """A report with one section."""
    folder = tmp_path_factory.mktemp("report")
    best = with_control(tables.best, [tables.best, tables.best])
    controls = [tables.best, tables.best]
    section = dependency_section(made_results(tables.cells, best, tuple(controls), 20))
    write_report(folder, run=RUN, sections=[section])
    return folder


def test_everything_promised_is_there(folder):
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "run.json",
        "summary.json",
        "report.html",
        "tables/dependency.csv",
        "tables/dependency_best.csv",
        "tables/dependency_best.tex",
        "tables/dependency_control.csv",
        "figures/dependency_best.svg",
        "figures/dependency_heads.svg",
    }


def test_csv_gives_back_the_tables(folder, tables):
    cells = pd.read_csv(folder / "tables" / "dependency.csv")
    pd.testing.assert_frame_equal(cells, tables.cells, check_dtype=False)
    assert len(pd.read_csv(folder / "tables" / "dependency_control.csv")) == 2 * len(tables.best)


def test_summary_is_strict_json_with_null_where_there_is_no_rate(folder):
    summary = json.loads((folder / "summary.json").read_text(), parse_constant=pytest.fail)
    assert {row["relation"] for row in summary["dependency_best"]} >= set(RELATIONS)
    assert records(pd.DataFrame({"x": [0.5, np.nan]})) == [{"x": 0.5}, {"x": None}]
    with pytest.raises(ValueError, match="JSON"):
        to_json({"x": float("nan")})


def test_page_needs_no_network_and_escapes_what_others_wrote(folder):
    page = (folder / "report.html").read_text()

    class Resources(HTMLParser):
        def handle_starttag(self, tag, attributes):
            for name, value in attributes:
                assert name not in ("src", "srcset", "action"), (tag, name)
                if name in ("href", "xlink:href"):
                    assert (value or "").startswith(("#", "data:image/png;base64,")), (tag, value)

    Resources().feed(page)
    assert not re.search(r"@import|url\((?!#)", page)
    assert "<b>model</b>" not in page
    assert "tiny &lt;b&gt;model&lt;/b&gt;" in page
    assert "Warning: mind the &lt;gap&gt;" in page
    assert "x/a.conllu:7" in page
    assert "too long: 999 pieces" in page


@pytest.mark.parametrize(
    ("unit", "limited", "tokens", "read", "counted"),
    [
        ("sentences", "sentences", "syntactic", "The first 1,030", "1,031 sentences, 2,000 words (syntactic)"),
        ("sentences", "documents", "syntactic", "1,030", "1,031 sentences, 2,000 words (syntactic)"),
        ("paragraphs", "paragraphs", None, "The first 1,030", "1,031 paragraphs, 2,000 words"),
        ("sentence pairs", "sentence pairs", None, "The first 1,030", "1,031 sentence pairs, 2,000 words"),
        ("texts", "texts", None, "1,030", "1,031 texts, 2,000 words"),
    ],
)
@pytest.mark.parametrize("skipped", [0, 1, 103])
def test_the_page_says_what_was_read_and_left_out(tmp_path, unit, limited, tokens, read, counted, skipped):
    changed: Any = copy.deepcopy(RUN)
    changed["model"]["revision"] = "0123456789abcdef"
    changed["options"]["limit"] = 1034
    license_ = "CC BY-NC-SA 4.0" if tokens else "MIT"
    source = {"name": "EWT", "release": "2.1", "license": license_}
    (file,) = changed["corpus"]["files"]
    file |= {"sentences": 1031, "words": 2000, "origin": {"tagger": "t"}, "source": source}
    changed["corpus"] |= {"unit": unit, "tokens": tokens, "limit_unit": limited, "counts": {"sentences": 1031}}
    left = [{"id": f"s{number}", "file": "x/a.conllu", "line": number, "reason": "long"} for number in range(skipped)]
    changed["sentences"] |= {
        "read": 1030,
        "words": 1999,
        "unknown_words": 1001,
        "substituted_words": 12,
        "skipped": left,
    }
    changed["seconds"] = {"read": 1.25, "count": 2.0}
    card = {"head": "1-2", "summary": "It sees.", "facts": [{"label": "share", "text": "9 %"}]}
    explorer = json.dumps({"runs": [{"findings": [{"text": "One sees."}], "cards": [card]}]})
    write_report(tmp_path, run=changed, sections=[], explorer=explorer if skipped else None)
    body = (tmp_path / "report.html").read_text().partition("<body")[2].partition("The whole run record")[0]
    text = " ".join(html.unescape(re.sub("<[^>]*>", " ", body)).split()).replace(" ,", ",")
    addresses = ["#main", *(["#explorer-section"] if skipped else []), "#left-out", "#provenance"]
    assert re.findall('href="(#[^"]*)"', body) == addresses
    assert f">Skip to the {'heads' if skipped else 'content'}</a>" in body
    assert ('id="explorer-section"' in body) == bool(skipped)
    assert ("What was found: One sees." in text) == ("1-2 It sees. share: 9 %" in text) == bool(skipped)
    facts = "a.conllu · tiny <b>model</b> @ 0123456789ab · 2 layers × 3 heads (bert) · attentionology 0"
    assert f"{read} {unit} of {facts}" in text
    answer = "answer" if unit == "texts" else "map"
    gave = f"{skipped} gave no {answer}: id location reason s0 x/a.conllu:0 long" if skipped else "None was skipped."
    assert f"1,030 of 1,031 {unit} were read. {gave}" in text
    assert (f"Everything after the first 1,034 {limited}" in text) == (unit != "texts")
    assert ("The first" in text) == ("The first" in read)
    assert re.findall(r"s\d+ x/a.conllu:(\d+) long", text) == [str(number) for number in range(min(skipped, 100))]
    assert ("The other 3 are in run.json ." in text) == (skipped == 103)
    unknown = "Words with a piece that the tokenizer does not know: 1,001 of 1,999, including 12 for which it has no"
    unknown = "Words that the model does not know: 1,001 of 1,999. " if unit == "texts" else unknown
    assert unknown in text
    assert "Words without a head in the corpus, read by the model but not scored: 4." in text
    of_file = f"corpus x/a.conllu: {counted} sha256 789 tagger: t EWT of release 2.1, license {license_}"
    assert f"{of_file}{' (not for commercial use)' if tokens else ''} command attentionology analyze" in text
    files = "model.safetensors: sha256 123 all weights: sha256 456"
    assert f"model tiny <b>model</b> @ 0123456789abcdef {files} corpus" in text
    assert text.endswith("when 2020-01-01T00:00:00+00:00, 3.2 s")


@pytest.mark.slow
def test_same_results_same_pictures(tables, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_section(tmp_path / name, dependency_section(made_results(tables.cells, tables.best)))
    for picture in ("dependency_best.svg", "dependency_heads.svg"):
        assert (tmp_path / "one/figures" / picture).read_bytes() == (tmp_path / "two/figures" / picture).read_bytes()


def test_control_is_the_mean_and_the_best_over_copies(tables):
    def copy(shift):
        return tables.best.assign(accuracy=tables.best["accuracy"] * shift)

    best = with_control(tables.best, [copy(0.5), copy(0.25)[::-1]])
    np.testing.assert_allclose(best["control_accuracy"], tables.best["accuracy"] * 0.375)
    np.testing.assert_allclose(best["control_accuracy_max"], tables.best["accuracy"] * 0.5)
    assert "control_accuracy" not in with_control(tables.best, [])


def test_rare_relations_come_last_and_root_is_not_shown(tables):
    shown = [(row["relation"], row["total"], row["is_frequent"]) for row in shown_rows(tables.best, 20)]
    assert {relation for relation, *_ in shown} == set(tables.best["relation"]) - {"root"}
    assert [frequent for *_, frequent in shown] == sorted((total >= 20 for _, total, _ in shown), reverse=True)


def test_the_table_fits_a_narrow_terminal(tables):
    best = tables.best.assign(total=2809, control_accuracy=0.093)
    said = read_terminal(best_table(made_results(tables.cells, best)).terminal(80), 80)
    assert "all-nopunct-noroot" in said
    assert "…" not in said


@pytest.mark.slow
def test_strange_relation_names_do_not_break_figures_or_page(tables, tmp_path):
    names = dict(zip(RELATIONS, ["$\\foo$", "<b>", "[/x]", "a_b^c", "{{", "root"], strict=True))
    cells = tables.cells.replace({"relation": names})
    best = tables.best.replace({"relation": names})
    section = dependency_section(made_results(cells, best, min_count=1), Titles("$x$ <b>", "c"))
    write_report(tmp_path, run={**RUN, "control": None}, sections=[section])
    assert "$\\foo$" in (tmp_path / "figures" / "dependency_best.svg").read_text()
    assert "<td><b></td>" not in (tmp_path / "report.html").read_text()


def test_number_formats():
    assert (percent(0.1234), percent(0.05, sign=True), percent(float("nan"))) == ("12.3", "+5.0", "–")
    nan = float("nan")
    assert [interval(*ends) for ends in ((0.1, 0.2), (nan, nan), (1.0, 1.0))] == ["[10.0, 20.0]", "", ""]


@with_style
def laid_out():
    """A figure whose labels and color bar need room, which its layout makes when it is drawn."""
    figure, grid = panels(3, 2, 1, 2)
    for axes in grid.flat:
        image = heads_map(axes, pd.DataFrame(np.arange(12).reshape(3, 4) / 12))
        axes.set_ylabel("a long label\nof two lines")
    figure.colorbar(image, ax=list(grid.flat), label="accuracy (%)")
    return figure


def test_a_figure_is_what_matplotlib_itself_writes(tmp_path):
    """`save` skips the drawing that `savefig` makes only for the layout."""
    with figure_formats("png"):
        save(laid_out(), tmp_path, "saved")
    with mpl.rc_context(STYLE):
        figure = laid_out()
        figure.savefig(tmp_path / "plain.svg", metadata={"Date": None}, bbox_inches="tight")
        figure.savefig(tmp_path / "plain.png", bbox_inches="tight")
    for ending in ("svg", "png"):
        assert (tmp_path / f"saved.{ending}").read_bytes() == (tmp_path / f"plain.{ending}").read_bytes()
    assert "of two lines" in (tmp_path / "saved.svg").read_text()


def test_the_alternative_of_a_figure_has_its_title_and_each_description_of_axes_once():
    figure, grid = panels(3, 2, 1, 3)
    for axes, title in zip(grid.flat, ("Heads", "Heads", "Layers"), strict=True):
        axes.set_title(title)
    figure.suptitle("Heads")
    assert alternative(figure) == "Figure: Heads. Heads. Layers."
    figure.suptitle("")
    grid[0, 2].set(xlabel="layer", ylabel="share (%)")
    assert alternative(figure) == "Figure: Heads. Layers: layer (horizontal), share (%) (vertical)."
    for n in range(1, 14):
        grid[0, 0].plot([], [], label=f"line {n}")
        ends = f"line {min(n, 12)}{' and others' if n == 13 else ''}. Heads. Layers"
        assert alternative(figure).startswith("Figure: Heads: line 1")
        assert ends in alternative(figure)


def test_figures_on_a_page_follow_its_colors(tmp_path):
    """The palette becomes variables, which are defined for light and dark pages; the file keeps its colors."""
    figure, _ = panels(2, 1)
    figure.axes[0].plot([0, 1], [0, 1], color=PALETTE["named"]["blue"][0])
    (svg,) = save_figures(tmp_path, {"line": figure}).values()
    stored = (tmp_path / "figures/line.svg").read_text("utf-8")
    assert "stroke: #0072b2" in stored
    assert "stroke: var(--figure-blue)" in svg
    assert "#0072b2" not in svg
    used = set(re.findall(r"var\(--figure-([\w-]+)\)", svg))
    assert used <= set(re.findall(r"--figure-([\w-]+): light-dark", palette_styles()))
    assert "invert(" not in read_bundle("page.css")


def test_a_page_gives_figures_the_colors_of_its_scheme_and_links_to_itself(tmp_path):
    """Every color of a cell or a dot is a variable, whose dark color is that of the dark scale."""
    figure, ((axes,),) = panels(2, 2)
    rates = pd.DataFrame(np.linspace(0, 1, 12)[None], index=[1], columns=range(1, 13))
    heads_map(axes, rates, lambda layer, head: f"{PAGE}#{layer}-{head}")
    save(figure, tmp_path, "heads")
    svg = (tmp_path / "heads.svg").read_text(encoding="utf-8")
    shown = apply_theme(svg)
    assert re.findall(r'<a xlink:href="([^"]*)', svg) == [f"../report.html#1-{head}" for head in range(1, 13)]
    assert re.findall(r'<a tabindex="-1" xlink:href="([^"]*)', shown) == [f"#1-{head}" for head in range(1, 13)]
    first, *_, last = re.findall(r'<use xlink:href="#C[^>]*fill: var\((--figure-[\w-]+)\)', shown)
    assert f" {first}: light-dark(#f3f6f9, #1d242c);" in palette_styles()
    assert f" {last}: light-dark(#062c54, #d8edff);" in palette_styles()
    assert not re.search(r'style="[^"]*#[0-9a-f]{6}', shown)


def test_pixels_have_the_colors_of_a_dark_page_too(tmp_path):
    figure, ((axes,),) = panels(2, 2)
    levels = np.linspace(0, 1, REVERSED.N)[None]
    axes.imshow(levels, cmap=REVERSED, vmin=0, vmax=1, interpolation="none")
    save(figure, tmp_path, "pixels")
    shown = apply_theme((tmp_path / "pixels.svg").read_text(encoding="utf-8"))
    images = re.findall(r'<image class="on-(light|dark)" xlink:href="data:image/png;base64,([^"]*)"', shown)
    colors = {scheme: imread(io.BytesIO(base64.b64decode(text)))[0, :, :3] for scheme, text in images}
    for scheme, scale in (("light", SCALE), ("dark", DARK_SCALE)):
        np.testing.assert_allclose(colors[scheme], scale(np.arange(scale.N)[::-1])[:, :3], atol=1.5 / 255)
        assert [to_hex(colors[scheme][end]) for end in (-1, 0)] == [
            PALETTE["sequential"][scheme][end] for end in (0, -1)
        ]
    assert len(re.findall(r'id="image', shown)) == 1


@pytest.mark.parametrize(("labels", "columns"), [(["short", "words"], 2), (["short", "w" * 60], 1), (["w" * 200], 1)])
def test_legends_have_as_many_columns_as_fit_and_titles_are_broken(labels, columns):
    figure, ((axes,),) = panels(6, 2)  # inches, with room for 96 letters in a line
    for label in labels:
        axes.plot([0, 1], label=label)
    finish(figure, axes, f"{'a' * 60} {'b' * 60}")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == labels
    assert vars(legend)["_ncols"] == columns  # Matplotlib does not tell it otherwise
    assert figure.get_suptitle() == f"{'a' * 60}\n{'b' * 60}"


def test_names_of_lines_are_moved_apart_around_their_mean():
    assert move_apart([0.0, 0.2, 0.3, 5.0], 1.0) == pytest.approx([-0.625, 0.375, 1.375, 4.375])
    assert move_apart([1.0, 2.5], 1.0) == [1.0, 2.5]
    assert move_apart([], 1.0) == []


def test_layers_stand_at_their_numbers_and_rows_of_an_image_at_one_less():
    values, image = panels(3, 2, columns=2)[1].flat
    by_layer(values, range(1, 13), "accuracy")
    number_ticks(image.xaxis, 12)
    for axes, first in ((values, 1), (image, 0)):
        assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "3", "5", "7", "9", "11"]
        assert axes.get_xticks().tolist() == [first + step for step in (0, 2, 4, 6, 8, 10)]


def test_headings_have_addresses_and_headers_say_what_they_head():
    body = (
        '<h2>One &amp; <b>two</b></h2><h3 class="x">One &amp; two</h3><h4>One &amp; two</h4>'
        '<h4 id="given">Other</h4><svg><h2>none</h2></svg>'
        "<table><thead><tr><th>a</th></tr></thead><tr><th class='x'>b</th></tr></table>"
    )
    page, headings = outline(body, prefix="p", lower=1)
    assert [(each.id, each.text, each.level) for each in headings] == [
        ("p-one-two", "One & two", 3),
        ("p-one-two-2", "One & two", 4),
        ("p-one-two-3", "One & two", 5),
        ("given", "Other", 5),
    ]
    assert page == (
        '<h3 id="p-one-two">One &amp; <b>two</b></h3><h4 class="x" id="p-one-two-2">One &amp; two</h4>'
        '<h5 id="p-one-two-3">One &amp; two</h5><h5 id="given">Other</h5><svg><h2>none</h2></svg>'
        '<table><thead><tr><th scope="col">a</th></tr></thead><tr><th scope="row" class=\'x\'>b</th></tr></table>'
    )

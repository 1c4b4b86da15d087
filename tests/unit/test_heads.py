"""Heads drawn on sentences, from a small map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from attentionology.engine.shown_heads import Shown
from attentionology.extractors import DIRECTIONS
from attentionology.reports.drawing import BLUE, GREEN, GREY, ORANGE
from attentionology.reports.heads import LAYOUTS, HeadView, Layout, as_text, draw, draw_into
from attentionology.reports.heads.explorer_data import as_explorer, opening
from attentionology.reports.heads.figure import label_places
from attentionology.reports.shapes import signed_heatmap
from tests.maps import inflate

WORDS = ("[CLS]", "The", "old", "dog", "barks", "[SEP]")
VALUES = np.array(
    [
        [1.00, 0.00, 0.00, 0.00, 0.00, 0.00],
        [0.10, 0.00, 0.10, 0.80, 0.00, 0.00],
        [0.01, 0.30, 0.00, 0.69, 0.00, 0.00],
        [0.70, 0.00, 0.00, 0.00, 0.30, 0.00],
        [0.00, 0.00, 0.00, 0.25, 0.25, 0.50],
        [1.00, 0.00, 0.00, 0.00, 0.00, 0.00],
    ]
)
GUESSES = (None, 3, 3, 4, 3, None)  # no special token, and not the word itself
GOLD = (None, 2, 3, 4, -1, None)
RELATIONS = (None, "det", "amod", "nsubj", "root", None)
SPECIAL = (True, False, False, False, False, True)
VIEW = HeadView("s1", WORDS, SPECIAL, VALUES, 3, 9, "weight", None, GUESSES, GOLD, RELATIONS)


def drawn_lines(view: HeadView) -> list[tuple[str, float]]:
    """The color and the opacity of each line between two words."""
    [axes] = draw([[view]]).axes
    return [(to_hex(line.get_color()).upper(), float(line.get_alpha() or 0)) for line in axes.lines]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_line_for_each_value_that_can_be_seen(direction):
    """Lines between a word and its head, as the direction reads them, are green."""
    values = VALUES.copy()
    values[0, 5] = 0.02  # the faintest that is drawn
    joined = {
        (row, column)
        for row in range(6)
        for column in range(6)
        if (direction != "head->dep" and GOLD[row] == column) or (direction != "dep->head" and GOLD[column] == row)
    }
    expected = [
        (GREEN if (row, column) in joined else BLUE, values[row, column])
        for row in range(6)
        for column in range(6)
        if values[row, column] >= 0.02
    ]
    assert drawn_lines(replace(VIEW, values=values, direction=direction)) == expected
    assert len(expected) == 13
    assert {color for color, _ in drawn_lines(replace(VIEW, gold=(), relations=()))} == {BLUE}


@pytest.mark.parametrize("layout", ["lines", "arcs"])
def test_axes_of_another_figure_get_what_a_figure_has(layout: Layout):
    [expected] = draw([[VIEW]], layout=layout).axes
    axes = Figure().subplots(1, 2)[1]
    draw_into(axes, VIEW, layout)
    assert [*axes.get_xlim(), *axes.get_ylim()] == pytest.approx([*expected.get_xlim(), *expected.get_ylim()])
    for drawn in (lambda each: each.texts, lambda each: each.lines, lambda each: each.patches):
        assert len(drawn(axes)) == len(drawn(expected))
    words = [[(text.get_text(), text.get_position()) for text in each.texts] for each in (axes, expected)]
    assert words[0] == words[1]
    assert len(words[0]) >= 6


def test_lines_connect_the_rows_of_their_words():
    [axes] = draw([[VIEW]]).axes
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    line = axes.lines[2]  # from "The" to "old"
    assert line.get_ydata() == pytest.approx([heights["The"], heights["old"]])
    start, end = np.asarray(line.get_xdata())
    assert start < end


def drawn_arrows(view: HeadView) -> list[tuple[str, str, str]]:
    """The color of each arrow, and the words where it starts and where its tip is; "" is no word."""
    [axes] = draw([[view]], layout="arcs").axes
    centers = np.array([text.get_position()[0] for text in axes.texts[1 : 1 + len(view.words)]])
    arrows = []
    for arrow in axes.patches:
        assert isinstance(arrow, FancyArrowPatch)
        start, tip = arrow._posA_posB  # type: ignore[attr-defined]
        first, last = (int(np.abs(centers - x).argmin()) for x, _ in (start, tip))
        assert tip[0] == pytest.approx(centers[last])
        assert type(arrow.get_arrowstyle()).__name__ == "CurveFilledB"  # the head of the arrow is at its end
        leads_from = view.words[first] if start[1] == tip[1] else ""
        arrows.append((to_hex(arrow.get_edgecolor()).upper(), leads_from, view.words[last]))
    return arrows


def test_arrows_lead_from_head_to_dependent():
    guesses = [(ORANGE, "dog", "The"), (GREEN, "dog", "old"), (GREEN, "barks", "dog"), (BLUE, "dog", "barks")]
    tree = [(GREY, "old", "The"), (GREY, "dog", "old"), (GREY, "barks", "dog"), (GREY, "", "barks")]
    assert drawn_arrows(VIEW) == drawn_arrows(VIEW.without_special()) == guesses + tree
    [axes] = draw([[VIEW]], layout="arcs").axes
    assert [arrow.get_linestyle() == "solid" for arrow in axes.patches] == [
        False,
        *[True] * 7,
    ]  # the wrong one is dashed
    plain = replace(VIEW, gold=(), relations=())
    assert drawn_arrows(plain) == [(BLUE, start, end) for _, start, end in guesses]


def test_arrows_of_the_tree_have_the_names_of_relations():
    [axes] = draw([[VIEW]], layout="arcs").axes
    words = axes.texts[1 : 1 + len(WORDS)]
    centers = {word.get_text(): word.get_position()[0] for word in words}
    labels = {text.get_text(): text.get_position() for text in axes.texts[1 + len(WORDS) :]}
    between = {"det": ("old", "The"), "amod": ("dog", "old"), "nsubj": ("barks", "dog"), "root": ("barks", "barks")}
    middles = {name: (centers[start] + centers[end]) / 2 for name, (start, end) in between.items()}
    assert {name: x for name, (x, _) in labels.items()} == pytest.approx(middles)
    assert max(y for _, y in labels.values()) < words[0].get_position()[1]  # the axis points down


def test_a_word_alone_has_no_guess():
    alone = HeadView("s1", ("Stop",), (False,), np.ones((1, 1)), 3, 9, "weight", None, (None,), (-1,), ("root",))
    assert drawn_arrows(alone) == [(GREY, "", "Stop")]
    assert as_text(alone).splitlines()[1] == "  Stop  ██████████  Stop 100%"


def test_a_grid_has_a_panel_for_each_sentence_and_head():
    other = replace(VIEW, head=10)
    figure = draw([[VIEW, other], [other.without_special(), VIEW.without_special()]])
    headings = [axes.texts[0].get_text() for axes in figure.axes]
    assert headings == ["Head 3-9", "Head 3-10", "Head 3-10", "Head 3-9"]


def test_a_panel_of_lines_is_as_large_as_its_words():
    """In inches: 0.075 for each letter of the longest word on both sides, and 0.19 for each line."""
    short = VIEW.restricted([1, 3])
    figure = draw([[VIEW, short], [short, short]], title="Two heads")
    (width, height) = figure.get_size_inches()
    above, below = 1.5 * 0.19, 3.5 * 0.19  # a title, and three lines of a legend
    assert (width, height) == pytest.approx((2.05 + 1.75, above + 1.615 + 0.855 + below))
    first, second = above, above + 1.615
    expected = [
        (0, first, 2.05, 1.615),
        (2.05, first, 1.75, 1.615),
        (0, second, 2.05, 0.855),
        (2.05, second, 1.75, 0.855),
    ]
    for axes, (left, top, wide, high) in zip(figure.axes, expected, strict=True):
        box = axes.get_position()
        inches = (width * box.x0, height * (1 - box.y1), width * box.width, height * box.height)
        assert inches == pytest.approx((left, top, wide, high))
        assert (*axes.get_xlim(), *axes.get_ylim()) == pytest.approx((0, wide, high, 0))
    heading, *words = (text.get_position() for text in figure.axes[0].texts)
    assert heading == pytest.approx((1.025, 0.152))
    assert words == [pytest.approx((x, 0.19 * (2 + row))) for row in range(6) for x in (0.475, 1.575)]
    title, legend = figure.texts
    assert (title.get_position(), title.get_text()) == ((0.01, 1.0), "Two heads")
    assert legend.get_position() == pytest.approx((0.01, 0.057 / height))
    words_of_legend = " ".join(legend.get_text().split())
    assert words_of_legend == (
        "Lines lead from each word to those that it attends to: the darker, the larger the value (full color: weight "
        "1). Lines to the syntactic head of a word are green."
    )
    norms = replace(short, kind="norm", scale=3.25)  # none of its words has a known head
    (of_arcs,) = draw([[short, norms]], layout="arcs").texts
    assert " ".join(of_arcs.get_text().split()).endswith("the larger its value (full color: weight 1, norm 3.25).")
    (of_tree,) = draw([[VIEW]], layout="arcs").texts
    assert "Guesses are green if right, orange and dashed if wrong." in " ".join(of_tree.get_text().split())


def test_a_drawing_names_its_model_and_counts_its_words():
    shown = Shown(((VIEW, replace(VIEW, head=10)), (VIEW, VIEW)), "lines", "bert", special=False)
    (title, _) = shown.figure().texts
    assert title.get_text() == "Heads 3-9 and 3-10 of bert on 2 sentences, 8 words"


def test_a_panel_of_arcs_is_as_large_as_its_words_and_arcs():
    """In inches: words are as wide as the name of their relation needs, and longer arcs are higher."""
    figure = draw([[replace(VIEW, special=(True, *[False] * 4, True))]], layout="arcs")
    [axes] = figure.axes
    centers = [0.39375, 0.8125, 1.1875, 1.6125, 2.08125, 2.56875]

    def apex(first: int, last: int) -> float:
        distance = abs(centers[first] - centers[last])
        return 1.2 * distance / (distance + 3.6)

    above, below = apex(3, 4) + 0.2, apex(1, 3)  # the arrow to the root is above all arcs
    baseline = above + 0.57
    height = baseline + below + 0.285
    assert axes.get_ylim() == pytest.approx((height, 0))
    n_lines = figure.texts[0].get_text().count("\n") + 1
    assert figure.get_size_inches() == pytest.approx((2.9625, height + 0.19 * (n_lines + 0.5)))
    places = [text.get_position() for text in axes.texts]
    assert places[0] == pytest.approx((0.15, 0.152))
    assert places[1:7] == [pytest.approx((center, baseline)) for center in centers]
    tree = [(2, 1), (3, 2), (4, 3)]
    level = baseline - 0.114
    middles = [((centers[head] + centers[word]) / 2, level - apex(head, word)) for head, word in tree]
    assert places[7:] == [pytest.approx(each) for each in (*middles, (centers[4], level - above))]
    arrows: list[Any] = [*axes.patches]
    for arrow, (head, word), side in zip(arrows, [(3, 1), (3, 2), (4, 3), (3, 4), *tree], "bbbbaaa", strict=False):
        y = baseline + 0.114 if side == "b" else level
        (start, tip), apart = arrow._posA_posB, 0.05 if head < word else -0.05
        assert (start, tip) == (pytest.approx((centers[head] + apart, y)), pytest.approx((centers[word], y)))
        bend = arrow.get_path().vertices[1]  # a curve is half as high as the point that bends it
        high = 2 * apex(head, word)
        assert bend == pytest.approx(((start[0] + tip[0]) / 2, y - high if side == "a" else y + high))
    root = arrows[-1]._posA_posB
    assert root == [pytest.approx((centers[4], level - above)), pytest.approx((centers[4], level))]
    assert [arrow.get_alpha() for arrow in arrows] == pytest.approx([0.8, 0.69, 0.3, 0.25, 1, 1, 1, 1])
    faint = draw([[replace(VIEW, values=VALUES / 5)]], layout="arcs").axes[0].patches
    assert [arrow.get_alpha() for arrow in faint[:4]] == pytest.approx([0.16, 0.15, 0.15, 0.15])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_words_that_are_read_from_right_to_left_are_mirrored(layout):
    right = replace(VIEW, words=("[CLS]", "ראה", "חתול", "שחור", "גדול", "[SEP]"), gold=(), relations=())
    left = replace(right, words=("[CLS]", "saw", "cats", "dark", "huge", "[SEP]"))
    [mirrored], [usual] = (draw([[view]], layout=layout).axes for view in (right, left))
    width = usual.get_xlim()[1]
    assert mirrored.get_xlim() == pytest.approx((0, width))
    if layout == "arcs":
        xs = [[text.get_position()[0] for text in axes.texts[1:]] for axes in (mirrored, usual)]
        assert xs[0] == pytest.approx([width - x for x in xs[1]])
    for line, other in zip(mirrored.lines, usual.lines, strict=True):
        assert list(np.asarray(line.get_xdata())) == list(np.asarray(other.get_xdata()))[::-1]


@pytest.mark.parametrize("views", [[], [[]], [[VIEW], [VIEW, VIEW]]])
def test_an_uneven_grid_is_refused(views):
    with pytest.raises(ValueError, match="same number of heads"):
        draw(views)


def test_without_special_tokens_values_stay():
    view = VIEW.without_special()
    assert view.words == ("The", "old", "dog", "barks")
    assert np.array_equal(view.values, VALUES[1:5, 1:5])
    assert view.gold == (1, 2, 3, -1)
    assert view.guesses == (2, 2, 3, 2)
    assert [view.is_right(row) for row in range(4)] == [False, True, True, None]


def test_text_table_and_figure_leave_out_the_same_special_tokens():
    shown = Shown(((VIEW,),), "lines", "m", special=False)
    assert [line[2:8].strip() for line in shown.text().splitlines()[1:]] == ["The", "old", "dog", "barks"]
    assert list(dict.fromkeys(shown.table()["to_word"])) == ["The", "old", "dog", "barks"]
    [axes] = shown.figure().axes
    assert {text.get_text() for text in axes.texts} & set(WORDS) == {"The", "old", "dog", "barks"}
    alone = Figure().subplots()
    shown.draw(alone)
    assert {text.get_text() for text in alone.texts} & set(WORDS) == {"The", "old", "dog", "barks"}


def test_the_heads_of_words_that_were_left_out_are_unknown():
    assert VIEW.restricted([1, 3]).gold == (None, None)
    assert VIEW.restricted([1, 3]).guesses == (1, None)
    assert VIEW.restricted([2, 3, 4]).gold == (1, 2, -1)
    assert replace(VIEW, gold=()).restricted([1, 3]).gold == ()


def test_text():
    assert as_text(VIEW).splitlines() == [
        "Head 3-9: s1",
        "  [CLS]  ██████████  [CLS] 100%",
        "- The    ████████    dog 80%, [CLS] 10%, old 10%  (guess: dog, head: old)",
        "+ old    ███████     dog 69%, The 30%",
        "+ dog    ███████     [CLS] 70%, barks 30%",
        "  barks  █████       [SEP] 50%, dog 25%, barks 25%",
        "  [SEP]  ██████████  [CLS] 100%",
    ]


def test_bars_stand_below_each_other_beside_wide_and_combining_characters():
    """A character of Chinese takes two columns, and an accent of its own none."""
    words = ("[CLS]", "ve\u0301lo", "犬", "dog", "barks", "[SEP]")
    lines = as_text(replace(VIEW, words=words)).splitlines()[1:]
    assert [line.index("█") for line in lines] == [9, 10, 8, 9, 9, 9]


def test_text_of_norms_and_of_layers():
    lines = as_text(replace(VIEW, values=VALUES * 2, scale=2.0, kind="norm")).splitlines()
    assert lines[0] == "Head 3-9 (norm): s1"
    assert lines[2] == "- The    ████████    dog 1.6, [CLS] 0.2, old 0.2  (guess: dog, head: old)"
    assert as_text(replace(VIEW, head=None, kind="attn")).startswith("Layer 3 (attn): s1\n")


def test_text_names_words_with_a_twentieth_of_the_largest_value():
    values = VALUES.copy()
    values[1] = [0.5, 0.025, 0.0249, 0, 0, 0]
    values[2] = [0.5, 0.09, 0.06, 0.2, 0, 0]
    values[3] = 0
    lines = as_text(replace(VIEW, values=values, guesses=(None,) * 6)).splitlines()
    assert [line.partition("█  ")[2].strip() for line in lines[2:4]] == [
        "[CLS] 50%, The 2%",
        "[CLS] 50%, dog 20%, The 9%",
    ]
    assert lines[4] == "  dog    █             (head: barks, out of reach)"


LONG = ("[CLS]", "Weihnachtsbaumkugel", "日本語の単語です", "dog", "barks", "[SEP]")


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            48,
            [
                "Head 3-9: sssssssssssssssssssssssssssssssssssss…",
                "  [CLS]         ██████████  [CLS] 100%",
                "- Weihnachtsb…  ████████    dog 80%, [CLS] 10%,…",
                "+ 日本語の単…   ███████     dog 69%, Weihnachts…",
            ],
        ),
        (
            80,
            [
                "Head 3-9: sssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss…",
                "  [CLS]                ██████████  [CLS] 100%",
                "- Weihnachtsbaumkugel  ████████    dog 80%, [CLS] 10%, 日本語の単語です 10%  (g…",
                "+ 日本語の単語です     ███████     dog 69%, Weihnachtsbaumkugel 30%",
            ],
        ),
    ],
)
def test_long_words_and_lines_are_cut(width, lines):
    """Words take a quarter of the width at most; those of some scripts take two columns for each character."""
    assert as_text(replace(VIEW, words=LONG, sentence="s" * 90), width=width).splitlines()[:4] == lines


def test_the_first_word_may_be_a_head():
    view = replace(VIEW, gold=(-1, 0, 0, 0, 0, None), guesses=(None, 0, 3, 0, 3, None))
    assert [view.is_right(row) for row in range(6)] == [None, True, False, True, None, None]


@pytest.mark.parametrize("width", [40, 80])
def test_text_fits_into_the_terminal(width):
    words = ("[CLS]", "Donaudampfschifffahrtsgesellschaft" * 3, "日本語の単語", "é" * 5, "barks", "[SEP]")
    wide = {"日本語の単語": 12, "é" * 5: 5}
    for line in as_text(replace(VIEW, words=words), width=width).splitlines():
        columns = len(line) + sum(count - len(word) for word, count in wide.items() if word in line)
        assert columns <= width


def test_the_explorer_has_the_values_the_tree_and_the_guesses():
    norms = replace(VIEW, values=VALUES * 3, scale=3.0, kind="norm")
    layer = replace(VIEW, values=VALUES.T, head=None, kind="attn")
    views = [VIEW, norms, layer, replace(VIEW, layer=1, head=12, values=VALUES[::-1])]
    explorer = as_explorer([views, views], model="m")
    assert (explorer.layers, explorer.heads) == (3, 12)
    assert explorer.sample is not None
    assert explorer.sample.layer_kinds == ("attn",)
    assert explorer.sample.share_kinds == ("weight", "attn")
    first, second = explorer.sample.sentences
    assert (first.id, second.id) == ("s1", "s1 (2)")
    assert (first.heads, first.relations) == (GOLD, RELATIONS)
    assert set(first.guesses) == {"weight/dep->head", "norm/dep->head", "attn/dep->head"}
    expected = {"weight": (32, 11), "norm": (32,), "attn": (24,)}
    assert {kind: each.heads for kind, each in first.maps.items()} == expected
    for kind, of_kind in (("weight", [VIEW, views[3]]), ("norm", [norms]), ("attn", [layer])):
        shape = (len(of_kind), 6, 6)
        stored = np.frombuffer(inflate(first.maps[kind].data), np.uint8).reshape(shape) / 255
        scaled = stored * np.array(first.maps[kind].scales)[:, None, None]
        values = np.stack([view.values for view in of_kind])
        assert np.abs(scaled - values).max() <= 0.5 / 255 * values.max() + 1e-12
        guesses = np.frombuffer(inflate(first.guesses[f"{kind}/dep->head"]), "<u2").reshape(shape[:2]).tolist()
        assert guesses == [[65535, 3, 3, 4, 3, 65535]] * len(of_kind)


def test_the_explorer_opens_with_what_the_figure_draws():
    views = [replace(VIEW, head=None, kind="attn"), VIEW, replace(VIEW, layer=12), replace(VIEW, kind="norm")]
    assert opening([views], layout="lines", special=False) == (
        "#head=3-9,12-9&kind=attn,weight,norm&view=lines&special=off"
    )
    assert opening([views[:1]], layout="arcs", special=True) == "#head=3-1&kind=attn&view=arcs&special=on"


def test_names_of_relations_do_not_cover_each_other() -> None:
    """Two arcs of nearly the same span have their middles at nearly the same place."""
    centers, arcs, names = (
        [0.5, 1.2, 1.7, 2.2, 7.0, 7.6],
        [(0, 4), (0, 5), (1, 2)],
        [None, "x", "det", "x", "obl", "punct"],
    )
    (first, second, third) = label_places(centers, arcs, names)
    assert first == pytest.approx((3.75, apex(centers, (0, 4))))
    assert third == pytest.approx((1.45, apex(centers, (1, 2))))
    share = (second[0] - 0.5) / 7.1
    assert abs(second[0] - first[0]) >= 0.05 * (4 + 6) / 2  # beside the shorter one
    assert second[1] == pytest.approx(4 * share * (1 - share) * apex(centers, (0, 5)))  # on its own arc


def apex(centers: list[float], arc: tuple[int, int]) -> float:
    """The height of an arc."""
    distance = abs(centers[arc[0]] - centers[arc[1]])
    return 1.2 * distance / (distance + 3.6)


def test_cells_below_zero_are_marked_in_gray_too() -> None:
    axes = Figure().subplots()
    cells = signed_heatmap(axes, [[0.5, -0.5, np.nan], [-0.02, 0.0, -0.06]], 0.5)
    (marks,) = axes.lines
    assert sorted(np.asarray(marks.get_xydata()).tolist()) == [[1, 0], [2, 1]]  # columns, rows
    assert cells.get_clim() == (-0.5, 0.5)

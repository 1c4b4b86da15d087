"""The sentence pairs of an alignment run: their words, gold links, and what heads get right and wrong."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attentionology.analyses.alignment.inputs import read_bitext
from attentionology.analyses.alignment.options import AlignmentOptions, BitextOptions
from attentionology.corpora_loaders.alignment import Bitext, PairLinks
from attentionology.engine.align import align
from attentionology.reports.explorer.data import SampledSentence
from tests.acceptance.page.listing import uses
from tests.acceptance.page.test_all_heads import cells_of
from tests.acceptance.page.test_matrix import saved
from tests.acceptance.page.waiting import assert_count, assert_texts, follow
from tests.maps import inflate

PAIR, HEAD, LAYERS, HEADS = "pairs.txt:4", (2, 4), 2, 4
ADDRESS = f"#head=2-4&kind=AWO-norm&sentence={PAIR}"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Any:
    """Twenty pairs of the sample. Every seventh link is missing, and every third only possible, except in the first."""
    corpus = read_bitext(BitextOptions(limit=20))
    pairs = []
    for position, pair in enumerate(corpus.pairs):
        links = [link for n, link in enumerate(sorted(pair.gold.possible if pair.gold else ())) if n % 7 != 6]
        pairs.append(
            replace(pair, gold=PairLinks.of([link for n, link in enumerate(links) if n % 3 or not position], links))
        )
    options = [AlignmentOptions(replicates=0)]
    loaded = Bitext(tuple(pairs), corpus.files, total=corpus.total, gold=corpus.gold)
    return align(bitext=loaded, options=options, out=tmp_path_factory.mktemp("run") / "r")


@pytest.fixture(scope="module")
def page_path(run):
    return run.folder / "report.html"


@pytest.fixture(scope="module")
def pairs(run) -> dict[str, SampledSentence]:
    return {each.id: each for each in run.explore().explorer.sample.sentences}


def verdicts(sentence: SampledSentence, kind: str, layer: int, head: int) -> list[bool]:
    """Whether each target word is linked as the gold links say."""
    heads = 1 if kind.endswith("-all") else HEADS
    stored = np.frombuffer(inflate(sentence.guesses[f"{kind}/target->source"]), dtype="<u2")
    picked = stored.reshape(LAYERS, heads, -1)[layer - 1, (head - 1) % heads]
    result = []
    for row, column in enumerate(picked):
        gold = {link.column: link.sure for link in sentence.links if link.row == row}
        special = (sentence.special_columns or ())[column]
        result.append(not any(gold.values()) if special else column in gold)
    return result


def values_of_head(sentence: SampledSentence, kind: str) -> Any:
    """The stored values of the head, from target words (rows) to source words (columns)."""
    stored = np.frombuffer(inflate(sentence.maps[kind].data), dtype=np.uint8)
    layer, head = HEAD
    return stored.reshape(LAYERS, HEADS, -1, len(sentence.columns or ()))[layer - 1, head - 1]


def words(page: Any) -> list[str]:
    labels: list[str] = page.locator(".word").evaluate_all(
        "words => words.map(word => word.getAttribute('aria-label'))"
    )
    return labels


def test_target_and_source_words_are_drawn_with_the_gold_links(open_page, page_path, pairs):
    pair = pairs[PAIR]
    page = open_page(page_path, ADDRESS)
    page.locator(".word").first.wait_for()
    source = (pair.columns or ())[:-1]
    assert words(page) == [f"from {word}" for word in pair.rows] + [f"to {word}" for word in source]
    assert page.locator(".drawing .axis").all_text_contents() == ["target", "source"]
    assert_count(page.locator(".links .gold.sure"), sum(link.sure for link in pair.links))
    assert_count(page.locator(".links .gold.possible"), sum(not link.sure for link in pair.links))
    page.get_by_role("checkbox", name="special tokens").check()
    assert_count(page.locator(".word"), len(pair.rows) + len(pair.columns or ()))
    right = verdicts(pair, "AWO-norm", *HEAD)
    assert True in right and False in right  # noqa: PT018
    assert_count(page.locator(".word.asked.right"), sum(right))
    assert_count(page.locator(".word.asked.wrong"), len(right) - sum(right))
    assert page.get_by_role("radio", name="arcs").is_disabled()


def test_weights_norms_and_all_heads_are_drawn_side_by_side(open_page, page_path, pairs):
    page = open_page(page_path, f"{ADDRESS}&view=matrix&b-kind=AWO-norm-all")
    page.locator(".drawing .title >> nth=1").wait_for()
    assert page.locator(".drawing .title").all_text_contents() == ["A: 2-4 · AWO-norm", "B: layer 2 · AWO-norm-all"]
    page.get_by_label("Map B").select_option("AWO-weight")
    assert_texts(page.locator(".drawing .title"), ["A: 2-4 · AWO-norm", "B: 2-4 · AWO-weight"])
    assert_count(page.locator(".links .gold"), 2 * len(pairs[PAIR].links))
    page.locator("[data-word='row-0']").first.hover()
    assert_texts(
        page.locator(".drawn .readout"), [re.compile("^A: 2-4 · AWO-norm: “"), re.compile("^B: 2-4 · AWO-weight: “")]
    )
    norm, readout = page.locator(".drawn .readout").all_text_contents()
    assert " %" in readout
    assert " %" not in norm
    gold = [link for link in pairs[PAIR].links if link.row == 0]
    names = ", ".join(
        f"“{(pairs[PAIR].columns or ())[link.column]}”" + " (possible)" * (not link.sure) for link in gold
    )
    assert f"Gold links: {names}." in readout


def test_all_heads_are_drawn_from_target_to_source_words(open_page, page_path, pairs):
    pair = pairs[PAIR]
    page = open_page(page_path, f"{ADDRESS}&view=all".replace("norm", "weight"))
    thumbnail = page.locator(".thumbnail").nth((HEAD[0] - 1) * HEADS + HEAD[1] - 1)
    assert thumbnail.get_attribute("aria-label") == "Open head 2-4"
    columns = [i for i, special in enumerate(pair.special_columns or ()) if not special]
    values = values_of_head(pair, "AWO-weight")[:, columns]
    drawn = cells_of(thumbnail.locator("canvas"), *values.shape)
    np.testing.assert_allclose(drawn, values, atol=1)
    follow(page, f"{ADDRESS}&view=all".replace("norm", "norm-all"))
    assert_texts(page.locator(".thumbnail span"), ["1-1", "2-1"])  # all heads of a layer share a map


def test_the_key_and_the_size_are_those_of_the_pair(open_page, page_path, pairs):
    page = open_page(page_path, ADDRESS)
    for name in (PAIR, "pairs.txt:1"):
        pair = pairs[name]
        follow(page, ADDRESS.replace(PAIR, name))
        columns = sum(not special for special in pair.special_columns or ())
        page.locator(".pager small", has_text=name).get_by_text(
            f"{len(pair.rows)} target and {columns} source words"
        ).wait_for()
        possible = any(not link.sure for link in pair.links)
        assert possible == (name == PAIR)
        key = ["link, right", "link, wrong", "gold link", *["possible link"] * possible]
        assert_texts(page.locator(".drawn .key > span:not(.domain)"), key)
    band = page.locator(".links .gold.sure").first.evaluate("each => getComputedStyle(each).stroke")
    key = page.locator(".key .gold.sure").evaluate("each => getComputedStyle(each, '::before').borderTopColor")
    assert key.replace("rgba", "rgb").startswith(band.rstrip(")"))


def test_a_pair_has_lines_in_the_place_of_arcs(open_page, page_path):
    page = open_page(page_path, f"{ADDRESS}&view=arcs")
    page.locator(".drawing .title").wait_for()
    assert page.get_by_role("radio", name="arcs").is_disabled()
    assert page.get_by_role("radio", name="lines").is_checked()


def test_the_cell_at_hand_names_its_target_and_source_word(open_page, page_path, pairs):
    pair = pairs[PAIR]
    page = open_page(page_path, f"{ADDRESS}&view=matrix".replace("norm", "weight"))
    box = page.locator(".grid").bounding_box()
    columns = [i for i, special in enumerate(pair.special_columns or ()) if not special]
    row, column = 2, 1
    x, y = ((at + 0.5) / of for at, of in ((column, len(columns)), (row, len(pair.rows))))
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    value = int(values_of_head(pair, "AWO-weight")[row, columns[column]]) / 2.55
    said = f"  {pair.rows[row]} → {(pair.columns or ())[columns[column]]} {value:.{int(value < 9.95)}f} %"
    assert_texts(page.locator(".drawing .title .value"), [said])


def test_a_source_word_at_hand_shows_the_links_to_it(open_page, page_path, pairs):
    column = pairs[PAIR].links[1].column
    page = open_page(page_path, f"{ADDRESS}&word=to-{column + 1}")
    page.locator(".word.focus").wait_for()
    assert_count(page.locator(".links .gold"), sum(link.column == column for link in pairs[PAIR].links))
    assert "is attended to by" in page.locator(".drawn .readout").text_content()


def test_a_word_at_hand_names_the_four_words_of_the_other_side_with_most(open_page, page_path, pairs):
    pair = pairs[PAIR]
    columns = [i for i, special in enumerate(pair.special_columns or ()) if not special]
    values = values_of_head(pair, "AWO-weight").astype(int)[:, columns]
    sources = [(pair.columns or ())[i] for i in columns]
    address = ADDRESS.replace("norm", "weight")
    page = open_page(page_path, address)
    for side, near, far, table in (("from", pair.rows, sources, values), ("to", sources, pair.rows, values.T)):
        for index, (word, of_word) in enumerate(zip(near, table, strict=True)):
            position = index if side == "from" else columns[index]
            follow(page, f"{address}&word={side}-{position + 1}")
            readout = page.locator(".drawn .readout")
            readout.get_by_text(re.compile(f"“{re.escape(word)}” (attends|is attended)")).wait_for()
            named = re.findall("“([^“”]*)” [0-9]", readout.text_content())
            assert named == [far[i] for i in np.argsort(-of_word, kind="stable")[:4]], (side, word)


@pytest.mark.parametrize("kind", ["AWO-norm", "AWO-weight-all"])
@pytest.mark.parametrize("show", ["right", "wrong"])
def test_pairs_are_filtered_by_what_the_head_gets_right_and_wrong(open_page, page_path, pairs, kind, show):
    page = open_page(page_path, f"#head=2-4&kind={kind}&show={show}")
    judged = {name: verdicts(pair, kind, *HEAD) for name, pair in pairs.items()}
    expected = {name for name, right in judged.items() if (any(right) if show == "right" else not all(right))}
    rows = uses(page)
    assert {row["sentence"] for row in rows} == expected
    wanted = [right for each in judged.values() for right in each if right == (show == "right")]
    assert len(rows) == len(wanted)
    assert all(row["verdict"].startswith("✓" if show == "right" else "✗") for row in rows)
    right, total = sum(map(sum, judged.values())), sum(map(len, judged.values()))
    assert f"{right} of {total} right" in page.locator(".sentences h3 small").text_content()


def test_a_measure_leads_to_its_maps_and_its_address_restores_them(open_page, page_path):
    page = open_page(page_path)
    page.get_by_role("combobox", name="Color by").click()
    page.keyboard.type("AWO weight all heads")
    page.get_by_role("option", name="Alignment error rate: AWO, by weight, all heads together").click()
    page.locator(".drawing .title", has_text="AWO-weight-all").wait_for()
    assert "kind=AWO-weight-all" in page.url
    page.reload()
    page.locator(".drawing .title").wait_for()
    assert "AWO-weight-all" in page.locator(".drawing .title").text_content()


def test_saved_numbers_name_the_gold_links(open_page, page_path, pairs):
    pair = pairs[PAIR]
    page = open_page(page_path, ADDRESS)
    page.locator(".word").first.wait_for()
    path, _ = saved(page, ".drawn", "CSV")
    header, *rows = csv.reader(io.StringIO(path.read_text("utf-8")))
    assert header == ["row", "word", "column", "attended", "gold", "2-4 · AWO-norm"]
    words = [(pair.rows[int(row[0]) - 1], (pair.columns or ())[int(row[2]) - 1]) for row in rows]
    assert [(row[1], row[3]) for row in rows] == words
    gold = {(link.row, link.column): "sure" if link.sure else "possible" for link in pair.links}
    assert {(int(row[0]) - 1, int(row[2]) - 1): row[4] for row in rows if row[4]} == gold
    path, _ = saved(page, ".drawn", "SVG")
    assert path.read_text("utf-8").count('stroke-dasharray="5px, 4px"') == sum(
        value == "possible" for value in gold.values()
    )

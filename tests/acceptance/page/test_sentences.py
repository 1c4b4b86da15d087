"""The sentences: which are shown, and how they are drawn."""

from __future__ import annotations

import base64
import csv
import io
import re
import zlib
from collections import Counter

import numpy as np
import pytest

from attentionology.analyses.dependency.picks import PICKS, relationships
from attentionology.corpora_loaders import Sentence
from tests.acceptance.page.conftest import written
from tests.acceptance.page.listing import choose, listed, uses
from tests.acceptance.page.made_up import HOSTILE, long_sentence, made_up, sentences
from tests.acceptance.page.test_matrix import saved
from tests.acceptance.page.waiting import assert_count, assert_texts, follow

DET = "#head=1-1&relation=det&direction=dep->head&measure=dependency/det/dep->head/accuracy/weight"


def unpacked(text, kind, shape):
    return np.frombuffer(zlib.decompress(base64.b64decode(text), -15), kind).reshape(shape)


def sentence_of(data, name):
    return next(sentence for sentence in data["sample"]["sentences"] if sentence["id"] == name)


def shape_of(data, sentence):
    return data["layers"], data["heads"], len(sentence["rows"])


def verdicts(data, sentence, head, relation, direction="dep->head"):
    """Whether each guess of a head is right, counted in another way than in the page."""
    layer, number = head
    guesses = unpacked(sentence["guesses"][f"weight/{direction}"], np.uint16, shape_of(data, sentence))
    pairs = zip(guesses[layer - 1, number - 1], sentence["heads"], sentence["relations"], strict=True)
    return [int(guess) == gold for guess, gold, name in pairs if name == relation]


def test_the_heads_are_listed_by_what_they_pick_for_the_word_at_hand(open_page, small_page, small):
    page = open_page(small_page, "#head=1-1&relation=obj&direction=dep->head&sentence=garden-03")
    sentence = sentence_of(small, "garden-03")
    row = sentence["relations"].index("obj")
    page.locator(f"[data-word='row-{row}']").first.click()
    groups = page.get_by_role("group", name=f"Heads by what they pick for {sentence['rows'][row]}")
    guesses = unpacked(sentence["guesses"]["weight/dep->head"], np.uint16, shape_of(small, sentence))[..., row].ravel()
    counted = Counter(map(int, guesses)).most_common()
    assert_texts(groups.locator("li b"), [sentence["rows"][picked] for picked, _ in counted])
    assert_texts(groups.locator("li small"), [str(n) for _, n in counted])
    second = groups.locator("li").nth(1).get_by_role("button")
    heads = [f"{head // 12 + 1}-{head % 12 + 1}" for head in np.flatnonzero(guesses == counted[1][0])[:8]]
    assert_texts(second, heads)
    second.last.click()
    assert_texts(page.locator(".drawing .title"), [f"{heads[-1]} · weight"])
    assert_count(groups.locator("[aria-current=true]"), 1)
    page.locator(f"[data-word='row-{row}']").first.click()  # which lets the word go
    assert_count(groups, 0)


def test_right_and_wrong_sentences_are_those_of_the_guesses(open_page, small_page, small):
    page = open_page(small_page)
    judged = {each["id"]: verdicts(small, each, (1, 1), "det") for each in small["sample"]["sentences"]}
    right, total = sum(map(sum, judged.values())), sum(map(len, judged.values()))
    assert 0 < right < total
    wanted = {
        "all": {name for name, list_ in judged.items() if list_},
        "right": {name for name, list_ in judged.items() if True in list_},
        "wrong": {name for name, list_ in judged.items() if False in list_},
    }
    for show, names in wanted.items():
        follow(page, f"{DET}&show={show}")
        shown = listed(page)
        assert set(shown) == names
        assert f"{right} of {total} right" in page.locator(".sentences h3").text_content()
        documents = [sentence_of(small, name)["document"] for name in shown]
        n_documents = len(set(documents))
        assert len(set(documents[:n_documents])) == n_documents  # each document once before any comes again
        lengths = [len(sentence_of(small, name)["rows"]) for name in shown[:n_documents]]
        assert lengths == sorted(lengths)


def test_wrong_guesses_are_those_of_each_kind_of_word(open_page, small_page, small):
    """The kinds are those of the tables: which sentences are shown for each is counted from the stored guesses."""
    page = open_page(small_page)
    for relation in ("det", "obj", "nsubj"):
        picked = wrong_picks(small, relation)
        follow(page, f"#head=2-4&relation={relation}&direction=dep->head&show=wrong")
        options = page.get_by_label("Picked").locator("option")
        for kind, ids in picked.items():
            option = page.get_by_label("Picked").locator(f"option[value='wrong:{kind}']")
            assert_texts(option, [re.compile(rf"\(n = {len(ids)}\)$")])
        assert {option.get_attribute("value") for option in options.all()} == {
            "wrong",
            *(f"wrong:{kind}" for kind in picked),
        }
        texts = [text.partition(" (n =")[0] for text in options.all_text_contents()]
        assert texts == ["any wrong word", *(NAMES[kind] for kind in NAMES if kind in picked)]
        kind, ids = max(picked.items(), key=lambda item: len(item[1]))
        page.get_by_label("Picked").select_option(f"wrong:{kind}")
        assert sorted(row["sentence"] for row in uses(page)) == sorted(ids)
        assert f"show=wrong:{kind}" in page.url.replace("%3A", ":")
        noun = "use" if len(ids) == 1 else "uses"
        assert page.locator(".count").text_content().startswith(f"{len(ids)} {noun} of ")
    page.reload()
    assert set(listed(page)) == set(ids)


NAMES = {
    "punctuation": "punctuation",
    "dependent": "a dependent of the word",
    "argument": "another argument of the verb",
    "sibling": "a sibling",
    "grandparent": "the head of its head",
    "neighbor": "a neighbor",
    "other": "another word",
}


def wrong_picks(data, relation):
    """The identifiers of the sentences of each wrong guess of head 2-4, by what was picked."""
    picked: dict[str, list[str]] = {}
    for each in data["sample"]["sentences"]:
        guesses = unpacked(each["guesses"]["weight/dep->head"], np.uint16, shape_of(data, each))[1, 3]
        inner = slice(1, -1)  # between the special tokens
        heads = tuple(max(head, 0) for head in each["heads"][inner])
        tags = tuple(each["tags"][inner])
        related = relationships(
            Sentence(each["id"], tuple(each["rows"][inner]), heads, tuple(each["relations"][inner]), tags)
        )
        for word, (guess, head, name) in enumerate(zip(guesses[inner], heads, each["relations"][inner], strict=True)):
            if name == relation and guess != head:
                picked.setdefault(PICKS[related[word, guess - 1]], []).append(each["id"])
    return picked


@pytest.mark.parametrize("kind", ["weight", "norm"])
def test_lines_are_as_strong_as_the_weights(open_page, small_page, small, kind):
    sentence = sentence_of(small, "garden-03")
    layers, heads, n = shape_of(small, sentence)
    weights = unpacked(sentence["maps"][kind]["data"], np.uint8, (layers, heads, n, n))[2, 4] / 255
    page = open_page(small_page, f"#head=3-5&kind={kind}&sentence=garden-03&special=on")
    for word, focus, expected in (("from-2", "row-1", weights[1]), ("to-3", "column-2", weights[:, 2])):
        follow(page, f"#head=3-5&kind={kind}&sentence=garden-03&word={word}&special=on")
        page.locator(f".word.focus[data-word='{focus}']").wait_for()
        page.locator(".base.shown").wait_for()
        strengths = page.locator(".base.shown path").evaluate_all(
            "paths => paths.flatMap(path => "
            "path.getAttribute('d').match(/M/g).map(() => +path.getAttribute('stroke-opacity')))"
        )
        visible = sorted(expected[expected >= 6 / 255])
        assert len(visible) >= 3
        np.testing.assert_allclose(sorted(strengths), visible, atol=1e-4)


@pytest.mark.parametrize("view", ["lines", "matrix"])
def test_bars_behind_words_are_as_strong_as_the_weights_of_the_word_at_hand(open_page, small_page, small, view):
    """They follow the pointer from word to word, and so does the mark of the word itself."""
    sentence = sentence_of(small, "garden-03")
    page = open_page(small_page, f"#head=3-5&sentence=garden-03&special=on&view={view}")
    layers, heads, n = shape_of(small, sentence)
    weights = unpacked(sentence["maps"]["weight"]["data"], np.uint8, (layers, heads, n, n))[2, 4] / 255
    for side, index in (("row", 1), ("row", 2), ("column", 3)):
        page.locator(f"[data-word='{side}-{index}']").hover()
        assert_count(page.locator(f".word.focus[data-word='{side}-{index}'][aria-pressed='true']"), 1)
        assert_count(page.locator(".word.focus, .word[aria-pressed='true']"), 1)
        bars = page.locator(".share").evaluate_all(
            "bars => bars.map(bar => [bar.dataset.of, +getComputedStyle(bar).fillOpacity])"
        )
        other, values = ("column", weights[index]) if side == "row" else ("row", weights[:, index])
        drawing = page.locator(".drawing").bounding_box()
        numbers = page.locator(".drawing text.value").all()
        assert bool(numbers) == (view == "lines")
        for box in (number.bounding_box() for number in numbers):  # none is cut off at the border
            assert drawing["x"] <= box["x"]
            assert box["x"] + box["width"] <= drawing["x"] + drawing["width"]
        expected = {f"{other}-{i}": value for i, value in enumerate(values) if value > 0}
        assert dict(bars) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", ["garden-14", "garden-02"])
def test_arcs_show_each_guess_beside_the_annotation(open_page, small_page, small, name):
    page = open_page(small_page, f"#head=1-1&relation=obj&direction=dep->head&sentence={name}&view=arcs")
    right = verdicts(small, sentence_of(small, name), (1, 1), "obj")
    page.locator(".annotated").first.wait_for()
    assert_count(page.locator(".annotated"), len(right))
    assert_count(page.locator(".guess.right"), sum(right))
    assert_count(page.locator(".guess.wrong"), len(right) - sum(right))
    drawing = page.locator(".drawing").bounding_box()
    for label in page.locator(".drawing .label").all():
        box = label.bounding_box()
        assert drawing["x"] <= box["x"]
        assert box["x"] + box["width"] <= drawing["x"] + drawing["width"] + 1
    # The key names the annotation where at least one word has it: a root has no head.
    for relation, shown in (("all", 1), ("root", 0)):
        follow(page, f"#head=1-1&relation={relation}&direction=dep->head&sentence={name}&view=arcs")
        assert_count(page.locator(".drawn .key .gold"), shown)


def test_words_are_reached_by_keyboard(open_page, small_page, small):
    page = open_page(small_page, "#head=1-2&sentence=garden-03")
    page.locator(".word[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(":focus").get_attribute("aria-label").startswith("from answered")
    assert "“answered” attends to" in page.locator(".drawn .readout").text_content()
    page.keyboard.press("ArrowRight")
    assert "“answered” is attended to by" in page.locator(".drawn .readout").text_content()
    page.locator(".word[data-word='row-1']").hover()  # the pointer moved last
    assert_texts(page.locator(".drawn .word.focus"), [sentence_of(small, "garden-03")["rows"][1]])
    page.mouse.move(0, 0)
    page.keyboard.press("Enter")
    assert page.url.endswith("&word=to-3")
    page.reload()
    page.locator(".word.focus").wait_for()
    assert "“answered” is attended to by" in page.locator(".drawn .readout").text_content()
    page.locator(".word.focus").focus()
    page.keyboard.press("Escape")
    assert "word=" not in page.url


def test_the_arrows_go_through_the_sentences_of_the_list(open_page, small_page):
    page = open_page(small_page, DET)
    names = listed(page)
    choose(page, 0)
    place = page.locator(".pager small").last
    assert place.text_content().startswith(names[0])
    assert page.get_by_role("button", name="Previous sentence").is_disabled()
    for name in names[1:3]:
        page.get_by_role("button", name="Next sentence").click()
        assert_texts(place, [re.compile("^" + re.escape(name))])
        assert_count(page.locator(f".rows .use.current[title='{name}']"), len([*filter(name.__eq__, all_of(page))]))
    page.get_by_role("button", name="Previous sentence").click()
    assert_texts(place, [re.compile("^" + re.escape(names[1]))])


def all_of(page):
    return [row["sentence"] for row in uses(page)]


def test_another_list_or_measure_leaves_the_chosen_sentence(open_page, small_page):
    page = open_page(small_page, DET)

    def measure():
        page.get_by_role("combobox", name="Color by").fill("obj")
        page.keyboard.press("Enter")

    steps = [
        lambda: page.get_by_role("radio", name="wrong").check(force=True),
        lambda: page.get_by_label("Picked").select_option(index=1),
        lambda: page.get_by_label("Contains").fill("e"),
        measure,
    ]
    for step in steps:
        uses(page)
        choose(page, 0)
        assert "&sentence=" in page.url
        step()
        page.wait_for_function("!location.hash.includes('&sentence=')")


def test_sentences_are_searched_by_words_patterns_and_relations(open_page, small_page, small):
    page = open_page(small_page, "#head=1-1&relation=all&direction=dep->head")
    every = listed(page)
    texts = {
        each["id"]: " ".join(w for w, s in zip(each["rows"], each["special"], strict=True) if not s).lower()
        for each in small["sample"]["sentences"]
    }
    relations = {each["id"]: set(each["relations"]) for each in small["sample"]["sentences"]}
    tags = {each["id"]: set(each["tags"]) for each in small["sample"]["sentences"]}
    field = page.get_by_label("Contains")
    searches = {
        "the": lambda name: "the" in texts[name],
        "/^the\\b/": lambda name: texts[name].startswith("the") and not texts[name][3:4].isalpha(),
        "relation:obj": lambda name: "obj" in relations[name],
        "tag:SCONJ": lambda name: "SCONJ" in tags[name],
    }
    for text, wanted in searches.items():
        field.fill(text)
        assert set(listed(page)) == {name for name in every if wanted(name)}
    assert "search=tag:SCONJ" in page.url.replace("%3A", ":")
    field.fill("/(/")
    assert field.get_attribute("aria-invalid") == "true"
    assert listed(page) == every


def test_a_guess_is_drawn_as_strongly_as_it_is_attended_to(open_page, small_page):
    page = open_page(small_page, DET)
    listed(page)
    page.locator("path.guess").first.wait_for()
    strengths = {
        float(path.evaluate("p => getComputedStyle(p).strokeOpacity")) for path in page.locator("path.guess").all()
    }
    assert strengths
    assert all(0.2 <= strength <= 1 for strength in strengths)
    assert any(strength < 0.99 for strength in strengths)


def test_the_direction_and_the_relation_lead_to_their_measure(open_page, small_page):
    page = open_page(small_page, DET)
    page.get_by_label("Relation").select_option("obj")
    assert page.get_by_role("combobox", name="Color by").input_value() == "Dependency accuracy: obj, dep → head"
    rows = uses(page)
    choose(page, 1)
    page.get_by_role("radio", name="head→dep").check(force=True)
    assert page.get_by_role("combobox", name="Color by").input_value() == "Dependency accuracy: obj, head → dep"
    assert "&sentence=" in page.url  # both directions are looked at in one sentence
    assert_texts(page.locator(".pager small").last, [re.compile("^" + re.escape(rows[1]["sentence"]))])
    page.get_by_label("Relation").select_option("det")
    assert "sentence=" not in page.url


def test_the_drawing_stays_until_the_next_one_is_there(open_page, small_page):
    """The sample of a head takes a moment to read; until then, the drawing of the head before stays."""
    page = open_page(small_page, f"{DET}&special=on")
    page.locator(".drawn .drawing").wait_for()
    page.evaluate(
        """() => {
            window.drawn = new Set()
            const title = () => document.querySelector(".drawn .drawing")?.textContent.slice(0, 12) ?? ""
            new MutationObserver(() => window.drawn.add(title())).observe(document.body, {
                childList: true, subtree: true, characterData: true, attributes: true,
            })
        }"""
    )
    for head, index in (("2-3", 12 + 2), ("4-5", 3 * 12 + 4)):
        page.locator(f".matrix [data-head='{index}']").first.click()
        page.wait_for_function("head => document.querySelector('.drawn .drawing').textContent.includes(head)", arg=head)
    seen = page.evaluate("[...window.drawn]")
    assert "" not in seen
    assert {"2-3", "4-5"} <= {text[:3] for text in seen}


def test_hostile_words_are_text(open_page, small_page):
    page = open_page(small_page, "#sentence=hostile <b>%26\"'%23%3D&view=arcs")
    page.locator(".word").first.wait_for()
    labels = page.locator(".word").evaluate_all("words => words.map(word => word.getAttribute('aria-label'))")
    assert [label.split(", ")[0] for label in labels] == [f"from {word}" for word in HOSTILE]
    assert page.evaluate("window.hacked") is None
    assert_count(page.locator("#explorer img, #explorer script, #explorer i:not(.ramp i, .bar i)"), 0)
    assert HOSTILE[0] in {row["form"] for row in uses(page)}  # in the list, which is drawn later
    path, _ = saved(page, ".drawn", "SVG")
    assert "<img" not in path.read_text("utf-8")
    path, name = saved(page, ".drawn", "CSV")
    assert not set(name) & set("<>\"'&#")
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8"))))
    assert len(rows) == 1 + len(HOSTILE) ** 2
    assert [row[3] for row in rows[1:6]] == list(HOSTILE)


def test_mentions_are_marked_and_joined(open_page, small_page, small):
    name, count = max(
        ((each["id"], len(each["mentions"])) for each in small["sample"]["sentences"]), key=lambda item: item[1]
    )
    assert count >= 2
    page = open_page(small_page, f"#relation=coreference&sentence={name}&view=arcs")
    page.locator(".annotated").first.wait_for()
    assert_count(page.locator(".word .mention"), count)
    entities = {mention["entity"] for mention in sentence_of(small, name)["mentions"]}
    assert_count(page.locator(".annotated"), count - len(entities))
    assert_count(page.locator(".guess"), 0)  # nothing guesses antecedents here


def test_a_long_sentence_of_a_large_model_stays_light(open_page, tmp_path):
    """A sentence of 128 tokens in the shape of BERT-large."""
    data = made_up([*sentences(4), long_sentence(126)], layers=24, heads=16)
    page = open_page(written(tmp_path, data), "#head=3-3&sentence=long-126&special=on")
    page.locator(".base path").first.wait_for()
    assert_count(page.locator(".matrix").get_by_role("gridcell"), 24 * (16 + 1))  # heads, and a summary of each layer
    assert_count(page.locator(".word"), 256)
    assert page.locator(".base path").count() <= 255
    entered = "word => word.dispatchEvent(new PointerEvent('pointerover', { pointerType: 'mouse', bubbles: true }))"
    page.locator(".word").first.evaluate(entered)
    assert_count(page.locator(".base.shown"), 1)

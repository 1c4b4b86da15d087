"""The list of relations with their numbers, and the list of sentences with what is right in them."""

from __future__ import annotations

from collections import Counter

from tests.acceptance.page.test_sentences import DET, listed, sentence_of, verdicts


def test_the_list_says_what_is_right_and_cuts_long_sentences(open_page, small_page, small):
    page = open_page(small_page, DET)
    for name, example in zip(listed(page), page.locator(".example").all(), strict=True):
        sentence = sentence_of(small, name)
        judged = verdicts(small, sentence, (1, 1), "det")
        said = example.locator("small span")
        assert said.text_content() == f"{'✓' if all(judged) else '✗'} {sum(judged)} of {len(judged)} right"
        assert said.get_attribute("class") == ("right" if all(judged) else "wrong")
        words = " ".join(sentence["rows"][1:-1])
        text = example.locator(".words").text_content().strip()
        assert text.strip("… ") in words
        assert (text == words) == (len(sentence["rows"]) - 2 <= 16)
    for verdict, line in (("right", "solid"), ("wrong", "wavy")):
        word = page.locator(f".example b.{verdict}").first
        assert word.evaluate("each => getComputedStyle(each).textDecorationStyle") == line


def test_relations_are_listed_once_with_their_numbers(open_page, small_page, small):
    page = open_page(small_page, "#head=1-1&relation=none")
    page.locator(".drawing, .count").first.wait_for()
    options = page.get_by_label("Relation", exact=True).locator("option")
    counts = Counter(name for each in small["sample"]["sentences"] for name in each["relations"] if name)
    repeated = [each["entity"] for sentence in small["sample"]["sentences"] for each in sentence["mentions"]]
    assert "none" not in counts
    texts = options.all_text_contents()
    assert texts[:2] == ["any", "all"]
    assert (
        texts[-1]
        == "none (not in the sample)"
        == page.get_by_label("Relation", exact=True).locator("option:checked").text_content()
    )
    mentioned = [text for text in texts if text.startswith("coreference")]
    assert len(mentioned) == bool(repeated)
    listed = [text for text in texts[2:-1] if text not in mentioned]
    assert sorted(listed) == sorted(f"{name} (n = {n})" for name, n in counts.items())
    numbers = [int(text.rpartition(" ")[2][:-1]) for text in texts[2:-1]]
    assert numbers == sorted(numbers, reverse=True)
    assert page.locator(".sentences > .note").text_content() == small["sample"]["note"]

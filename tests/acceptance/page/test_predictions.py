"""What a model predicts for the words of a sentence, with and without the head that is shown."""

from __future__ import annotations

from tests.acceptance.page.conftest import written


def predictions(sentence, shift):
    """Made-up predictions, which are lower by ``shift`` for every second word."""
    words = [word for word, special in zip(sentence["rows"], sentence["special"], strict=True) if not special]
    log_p = [None if i == 0 else -0.25 * i - shift * (i % 2) for i in range(len(words))]
    return log_p, [[] if i == 0 else [[word, 0.5], [f"<{i}>", 0.25]] for i, word in enumerate(words)]


def test_predictions_are_those_of_the_sentence_and_head(open_page, tmp_path, small):
    sentence = small["sample"]["sentences"][3]
    stored = []
    for head, shift in (("", 0.0), ("1-2", 0.75), ("2-1", -0.125)):
        log_p, likeliest = predictions(sentence, shift)
        likeliest = [
            [[f"{piece}{head}" if i else piece.upper(), p] for i, (piece, p) in enumerate(of)] for of in likeliest
        ]
        stored.append({"sentence": sentence["id"], "head": head, "log_p": log_p, "likeliest": likeliest})
    path = written(tmp_path, {**small, "predictions": stored})
    page = open_page(path, f"#head=1-2&sentence={sentence['id']}")
    page.locator(".predictions").wait_for()
    rows = [row.split("\t") for row in page.locator(".predictions table").inner_text().split("\n")[1:] if row]
    words = [word for word, special in zip(sentence["rows"], sentence["special"], strict=True) if not special]
    assert len(rows) == len(words)
    for i, (row, word) in enumerate(zip(rows, words, strict=True)):
        change = -0.75 * (i % 2)
        numbers = [f"{x:.2f}".replace("-", "−") for x in (-0.25 * i, -0.25 * i + change)] if i else ["–", "–"]
        said = (f"{change:.2f}".replace("-", "−") if change else "+0.00") if i else "–"
        assert [cell.strip() for cell in row[:4]] == [word, *numbers, said]
        assert row[4].strip() == (f"{word.upper()} 50.0 %, <{i}> 25.0 %" if i else "")
        assert row[5].strip() == (f"{word.upper()} 50.0 %, <{i}>1-2 25.0 %" if i else "")
    right = page.locator(".predictions bdi.right").all_text_contents()
    assert right == [word.upper() for word in words[1:] for _ in range(2)]
    assert page.locator(".predictions .chip").all_text_contents() == ["2-1"]
    assert page.locator(".predictions td.large").count() == sum(i % 2 for i in range(len(words)))
    weights = [page.locator(f".predictions td{large}").first for large in (".large", ":not(.large)")]
    assert [each.evaluate("each => getComputedStyle(each).fontWeight") for each in weights] == ["700", "400"]
    page.locator(".predictions .chip", has_text="2-1").click()
    page.locator(".predictions summary", has_text="without head 2-1").wait_for()
    page = open_page(path, f"#head=3-4&sentence={sentence['id']}")
    page.locator(".predictions summary").wait_for()
    assert page.locator(".predictions thead th").count() == 3
    page = open_page(path, f"#head=1-2&sentence={small['sample']['sentences'][4]['id']}")
    page.locator(".drawing").wait_for()
    assert page.locator(".predictions").count() == 0

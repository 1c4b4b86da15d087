"""Who uses a keyboard reaches the heads at once and every figure that scrolls; axe finds nothing serious."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attentionology.reports.page import Section, write_report
from tests.acceptance.page.made_up import as_text
from tests.unit.test_reports import RUN

AXE = Path(__file__).resolve().parents[3] / "reports" / "page" / "node_modules" / "axe-core" / "axe.min.js"
_CELLS = "".join(f"<td>{number:,}</td>" for number in range(10**6, 10**6 + 30))
VIEWS = ("lines", "arcs", "matrix")
WIDE = f"""<h2>A table</h2>
<div class="scroll"><table><thead><tr>{"<th>n</th>" * 30}</tr></thead><tbody><tr>{_CELLS}</tr></tbody></table></div>
<h2>A figure</h2><p>Text.</p>
<figure><svg role="img" aria-label="Figure: a line." width="900" height="40"><path d="M0 9 H900"/></svg></figure>
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, small: dict[str, Any]) -> Path:
    """A report with a table and a figure that are wider than a phone, for two maps."""
    folder = tmp_path_factory.mktemp("wide")
    template = folder / "section.html.j2"
    template.write_text(WIDE, encoding="utf-8")
    sections = [Section(f"Of {kind}", template, tab="Wide", map=kind) for kind in ("weight", "norm")]
    write_report(folder, run=RUN, sections=sections, explorer=as_text(small))
    return folder / "report.html"


def test_the_matrix_is_within_three_stops_of_the_top(open_page: Callable[..., Any], report: Path) -> None:
    page = open_page(report)
    page.locator(".matrix").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    chosen = page.locator(".cell.chosen").get_attribute("data-head")
    assert page.locator(":focus").get_attribute("data-head") == chosen
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".cell.chosen").get_attribute("data-head") == str(int(chosen) + 1)


def test_what_scrolls_is_a_stop_of_the_tab_key(open_page: Callable[..., Any], report: Path) -> None:
    page = open_page(report, width=480, color_scheme="light")  # in a window of its own, which nothing else has resized
    page.locator("details.folded > summary").first.click()
    for selector in (".scroll", "figure:not(.atl figure)"):
        region = page.locator(f"main [data-map='weight'] {selector}")
        page.wait_for_function("each => each.tabIndex === 0", arg=region.element_handle())
        assert region.evaluate("each => each.scrollWidth > each.clientWidth")
    assert page.get_by_role("region", name="Table: A table", exact=True).is_visible()


# Texts of a drawing, and what they must not cover: each other, and the cells of a matrix.
LAID = """svg => {
  const box = each => each.getBoundingClientRect(), frame = box(svg);
  const texts = [...svg.querySelectorAll("text")].filter(each => each.textContent.trim() && !each.closest(".cell"));
  const cells = [...svg.querySelectorAll(".cell .swatch")];
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
  const outside = texts.filter(each => box(each).left < frame.left - 2 || box(each).right > frame.right + 1
    || box(each).top < frame.top - 3 || box(each).bottom > frame.bottom + 3);
  const covered = texts.flatMap((each, i) => [...texts.slice(i + 1), ...cells]
    .filter(other => meet(box(each), box(other))).map(other => `${each.textContent} on ${other.textContent}`));
  return [texts.length, outside.map(each => each.textContent), covered];
}"""


@pytest.mark.parametrize(("selector", "view"), [(".matrix", "lines"), *((".drawing", view) for view in VIEWS)])
def test_texts_lie_in_the_drawing_and_not_on_each_other(
    open_page: Callable[..., Any], small_page: Path, selector: str, view: str
) -> None:
    page = open_page(small_page, f"#head=1-1&relation=obj&sentence=garden-03&view={view}&word=from-3&special=on")
    page.locator(".drawing .word").first.wait_for()
    drawn, outside, covered = page.locator(selector).first.evaluate(LAID)
    assert drawn > 8
    assert (outside, covered) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 480])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page: Callable[..., Any], report: Path, scheme: str, width: int) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; “make page” installs it beside the sources of the page")
    page = open_page(report, color_scheme=scheme, width=width)
    page.locator(".drawing").wait_for()
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in serious] == []

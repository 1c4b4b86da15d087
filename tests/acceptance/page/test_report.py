"""The page around the explorer: contents, tables, figures, color schemes, paper and narrow screens."""

from __future__ import annotations

import dataclasses
import itertools
import re

import pytest

from attentionology.analyses.contract import Titles
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.reports.page import write_report
from tests.acceptance.page.conftest import written
from tests.acceptance.page.made_up import as_text
from tests.acceptance.page.made_up import finding as address_of
from tests.acceptance.page.measured import contrasts
from tests.acceptance.page.waiting import assert_count, assert_texts
from tests.dependency import dependency_section, made_results
from tests.maps import RELATIONS, batch_of, random_corpus
from tests.shown_tables import with_control
from tests.unit.test_reports import RUN


@pytest.fixture(scope="module")
def report(tmp_path_factory, small):
    """A report with two sections of one analysis and an explorer."""
    texts, maps = random_corpus(0)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=20)
    accuracy.update(batch_of(texts, maps))
    tables = accuracy.compute()
    best = with_control(tables.best, [tables.best, tables.best]).assign(tied=2)
    results = made_results(tables.cells, best, (), 20, ("map “weight”",))
    section = dependency_section(results, Titles("a model", "a corpus"))
    names = {"dependency": "more", "dependency_best": "more_best", "dependency_control": "more_control"}
    other = dataclasses.replace(
        section,
        title="Another section",
        suffix="-more",
        tables={names[name]: table for name, table in section.tables.items()},
        summary={},
    )
    folder = tmp_path_factory.mktemp("report")
    write_report(folder, run=RUN, sections=[section, other], explorer=as_text(small))
    return folder / "report.html"


def headings(page):
    return page.locator("h1, h2, h3, h4, h5, h6").evaluate_all(
        "all => all.filter(each => each.checkVisibility()).map(each => +each.tagName[1])"
    )


def test_landmarks_and_headings_are_in_order(open_page, report):
    page = open_page(report)
    for role in ("banner", "main", "navigation"):
        assert_count(page.get_by_role(role), 1)
    levels = headings(page)
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
    page.keyboard.press("Tab")
    assert page.locator(":focus").text_content() == "Skip to the heads"
    page.keyboard.press("Enter")
    assert page.locator(":focus").get_attribute("data-head") == page.locator(".cell.chosen").get_attribute("data-head")


def test_contents_lead_to_every_section_and_follow_the_reader(open_page, report):
    page = open_page(report)
    links = page.locator(".contents a")
    targets = links.evaluate_all("links => links.map(link => decodeURIComponent(link.hash.slice(1)))")
    assert len(targets) == len(set(targets)) >= 8
    assert_texts(page.locator(".contents [aria-current]"), [links.first.text_content()])  # and no part that is hidden
    for target in targets:
        assert_count(page.locator(f'[id="{target}"]'), 1)
    page.locator(".contents summary").click()
    page.get_by_role("link", name="Another section").click()
    page.wait_for_function("document.querySelector('.contents [aria-current]')?.textContent === 'Another section'")
    box = page.locator(".contents summary").bounding_box()
    assert 0 <= box["y"] < 200  # still in view


def test_parts_are_tabs_and_links_unfold_them(open_page, report):
    page = open_page(report)
    tabs, panels = page.get_by_role("tab"), page.locator("[data-tab]")
    assert tabs.all_text_contents() == panels.evaluate_all("all => all.map(each => each.dataset.tab)")
    assert [panel.is_visible() for panel in panels.all()] == [True, False, False, False]
    tabs.first.press("ArrowRight")
    assert page.locator(":focus").text_content() == "Another section"
    assert [panel.is_visible() for panel in panels.all()] == [False, True, False, False]
    tabs.first.click()
    folded = panels.nth(0).locator("details.folded")
    assert folded.count() > 0
    assert not folded.last.locator(":scope > :not(summary)").first.is_visible()
    page.locator(".contents summary").click()
    page.locator(".contents a", has_text=folded.last.locator("summary").text_content().strip()).first.click()
    assert folded.last.locator(":scope > :not(summary)").first.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert_count(page.locator("details.folded:not([open])"), 0)
    page.emulate_media(media="print")
    assert all(panel.is_visible() for panel in panels.all())


def test_tables_and_figures_say_what_they_are(open_page, report):
    page = open_page(report)
    assert page.locator("main th").count() > 20
    assert_count(page.locator("main th:not([scope])"), 0)
    figures = page.locator("main figure > svg:not(.atl svg)")
    assert_count(figures, 4)  # two in each section
    for figure, axis in zip(
        figures.all(), ["words whose head is found (%) (horizontal)", "obj: 30 % by 1-3 head→dep."] * 2, strict=True
    ):
        assert figure.get_attribute("role") == "img"
        assert figure.get_attribute("aria-label").startswith("Figure: a model on a corpus")
        assert axis in figure.get_attribute("aria-label")


def test_heads_of_tables_lead_to_the_explorer(open_page, report, small):
    """A row about a relation opens the measure of the relation in which its head is best."""
    page = open_page(report)
    page.locator(".drawing").wait_for()
    row = page.locator("[data-tab] .sortable tbody tr", has=page.locator("td:first-child", has_text="det")).first
    name = row.locator("a").first.text_content()
    row.locator("a").first.click()
    page.locator(".card h3", has_text=f"Head {name}").wait_for()
    layer, head = map(int, name.split("-"))
    values = {
        each["direction"]: each["values"][(layer - 1) * small["heads"] + head - 1]
        for each in small["measures"]
        if each["relation"] == "det" and each["id"].endswith("/accuracy/weight")
    }
    best = max(values, key=lambda direction: values[direction])
    shown = page.get_by_role("combobox", name="Color by").input_value()
    assert shown == f"Dependency accuracy: det, {best.replace('->', ' → ')}"
    box = page.locator(".matrix").bounding_box()
    assert 0 <= box["y"] < 900


def column(page, heading):
    """The cells below a heading of the table of best heads that are in view."""
    headings = [
        each.strip() for each in page.locator(".sortable").first.locator("thead :is(th, td)").all_text_contents()
    ]
    number = headings.index(heading) + 1
    return page.locator(".sortable").first.locator(f"tbody tr:visible td:nth-child({number})")


def test_tables_are_sorted_and_filtered(open_page, report):
    page = open_page(report)
    table = page.locator(".sortable").first
    before = column(page, "relation").all_text_contents()
    accuracy = table.get_by_role("button", name="accuracy %")
    accuracy.click()
    shares = [float(text.split()[0]) for text in column(page, "accuracy %").all_text_contents()]
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) > 2
    assert table.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    accuracy.press("Enter")
    assert [float(text.split()[0]) for text in column(page, "accuracy %").all_text_contents()] == sorted(shares)
    accuracy.click()
    assert column(page, "relation").all_text_contents() == before
    table.get_by_role("button", name="relation").click()
    assert column(page, "relation").all_text_contents() == sorted(before)


def test_nothing_is_lost_without_javascript(open_page, report, small):
    page = open_page(report, java_script_enabled=False)
    main = page.get_by_role("main")
    for finding in small["findings"]:
        assert main.get_by_text(finding["text"]).is_visible()
    assert all(panel.is_visible() for panel in page.locator("[data-tab]").all())
    assert main.get_by_text("The explorer needs JavaScript.").is_visible()
    assert main.get_by_role("columnheader", name="accuracy %").first.is_visible()
    assert page.locator(".contents a").first.is_visible()


def test_a_chip_touches_the_text_after_it(open_page, report):
    gaps = """() => [...document.querySelectorAll(".findings .chip")].map((chip) => {
      const range = document.createRange();
      range.selectNode(chip.nextSibling);
      return range.getBoundingClientRect().left - chip.getBoundingClientRect().right;
    })"""
    assert open_page(report).evaluate(gaps) == pytest.approx([0, 0], abs=0.3)


@pytest.mark.parametrize(("n", "said"), [(6, "All 6 findings"), (1, "More about it")])
def test_the_first_findings_are_shown_whole_at_480_pixels(open_page, tmp_path, small, n, said):
    findings = [{"text": f"{i} of 9 relations {'are found ' * 30}.", "address": "", "more": "More."} for i in range(n)]
    page = open_page(written(tmp_path, {**small, "findings": findings}), width=480)
    button, shown = page.locator(".findings > button"), page.locator(".findings li")
    assert_texts(shown, [each["text"] for each in findings[:3]])
    cut = "() => [...document.querySelectorAll('.findings *')].filter((one) => one.scrollWidth > one.clientWidth + 1)"
    assert page.evaluate(f"({cut})().filter((one) => getComputedStyle(one).display !== 'inline').length") == 0
    assert button.text_content() == said
    button.click()
    assert_texts(shown, [f"{each['text']} {each['more']}" for each in findings])
    assert button.text_content() == "Fewer findings"


def test_a_chip_of_a_finding_opens_its_head_in_the_view_of_the_finding(open_page, tmp_path, small):
    text = "Head 1-2 finds more determiners than head 2-1."
    path = written(tmp_path, {**small, "findings": [{"text": text, "address": address_of("1-2", "obj")}]})
    page = open_page(path, "#special=on&view=matrix&search=the")
    for part, head in (("a", "1-2"), ("a > .chip:nth-of-type(2)", "2-1")):
        page.locator(f".findings {part}").click(position={"x": 3, "y": 5})
        page.get_by_role("heading", name=f"Head {head}", exact=True).wait_for()
        assert page.get_by_label("Relation", exact=True).input_value() == "obj"
        assert page.get_by_role("searchbox", name="Contains").input_value() == ""  # as whoever opens the link sees it
        assert page.get_by_role("radio", name="lines").is_checked()
        assert not page.get_by_role("checkbox", name="special tokens").is_checked()


def test_links_of_heads_change_no_text_of_a_table(open_page, report):
    page, plain = open_page(report), open_page(report, java_script_enabled=False)
    page.locator("[data-tab] td a").first.wait_for(state="attached")
    texts, before = (each.locator("[data-tab] td").all_text_contents() for each in (page, plain))
    assert texts == before
    assert any(re.fullmatch(r"\s*\d-\d \(2 equal\)\s*", text) for text in texts)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_is_legible(open_page, report, scheme):
    page = open_page(report, color_scheme=scheme)
    page.locator(".drawing").wait_for()
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]
    measured = contrasts(page)
    assert len(measured) > 300
    assert [(round(ratio, 2), text) for ratio, text in measured if ratio < 4.5] == []


@pytest.mark.parametrize("view", ["", "#relation=obj&sentence=garden-02&view=arcs&kind=weight,norm", "#view=arcs"])
def test_a_narrow_screen_shows_what_matters(open_page, report, view):
    page = open_page(report, view, width=480)
    page.locator(".drawing").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 480
    header = page.locator(".sortable").first.get_by_role("columnheader", name="accuracy %").bounding_box()
    for box in (header, column(page, "accuracy %").first.bounding_box()):
        assert box["x"] + box["width"] <= 480, "accuracy must be in view at 480 pixels: put new columns behind it"
    assert not page.locator(".contents a").first.is_visible()
    page.locator(".contents summary").click()
    page.locator(".contents a").nth(1).click()
    assert not page.locator(".contents a").first.is_visible()


def test_a_page_without_examples_says_why(open_page, small, tmp_path):
    page = open_page(written(tmp_path, {**small, "sample": None, "undrawn": "All are long."}))
    assert page.get_by_text("All are long.", exact=True).is_visible()
    assert page.locator(".matrix").is_visible()
    assert_count(page.locator(".drawing"), 0)


def test_paper_is_white_and_has_no_controls(open_page, report):
    page = open_page(report, color_scheme="dark")
    page.locator(".drawing").wait_for()
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    for hidden in (".contents", ".controls", ".buttons", ".uses", ".filter"):
        assert all(not element.is_visible() for element in page.locator(hidden).all())
    assert page.locator(".matrix").is_visible()
    assert page.locator(".drawing").is_visible()
    fill = "document.querySelector('.swatch').getAttribute('fill')"
    assert page.evaluate("getComputedStyle(document.querySelector('.swatch')).fill") == page.evaluate(fill)

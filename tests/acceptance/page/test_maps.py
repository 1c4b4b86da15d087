"""An analysis of several kinds of maps is one part of the page, with a switch of maps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attentionology.reports.page import Section, write_report
from tests.acceptance.page.made_up import as_text
from tests.acceptance.page.waiting import assert_count
from tests.unit.test_reports import RUN

Open = Callable[..., Any]
SHOWN = (
    ("Syntax", "weight"),
    ("Syntax", "norm"),
    ("Syntax", "difference"),
    ("Offsets", ""),
    ("Alike", "weight"),
    ("Alike", "norm"),
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, small: dict[str, Any]) -> Path:
    """A report with three analyses, two of them with a section for each kind of map."""
    folder = tmp_path_factory.mktemp("maps")
    template = folder / "section.html.j2"
    template.write_text(
        "<h2>Numbers of {{ name }}</h2><p>Of {{ name }}.</p><h2>More</h2><p><a href='#head=2-1'>Else</a>.</p>",
        encoding="utf-8",
    )
    sections = [
        Section(f"{tab} {kind}", template, {"name": f"{tab} {kind}"}, tab=tab, map=kind, suffix=f"-{kind}")
        for tab, kind in SHOWN
    ]
    write_report(folder, run=RUN, sections=sections, explorer=as_text(small))
    return folder / "report.html"


def titles(page: Any) -> list[str]:
    """The titles of the sections that are shown."""
    texts = page.locator("h2.part").evaluate_all(
        "all => all.filter(each => each.checkVisibility()).map(each => each.textContent)"
    )
    return [text for text in texts if text != "Explore the heads"]


def test_one_part_has_a_switch_of_maps_which_the_address_keeps(open_page: Open, report: Path) -> None:
    page = open_page(report)
    tablists = page.get_by_role("tablist")
    assert tablists.first.get_by_role("tab").all_text_contents() == [
        "Syntax",
        "Offsets",
        "Alike",
        "Left out",
        "Provenance",
    ]
    assert titles(page) == ["Syntax weight"]
    maps = page.get_by_role("tablist", name="Kinds of maps")
    assert maps.get_by_role("tab").all_text_contents() == ["weight", "norm", "difference"]
    maps.get_by_role("tab", name="weight").press("ArrowRight")
    assert page.locator(":focus").text_content() == "norm"
    assert titles(page) == ["Syntax norm"]
    # Other parts follow, as far as they have the map.
    page.get_by_role("tab", name="Alike").click()
    assert titles(page) == ["Alike norm"]
    again = open_page(report, page.evaluate("location.search"))
    assert titles(again) == ["Alike norm"]
    again.get_by_role("tab", name="Syntax").click()
    again.get_by_role("tab", name="difference").click()
    assert titles(again) == ["Syntax difference"]
    again.get_by_role("tab", name="Alike").click()
    assert titles(again) == ["Alike norm"]
    page.get_by_role("tab", name="Syntax").click()
    page.get_by_role("tab", name="weight").click()
    assert page.evaluate("location.search") == ""


def test_a_link_shows_its_part_and_its_map(open_page: Open, report: Path) -> None:
    page = open_page(report, "#part-6")
    assert titles(page) == ["Alike norm"]
    page.locator(".contents summary").click()
    page.get_by_role("link", name="Syntax difference").click()
    assert titles(page) == ["Syntax difference"]
    assert_count(page.locator(".contents a", has_text="Numbers of Syntax norm"), 0)  # those of the first map are enough


def test_a_link_to_a_view_shows_the_map_of_its_section(open_page: Open, report: Path) -> None:
    page = open_page(report)
    links = page.locator("main a", has_text="Else").evaluate_all("all => all.map(each => each.hash)")
    assert links == [f"#head=2-1{f'&kind={kind}' if kind in ('weight', 'norm') else ''}" for _, kind in SHOWN]


def test_all_maps_are_shown_without_javascript_and_on_paper(open_page: Open, report: Path) -> None:
    everything = [f"{tab} {kind}" for tab, kind in SHOWN]
    assert titles(open_page(report, java_script_enabled=False)) == everything
    page = open_page(report)
    page.emulate_media(media="print")
    assert titles(page) == everything

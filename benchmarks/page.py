"""How soon the page of a report shows something, and how smoothly it follows the pointer.

    python -m benchmarks.page [--report runs/demo/report.html] [--sentences 20]

The other page is made up: 24 layers of 16 heads, and as many sentences as a report of such a model has room for, one of
them of 128 tokens. All times are milliseconds. The first two are those of marks that the page sets when the matrix and
when the first sentence are drawn, from the begin of the navigation. The third is the time of the page's main thread
until then, which does not grow if other processes keep the processor busy. The last two are those of a frame after the
pointer has moved to another word of the long sentence: by the clock, and of the main thread.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from attentionology.reports.page import Section, write_report
from tests.acceptance.page.conftest import installed_browser
from tests.acceptance.page.made_up import as_text, long_sentence, made_up, sentences
from tests.unit.test_reports import RUN

MOVE = """async (index) => {
  const words = document.querySelectorAll(".word");
  const word = words[index % words.length];
  const start = performance.now();
  word.dispatchEvent(new PointerEvent("pointerover", { pointerType: "mouse", bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""
MARK = "name => performance.getEntriesByName(`attentionology: ${name}`)[0]?.startTime ?? null"


def large_page(folder: Path, count: int) -> Path:
    """Write a page in the shape of BERT-large and return its path."""
    data = made_up([*sentences(count - 1), long_sentence(126)], layers=24, heads=16)
    template = folder / "section.html.j2"
    template.write_text("<h2>A section</h2>", encoding="utf-8")
    write_report(folder, run=RUN, sections=[Section("A report", template)], explorer=as_text(data))
    return folder / "report.html"


def busy(session: Any) -> float:
    """Return the milliseconds that the main thread of the page has worked."""
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return 1000 * float(metrics["TaskDuration"])


def opened(browser: Any, path: Path, address: str = "") -> tuple[Any, Any]:
    """Open a page, wait for its first sentence, and return it with its session of the debugging protocol."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri() + address)
    page.wait_for_function(f"({MARK})('sentence') !== null")
    return page, session


def first_picture(browser: Any, path: Path, rounds: int) -> list[float]:
    """Return the medians of the two marks, and of the work of the main thread."""
    measured = []
    for _ in range(rounds):
        page, session = opened(browser, path)
        measured.append((page.evaluate(MARK, "heads"), page.evaluate(MARK, "sentence"), busy(session)))
        page.close()
    return [statistics.median(values) for values in zip(*measured, strict=True)]


def frames(browser: Any, path: Path, address: str) -> list[float]:
    """Return the medians of the time of a frame, and of the work of the main thread for it."""
    page, session = opened(browser, path, address)
    times, work = [], []
    for index in range(40):
        before = busy(session)
        times.append(page.evaluate(MOVE, index))
        work.append(busy(session) - before)
    page.close()
    return [statistics.median(times), statistics.median(work)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--report", type=Path, help="the page of a report")
    parser.add_argument("--sentences", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    table = Table("page", "MB", "matrix", "sentence", "work", "frame", "work of a frame")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        pages = {"24 × 16": large_page(Path(folder), options.sentences)}
        if options.report is not None:
            pages = {options.report.parent.name: options.report, **pages}
        browser = driver.chromium.launch(executable_path=installed_browser())
        for name, path in pages.items():
            size = f"{path.stat().st_size / 1e6:.1f}"
            shown = [f"{value:.0f}" for value in first_picture(browser, path.resolve(), options.rounds)]
            for drawing in ("lines", "matrix") if name == "24 × 16" else ("lines",):
                address = f"#view={drawing}&special=on" + ("&sentence=long-126" if name == "24 × 16" else "")
                moved = [f"{value:.1f}" for value in frames(browser, path.resolve(), address)]
                table.add_row(f"{name}, {drawing}", size, *shown, *moved)
        browser.close()
    Console(width=110).print(table)


if __name__ == "__main__":
    main()

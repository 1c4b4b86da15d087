"""The rows of the concordance, of which a page draws only those in view."""

from __future__ import annotations

from typing import Any

_ROWS = """
async () => {
  const region = document.querySelector(".uses");
  if (!region) return [];
  const found = new Map();
  for (let top = 0; ; top += 150) {
    region.scrollTop = top;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (const row of region.querySelectorAll(".rows .use")) {
      const text = (name) => row.querySelector(name)?.textContent ?? null;
      found.set(Number(row.getAttribute("aria-rowindex")), {
        sentence: row.title, left: text(".left"), form: text(".context b"), right: text(".right-context"),
        picked: text(".picked"), gold: text(".gold"), verdict: text(".verdict"),
        numbers: [...row.querySelectorAll(".number")].map((each) => each.textContent),
      });
    }
    if (top >= region.scrollHeight - region.clientHeight) break;
  }
  region.scrollTop = 0;
  // The first rows are there again.
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return [...found].sort((a, b) => a[0] - b[0]).map(([, row]) => row);
}
"""


def uses(page: Any) -> list[dict[str, Any]]:
    """All rows, in their order."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.locator(".concordance[aria-busy='false']").wait_for()
    rows: list[dict[str, Any]] = page.evaluate(_ROWS)
    return rows


def listed(page: Any) -> list[str]:
    """The ids of the sentences of the rows, each once."""
    return list(dict.fromkeys(row["sentence"] for row in uses(page)))


def choose(page: Any, position: int) -> None:
    """Click a row of those in view, and wait until its sentence is drawn, which moves what stands below it."""
    page.locator(".rows .use").nth(position).click()
    page.locator(".rows .use.current").first.wait_for()
    page.locator(".drawn[aria-busy='false']").wait_for()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

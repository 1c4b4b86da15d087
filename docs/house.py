"""Draws ``docs/house.svg``, the picture of the packages in CONTRIBUTING.md::

python docs/house.py
"""

from __future__ import annotations

from pathlib import Path

FLOORS: tuple[tuple[tuple[str, str], ...], ...] = (
    (("storage", "files that are read back, whole or absent"),),
    (("corpora_loaders", "files → annotated text"), ("reports", "pages, figures, tables, run folders")),
    (("extractors", "annotated text and a Hugging Face model → maps"),),
    (("probes", "what is trained on maps or texts, with its controls"),),
    (("analyses", "one folder per analysis: options, metric, tables, figures, section"),),
    (("engine", "plans of analyses → passes over the corpus → results"),),
    (("scripts", "the command line"), ("testing", "checks for extensions")),
)
"""The packages of each level, from level 0 up, and what they do."""

WIDTH, FLOOR, GAP, LEFT, RIGHT, ROOF = 820, 58, 8, 60, 90, 78
WALL, INK, PALE = "#f6f8fa", "#1f2328", "#57606a"
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"


def text(x: float, y: float, words: str, *, size: int = 13, color: str = INK, more: str = "") -> str:
    """A line of text; ``more`` holds further attributes."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{color}" {more}>{words}</text>'


def room(x: float, y: float, width: float, name: str, purpose: str) -> list[str]:
    """A package: its name, and below it what it does."""
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{FLOOR}" rx="6" fill="{WALL}" stroke="#afb8c1"/>',
        text(x + 14, y + 24, name, size=15, more=f'font-family="{MONOSPACE}" font-weight="600"'),
        text(x + 14, y + 44, purpose, color=PALE),
    ]


def house() -> str:
    """The picture: one floor per level under the public names, and an arrow for the direction of imports."""
    inner = WIDTH - LEFT - RIGHT
    height = ROOF + len(FLOORS) * (FLOOR + GAP) + 12
    peak, ridge = LEFT + inner / 2, 10
    parts = [
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<path d="M {LEFT} {ROOF - GAP} L {LEFT + 90} {ridge} H {LEFT + inner - 90} L {LEFT + inner} {ROOF - GAP} Z" '
        'fill="#ddf4ff" stroke="#54aeff"/>',
        text(
            peak,
            38,
            "attentionology",
            size=15,
            more=f'text-anchor="middle" font-family="{MONOSPACE}" font-weight="600"',
        ),
        text(peak, 58, "the public names, loaded when they are first used", color=PALE, more='text-anchor="middle"'),
    ]
    for level, rooms in enumerate(FLOORS):
        y = ROOF + (len(FLOORS) - 1 - level) * (FLOOR + GAP)
        parts.append(text(LEFT - 22, y + FLOOR / 2 + 6, str(level), size=17, color=PALE, more='text-anchor="middle"'))
        width = (inner - GAP * (len(rooms) - 1)) / len(rooms)
        for index, (name, purpose) in enumerate(rooms):
            parts += room(LEFT + index * (width + GAP), y, width, name, purpose)
    x, top, bottom = WIDTH - RIGHT + 32, ROOF + 8, height - 26
    middle = (top + bottom) / 2
    parts += [
        f'<path d="M {x} {top} V {bottom - 10}" stroke="{PALE}" stroke-width="2"/>',
        f'<path d="M {x - 6} {bottom - 12} L {x + 6} {bottom - 12} L {x} {bottom} Z" fill="{PALE}"/>',
        text(
            x + 22,
            middle,
            "imports go down only",
            more=f'text-anchor="middle" transform="rotate(90 {x + 22:g} {middle:g})"',
        ),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" aria-label="The packages by level" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, sans-serif">'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(house(), encoding="utf-8")

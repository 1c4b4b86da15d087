"""What a run shows to a person, as text that can be approved: terminal, page, tables, records, explorer and figures.

The texts hold no time, path or version, and of long tables and lists a part with the sum of the whole, so that any
changed number changes a line. Two texts are equal if their words are, and if their numbers are equal or, where more
digits are shown than anybody reads, close: the last bits of a mean depend on the processor.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import io
import json
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator
from rich.console import Console, Group

from attentionology.engine.shown_heads import Shown
from attentionology.reports.table import ShownTable
from attentionology.scripts.cli import main
from tests.golden import RECORDS, SEAL, VOLATILE
from tests.maps import inflate
from tests.marks import mark_of, marks_of
from tests.outlines import numbers, words

WIDTH = "130"
"""The columns of the terminal."""

NARROW = 90
"""The columns in which the tables are shown once more, without their intervals."""

FEW, PART = 24, 6
"""Of a list or table with more than so many values or rows, a part is shown, beside the sum of all."""

SAME, CLOSE = 1e-9, 1e-6
"""Numbers of seven and more digits may differ by this much, absolutely and relatively."""

_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
_HIDDEN = ("script", "style", "svg", "nav")
_NEW_LINE = {"p", "h1", "h2", "h3", "h4", "li", "tr", "table", "figure", "figcaption", "summary", "details", "section"}
_SAID = (
    "title",
    "alt",
    "style",
    "aria-label",
    "placeholder",
    "class",
    "href",
    "dir",
    "lang",
    "open",
    "data-value",
    "scope",
)
"""Attributes that people see or hear, or that decide what is drawn."""


def shown_by(command: list[str], folder: Path) -> dict[str, str]:
    """Run a command that writes a results folder, and return what it shows, by the names of the approved files.

    Args:
        command: the words of the command, without ``--out``.
        folder: an empty folder for the results, named in the command as ``OUT``.
    """
    said, narrow = io.StringIO(), io.StringIO()
    figures: dict[str, str] = {}
    terminal = ShownTable.terminal

    def in_both_widths(table: ShownTable, width: int) -> Group:
        narrow.write(f"== {table.name}, below {table.wide} columns\n")
        Console(file=narrow, width=min(NARROW, table.wide - 1), highlight=False).print(terminal(table, table.wide - 1))
        return terminal(table, width)

    def save(figure: Figure, path: Path | io.BytesIO, **options: Any) -> None:
        if not isinstance(path, Path):
            path.write(b"<svg/>")
        elif path.suffix == ".svg":
            figures[path.stem] = figure_text(figure)
            path.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
        else:
            path.write_bytes(b"")

    with (
        contextlib.redirect_stdout(said),
        mock.patch.object(Figure, "savefig", save),
        mock.patch.object(ShownTable, "terminal", in_both_widths),
        mock.patch.dict(os.environ, {"COLUMNS": WIDTH}),
    ):
        assert main([*command, "--out", str(folder)]) == 0, command
    page = (folder / "report.html").read_text(encoding="utf-8")
    page = page.replace(os.path.relpath(Path.cwd(), folder), "HERE")  # in links to the reports of cells
    texts = {
        "terminal": said.getvalue(),
        "narrow": "".join(f"{line.rstrip()}\n" for line in narrow.getvalue().splitlines()),
        "page": page_text(page),
        "explorer": explorer_text(page),
        "tables": "\n".join(_heading(path) + table_text(path) for path in sorted((folder / "tables").glob("*.csv"))),
        "latex": "\n".join(_heading(path) + latex_text(path) for path in sorted((folder / "tables").glob("*.tex"))),
        "summary": json_text(folder / "summary.json"),
        "record": json_text(folder / "run.json"),
        "figures": "\n".join(f"== {name}\n{text}" for name, text in sorted(figures.items())),
    }
    return {kind: _without_volatile(text.replace(str(folder), "OUT")) for kind, text in texts.items()}


def drawn_heads(heads: Shown, folder: Path) -> dict[str, str]:
    """Return what heads on sentences show, by the names of the approved files; the folder is for the files."""
    for ending in ("html", "csv", "txt"):
        heads.save(folder / f"heads.{ending}")
    page = (folder / "heads.html").read_text(encoding="utf-8")
    explorer, opened = re.findall(r'mount\(.*?"shown"\), (\{.*\}), (\{.*?\})\)</script>', page)[0]
    lines = [repr(heads), *lines_of(json.loads(opened)), *lines_of(json.loads(explorer))]
    return {
        "figure": figure_text(heads.figure()),
        "page": page_text(page),
        "explorer": "".join(f"{line}\n" for line in lines),
        "table": table_text(folder / "heads.csv"),
        "terminal": (folder / "heads.txt").read_text(encoding="utf-8"),
    }


def _heading(path: Path) -> str:
    return f"== {path.name}\n"


class _Text(HTMLParser):
    """Collects the text of a page, with what its elements say beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = " ".join(f"{name}={value}" for name, value in attrs if name in _SAID)
        if tag == "svg" and not self.hidden:
            self.parts.append(f"<svg {said}>")  # which says what it shows
        if tag in _HIDDEN:
            self.hidden += 1
        if self.hidden:
            return
        if tag in _NEW_LINE:
            self.parts.append(f"\n{tag}" + (f" [{said}]" if said else "") + ": ")
        elif tag in ("td", "th"):
            self.parts.append(f" |{f'[{said}]' if said else ''} ")
        elif said or tag in ("b", "strong", "em", "u", "i"):
            self.parts.append(f"<{tag}{' ' if said else ''}{said}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self.hidden -= 1

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def page_text(page: str) -> str:
    """The text of a page, an element per line."""
    parser = _Text()
    # A page that is written again elsewhere leads to the reports of cells by the way from folder to folder.
    page = re.sub(r'"(?:HERE|\.\.)/[^"]*?/(runs/[^"]*)"', r'"\1"', page)
    parser.feed(re.sub(r"<pre[^>]*>\s*{.*?</pre>", "", page, flags=re.DOTALL))  # the record, which is a file, too
    lines = [" ".join(line.split()) for line in "".join(parser.parts).split("\n")]
    lines = [line for line in lines if line]
    return "\n".join(_parts_of_tables(lines)) + "\n"


def _parts_of_tables(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, and of more than `FEW` rows in a row some, beside the sums of all their numbers."""
    rows: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("tr"):
            rows.append(line)
            continue
        yield from _part(rows)
        rows = []
        if line:
            yield line


def _part(rows: list[str]) -> list[str]:
    """Some of the rows of a table that is long, and a digest of all."""
    if len(rows) <= FEW:
        return rows
    shown = [*rows[:PART], *rows[PART :: max(1, len(rows) // PART)]]
    return [*shown, f"({len(rows)} rows, {zlib.crc32(''.join(map(_without_digits, rows)).encode()):08x}, {_sum(rows)})"]


def _without_digits(text: str) -> str:
    return _NUMBER.sub("#", text)


def _sum(texts: Iterable[str]) -> str:
    """The sum of the numbers in texts, with the weight of their places, so that exchanging two changes it."""
    found = [_value(number) for text in texts for number in _NUMBER.findall(text)]
    return f"sum {sum((1 + i % 97) * value for i, value in enumerate(found)):.9g}"


def _value(number: str) -> float:
    return float(number.replace("−", "-").replace(",", ""))


def _without_volatile(text: str) -> str:
    """A text without times and versions."""
    text = re.sub(r"attentionology \d[\w.]*", "attentionology VERSION", text)
    text = re.sub(r"seconds=[\d.]+", "seconds=…", text)
    return re.sub(r"^.*(\| when \||versions|environment).*\n", "", text, flags=re.MULTILINE)


def explorer_text(page: str) -> str:
    """The data of the explorer of a page, a value per line; maps as digests of their bytes."""
    found = re.search(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)
    if not found:
        return ""
    runs = json.loads(found[1])["runs"]
    for run in runs:
        run["references"] = list(map(_reference_row, run["references"]))
    first, *others = runs
    if not others:
        return "".join(f"{line}\n" for line in lines_of(first))
    # Each run is shown as on its own page.
    beside = [
        {
            "label": run["label"],
            "measures": len(run["measures"]),
            "note": run["sample"]["note"],
            "sentences": [sentence["id"] for sentence in run["sample"]["sentences"]],
        }
        for run in (first, *others)
    ]
    return "".join(f"{line}\n" for line in lines_of(beside))


def _reference_row(reference: Mapping[str, Any]) -> dict[str, Any]:
    """What measures are read beside, as a row."""
    marks = {each["role"]: [each["value"], each["low"], each["high"]] for each in reference["marks"]}
    texts = {
        "labels": [each["label"] for each in reference["marks"]],
        "notes": [each["note"] for each in reference["marks"]],
    }
    named = {name: reference[name] for name in ("id", "label", "beside")}
    return {**named, **marks, **(reference["layers"] or {}), **texts}


def lines_of(value: Any, name: str = "") -> Iterator[str]:
    """Yield a line for each value in JSON; a list of plain values is a line, and so is each row of a list of rows."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from lines_of(each, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and len(value) > 1 and all(_is_row(each) for each in value):
        yield f"{name}: {len(value)} rows"
        yield from _part([" | ".join(f"{key}={_shown(each)}" for key, each in row.items()) for row in value])
    elif isinstance(value, list) and any(isinstance(each, list | Mapping) for each in value):
        for index, each in enumerate(value):
            yield from lines_of(each, f"{name}[{index}]")
    else:
        yield f"{name}: {_shown(value)}"


def _is_row(value: Any) -> bool:
    """Whether a value is a mapping to plain values and to lists of them."""
    return isinstance(value, Mapping) and not any(
        isinstance(part, list | Mapping)
        for each in value.values()
        for part in (each if isinstance(each, list) else [each] if isinstance(each, Mapping) else [])
    )


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return _list(value)
    if isinstance(value, str) and len(value) > 400 and re.fullmatch(r"[\w+/=]+", value):
        return f"{zlib.crc32(inflate(value)):08x}"
    return _plain(value)


def _list(values: list[Any]) -> str:
    if len(values) <= FEW:
        return " ".join(map(_plain, values))
    digest = [_plain(value) for value in values]
    words = zlib.crc32(" ".join(map(_without_digits, digest)).encode())
    return " ".join([*digest[:PART], f"… ({len(values)}, {words:08x}, {_sum(digest)})"])


def _plain(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def table_text(path: Path) -> str:
    """A CSV file: its header, all rows or some of them, and the sum of what is left out."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [" | ".join(map(_cell, row)) for row in csv.reader(file)]
    return "\n".join([rows[0], *_part(rows[1:])]) + "\n"


def _cell(text: str) -> str:
    with contextlib.suppress(ValueError):
        number = float(text)
        return f"{number:.9g}" if math.isfinite(number) and "." in text else text
    return text


def latex_text(path: Path) -> str:
    """A table in LaTeX."""
    lines = path.read_text(encoding="utf-8").splitlines()
    body = [f"tr {line}" if line.endswith(r"\\") else line for line in lines]
    return "\n".join(line.removeprefix("tr ") for line in _parts_of_tables(body)) + "\n"


def json_text(path: Path) -> str:
    """A record or a summary without what differs from run to run, a value per line."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    content.pop(SEAL, None)
    for record in (content, *(content.get(name) or {} for name in RECORDS)):
        for name in (*VOLATILE, "environment"):
            record.pop(name, None)
    content.pop("run", None)  # the record once more
    return "\n".join(lines_of(content)) + "\n"


def figure_text(figure: Figure) -> str:
    """The size, the words, the marks, the links and the data of a figure."""
    lines = [f"size {figure.get_figwidth():.4g} × {figure.get_figheight():.4g}"]
    lines += [" ".join(mark).strip() for mark in sorted(set(marks_of(figure)))]
    for artist in _as_drawn(figure):
        if isinstance(artist, Axes):
            lines.append("panel " + " ".join(map(_limits, (artist.get_xlim(), artist.get_ylim()))))
        text = words(artist).replace("\n", "⏎")
        data = [np.ma.filled(np.ma.asarray(array, dtype=np.float64), np.nan) for array in numbers(artist)]
        sums = [_digest(array) for array in data if array.size]
        if artist.get_visible() and (text or sums):
            lines.append(" ".join([type(artist).__name__, text, *_look(artist), *sums]))
        if isinstance(artist, Axis) and isinstance(artist.get_major_locator(), FixedLocator):
            labels = [label for label in artist.get_ticklabels() if label.get_text()]
            lines += [" ".join(["label", label.get_text().replace("\n", "⏎"), *_look(label)]) for label in labels]
    return "\n".join(_repeated(lines)) + "\n"


def _as_drawn(artist: Artist) -> Iterator[Artist]:
    """Yield an artist and all those in it, those that are drawn over others later."""
    yield artist
    for child in [] if isinstance(artist, Axis) else sorted(artist.get_children(), key=Artist.get_zorder):
        yield from _as_drawn(child)


def _look(artist: Artist) -> list[str]:
    """The mark, colors, opacity and place of an artist, and where it leads: a link, and a digest if it has several."""
    looks = sorted(" ".join(filter(None, look)) for _, *look in mark_of(artist))
    if isinstance(alpha := artist.get_alpha(), float) and not isinstance(artist, Legend):
        looks.append(f"opacity {alpha:.3g}")
    if isinstance(artist, Text):
        looks.append("at " + " ".join(f"{float(end):.4g}" for end in artist.get_position()))
    links = [link for link in [artist.get_url(), *getattr(artist, "get_urls", list)()] if link]
    digest = f"({len(links)}, {zlib.crc32(' '.join(links).encode()):08x})"
    return [*looks, *links[:1], *([digest] if len(links) > 1 else [])]


def _limits(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.4g}…{ends[1]:.4g}"


def _digest(array: np.ndarray) -> str:
    """The values of an array if they are few, its shape, and a sum in which each has a weight of its own."""
    values = array.ravel()
    finite = np.where(np.isfinite(values), values, 0.0)
    weights = 1 + np.arange(len(values)) % 97
    shown = " ".join(f"{value:.4g}" for value in values[:8])
    return f"[{shown}; {array.shape}, {np.isnan(values).sum()}, {float(finite @ weights):.8g}]"


def _repeated(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines; those that are equal to the one before are counted."""
    last, count = None, 0
    for line in [*lines, None]:
        if line == last:
            count += 1
            continue
        if last is not None:
            yield last + (f" ({count} times)" if count > 1 else "")
        last, count = line, 1


def difference(approved: str, shown: str) -> str:
    """The first lines that differ in what they say; an empty text if there are none."""
    expected, found = approved.splitlines(), shown.splitlines()
    if len(expected) != len(found):
        lines = [line[:600] for line in difflib.unified_diff(expected, found, n=0, lineterm="")][2:]
        return "\n".join([f"{len(expected)} lines were approved, {len(found)} are shown:", *lines[:12]])
    differing = [
        f"line {index}:\n- {before[:600]}\n+ {now[:600]}"
        for index, (before, now) in enumerate(zip(expected, found, strict=True), start=1)
        if not _same(before, now)
    ]
    return "\n".join(differing[:5])


def _same(approved: str, shown: str) -> bool:
    if approved == shown:
        return True
    return _without_digits(approved) == _without_digits(shown) and all(
        before == now or (_digits(before) >= 7 and _close(_value(before), _value(now)))
        for before, now in zip(_NUMBER.findall(approved), _NUMBER.findall(shown), strict=True)
    )


def _digits(number: str) -> int:
    return sum(character.isdigit() for character in number.partition("e")[0])


def _close(before: float, now: float) -> bool:
    return math.isclose(before, now, rel_tol=CLOSE, abs_tol=SAME)

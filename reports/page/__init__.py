"""The report: one HTML page that needs no network, with one section for each analysis."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from ...storage.characters import in_document, in_html
from ...storage.errors import AttentionologyError
from ...storage.paths import RUN_RECORD
from ...storage.short_names import distinguishing
from ...storage.writing import amount
from ..drawing import save
from ..finding import Finding
from ..format import ARROWS, best_direction, best_head, best_offset, interval, number, percent
from ..provenance import versions
from ..run_folder import files_of_run
from ..table import ShownTable, with_marked_heads
from ..tables import to_json, write_csv
from .svg import alternative, apply_theme, palette_styles, with_alternative


@dataclass(frozen=True)
class Section:
    """The section that one analysis adds to the report.

    Attributes:
        title: the heading of the section.
        template: the path of a Jinja template. Its variables are ``run``, the values of ``context``, ``suffix``,
            ``svgs``, the figures by name, and ``shown``, the tables that people read by name. Figures that it does not
            place follow at its end, each with the label of the figure as its caption.
        context: values for the template.
        summary: the entries of ``summary.json``, by name. Each is a list with a dictionary for each row, of what JSON
            can write (None for NaN); if a run has several kinds of maps, ``map`` is added to each row.
        tables: the tables, which are written to ``tables/NAME.csv``.
        shown: tables that people read, which are also written as LaTeX to ``tables/NAME.tex``.
        figures: the figures, which are written to ``figures/NAME.svg``.
        findings: what was found, a sentence each. They stand at the top of a page without an explorer, which has
            findings of its own.
        suffix: a suffix for the names of figures and of elements of the page. It is needed if a page has several
            sections of one analysis.
        tab: a short name, which the page writes on the tab of the section; its title if it is empty.
        map: the kind of map that the section is about, if the page has a section of the analysis for each kind, or
            ``difference``. Sections with the same tab that follow each other are one part of the page, with a switch.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import pandas as pd
        >>> from attentionology.reports import Section
        >>> from attentionology.reports.page import write_section
        >>> table = pd.DataFrame({"layer": [1, 2], "distance": [2.5, 4.0]})
        >>> section = Section("Attention distance", "section.html.j2", tables={"distance": table})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     figures = write_section(Path(folder), section)
        ...     print(Path(folder, "tables", "distance.csv").read_text(), end="")
        layer,distance
        1,2.5
        2,4.0
    """

    title: str
    template: str | Path | Sequence[str | Path]
    context: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    shown: Sequence[ShownTable] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    suffix: str = ""
    tab: str = ""
    map: str = ""


_FIGURE = Markup("\n<figure>{svg}<figcaption>{caption}</figcaption></figure>")

_NAMED_HEAD = re.compile(r"(?<=\bhead )(\d+-\d+)(?![\d-])")

# Scripts, drawings and comments stay as they are; they may contain what looks like a heading.
_OPAQUE = re.compile(
    r"(<script\b.*?</script>|<style\b.*?</style>|<svg\b.*?</svg>|<!--.*?-->)", re.DOTALL | re.IGNORECASE
)
_HEADING = re.compile(r"<h([1-5])((?:\s[^>]*)?)>(.*?)</h\1>", re.DOTALL)
_HEADER = re.compile(r"<th(?![^>]*\bscope=)(?=[\s>])")
_HEAD = re.compile(r"(<thead\b.*?</thead>)", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")

TABLES_TEMPLATE = Path(__file__).parents[1] / "templates" / "tables.html.j2"
"""The template of a section that shows the tables ``tables_without_template``, each with its title and its legend."""


class _PlacedFigures(dict[str, str]):
    """Figures by name, which remembers those that a template has placed."""

    def __init__(self, figures: Mapping[str, str]) -> None:
        super().__init__(figures)
        self.placed: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.placed.add(name)
        return super().__getitem__(name)


class SectionError(AttentionologyError, ValueError):
    """The sections cannot be part of one report."""


def check_names(sections: Sequence[Section]) -> None:
    """Raise `SectionError` if a section would overwrite a file, or an entry of the summary, of another one."""
    written: dict[tuple[str, str], str] = {}
    for section in sections:
        names = [("table", name) for name in section.tables]
        names += [("figure", name + section.suffix) for name in section.figures]
        names += [("entry of the summary", name) for name in section.summary]
        for kind, name in names:
            if (kind, name) in written:
                first = written[kind, name]
                raise SectionError(f"“{first}” and “{section.title}” both write the {kind} {name!r}")
            written[kind, name] = section.title


def write_report(
    folder: Path,
    *,
    run: dict[str, Any],
    sections: list[Section],
    template: str = "report.html.j2",
    explorer: str | None = None,
) -> None:
    """Write the tables and figures of all sections, ``report.html``, ``summary.json`` and ``run.json``."""
    check_names(sections)
    environment = template_environment()
    lower = int(len(sections) > 1)  # the page puts a heading above those of each of several sections
    rendered = [
        _render(environment, folder, section, run, id_=f"part-{position}", lower=lower)
        for position, section in enumerate(sections, start=1)
    ]
    # The sections of one analysis for several kinds of maps, which follow each other, are one part of the page.
    parts = groupby(rendered, lambda entry: entry["tab"] if entry["map"] else entry["id"])
    page = environment.get_template(template).render(
        run=run,
        sections=rendered,
        parts=[list(part) for _, part in parts],
        record=to_json(run),
        explorer=None if explorer is None else Markup(explorer),  # noqa: S704  # escaped by the caller
        page_styles=Markup(palette_styles() + read_bundle("page.css")),  # noqa: S704  # a file of this package
        styles=Markup(read_bundle("explorer.css")),  # noqa: S704  # a file of this package
        script=Markup(read_bundle("explorer.js")),  # noqa: S704  # a file of this package
        explored=None if explorer is None else json.loads(explorer),
    )
    (folder / "report.html").write_text(in_document(page), encoding="utf-8")
    summary: dict[str, Any] = {"run": run}
    for section in sections:
        summary |= section.summary
    (folder / "summary.json").write_text(to_json(summary), encoding="utf-8")
    record = {**run, "files": files_of_run(folder)}  # --overwrite deletes these files only
    (folder / RUN_RECORD).write_text(to_json(record), encoding="utf-8")


def _render(
    environment: Environment, folder: Path, section: Section, run: dict[str, Any], *, id_: str, lower: int
) -> dict[str, Any]:
    """Write the files of a section, and return what the page takes of it; ``lower`` is added to levels of headings."""
    svgs = _PlacedFigures(write_section(folder, section))
    shown = {table.name: table for table in section.shown}
    given = {"run": run, "suffix": section.suffix, "svgs": svgs, "shown": shown, **section.context}
    paths = [section.template] if isinstance(section.template, str | Path) else section.template
    templates = [environment.from_string(Path(path).read_text(encoding="utf-8")) for path in paths]
    content = "\n".join(template.render(given) for template in templates)
    not_placed = {name: svg for name, svg in svgs.items() if name not in svgs.placed}  # by the template
    content += "".join(
        _FIGURE.format(svg=Markup(svg), caption=section.figures[name].get_label())  # noqa: S704  # written by us
        for name, svg in not_placed.items()
    )
    content, headings = outline(content, prefix=id_, lower=lower)
    return {
        "id": id_,
        "title": section.title,
        "tab": section.tab or section.title,
        "map": section.map,
        "findings": section.findings,
        "html": Markup(content),  # noqa: S704  # escaped where it was rendered
        "headings": headings,
    }


@dataclass(frozen=True)
class Heading:
    """A heading of a page."""

    id: str  # the id of the element, which a link names
    text: str  # the words of the heading, without markup
    level: int  # 1 for the largest headings


def slug(text: str) -> str:
    """The words of a text in a form that suits an address."""
    return re.sub(r"\W+", "-", text.lower()).strip("-")[:60]


def outline(body: str, *, prefix: str, lower: int = 0) -> tuple[str, list[Heading]]:
    """Give every heading an id and every header of a table a scope, and return the headings.

    Ids begin with ``prefix``, and ``lower`` is added to the levels of headings.
    """
    headings: list[Heading] = []
    taken: set[str] = set()

    def with_id(match: re.Match[str]) -> str:
        level, attributes, content = int(match[1]) + lower, match[2], match[3]
        text = html.unescape(_TAG.sub("", content)).strip()
        own_id = re.search(r'\bid="([^"]*)"', attributes)
        name = html.unescape(own_id[1]) if own_id else f"{prefix}-{slug(text)}"
        number = 2
        while name in taken:
            name, number = f"{prefix}-{slug(text)}-{number}", number + 1
        taken.add(name)
        headings.append(Heading(name, text, level))
        if not own_id:
            attributes += f' id="{in_html(name)}"'
        return f"<h{level}{attributes}>{content}</h{level}>"

    pieces = _OPAQUE.split(body)
    for index in range(0, len(pieces), 2):  # every second piece is opaque
        parts = _HEAD.split(_HEADING.sub(with_id, pieces[index]))  # every second part is the head of a table
        scoped = [_HEADER.sub(f'<th scope="{"col" if i % 2 else "row"}"', part) for i, part in enumerate(parts)]
        pieces[index] = "".join(scoped)
    return "".join(pieces), headings


def template_environment() -> Environment:
    """Return what renders the templates of pages and sections, with the filters that they use."""
    environment = Environment(
        loader=PackageLoader("attentionology.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["amount"] = amount
    environment.filters |= {
        "percent": percent,
        "number": number,
        "interval": interval,
        "best_head": best_head,
        "best_direction": best_direction,
        "direction": lambda row: ARROWS[row["direction"]],
        "best_offset": best_offset,
        "distinguishing": lambda names: distinguishing(list(names)).values(),
        "chips": lambda text: with_marked_heads(text, _NAMED_HEAD, '<b class="chip">{}</b>'),
    }
    return environment


def write_section(folder: Path, section: Section) -> dict[str, str]:
    """Write the tables and figures of a section, and return the SVG of the figures for the page, by name."""
    for name, table in section.tables.items():
        write_csv(table, folder / "tables" / f"{name}.csv")
    for shown in section.shown:
        (folder / "tables" / f"{shown.name}{section.suffix}.tex").write_text(shown.latex(), encoding="utf-8")
    return save_figures(folder, section.figures, section.suffix)


def save_figures(folder: Path, drawn: Mapping[str, Figure], suffix: str = "") -> dict[str, str]:
    """Write figures to ``folder/figures``, and return their SVG for the page, by name."""
    svgs = {}
    for name, figure in drawn.items():
        save(figure, folder / "figures", name + suffix)
        svg = (folder / "figures" / f"{name}{suffix}.svg").read_text(encoding="utf-8")
        svgs[name] = with_alternative(apply_theme(svg[svg.index("<svg") :]), alternative(figure))
    return svgs


def served_page(title: str) -> str:
    """Return the page of a server, which has its script, its styles and its data in files of their own."""
    template = template_environment().get_template("served.html.j2")
    return template.render(title=in_document(title), version=versions()["attentionology"])


def read_bundle(name: str) -> str:
    """Return a file of the page."""
    # The script has nothing that ends a `script` element. It defines `attentionology.mount(element, data, {hash})`, and
    # on the page of a report it shows the explorer whose data are in the element `explorer-data`.
    return Path(__file__).with_name(name).read_text(encoding="utf-8")

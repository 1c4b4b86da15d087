"""The report as one HTML page that needs no network, made of one section per analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from attentionology.reports.drawing import save
from attentionology.reports.format import ARROWS, best_direction, best_head, best_offset, interval, number, percent
from attentionology.reports.json_text import to_json
from attentionology.reports.run_files import RUN_RECORD, files_of_run
from attentionology.reports.tables import write_csv
from attentionology.storage.errors import AttentionologyError


@dataclass(frozen=True)
class Section:
    """What one analysis adds to the report.

    Attributes:
        title: its heading.
        template: path of a Jinja template. It gets ``run``, what is in ``context``, ``suffix``, and ``svgs``: the
            figures by name.
        context: values for the template.
        summary: tables for ``summary.json``, by name.
        tables: written to ``tables/NAME.csv``.
        figures: written to ``figures/NAME.svg`` and ``.png``.
        suffix: appended to the names of figures and of elements of the page, where a page has several sections of one
            analysis.
    """

    title: str
    template: str | Path
    context: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)
    suffix: str = ""


class SectionError(AttentionologyError, ValueError):
    """Sections that cannot be part of one report."""


def check_names(sections: Sequence[Section]) -> None:
    """Refuse sections that would overwrite files of each other.

    Raises:
        SectionError: two of them have a table, a figure or a part of the summary of the same name.
    """
    written: dict[tuple[str, str], str] = {}
    for section in sections:
        names = [("table", name) for name in section.tables]
        names += [("figure", name + section.suffix) for name in section.figures]
        names += [("entry of the summary", name) for name in section.summary]
        for what, name in names:
            if (what, name) in written:
                first = written[what, name]
                raise SectionError(f"“{first}” and “{section.title}” both write the {what} {name!r}")
            written[what, name] = section.title


def write_report(folder: Path, *, run: dict[str, Any], sections: list[Section]) -> None:
    """Write the tables and figures of all sections, ``report.html``, ``summary.json`` and ``run.json``.

    Args:
        folder: an existing folder.
        run: the run record.
        sections: in the order of the page, at least one.

    Raises:
        SectionError: see `check_names`.
    """
    check_names(sections)
    environment = Environment(
        loader=PackageLoader("attentionology.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "number": number,
        "interval": interval,
        "best_head": best_head,
        "best_direction": best_direction,
        "direction": lambda row: ARROWS[row["direction"]],
        "best_offset": best_offset,
    }
    rendered = []
    for section in sections:
        svgs = write_section(folder, section)
        template = environment.from_string(Path(section.template).read_text(encoding="utf-8"))
        html = template.render(run=run, suffix=section.suffix, **{"svgs": svgs, **section.context})
        rendered.append({"title": section.title, "html": Markup(html)})  # noqa: S704  # escaped where it was rendered
    page = environment.get_template("report.html.j2").render(run=run, sections=rendered, record=to_json(run))
    (folder / "report.html").write_text(page, encoding="utf-8")
    summary: dict[str, Any] = {"run": run}
    for section in sections:
        summary |= section.summary
    (folder / "summary.json").write_text(to_json(summary), encoding="utf-8")
    record = {**run, "files": files_of_run(folder)}  # so that --overwrite never deletes any other
    (folder / RUN_RECORD).write_text(to_json(record), encoding="utf-8")


def write_section(folder: Path, section: Section) -> dict[str, str]:
    """Write the tables and figures of a section; returns the SVG of the figures by name, to put into the page."""
    for name, table in section.tables.items():
        write_csv(table, folder / "tables" / f"{name}.csv")
    return save_figures(folder, section.figures, section.suffix)


def save_figures(folder: Path, drawn: Mapping[str, Figure], suffix: str = "") -> dict[str, str]:
    """Write figures to ``folder/figures``; returns their SVG by name, to put into the page."""
    figures = folder / "figures"
    for name, figure in drawn.items():
        save(figure, figures, name + suffix)
    return {name: _svg_text(figures / f"{name}{suffix}.svg") for name in drawn}


def _svg_text(path: Path) -> str:
    svg = path.read_text(encoding="utf-8")
    return svg[svg.index("<svg") :]

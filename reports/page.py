"""The report as one HTML page that needs no network, made of one section per analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from attentionology.reports.drawing import save
from attentionology.reports.format import ARROWS, best_direction, best_head, best_offset, interval, number, percent
from attentionology.reports.json_text import to_json
from attentionology.reports.run_files import RUN_RECORD, files_of_run


@dataclass(frozen=True)
class Section:
    """What one analysis adds to the report.

    Attributes:
        title: its heading.
        template: file in ``reports/templates``; gets ``run`` and what is in ``context``.
        context: values for the template.
        summary: tables for ``summary.json``, by name.
    """

    title: str
    template: str
    context: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)


def write_report(folder: Path, *, run: dict[str, Any], sections: list[Section]) -> None:
    """Write ``report.html``, ``summary.json`` and ``run.json``.

    Args:
        folder: where the tables and figures of the sections are.
        run: the run record.
        sections: in the order of the page, at least one.
    """
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
    rendered = [
        {
            "title": section.title,
            # Escaped where it was rendered.
            "html": Markup(environment.get_template(section.template).render(run=run, **section.context)),  # noqa: S704
        }
        for section in sections
    ]
    page = environment.get_template("report.html.j2").render(run=run, sections=rendered, record=to_json(run))
    (folder / "report.html").write_text(page, encoding="utf-8")
    summary = {"run": run}
    for section in sections:
        summary |= section.summary
    (folder / "summary.json").write_text(to_json(summary), encoding="utf-8")
    record = {**run, "files": files_of_run(folder)}  # so that --overwrite never deletes any other
    (folder / RUN_RECORD).write_text(to_json(record), encoding="utf-8")


def save_figures(folder: Path, drawn: Mapping[str, Figure]) -> dict[str, str]:
    """Write figures to ``folder/figures``; returns their SVG by name, to put into the page."""
    figures = folder / "figures"
    for name, figure in drawn.items():
        save(figure, figures, name)
    return {name: _svg_text(figures / f"{name}.svg") for name in drawn}


def _svg_text(path: Path) -> str:
    svg = path.read_text(encoding="utf-8")
    return svg[svg.index("<svg") :]

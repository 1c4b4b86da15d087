"""What a notebook shows of results at first: what was found, and one number for each head."""

from __future__ import annotations

from collections.abc import Sequence

from ...storage.characters import in_html
from ..finding import Finding
from .data import Measure

_CELL = "padding: 1px 5px; text-align: right; font-variant-numeric: tabular-nums;"


def findings_html(findings: Sequence[Finding]) -> str:
    """Return findings as a list; empty if there are none."""
    items = "".join(f"<li><b>{in_html(finding.number)}</b>{in_html(finding.rest)}</li>" for finding in findings)
    return f"<ul>{items}</ul>" if items else ""


def matrix_html(measure: Measure, layers: int) -> str:
    """Return a measure as a table of layers and heads, whose largest values are dark.

    Example:
        >>> html = matrix_html(Measure("m", "Accuracy", "obj", None, "%", (0.25, None, 0.5, 1.0)), 2)
        >>> html.count("<tr>"), html.count("<td"), ">25<" in html, ">–<" in html
        (3, 4, True, True)
    """
    # The colors are written beside each number, because the styles of notebooks differ, and GitHub keeps only these.
    values = measure.values  # no table
    n_heads = len(values) // layers
    defined = [value for value in values if value is not None]
    low, high = min(0.0, *defined, 0.0), max(defined, default=0.0)
    factor, digits = (100, 0) if measure.unit == "%" else (1, 2)

    def cell(value: float | None) -> str:
        if value is None:
            return f'<td style="{_CELL}">–</td>'
        share = (value - low) / (high - low) if high > low else 0.0
        color = f"hsl(205, 70%, {97 - 62 * share:.0f}%)"
        text = "#ffffff" if share > 0.8 else "#1b1f24"
        return f'<td style="{_CELL} background: {color}; color: {text};">{factor * value + 0.0:.{digits}f}</td>'

    rows = [f"<tr><th></th>{''.join(f'<th>{head}</th>' for head in range(1, n_heads + 1))}</tr>"]
    for layer in range(layers):
        cells = "".join(map(cell, values[layer * n_heads : (layer + 1) * n_heads]))
        rows.append(f"<tr><th>{layer + 1}</th>{cells}</tr>")
    unit = f" ({measure.unit})" if measure.unit else ""
    caption = in_html(f"{measure.group}: {measure.label}{unit}, layers by heads. {measure.note}")
    return f"<p>{caption}</p><table>{''.join(rows)}</table>"

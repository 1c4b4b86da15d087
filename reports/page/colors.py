"""The colors of figures on a page: the palette as CSS variables, which have other values on a dark page."""

from __future__ import annotations

import re

from ..drawing import PALETTE

_PAINTED = re.compile(r"\b(fill|stroke|stop-color): (#[0-9a-f]{6})\b")
_NAMES = {light.lower(): name for name, (light, _) in PALETTE["named"].items()}


def palette_styles() -> str:
    """Return the rule that defines the variables, for example ``--figure-blue``."""
    colors = "".join(
        f" --figure-{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE["named"].items()
    )
    return f":root {{{colors} }}\n"


def themed(svg: str) -> str:
    """Let the colors of the palette follow the page.

    Example:
        >>> themed('<path style="fill: #0072b2; stroke: #123456"/>')
        '<path style="fill: var(--figure-blue); stroke: #123456"/>'
    """

    def with_variable(match: re.Match[str]) -> str:
        name = _NAMES.get(match[2])
        return f"{match[1]}: var(--figure-{name})" if name else match[0]

    return _PAINTED.sub(with_variable, svg)

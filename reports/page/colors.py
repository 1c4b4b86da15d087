"""The colors of figures on a page: the palette as CSS variables, which have other values on a dark page."""

from __future__ import annotations

import re

from matplotlib.colors import to_hex

from ..drawing import AROUND_ZERO, DARK_AROUND_ZERO, DARK_SCALE, PAGE, PALETTE, SCALE

_PAINTED = re.compile(r"\b(fill|stroke|stop-color): (#[0-9a-f]{6})\b")
# The scales of matrices have a variable for each of their colors, such as ``--figure-more-47``.
_COLORS: dict[str, tuple[str, str]] = {
    **{name: (light, dark) for name, (light, dark) in PALETTE["named"].items()},
    **{
        f"{scale.name}-{level}": (to_hex(scale(level)), to_hex(dark(level)))
        for scale, dark in ((SCALE, DARK_SCALE), (AROUND_ZERO, DARK_AROUND_ZERO))
        for level in range(scale.N)
    },
}
_NAMES = {light.lower(): name for name, (light, _) in _COLORS.items()}


def palette_styles() -> str:
    """Return the rule that defines the variables, for example ``--figure-blue``."""
    colors = "".join(f" --figure-{name}: light-dark({light}, {dark});" for name, (light, dark) in _COLORS.items())
    return f":root {{{colors} }}\n"


def themed(svg: str) -> str:
    """Let the colors of the palette follow the page, and links lead to the explorer of this page.

    Example:
        >>> themed('<path style="fill: #0072b2; stroke: #123456"/>')
        '<path style="fill: var(--figure-blue); stroke: #123456"/>'
    """

    def with_variable(match: re.Match[str]) -> str:
        name = _NAMES.get(match[2])
        return f"{match[1]}: var(--figure-{name})" if name else match[0]

    # Hundreds of cells and dots would each be a stop of the tab key; tables have the same links.
    svg = svg.replace(f'<a xlink:href="{PAGE}#', '<a tabindex="-1" xlink:href="#')
    return _PAINTED.sub(with_variable, svg)

"""Figures on a page: their colors as CSS variables, which have other values on a dark page, and text alternatives."""

from __future__ import annotations

import base64
import re
from io import BytesIO

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread, imsave

from ...storage.characters import in_html
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
_IMAGE = re.compile(r'<image xlink:href="data:image/png;base64,([^"]*)"( id="[^"]*")?')
_NAMES = {light.lower(): name for name, (light, _) in _COLORS.items()}


def palette_styles() -> str:
    """Return the rule that defines the variables, for example ``--figure-blue``."""
    colors = "".join(f" --figure-{name}: light-dark({light}, {dark});" for name, (light, dark) in _COLORS.items())
    return f":root {{{colors} }}\n"


def apply_theme(svg: str) -> str:
    """Let the colors of the palette follow the page, and links lead to the explorer of this page.

    Drawings that are pixels, in the scale of matrices, are there twice, of which a style sheet shows one.

    Example:
        >>> apply_theme('<path style="fill: #0072b2; stroke: #123456"/>')
        '<path style="fill: var(--figure-blue); stroke: #123456"/>'
    """

    def with_variable(match: re.Match[str]) -> str:
        name = _NAMES.get(match[2])
        return f"{match[1]}: var(--figure-{name})" if name else match[0]

    # Hundreds of cells and dots would each be a stop of the tab key; tables have the same links.
    svg = svg.replace(f'<a xlink:href="{PAGE}#', '<a tabindex="-1" xlink:href="#')
    return _PAINTED.sub(with_variable, re.sub(rf"{_IMAGE.pattern}[^>]*/>", _with_dark, svg))


def _with_dark(image: re.Match[str]) -> str:
    """Return an image, and the same image in the colors of a dark page."""
    code, id_ = image[1], image[2] or ""
    pixels = imread(BytesIO(base64.b64decode(code)))
    dark = pixels.copy()
    for light, color in (_COLORS[f"{SCALE.name}-{level}"] for level in range(SCALE.N)):
        # A scale that is reversed rounds its colors in another way.
        distance = np.abs(pixels[..., :3] - to_rgb(light)).max(-1)
        dark[distance < 1.5 / 255, :3] = to_rgb(color)
    png = BytesIO()
    imsave(png, dark, format="png")
    dark_code = base64.b64encode(png.getvalue()).decode()
    dark_image = image[0].replace(code, dark_code).replace(id_, "")  # without the id, which is taken
    on_light = image[0].replace("<image", '<image class="on-light"')
    return on_light + dark_image.replace("<image", '<image class="on-dark"')


_MAX_SERIES = 12


def alternative(figure: Figure) -> str:
    """Say what a figure shows: its title, and for each of its axes the title, the labels and the series."""
    title = figure.get_suptitle()
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    described = dict.fromkeys(text for axes in figure.axes if (text := _describe(axes)))
    parts = [title, *described] if title else list(described)
    further = [label for label in dict.fromkeys(legends) if not any(label in part for part in parts)]
    if further:
        parts.append("Legend: " + ", ".join(further))
    return "Figure: " + ". ".join(" ".join(part.split()).rstrip(".") for part in parts) + "."


def _describe(axes: Axes) -> str:
    """Say what axes show; empty if nothing is written on them."""
    titles = (axes.get_title(loc=loc) for loc in ("left", "center", "right"))
    labels = [(axes.get_xlabel(), "horizontal"), (axes.get_ylabel(), "vertical")]
    named = ", ".join(f"{label} ({where})" for label, where in labels if label)
    series = [label for label in axes.get_legend_handles_labels()[1] if not label.startswith("_")]
    shown = ", ".join(series[:_MAX_SERIES]) + (" and others" if len(series) > _MAX_SERIES else "")
    title, content = " ".join(filter(None, titles)), "; ".join(filter(None, (named, shown)))
    return ": ".join(filter(None, (title, content)))


def with_alternative(svg: str, text: str) -> str:
    """An ``svg`` element that assistive technology reads as an image, or a group of links, with a text alternative."""
    role = "group" if "<a " in svg else "img"
    return re.sub(r"<svg\b", lambda _: f'<svg role="{role}" aria-label="{in_html(text)}"', svg, count=1)

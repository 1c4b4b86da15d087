"""How four views look, compared with pictures that are kept in the folder ``looks``.

The pictures are thumbnails of 64 × 48 gray values, so that other fonts make no difference, but a view that is blank,
a part that is missing and a layout that breaks do. ``LOOKS=write`` makes them anew; look at them before they are kept.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parent / "looks"
SIZE = (64, 48)
ADDRESS = "#head=1-2&relation=det&direction=dep->head&sentence=garden-03"
HEADS, SENTENCE = ".heads-section .frame", ".drawn .frame"
VIEWS = {
    "heads-light-1280": (HEADS, "light", 1280, ""),
    "heads-dark-480": (HEADS, "dark", 480, ""),
    "lines-dark-1280": (SENTENCE, "dark", 1280, "&kind=weight,norm"),
    "matrix-light-480": (SENTENCE, "light", 480, "&view=matrix&special=on"),
}
ASPECT = 0.2
"""By how much the ratio of width and height may differ, as a share."""
SIMILAR = 0.75
"""The least correlation of the gray values after a blur."""
APART = 14
"""The largest mean difference of the gray values, of 255."""
SOMEWHERE = 32
"""The largest difference of the gray values after a blur, leaving out the 2 % that differ most."""


def thumbnail(page, selector):
    """The gray values of a part of the page, and the ratio of its width and height."""
    image = pytest.importorskip("PIL.Image")
    with image.open(io.BytesIO(page.locator(selector).first.screenshot())) as picture:
        small = picture.convert("L").resize(SIZE, image.Resampling.BOX)
        return np.asarray(small, dtype=float), picture.width / picture.height


def blurred(values):
    """Means of 4 × 4 neighbors."""
    rows = np.lib.stride_tricks.sliding_window_view(values, (4, 4))
    return rows.mean((-1, -2))


def differences(values, aspect, kept, kept_aspect):
    """What differs from the picture that is kept, in words."""
    first, second = blurred(values), blurred(kept)
    similar = np.corrcoef(first.ravel(), second.ravel())[0, 1] if np.ptp(first) > 0 else 0.0
    apart = np.abs(values - kept).mean()
    result = []
    if abs(aspect / kept_aspect - 1) > ASPECT:
        result.append(f"width by height is {aspect:.2f} in place of {kept_aspect:.2f}")
    if similar < SIMILAR:
        result.append(f"the correlation is {similar:.2f}")
    if apart > APART:
        result.append(f"the mean difference is {apart:.1f}")
    if (most := np.quantile(np.abs(first - second), 0.98)) > SOMEWHERE:
        result.append(f"somewhere the difference is {most:.1f}")
    return result


def opened(open_page, pages, name):
    selector, scheme, width, more = VIEWS[name]
    page = open_page(pages["small"], ADDRESS + more, width=width, color_scheme=scheme)
    page.locator(".drawing").wait_for()
    return page, selector


def lasting_differences(page, selector, name):
    """What still differs from the kept picture after the page had five seconds to draw it."""
    for _ in range(20):
        if not (result := differences(*thumbnail(page, selector), *kept(name))):
            break
        page.wait_for_timeout(250)
    return result


def kept(name):
    image = pytest.importorskip("PIL.Image")
    [path] = FOLDER.glob(f"{name}-*.png")
    with image.open(path) as picture:
        return np.asarray(picture, dtype=float), float(path.stem.rsplit("-", 1)[1])


@pytest.mark.parametrize("name", VIEWS)
def test_views_look_as_before(open_page, pages, name):
    page, selector = opened(open_page, pages, name)
    if os.environ.get("LOOKS") == "write":
        values, aspect = thumbnail(page, selector)
        for old in FOLDER.glob(f"{name}-*.png"):
            old.unlink()
        image = pytest.importorskip("PIL.Image")
        image.fromarray(values.astype("uint8")).save(FOLDER / f"{name}-{aspect:.3f}.png", optimize=True)
    assert lasting_differences(page, selector, name) == []
    # Other fonts look the same.
    page.add_style_tag(content=".atl, .atl svg, .atl svg text { font-family: serif !important; }")
    assert lasting_differences(page, selector, name) == []

"""The files of the page, of which ``make page`` builds the script and the styles from the folder ``src``."""

from __future__ import annotations

from pathlib import Path


def bundled(name: str) -> str:
    """Return a file of the page."""
    # The script has nothing that ends a `script` element. It defines `attentionology.mount(element, data, {hash})`, and
    # on the page of a report it shows the explorer whose data are in the element `explorer-data`.
    return Path(__file__).with_name(name).read_text(encoding="utf-8")

"""The console on which a command shows its tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from .terminal import visible


class Terminal(Console):
    """A rich console that shows control characters in strings, table cells included, instead of obeying them."""

    # Renderables must hold strings, with markup or escaped by `rich.markup.escape`; a `rich.text.Text` drops some
    # control characters when it is made.

    def __init__(self, width: int | None) -> None:
        super().__init__(width=width, highlight=False, emoji=False, soft_wrap=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Render the visible form of a text as rich does."""
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        """Pass on the `BrokenPipeError` that is being handled, where rich would end the program with 1."""
        raise

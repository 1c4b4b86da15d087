"""How the data of the explorer are written into the page: compressed bytes, and JSON for a script element."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict

from .data import Explorer

_ESCAPED = {character: f"\\u{ord(character):04x}" for character in "<>&"}


def deflated(content: bytes) -> str:
    """Return the base64 code of the raw deflate stream of some bytes."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)  # a raw stream, which browsers inflate as `deflate-raw`
    return base64.b64encode(compressor.compress(content) + compressor.flush()).decode("ascii")


def script_json(explorer: Explorer) -> str:
    r"""Return the data as JSON for a script element."""
    # All characters beyond ASCII are escaped, and so are those that have a meaning in HTML. The text of a corpus can
    # therefore neither end the element nor begin a comment.
    text = json.dumps(asdict(explorer), separators=(",", ":"), allow_nan=False)
    for character, escaped in _ESCAPED.items():
        text = text.replace(character, escaped)
    return text

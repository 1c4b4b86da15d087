"""Rows of CoNLL-U files, and packed files."""

from __future__ import annotations

import io
import zipfile


def word(
    number: int | str,
    form: str = "x",
    head: int | str = "0",
    relation: str = "dep",
    *,
    upos: str = "_",
    feats: str = "_",
    deps: str = "_",
    misc: str = "_",
) -> str:
    """A row of CoNLL-U: a word, a multiword token or an empty node."""
    return f"{number}\t{form}\t_\t{upos}\t_\t{feats}\t{head}\t{relation}\t{deps}\t{misc}\n"


def empty(number: str, misc: str) -> str:
    """The row of an empty node."""
    return word(number, "_", "_", "_", upos="PRON", deps="0:x", misc=misc)


def zipped(*members: tuple[str, str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file with these names and texts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, text in members:
            archive.writestr(name, text)
    return packed.getvalue()

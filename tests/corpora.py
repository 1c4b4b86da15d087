"""Rows and sentences of CoNLL-U files, those of the sample, and packed files."""

from __future__ import annotations

import functools
import io
import pickle
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK


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


def chain(words: Sequence[str], name: str = "") -> str:
    """A sentence without tags in which the head of each word is the one before it."""
    rows = [word(n, form, n - 1, "dep" if n > 1 else "root") for n, form in enumerate(words, start=1)]
    return "".join([*([f"# sent_id = {name}\n"] if name else []), *rows, "\n"])


@functools.cache
def sample_blocks() -> list[str]:
    """The sentences of the sample treebank as they are written there, without the blank lines after them."""
    return SAMPLE_TREEBANK.read_text(encoding="utf-8").strip().split("\n\n")


def write_blocks(path: Path, blocks: Sequence[str]) -> Path:
    """Write a treebank of such sentences, and return its path."""
    path.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return path


def assert_same(lazy: Any, held: Any) -> None:
    """Check that a corpus in its files is the one in memory, also input by input from its end, and in parts."""
    for _ in range(2):
        assert list(lazy) == list(held)
    assert [lazy[position] for position in range(len(lazy) - 1, -1, -1)] == list(held)[::-1]
    assert list(lazy.sentences[1:-1]) == list(held)[1:-1]
    assert list(lazy.counts().items()) == list(held.counts().items())
    assert list(lazy.relations.items()) == list(held.relations.items())
    assert (lazy.remarks(), lazy.files, repr(lazy)) == (held.remarks(), held.files, repr(held))
    assert pickle.loads(pickle.dumps(lazy)) == lazy  # noqa: S301


def zip_files(*members: tuple[str, str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file with these names and texts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, text in members:
            # Without the present time, because ids of tests are made of these bytes, and equal ones in all processes.
            archive.writestr(zipfile.ZipInfo(name), text, method)
    return packed.getvalue()

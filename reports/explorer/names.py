"""The names that people give to heads, which are kept with a run, in the file ``heads.json`` of its folder."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...storage.characters import visible
from ...storage.durable import StorageError, write_durably
from ..run_folder import NAMES_FILE
from .data import HeadName

_HEAD = re.compile(r"([1-9][0-9]{0,3})-([1-9][0-9]{0,3})")
_LONGEST_NAME, _LONGEST_NOTE = 60, 2000


class HeadNameError(StorageError, ValueError):
    """The names of heads cannot be used; the message says why."""


def read_names(folder: Path, shape: tuple[int, int]) -> tuple[HeadName, ...]:
    """Return the names that are kept in the folder of a run, none if it has no such file.

    Args:
        folder: the folder.
        shape: the numbers of layers, and of heads of each layer, that the model has.

    Raises:
        HeadNameError: the file is not what `write_names` writes.
    """
    path = folder / NAMES_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise HeadNameError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        plain = json.loads(content)
        return check_names(plain["names"], shape)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = str(error) if isinstance(error, HeadNameError) else "it is not what this program has written"
        raise HeadNameError(f"{path}: {why}; mend the file, or delete it to begin again without names") from None


def write_names(folder: Path, names: Sequence[HeadName]) -> None:
    """Write the names of heads into the folder of a run, whole or not at all.

    Raises:
        StorageError: the file cannot be written.
    """
    text = json.dumps({"names": [asdict(name) for name in names]}, indent=1, ensure_ascii=False)
    write_durably(folder / NAMES_FILE, f"{text}\n".encode())


def check_names(plain: Any, shape: tuple[int, int]) -> tuple[HeadName, ...]:
    """Return names of heads, given the plain data of JSON, in the order of the heads.

    Raises:
        HeadNameError: they are no such data, or the model has no such head.
    """
    if not isinstance(plain, list) or not all(isinstance(each, dict) for each in plain):
        raise HeadNameError("the names of heads are a list of objects with a head, a name and a note")
    names: dict[tuple[int, int], HeadName] = {}
    for each in plain:
        values = {"note": "", **each}
        if set(values) != {"head", "name", "note"} or not all(isinstance(value, str) for value in values.values()):
            raise HeadNameError("the name of a head has a head, a name and a note, which are text")
        place = head_place(values["head"], shape)
        if place in names:
            raise HeadNameError(f"head {values['head']} has two names; give it one")
        names[place] = HeadName(values["head"], _check_text(values["name"], "name", _LONGEST_NAME), values["note"])
        _check_text(values["note"] or "-", "note", _LONGEST_NOTE)
    return tuple(name for _, name in sorted(names.items()))


def head_place(head: str, shape: tuple[int, int]) -> tuple[int, int]:
    """Return the layer and the number of a head, both from 0, given its name, such as ``3-9``.

    Raises:
        HeadNameError: a model of this shape has no such head.
    """
    match = _HEAD.fullmatch(head)
    place = (int(match[1]) - 1, int(match[2]) - 1) if match else None
    if place is None:
        raise HeadNameError(f"a head is named by its layer and its number, such as 3-9, not {head!r:.40}")
    if place[0] >= shape[0] or place[1] >= shape[1]:
        raise HeadNameError(f"there is no head {head}: the model has {shape[0]} layers of {shape[1]} heads")
    return place


def _check_text(text: str, what: str, longest: int) -> str:
    """Return a text that people can read in a line, or several of a note."""
    plain = text.replace("\n", " ") if what == "note" else text
    if not text.strip() or len(text) > longest or visible(plain) != plain or "\n" in plain:
        raise HeadNameError(
            f"the {what} of a head has 1 to {longest:,} characters, none of which is a control character"
        )
    return text

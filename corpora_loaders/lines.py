"""Text files as numbered lines, with the faults of real files made into clear errors."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from corpora_loaders.errors import CorpusError

WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")
"""What `int` takes, whatever a file holds: no digits of other scripts, and not thousands of them."""

_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield ``(line number, line)`` of a UTF-8 file, plain or gzip-compressed (told by content, not by name).

    A byte-order mark is dropped, line ends are ``\\n`` or ``\\r\\n`` and nothing else, so that the Unicode
    line separators which occur inside corpora stay where they are.

    Raises:
        CorpusError: no such file, a folder or pipe (a corpus is read more than once), not UTF-8 (with the
            line), or a broken gzip stream.
    """
    path = Path(path)
    number = 0
    try:
        if path.exists() and not path.is_file():
            what = "a folder; name the files in it" if path.is_dir() else "not a regular file"
            raise CorpusError(f"this is {what}", file=path)
        with path.open("rb") as file:
            compressed = file.read(2) == _GZIP_MAGIC
        with gzip.open(path) if compressed else path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                if number == 1:
                    raw = raw.removeprefix(_BOM)
                yield number, raw.rstrip(b"\r\n").decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(f"not UTF-8 ({error.reason}); convert the file first", file=path, line=number) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(f"broken gzip file: {error}", file=path, line=number + 1) from error
    except OSError as error:
        raise CorpusError(f"cannot read the file: {error.strerror or error}", file=path) from error


def file_sha256(path: str | Path) -> str:
    """Hexadecimal SHA-256 of the file's bytes as they lie on disk."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

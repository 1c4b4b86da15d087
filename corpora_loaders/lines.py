"""Text files as numbered lines, with the faults of real files made into clear errors."""

from __future__ import annotations

import gzip
import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from attentionology.corpora_loaders.errors import CorpusError

WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")
"""What `int` takes, whatever a file holds: no digits of other scripts, and not thousands of them."""

_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")  # the second of an empty one
_MACOS = "__MACOSX/"  # where the Finder puts its own notes on the files
_BOM = b"\xef\xbb\xbf"


_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield ``(line number, line)`` of a UTF-8 file: plain, or in a gzip or zip file (told by content, not by name).

    Of a zip file with several files in it one is named like a file in a folder: ``glove.zip/glove.50d.txt``.

    A byte-order mark is dropped, line ends are ``\\n`` or ``\\r\\n`` and nothing else, so that the Unicode
    line separators which occur inside corpora stay where they are.

    Raises:
        CorpusError: no such file, a folder or pipe (a corpus is read more than once), not UTF-8 (with the
            line), a broken gzip or zip file, a zip file that is encrypted or compressed in a way that Python does not
            know, or one in which no single file is meant.
    """
    path = Path(path)
    number = 0
    try:
        with _opened(path) as stream:
            for number, raw in enumerate(stream, start=1):
                if number == 1:
                    raw = raw.removeprefix(_BOM)
                    if raw.startswith(_UTF16):
                        raise CorpusError("the file is UTF-16, not UTF-8; convert it first", file=path, line=1)
                yield number, raw.rstrip(b"\r\n").decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(f"not UTF-8 ({error.reason}); convert the file first", file=path, line=number) from error
    except (EOFError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error) as error:
        what = "zip" if isinstance(error, zipfile.BadZipFile) or zipfile.is_zipfile(archive_of(path)) else "gzip"
        message = f"broken {what} file: {str(error) or 'it ends too early'}"
        raise CorpusError(message, file=path, line=number + 1) from error
    except RuntimeError as error:  # encrypted, or an unknown compression
        raise CorpusError(f"cannot read the zip file: {error}; unpack it first", file=path) from error
    except OSError as error:
        raise CorpusError(f"cannot read the file: {error.strerror or error}", file=path) from error


def text_lines(path: str | Path, *, returns: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file whose format would not tell that it is something else; see `numbered_lines`.

    Args:
        path: the file.
        returns: whether there may be carriage returns within a line.

    Raises:
        CorpusError: a NUL byte, which text in UTF-16 has; or a carriage return within a line, which is the line end of
            old Macintosh files, so that lines would be taken for one.
    """
    for number, line in numbered_lines(path):
        if "\0" in line:
            raise CorpusError("expected text, found a NUL byte; the file must be UTF-8", file=path, line=number)
        if "\r" in line and not returns:
            message = "found a carriage return within a line; line ends must be LF or CR LF, not CR alone"
            raise CorpusError(message, file=path, line=number)
        yield number, line


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """The bytes of a file, decompressed."""
    archive = archive_of(path)
    if archive.exists() and not archive.is_file():
        what = "a folder; name the files in it" if archive.is_dir() else "not a regular file"
        raise CorpusError(f"this is {what}", file=path)
    with archive.open("rb") as file:
        magic = file.read(4)
    if magic in _ZIP_MAGICS:
        with zipfile.ZipFile(archive) as zipped, zipped.open(_member(zipped, archive, path)) as stream:
            yield stream
    else:
        with path.open("rb") as file:
            yield gzip.GzipFile(fileobj=file) if magic.startswith(_GZIP_MAGIC) else file


def archive_of(path: str | Path) -> Path:
    """The file on disk: the path itself, or the zip file that it points into as if that were a folder."""
    path = Path(path)
    return path if path.exists() else next((parent for parent in path.parents if parent.is_file()), path)


def _member(zipped: zipfile.ZipFile, archive: Path, path: Path) -> str:
    members = [info.filename for info in zipped.infolist() if not info.is_dir() and _MACOS not in info.filename]
    wanted = path.relative_to(archive).as_posix() if path != archive else None
    if wanted is None and len(members) == 1:
        return members[0]
    if wanted in members:
        return wanted
    if not members:
        raise CorpusError("a zip file with nothing in it", file=path)
    listed = ", ".join(members[:6]) + (", …" if len(members) > 6 else "")
    raise CorpusError(f"a zip file of {listed}; name one of them, as in {archive}/{members[0]}", file=path)


def file_sha256(path: str | Path) -> str:
    """Hexadecimal SHA-256 of the file's bytes as they lie on disk (of a file in a zip file: of the zip file)."""
    with archive_of(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""Text files as numbered lines. Faults that occur in real files are reported as clear errors."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from .errors import CorpusError, unreadable

WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")
"""A whole number of at most nine ASCII digits.

`int` would also accept digits of other scripts, signs, underscores and white space, and it raises an error for numbers
with thousands of digits.
"""

LONGEST_LINE = 2**24
"""The number of bytes of the longest line that is read, 16 MiB, which is several novels.

Without a limit, a compressed file of a few megabytes could have a line that fills the memory.
"""

ENDS = "line ends must be LF or CR LF, not CR alone"
"""What messages say about the line ends of old Macintosh computers."""

# The first bytes of each kind of file, its name, and how it is opened.
_COMPRESSIONS: tuple[tuple[re.Pattern[bytes], str, Callable[[Any], Any]], ...] = (
    (re.compile(rb"\x1f\x8b"), "gzip", gzip.open),
    (re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), "bzip2", bz2.open),  # a block, or the end of an empty file
    (re.compile(rb"\xfd7zXZ\0"), "xz", lzma.open),
)
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")  # the second one starts an empty archive
_MACOS = "__MACOSX/"  # the folder in which macOS stores metadata about the files of an archive
_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {  # the byte-order mark of UTF-32 begins with that of UTF-16, so it comes first
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def located_lines(path: str | Path, *, offset: int = 0, lines: int = 0) -> Iterator[tuple[int, int, str]]:
    """Yield ``(line number, offset of the next line, line)`` of a UTF-8 file, which may be compressed.

    Compression is recognized by the content of the file, not by its name. To read one of several files in a zip file,
    name it as if the zip file were a folder: ``glove.zip/glove.50d.txt``. A byte-order mark is dropped. Only ``\\n``
    and ``\\r\\n`` end a line, because corpora contain Unicode line separators inside their texts. No line may have more
    than `LONGEST_LINE` bytes.

    Reading begins at ``offset``, which has ``lines`` lines before it. An offset is a number of bytes of the text. In a
    compressed file it counts what has been decompressed, so that everything before it is decompressed once more.
    """
    path = Path(path)
    number = lines
    try:
        with _open(path) as stream:
            if offset:
                stream.seek(offset)
            raw_lines = iter(partial(stream.readline, LONGEST_LINE + 1), b"")
            for number, raw in enumerate(raw_lines, start=lines + 1):
                offset += len(raw)
                if len(raw) > LONGEST_LINE:
                    message = f"the line has more than {LONGEST_LINE:,} bytes, which is the limit; {ENDS}"
                    raise CorpusError(message, file=path, line=number)
                if number == 1:
                    raw = raw.removeprefix(_BOM)
                    if encoding := next((name for mark, name in _OTHER_BOMS.items() if raw.startswith(mark)), None):
                        raise CorpusError(f"the file is {encoding}, not UTF-8; convert it first", file=path, line=1)
                yield number, offset, raw.rstrip(b"\r\n").decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"the file is not UTF-8 ({error.reason}); convert it first"
        raise CorpusError(message, file=path, line=number) from error
    except (EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError) as error:
        raise _reading_error(path, error, number + 1) from error
    except RuntimeError as error:  # the archive is encrypted, or compressed by an unknown method
        raise CorpusError(f"cannot read the zip file: {error}; unpack it first", file=path) from error
    except OSError as error:
        if error.errno is None:  # from a decompressor, not from the operating system
            raise _reading_error(path, error, number + 1) from error
        raise unreadable(path, error) from error


def text_lines(
    path: str | Path, *, offset: int = 0, lines: int = 0, allow_returns: bool = False
) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of a file in a format that accepts almost any line; see `located_lines`.

    Such a format cannot reveal that the file is something else, so two signs of that are checked here. Text in UTF-16
    without a byte-order mark contains NUL bytes. In a file with the line ends of old Macintosh computers, carriage
    returns, all lines would be read as one.
    """
    for number, following, line in located_lines(path, offset=offset, lines=lines):
        if "\0" in line:
            raise CorpusError("expected text, found a NUL byte; the file must be UTF-8", file=path, line=number)
        if "\r" in line and not allow_returns:
            raise CorpusError(f"found a carriage return within a line; {ENDS}", file=path, line=number)
        yield number, following, line


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressing it if necessary."""
    archive = archive_of(path)
    if archive.exists() and not archive.is_file():
        message = "this is a folder; name the files in it" if archive.is_dir() else "this is not a regular file"
        raise CorpusError(message, file=path)
    compression = _compression(archive)
    if compression == "zip":
        with zipfile.ZipFile(archive) as zipped, zipped.open(_member_name(zipped, archive, path)) as stream:
            yield stream
        return
    decompress = next((decompress for _, name, decompress in _COMPRESSIONS if name == compression), None)
    with path.open("rb") as file:
        yield decompress(file) if decompress else file


def _compression(archive: Path) -> str:
    """Return how a file is compressed, judging by its first bytes; empty if it is not."""
    with archive.open("rb") as file:
        start = file.read(10)
    if start.startswith(_ZIP_MAGICS):
        return "zip"
    return next((name for magic, name, _ in _COMPRESSIONS if magic.match(start)), "")


def _reading_error(path: Path, error: Exception, line: int) -> CorpusError:
    """Return the error for a compressed file that cannot be read from this line on."""
    reason = str(error) or "it ends too early"
    return CorpusError(f"the {_compression(archive_of(path))} file is broken: {reason}", file=path, line=line)


def archive_of(path: str | Path) -> Path:
    """Return the file on disk: the path itself or, if the path names a file in a zip file, that zip file."""
    path = Path(path)
    return path if path.exists() else next((parent for parent in path.parents if parent.is_file()), path)


def _member_name(zipped: zipfile.ZipFile, archive: Path, path: Path) -> str:
    """Return the name, within a zip file, of the file that a path refers to."""
    members = [info.filename for info in zipped.infolist() if not info.is_dir() and _MACOS not in info.filename]
    wanted = path.relative_to(archive).as_posix() if path != archive else None
    if wanted is None and len(members) == 1:
        return members[0]
    if wanted in members:
        return wanted
    if not members:
        raise CorpusError("the zip file is empty", file=path)
    listed = ", ".join(members[:6]) + (", …" if len(members) > 6 else "")
    message = f"the zip file contains {listed}; name one of them, as in {archive}/{members[0]}"
    raise CorpusError(message, file=path)


def file_sha256(path: str | Path) -> str:
    """Return the hexadecimal SHA-256 of the bytes on disk; for a file in a zip file, that of the zip file."""
    with archive_of(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_sha256(path: str | Path) -> str:
    """Return the hexadecimal SHA-256 of what a file holds, decompressed if it is compressed."""
    if not _compression(archive_of(path)):
        return file_sha256(path)
    with _open(Path(path)) as stream:
        digest = hashlib.sha256()
        while block := stream.read(2**20):
            digest.update(block)
        return digest.hexdigest()

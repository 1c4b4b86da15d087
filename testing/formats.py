"""The contract of a format: what `check_format` checks."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..corpora_loaders import CorpusError, CorpusFormat, Sentence, formats, get_format
from ..corpora_loaders.beginning import Beginning, beginning_of_file
from ..corpora_loaders.coreference.document import Account
from ..corpora_loaders.formats import format_of_reader
from .failing import allow_own_errors, fail, quote
from .names import HOSTILE, RAW

_ROW_2009 = "1\tIt\t_\t_\tPRON\tPRON\t_\t_\t2\t2\tnsubj\tnsubj\t_\t_\n"
_OTHERS = (
    "# sent_id = a\n1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\truns\trun\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n",
    "#begin document (a); part 000\na\t0\t0\tIt\tPRP\t*\t-\t-\t-\t-\t*\t(0)\n\n#end document\n",
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n",
    '{"sentences": [["Ann"]], "clusters": []}\n',
    '<?xml version="1.0"?>\n<corpus/>\n',
    "# global.columns = ID FORM HEAD\n1\tIt\t0\n",
    "#begin document d\n1\tJan\t_\tjan\t_\tN\t_\t_\t2\t_\t_\tsu\t_\t_\t_\t(1)\n",
    _ROW_2009,
    "1\tIt\tit\tPRP\tPRP\tIt\tit\tPRP\t2\tSBJ\t_\n",
    "1\tIt\tit\tPRP\tPRP\t_\t2\tSBJ\n",
    "It\tPRP\t2\tSBJ\n",
    "It 2-nsubj\n",
)
"""The beginnings of files of other formats."""

_LINES = re.compile(rb"[^\n]*\n?")
_PIECES = 12

Reader = Callable[[Path], Iterator[Any]]


def check_format(
    format: str | CorpusFormat | Callable[[str | Path], Iterator[Sentence]],  # noqa: A002  # as in load_treebank
    example: str | Path,
) -> None:
    """Check that a format keeps its contract.

    A file is read lazily, twice with the same result, and with documents also from any place in it. Heads and relations
    fit the words. CR LF and LF are the same line ends. Files that are cut off or damaged are read, or refused by a
    `CorpusError` with the file and the line; names of any characters are read as they are. The format recognizes its
    example, and neither does it recognize files of other formats, nor do other formats recognize its example.

    Args:
        format: a function of a path that yields sentences, a `CorpusFormat`, or the name of a format.
        example: the path of a file in the format, or the text of one. It should have several sentences.

    Raises:
        AssertionError: the format does not keep the contract. The message says what is wrong, and what to do.

    Example:
        >>> from attentionology.corpora_loaders import SAMPLE_TREEBANK
        >>> sentences = SAMPLE_TREEBANK.read_text(encoding="utf-8").split("\\n\\n")
        >>> check_format("conllu", "\\n\\n".join(sentences[:3]) + "\\n\\n")
    """
    if isinstance(format, str):
        format = get_format(format)  # noqa: A001
    content = example.read_bytes() if isinstance(example, Path) else example.encode()
    with tempfile.TemporaryDirectory(prefix="attentionology-") as folder:
        path = Path(folder, "example")
        path.write_bytes(content)
        if isinstance(format, CorpusFormat):
            _check_recognized(format, path)
            _check_documents(format, path, content)
            reader = format.read_trees
        else:
            with allow_own_errors("on the example", refuses=False):
                found = format(path)
            if not isinstance(found, Iterator):
                advice = "Yield sentence by sentence, so that large files can be read"
                fail(f"The reader returns a {type(found).__name__}", advice)
            reader = format_of_reader("example", format).read_trees
        if reader is not None:
            _check_sentences(reader, path)
            _check_line_ends(reader, path, content)
            _check_names(reader, path, content)
            _check_damage(reader, path, content)


def _check_sentences(read: Reader, path: Path) -> None:
    """Check the sentences of the example."""
    with allow_own_errors("on the example", refuses=False):
        sentences = list(read(path))
        again = list(read(path))
    if not sentences:
        fail("The example has no sentences", "Give an example with several sentences")
    if sentences != again:
        fail("The example is read otherwise the second time", "Keep nothing between two calls")
    for sentence in sentences:
        what = f"The sentence {quote(repr(sentence.id))}"
        n = len(sentence.words)
        if not n or not all(isinstance(word, str) and word for word in sentence.words):
            fail(f"{what} has no words, or an empty one", "Raise CorpusError, or leave it out")
        for name in ("heads", "relations", "tags", "lemmas"):
            if len(getattr(sentence, name)) not in (0, n):
                fail(
                    f"{what} has {n} words and {len(getattr(sentence, name))} {name}", "Give one for each word, or none"
                )
        if wrong := [head for head in sentence.heads if head is not None and not 0 <= head <= n]:
            fail(f"{what} has the head {wrong[0]} and {n} words", "Count heads from 1; 0 is the root, None is unknown")


def _check_line_ends(read: Reader, path: Path, content: bytes) -> None:
    expected = list(read(path))
    path.write_bytes(content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    with allow_own_errors("on a file with the line ends CR LF", refuses=False):
        found = list(read(path))
    if [sentence.words for sentence in found] != [sentence.words for sentence in expected]:
        fail("A file with the line ends CR LF has other words", "Open files with newline=None, the default")
    path.write_bytes(content)


def _check_names(read: Reader, path: Path, content: bytes) -> None:
    """Check that names of any characters can be read, in the place of the first word that occurs in the file once."""
    words = [word for sentence in read(path) for word in sentence.words]
    word = next((word for word in words if content.count(word.encode()) == 1 and len(word) > 1), None)
    if word is None:
        return
    for name in HOSTILE:
        path.write_bytes(content.replace(word.encode(), name.encode()))
        found = _read_damaged(read, path, f"if a word is {quote(name)}")
        if name in ("{x}", "%s") and (found is None or name not in [each for one in found for each in one.words]):
            fail(f"The word {name} is not read as it is", "Let words be data, never part of a format string")
    path.write_bytes(content)


def _check_damage(read: Reader, path: Path, content: bytes) -> None:
    """Check that damaged files are read or refused, and errors name the place."""
    for what, damaged in _damaged_copies(content):
        path.write_bytes(damaged)
        _read_damaged(read, path, what)
    path.write_bytes(content)


def _damaged_copies(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield damaged copies of a file, each with what is wrong."""
    lines = [line for line in _LINES.findall(content) if line]
    for piece in range(_PIECES):
        yield "if the file is cut off", content[: len(content) * piece // _PIECES]
    for number in range(0, len(lines), max(1, len(lines) // _PIECES)):
        before, line, after = b"".join(lines[:number]), lines[number], b"".join(lines[number + 1 :])
        yield f"if line {number + 1} is missing", before + after
        yield f"if line {number + 1} is there twice", before + line + line + after
        yield f"if line {number + 1} is blank", before + b"\n" + after
        yield f"if line {number + 1} is something else", before + b"\x00\x1b { %s \xe2\x80\xa8 \x85\t}\n" + after
        yield f"if line {number + 1} is cut off", before + line[: len(line) // 2] + b"\n" + after
        yield f"if line {number + 1} has no tabs", before + line.replace(b"\t", b" ") + after
        yield f"if line {number + 1} has other numbers", before + re.sub(rb"\d+", b"99999999999999999999", line) + after
        yield f"if line {number + 1} is not UTF-8", before + b"\xff\xfe" + line + after
    yield "if its line ends are CR alone", content.replace(b"\r\n", b"\n").replace(b"\n", b"\r")
    yield "if it begins with a byte-order mark", b"\xef\xbb\xbf" + content


def _read_damaged(read: Reader, path: Path, when: str) -> list[Any] | None:
    """Read a damaged file; return None if it is refused by an error that names the file and the line."""
    try:
        return list(read(path))
    except CorpusError as error:
        if str(error.file) != str(path) or str(path) not in str(error):
            fail(
                f"The error does not name the file {when}: {quote(error)}",
                "Give file=path to CorpusError, and to Sentence",
            )
        if error.line is None and "UTF-8" not in str(error):
            fail(
                f"The error does not name the line {when}: {quote(error)}",
                "Give line=number to CorpusError, and to Sentence",
            )
        if found := RAW.search(str(error)):
            fail(f"The error has the control character {found[0]!r} {when}", "Quote what the file says with !r")
        return None
    except Exception as error:
        said = f"{type(error).__name__}: {quote(error)}"
        raise AssertionError(f"It fails {when} with {said}. Raise CorpusError with file and line") from error


def _check_recognized(format: CorpusFormat, path: Path) -> None:  # noqa: A002
    """Check that the format recognizes its files alone, unless it recognizes none because it is chosen by its name."""
    beginning = beginning_of_file(path)
    recognizes = format.recognize(beginning)
    if not recognizes and format in formats.FORMATS:
        fail("The format does not recognize its example", "Look at what the recognizer asks of a Beginning")
    if recognizes and (others := _other_formats(format, beginning)):
        fail(f"The format {others[0]} recognizes the example, too", "Let one of the two recognizers ask for more")
    for text in _OTHERS:
        path.with_name("other").write_text(text, encoding="utf-8")
        beginning = beginning_of_file(path.with_name("other"))
        if format.recognize(beginning) and (others := _other_formats(format, beginning)):
            fail(f"The format recognizes files of the format {others[0]}", "Let its recognizer ask for more")


def _other_formats(format: CorpusFormat, beginning: Beginning) -> list[str]:  # noqa: A002
    """Return the names of the other formats that recognize a file, also of those that are not read."""
    read = [known.name for known in formats.FORMATS if known.name != format.name and known.recognize(beginning)]
    return read + [unread.name(beginning) for unread in formats.UNREAD if unread.recognize(beginning)]


def _check_documents(format: CorpusFormat, path: Path, content: bytes) -> None:  # noqa: A002
    """Check the documents of the example, and that reading can begin after each."""

    def read(path: Path, place: Any = None) -> Iterator[Any]:
        return format.read_documents(path, Account(), lenient=False, place=place)

    try:
        with allow_own_errors("on the documents of the example"):
            placed = list(read(path))
    except CorpusError:
        return  # the format, or the example, has no mentions
    for number, (_, place) in enumerate(placed, start=1):
        with allow_own_errors("if reading begins after a document", refuses=False):
            rest = [document for document, _ in read(path, place)]
        if rest != [document for document, _ in placed[number:]]:
            fail(
                f"What is read from the place after document {number} is not the rest of the file",
                "Yield with each document the place at which reading it ends, and begin at the place that is given",
            )
    for what, damaged in _damaged_copies(content):
        path.write_bytes(damaged)
        _read_damaged(read, path, what)
    path.write_bytes(content)

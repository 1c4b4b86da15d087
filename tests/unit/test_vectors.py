"""Word vectors, and files in zip files."""

from __future__ import annotations

import gzip
import hashlib
import struct
import zipfile

import numpy as np
import pytest

from attentionology.corpora_loaders import CorpusError, load_vectors
from attentionology.corpora_loaders.lines import archive_of, file_sha256, located_lines
from tests.corpora import zip_files

TEXT = "the 0.5 -1\nApple 2 3e-1\napple 4 5\n"
WANT = [[0.5, -1], [2, 0.3], [4, 5]]


@pytest.fixture
def load(write):
    return lambda text, words=None: load_vectors(write(text, "v.txt"), words)


def words_of(vectors) -> list[str]:
    assert sorted(vectors.index.values()) == list(range(len(vectors.array)))
    return sorted(vectors.index, key=vectors.index.__getitem__)


@pytest.mark.parametrize(
    "packed",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        gzip.compress(TEXT.encode(), mtime=0),
        zip_files(("glove.txt", TEXT)),
        zip_files(("deep/", ""), ("deep/glove.txt", TEXT), ("__MACOSX/deep/._glove.txt", "\0\5\x16\7")),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", " \n").replace(" -1", " \t-1").encode(),  # trailing blanks as in fastText; blank and tab
        TEXT.replace(" ", "\t").encode(),
        ("\n" + TEXT + "  \n").encode(),
    ],
    ids=["plain", "bom", "gzip", "zip", "zip by macOS", "crlf", "trailing", "tabs", "empty lines"],
)
def test_the_same_vectors_however_they_are_packed(load, packed):
    vectors = load(packed)
    assert words_of(vectors) == ["the", "Apple", "apple"]
    assert vectors.array.dtype == np.float32
    np.testing.assert_array_equal(vectors.array, np.array(WANT, dtype=np.float32))
    assert (vectors.in_file, vectors.repeated, vectors.announced, vectors.remarks()) == (3, 0, None, [])
    assert vectors.sha256 == hashlib.sha256(packed).hexdigest()


def test_one_of_several_files_in_a_zip_file(tmp_path):
    archive = tmp_path / "glove.zip"
    archive.write_bytes(zip_files(("d2.txt", TEXT), ("a/d1.txt", "the 7\n")))
    vectors = load_vectors(archive / "a/d1.txt")
    assert vectors(["the"]).tolist() == [[7]]
    assert vectors.path == str(archive / "a/d1.txt")
    assert vectors.sha256 == file_sha256(archive) == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert archive_of(archive / "a/d1.txt") == archive
    for path in (archive, archive / "d1.txt"):
        with pytest.raises(
            CorpusError, match=r"the zip file contains d2\.txt, a/d1\.txt; name one .*glove\.zip/d2\.txt"
        ):
            load_vectors(path)


def damaged(text: bytes = TEXT.encode() * 99) -> bytes:
    packed = bytearray(zip_files(("v", text.decode())))
    packed[31:41] = b"\xff" * 10
    return bytes(packed)


def flagged(at: int, value: int) -> bytes:
    """A zip file whose member says of itself what Python cannot read."""
    packed = bytearray(zip_files(("v", TEXT)))
    for magic, offset in ((b"PK\3\4", at), (b"PK\1\2", at + 2)):
        struct.pack_into("<H", packed, packed.index(magic) + offset, value)
    return bytes(packed)


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (zip_files(("v", TEXT))[:-30], r"v\.txt:1: the zip file is broken"),
        (damaged(), "the zip file is broken"),
        (
            zip_files(("v", TEXT), method=zipfile.ZIP_STORED).replace(b"apple 4", b"apple 5", 1),
            "the zip file is broken: Bad CRC",
        ),
        (flagged(6, 1), "cannot read the zip file: .*encrypted.*; unpack it first"),
        (flagged(8, 9), "cannot read the zip file: .*compression.*; unpack it first"),  # as Windows packs beyond 2 GB
        (zip_files(), "the zip file is empty"),
        (zip_files(("folder/", "")), "the zip file is empty"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-9], "the gzip file is broken"),
    ],
    ids=["truncated", "damaged", "checksum", "encrypted", "deflate64", "empty", "only a folder", "gzip"],
)
def test_broken_archives(load, packed, message):
    with pytest.raises(CorpusError, match=message):
        load(packed)


def test_a_member_of_what_is_no_zip_file(tmp_path):
    (tmp_path / "cut.zip").write_bytes(zip_files(("v.txt", TEXT))[:-30])
    (tmp_path / "plain.txt").write_text(TEXT)
    with pytest.raises(CorpusError, match="the zip file is broken: File is not a zip file"):
        load_vectors(tmp_path / "cut.zip/v.txt")
    with pytest.raises(CorpusError, match=r"plain\.txt/v\.txt: cannot read the file: Not a directory"):
        load_vectors(tmp_path / "plain.txt/v.txt")
    with pytest.raises(CorpusError, match="there is no such file"):
        load_vectors(tmp_path / "none.zip")


def test_lines_of_a_zip_file_have_numbers(tmp_path):
    (tmp_path / "a.zip").write_bytes(zip_files(("t", "a\u2028b\r\n\nd")))
    assert list(located_lines(tmp_path / "a.zip")) == [(1, 7, "a\u2028b"), (2, 8, ""), (3, 9, "d")]


@pytest.mark.parametrize("header", ["3 2\n", "3\t2\n", "3 2 \r\n"])
def test_header(load, header):
    vectors = load(header + TEXT)
    assert (vectors.announced, vectors.in_file, vectors.dimensions, vectors.remarks()) == (3, 3, 2, [])
    np.testing.assert_array_equal(vectors(["the"]), [[0.5, -1]])


def test_header_that_announces_another_count(load):
    vectors = load("400000 2\n" + TEXT, ["the"])
    assert (vectors.announced, vectors.in_file, len(vectors.array)) == (400000, 3, 1)
    assert vectors.remarks() == ["The header of the vectors announces 400,000 lines, but there are 3."]


def test_two_whole_numbers_are_no_header_later_on(load):
    vectors = load("a 1\n5 2\n")
    assert (vectors.announced, words_of(vectors), vectors.array.tolist()) == (None, ["a", "5"], [[1], [2]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1.5 2\nb 1\n", ":2: the vector of 'b' has 1 numbers, but that of line 1 has 2"),
        ("a 1.5 2\n\nb 1 2 3\n", ":3: the vector of 'b' has 3 numbers, but that of line 1 has 2"),
        ("1 3\na 1.5 2\n", ":2: the vector of 'a' has 2 numbers, but the header announces 3"),
        ("a 1.5 2\nb 1_0 2\n", ":2: '1_0' is not a number"),
        ("a 1.5 2\nb 1 ０\n", ":2: '０' is not a number"),
        ("a 1.5 2\nb 1 infinity\n", ":2: 'infinity' is not a number"),
        ("a 1.5 2\nb 1 \u00a02\n", r":2: '\\xa02' is not a number"),
        ("a 1.5 2\nb 1 1e999\n", ":2: '1e999' is not a finite number"),
        ("a 1,5 2\n", ":1: '1,5' is not a number"),
        ("a 1.5 2\rb 1 2\r", ":1: .* is not a number"),
        ("a 1.5 2\nb 1 nan\n", ":2: 'nan' is not a number"),
        ("a 1.5 1e39\n", ":1: '1e39' is not a finite number"),
        ("a 1.5 x\n", ":1: 'x' is not a number"),
        ("a 1.5 2\nb  2\n", ":2: '' is not a number"),
        ("<html> <body>\n", ":1: expected a word and its numbers, found '<html> <body>'"),
        ("a\nb 1\n", ":1: expected a word and its numbers, found 'a'"),
        ("", "the file contains no vector"),
        ("2 3\n", "the file contains no vector"),
        (b"a 1\n\xe9 2\n", ":2: the file is not UTF-8"),
        (b"2 1\na \0\1\2\3\x80\n", ":2: the file is not UTF-8"),  # word2vec's binary format
    ],
)
@pytest.mark.filterwarnings("error")
def test_bad_lines(load, text, message):
    with pytest.raises(CorpusError, match=message):
        load(text)


def test_lines_of_words_nobody_wants_must_have_the_dimensions(load):
    with pytest.raises(CorpusError, match=":3: the vector of 'c' has 1 numbers"):
        load("a 1 2\nb 1 2\nc 1\n", ["a"])
    assert load("a 1 2\nb 1 x\n", ["a"])(["a", "b"]).tolist() == [[1, 2], [0, 0]]


def test_a_table_is_not_taken_for_vectors_because_nobody_wants_its_words(load):
    with pytest.raises(CorpusError, match=r":1: 'The' is not a number"):
        load("1.1\t1\tThe\n1.2\t2\tcat\n", ["cat"])


@pytest.mark.parametrize("header", ["", "5 2\n"])
def test_words_with_blanks_in_them(load, header):
    # As in GloVe 840B, wiki.*.vec of fastText and the Portuguese vectors of NILC.
    text = ". . . 0.1 0.2\nat name@domain.com 0.3 0.4\n0,0 km² 0.5 0.6\nthe 0.7 0.8\n 0.9 1\n"
    vectors = load(header + text)
    assert words_of(vectors) == [". . .", "at name@domain.com", "0,0 km²", "the", ""]
    np.testing.assert_allclose(vectors.array.ravel(), np.arange(1, 11) / 10, rtol=1e-6)


def test_aligned_columns(load):
    vectors = load("  the    0.5   -1\n  apple  2     3\n")
    assert vectors(["the", "apple"]).tolist() == [[0.5, -1], [2, 3]]


@pytest.mark.parametrize("space", ["\u00a0", "\u0085", "\u2009", "\u2028", "\u3000", "\x0b", "\x1c", "1\u00a0000"])
def test_unicode_spaces_are_words(load, space):
    vectors = load(f"{space} 0.5 1\nthe 2 3\n")
    assert words_of(vectors) == [space, "the"]
    assert vectors([space]).tolist() == [[0.5, 1]]


def test_numbers_are_words(load):
    assert load("0.5 1 2\n-0.27998 3 4\n")(["-0.27998", "0.5"]).tolist() == [[3, 4], [1, 2]]


def test_repeated_words_count_once(load):
    vectors = load("a 1\nb 2\na 3\na 4\nb 5\n", ["a"])
    assert (vectors(["a"]).tolist(), vectors.in_file, vectors.repeated) == ([[1]], 5, 2)
    assert vectors.remarks() == ["2 lines of the vectors repeat a word of the corpora; only the first of them is used."]


def test_as_written_then_in_lower_case_then_zeros(load):
    vectors = load(TEXT)
    looked_up = vectors(["Apple", "apple", "APPLE", "The", "pear", ""])
    the, written, lower = np.array(WANT, dtype=np.float32)
    np.testing.assert_array_equal(looked_up, [written, lower, lower, the, [0, 0], [0, 0]])
    assert vectors.rows(["Apple", "APPLE", "pear"]).tolist() == [1, 2, -1]
    assert vectors([]).shape == (0, 2)


def test_only_what_the_words_look_up_is_kept(load):
    assert words_of(load(TEXT, ["apple"])) == ["apple"]
    assert words_of(load(TEXT, iter(["Apple", "THE"]))) == ["the", "Apple", "apple"]
    none = load(TEXT, ["pear"])
    assert (none.in_file, none.array.shape, none(["pear", "the"]).tolist()) == (3, (0, 2), [[0, 0], [0, 0]])


def test_all_ways_to_write_a_decimal_number(load):
    assert load("a 1 -2 +3 .5 5. 1e2 -1.5E-1 0007\n")(["a"]).tolist() == [[1, -2, 3, 0.5, 5, 100, np.float32(-0.15), 7]]

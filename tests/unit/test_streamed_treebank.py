"""A treebank that is read again from its files against the same treebank held in memory."""

import bz2
import gzip
import lzma
import os
import pickle
import tempfile
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attentionology.corpora_loaders import (
    CorpusError,
    conllu_file,
    documents,
    formats,
    load_treebank,
    stream,
    surface_sentence,
    treebank,
    unique_names,
)
from attentionology.corpora_loaders.alignment import loading
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.corpora_loaders.sentence_lines import SentenceLines
from attentionology.corpora_loaders.unique_names import Names, UniqueNames
from tests.corpora import assert_same, word


@contextmanager
def in_files(marked):
    """Nothing is held, and a few items lie between marks, so that small corpora are read as large ones are."""
    with (
        patch.object(stream, "MARKED", marked),
        patch.object(stream, "HELD", 0),
        patch.object(documents, "HELD_IN_DOCUMENTS", 0),
        patch.object(loading, "HELD_PAIRS", 0),
    ):
        yield


def sentence(n=2, name=None, *, form="w", comments=(), multiword=False, empty=False, head=None):
    """A sentence of n words; the first is the root, and the head of the last is ``head`` if that is given."""
    rows = [f"{comment}\n" for comment in [*comments, *([f"# sent_id = {name}"] if name else [])]]
    if multiword and n > 1:
        rows.append(word("1-2", "both", "_", "_"))
    for number in range(1, n + 1):
        to = number - 1 if head is None or number < n else head
        rows.append(word(number, f"{form}{number}", to, f"r{number % 3}", upos="X"))
    if empty:
        rows.append(word(f"{n}.1", "e", "_", "_"))
    return "".join([*rows, "\n"])


def held_by(corpus):
    """The inputs that a corpus holds in memory."""
    assert isinstance(corpus.sentences, stream.Stream)
    return corpus.sentences._held


def same(paths, **options):
    """The treebank in its files, after a comparison with the one in memory, and with what their reader reads."""
    paths = paths if isinstance(paths, list) else [paths]
    with patch.object(stream, "HELD", 10**9):
        held = load_treebank(paths, **options)
    lazy = load_treebank(paths, **options)
    assert (held_by(lazy), len(held_by(held))) == ((), len(held))
    assert_same(lazy, treebank.Treebank(tuple(held), held.files, held.tokens, held.renamed))
    assert lazy == held
    assert len(lazy) == len(held) == len({sentence.id for sentence in lazy})
    read = list(islice((one for path in paths for one in conllu_file.read_conllu(path)), options.get("limit")))
    if options.get("tokens") == "surface":
        read = [surface_sentence(sentence) for sentence in read]
    assert [sentence.words for sentence in lazy] == [sentence.words for sentence in read]
    assert lazy.renamed == sum(mine.id != theirs.id for mine, theirs in zip(lazy, read, strict=True))
    return lazy


SENTENCES = st.builds(
    sentence,
    st.integers(1, 4),
    st.sampled_from([None, None, "a", "a#2", "b", "é"]),
    form=st.sampled_from(["w", "ü", "_", "two words"]),
    comments=st.lists(st.sampled_from(["# newdoc", "# newdoc id = d", "# text = a b", "# source = x"]), max_size=2),
    multiword=st.booleans(),
    empty=st.booleans(),
    head=st.sampled_from([None, None, "_", 0]),
)
OTHERS = st.sampled_from(["\n", "# newdoc id = e\n\n", "# global.Entity = x\n\n"])
ERRORS = st.sampled_from(["# text = lost\n\n", "broken\n\n", sentence(head=9), sentence(head="x"), sentence(head=2)])
VALID = st.one_of(SENTENCES, SENTENCES, SENTENCES, OTHERS)
PARTS = st.lists(VALID, max_size=12) | st.lists(VALID | ERRORS, max_size=12)


@st.composite
def files(draw):
    """The bytes of a file: any line ends, with or without byte-order mark, final line end, and compression."""
    text = "".join(draw(PARTS))
    if draw(st.booleans()):
        text = text.rstrip("\n")
    content = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))).encode()
    content = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + content
    pack = draw(st.sampled_from([bytes, gzip.compress, bz2.compress, lzma.compress]))
    return pack(content)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    contents=st.lists(files(), min_size=1, max_size=3),
    size=st.integers(1, 5),
    tokens=st.sampled_from(["syntactic", "surface"]),
    limit=st.none() | st.integers(1, 15),
)
def test_a_treebank_in_its_files_is_that_in_memory(contents, size, tokens, limit):
    with tempfile.TemporaryDirectory() as folder, in_files(size):
        paths = [Path(folder, f"{number}.conllu") for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        try:
            load_treebank(paths, tokens=tokens, limit=limit)
        except CorpusError:
            return
        same(paths, tokens=tokens, limit=limit)


def alone(part):
    """The words of a part, None if it is no sentence without mistakes."""
    try:
        (read,) = load_treebank(from_string=part)
    except CorpusError:
        return None
    return read.words


@settings(max_examples=40, deadline=None)
@given(parts=st.lists(VALID | ERRORS, max_size=12), size=st.integers(1, 3))
def test_what_is_left_out_stays_left_out_when_it_is_read_again(parts, size):
    parts = [sentence(name="good"), *parts]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.conllu")
        path.write_text("".join(parts), encoding="utf-8")
        held = load_treebank(path, lenient=True)
        with in_files(size):
            lazy = load_treebank(path, lenient=True)
            for _ in range(2):
                assert [list(lazy), list(lazy)[1:], lazy[len(lazy) - 1]] == [list(held), list(held)[1:], held[-1]]
            assert lazy.left_out == held.left_out
    assert [each.words for each in held] == [words for part in parts if (words := alone(part)) is not None]


def by_hand(names):
    """Ids that are made unique with a plain dictionary of how often each was asked for."""
    used: dict[str, int] = {}
    for name in names:
        unused = name
        while unused in used:
            used[name] += 1
            unused = f"{name}#{used[name]}"
        used[unused] = 1
        yield unused


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "a#2", "a#3", "a#2#2", ""])), st.integers(1, 4))
def test_names_are_made_unique(names, most_new):
    with patch.object(Names, "MOST_NEW", most_new):
        unique = UniqueNames()
        made = [unique(name) for name in names]
    assert made == list(by_hand(names))
    assert unique.renamed == sum(one != other for one, other in zip(names, made, strict=True))
    renamed = zip(names, unique.numbers, strict=True)
    assert [unique_names.numbered_name(name, number) for name, number in renamed] == made


@pytest.mark.slow
def test_real_treebanks_are_the_same(data_file):
    with in_files(64):
        same([data_file(f"ud/{name}-dev.conllu") for name in ("fr_gsd", "en_partut")], tokens="surface", limit=2500)


def test_a_file_in_a_zip_file_is_the_same(tmp_path):
    archive = tmp_path / "banks.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("in/a.conllu", sentence() * 5)
        packed.writestr("b.conllu", sentence(3))
    with in_files(2):
        assert len(same(archive / "in" / "a.conllu")) == 5


@pytest.fixture
def five(write):
    with in_files(2):
        yield load_treebank(write("".join(sentence(k, f"s{k}") for k in range(1, 6))))


def ids(sentences):
    return [read.id for read in sentences]


def test_a_slice_is_a_treebank_of_what_it_has(five):
    with pytest.raises(IndexError):
        five[5]
    part = five[1:4]
    assert isinstance(part, treebank.Treebank)
    assert ids(part) == ["s2", "s3", "s4"]
    assert (part.counts()["sentences"], part.counts()["words"]) == (3, 9)
    assert [(file.sentences, file.words, file.sha256) for file in part.files] == [(3, 9, five.files[0].sha256)]
    assert ids(five[1:][1:][::-1]) == ["s5", "s4", "s3"]
    assert ids(five[::2]) == ["s1", "s3", "s5"]
    assert (list(five[9:]), five[9:].files) == ([], ())
    limited = load_treebank(five.files[0].path, limit=3)
    assert (limited.files, limited.counts(), list(limited)) == (five[:3].files, five[:3].counts(), list(five[:3]))


def test_a_late_part_is_read_from_its_place(write):
    """Otherwise, the time of all parts would grow with the square of the size of the treebank."""
    with in_files(4):
        bank = load_treebank(write("".join(sentence(name=f"s{k}") for k in range(100))))
        with patch.object(conllu_file, "SentenceLines", wraps=SentenceLines) as parsed:
            assert ids(bank.sentences[90:93]) == ["s90", "s91", "s92"]
            assert parsed.call_count <= 3 + 4
            parsed.reset_mock()
            assert [bank[position].id for position in range(50, 60)] == [f"s{k}" for k in range(50, 60)]
            assert parsed.call_count <= 3 * 4, "items one after the other read each block once"


def test_a_pickled_treebank_reads_its_own_windows(five):
    packed = pickle.dumps(five)
    assert b"corpora_loaders.sentence" not in packed
    assert b"corpora_loaders.sentence" not in pickle.dumps(load_treebank(SAMPLE_TREEBANK))
    copy = pickle.loads(packed)  # noqa: S301
    assert (copy, list(copy)) == (five, list(five))


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text(path.read_text() + sentence()),
        lambda path: path.write_text(path.read_text()[:200]),
        lambda path: path.write_text("broken\n"),
        lambda path: os.utime(path, ns=(1, 1)),
    ],
    ids=["longer", "shorter", "broken", "touched"],
)
def test_a_file_that_changes_after_it_was_read_is_an_error(five, change):
    change(Path(five.files[0].path))
    with pytest.raises(CorpusError, match=r"file\.conllu: the file has changed since it was read first"):
        list(five)


def test_a_file_with_the_same_stamp_but_fewer_sentences_has_changed(five):
    path = Path(five.files[0].path)
    status, text = path.stat(), path.read_text()
    last = text.index("# sent_id = s5")
    path.write_text(text[:last] + "\n" * len(text[last:]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    with pytest.raises(CorpusError, match="has changed"):
        list(five)


def test_a_file_that_is_gone_is_an_error(five):
    Path(five.files[0].path).unlink()
    with pytest.raises(CorpusError, match="there is no such file"):
        five[3]


def test_a_file_that_changes_while_it_is_read_first_is_an_error(write):
    path = write(sentence())

    def touching(path, *start):
        yield from conllu_file.placed_sentences(path, *start)
        os.utime(path, ns=(1, 1))

    other = replace(formats.CONLLU, placed_trees=touching)
    with patch.object(treebank, "format_of", lambda path: other), pytest.raises(CorpusError, match="has changed"):
        load_treebank(path)


def test_a_format_whose_reader_has_no_places_is_read_from_its_beginning(write, monkeypatch):
    other = replace(formats.CONLLU, placed_trees=None)
    monkeypatch.setattr(treebank, "format_of", lambda path: other)
    with in_files(2):
        bank = load_treebank(write("".join(sentence(name=f"s{k}") for k in range(9))))
        [file] = bank.sentences._source.files  # type: ignore[attr-defined]
        assert len(file.marks) == 1
        assert ids(bank.sentences[7:]) == ["s7", "s8"]

"""A lazily read treebank against the same files loaded at once."""

import bz2
import gzip
import lzma
import os
import pickle
import tempfile
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attentionology.corpora_loaders import (
    CorpusError,
    conllu_file,
    file_index,
    lazy_items,
    load_treebank,
    open_treebank,
    treebank_index,
)
from attentionology.corpora_loaders.compact import IdCounts, UniqueSuffixes, numbered_name
from attentionology.corpora_loaders.coreference import formats, lazy_documents
from attentionology.corpora_loaders.corpus import UniqueNames
from attentionology.corpora_loaders.file_index import WINDOW
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.corpora_loaders.treebank_index import index_treebank

DATA = Path(os.environ.get("ATTENTIONOLOGY_DATA", "missing"))


@contextmanager
def windows_of(size, kept=2):
    """Windows of a few sentences, so that small treebanks have many."""
    with (
        patch.object(file_index, "WINDOW", size),
        patch.object(file_index, "KEPT_WINDOWS", kept),
        patch.object(lazy_documents, "KEPT_TIMES", 1),
    ):
        yield


def row(*cells):
    return "\t".join(map(str, cells))


def sentence(n=2, name=None, *, form="w", comments=(), multiword=False, empty=False, head=None):
    """A sentence of n words; the first is the root, and the head of the last is ``head`` if that is given."""
    lines = [*comments, *([f"# sent_id = {name}"] if name else [])]
    if multiword and n > 1:
        lines.append(row("1-2", "both", *"______", "_", "_"))
    for number in range(1, n + 1):
        to = number - 1 if head is None or number < n else head
        lines.append(row(number, f"{form}{number}", "_", "X", "_", "_", to, f"r{number % 3}", "_", "_"))
    if empty:
        lines.append(row(f"{n}.1", "e", *"______", "_", "_"))
    return "\n".join(lines) + "\n\n"


def same(paths, **options):
    """The lazily read treebank, after a comparison with the loaded one."""
    paths = paths if isinstance(paths, list) else [paths]
    loaded, lazy = load_treebank(paths, **options), open_treebank(paths, **options)
    assert list(lazy) == list(loaded)
    assert list(lazy) == list(loaded), "the second pass, with other windows in the cache"
    assert len(lazy) == len(loaded)
    assert lazy.files == loaded.files
    assert list(lazy.relations.items()) == list(loaded.relations.items())
    assert list(lazy.counts().items()) == list(loaded.counts().items())
    assert (lazy.remarks(), lazy.tokens, lazy.renamed) == (loaded.remarks(), loaded.tokens, loaded.renamed)
    assert (lazy.unit, lazy.limit_unit) == (loaded.unit, loaded.limit_unit)
    assert repr(lazy) == repr(loaded).replace("Treebank", "LazyTreebank", 1)
    assert lazy._repr_html_() == loaded._repr_html_().replace("Treebank", "LazyTreebank", 1)
    return lazy


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="a.conllu"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


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


def error_of(load, paths, **options):
    """The error of a loader with its location; None if there is none."""
    try:
        load(paths, **options)
    except CorpusError as error:
        return str(error), error.file, error.line, error.sentence
    return None


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    contents=st.lists(files(), min_size=1, max_size=3),
    size=st.integers(1, 5),
    tokens=st.sampled_from(["syntactic", "surface"]),
    limit=st.none() | st.integers(1, 15),
)
def test_a_lazily_read_treebank_is_the_loaded_one_or_has_the_same_error(contents, size, tokens, limit):
    with tempfile.TemporaryDirectory() as folder, windows_of(size):
        paths = [Path(folder, f"{number}.conllu") for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        expected = error_of(load_treebank, paths, tokens=tokens, limit=limit)
        assert error_of(open_treebank, paths, tokens=tokens, limit=limit) == expected
        if expected is None:
            lazy = same(paths, tokens=tokens, limit=limit)
            assert len(lazy.sentences.corpus_index.windows) == -(-len(lazy) // size)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "a#2", "a#3", "a#2#2", ""])))
def test_suffixes_are_those_of_unique_names(names):
    unique, suffix = UniqueNames(), UniqueSuffixes()
    assert [numbered_name(name, suffix(name)) for name in names] == [unique(name) for name in names]
    assert suffix.renamed == unique.renamed


def test_counts_of_ids_survive_the_growth_of_their_table():
    counts = IdCounts()
    for number in range(5000):
        counts[f"s{number}"] = number + 1
    assert len(counts) == 5000
    assert [counts[f"s{number}"] for number in range(5000)] == list(range(1, 5001))
    assert counts["s5000"] == 0


@pytest.mark.parametrize("tokens", ["syntactic", "surface"])
def test_the_sample_is_the_same(tokens):
    with windows_of(50):
        same(SAMPLE_TREEBANK, tokens=tokens)


@pytest.mark.parametrize("name", ["en_ewt-dev", "en_gum-dev", "fr_gsd-dev", "ko_kaist-dev"])
def test_real_treebanks_are_the_same(name):
    path = DATA / "ud" / f"{name}.conllu"
    if not path.exists():
        pytest.skip("ATTENTIONOLOGY_DATA does not name a folder with treebanks")
    same([path, DATA / "ud" / "en_partut-dev.conllu"], tokens="surface", limit=2500)


def test_a_file_in_a_zip_file_is_the_same(tmp_path):
    archive = tmp_path / "banks.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("in/a.conllu", sentence() * 5)
        packed.writestr("b.conllu", sentence(3))
    with windows_of(2):
        assert len(same(archive / "in" / "a.conllu")) == 5


@pytest.fixture
def five(write):
    with windows_of(2, kept=1):
        yield open_treebank(write("".join(sentence(k, f"s{k}") for k in range(1, 6))))


def ids(sentences):
    return [read.id for read in sentences]


def test_sentences_are_read_by_their_position(five):
    assert [five[3].id, five[0].id, five[-1].id, five[4].id] == ["s4", "s1", "s5", "s5"]
    with pytest.raises(IndexError):
        five[5]


def test_a_short_slice_is_a_tuple_and_a_long_one_is_lazy(five):
    assert isinstance(five[1:3], tuple)
    assert ids(five[1:3]) == ["s2", "s3"]
    assert isinstance(five[1:], lazy_items.LazyItems)
    assert ids(five[1:]) == ["s2", "s3", "s4", "s5"]
    assert ids(five[1:][1:][::-1]) == ["s5", "s4", "s3"]
    assert ids(five[::2]) == ["s1", "s3", "s5"]
    assert five[9:] == ()


def test_equality_is_decided_without_reading(five):
    other = open_treebank(five.files[0].path)
    with patch.object(lazy_items.WindowReader, "read", side_effect=AssertionError):
        assert five == other
        assert five[1:] == five[1:] == other[1:]
        assert five[1:] != five[:4]
        assert hash(five[1:]) == hash(other[1:])
    assert five != load_treebank(five.files[0].path)


def test_only_a_few_windows_are_held(write):
    with windows_of(2):
        bank = open_treebank(write("".join(sentence(name=f"s{k}") for k in range(20))))
        for _ in range(2):
            assert len(list(bank)) == 20
            assert list(bank.sentences._cache._windows) == [0, 9], "the first and the last"


def test_a_small_treebank_is_read_once(write):
    path = write(sentence(name="s"))
    with patch.object(lazy_items.WindowReader, "read", side_effect=AssertionError):
        assert ids(open_treebank(path)) == ["s"]


def test_windows_in_order_open_the_file_once(five):
    with patch.object(treebank_index, "bookmarked_sentences", wraps=conllu_file.bookmarked_sentences) as opened:
        assert len(list(index_windows(five))) == 3
        assert opened.call_count == 1


def index_windows(bank):
    reader = lazy_items.WindowReader(bank.sentences.corpus_index)
    return [reader.read(number) for number in range(len(bank.sentences.corpus_index.windows))]


def test_a_pickled_treebank_reads_its_own_windows(five):
    packed = pickle.dumps(five)
    assert b"corpora_loaders.sentence" not in packed
    copy = pickle.loads(packed)  # noqa: S301
    assert (copy, list(copy)) == (five, list(five))


@pytest.mark.slow
def test_an_index_takes_few_bytes_per_sentence(write):
    text = "".join(sentence(1, f"the-name-of-sentence-{k}") for k in range(4 * WINDOW))
    assert len(pickle.dumps(index_treebank(write(text))[0])) / (4 * WINDOW) < 1
    again, _ = index_treebank([write(text, "a.conllu"), write(text + sentence(), "b.conllu")])
    assert len(pickle.dumps(again)) / (8 * WINDOW) < 5


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
def test_a_file_that_changes_after_it_was_indexed_is_an_error(five, change):
    change(Path(five.files[0].path))
    with pytest.raises(CorpusError, match=r"a\.conllu: the file has changed since it was indexed"):
        list(five)


def test_a_changed_file_is_noticed_while_it_is_being_read(five):
    reading = iter(five)
    next(reading)
    os.utime(five.files[0].path, ns=(1, 1))
    with pytest.raises(CorpusError, match="has changed"):
        list(reading)


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


def test_a_file_that_changes_while_it_is_indexed_is_an_error(write):
    path = write(sentence())
    reader = conllu_file.bookmarked_sentences

    def touching(path, *start):
        yield from reader(path, *start)
        os.utime(path, ns=(1, 1))

    with (
        patch.object(treebank_index, "bookmarked_sentences", touching),
        pytest.raises(CorpusError, match="has changed"),
    ):
        open_treebank(path)


def test_a_format_with_another_reader_of_trees_is_refused(write, monkeypatch):
    other = replace(formats.CONLLU, read_trees=lambda path: iter(()))
    monkeypatch.setattr(treebank_index, "format_of", lambda path: other)
    with pytest.raises(CorpusError, match="only CoNLL-U files can be indexed"):
        open_treebank(write(sentence()))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"limit": 0}, "limit"), ({"tokens": "words"}, "tokens"), ({"paths": []}, "no file")],
)
def test_impossible_requests_are_refused(write, options, message):
    with pytest.raises(ValueError, match=message):
        open_treebank(**{"paths": write(sentence()), **options})

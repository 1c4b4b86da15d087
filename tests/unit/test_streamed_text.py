"""A text that is read again from its files against the same text held in memory."""

from __future__ import annotations

import gzip
import pickle
import tempfile
import tracemalloc
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attentionology
from attentionology.analyses.contract import OptionGroup
from attentionology.analyses.surface.options import SurfaceOptions
from attentionology.corpora_loaders import (
    PlainText,
    load_text,
    stream,
)
from attentionology.engine.corpus import CorpusOptions, read_corpus
from attentionology.extractors import make_segments
from tests import tiny
from tests.unit.test_streamed_treebank import in_files


def check_same(paths, limit=None):
    """Compare a text in its files with one in memory, also paragraph by paragraph from its end."""
    with patch.object(stream, "HELD", 10**9):
        held = load_text(paths, limit=limit)
    lazy = load_text(paths, limit=limit)
    made = PlainText(tuple(held), held.files)
    assert list(lazy) == list(held)
    assert [lazy[position] for position in range(len(lazy) - 1, -1, -1)] == list(held)[::-1]
    assert list(lazy[1:-1]) == list(held)[1:-1]
    assert (lazy.counts(), lazy.relations, repr(lazy)) == (made.counts(), made.relations, repr(made))
    assert lazy.documents() == made.documents() == list(lazy.each_document()) == list(made.each_document())
    assert pickle.loads(pickle.dumps(lazy)) == lazy == held  # noqa: S301


LINES = st.lists(st.sampled_from(["one", "two  three", "", " ", "caf\u00e9 \u2028 x", "a\tb\r"]), max_size=12)


@settings(max_examples=100, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=3), st.integers(1, 4), st.none() | st.integers(1, 9))
def test_everything_is_the_same(contents, size, limit):
    with tempfile.TemporaryDirectory() as folder, in_files(size):
        paths = [Path(folder, f"{number}.txt") for number in range(len(contents))]
        for number, (path, lines) in enumerate(zip(paths, contents, strict=True)):
            content = "\n".join([*lines, str(number)]).encode()  # so that no two files are the same
            path.write_bytes(gzip.compress(content) if number == 1 else content)
        check_same(paths, limit)


@pytest.mark.parametrize("count", [None, 3])
def test_segments_are_those_of_a_loaded_text(count, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("the man saw the dog\nthe dog saw\n\nthe man and the garden\n\nthe end of the day\n" * 3)
    encoder = tiny.encoder()
    loaded = make_segments(encoder, load_text(path), count, max_length=8)
    with in_files(2):
        lazy = make_segments(encoder, load_text(path), count, max_length=8)
    assert lazy == loaded
    assert lazy.text_documents == 7


def test_a_run_has_the_results_of_a_loaded_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"the dog {'and the man ' * (k % 4)}saw\n{chr(10) * (k % 3 == 0)}" for k in range(20)))
    files = CorpusOptions(text=(str(path),))
    options: list[OptionGroup] = [files, SurfaceOptions(gradients="none")]
    encoder = tiny.encoder()
    with in_files(4):
        assert isinstance(read_corpus(files), PlainText)
        lazy = attentionology.analyze(encoder, analyses=("surface",), options=options)
    loaded = attentionology.analyze(encoder, load_text(path), analyses=("surface",), options=options[1:])
    assert lazy.record["corpus"] == loaded.record["corpus"]
    assert lazy.record["sentences"] == loaded.record["sentences"]
    assert lazy["surface"].tables.heads.equals(loaded["surface"].tables.heads)


def test_memory_does_not_grow_with_the_text(tmp_path):
    def peak(paragraphs: int) -> int:
        path = tmp_path / f"{paragraphs}.txt"
        path.write_text("".join(f"The dog of paragraph {number} sleeps.\n" for number in range(paragraphs)))
        tracemalloc.start()
        text = load_text(path)
        assert sum(map(len, text)) == text.counts()["words"]
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    with in_files(64):
        assert peak(6400) - peak(1600) < 4800 * 12  # bytes for each paragraph

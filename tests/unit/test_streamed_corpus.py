"""A run over a treebank that stays in its files: the same results as from one in memory, in bounded memory."""

import tracemalloc
from unittest.mock import patch

import pandas as pd
import pytest

import attentionology
from attentionology.analyses.contract import OptionGroup
from attentionology.analyses.shared.input_options import LimitOptions
from attentionology.analyses.surface.options import SurfaceOptions
from attentionology.corpora_loaders import Treebank, load_treebank
from attentionology.corpora_loaders.unique_names import Names
from attentionology.engine.corpus import CorpusOptions, read_corpus
from attentionology.engine.passes import Limits, plan_passes, run_passes
from tests import tiny
from tests.unit.test_engine import request
from tests.unit.test_streamed_treebank import in_files, sentence


@pytest.fixture(scope="module")
def encoder():
    return tiny.encoder(max_position_embeddings=200)


@pytest.fixture
def path(tmp_path):
    written = tmp_path / "a.conllu"
    written.write_text("".join(sentence(2 + k % 5, "same", head="_" if k % 3 else None) for k in range(20)))
    return written


@pytest.mark.parametrize("max_length", [None, 12], ids=["nothing skipped", "some skipped"])
def test_a_run_has_the_results_of_a_loaded_treebank(encoder, path, max_length):
    options: list[OptionGroup] = [LimitOptions(max_length=max_length), SurfaceOptions(gradients="none")]
    with in_files(4):
        lazy = attentionology.analyze(encoder, path, analyses=("dependency", "surface"), options=options)
    loaded = attentionology.analyze(encoder, load_treebank(path), analyses=("dependency", "surface"), options=options)
    assert lazy.record["corpus"] == loaded.record["corpus"]
    assert lazy.record["sentences"] == loaded.record["sentences"]
    assert bool(lazy.record["sentences"]["skipped"]) == (max_length is not None)
    assert 0 < lazy.record["sentences"]["words_without_head"] <= 13
    pd.testing.assert_frame_equal(lazy["dependency"].best, loaded["dependency"].best)


def test_treebanks_are_read_by_the_options(path):
    treebank = read_corpus(CorpusOptions(corpus=(str(path),), limit=7))
    assert isinstance(treebank, Treebank)
    assert [read.id for read in treebank[5:]] == ["same#6", "same#7"]


def test_a_slice_is_analyzed_as_a_limited_treebank(encoder, path):
    with in_files(4):
        sliced = attentionology.analyze(encoder, load_treebank(path)[:7], analyses="dependency")
        limited = attentionology.analyze(encoder, load_treebank(path, limit=7), analyses="dependency")
    assert [file["sentences"] for file in sliced.record["corpus"]["files"]] == [7]
    for key in ("files", "relations"):
        assert sliced.record["corpus"][key] == limited.record["corpus"][key]
    pd.testing.assert_frame_equal(sliced["dependency"].best, limited["dependency"].best)


def test_requests_share_a_pass_over_one_treebank(path):
    treebank = load_treebank(path)
    requests = [request("a", treebank), request("b", load_treebank(path)), request("c", treebank[:2])]
    passes = plan_passes([*requests, request("a", treebank)])
    assert [[planned.name for planned in group.requests] for group in passes] == [["a", "b"], ["c"]]


def test_skipped_inputs_are_kept_without_their_words(encoder, path):
    counts = run_passes(plan_passes([request("a", load_treebank(path))]), encoder, limits=Limits(max_length=12))
    [log] = counts.logs.values()
    first = log.skipped[0].sentence
    assert (first.words, first.heads, first.relations) == ((), (), ())
    assert (first.id, first.line, first.file) in {(read.id, read.line, read.file) for read in load_treebank(path)}


def peak(path) -> int:
    """The peak of the memory that indexing and two passes allocate, in bytes."""
    tracemalloc.start()
    treebank = load_treebank(path)
    for _ in range(2):
        words = sum(map(len, treebank))
    assert words == treebank.counts()["words"]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.slow
def test_memory_does_not_grow_with_the_treebank(tmp_path):
    text = [sentence(5, f"s{k}", form=f"w{k}") for k in range(4000)]
    short, long = tmp_path / "short.conllu", tmp_path / "long.conllu"
    short.write_text("".join(text[:1000]))
    long.write_text("".join(text))
    with in_files(64), patch.object(Names, "MOST_NEW", 512):
        peak(short)  # what is allocated only once
        assert peak(long) - peak(short) < 3000 * 150, "bytes; a loaded sentence would take about 1,800"

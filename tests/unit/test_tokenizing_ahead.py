"""On a GPU, the next sentences are tokenized while the model reads, and nothing else changes."""

import itertools
import threading

import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import ExtractionError, ExtractionLog
from attentionology.extractors.maps import batching
from tests import tiny

LENGTHS = (2, 5, 3, 1, 4, 4, 6, 2, 30, 1, 3)
SENTENCES = [Sentence(f"s{i}", ("cats",) * n, file="f", line=i) for i, n in enumerate(LENGTHS)]
WINDOW = 3


class Reader:
    """Tokenizes as an encoder does, and remembers the threads in which it did, by the first sentence."""

    def __init__(self, device):
        self.encoder, self.threads, self.device = tiny.encoder("bert"), {}, torch.device(device)
        self.max_length, self.batching, self.done = 20, "padded", threading.Semaphore(0)

    def align(self, window):
        self.threads[window[0].id] = threading.current_thread()
        aligned = self.encoder.align(window)
        self.done.release()
        return aligned


@pytest.fixture(params=["cpu", "cuda"])
def reader(request, monkeypatch):
    monkeypatch.setattr(batching, "WINDOW", WINDOW)
    return Reader(request.param)


def planned(reader, inputs, log=None, too_long="skip"):
    options = {"batch_cells": 100, "too_long": too_long, "max_length": None, "log": log}
    for sentences, pieces, indices in batching.plan(reader, inputs, 1000, **options):
        yield [s.id for s in sentences], [p.ids for p in pieces], indices


def test_batches_and_log_are_those_of_a_cpu(reader):
    log = ExtractionLog()
    before = threading.active_count()
    found = list(planned(reader, iter(SENTENCES), log))
    assert threading.active_count() == before
    assert [i for _, _, indices in found for i in indices] == [1, 2, 0, 4, 5, 3, 6, 7, 10, 9]
    assert [name for names, _, _ in found for name in names] == [f"s{i}" for _, _, of in found for i in of]
    for _, ids, indices in found:
        assert ids == [p.ids for p in reader.encoder.align([SENTENCES[i] for i in indices])]
    assert (log.read, [skipped.sentence.id for skipped in log.skipped]) == (10, ["s8"])
    assert list(planned(reader, iter([]))) == []


def test_the_next_window_is_tokenized_while_a_batch_is_used(reader):
    drawn = []

    def stream():
        for sentence in SENTENCES:
            drawn.append(sentence.id)
            yield sentence

    batches = planned(reader, stream())
    next(batches)
    is_ahead = reader.device.type == "cuda"
    assert reader.done.acquire(timeout=60)
    assert reader.done.acquire(timeout=60 if is_ahead else 0) == is_ahead
    assert len(drawn) == WINDOW * (2 if is_ahead else 1)
    batches.close()
    assert list(reader.threads) == (["s0", "s3"] if is_ahead else ["s0"])
    assert (threading.main_thread() in reader.threads.values()) != is_ahead
    assert not any(thread.is_alive() for thread in reader.threads.values() if thread != threading.main_thread())


@pytest.mark.parametrize("fault", ["stream", "align", "too long"])
def test_an_error_comes_after_the_batches_before_it(reader, fault):
    found = []

    def stream():
        yield from SENTENCES[:7]
        if fault == "stream":
            raise KeyError("in the corpus")
        yield from SENTENCES[7:]

    def align(window, align=reader.align):
        if fault == "align" and window[0].id == "s6":
            raise RuntimeError("in the tokenizer")
        return align(window)

    reader.align = align
    before = threading.active_count()
    expected = {"stream": KeyError, "align": RuntimeError, "too long": ExtractionError}[fault]
    with pytest.raises(expected, match=r"in the corpus|in the tokenizer|f:8: sentence 's8': too long"):
        found.extend(names for names, _, _ in planned(reader, stream(), too_long="error"))
    assert sorted(itertools.chain(*found)) == ["s0", "s1", "s2", "s3", "s4", "s5"]
    assert threading.active_count() == before


def test_an_interrupted_reader_leaves_no_thread(reader):
    before = threading.active_count()
    batches = planned(reader, iter(SENTENCES))
    next(batches)
    with pytest.raises(KeyboardInterrupt):
        batches.throw(KeyboardInterrupt)
    assert threading.active_count() == before

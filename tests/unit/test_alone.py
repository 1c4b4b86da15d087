"""Sentences that are read alone: each in one thread, and with modules that no other thread changes."""

from __future__ import annotations

import threading

import pytest
import torch

from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import shared_batches
from attentionology.extractors.maps.alone import each_alone
from tests import tiny


@pytest.fixture
def batch():
    short = [sentence for sentence in load_treebank(SAMPLE_TREEBANK) if len(sentence.words) <= 14][:6]
    (batch,) = shared_batches(tiny.encoder("bert"), short, batch_cells=10**9)
    return batch


@pytest.fixture(params=[1, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_each_sentence_is_read_in_one_thread_and_without_padding(batch, threads):
    def work(alone, model):
        assert torch.get_num_threads() == 1
        (pieces,) = alone.pieces
        return alone.sentences[0].id, len(pieces), alone.encoder.pad(alone.pieces)[0].shape[1]

    found = each_alone(batch, batch.encoder.model, work)
    assert [id_ for id_, _, _ in found] == [sentence.id for sentence in batch.sentences]
    assert all(n == padded for _, n, padded in found)
    assert len({n for _, n, _ in found}) > 1
    assert torch.get_num_threads() == threads


def test_threads_change_modules_of_their_own_and_share_parameters(batch, threads):
    """Hooks of three threads at once see the calls of their own thread alone."""
    model, together = batch.encoder.model, threading.Barrier(threads)
    parameters = [parameter.data_ptr() for parameter in model.parameters()]

    def work(alone, own):
        calls = []
        together.wait(30)  # six sentences are a multiple of the threads
        with own.get_input_embeddings().register_forward_hook(lambda *_: calls.append(threading.get_ident())):
            together.wait(30)
            with torch.inference_mode():
                own(input_ids=alone.encoder.pad(alone.pieces)[0])
            together.wait(30)
        assert calls == [threading.get_ident()]
        assert [parameter.data_ptr() for parameter in own.parameters()] == parameters
        return id(own)

    assert len(set(each_alone(batch, model, work))) == threads


def test_the_error_of_a_sentence_is_that_of_the_batch(batch, threads):
    def work(alone, model):
        raise ZeroDivisionError(alone.sentences[0].id)

    with pytest.raises(ZeroDivisionError, match=batch.sentences[0].id):
        each_alone(batch, batch.encoder.model, work)
    assert torch.get_num_threads() == threads

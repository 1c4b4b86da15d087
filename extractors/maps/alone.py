"""Sentences that are read alone, where the last digit of what is computed of them matters.

A product of matrices adds up in an order that depends on the number of rows and of threads, and on the machine. So a
sentence that shares a padded batch with others, or a machine with fewer cores, may get other last digits. Decisions are
not affected, because close ones are made again in float64, but sums of real numbers are. Here, the shapes of all
products follow from the sentence alone, and one thread computes it; the threads of a CPU take different sentences.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

import torch

from ..threads import one_thread
from .shared_pass import SharedBatch

T = TypeVar("T")


def each_alone(batch: SharedBatch, model: Any, work: Callable[[SharedBatch, Any], T]) -> list[T]:
    """Return what ``work`` makes of each sentence of a batch, in their order.

    Args:
        batch: the sentences.
        model: the model that reads them, which may be another one than that of the batch.
        work: a function of a batch of one sentence, and of the model or a copy of it with the same parameters, whose
            modules it may change while it runs.
    """
    sentences = list(_sentences(batch))
    on_cpu = batch.encoder.device.type == "cpu"
    n_threads = min(torch.get_num_threads(), len(sentences)) if on_cpu else 1
    with one_thread():
        if n_threads == 1:
            return [work(alone, model) for alone in sentences]
        models: SimpleQueue[Any] = SimpleQueue()
        for _ in range(n_threads):
            models.put(_with_own_modules(model))

        def work_with_own_model(alone: SharedBatch) -> T:
            own = models.get()
            try:
                return work(alone, own)
            finally:
                models.put(own)

        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(work_with_own_model, sentences))


def _sentences(batch: SharedBatch) -> Iterator[SharedBatch]:
    """Yield each sentence as a batch of its own, without padding."""
    for sentence, pieces in zip(batch.sentences, batch.pieces, strict=True):
        yield SharedBatch(batch.encoder, (sentence,), [pieces])


def _with_own_modules(model: Any) -> Any:
    """Make a copy of a model that shares all of its tensors, so that it takes hardly any memory."""
    held, *_ = getattr(model, "view_of", (model,))
    tensors = (tensor for part in (model, held) for tensor in (*part.parameters(), *part.buffers()))
    return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})  # what it finds here, it does not copy

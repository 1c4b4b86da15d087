"""What counting asks of a GPU for each batch is below the goals, and what the counter of it counts is right."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import torch

from attentionology.analyses.surface.statistics import SurfaceStatistics
from attentionology.extractors import ModelError, deferred, extract
from attentionology.extractors.deferred import check_at_most, read_together, use_values
from benchmarks.dependency import corpus
from benchmarks.engine import counted
from benchmarks.operations import forward_passes, is_marked, mark, work_of
from tests import tiny


@pytest.fixture(scope="module")
def encoder():
    return tiny.encoder("bert")


def test_three_analyses_launch_few_operations_and_seldom_wait(encoder):
    """Two of them wait once for each batch, the model itself waits once, and surface waits for all batches together."""
    sentences = corpus([], 60)
    with work_of(encoder) as plain:
        forward_passes(encoder, sentences)
    with work_of(encoder) as work:
        counted(encoder, sentences)
    assert plain.batches == work.batches == 1
    assert plain.operations.total() > 20
    assert work.operations.total() - plain.operations.total() <= 500
    where = {line.split(":")[0] for line, number in work.waits.items() if number}
    of_batch = {"dependency/decisions.py", "clusters/distances.py"}
    of_pass = {"counting/outcomes.py", "extractors/deferred.py"}
    in_doubt = {"maps/map_maker.py"}  # of sentences that are computed again in float64
    short = {"/".join(line.split("/")[-2:]) for line in where}
    assert of_batch <= short <= of_batch | of_pass | in_doubt | {"the model"}
    by_file = {name: sum(n for line, n in work.waits.items() if name in line) for name in of_batch}
    assert by_file == dict.fromkeys(of_batch, 1)
    assert work.sent.total() <= 25
    assert not work.mixed.total()


def test_norms_of_contributions_are_not_computed_in_small_blocks(encoder):
    sentences = corpus([], 60)
    with work_of(encoder) as work:
        counted(encoder, sentences, ("dependency",), ("attn",))
    blocks = sum(n for line, n in work.operations.items() if "layers/contributions.py" in line)
    assert 0 < blocks <= 25 * encoder.n_layers * work.batches
    assert not work.mixed.total()


@pytest.mark.parametrize("kind", ["alti", "atbff", "value-zeroing"])
def test_vectors_of_all_sentences_are_formed_together(encoder, kind):
    """And no part of it waits but for the lengths of the sentences, and for the check of the slopes."""
    with work_of(encoder) as work:
        for _ in extract(encoder, corpus([], 60), kind=kind):
            pass
    ours = {name: sum(n for line, n in work.operations.items() if name in line) for name in ("/kinds/", "/layers/")}
    assert 0 < ours["/kinds/"] <= 80 * encoder.n_layers * work.batches
    assert 0 < ours["/layers/"] <= 300 * encoder.n_layers * work.batches
    waits = sum(n for line, n in work.waits.items() if "/layers/" in line or "/kinds/" in line)
    assert waits <= 12 * encoder.n_layers * work.batches
    assert not work.mixed.total()


@pytest.fixture
def marked(encoder):
    """Return a tensor on the device, and the work on it."""
    with work_of(encoder) as work:
        yield mark(torch.arange(4.0)), work


@pytest.mark.parametrize(
    ("do", "operations", "waits", "sent"),
    [
        (lambda x: x + 1, 1, 0, 0),
        (lambda x: x[1:3], 0, 0, 0),  # a view
        (lambda x: float(x.sum()), 1, 1, 0),
        (lambda x: bool((x > 1).any()), 2, 1, 0),
        (lambda x: x.cpu() + 1, 0, 1, 0),
        (lambda x: np.asarray(x), 0, 1, 0),
        (lambda x: (x * 2).tolist(), 1, 1, 0),
        (lambda x: x[[0, 2]], 1, 0, 1),
        (lambda x: x[torch.tensor([0, 2])], 1, 0, 1),
        (lambda x: x[torch.tensor([0, 2]).to(x.device)], 1, 0, 1),
        (lambda x: x[x > 1], 2, 1, 0),
        (lambda x: torch.nonzero(x), 1, 1, 0),
        (lambda x: torch.ones(2, device=x.device), 1, 0, 0),
        (lambda x: torch.tensor([1.0, 2.0], device=x.device), 0, 0, 1),
        (lambda x: torch.ones(4).to(x), 0, 0, 1),
        (lambda x: torch.zeros(4).copy_(x), 0, 1, 0),
    ],
)
def test_each_operation_wait_and_copy_is_counted(marked, do, operations, waits, sent):
    x, work = marked
    do(x)
    totals = work.operations.total(), work.waits.total(), work.sent.total()
    assert totals == (operations, waits, sent)
    assert not work.mixed.total()


def test_what_is_computed_from_both_sides_is_noticed(marked):
    x, work = marked
    assert x.device.type == "cuda"
    assert (x * 2).device.type == "cuda"
    assert is_marked(x.to("cpu").to(x.device))
    assert x.cpu().device.type == "cpu"
    _ = x + torch.tensor(1.0)  # a number may come from anywhere
    assert not work.mixed.total()
    _ = x + torch.ones(4)
    assert work.mixed.total() == 1


def test_checks_on_a_device_are_read_together_and_in_order(marked):
    x, work = marked
    with read_together():
        for _ in range(3):
            check_at_most(x.max(), 3, lambda value: ModelError(f"never {value}"))
        assert not work.waits.total()
    assert work.waits.total() == 1
    values = {"first": x.max(), "second": x.max(), "third": x.max() * torch.nan}
    limits = {"first": 3, "second": 2, "third": 2}
    with pytest.raises(ModelError, match="second 3"):
        check_together(values, limits)
    del values["second"]
    with pytest.raises(ModelError, match="third nan"):
        check_together(values, limits)


def check_together(values, limits, then=lambda: None):
    """Check values by name, each with its limit, and do something before the context ends."""
    with read_together():
        for name, value in values.items():
            check_at_most(
                value, limits[name], functools.partial(lambda name, value: ModelError(f"{name} {value:.0f}"), name)
            )
        then()


def test_sums_of_many_batches_are_read_once(encoder):
    short = [sentence for sentence in corpus([], 100) if len(sentence) < 15]
    made = list(extract(encoder, short, level="token", batch_cells=1000))
    assert len(made) > 3

    def count(on_device):
        metric = SurfaceStatistics(encoder.n_layers, encoder.n_heads, replicates=5)
        with read_together():
            for batch in made:
                metric.update(replace(batch, maps=mark(batch.maps.clone(), on_device)))
            assert (int(metric.inputs.max()) == 0) == on_device  # nothing is read yet
        return metric

    with work_of(encoder) as work:
        waiting = count(on_device=True)
    assert work.waits.total() == 1
    at_once = count(on_device=False)
    assert int(at_once.inputs.max()) == sum(map(len, made))
    for name, state in at_once.metric_state.items():
        assert torch.equal(waiting.metric_state[name], state), name


def test_values_are_used_in_order_and_before_too_many_wait(marked, monkeypatch):
    x, work = marked
    used = []
    monkeypatch.setattr(deferred, "_MOST_VALUES", 9)
    with read_together():
        for k in range(5):
            use_values(x[: 2 + k % 2] + k, lambda values, k=k: used.append((k, values.tolist())))
            assert len(used) == (0 if k < 3 else 4)  # 2, 3, 2 and 3 values, and then 2 more
    assert used == [(k, [float(k + i) for i in range(2 + k % 2)]) for k in range(5)]
    assert work.waits.total() == 2
    use_values(x + 1, lambda values: used.append(values.tolist()))
    assert used[-1] == [1, 2, 3, 4]


def test_values_are_not_used_after_an_error(marked):
    x, _ = marked
    used = []
    with pytest.raises(ModelError, match="large 3"):
        check_together({"large": x.max()}, {"large": 1}, lambda: use_values(x, used.append))
    assert not used


def test_checks_on_a_cpu_and_outside_are_made_at_once(marked):
    x, _ = marked
    done = []
    with pytest.raises(ModelError, match="host 2"):
        check_together({"host": torch.tensor(2.0)}, {"host": 1}, lambda: done.append(1))
    assert not done
    with pytest.raises(ModelError, match="3"):
        check_at_most(x.max(), 1, lambda value: ModelError(f"{value:.0f}"))


def test_another_error_is_not_hidden_by_checks(marked):
    def stop():
        raise KeyError

    x, _ = marked
    with pytest.raises(KeyError):
        check_together({"large": x.max()}, {"large": 1}, stop)

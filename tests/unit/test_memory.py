"""Memory and counts: what a run is expected to take, what it takes, and what is said where it is too much."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import transformers

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy, mentions_by_group
from attentionology.analyses.counting.metric import Metric
from attentionology.analyses.counting.resampling import MOST_DECISIONS, TooManyDecisionsError, check_limit
from attentionology.analyses.dependency.accuracy import DependencyAccuracy, words_by_group
from attentionology.corpora_loaders import OFFSETS, AttentionologyError
from attentionology.corpora_loaders.errors import CorpusError, out_of_memory
from attentionology.engine import estimate as estimates
from attentionology.engine.counting import memory
from attentionology.engine.surveying.dry_run import survey_lines
from attentionology.extractors import ModelError
from attentionology.scripts import cli
from tests import documents, tiny
from tests.corpora import chain
from tests.programs import REPOSITORY, Programs

LAYERS, HEADS, WORDS = 12, 8, 500
MAPS = 4 * LAYERS * HEADS * WORDS**2  # bytes of one sentence in float32


def from_torch() -> RuntimeError:
    with pytest.raises(RuntimeError) as error:
        torch.empty(2**60, dtype=torch.uint8)
    return error.value


def wrapped(reason: BaseException, *, suppress: bool = False) -> Exception:
    try:
        try:
            raise reason
        except type(reason) as error:
            if suppress:
                raise ModelError("something else") from None
            raise ModelError("what is known of this architecture does not fit") from error
    except ModelError as error:
        return error


def test_memory_that_ran_out_is_recognized_by_any_name():
    with pytest.raises(MemoryError) as of_numpy:
        np.empty(2**62, dtype=np.uint8)
    for error in (
        MemoryError(),
        of_numpy.value,
        from_torch(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libtorch.so: failed to map segment: Cannot allocate memory"),
        RuntimeError("std::bad_alloc"),
    ):
        assert out_of_memory(error) is error
        assert out_of_memory(wrapped(error)) is error
        assert out_of_memory(wrapped(error, suppress=True)) is None


def test_other_errors_are_not_about_memory():
    for error in (
        RuntimeError("shape '[2, 3]' is invalid for input of size 5"),
        OSError(errno.ENOENT, "No such file"),
        ValueError("out of memory"),
        CorpusError("cannot read 'we ran out of memory'"),
        ModelError("cannot allocate memory"),
    ):
        assert out_of_memory(error) is None


@pytest.fixture(scope="module")
def long_input(tmp_path_factory) -> tuple[Path, Path, Path]:
    """A model of many heads and few weights, a sentence of which each word is a piece, and a short one."""
    folder = tmp_path_factory.mktemp("long")
    tokenizer = tiny.fresh_tokenizer("wordpiece")
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=8 * HEADS,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=64,
        max_position_embeddings=512,
    )
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    files = []
    for words in (WORDS, 5):
        files.append(folder / f"{words}.conllu")
        files[-1].write_text(chain("a" * words), encoding="utf-8")
    return folder / "model", files[0], files[1]


class Peak(NamedTuple):
    """Most memory of a process, in bytes: what it used, and addresses that it had reserved."""

    resident: int
    virtual: int


def run(programs: Programs, *arguments: object, limit: int = resource.RLIM_INFINITY) -> tuple[int, str, Peak]:
    """The real command in a process of its own, perhaps with a limit on its addresses: status, messages, peak.

    The allocator of glibc keeps freed blocks, and the more the larger the blocks are that were freed before. Maps of
    layers would be counted twice, or not, depending on the order of blocks. With a fixed limit (M_MMAP_THRESHOLD, −3),
    blocks from 1 MB on go back to the system when they are freed, so that what counts is what the command holds.
    """
    script = (
        "import ctypes, re, resource, sys; from attentionology.scripts.cli import main\n"
        "ctypes.CDLL(None).mallopt(-3, 1 << 20)\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit})); status = main(sys.argv[1:])\n"
        "sizes = dict(re.findall(r'(Vm\\w+):\\s*(\\d+) kB', open('/proc/self/status').read()))\n"
        "print(sizes['VmHWM'], sizes['VmPeak'], file=sys.stderr); sys.exit(status)"
    )
    done = programs.run("-c", script, *arguments, folder=REPOSITORY)
    *messages, sizes = done.stderr.splitlines()
    resident, virtual = (1024 * int(size) for size in sizes.split())
    return done.returncode, "\n".join(messages), Peak(resident, virtual)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.mark.slow
@linux
def test_a_long_sentence_takes_few_copies_of_its_maps_and_that_is_told_before(long_input, programs, tmp_path):
    """In float32 one; in float64 one, of twice the size, for its close decisions; and some layers."""
    model, long, short = long_input
    arguments = ["analyze", "--model", model, "--analyses", "dependency", "--replicates", 0, "--corpus"]
    peaks = []
    for corpus in (long, short):
        status, messages, peak = run(programs, *arguments, corpus, "--out", tmp_path / corpus.stem)
        assert status == 0, messages
        peaks.append(peak)
    taken = peaks[0].resident - peaks[1].resident
    assert taken < 6 * MAPS
    told = memory.bytes_of_maps(LAYERS, HEADS, longest=WORDS + 2, batch_cells=1, batch_pieces=1)
    assert taken / 1.5 < told < taken * 1.5

    limit = peaks[1].virtual + 2 * MAPS
    status, messages, _ = run(programs, *arguments, long, "--out", tmp_path / "limited", limit=limit)
    assert status == 1
    assert messages.startswith("attentionology: ")
    assert "\n" not in messages
    assert "memory" in messages
    assert "--batch-cells" in messages
    assert [path.name for path in tmp_path.iterdir() if "limited" in path.name] == []


@linux
def test_a_bootstrap_that_will_not_fit_is_refused(long_input, tmp_path, capsys):
    model, _, short = long_input
    command = ["analyze", "--model", str(model), "--corpus", str(short), "--analyses", "dependency"]
    assert cli.main([*command, "--out", str(tmp_path / "out"), "--replicates", "10000000000"]) == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "take 16.2 TB" in message  # two relations × 203 outcomes × 4 bytes × 10¹⁰ are 16,240 GB
    assert "--replicates" in message
    assert "--batch-cells" in message
    assert not (tmp_path / "out").exists()


@linux
def test_a_shortage_of_memory_has_an_error_class_of_its_own(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10)
    memory.check_memory(4, 6, torch.device("cpu"))
    with pytest.raises(memory.MemoryShortageError, match="lower --replicates"):
        memory.check_memory(4, 7, torch.device("cpu"))


def test_what_is_available_is_bounded_by_the_limit_on_addresses():
    everything = memory.available_memory()
    assert everything is not None
    assert 2**20 < everything < 2**45
    script = "from attentionology.engine.counting.memory import available_memory; print(available_memory())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)),
        cwd=Path(__file__).parents[2],
    )
    assert 2**28 < int(done.stdout) < 2**30


RELATIONS = ["det", "nsubj", "nsubj:pass", "punct"]


def counted(words: int, *, drawn: int = 0, replicates: int = 3) -> DependencyAccuracy:
    """Counts as after `words` words of one relation, of which a replicate draws some number."""
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=replicates)
    accuracy.counts[1, 0, -1] = words
    if replicates:
        accuracy.bootstrap[1, 2, -1] = drawn or words
    return accuracy


def test_counts_that_together_pass_the_limit_do_not_merge():
    half = MOST_DECISIONS // 2
    fits = counted(half)
    fits.merge_state(counted(half))
    best = fits.compute().best
    assert dict(zip(best["relation"], best["total"], strict=True))["nsubj"] == MOST_DECISIONS
    refused = counted(half)
    with pytest.raises(TooManyDecisionsError, match=r"1,073,741,825 .*'nsubj'.*--replicates 0"):
        refused.merge_state(counted(half + 1))
    assert int(refused.counts[1, 0, -1]) == half  # the metric is as it was
    without = counted(half, replicates=0)
    without.merge_state(counted(half + 1, replicates=0))
    assert int(without.counts[1, 0, -1]) == MOST_DECISIONS + 1
    loaded = counted(0)
    loaded.load_state_dict(counted(MOST_DECISIONS + 1).metric_state)
    with pytest.raises(TooManyDecisionsError, match="nsubj"):
        loaded.compute()


def test_a_replicate_that_draws_more_than_int32_holds_is_an_error():
    """Few large documents may be drawn many times over: 800 million words three times overflow."""
    fits = counted(800_000_000, drawn=2**31 - 1)
    fits.compute()
    with pytest.raises(TooManyDecisionsError, match=r"2,147,483,648 .*'nsubj'"):
        fits.merge_state(counted(1, drawn=1))
    fits.compute()
    group, unit, hits = np.full(50, 1), np.arange(50), torch.zeros(50, 2, 2, 3, dtype=torch.bool)
    with pytest.raises(TooManyDecisionsError, match=r"2,147,483,648 .*'nsubj'"):
        fits.add_outcomes(group, unit, [f"s{k}" for k in unit], hits, np.zeros((50, len(OFFSETS)), dtype=bool))


def test_counts_past_what_float32_holds_are_exact():
    """float32 drops odd numbers from 2²⁴ on."""
    hits, none = torch.ones(1, 2, 2, 3, dtype=torch.bool), np.zeros((1, len(OFFSETS)), dtype=bool)
    alone, after = counted(0), counted(2**24, drawn=2**24)
    after.bootstrap[1] = 2**24
    for accuracy in (alone, after):
        for _ in range(3):
            accuracy.add_outcomes(np.array([1]), np.array([0]), ["s4"], hits, none)
    assert 1 in alone.bootstrap[1] // 3  # a replicate draws the sentence once
    assert torch.equal(after.bootstrap[1] - 2**24, alone.bootstrap[1])


def test_a_batch_of_many_decisions_is_counted_in_exact_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    size = 40
    arguments = (
        rng.integers(0, 4, size),
        rng.integers(0, 9, size),
        [f"s{k}" for k in range(9)],
        torch.from_numpy(rng.random((size, 2, 2, 3)) < 0.5),
        rng.random((size, len(OFFSETS))) < 0.5,
    )
    whole, in_pieces = counted(0), counted(0)
    whole.add_outcomes(*arguments)
    monkeypatch.setattr("attentionology.analyses.counting.outcomes._ROWS", 3)
    in_pieces.add_outcomes(*arguments)
    assert torch.equal(whole.bootstrap, in_pieces.bootstrap)
    assert torch.equal(whole.counts, in_pieces.counts)
    assert whole.bootstrap.dtype == torch.int32


def test_the_limit_is_known_from_the_inventory():
    relations = {"nsubj": 600_000_000, "nsubj:pass": 500_000_000, "det": 1_000_000_000}
    assert words_by_group(relations, coarse=True) == {"nsubj": 1_100_000_000, "det": 1_000_000_000}
    check_limit(words_by_group(relations), replicates=1000)
    check_limit(words_by_group(relations, coarse=True), replicates=0)
    with pytest.raises(TooManyDecisionsError, match="1,100,000,000 decisions of the group 'nsubj'") as error:
        check_limit(words_by_group(relations, coarse=True), replicates=1)
    assert isinstance(error.value, AttentionologyError)
    assert isinstance(error.value, OverflowError)


def held(metric: Metric) -> int:
    """Bytes of all states and of the zeros that they begin with, as they are stored."""
    tensors = [*(getattr(metric, name) for name in metric._defaults), *metric._defaults.values()]
    storages = [tensor.untyped_storage() for tensor in tensors if isinstance(tensor, torch.Tensor)]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


@pytest.mark.parametrize("replicates", [0, 10, 1000])
def test_the_size_of_the_counts_is_told_before_they_are_made(replicates):
    arguments: dict[str, Any] = {"relations": RELATIONS, "n_layers": 12, "n_heads": 16, "replicates": replicates}
    told = DependencyAccuracy.state_bytes(**arguments)
    assert told == held(DependencyAccuracy(**arguments))
    assert told >= 4 * len(RELATIONS) * replicates * 2 * 12 * 16
    coarse = DependencyAccuracy.state_bytes(**arguments, coarse=True)
    assert coarse == held(DependencyAccuracy(**arguments, coarse=True)) < told


def test_the_mentions_of_each_type_are_known_before_the_windows_are_read():
    text = documents.document(
        "d",
        ["Ann saw Ann .", "She left the dog , and the dog her ."],
        [(0, 1, "ann"), (2, 3, "ann"), (4, 5, "ann"), (6, 8, "dog"), (10, 12, "dog"), (12, 13, "ann")],
        xpos=["NNP VBD NNP .", "PRP VBD DT NN , CC DT NN PRP ."],
    )
    corpus = documents.corpus(text)
    assert mentions_by_group(corpus) == {"proper": 1, "pronoun": 2, "nominal": 1}
    for replicates in (0, 100):
        arguments: dict[str, Any] = {"corpus": corpus, "n_layers": 12, "n_heads": 12, "replicates": replicates}
        made = CoreferenceAccuracy(**arguments)
        assert set(mentions_by_group(corpus)) <= set(made.groups)
        assert CoreferenceAccuracy.state_bytes(**arguments) == held(made)


def test_a_dry_run_says_what_each_pass_and_all_together_take(monkeypatch):
    """No two numbers are the same, so that none can stand for another one."""
    monkeypatch.setattr(estimates, "available_memory", lambda: 15_000_000)
    sizes: Any = {"maps": 3_000_000, "states": 500_000, "disk": 20_000}
    first = estimates.PassEstimate(("dependency", "surface"), None, False, 1030, (1000, 30), **sizes)
    copy = replace(first, analyses=("dependency",), copy=1, masked=True, inputs=970, maps=4_000_000, further_passes=2.6)
    failing = estimates.PassEstimate(("norms",), None, False, 40, (40,), failure="no norms")
    of_run = estimates.RunEstimate(
        "sentences", 1050, (first, copy, failing), 7_000_000, "cuda", 8, 2, 2040, 5, 11_000_000, 9_000_000, 60_000, 80,
        follow_up_passes=1500,
    )  # fmt: skip
    told = [
        "Pass of dependency, surface: 1,030 sentences in 2 parts, 3.5 MB of memory, 20.0 kB on disk",
        "Pass of dependency, random copy 2, masked: 970 sentences in 2 parts, 4.5 MB of memory, 20.0 kB on disk, about "
        "3 more forward passes of each",
        "Pass of norms: 40 sentences in 1 part",
        "Corpus: 1,050 sentences. All passes together read 2,040.",
        "After these passes: about 1,500 more forward passes of single sentences",
        "Parts: 5, of which 2 are in the folder",
        "Model: 7.0 MB of weights, and up to 4.0 MB of maps of one batch, on cuda",
        "Memory: about 11.0 MB, of which 600.0 MB are for the libraries; 15.0 MB are available here",
        "Memory of each of 8 workers: about 9.0 MB, of which 600.0 MB are for the libraries",
        "Disk: about 60.0 kB in the results folder, and 80 B with --parts",
        "Warning: norms will fail: no norms",
        "Nothing was counted or written.",
    ]
    assert list(of_run.lines()) == told
    monkeypatch.setattr(estimates, "available_memory", lambda: None)
    plain = replace(of_run, device="cpu", counted=None, follow_up_passes=0, passes=(first,), processes=1)
    assert list(plain.lines()) == [
        told[0],
        told[3],
        "Parts: 5",
        "Model: 7.0 MB of weights, and up to 3.0 MB of maps of one batch",
        told[7].partition(";")[0],
        *told[9:10],
        told[11],
    ]
    by_cluster = list(replace(plain, processes=None).lines())
    assert by_cluster[5] == told[8].replace("each of 8 workers", "each worker")


def test_a_dry_run_of_a_survey_says_what_each_model_and_treebank_take(monkeypatch):
    monkeypatch.setattr(estimates, "available_memory", lambda: None)
    needs = {"weights": 2_000_000, "memory": 3_000_000, "disk": 40_000, "obstacle": ""}
    estimate = {
        "treebanks": [
            {"name": "long/name", "sentences": 1030, "words": 20_500, "obstacle": ""},
            {"name": "t2", "sentences": 0, "words": 0, "obstacle": "no trees"},
            {"name": "t3", "sentences": 12, "words": 345, "obstacle": ""},
        ],
        "models": [{"name": "m1", **needs}, {"name": "m2", **needs, "obstacle": "too large"}],
        "maps": ("weight", "norm"),
        "passes": 3,
        "cells": 1006,
        "failing": 4,
        "all_passes": 1700,
        "sentences": 31_260,
        "memory": 5_000_000,
        "memory_of_worker": 6_000_000,
        "processes": 2,
        "disk": 70_000,
        "left_out": {"ud:a": "no dev split", "ud:b": "no dev split"},
    }
    needed, shared = (
        [
            "Memory: about 5.0 MB, of which 600.0 MB are for the libraries",
            "Memory of each of 2 workers: about 6.0 MB, of which 600.0 MB are for the libraries",
            "Disk: about 70.0 kB with --parts, for the counts of all cells",
        ],
        "for each cell; 2 kinds of maps share each pass",
    )
    told = [
        "long/name  1,030 sentences, 20,500 words",
        "t2         no trees",
        "t3         12 sentences, 345 words",
        "Left out: ud:a, ud:b (no dev split)",
        "",
        "m1         2.0 MB of weights, 3.0 MB of memory, 40.0 kB of counts on disk",
        "m2         too large",
        "",
        "Cells: 1,006 (2 models × 3 treebanks)",
        f"Passes: 1,700, 3 passes (2 with random weights) {shared}",
        "Sentences to read: 31,260",
    ]
    assert list(survey_lines(estimate)) == [*told, *needed, "Cells that would fail: 4"]
    nothing = list(survey_lines({**estimate, "passes": 1, "memory": 0, "failing": 0}))
    assert nothing == [*told[:9], f"Passes: 1,700, one pass {shared}", told[10]]

"""Memory: what a run is expected to take, what it takes, and what is said where there is not enough."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
import transformers

from attentionology.corpora_loaders.errors import CorpusError, out_of_memory
from attentionology.engine import memory
from attentionology.extractors import ModelError
from attentionology.scripts import cli
from attentionology.scripts.analyze import Analyze
from attentionology.scripts.doctor import Doctor
from attentionology.scripts.explain import Explain
from tests import tiny
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


def test_memory_that_ran_out_is_recognised_by_any_name():
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


@pytest.mark.parametrize(
    ("command", "named", "not_named"),
    [
        (Analyze(), ["--batch-cells", "--replicates", "--max-length"], ["--sentences"]),
        (Explain(), ["--max-words", "--replicates"], ["--batch-cells"]),
        (Doctor(), ["--sentences"], ["--replicates"]),
    ],
)
def test_every_command_names_its_own_options(monkeypatch, capsys, command, named, not_named):
    def fail(self, arguments=()):
        raise wrapped(from_torch())

    monkeypatch.setattr(type(command), "run", fail)
    assert cli.main([type(command).__name__.lower()]) == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "1152921504606846976 bytes" in message
    assert all(option in message for option in named)
    assert not any(option in message for option in not_named)


def test_other_runtime_errors_keep_their_traceback(monkeypatch):
    def fail(self, arguments=()):
        raise RuntimeError("a mistake in the program")

    monkeypatch.setattr(Analyze, "run", fail)
    with pytest.raises(RuntimeError, match="a mistake in the program"):
        cli.main(["analyze"])


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
        heads = [0, *range(1, words)]
        lines = [f"{i}\ta\t_\t_\t_\t_\t{h}\t{'dep' if h else 'root'}\t_\t_" for i, h in enumerate(heads, start=1)]
        files.append(folder / f"{words}.conllu")
        files[-1].write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return folder / "model", files[0], files[1]


class Peak(NamedTuple):
    """Most memory of a process, in bytes: what it used, and addresses that it had reserved."""

    resident: int
    virtual: int


def run(programs: Programs, *arguments: object, limit: int = resource.RLIM_INFINITY) -> tuple[int, str, Peak]:
    """The real command in a process of its own, perhaps with a limit on its addresses: status, messages, peak."""
    script = (
        "import re, resource, sys; from attentionology.scripts.cli import main\n"
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
    told = memory.bytes_of_maps((LAYERS, HEADS), longest=WORDS + 2, batch_cells=1)
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
def test_what_is_available_is_bounded_by_the_limit_on_addresses():
    everything = memory.available_memory()
    assert everything is not None
    assert 2**20 < everything < 2**45
    script = "from attentionology.engine.memory import available_memory; print(available_memory())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)),
        cwd=Path(__file__).parents[2],
    )
    assert 2**28 < int(done.stdout) < 2**30

"""On a GPU, every count is what it is on the CPU, and every other number agrees within what float32 can tell.

Skipped where PyTorch finds no GPU. Decisions that are close in float32 are made again in float64 on both devices, so
counts have no tolerance.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import Encoder, ModelError, extract, list_kinds
from attentionology.scripts.cli import main
from tests import tiny

DEVICE = "cuda"
FAMILIES = ("bert", "albert", "deberta-v2", "modernbert", "gpt2", *tiny.DECODERS)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")


@pytest.fixture(scope="module")
def sentences():
    return load_treebank(SAMPLE_TREEBANK, limit=30)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A tiny BERT with a masked-language-model head, in a folder."""
    # Effects of ablation are those on masked pieces.
    folder = tiny.save(tmp_path_factory.mktemp("model"), mask="[MASK]", max_position_embeddings=128)
    torch.manual_seed(1)
    transformers.BertForMaskedLM(transformers.AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    return folder


def on_device(family: str, device: str) -> Encoder:
    """A tiny model with random biases and norms, on a device."""
    plain = tiny.randomize(family)
    return Encoder(plain.model.to(device), plain.tokenizer, plain.name)


@pytest.mark.parametrize("family", FAMILIES)
def test_maps_and_counts_of_every_kind(family, sentences):
    on_cpu, on_gpu = on_device(family, "cpu"), on_device(family, DEVICE)
    assert on_gpu.device.type == DEVICE
    made = 0
    for kind in list_kinds():
        try:
            expected, got = ([*extract(encoder, sentences, kind=kind)] for encoder in (on_cpu, on_gpu))
        except ModelError:
            continue  # a kind that the family cannot have
        made += 1
        maps = [{s.id: m for batch in batches for s, m in batch.unpadded()} for batches in (expected, got)]
        assert maps[0].keys() == maps[1].keys()
        for name, array in maps[0].items():
            largest = np.abs(array).max()
            assert np.abs(array - maps[1][name]).max() < 1e-4 * largest, (kind, name)
        assert torch.equal(counts(expected, sentences), counts(got, sentences)), kind
    assert made >= 5


def counts(batches: list[Any], sentences: Any) -> torch.Tensor:
    """How often each head finds each relation."""
    accuracy = DependencyAccuracy(sentences.relations, *batches[0].maps.shape[1:3], replicates=0)
    for batch in batches:
        accuracy.update(batch)
    return accuracy.counts.cpu()


COMMANDS = {
    "all analyses": "analyze --analyses dependency,surface,clusters,norms,coreference --gradients hidden",
    "kinds": "analyze --map weight norm attnresln rollout --failures best --ensembles 2 --limit 40",
    "word level": "analyze --level word --map norm --merge vector --control random-init --limit 40",
    "ablation": "analyze --analyses ablation,dependency --model MODEL --limit 20 --replicates 20",
    "probe": "probe --limit 40 --folds 2 --seeds 1",
    "align": "align",
    "survey": "survey --models MODEL --treebanks sample --limit 30",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_tables_of_commands(command, model, tmp_path):
    on_cpu, on_gpu = (
        run(command, model, device, tmp_path / name) for device, name in (("cpu", "cpu"), (DEVICE, "gpu"))
    )
    assert compare_tables(on_cpu, on_gpu) > 0


def test_two_workers_on_gpus_give_the_tables_of_one_process(model, tmp_path):
    command = "analyze --analyses dependency,surface --model MODEL --limit 40"
    alone, shared = (
        run(command + extra, model, DEVICE, tmp_path / name)
        for name, extra in (("alone", ""), ("shared", " --workers 2"))
    )
    assert compare_tables(alone, shared, exact=True) > 0


def run(command: str, model: str, device: str, out: Path) -> Path:
    """Run a command on a device; return the folder of its tables."""
    words = [model if word == "MODEL" else word for word in command.split()]
    assert main([*words, "--device", device, "--out", str(out)]) == 0
    return out / "tables"


def compare_tables(expected: Path, got: Path, *, exact: bool = False) -> int:
    """Check that two folders hold the same tables; return how many."""
    names = sorted(path.name for path in expected.glob("*.csv"))
    assert names == sorted(path.name for path in got.glob("*.csv"))
    for name in names:
        on_cpu, on_gpu = (pd.read_csv(folder / name) for folder in (expected, got))
        tolerance = {"check_exact": True} if exact else {"rtol": 2e-3, "atol": 1e-4}
        pd.testing.assert_frame_equal(on_cpu, on_gpu, obj=name, **tolerance)
    return len(names)

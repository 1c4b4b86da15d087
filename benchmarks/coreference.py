"""What the coreference analysis costs, measured against the plain forward pass in one run.

    python -m benchmarks.coreference [--corpus FILE ...] [--rounds 3]

Documents are read to their ends, in windows of 128 pieces that start 126 apart, and in windows of 512 that start 256
apart.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.decisions import choices
from attentionology.corpora_loaders.documents import Documents, load_documents
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import Encoder, ExtractionLog, Windows, extract, make_windows
from attentionology.extractors.model.named import load_encoder
from benchmarks.dependency import DATA, forward_only
from benchmarks.measuring import peak_memory, ratio, take_turns

SHAPES = {"128 pieces": (128, 126, None), "512 pieces": (512, 256, 8)}
"""The length and stride of windows, and the number of documents that are read; None for all of them."""


def corpus(files: list[str], limit: int | None) -> Documents:
    """Load the files, or OntoGUM if it is there, or else the sample treebank."""
    ontogum = DATA.parent / "coref" / "ontogum_dev.v4_gold_conll"
    return load_documents(files or [str(ontogum if ontogum.exists() else SAMPLE_TREEBANK)], limit=limit)


def forward(encoder: Encoder, windows: Windows) -> None:
    """Tokenize, make batches, and run the model without asking for anything."""
    forward_only(encoder, list(windows))


def maps_only(encoder: Encoder, windows: Windows) -> None:
    """Make the word maps and drop them."""
    for _ in extract(encoder, windows, log=ExtractionLog()):
        pass


def coreference(encoder: Encoder, windows: Windows) -> None:
    """Run the whole analysis with 1,000 bootstrap replicates and all choices of candidates, up to the tables."""
    accuracy = CoreferenceAccuracy(windows.corpus, encoder.n_layers, encoder.n_heads)
    for batch in extract(encoder, windows, log=ExtractionLog()):
        accuracy.update(batch)
    accuracy.compute()


def naive(encoder: Encoder, windows: Windows) -> None:
    """Decide one mention and one head at a time, among preceding mentions only, without baselines and bootstrap."""
    right: Counter[tuple[int, int, int]] = Counter()
    for window in windows.sentences:
        [batch] = extract(encoder, [window], log=ExtractionLog())
        [(_, maps)] = batch.unpadded()
        for choice in choices(window):
            mention, candidates = choice.head - window.start + 1, np.array(sorted(choice.heads)) - window.start + 1
            for layer in range(encoder.n_layers):
                for head in range(encoder.n_heads):
                    for direction, view in enumerate((maps[layer, head], maps[layer, head].T)):
                        best = candidates[view[mention, candidates].argmax()]
                        right[layer, head, direction] += best + window.start - 1 in choice.gold


CONTESTANTS: dict[str, Callable[[Encoder, Windows], None]] = {
    "forward pass, eager": forward,
    "word maps": maps_only,
    "coreference analysis": coreference,
    "naive numpy": naive,
}


def measure(files: list[str], rounds: int) -> None:
    """Print a table of times and peak memory for each shape of windows."""
    console = Console(width=110)
    encoder = load_encoder("demo")
    for name, (length, stride, limit) in SHAPES.items():
        windows = make_windows(encoder, corpus(files, limit), length=length, stride=stride)
        contestants = {label: partial(run, encoder, windows) for label, run in CONTESTANTS.items()}
        seconds = take_turns(contestants, rounds)
        base = seconds["forward pass, eager"]
        title = f"{len(windows)} windows of {name}, {rounds} rounds, {torch.get_num_threads()} threads"
        table = Table(title=title)
        for column in ("", "median s", "× eager forward", "peak MB"):
            table.add_column(column, justify="right" if column else "left")
        for label, measured in seconds.items():
            command = [sys.executable, "-m", "benchmarks.coreference", "--child", label, "--shape", name]
            done = subprocess.run([*command, "--corpus", *files], capture_output=True, text=True, check=True)
            peak = float(json.loads(done.stdout))
            table.add_row(label, f"{statistics.median(measured):.2f}", f"{ratio(measured, base):.2f}", f"{peak:.0f}")
        console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--shape", choices=SHAPES, default="128 pieces", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        encoder = load_encoder("demo")
        length, stride, limit = SHAPES[options.shape]
        documents = corpus(options.corpus, limit)
        CONTESTANTS[options.child](encoder, make_windows(encoder, documents, length=length, stride=stride))
        print(peak_memory())
    else:
        measure(options.corpus, options.rounds)


if __name__ == "__main__":
    main()

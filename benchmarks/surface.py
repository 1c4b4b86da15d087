"""What the analyses of surface patterns and of clusters of heads cost, in one run with the plain forward pass.

    python -m benchmarks.surface [--segments 100] [--rounds 3]

Inputs are 300 sentences of a treebank, and segments of 128 pieces. The divergences between heads are compared with two
naive loops in float32 numpy: head by head, and pair by pair like the published code. Times are medians over rounds in
which the contestants take turns, ratios medians of the ratios within a round. Peak memory is that of a fresh process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from attentionology.analyses.clusters.distances import HeadDistances
from attentionology.analyses.surface.gradients import GradientImportance
from attentionology.analyses.surface.statistics import SurfaceStatistics
from attentionology.corpora_loaders import PlainText, Sentence, load_text, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import Encoder, ExtractionLog, GradientMaker, extract, extract_many, make_segments
from attentionology.extractors.model.named import load_encoder
from benchmarks.dependency import DATA, corpus, forward_only
from benchmarks.measuring import peak_memory, ratio, take_turns

TEXT = DATA.parent / "text" / "wiki_valid_paragraphs.txt"
CONSOLE = Console(width=110)


def segments(encoder: Encoder, n: int) -> list[Sentence]:
    """Return n segments of 128 pieces, which repeat if the text has fewer."""
    text = load_text(TEXT) if TEXT.exists() else PlainText(load_treebank(SAMPLE_TREEBANK).sentences)
    return list(islice(cycle(make_segments(encoder, text, n)), n))


def maps_only(encoder: Encoder, inputs: list[Sentence], kind: str = "weight") -> None:
    """Extract token maps and drop them."""
    for _ in extract(encoder, inputs, kind, level="token", log=ExtractionLog()):
        pass


def analyzed(encoder: Encoder, inputs: list[Sentence], *, distances: bool) -> None:
    """Extract, count, and make the tables."""
    surface = SurfaceStatistics(encoder.n_layers, encoder.n_heads)
    divergences = HeadDistances(encoder.n_layers, encoder.n_heads)
    for batch in extract(encoder, inputs, level="token", log=ExtractionLog()):
        surface.update(batch)
        if distances:
            divergences.update(batch)
    surface.compute()
    if distances:
        divergences.compute()


def gradients(encoder: Encoder, inputs: list[Sentence]) -> None:
    """Compute gradients of the distance of final hidden states, and their table."""
    importance = GradientImportance(encoder.n_layers, encoder.n_heads)
    for (batch,) in extract_many(encoder, inputs, [GradientMaker("hidden")], log=ExtractionLog()):
        importance.update(batch)
    importance.compute()


@torch.inference_mode()
def naive_surface(encoder: Encoder, inputs: list[Sentence]) -> None:
    """Count one input and one head at a time in NumPy, as the published notebook does."""
    for batch in extract(encoder, inputs, level="token", batch_cells=1, log=ExtractionLog()):
        for (_, maps), special, forms in zip(batch.unpadded(), batch.special, batch.forms, strict=True):
            n = maps.shape[-1]
            last = np.zeros((n, n))
            last[:, [i for i in range(1, n) if special[i]]] = 1
            stops = np.zeros((n, n))
            stops[:, [i for i in range(n) if forms[i] in (".", ",")]] = 1
            selectors = [np.eye(n), np.eye(n, k=1), np.eye(n, k=-1), np.eye(n)[:1].repeat(n, 0), last, last * last.T]
            for layer in maps:
                for alpha in layer:
                    for selector in (*selectors, stops):
                        (alpha * selector).sum()
                    smooth = 0.9999 * alpha + 0.0001 / n
                    (-smooth * np.log(smooth)).sum(-1).mean()


CONTESTANTS: dict[str, Callable[[Encoder, list[Sentence]], None]] = {
    "forward pass, eager": forward_only,
    "token maps, dropped": maps_only,
    "attention × gradient": partial(maps_only, kind="attention-x-gradient"),
    "surface": partial(analyzed, distances=False),
    "surface and clusters": partial(analyzed, distances=True),
    "gradients": gradients,
    "naive numpy, surface": naive_surface,
}


def naive_by_head(maps: np.ndarray) -> np.ndarray:
    """Compare all heads with one head at a time."""
    heads = maps.reshape(-1, *maps.shape[-2:])
    total = np.zeros((len(heads), len(heads)))
    for i, p in enumerate(heads):
        m = (p + heads) / 2
        total[i] = 0.5 * (p * np.log(p / m) + heads * np.log(heads / m)).sum((1, 2))
    return total


def naive_by_pair(maps: np.ndarray) -> np.ndarray:
    """Compare one head with one head at a time."""
    heads = maps.reshape(-1, *maps.shape[-2:])
    total = np.zeros((len(heads), len(heads)))
    for i, p in enumerate(heads):
        for j, q in enumerate(heads):
            m = (p + q) / 2
            total[i, j] = 0.5 * (p * np.log(p / m) + q * np.log(q / m)).sum()
    return total


def compare_distances(encoder: Encoder, inputs: list[Sentence], rounds: int) -> None:
    """Print a table of the divergences alone, on maps that were made before."""
    batches = list(extract(encoder, inputs, level="token", log=ExtractionLog()))
    maps = [array for batch in batches for _, array in batch.unpadded()]
    sums: dict[str, np.ndarray] = {}

    def ours() -> None:
        metric = HeadDistances(encoder.n_layers, encoder.n_heads)
        for batch in batches:
            metric.update(batch)
        sums["HeadDistances"] = metric.compute().sums.to_numpy()

    def naive(name: str, compare: Callable[[np.ndarray], np.ndarray]) -> None:
        sums[name] = sum((compare(array) for array in maps), np.zeros(()))

    contestants: dict[str, Callable[[], None]] = {
        "HeadDistances": ours,
        "numpy, head by head": partial(naive, "numpy, head by head", naive_by_head),
        "numpy, pair by pair": partial(naive, "numpy, pair by pair", naive_by_pair),
    }
    seconds = take_turns(contestants, rounds)
    rows = sum(array.shape[-1] for array in maps)
    table = Table(title=f"Divergences of {len(sums['HeadDistances'])} heads, {len(maps)} inputs, {rows:,} rows")
    for column in ("", "median s", "ours is faster by", "largest difference", "largest sum"):
        table.add_column(column, justify="right" if column else "left")
    for name, measured in seconds.items():
        difference = np.abs(sums[name] - sums["HeadDistances"]).max()
        faster = f"{ratio(measured, seconds['HeadDistances']):.1f} ×"
        median, largest = statistics.median(measured), sums[name].max()
        table.add_row(name, f"{median:.2f}", faster, f"{difference:.1e}", f"{largest:,.1f}")
    CONSOLE.print(table)


def compare_analyses(encoder: Encoder, inputs: list[Sentence], rounds: int, unit: str) -> None:
    """Print a table of whole analyses against the forward pass."""
    seconds = take_turns({name: partial(run, encoder, inputs) for name, run in CONTESTANTS.items()}, rounds)
    base = seconds["forward pass, eager"]
    table = Table(title=f"{len(inputs)} {unit}, {rounds} rounds, {torch.get_num_threads()} threads")
    for column in ("", "median s", "× eager forward"):
        table.add_column(column, justify="right" if column else "left")
    for name, measured in seconds.items():
        table.add_row(name, f"{statistics.median(measured):.2f}", f"{ratio(measured, base):.2f}")
    CONSOLE.print(table)


def compare_memory(n: int) -> None:
    """Print the peak memory of fresh processes with few segments and with many."""
    table = Table(title="Peak memory of a fresh process (MB)")
    for column in ("", f"{n} segments", f"{10 * n} segments"):
        table.add_column(column, justify="right" if column else "left")
    for name in (name for name in CONTESTANTS if not name.startswith("naive")):
        row = []
        for count in (n, 10 * n):
            command = [sys.executable, "-m", "benchmarks.surface", "--child", name, "--segments", str(count)]
            row.append(float(json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)))
        table.add_row(name, *(f"{mb:.0f}" for mb in row))
    CONSOLE.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", choices=CONTESTANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    encoder = load_encoder("demo")
    inputs = segments(encoder, options.segments)
    if options.child:
        CONTESTANTS[options.child](encoder, inputs)
        print(peak_memory())
        return
    compare_analyses(encoder, corpus([], 300), options.rounds, "sentences")
    compare_analyses(encoder, inputs, options.rounds, "segments")
    compare_distances(encoder, inputs, 1)
    compare_memory(options.segments)


if __name__ == "__main__":
    main()

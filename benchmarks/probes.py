"""What trained probes cost, against extracting the maps and hidden states they read, in one run.

    python -m benchmarks.probes [--corpus FILE.conllu ...] [--vectors FILE] [--sentences 3000] [--rounds 3]

Contestants take turns; ratios are medians of the ratios within a round. "maps to disk" is what a probe's first run
does once, the epochs read these maps. Peak memory is that of a fresh process for each contestant. Hidden states are
written by a second thread, so their cost is also measured in the time that all threads compute together.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from attentionology.corpora_loaders import Sentence, WordVectors, load_treebank, load_vectors
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import (
    Encoder,
    ExtractionLog,
    StoredMaps,
    extract,
    extract_states,
    store_maps,
    store_states,
)
from attentionology.probes import list_probes, make_probe
from attentionology.probes.probed_sentence import gold_heads, probed_sentences
from benchmarks.dependency import DATA, encoder_with, forward_only
from benchmarks.measuring import peak_memory, ratio, take_turns

VECTORS = DATA.parent / "glove" / "glove.6B.50d.top9163.txt.gz"


def corpus(files: list[str], n: int) -> list[Sentence]:
    """The first n sentences, over and over if there are fewer."""
    files_here = (
        [str(DATA / "en_ewt-train.conllu")] if (DATA / "en_ewt-train.conllu").exists() else [str(SAMPLE_TREEBANK)]
    )
    return list(islice(cycle(load_treebank(files or files_here, limit=n)), n))


def word_vectors(file: str | None, sentences: list[Sentence]) -> WordVectors:
    """Vectors from a file; without one, random vectors of 50 dimensions, which cost the same."""
    words = {word for s in sentences for word in s.words}
    chosen = file or (str(VECTORS) if VECTORS.exists() else None)
    if chosen:
        return load_vectors(chosen, words)
    array = np.random.default_rng(0).normal(size=(len(words), 50)).astype(np.float32)
    return WordVectors(array, {word: row for row, word in enumerate(sorted(words))})


def extract_only(encoder: Encoder, sentences: list[Sentence]) -> None:
    """Word maps made and dropped."""
    for _ in extract(encoder, sentences, log=ExtractionLog()):
        pass


def to_disk(encoder: Encoder, sentences: list[Sentence], folder: Path) -> None:
    """Word maps made and written, from nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    store_maps(encoder, sentences, folder)


def states_only(encoder: Encoder, sentences: list[Sentence]) -> None:
    """Hidden states of all layers made and dropped."""
    for _ in extract_states(encoder, sentences, log=ExtractionLog()):
        pass


def states_to_disk(encoder: Encoder, sentences: list[Sentence], folder: Path, layers: list[int] | None = None) -> None:
    """Hidden states made and written, from nothing; of all layers by default."""
    shutil.rmtree(folder, ignore_errors=True)
    store_states(encoder, sentences, folder, layers=layers)


def epoch(name: str, stored: StoredMaps, vectors: WordVectors) -> None:
    """One epoch of a probe as the command trains it."""
    make_probe(name, vectors).fit(stored)


def naive_epoch(stored: StoredMaps) -> None:
    """Attention-only in numpy: the features of all heads stacked, gradient and Adam written out."""
    k = 2 * stored.shape[0] * stored.shape[1]
    theta = np.random.default_rng(0).normal(size=k + 2).astype(np.float32) * 0.1
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    for step, example in enumerate(probed_sentences(stored), start=1):
        maps, n = example.maps.numpy(), len(example.sentence)
        both = np.concatenate([maps, maps.transpose(0, 2, 1)])
        root = theta[k] * both[:, 1:-1, 0] + theta[k + 1] * both[:, 1:-1, -1]
        features = np.concatenate([root[:, :, None], both[:, 1:-1, 1:-1]], axis=2)
        scores = np.einsum("k,kic->ic", theta[:k], features)
        wrong = np.exp(scores - scores.max(1, keepdims=True))
        wrong /= wrong.sum(1, keepdims=True)
        wrong[range(n), gold_heads(example.sentence)] -= 1
        ends = [(wrong[:, 0] * (theta[:k] @ both[:, 1:-1, end])).sum() for end in (0, -1)]
        gradient = np.concatenate([np.einsum("ic,kic->k", wrong, features), ends])
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        theta -= 0.002 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)


def contestants(
    encoder: Encoder, sentences: list[Sentence], stored: StoredMaps, vectors: WordVectors, scratch: Path
) -> dict[str, Callable[[], None]]:
    return {
        "forward pass, eager": partial(forward_only, encoder, sentences),
        "maps made and dropped": partial(extract_only, encoder, sentences),
        "maps to disk": partial(to_disk, encoder, sentences, scratch),
        "states to disk": partial(states_to_disk, encoder, sentences, scratch),
        **{f"one epoch: {name}": partial(epoch, name, stored, vectors) for name in list_probes()},
        "one epoch: attention, naive numpy": partial(naive_epoch, stored),
    }


def measure_times(sentences: list[Sentence], vectors: WordVectors, folder: Path, rounds: int) -> None:
    encoder = encoder_with("eager")
    stored = store_maps(encoder, sentences, folder / "maps")
    seconds = take_turns(contestants(encoder, sentences, stored, vectors, folder / "scratch"), rounds)
    words = sum(len(s) for s in sentences)
    table = Table(
        title=f"{len(sentences):,} sentences, {words:,} words, {rounds} rounds, {torch.get_num_threads()} threads"
    )
    for column in ("", "median s", "words/s", "× forward", "× maps made", "× maps to disk"):
        table.add_column(column, justify="right" if column else "left")
    bases = [seconds[name] for name in ("forward pass, eager", "maps made and dropped", "maps to disk")]
    for name, times in seconds.items():
        middle = statistics.median(times)
        table.add_row(name, f"{middle:.2f}", f"{words / middle:,.0f}", *(f"{ratio(times, base):.2f}" for base in bases))
    console = Console(width=110)
    console.print(table)
    console.print(f"Maps on disk: {stored.bytes / 1e6:,.0f} MB.\n")


def measure_states(sentences: list[Sentence], folder: Path, rounds: int) -> None:
    """Print what it costs to store hidden states beside the forward pass that gives them."""
    encoder = encoder_with("eager")
    runs = {
        "forward pass, eager": partial(forward_only, encoder, sentences),
        "states of all layers, made and dropped": partial(states_only, encoder, sentences),
        "states of all layers, to disk": partial(states_to_disk, encoder, sentences, folder),
        "states of layer 3, to disk": partial(states_to_disk, encoder, sentences, folder, [3]),
    }
    seconds = take_turns(runs, rounds, time.process_time)
    table = Table(title="Hidden states, in CPU time of all threads")
    for column in ("", "median s", "× forward"):
        table.add_column(column, justify="right" if column else "left")
    for name, times in seconds.items():
        table.add_row(name, f"{statistics.median(times):.2f}", f"{ratio(times, seconds['forward pass, eager']):.2f}")
    Console(width=110).print(table)


def measure_memory(options: argparse.Namespace) -> None:
    sizes = (options.sentences // 4, options.sentences)
    table = Table(title="Peak memory of a fresh process (MB; of maps on disk the part being read counts)")
    for column in ("", *(f"{n:,} sentences" for n in sizes)):
        table.add_column(column, justify="right" if column else "left")
    for name in (
        "forward pass, eager",
        "maps to disk",
        "states to disk",
        *(f"one epoch: {name}" for name in list_probes()),
    ):
        peaks = []
        for n in sizes:
            command = [sys.executable, "-m", "benchmarks.probes", "--child", name, "--sentences", str(n)]
            command += ["--corpus", *options.corpus, *(["--vectors", options.vectors] if options.vectors else [])]
            done = subprocess.run([*command], capture_output=True, text=True, check=True)
            peaks.append(float(json.loads(done.stdout)))
        table.add_row(name, *(f"{peak:,.0f}" for peak in peaks))
    Console(width=110).print(table)


def child(name: str, options: argparse.Namespace) -> float:
    """Peak memory of one contestant, for an epoch without the making of the maps."""
    sentences = corpus(options.corpus, options.sentences)
    folder = Path(tempfile.gettempdir()) / "attentionology-bench-maps"
    if name.startswith("one epoch") and not (folder / str(options.sentences)).exists():
        command = [sys.executable, "-m", "benchmarks.probes", "--child", "maps to disk"]
        command += ["--sentences", str(options.sentences), "--corpus", *options.corpus]
        subprocess.run(command, capture_output=True, check=True)
    vectors = word_vectors(options.vectors, sentences)
    if name.startswith("one epoch"):
        stored = store_maps(encoder_with("eager"), sentences, folder / str(options.sentences))
        epoch(name.removeprefix("one epoch: "), stored, vectors)
    elif name == "maps to disk":
        to_disk(encoder_with("eager"), sentences, folder / str(options.sentences))
    elif name == "states to disk":
        states_to_disk(encoder_with("eager"), sentences, folder / f"states-{options.sentences}")
    else:
        forward_only(encoder_with("eager"), sentences)
    return peak_memory()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="*", default=[])
    parser.add_argument("--vectors")
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(child(options.child, options))
        return
    sentences = corpus(options.corpus, options.sentences)
    with tempfile.TemporaryDirectory() as folder:
        measure_times(sentences, word_vectors(options.vectors, sentences), Path(folder), options.rounds)
        measure_states(sentences, Path(folder) / "states", options.rounds)
    measure_memory(options)
    shutil.rmtree(Path(tempfile.gettempdir()) / "attentionology-bench-maps", ignore_errors=True)


if __name__ == "__main__":
    main()

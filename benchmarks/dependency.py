"""What the dependency analysis costs, in time and memory, measured against the plain forward pass in one run.

    python -m benchmarks.dependency [--corpus FILE.conllu ...] [--rounds 5]

Times are medians over rounds in which the contestants take turns, ratios medians of the ratios within a round,
so that a machine that slows down slows all of them. Peak memory is that of a fresh process for each contestant.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import Encoder, ExtractionLog, extract, shared_batches
from attentionology.extractors.model.named import load_encoder
from benchmarks.large_model import WORDS, write_long_sentences
from benchmarks.measuring import peak_memory, ratio, take_turns

DATA = Path(os.environ.get("ATTENTIONOLOGY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "ud"
SENTENCES = 300
MANY = 3000


def corpus(files: list[str], n: int) -> list[Sentence]:
    """Return n sentences, which repeat the first `SENTENCES` ones, so that runs differ in size and in nothing else."""
    treebanks = [str(DATA / f"{name}-dev.conllu") for name in ("en_ewt", "en_gum")]
    paths = files or [name for name in treebanks if Path(name).exists()] or [str(SAMPLE_TREEBANK)]
    return list(islice(cycle(load_treebank(paths, limit=SENTENCES)), n))


@torch.inference_mode()
def forward_only(encoder: Encoder, sentences: list[Sentence]) -> None:
    """Tokenize, make batches, and run the model without asking for anything."""
    for batch in shared_batches(encoder, sentences):
        ids, mask = encoder.pad(batch.pieces)
        encoder.model(input_ids=ids, attention_mask=mask.long())


def dependency(encoder: Encoder, sentences: list[Sentence]) -> None:
    """Run the whole analysis with 1,000 bootstrap replicates, up to the tables."""
    relations = sorted({relation for sentence in sentences for relation in sentence.relations})
    accuracy = DependencyAccuracy(relations, encoder.n_layers, encoder.n_heads)
    for batch in extract(encoder, sentences, log=ExtractionLog()):
        accuracy.update(batch)
    accuracy.compute()


@torch.inference_mode()
def naive(encoder: Encoder, sentences: list[Sentence]) -> None:
    """Decide one sentence and one head at a time in NumPy as the published notebooks do, without a bootstrap."""
    right: Counter[tuple[str, str, int, int]] = Counter()
    for batch in shared_batches(encoder, sentences, batch_cells=1):
        [sentence], [pieces] = batch.sentences, batch.pieces
        positions = np.array(pieces.positions)
        groups = [np.flatnonzero(positions == k) for k in range(len(pieces.special))]
        for layer, attention in enumerate(encoder.forward([pieces]).attentions):
            for head in range(encoder.n_heads):
                alpha = attention[0, head].numpy()
                alpha = np.stack([alpha[:, g].sum(1) for g in groups], axis=1)
                alpha = np.stack([alpha[g].mean(0) for g in groups])
                for direction, view in (("dep->head", alpha), ("head->dep", alpha.T)):
                    words = view.copy()
                    np.fill_diagonal(words, 0)
                    predicted = words[1:-1, 1:-1].argmax(-1) + 1
                    for guess, gold, relation in zip(predicted, sentence.heads, sentence.relations, strict=True):
                        right[relation, direction, layer, head] += guess == gold


CONTESTANTS: dict[str, tuple[str, Callable[[Encoder, list[Sentence]], None]]] = {
    "forward pass, eager": ("eager", forward_only),
    "forward pass, sdpa": ("sdpa", forward_only),
    "dependency analysis": ("eager", dependency),
    "naive numpy": ("eager", naive),
}


def encoder_with(attention: str) -> Encoder:
    """Load the demo model with an implementation of attention."""
    encoder = load_encoder("demo")
    encoder.model.set_attn_implementation(attention)
    return encoder


def measure_times(sentences: list[Sentence], rounds: int) -> None:
    """Print a table of times."""
    console = Console(width=110)
    encoders = {attention: encoder_with(attention) for attention in ("eager", "sdpa")}
    contestants = {name: partial(run, encoders[attention], sentences) for name, (attention, run) in CONTESTANTS.items()}
    seconds = take_turns(contestants, rounds)
    base = seconds["forward pass, eager"]
    table = Table(title=f"{len(sentences)} sentences, {rounds} rounds, {torch.get_num_threads()} threads")
    for column in ("", "median s", "min s", "× eager forward", "words/s"):
        table.add_column(column, justify="right" if column else "left")
    words = sum(len(sentence) for sentence in sentences)
    for name, measured in seconds.items():
        median, fastest = statistics.median(measured), min(measured)
        table.add_row(name, f"{median:.3f}", f"{fastest:.3f}", f"{ratio(measured, base):.2f}", f"{words / median:,.0f}")
    console.print(table)
    faster = ratio(seconds["naive numpy"], seconds["dependency analysis"])
    console.print(f"The analysis is {faster:.1f} × faster than the naive way.\n")


def measure_memory(files: list[str]) -> None:
    """Print a table of the peak memory of fresh processes."""
    table = Table(title="Peak memory of a fresh process (MB)")
    for column in ("", f"{SENTENCES} sentences", f"{MANY} sentences"):
        table.add_column(column, justify="right" if column else "left")
    peaks = {}
    for name in ("forward pass, eager", "dependency analysis"):
        for n in (SENTENCES, MANY):
            command = [sys.executable, "-m", "benchmarks.dependency", "--child", name, "--sentences", str(n)]
            done = subprocess.run([*command, "--corpus", *files], capture_output=True, text=True, check=True)
            peaks[name, n] = float(json.loads(done.stdout))
        table.add_row(name, *(f"{peaks[name, n]:.0f}" for n in (SENTENCES, MANY)))
    extra = [peaks["dependency analysis", n] - peaks["forward pass, eager", n] for n in (SENTENCES, MANY)]
    table.add_row("extra", *(f"{megabytes:.0f}" for megabytes in extra))
    Console(width=110).print(table)


def measure_large_model() -> None:
    """Print the peak memory of the command on a model of the shape of BERT-large, beside the size of its weights."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_long_sentences(folder / "long.conllu")
        script = "import sys; from pathlib import Path; from benchmarks.large_model import write_large_model as write"
        weights = int(_output(f"{script}; print(write(Path(sys.argv[1])))", str(folder / "model"))) / 2**20
        command = ["analyze", "--analyses", "dependency", "--model", str(folder / "model")]
        command += ["--corpus", str(folder / "long.conllu"), "--out", str(folder / "run")]
        script = "import sys; from attentionology.scripts.cli import main; from benchmarks.measuring import peak_memory"
        peak = float(_output(f"{script}; main(sys.argv[1:]); print(peak_memory())", *command))
    maps = 4 * 24 * 16 * (WORDS + 2) ** 2 / 2**20
    table = Table(title=f"The shape of BERT-large, three sentences of {WORDS + 2} pieces (MB)")
    for column in ("weights", "maps of one sentence", "peak of the command", "peak ÷ weights"):
        table.add_column(column, justify="right")
    table.add_row(f"{weights:.0f}", f"{maps:.0f}", f"{peak:.0f}", f"{peak / weights:.1f}")
    Console(width=110).print(table)


def _output(script: str, *arguments: str) -> str:
    """Return the last line that a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--child", choices=CONTESTANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sentences = corpus(options.corpus, options.sentences)
    if options.child:
        attention, run = CONTESTANTS[options.child]
        run(encoder_with(attention), sentences)
        print(peak_memory())
    else:
        measure_times(sentences, options.rounds)
        measure_memory(options.corpus)
        measure_large_model()


if __name__ == "__main__":
    main()

"""What analyses, kinds of maps and leave-one-out cost by the length of the input, against the plain forward pass.

    python -m benchmarks.lengths [--lengths 16 32 64 128 256] [--pieces 8192] [--rounds 2] [--only WHAT ...]

Each number is the CPU time of all that is done, the forward pass included, divided by that of a plain forward pass
over the same inputs, with one thread. All contestants of a length take turns in one process, and the ratios are medians
of those within a round, so that other programs on the machine matter little. The inputs are made of the words of a
treebank that are one piece, up to exactly the length, special tokens included; each word is the head of the next one.
Bootstrap replicates, tables and pages take the same time for any corpus, so that they weigh more in a small one. What
is slow is measured on a sixteenth of the inputs, and at least on two. Each ratio is printed as soon as it is known.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from rich.console import Console
from rich.table import Table

from attentionology import analyze
from attentionology.analyses import AblationOptions, EnsembleOptions, ExampleOptions
from attentionology.analyses.explanation.attention.batch import read
from attentionology.analyses.explanation.methods.correlation import leave_one_out
from attentionology.corpora_loaders import Sentence, Treebank
from attentionology.extractors import AttentionModel, Encoder, extract, probabilities
from attentionology.extractors.model.named import load_encoder
from attentionology.extractors.tokens.pieces import Pieces
from benchmarks.dependency import corpus, dependency, forward_only
from benchmarks.engine import counted
from benchmarks.explanation import lstm, transformer
from benchmarks.measuring import ratio, take_turns

KINDS = ("norm", "attn", "atbff", "value-zeroing")
SLOW = ("atbff", "value-zeroing", "ablation", "ablation, with its page", "leave-one-out, transformer")
FORWARD, SLOW_FORWARD, LSTM_FORWARD = "forward pass", "forward pass of a sixteenth", "forward pass of the LSTM"

Runs = Mapping[str, Callable[[], object]]


def inputs_of(encoder: Encoder, length: int, count: int) -> list[Sentence]:
    """Return sentences of exactly ``length`` pieces, special tokens included."""
    of_corpus = corpus([], 300)
    aligned = [pieces for pieces in encoder.align(of_corpus) if isinstance(pieces, Pieces)]
    one_piece = [
        (word, relation)
        for sentence, pieces in zip(of_corpus, aligned, strict=True)
        for word, relation, n_pieces in zip(sentence.words, sentence.relations, pieces.word_lengths, strict=True)
        if n_pieces == 1
    ]
    endless = cycle(one_piece)
    special = sum(aligned[0].special)
    sentences = []
    for index in range(count):
        words, relations = zip(*islice(endless, length - special), strict=True)
        heads = tuple(range(len(words)))  # the first word is the root, and each word is the head of the next one
        sentences.append(Sentence(f"{index}", words, heads=heads, relations=("root", *relations[1:])))
    return sentences


def ablation(encoder: Encoder, sentences: list[Sentence], *, page: bool) -> None:
    """Switch off all heads one at a time, without predictions and pruning; with the page, its examples as well."""
    examples = ExampleOptions() if page else ExampleOptions(examples=0)
    options = [AblationOptions(predictions="none", pruning_sentences=0), examples]
    with TemporaryDirectory() as folder:
        out = Path(folder, "run") if page else None
        analyze(encoder, Treebank(tuple(sentences)), analyses="ablation", options=options, out=out, progress=False)


def ensembles(encoder: Encoder, sentences: list[Sentence]) -> None:
    """Count the dependency analysis with ensembles of up to four heads, without examples."""
    options = [EnsembleOptions(ensembles=4), ExampleOptions(examples=0)]
    analyze(encoder, Treebank(tuple(sentences)), analyses="dependency", options=options, progress=False)


def left_out(model: AttentionModel, sentences: list[Sentence]) -> None:
    """Leave out each word of each text."""
    texts = [sentence.words for sentence in sentences]
    for batch in model.batches(texts):
        leave_one_out(read(model, [str(i) for i in batch], [texts[i] for i in batch]))


def make_maps(encoder: Encoder, sentences: list[Sentence], kind: str) -> None:
    """Make the maps of a kind."""
    for _ in extract(encoder, sentences, kind=kind):
        pass


def contestants(encoder: Encoder, length: int, pieces: int) -> dict[str, Callable[[], object]]:
    """Return what is measured at one length, by name."""
    sentences = inputs_of(encoder, length, max(4, pieces // length))
    fewer = sentences[: max(2, len(sentences) // 16)]
    words = [sentence.words for sentence in sentences]
    classifier, network = transformer(), lstm(words)
    return {
        FORWARD: partial(forward_only, encoder, sentences),
        SLOW_FORWARD: partial(forward_only, encoder, fewer),
        LSTM_FORWARD: lambda: probabilities(network, words),
        "dependency": partial(dependency, encoder, sentences),
        "three analyses": partial(counted, encoder, sentences),
        "dependency, with 4 ensembles": partial(ensembles, encoder, sentences),
        **{kind: partial(make_maps, encoder, fewer if kind in SLOW else sentences, kind) for kind in KINDS},
        "ablation": partial(ablation, encoder, fewer, page=False),
        "ablation, with its page": partial(ablation, encoder, fewer, page=True),
        "leave-one-out, LSTM": partial(left_out, network, sentences),
        "leave-one-out, transformer": partial(left_out, classifier, fewer),
    }


def base_of(name: str) -> str:
    """Return the forward pass with which something is compared."""
    if name.endswith("LSTM"):
        return LSTM_FORWARD
    return SLOW_FORWARD if name in SLOW else FORWARD


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[16, 32, 64, 128, 256])
    parser.add_argument("--pieces", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", nargs="+")
    options = parser.parse_args()
    torch.set_num_threads(1)
    encoder = load_encoder("demo")
    ratios: dict[str, list[str]] = {}
    for length in options.lengths:
        runs = contestants(encoder, length, options.pieces)
        chosen = [name for name in runs if name in (options.only or runs) or name.startswith(FORWARD)]
        seconds = take_turns({name: runs[name] for name in chosen}, options.rounds, time.process_time)
        for name, own in seconds.items():
            if not name.startswith(FORWARD):
                ratios.setdefault(name, []).append(f"{ratio(own, seconds[base_of(name)]):.1f}")
                print(f"{length} pieces, {name}: {ratios[name][-1]}", flush=True)
    table = Table(title="× forward pass, by pieces of an input", title_justify="left")
    for column in ("", *map(str, options.lengths)):
        table.add_column(column, justify="right" if column else "left")
    for name, row in ratios.items():
        table.add_row(name, *row)
    Console().print(table)


if __name__ == "__main__":
    main()

"""What it costs to leave a corpus in its files, in time and in memory.

    python -m benchmarks.corpus [--corpus FILE.conllu ...] [--sizes 12000 200000] [--rounds 5]

The first table compares loading a treebank, and reading it again, with parsing it. A treebank of at most 4,096
sentences is held in memory, so that reading it again takes no time. The other tables show the peak
memory of ``analyze`` for corpora of several sizes, which repeat the sentences of the treebank, as a treebank with new
ids, and as plain text with one sentence per line, which the analysis of surface statistics alone reads. The memory
should not depend on the size. The model is tiny and has random weights, because a larger one would take as much memory
for any corpus, but much more time. ``--analyses dependency`` and ``--longest 10``, which leaves out sentences of more
than ten words, take less time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

from attentionology.analyses.contract import OptionGroup
from attentionology.analyses.shared.builtin import corpus_path
from attentionology.corpora_loaders import load_treebank, read_conllu
from benchmarks.measuring import peak_memory, ratio, take_turns

USUAL = ("dependency", "surface", "clusters")


def write_repeated(files: Sequence[str], sentences: int, path: Path, *, longest: int | None = None) -> None:
    """Write the sentences of some files again and again, under new ids, until there are enough of them.

    Args:
        files: the files.
        sentences: the number of sentences to write.
        path: the file to write.
        longest: sentences of more rows than this are left out; None to write all.
    """
    blocks = [block for file in files for block in Path(file).read_text("utf-8").split("\n\n") if block.strip()]
    short = [block for block in blocks if longest is None or len(_rows(block)) <= longest]
    with path.open("w", encoding="utf-8") as written:
        for number, block in enumerate(islice(cycle(short), sentences)):
            lines = [line for line in block.split("\n") if not line.startswith("# sent_id")]
            written.write("\n".join([f"# sent_id = repeated-{number:08d}", *lines, "", ""]))


def _rows(block: str) -> list[str]:
    return [line for line in block.split("\n") if line.strip() and not line.startswith("#")]


def write_text(treebank: Path, path: Path) -> None:
    """Write the words of each sentence of a treebank on a line of their own, with a blank line after every 20 lines."""
    with path.open("w", encoding="utf-8") as written:
        for number, block in enumerate(treebank.read_text("utf-8").split("\n\n")):
            words = [row.split("\t")[1] for row in _rows(block)]
            written.write(" ".join(words) + "\n" + "\n" * (number % 20 == 19))


def measure_time(files: list[str], rounds: int) -> None:
    """Print the times of loading a treebank, and of reading it again, against that of parsing it alone."""
    treebank = load_treebank(files)
    contestants = {
        "parse": lambda: deque((sentence for file in files for sentence in read_conllu(file)), maxlen=0),
        "load": lambda: load_treebank(files),
        "read again": lambda: deque(treebank, maxlen=0),
    }
    seconds = take_turns(contestants, rounds)
    sentences = len(treebank)
    table = Table(title=f"Time for {sentences:,} sentences")
    for column in ("", "µs per sentence", "× parse"):
        table.add_column(column, justify="right" if column else "left")
    for name, times in seconds.items():
        typical = sorted(times)[len(times) // 2]
        table.add_row(name, f"{1e6 * typical / sentences:.0f}", f"{ratio(times, seconds['parse']):.2f}")
    Console().print(table)


def measure_memory(
    files: Sequence[str],
    sizes: Sequence[int],
    *,
    analyses: Sequence[str] = USUAL,
    longest: int | None = None,
    as_text: bool = False,
) -> None:
    """Print the peak memory of a run, each in a process of its own.

    Args:
        files: the treebank that is repeated.
        sizes: the numbers of sentences.
        analyses: the analyses.
        longest: see `write_repeated`.
        as_text: whether the sentences are read as plain text.
    """
    what = "text" if as_text else "treebank"
    table = Table(title=f"A run of {', '.join(analyses)} over a {what} with a tiny model")
    for column in ("sentences", "MB of the file", "peak memory in MB", "seconds"):
        table.add_column(column, justify="right")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "repeated.conllu")
            write_repeated(files, size, path, longest=longest)
            if as_text:
                write_text(path, path.with_suffix(".txt"))
                path = path.with_suffix(".txt")
            command = [sys.executable, "-m", "benchmarks.corpus", "--child", str(path), "--analyses", *analyses]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            megabytes = path.stat().st_size / 1e6
        result = json.loads(output.splitlines()[-1])
        numbers = (f"{megabytes:.1f}", f"{result['peak']:.0f}", f"{result['seconds']:.0f}")
        table.add_row(f"{result['sentences']:,}", *numbers)
    Console().print(table)


def run_child(path: Path, analyses: Sequence[str]) -> None:
    """Analyze a treebank or a text, and print the peak memory of this process."""
    import torch
    import transformers

    import attentionology
    from attentionology.analyses.shared.options import CountOptions
    from attentionology.analyses.surface.options import SurfaceOptions
    from attentionology.engine.corpus import CorpusOptions
    from attentionology.extractors.model.named import load_encoder

    tokenizer = load_encoder("demo").tokenizer
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=512,
        initializer_range=0.5,  # attention that is nearly uniform would need many decisions in float64
    )
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager")
    encoder = attentionology.Encoder(model, tokenizer, "tiny")
    start = time.perf_counter()
    files = CorpusOptions(text=(str(path),)) if path.suffix == ".txt" else CorpusOptions(corpus=(str(path),))
    options: list[OptionGroup] = [files, CountOptions(replicates=10)]
    options += [SurfaceOptions(gradients="none")] if "surface" in analyses else []
    with tempfile.TemporaryDirectory() as folder:
        run = attentionology.analyze(encoder, analyses=analyses, options=options, out=Path(folder, "run"))
    seconds = time.perf_counter() - start
    print(json.dumps({"sentences": run.record["sentences"]["read"], "peak": peak_memory(), "seconds": seconds}))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="+", default=[corpus_path("sample")])
    parser.add_argument("--sizes", nargs="+", type=int, default=[12_000, 200_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--analyses", nargs="+", default=USUAL, choices=USUAL)
    parser.add_argument("--longest", type=int, metavar="WORDS")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_child(arguments.child, arguments.analyses)
        return
    if arguments.rounds:
        measure_time(arguments.corpus, arguments.rounds)
    measure_memory(arguments.corpus, arguments.sizes, analyses=arguments.analyses, longest=arguments.longest)
    measure_memory(arguments.corpus, arguments.sizes, analyses=("surface",), longest=arguments.longest, as_text=True)


if __name__ == "__main__":
    main()

"""What it costs to leave a treebank in its files, in time and in memory.

    python -m benchmarks.corpus [--corpus FILE.conllu ...] [--sizes 12000 200000] [--rounds 5]

The first table compares indexing a treebank and reading it once with loading all of it. The second table shows the peak
memory of ``analyze`` for treebanks of several sizes, which repeat the sentences of the corpus under new ids. It should
not depend on the size. The model is tiny and has random weights, because a larger one would take as much memory for any
treebank, but much more time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

from attentionology.analyses.contract import OptionGroup
from attentionology.analyses.shared.builtin import corpus_path
from attentionology.corpora_loaders import load_treebank, open_treebank
from benchmarks.measuring import peak_memory, ratio, take_turns


def write_repeated(files: list[str], sentences: int, path: Path) -> None:
    """Write the sentences of some files again and again, under new ids, until there are enough of them."""
    blocks = [block for file in files for block in Path(file).read_text("utf-8").split("\n\n") if block.strip()]
    with path.open("w", encoding="utf-8") as written:
        for number, block in enumerate(islice(cycle(blocks), sentences)):
            lines = [line for line in block.split("\n") if not line.startswith("# sent_id")]
            written.write("\n".join([f"# sent_id = repeated-{number:08d}", *lines, "", ""]))


def measure_time(files: list[str], rounds: int) -> None:
    """Print the times of indexing and reading against that of loading."""

    def index_and_read() -> None:
        for _ in open_treebank(files):
            pass

    contestants = {
        "load": lambda: load_treebank(files),
        "index": lambda: open_treebank(files),
        "index and read once": index_and_read,
    }
    seconds = take_turns(contestants, rounds)
    sentences = len(open_treebank(files))
    table = Table(title=f"Time for {sentences:,} sentences")
    for column in ("", "µs per sentence", "× load"):
        table.add_column(column, justify="right" if column else "left")
    for name, times in seconds.items():
        typical = sorted(times)[len(times) // 2]
        table.add_row(name, f"{1e6 * typical / sentences:.0f}", f"{ratio(times, seconds['load']):.2f}")
    Console().print(table)


def measure_memory(files: list[str], sizes: list[int]) -> None:
    """Print the peak memory of a run, each in a process of its own."""
    table = Table(title="A run of dependency, surface and clusters with a tiny model")
    for column in ("sentences", "peak memory in MB", "seconds"):
        table.add_column(column, justify="right")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "repeated.conllu")
            write_repeated(files, size, path)
            command = [sys.executable, "-m", "benchmarks.corpus", "--child", str(path)]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        result = json.loads(output.splitlines()[-1])
        table.add_row(f"{result['sentences']:,}", f"{result['peak']:.0f}", f"{result['seconds']:.0f}")
    Console().print(table)


def run_child(path: str) -> None:
    """Analyze a treebank, and print the peak memory of this process."""
    import torch
    import transformers

    import attentionology
    from attentionology.analyses.shared.builtin import load_encoder
    from attentionology.analyses.shared.options import CountOptions
    from attentionology.analyses.surface.options import SurfaceOptions

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
    options: list[OptionGroup] = [SurfaceOptions(gradients="none"), CountOptions(replicates=10)]
    with tempfile.TemporaryDirectory() as folder:
        analyses = ("dependency", "surface", "clusters")
        run = attentionology.analyze(encoder, path, analyses=analyses, options=options, out=Path(folder, "run"))
    seconds = time.perf_counter() - start
    print(json.dumps({"sentences": run.record["sentences"]["read"], "peak": peak_memory(), "seconds": seconds}))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="+", default=[corpus_path("sample")])
    parser.add_argument("--sizes", nargs="+", type=int, default=[12_000, 200_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_child(arguments.child)
        return
    measure_time(arguments.corpus, arguments.rounds)
    measure_memory(arguments.corpus, arguments.sizes)


if __name__ == "__main__":
    main()

"""What one pass for all analyses costs, against the plain forward pass and against one pass for each.

    python -m benchmarks.engine [--corpus FILE.conllu ...] [--sentences 300] [--rounds 5] [--device cuda]

Everything that is counted is included, up to the tables of the metrics; the map of heads is not, because it does not
depend on the corpus. Two facts tell how good the forward pass is: the share of its pieces that are padding, and the
floating-point operations per second of its matrix products against those of one large product. Times are medians over
rounds in which the contestants take turns, ratios medians of the ratios within a round. Peak memory is that of a fresh
process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial

import torch
from rich.console import Console
from rich.table import Table

from attentionology.analyses.contract import OptionSet, Setting
from attentionology.analyses.registry import choose_analyses, load_analysis
from attentionology.analyses.surface.options import SurfaceOptions
from attentionology.corpora_loaders import Sentence, Treebank
from attentionology.engine.counting.passes import Limits, plan_passes, run_passes
from attentionology.extractors import Encoder, MapMaker, get_kind, shared_batches
from attentionology.extractors.model.named import load_encoder
from benchmarks.dependency import corpus, forward_only
from benchmarks.measuring import peak_memory, ratio, take_turns

USUAL = ("dependency", "surface", "clusters")
KINDS = ("weight", "norm", "attn", "attnres", "attnresln", "rollout")


def counted(
    encoder: Encoder, sentences: list[Sentence], analyses: Sequence[str] = USUAL, kinds: Sequence[str] = ("weight",)
) -> None:
    """Plan, read the corpus once, count, and make the tables of the metrics."""
    setting = Setting(encoder, Treebank(tuple(sentences)), chosen=tuple(analyses))
    options = OptionSet([SurfaceOptions(gradients="none")])
    plans = []
    for kind in kinds:
        setting_of_kind = Setting(encoder, setting.corpus, MapMaker(get_kind(kind)), setting.chosen)
        plans += [load_analysis(row.location).plan(options, setting_of_kind) for row in choose_analyses(analyses)]
    passes = plan_passes([request for plan in plans for request in plan.requests])
    counts = run_passes(passes, encoder, limits=Limits.of(encoder, None, "skip"))
    for metric in counts.metrics.values():
        metric.compute()


def one_by_one(encoder: Encoder, sentences: list[Sentence]) -> None:
    """Count the same with one pass for dependency and one pass for the other two analyses."""
    counted(encoder, sentences, ("dependency",))
    counted(encoder, sentences, ("surface", "clusters"))


def kinds_one_by_one(encoder: Encoder, sentences: list[Sentence]) -> None:
    """Count dependency by six kinds of maps, in one run after the other."""
    for kind in KINDS:
        counted(encoder, sentences, ("dependency",), (kind,))


CONTESTANTS: dict[str, Callable[[Encoder, list[Sentence]], None]] = {
    "forward pass, eager": forward_only,
    "dependency": partial(counted, analyses=("dependency",)),
    "dependency, surface, clusters in one pass": counted,
    "the same in two passes": one_by_one,
    "dependency by six kinds in one pass": partial(counted, analyses=("dependency",), kinds=KINDS),
    "the same in six passes": kinds_one_by_one,
}


def padding_and_operations(encoder: Encoder, sentences: list[Sentence]) -> tuple[float, float]:
    """Return the share of padding among the pieces of all batches, and the operations in matrix products of a pass.

    Each parameter of a linear layer makes one multiplication and one addition per piece; attention makes two products
    of n × n × dimension per layer, which are counted likewise.
    """
    layers = [module for module in encoder.model.modules() if isinstance(module, torch.nn.Linear)]
    pooler = getattr(encoder.model, "pooler", None)  # reads one piece of each sentence
    skipped = set() if pooler is None else {id(module) for module in pooler.modules()}
    weights = sum(layer.weight.numel() for layer in layers if id(layer) not in skipped)
    pieces = padded = squares = 0
    for batch in shared_batches(encoder, sentences):
        lengths = list(map(len, batch.pieces))
        pieces += sum(lengths)
        padded += len(lengths) * max(lengths)
        squares += len(lengths) * max(lengths) ** 2
    attention = 2 * squares * encoder.n_layers * encoder.model.config.hidden_size
    return 1 - pieces / padded, 2.0 * (weights * padded + attention)


def measure_memory(files: list[str], n: int, device: str) -> None:
    """Print the peak memory of each contestant in a process of its own."""
    table = Table(title=f"Peak memory of a fresh process, {n} sentences (MB)")
    table.add_column("")
    table.add_column("MB", justify="right")
    for name in CONTESTANTS:
        of_child = ["--child", name, "--sentences", str(n), "--device", device]
        command = [sys.executable, "-m", "benchmarks.engine", *of_child]
        done = subprocess.run([*command, "--corpus", *files], capture_output=True, text=True, check=True)
        table.add_row(name, f"{float(json.loads(done.stdout)):.0f}")
    Console(width=110).print(table)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="*", default=[])
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--child", choices=CONTESTANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sentences, encoder = corpus(options.corpus, options.sentences), load_encoder("demo", device=options.device)
    if options.child:
        CONTESTANTS[options.child](encoder, sentences)
        print(peak_memory())
        return
    contestants: dict[str, Callable[[], object]] = {
        name: partial(run, encoder, sentences) for name, run in CONTESTANTS.items()
    }
    square = torch.ones(1024, 1024, device=options.device)
    contestants["one product"] = partial(torch.mm, square, square)
    seconds = take_turns(contestants, options.rounds)
    products = seconds.pop("one product")
    table = Table(title=f"{len(sentences)} sentences, {options.rounds} rounds")
    for column in ("", "median s", "× eager forward"):
        table.add_column(column, justify="right" if column else "left")
    for name, measured in seconds.items():
        base = seconds["forward pass, eager"]
        table.add_row(name, f"{statistics.median(measured):.3f}", f"{ratio(measured, base):.2f}")
    Console(width=110).print(table)
    padding, operations = padding_and_operations(encoder, sentences)
    share = operations / (2 * len(square) ** 3) * min(products) / min(seconds["forward pass, eager"])
    kinds = ratio(seconds["dependency by six kinds in one pass"], seconds["the same in six passes"])
    print(f"Padding: {padding:.0%} of the pieces. Six kinds in one pass: {kinds:.2f} × six passes.")
    print(f"The forward pass reaches {share:.0%} of the throughput of one large matrix product.\n")
    measure_memory(options.corpus, options.sentences, options.device)


if __name__ == "__main__":
    main()

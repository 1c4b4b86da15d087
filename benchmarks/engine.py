"""What one pass for all analyses costs, against the plain forward pass and against one pass for each.

    python -m benchmarks.engine [--corpus FILE.conllu ...] [--sentences 300] [--rounds 5]

Everything that is counted is included, up to the tables of the metrics; the map of heads is not, because it does not
depend on the corpus. Times are medians over rounds in which the contestants take turns, ratios medians of the ratios
within a round. Peak memory is that of a fresh process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Console
from rich.table import Table

from attentionology.analyses.contract import MapChoice, OptionSet, Setting
from attentionology.analyses.registry import choose_analyses
from attentionology.analyses.shared.builtin import load_encoder
from attentionology.analyses.surface.options import SurfaceOptions
from attentionology.corpora_loaders import Sentence, Treebank
from attentionology.engine.passes import plan_passes, run_passes
from attentionology.extractors import Encoder
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
        setting_of_kind = Setting(encoder, setting.corpus, MapChoice(kind), setting.chosen)
        plans += [analysis.plan(options, setting_of_kind) for analysis in choose_analyses(analyses)]
    counts = run_passes(plan_passes([request for plan in plans for request in plan.requests]), encoder)
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


def measure_memory(files: list[str], n: int) -> None:
    """Print the peak memory of each contestant in a process of its own."""
    table = Table(title=f"Peak memory of a fresh process, {n} sentences (MB)")
    table.add_column("")
    table.add_column("MB", justify="right")
    for name in CONTESTANTS:
        command = [sys.executable, "-m", "benchmarks.engine", "--child", name, "--sentences", str(n)]
        done = subprocess.run([*command, "--corpus", *files], capture_output=True, text=True, check=True)
        table.add_row(name, f"{float(json.loads(done.stdout)):.0f}")
    Console(width=110).print(table)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="*", default=[])
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", choices=CONTESTANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sentences, encoder = corpus(options.corpus, options.sentences), load_encoder("demo")
    if options.child:
        CONTESTANTS[options.child](encoder, sentences)
        print(peak_memory())
        return
    contestants = {name: partial(run, encoder, sentences) for name, run in CONTESTANTS.items()}
    seconds = take_turns(contestants, options.rounds)
    table = Table(title=f"{len(sentences)} sentences, {options.rounds} rounds")
    for column in ("", "median s", "× eager forward"):
        table.add_column(column, justify="right" if column else "left")
    for name, measured in seconds.items():
        base = seconds["forward pass, eager"]
        table.add_row(name, f"{statistics.median(measured):.3f}", f"{ratio(measured, base):.2f}")
    Console(width=110).print(table)
    measure_memory(options.corpus, options.sentences)


if __name__ == "__main__":
    main()

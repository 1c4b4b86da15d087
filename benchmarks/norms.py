"""What maps of norms cost, in time and memory, against the forward pass and against naive code, in one run.

    python -m benchmarks.norms [--rounds 3] [--kinds attnresln atbff ...] [--shapes 768x128 ...]

The model is a randomly initialized BERT whose attention is not uniform, and the batch has no padding. Times are medians
over rounds in which the contestants take turns, and ratios are medians of the ratios within a round. A contestant that
takes longer than `LONG` seconds runs once. Constants made of weights alone are computed in a first round that is not
timed.

The naive code forms the vectors of one sentence in one layer: of every head (``norm`` to ``globenc``), of all heads
together (``alti``, ``alti-l2``), through the feed-forward block (``atbff``, ``atbffres``, ``atbffresln``), or it runs
the layer once per key (``value-zeroing``). Its maps must be equal to those of the toolkit.

Memory is the peak of a fresh process for each kind, above what the process holds after the forward pass. It consists of
working memory, constants, and the maps of all layers, whose size is also given separately. The naive code keeps one
map; naive code that takes long is not run again to measure its memory.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn import functional

from attentionology.extractors.kinds import get_kind
from attentionology.extractors.kinds.rollout import AGGREGATIONS, Below
from attentionology.extractors.layers import read_weights
from attentionology.extractors.model.forward_pass import Forward, ModelLayers
from benchmarks.measuring import peak_memory, ratio

HEADS = 12
PER_HEAD = ("norm", "attn", "attnres", "attnresln", "globenc")
SUMMED = ("alti-l2", "alti")
FF = ("atbff", "atbffres", "atbffresln")
KINDS = (*PER_HEAD, "alti-l2", "rollout", "rollout:attnresln", "alti", "value-zeroing", *FF)
IN_PART = ("value-zeroing", *FF)
"""Kinds that are made for one layer of one sentence only; their time is linear in both and therefore multiplied."""
NAIVE = {"value-zeroing": 0} | dict.fromkeys(PER_HEAD, HEADS + 4) | dict.fromkeys(SUMMED, 4) | dict.fromkeys(FF, 7)
"""The approximate number of tensors of n × n × dim that the naive code holds at a time."""
MOST = 8 * 2**30
"""The bytes that the naive code may take."""
LONG = 3.0


class Shape(NamedTuple):
    """The shape of a model and its batch: hidden size, pieces per sentence, layers, sentences."""

    dim: int
    n: int
    layers: int
    sentences: int

    @property
    def naive(self) -> list[str]:
        """The kinds whose naive code is run."""
        return [kind for kind, tensors in NAIVE.items() if 4 * tensors * self.dim * self.n**2 <= MOST]


class Memory(NamedTuple):
    """The peak memory of a kind, the size of its maps, and the peak memory of the naive code, in MB."""

    extra: float | None = None
    maps: float | None = None
    naive: float | None = None


class Workload:
    """A model, a batch, and the attentions and hidden states of a forward pass."""

    @torch.no_grad()
    def __init__(self, shape: Shape) -> None:
        torch.manual_seed(0)
        size = {"hidden_size": shape.dim, "intermediate_size": 4 * shape.dim, "num_hidden_layers": shape.layers}
        config = transformers.BertConfig(num_attention_heads=HEADS, vocab_size=1000, **size)
        self.model: Any = transformers.BertModel(config, add_pooling_layer=False).eval()
        self.model.set_attn_implementation("eager")
        for name, parameter in self.model.named_parameters():
            if ".attention." in name:
                parameter += torch.randn_like(parameter) * 1.5 / math.sqrt(shape.dim)
        self.ids = torch.randint(1000, (shape.sentences, shape.n))
        self.mask = torch.ones_like(self.ids, dtype=torch.bool)
        self.weights = read_weights(self.model, shape.layers, HEADS)
        output = self.forward(capture=True)
        self.attentions, self.states = output.attentions, output.hidden_states

    @torch.inference_mode()
    def forward(self, *, capture: bool) -> Any:
        asked = {"output_attentions": True, "output_hidden_states": True} if capture else {}
        return self.model(input_ids=self.ids, attention_mask=self.mask.long(), **asked)

    @torch.inference_mode()
    def maps(self, name: str) -> Tensor:
        """Make the maps of all layers, or of a part of them, from the forward pass, and keep them as `extract` does."""
        kind = get_kind(name)
        layers, sentences = (1, 1) if name in IN_PART else (len(self.weights), len(self.mask))
        attentions, mask = [alpha[:sentences] for alpha in self.attentions[:layers]], self.mask[:sentences]
        forward = Forward(attentions, mask)
        if kind.reads_weights:
            states = tuple(x[:sentences] for x in self.states[: layers + 1])
            forward = Forward(attentions, mask, states, ModelLayers(self.weights[:layers], [True] * layers, "bert"))
        maps, product = torch.empty(0), None
        for number, layer in enumerate(map(kind.layer_map, forward.layers())):
            if kind.aggregation:
                below = Below(product, mask, kind.residual, number + 1)
                layer = product = AGGREGATIONS[kind.aggregation].layer(layer, below)
            if number == 0:
                maps = layer.new_empty(layers, *layer.shape)
            maps[number] = layer
        return maps

    @torch.inference_mode()
    def naive(self, kind: str) -> Tensor:
        """The map of the first sentence in the first layer, (n, n) or per head."""
        return naive_map(kind, self.model.encoder.layer[0], self.states[0][0], self.attentions[0][0])


def naive_map(kind: str, layer: Any, x: Tensor, alpha: Tensor) -> Tensor:
    if kind == "value-zeroing":
        return naive_value_zeroing(layer, x)
    n, dim = x.shape
    dense, norm = layer.attention.output.dense, layer.attention.output.LayerNorm
    v = layer.attention.self.value(x).view(n, HEADS, -1).transpose(0, 1)
    p: Tensor = dense((alpha @ v).transpose(0, 1).flatten(1)) + x
    a: Tensor = norm(p)
    u = layer.intermediate.dense(a)
    q = layer.output.dense(layer.intermediate.intermediate_act_fn(u)) + a
    f = v @ dense.weight.view(dim, HEADS, -1).permute(1, 2, 0)
    t = torch.einsum("hij,hjd->hijd" if kind in PER_HEAD else "hij,hjd->ijd", alpha, f)
    if kind in PER_HEAD[1:]:
        t = t.sum(0)
    if kind not in ("norm", "attn"):
        t.diagonal(dim1=0, dim2=1).add_(x.T)
    if kind not in ("norm", "attn", "attnres"):
        t = parts_of_norm(norm, t, p)
    if kind == "globenc":
        t = parts_of_norm(layer.output.LayerNorm, t, q)
    if kind in SUMMED:
        order = 1 if kind == "alti" else 2
        closer = a.norm(order, dim=-1)[:, None] - (a[:, None] - t).norm(order, dim=-1)
        return functional.normalize(closer.clamp(min=0), p=1, dim=-1)
    if kind in FF:
        slope = (1 + torch.erf(u / math.sqrt(2))) / 2  # the activation is u · Φ(u)
        z = (t @ layer.intermediate.dense.weight.T).mul_(slope[:, None]) @ layer.output.dense.weight.T
        t = z if kind == "atbff" else z.add_(t)
        if kind == "atbffresln":
            t = parts_of_norm(layer.output.LayerNorm, t, q)
    norms: Tensor = t.norm(dim=-1)
    return norms


def parts_of_norm(norm: Any, parts: Tensor, whole: Tensor) -> Tensor:
    """The linear part of the layer norm of ``whole``, for its parts (query, key, dim)."""
    deviation = (whole.var(-1, correction=0) + norm.eps).sqrt()
    return (parts - parts.mean(-1, keepdim=True)).mul_(norm.weight).div_(deviation[:, None, None])


def naive_value_zeroing(layer: Any, x: Tensor) -> Tensor:
    """Half squared distances of unit vectors, because 1 − cos is noise in float32."""

    def zeroed(_module: Any, _args: Any, values: Tensor, *, key: int) -> Tensor:
        return values.index_fill(1, torch.tensor(key), 0.0)

    whole = functional.normalize(layer(x[None])[0], dim=-1)
    distances = x.new_empty(len(x), len(x))
    for key in range(len(x)):
        handle = layer.attention.self.value.register_forward_hook(partial(zeroed, key=key))
        distances[:, key] = (functional.normalize(layer(x[None])[0], dim=-1) - whole).square_().sum(-1) / 2
        handle.remove()
    return functional.normalize(distances, p=1, dim=-1)


def measure_times(shape: Shape, kinds: list[str], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each contestant for all layers and sentences."""
    work, all_of_it = Workload(shape), shape.layers * shape.sentences
    contestants: dict[str, tuple[int, Callable[[], Any]]] = {
        "forward": (1, partial(work.forward, capture=False)),
        "capture": (1, partial(work.forward, capture=True)),
    }
    for kind in kinds:
        contestants[kind] = (all_of_it if kind in IN_PART else 1), partial(work.maps, kind)
    for kind in kinds:  # after the others, whose memory would be taken anew each time
        if kind in shape.naive:
            contestants[f"naive {kind}"] = all_of_it, partial(work.naive, kind)
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    long: set[str] = set()
    maps: dict[str, Tensor] = {}
    for round_ in range(rounds + 1):  # the first one warms up and compares
        work.forward(capture=False)
        for name, (times, run) in contestants.items():
            if round_ and name in long:
                continue
            start = time.perf_counter()
            made = run()
            took = time.perf_counter() - start
            if not round_ and took > LONG:
                long.add(name)
            if round_ or name in long:
                seconds[name].append(took * times)
            if not round_ and name in kinds:
                maps[f"naive {name}"] = made[0, 0].clone()
            elif not round_ and name in maps:
                off = float(((maps[name] - made).norm(dim=-1) / made.norm(dim=-1)).max())
                if not off <= 1e-3:
                    raise SystemExit(f"{name}: a row of the map is not the same, by {off:.1e} of its length")
    return seconds


def measure_memory(shape: Shape, kind: str, *, naive: bool) -> Memory:
    """Measure memory in a process that did nothing before.

    If the peak cannot be reset (on systems other than Linux), the result is the memory above the peak of the forward
    pass, and the naive code is not measured.
    """
    work = Workload(shape)
    can_reset, before = reset_peak(), peak_memory()
    made = work.maps(kind)
    extra, maps = peak_memory() - before, made.nbytes / 2**20
    if not can_reset or not naive:
        return Memory(extra, maps, None)
    del made
    can_reset, before = reset_peak(), peak_memory()
    work.naive(kind)
    return Memory(extra, maps, peak_memory() - before)


def reset_peak() -> bool:
    """Reset the peak memory of this process to what it holds now, and return whether that was possible."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def show(shape: Shape, seconds: dict[str, list[float]], memory: dict[str, Memory]) -> None:
    """Print the table of a shape."""
    base = seconds["forward"]
    amount = f"{shape.sentences} sentences, {shape.layers} layers, {len(base)} rounds"
    title = f"D={shape.dim}, H={HEADS}, N={shape.n}; {amount}, {torch.get_num_threads()} threads"
    table = Table(title=title, caption="* and all naive code: measured on one layer of one sentence, time multiplied")
    columns = ("", "ms/layer/sent.", "× forward", "naive ×", "naive/kind", "extra MB", "maps MB", "naive MB")
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    for name in ("forward", "capture", *memory):
        measured, naive = seconds[name], seconds.get(f"naive {name}")
        label = {"forward": "forward, nothing asked", "capture": "forward, all captured"}.get(name, name)
        table.add_row(
            f"{label} *" if name in IN_PART else label,
            f"{statistics.median(measured) * 1000 / shape.layers / shape.sentences:.2f}",
            f"{ratio(measured, base):.2f}",
            *((f"{ratio(naive, base):.1f}", f"{ratio(naive, measured):.1f}") if naive else ("-", "-")),
            *("-" if mb is None else f"{mb:.1f}" for mb in memory.get(name, Memory())),
        )
    console = Console(width=110)
    console.print(table)
    skipped = [kind for kind in memory if kind in NAIVE and kind not in shape.naive]
    if skipped:
        console.print(f"Naive code that would take more than {MOST / 2**30:.0f} GB was left out: {', '.join(skipped)}.")
    console.print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=KINDS, metavar="KIND")
    parser.add_argument("--shapes", nargs="+", default=("384x128", "768x128", "768x512"), metavar="DxN")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--pieces", type=int, default=1024, help="in the batch")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="1 where others compute too")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    os.environ["MALLOC_MMAP_THRESHOLD_"] = str(2**18)  # glibc: what the new processes free is gone at once
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.measuring", "transformers.models.bert.modeling_bert"])
    for dim, n in (map(int, name.split("x")) for name in options.shapes):
        shape = Shape(dim, n, options.layers, max(1, options.pieces // n))
        seconds = measure_times(shape, options.kinds, options.rounds)
        with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as processes:
            memory = {}
            for kind in options.kinds:
                took = statistics.median(seconds.get(f"naive {kind}", [math.inf])) / shape.layers / shape.sentences
                memory[kind] = processes.submit(measure_memory, shape, kind, naive=took < LONG).result()
        show(shape, seconds, memory)


if __name__ == "__main__":
    main()

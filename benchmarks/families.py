"""What maps cost by family of models, against the forward pass without attention weights, in one run.

    python -m benchmarks.families [--rounds 5] [--kinds norm attnresln ...] [--families llama gpt2 ...] [--device cuda]

Models are randomly initialized, with 384 dimensions, 12 heads and 4 layers; decoders that can share keys and values
have 4 heads of them. The batch has 8 inputs of 128 pieces. Numbers are the time beyond the plain forward pass (the
default attention of transformers), divided by its time. The contestants take turns, and the smallest of all rounds
counts, of CPU time with one thread, or of wall-clock time on a GPU, so that other programs matter little. Constants
made of weights alone are computed in a first round that is not timed.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from collections.abc import Callable
from typing import Any

import torch
import transformers
from rich.console import Console
from rich.table import Table

from attentionology.extractors import Encoder, MapMaker, get_kind
from attentionology.extractors.tokens.pieces import Pieces
from benchmarks.measuring import wait_for_gpu
from tests import tiny

KINDS = ("weight", "norm", "attnresln")
_DIM, _HEADS, _LAYERS, _PIECES, _INPUTS = 384, 12, 4, 128, 8
_SIZES = {
    "bert": {"hidden_size": _DIM, "num_attention_heads": _HEADS, "intermediate_size": 4 * _DIM,
             "num_hidden_layers": _LAYERS},
    "gpt2": {"n_embd": _DIM, "n_head": _HEADS, "n_layer": _LAYERS, "n_positions": 512},
    "opt": {"hidden_size": _DIM, "word_embed_proj_dim": _DIM, "num_attention_heads": _HEADS, "ffn_dim": 4 * _DIM,
            "num_hidden_layers": _LAYERS},
    "bloom": {"hidden_size": _DIM, "n_head": _HEADS, "n_layer": _LAYERS},
    # Its configuration works out the dimensions of a head, and takes no other.
    "falcon": {"hidden_size": _DIM, "num_attention_heads": _HEADS, "num_hidden_layers": _LAYERS},
}  # fmt: skip
_DECODER = {**_SIZES["bert"], "num_key_value_heads": 4, "head_dim": 32, "intermediate_size": 1024}
_LENGTH = {"max_position_embeddings": 512}


def encoder_of(family: str, device: str = "cpu") -> Encoder:
    """A model of a family in the size of this benchmark."""
    length = {} if family in ("bloom", "gpt2") else _LENGTH
    built = tiny.encoder(family, **{**_SIZES.get(family, _DECODER), **length})
    return Encoder(built.model.to(device), built.tokenizer, built.name)


def costs(encoder: Encoder, kinds: list[str], rounds: int) -> dict[str, float]:
    """The smallest time of each kind, beyond that of the plain forward pass and divided by it."""
    row = list(range(5, 5 + _PIECES))
    read = Pieces(row, [str(piece) for piece in row], list(range(_PIECES)), [False] * _PIECES, 0, 0)
    pieces = [read] * _INPUTS
    config = copy.deepcopy(encoder.model.config)
    config._attn_implementation = None  # what transformers takes by itself
    plain = transformers.AutoModel.from_config(config).eval().to(encoder.device)
    ids = torch.tensor([row] * _INPUTS, device=encoder.device)

    def timed(run: Callable[[], Any]) -> float:
        start = clock()
        run()
        wait_for_gpu()
        return clock() - start

    clock = time.process_time if encoder.device.type == "cpu" else time.perf_counter
    base = math.inf
    least = dict.fromkeys(kinds, math.inf)
    makers = {kind: MapMaker(get_kind(kind), "token") for kind in kinds}
    with torch.inference_mode():
        for number in range(rounds + 1):
            taken = timed(lambda: plain(input_ids=ids))
            base = min(base, taken if number else math.inf)
            for kind, maker in makers.items():
                taken = timed(lambda maker=maker: maker(encoder, pieces))  # type: ignore[misc]
                least[kind] = min(least[kind], taken if number else math.inf)
    return {kind: taken / base - 1 for kind, taken in least.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), metavar="KIND")
    parser.add_argument("--families", nargs="+", default=["bert", "gpt2", *tiny.DECODERS], metavar="FAMILY")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = Table("family", *options.kinds, title="Time beyond the plain forward pass, divided by it")
    for family in options.families:
        ratios = costs(encoder_of(family, options.device), options.kinds, options.rounds)
        table.add_row(family, *(f"{ratio:.2f}" for ratio in ratios.values()))
    Console().print(table)


if __name__ == "__main__":
    main()

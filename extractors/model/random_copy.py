"""The control of Clark et al. (2019, §5): a copy of a model with random weights and the trained embeddings."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def random_copy(model: Any, seed: int, dtype: torch.dtype) -> Any:
    """Make a copy of a model with random weights that keeps the embedding tables, on the CPU and with eager attention.

    Args:
        model: the model.
        seed: the seed of the weights, which are drawn as the architecture initializes them.
        dtype: the type of the weights.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.manual_seed(seed)
        random = type(model)._from_config(model.config, dtype=dtype)
    trained = dict(model.named_modules())
    for name, module in random.named_modules():
        if isinstance(module, nn.Embedding):
            module.weight.data.copy_(trained[name].weight.data)
    random.set_attn_implementation("eager")
    return random

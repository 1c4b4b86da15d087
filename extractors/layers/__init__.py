"""The inside of transformer layers, in one form for all architectures."""

from .activations import FFBias
from .architectures import ARCHITECTURES, Architecture, CrossAttention, register_architecture
from .attention_weights import AttentionWeights
from .gradients import TextLoss
from .layer import AttentionBlock, Layer
from .layer_norm import LayerNorm
from .weights import LayerWeights, read_weights

__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "AttentionBlock",
    "AttentionWeights",
    "CrossAttention",
    "FFBias",
    "Layer",
    "LayerNorm",
    "LayerWeights",
    "TextLoss",
    "read_weights",
    "register_architecture",
]

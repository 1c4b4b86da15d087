"""The inside of transformer layers, in one form for all architectures."""

from attentionology.extractors.layers.activations import FFBias
from attentionology.extractors.layers.architectures import (
    ARCHITECTURES,
    Architecture,
    CrossAttention,
    register_architecture,
)
from attentionology.extractors.layers.attention_block import AttentionBlock
from attentionology.extractors.layers.attention_weights import AttentionWeights
from attentionology.extractors.layers.layer import Layer
from attentionology.extractors.layers.weights import LayerNorm, LayerWeights, read_weights

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
    "read_weights",
    "register_architecture",
]

"""The inside of transformer layers, one form for all architectures."""

from extractors.layers.activations import FFBias
from extractors.layers.architectures import ARCHITECTURES, Architecture, register_architecture
from extractors.layers.layer import Layer
from extractors.layers.weights import LayerNorm, LayerWeights, read_weights

__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "FFBias",
    "Layer",
    "LayerNorm",
    "LayerWeights",
    "read_weights",
    "register_architecture",
]

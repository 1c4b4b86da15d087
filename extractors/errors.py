"""What goes wrong between a model and its maps."""

from __future__ import annotations

from corpora_loaders import AttentionologyError


class ModelError(AttentionologyError, RuntimeError):
    """A model or tokenizer that cannot be loaded, or whose attention cannot be trusted."""


class ExtractionError(AttentionologyError, RuntimeError):
    """A sentence that the model cannot read, where the caller asked for an error instead of skipping it."""

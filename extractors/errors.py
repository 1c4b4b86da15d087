"""What goes wrong between a model and its maps."""

from __future__ import annotations

from attentionology.corpora_loaders import AttentionologyError


class ModelError(AttentionologyError, RuntimeError):
    """A model or tokenizer that cannot be loaded, or whose attention cannot be trusted."""


class ExtractionError(AttentionologyError, RuntimeError):
    """A sentence that the model cannot read, where the caller asked for an error instead of skipping it."""


def cause(error: Exception) -> str:
    """One line that says what an exception of another library means, with its type where the text alone would not."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if lines[0].endswith(":") and len(lines) > 1:
        return f"{lines[0]} {lines[1]}"
    if isinstance(error, OSError | ValueError | RuntimeError | ImportError):
        return lines[0]
    return f"{type(error).__name__}: {lines[0]}"

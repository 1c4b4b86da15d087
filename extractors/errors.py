"""The errors of this package, and one line for the errors of other libraries."""

from __future__ import annotations

from ..corpora_loaders import AttentionologyError


class ModelError(AttentionologyError, RuntimeError):
    """A model or tokenizer that cannot be loaded, or whose attention cannot be trusted.

    Example:
        >>> from attentionology import ModelError, load_encoder
        >>> try:
        ...     load_encoder("./no-such-folder")
        ... except ModelError as error:
        ...     print(error)
        there is no model folder './no-such-folder'
    """


class ExtractionError(AttentionologyError, RuntimeError):
    """A sentence that the model cannot read, where the caller asked for an error instead of skipping it.

    Example:
        >>> from attentionology import Sentence, extract, load_encoder
        >>> from attentionology.extractors import ExtractionError
        >>> sentence = Sentence("s1", ("Far", "too", "long"))
        >>> try:
        ...     list(extract(load_encoder("demo"), [sentence], max_length=4, too_long="error"))
        ... except ExtractionError as error:
        ...     print(error)
        sentence 's1': too long: 5 pieces, the limit is 4
    """


def cause(error: Exception) -> str:
    """Summarize an exception of another library in one line, with its type where the message alone is not enough."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if lines[0].endswith(":") and len(lines) > 1:
        return f"{lines[0]} {lines[1]}"
    if isinstance(error, OSError | ValueError | RuntimeError | ImportError):
        return lines[0]
    return f"{type(error).__name__}: {lines[0]}"

"""What is needed of a tokenizer before its pieces can be matched with words."""

from __future__ import annotations

import json
from typing import Any

from tokenizers.pre_tokenizers import ByteLevel

from ..errors import ModelError


def prepare_tokenizer(tokenizer: Any) -> Any:
    """Check that words can be aligned, and let a byte-level tokenizer put the space before words by itself.

    This is done only if the pre-tokenizer has no other step (RoBERTa, GPT-2). After a step that splits words, the
    setting would put a space before every part of a word, so words get the space in `align` instead.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{type(tokenizer).__name__} is not a fast tokenizer: it does not record which piece comes from "
            "which word. Convert it to the tokenizers format (tokenizer.json) or choose a model that has one."
        )
    pre_tokenizer = tokenizer.backend_tokenizer.pre_tokenizer
    if isinstance(pre_tokenizer, ByteLevel):
        pre_tokenizer.add_prefix_space = True
    return tokenizer


def needs_space(tokenizer: Any) -> bool:
    """Whether the tokenizer is byte-level and does not put a space before the text by itself."""
    pre_tokenizer = tokenizer.backend_tokenizer.pre_tokenizer
    if pre_tokenizer is None:
        return False
    state = json.loads(pre_tokenizer.__getstate__())
    steps = [state, *state.get("pretokenizers", ())]
    byte_level = [step for step in steps if step["type"] == "ByteLevel"]
    return bool(byte_level) and not any(step["add_prefix_space"] for step in byte_level)


def reserved_ids(tokenizer: Any) -> set[int]:
    """Return the ids that stand for something other than text, except for the unknown token."""
    added = tokenizer.added_tokens_decoder.items()
    return {*tokenizer.all_special_ids, *(i for i, token in added if token.special)} - {tokenizer.unk_token_id}

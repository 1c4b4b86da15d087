"""Tiny randomly initialized translation models of all families, with the tokenizers of `tests.tiny`."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from attentionology.corpora_loaders.alignment import SentencePair
from attentionology.extractors.translation import Translator
from tests import tiny

BART_LIKE = {
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 64,
}
T5_LIKE = {"d_model": 24, "d_kv": 5, "d_ff": 32, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}
FAMILIES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "marian": ("unigram", transformers.MarianConfig, BART_LIKE),
    "bart": ("bytes", transformers.BartConfig, BART_LIKE),
    "mbart": ("unigram", transformers.MBartConfig, BART_LIKE),
    "m2m_100": ("unigram", transformers.M2M100Config, BART_LIKE),
    "plbart": ("unigram", transformers.PLBartConfig, BART_LIKE),
    "t5": ("wordpiece", transformers.T5Config, T5_LIKE),
    "mt5": ("unigram", transformers.MT5Config, T5_LIKE),
    "umt5": ("unigram", transformers.UMT5Config, T5_LIKE),
    "fsmt": ("unigram", transformers.FSMTConfig, BART_LIKE),
    "pegasus": ("unigram", transformers.PegasusConfig, BART_LIKE),
    "blenderbot": ("bytes", transformers.BlenderbotConfig, BART_LIKE),
    "blenderbot-small": ("wordpiece", transformers.BlenderbotSmallConfig, BART_LIKE),
}
PAIRS = [
    SentencePair(
        id="1", source=("an", "unbelievably", "old", "garden", "."), words=("the", "lighthouse", "is", "closed")
    ),
    SentencePair(id="2", source=("she", "sings"), words=("nobody", "remembers", "trains", "!")),
    SentencePair(id="3", source=("yes",), words=("museum",)),
]


def model(family: str, seed: int = 0, **changes: Any) -> Any:
    """A randomly initialized model whose biases and norms are random, too, and whose attention is far from uniform."""
    style, config_class, size = FAMILIES[family]
    tokenizer = tiny.tokenizer(style)
    pad, start, end = (tokenizer.convert_tokens_to_ids(token) for token in special_tokens(style))
    ids = {"pad_token_id": pad, "bos_token_id": start, "eos_token_id": end, "decoder_start_token_id": end}
    if family in ("marian", "t5", "mt5", "umt5"):
        ids["decoder_start_token_id"] = pad
    n = len(tokenizer)
    sizes = {"src_vocab_size": n, "tgt_vocab_size": n, "langs": ["xx", "yy"]} if family == "fsmt" else {"vocab_size": n}
    config = config_class(**{**sizes, **ids, **size, **changes})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        built = transformers.AutoModelForSeq2SeqLM.from_config(config, attn_implementation="eager").eval()
        with torch.no_grad():
            for name, parameter in built.named_parameters():
                if "embed_positions" not in name:
                    parameter.add_(torch.randn_like(parameter) * 0.3)
    return built


def special_tokens(style: str) -> tuple[str, str, str]:
    """The tokens for padding, the start and the end of the tokenizers of `tests.tiny`."""
    return ("[PAD]", "[CLS]", "[SEP]") if style == "wordpiece" else ("<pad>", "<s>", "</s>")


def tokenizer(family: str) -> Any:
    """A tokenizer that knows its end token."""
    style = FAMILIES[family][0]
    built = tiny.fresh_tokenizer(style)
    built.pad_token, built.bos_token, built.eos_token = special_tokens(style)
    return built


def translator(family: str, **changes: Any) -> Translator:
    """A tiny translation model of one family."""
    return Translator(model(family, **changes), tokenizer(family), f"tiny {family}")

"""Small models with random weights, which are made on the spot: no network, no download."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

from ..corpora_loaders import load_treebank
from ..extractors import Encoder
from ..extractors.model.loading import quiet

_MASKED = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
_CAUSAL = ("<|endoftext|>",)
_PIECES = 400

FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
"""The folders of the models, which are removed when the program ends."""


@functools.cache
def small_encoder(*, layers: int = 2, heads: int = 3, causal: bool = False, seed: int = 0) -> Encoder:
    """Return a BERT, or a causal GPT-2, with random weights. Its folder has the language-model head as well.

    Example:
        >>> small_encoder(layers=1, heads=1)
        Encoder('small-bert', bert, 1 layer × 1 head, torch.float32)
    """
    FOLDERS.append(tempfile.TemporaryDirectory(prefix="attentionology-"))
    path = Path(FOLDERS[-1].name, "small-gpt2" if causal else "small-bert")
    tokenizer = _tokenizer(_CAUSAL if causal else _MASKED)
    with quiet():
        tokenizer.save_pretrained(path)
        _model(tokenizer, layers, heads, causal=causal, seed=seed).save_pretrained(path)
    return Encoder.from_pretrained(path)


@functools.cache
def _tokenizer(special: tuple[str, ...]) -> Any:
    """Return a tokenizer of bytes and of the most frequent pieces of the sample treebank, which reads every text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=_PIECES, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator((" ".join(sentence.words) for sentence in load_treebank("sample")), trainer)
    if special == _CAUSAL:
        return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token=special[0])
    pad, cls, sep, unk, mask = special
    ids = [(token, backend.token_to_id(token)) for token in (cls, sep)]
    backend.post_processor = processors.TemplateProcessing(single=f"{cls} $A {sep}", special_tokens=ids)
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token=pad, unk_token=unk, mask_token=mask)


def _model(tokenizer: Any, layers: int, heads: int, *, causal: bool, seed: int) -> Any:
    """Return a model whose attention is far from uniform, and whose layer norms and biases are random, too."""
    import torch
    import transformers

    special = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), tokenizer.pad_token_id)
    common: dict[str, Any] = {"vocab_size": len(tokenizer), **special}
    size = 8 * heads
    if causal:
        config: Any = transformers.GPT2Config(n_embd=size, n_layer=layers, n_head=heads, n_positions=512, **common)
        kind: Any = transformers.GPT2LMHeadModel
    else:
        config = transformers.BertConfig(
            hidden_size=size,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=2 * size,
            max_position_embeddings=512,
            **common,
        )
        kind = transformers.BertForMaskedLM
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = kind(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return model.eval()

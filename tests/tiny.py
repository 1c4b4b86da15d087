"""Tiny randomly initialized models with tokenizers trained on the spot: no network, no download."""

from __future__ import annotations

import functools
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import Encoder, extract_many
from attentionology.extractors.tokens.pieces import Pieces

SIZE = {
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}
DISTIL_SIZE = {"dim": 24, "n_layers": 3, "n_heads": 4, "hidden_dim": 32, "max_position_embeddings": 64}
FAMILIES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "bert": ("wordpiece", transformers.BertConfig, SIZE),
    "electra": ("wordpiece", transformers.ElectraConfig, {**SIZE, "embedding_size": 16}),
    "distilbert": ("wordpiece", transformers.DistilBertConfig, DISTIL_SIZE),
    "roberta": ("bytes", transformers.RobertaConfig, SIZE),
    "xlm-roberta": ("unigram", transformers.XLMRobertaConfig, SIZE),
    "camembert": ("unigram", transformers.CamembertConfig, SIZE),
    "albert": ("unigram", transformers.AlbertConfig, {**SIZE, "embedding_size": 16}),
    "mpnet": ("bytes", transformers.MPNetConfig, SIZE),
    "deberta": (
        "bytes",
        transformers.DebertaConfig,
        {**SIZE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 16},
    ),
    "deberta-v2": ("unigram", transformers.DebertaV2Config, SIZE),
    "modernbert": ("bytes", transformers.ModernBertConfig, {**SIZE, "global_attn_every_n_layers": 2}),
    "gpt2": (
        "bytes without specials",
        transformers.GPT2Config,
        {"n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 64},
    ),
    "bart": (
        "bytes",
        transformers.BartConfig,
        {"d_model": 24, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 64},
    ),
}  # fmt: skip


_DECODER = {
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 20,
    "max_position_embeddings": 64,
}
_SHARED = {**_DECODER, "num_key_value_heads": 2, "head_dim": 6}
_STYLE = "bytes without specials"
DECODERS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "llama": (_STYLE, transformers.LlamaConfig, _SHARED),
    "mistral": (_STYLE, transformers.MistralConfig, {**_SHARED, "sliding_window": 8}),
    "qwen2": (_STYLE, transformers.Qwen2Config, _SHARED),
    "qwen3": (_STYLE, transformers.Qwen3Config, {**_SHARED, "head_dim": 10}),
    "phi3": (_STYLE, transformers.Phi3Config, {**_SHARED, "partial_rotary_factor": 1.0}),
    "gemma2": (_STYLE, transformers.Gemma2Config, {**_SHARED, "sliding_window": 8, "query_pre_attn_scalar": 6}),
    "gemma3_text": (_STYLE, transformers.Gemma3TextConfig, {**_SHARED, "sliding_window": 8, "num_key_value_heads": 1}),
    "olmo2": (_STYLE, transformers.Olmo2Config, _SHARED),
    "opt": (
        _STYLE,
        transformers.OPTConfig,
        {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "ffn_dim": 20,
         "max_position_embeddings": 64, "word_embed_proj_dim": 24},
    ),
    "gpt_neox": (_STYLE, transformers.GPTNeoXConfig, {**_DECODER, "rotary_pct": 0.7}),
    "bloom": (_STYLE, transformers.BloomConfig, {"hidden_size": 24, "n_layer": 3, "n_head": 4}),
    "falcon": (
        _STYLE, transformers.FalconConfig, {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4}
    ),
}  # fmt: skip
"""Decoders with odd sizes: shared keys and values, small windows, and rotary dimensions below those of a head."""

_SINKS = {
    "gpt_oss": (
        _STYLE,
        transformers.GptOssConfig,
        {**_DECODER, "num_key_value_heads": 2, "head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1,
         "layer_types": ["sliding_attention", "full_attention", "full_attention"], "sliding_window": 8},
    )
}  # fmt: skip
_EVERY = {**FAMILIES, **DECODERS, **_SINKS}


def frequent_parts(texts: list[str], normalizer: Any, pre_tokenizer: Any, inside: str) -> Counter[str]:
    """All characters and the most frequent words and word ends, with counts; ``inside`` marks what starts no word.

    In place of the library's trainers of WordPiece and Unigram, which give another vocabulary in every process.
    """
    characters: Counter[str] = Counter()
    longer: Counter[str] = Counter()
    for text in texts:
        for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(text)):
            characters.update([word[0], *(inside + character for character in word[1:])])
            longer.update([word, *(inside + word[-n:] for n in (2, 3) if len(word) > n)])
    frequent = sorted(longer.items(), key=lambda part: (-part[1], part[0]))[:300]
    return Counter(dict(sorted(characters.items()))) | Counter(dict(frequent))


@functools.cache
def tokenizer(style: str) -> PreTrainedTokenizerFast:
    """A fast tokenizer of about 400 entries trained on the sample treebank."""
    words = [" ".join(sentence.words) for sentence in load_treebank(SAMPLE_TREEBANK)]
    roberta_like = style in ("bytes", "unigram")
    cls, sep = ("<s>", "</s>") if roberta_like else ("[CLS]", "[SEP]")
    special = ["<pad>", cls, sep, "<unk>", "<mask>"] if roberta_like else ["[PAD]", cls, sep, "[UNK]", "[MASK]"]
    if style == "bytes without specials":
        special = ["<|endoftext|>"]
    pad, unk = special[0], None if style.startswith("bytes") else special[3]
    normalizer: Any
    pre_tokenizer: Any
    if style == "wordpiece":
        normalizer, pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        parts = frequent_parts(words, normalizer, pre_tokenizer, inside="##")
        vocabulary = {part: i for i, part in enumerate([*special, *parts])}
        backend = Tokenizer(models.WordPiece(vocabulary, unk_token=unk))
    elif style == "unigram":
        normalizer, pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
        parts = frequent_parts(words, normalizer, pre_tokenizer, inside="")
        scores = [(part, math.log(count)) for part, count in parts.items()]
        backend = Tokenizer(
            models.Unigram([*((token, 0.0) for token in special), *scores], unk_id=special.index("<unk>"))
        )
    else:
        normalizer, pre_tokenizer = None, pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend = Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizer
        backend.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
        backend.train_from_iterator(words, trainer)
    if normalizer is not None:
        backend.normalizer = normalizer
        backend.pre_tokenizer = pre_tokenizer
        backend.add_special_tokens(special)
    if style != "bytes without specials":
        ids = [(token, backend.token_to_id(token)) for token in (cls, sep)]
        backend.post_processor = processors.TemplateProcessing(single=f"{cls} $A {sep}", special_tokens=ids)
    roles = {"pad_token": pad, "unk_token": unk} if unk else {"pad_token": pad}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **roles)


def _config(family: str, **changes: object) -> Any:
    """The configuration of a family, in which all special pieces are that for padding."""
    _, config_class, size = _EVERY[family]
    known = tokenizer(style(family))
    roles = ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")
    return config_class(**{"vocab_size": len(known), **dict.fromkeys(roles, known.pad_token_id), **size, **changes})


def build(config: Any, seed: int = 0) -> Any:
    """A randomly initialized model whose attention is far from uniform."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.AutoModel.from_config(config, attn_implementation="eager")
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.data.normal_(std=0.3)
    return model.eval()


def model(family: str, seed: int = 0, **changes: object) -> Any:
    """Such a model of one family."""
    return build(_config(family, **changes), seed)


def classifier(family: str = "bert", seed: int = 0, **changes: object) -> Any:
    """A randomly initialized sequence classifier with three classes, biases and layer norms random too."""
    labels = {"id2label": {0: "no", 1: "maybe", 2: "yes"}, "label2id": {"no": 0, "maybe": 1, "yes": 2}}
    config = _config(family, **{**labels, **changes})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        built = transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")
        with torch.no_grad():
            for parameter in built.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return built.eval()


def fresh_tokenizer(style: str) -> PreTrainedTokenizerFast:
    """A copy that a test may change."""
    trained = tokenizer(style)
    roles = {role: token for role, token in trained.special_tokens_map.items() if isinstance(token, str)}
    return PreTrainedTokenizerFast(tokenizer_object=trained.backend_tokenizer, **roles)


def style(family: str) -> str:
    """The style of the tokenizers of a family."""
    return _EVERY[family][0]


def save(folder: Path, family: str = "bert", seed: int = 0, mask: str | None = None, **changes: object) -> str:
    """The path of a tiny model on disk with its tokenizer, which may have a mask token."""
    model(family, seed, **changes).save_pretrained(folder)
    own = fresh_tokenizer(style(family))
    own.mask_token = mask
    own.save_pretrained(folder)
    return str(folder)


def encoder(family: str = "bert", seed: int = 0, **changes: object) -> Encoder:
    """A tiny encoder of one family."""
    return Encoder(model(family, seed, **changes), fresh_tokenizer(style(family)), f"tiny {family}")


def pieces(encoder: Any, sentence: Sentence) -> Pieces:
    """The pieces of a sentence that a model can read."""
    (found,) = encoder.align([sentence])
    assert isinstance(found, Pieces)
    return found


def randomize(family: str = "bert", **changes: Any) -> Encoder:
    """The same with biases and layer norms random too."""
    built = encoder(family, **changes)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in built.model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return built


def unmasked_bert(**changes: Any) -> Encoder:
    """A BERT whose attention falls on padding."""
    changed = encoder(**changes)
    run = changed._run
    changed._run = lambda ids, mask, *more, **options: run(ids, torch.ones_like(mask), *more, **options)  # type: ignore[method-assign]
    return changed


def spoil_attention(change: Callable[[tuple[torch.Tensor, ...]], tuple[torch.Tensor, ...]], **changes: Any) -> Encoder:
    """A BERT that gives something else in place of the attention of its layers."""
    changed = encoder(**changes)
    run = changed._run

    def other(*inputs: Any, **options: Any) -> Any:
        attentions, hidden = run(*inputs, **options)
        return change(attentions), hidden

    changed._run = other  # type: ignore[method-assign]
    return changed


def language_model(encoder: Encoder, kind: str) -> Any:
    """The weights of a tiny encoder with a language-model head, of the kind ``MaskedLM`` or ``CausalLM``."""
    torch.manual_seed(0)
    built = getattr(transformers, f"AutoModelFor{kind}").from_config(encoder.model.config, attn_implementation="eager")
    built.base_model.load_state_dict(encoder.model.state_dict(), strict=False)
    built.config.use_cache = False
    return built.eval()


def encoder_from_folder(**options: Any) -> Encoder:
    """A tiny BERT that went to disk and back."""
    with tempfile.TemporaryDirectory() as folder:
        return Encoder.from_pretrained(save(Path(folder)), **options)


def batches(maker: Any, encoder: Encoder, sentences: Any, **options: Any) -> Iterator[Any]:
    """What one maker makes of sentences."""
    return (batch for (batch,) in extract_many(encoder, sentences, [maker], **options))

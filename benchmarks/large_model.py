"""A model of the shape of BERT-large with random weights, and sentences of its greatest length, to measure memory."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = 508
VOCABULARY = 30522
_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_large_model(folder: Path) -> int:
    """Write the model and its tokenizer, with a piece for each word ``w0``, ``w1``, …; return the weights' size."""
    vocabulary = {word: i for i, word in enumerate([*_SPECIAL, *(f"w{i}" for i in range(VOCABULARY - len(_SPECIAL)))])}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106 no password
    backend.normalizer, backend.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    ends = [(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    roles = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **roles).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
        max_position_embeddings=512,
    )
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(folder)
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))


def write_long_sentences(path: Path, sentences: int = 3) -> None:
    """Write sentences of `WORDS` words, in which each word is the head of the next."""
    with path.open("w", encoding="utf-8") as file:
        for sentence in range(sentences):
            for word in range(1, WORDS + 1):
                form = f"w{(sentence * WORDS + 7919 * word) % (VOCABULARY - len(_SPECIAL))}"
                file.write(f"{word}\t{form}\t_\t_\t_\t_\t{word - 1}\t{'dep' if word > 1 else 'root'}\t_\t_\n")
            file.write("\n")

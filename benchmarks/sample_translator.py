"""Training the small translation model of the sample, from one seed.

Run ``python -m benchmarks.sample_translator FOLDER`` to make the whole sample again: the sentence
pairs, their gold links, and the model. This takes a few minutes. On one machine the result is the same every time;
another machine rounds differently, and its model differs in the last digits of every weight.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn

from attentionology.corpora_loaders.alignment import write_links
from attentionology.corpora_loaders.sample.translation import GOLD, MODEL, PAIRS
from attentionology.extractors.model.loading import quiet
from benchmarks.made_up_pair import SEED, MadeUpPair, Translation, make_pair

N_PAIRS = 200
STEPS = 1600
BATCH = 64
LEARNING_RATE = 3e-3
WARM_UP = 200

_PAD, _EOS, _UNK = "<pad>", "</s>", "<unk>"


def make_tokenizer(pair: MadeUpPair) -> Any:
    """Make the tokenizer, whose pieces are the syllables of both languages."""
    pieces = dict.fromkeys([_PAD, _EOS, _UNK, *pair.first, *(f"##{syllable}" for syllable in pair.further)])
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token=_UNK))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single=f"$A {_EOS}", special_tokens=[(_EOS, vocabulary[_EOS])]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token=_PAD, eos_token=_EOS, unk_token=_UNK
    )


def new_model(vocabulary: int, seed: int) -> Any:
    """Make an untrained Marian model of 2 + 2 layers with 4 heads each."""
    config = transformers.MarianConfig(
        vocab_size=vocabulary,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_position_embeddings=128,
        dropout=0.0,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        forced_eos_token_id=1,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return transformers.MarianMTModel._from_config(config, attn_implementation="eager")


def train(pair: MadeUpPair, tokenizer: Any, *, seed: int = SEED, steps: int = STEPS) -> Any:
    """Train a model on random sentences of the pair, each of which is read once."""
    model = new_model(len(tokenizer), seed).train()
    generator = random.Random(seed + 1)  # noqa: S311
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARM_UP, (steps - step) / max(1, steps - WARM_UP))
    )
    for _ in range(steps):
        batch = [pair.sentence(generator) for _ in range(BATCH)]
        source, source_mask = _padded(tokenizer, [translation.source for translation in batch])
        labels, labels_mask = _padded(tokenizer, [translation.target for translation in batch])
        inputs = model.prepare_decoder_input_ids_from_labels(labels)
        logits = model(
            input_ids=source, attention_mask=source_mask, decoder_input_ids=inputs, decoder_attention_mask=labels_mask
        ).logits
        loss = nn.functional.cross_entropy(logits[labels_mask.bool()], labels[labels_mask.bool()], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model to a folder, without position tables, which are computed, and without copies of tied weights."""
    folder.mkdir(parents=True, exist_ok=True)
    with quiet():
        model.config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    names = dict.fromkeys(name for name, _ in model.named_parameters() if "embed_positions" not in name)
    weights = {name: tensor for name, tensor in model.state_dict().items() if name in names}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def main(folder: str) -> None:
    """Make the sample in a folder: the sentence pairs, the gold links, and the model."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    pair = make_pair(SEED)
    sentences = unseen_sentences(pair)
    lines = (f"{' '.join(s.source)} ||| {' '.join(s.target)}\n" for s in sentences)
    (out / PAIRS).write_text("".join(lines), encoding="utf-8")
    write_links(out / GOLD, [sentence.links for sentence in sentences])
    tokenizer = make_tokenizer(pair)
    save(train(pair, tokenizer), tokenizer, out / MODEL)


def unseen_sentences(pair: MadeUpPair, *, seed: int = SEED, number: int = N_PAIRS) -> list[Translation]:
    """Make the sentence pairs of the sample, which the model has not read."""
    generator = random.Random(seed + 2)  # noqa: S311
    return [pair.sentence(generator) for _ in range(number)]


def _padded(tokenizer: Any, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
    encoded = tokenizer([" ".join(words) for words in sentences], padding=True, return_tensors="pt")
    return encoded.input_ids, encoded.attention_mask


if __name__ == "__main__":
    torch.set_num_threads(1)  # sums of several threads would differ from run to run
    main(sys.argv[1])

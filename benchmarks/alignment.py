"""What word alignment costs, in time and memory, against the forward pass of forced decoding.

    python -m benchmarks.alignment [--pairs 128] [--rounds 3] [--sample | --uniform]

The model is a randomly initialized Marian model of the size of opus-mt-de-en (6 + 6 layers with 8 heads, width 512,
58,101 pieces), or with --sample the small trained model of the sample. The pairs are made up, with about 25 words on
each side. Alignment is everything that ``attentionology align`` counts: weights and norms of all heads, single and
together, in both settings, with the bootstrap and the baselines. A run also reads the pairs that its report shows once
more, 60 of however many. It is timed with and without them.

There are two forward passes to compare with, both over the same batches. The plain one is the whole model, which
predicts every target piece. The other one ends before the language-model head and keeps attention, which is the least
that an alignment can do with. Times are medians over rounds in which all take turns, and ratios are medians of the
ratios within a round. Without the pairs that are shown, alignment should take at most 1.3 times the plain pass.

Pairs about which float32 cannot decide are read again in float64, which takes twice the time of the forward pass. How
many these are depends on how close the two best columns of a row often are. Random weights are scaled so that they are
about as close as in the trained model of the sample, where 1 to 2 % of the decisions differ by less than 1 %. With
--uniform they are not scaled. Then all columns are nearly the same, and nearly all pairs are read again.

Memory is the peak of a fresh process that leaves the pairs in their files, for a number of pairs, for four times and
for sixteen times that number; the differences should be small.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import re
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
import transformers

from attentionology.analyses import ExampleOptions, OptionSet
from attentionology.analyses.alignment.links import LinkMaker
from attentionology.analyses.alignment.series import all_series
from attentionology.corpora_loaders.alignment import (
    Bitext,
    LinkFile,
    PairLinks,
    SentencePair,
    add_links,
    load_bitext,
    write_links,
)
from attentionology.engine.align import AlignJob
from attentionology.engine.counting.job import plan_analyses
from attentionology.engine.counting.passes import run_passes
from attentionology.extractors.translation import Translator, load_sample_translator, read_pairs
from benchmarks.made_up_pair import SEED, make_pair
from benchmarks.measuring import peak_memory, ratio, take_turns
from benchmarks.sample_translator import make_tokenizer

WORDS = 25
VOCABULARY = 58101  # of opus-mt-de-en


def load_model(name: str) -> Translator:
    """Return the model of the sample, or one of the size of opus-mt with random weights.

    Args:
        name: ``"sample"``, ``"opus"``, or ``"uniform"`` for a model of that size whose attention is nearly uniform.
    """
    if name == "sample":
        return load_sample_translator()
    tokenizer = make_tokenizer(make_pair(SEED))
    size = {f"{side}_{name}": value for side in ("encoder", "decoder")
            for name, value in (("layers", 6), ("attention_heads", 8), ("ffn_dim", 2048))}  # fmt: skip
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": 1}
    config = transformers.MarianConfig(vocab_size=VOCABULARY, d_model=512, **size, **ids)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.MarianMTModel._from_config(config, attn_implementation="eager")
        with torch.no_grad():
            for parameter_name, parameter in model.named_parameters():
                if "_attn." in parameter_name:
                    parameter += torch.randn_like(parameter) / math.sqrt(config.d_model)
                if name == "opus" and re.search(r"encoder_attn\.[qk]_proj", parameter_name):
                    parameter *= 2  # attention that is far from uniform
            if name == "opus":
                words = model.get_input_embeddings().weight
                words.copy_(3 * torch.randn_like(words))  # words that differ more than positions
    return Translator(model, tokenizer, "opus-mt shape")


def make_bitext(number: int) -> Bitext:
    """Make up sentence pairs of about `WORDS` words on each side, with their links."""
    languages, generator = make_pair(SEED), random.Random(0)  # noqa: S311
    pairs, gold = [], []
    for index in range(number):
        source: list[str] = []
        target: list[str] = []
        links: list[tuple[int, int]] = []
        while len(source) < WORDS:
            sentence = languages.sentence(generator)
            links += [(i + len(source), j + len(target)) for i, j in sentence.links]
            source, target = [*source, *sentence.source], [*target, *sentence.target]
        pairs.append(SentencePair(id=str(index), source=tuple(source), words=tuple(target)))
        gold.append(PairLinks.of(links, []))
    file = LinkFile("made up", "", "talp", one_based=False, links=tuple(gold))
    return add_links(Bitext(tuple(pairs), total=number), file)


def align_all(model: Translator, bitext: Bitext, *, examples: int | None = None) -> None:
    """Count everything that the analysis counts, and keep some pairs to show."""
    options = AlignJob(OptionSet([ExampleOptions(examples)]))
    prepared = options.prepare(model=model, corpus=bitext)
    run_passes(plan_analyses(prepared).passes, prepared.setting.model, limits=prepared.limits)


@torch.inference_mode()
def forward_plain(model: Translator, bitext: Bitext) -> None:
    """Run the whole model on the same batches without asking for anything."""
    pad = model.model.config.pad_token_id
    for batch in read_pairs(model, bitext.pairs):
        source, source_mask = padded([pair.source.ids for pair in batch.pieces], pad)
        target, target_mask = padded([pair.target.ids for pair in batch.pieces], pad)
        model.model(
            input_ids=source,
            attention_mask=source_mask,
            decoder_input_ids=target,
            decoder_attention_mask=target_mask,
            use_cache=False,
        )


def padded(rows: list[list[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids padded on the right, and the mask that is 1 on pieces."""
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad)
    lengths = torch.tensor([len(row) for row in rows])
    return ids, (torch.arange(ids.shape[1]) < lengths[:, None]).long()


def forward_attention(model: Translator, bitext: Bitext) -> None:
    """Run the model without its language-model head on the same batches, and keep its cross-attention."""
    for batch in read_pairs(model, bitext.pairs):
        model.decode(batch.pieces)


def close_share(model: Translator, bitext: Bitext) -> float:
    """Return the share of the pairs that are read again in float64."""
    maker = LinkMaker(tuple(all_series()))
    n_close = (int(maker.in_float32(batch)[1].count_nonzero()) for batch in read_pairs(model, bitext.pairs))
    return sum(n_close) / len(bitext)


def memory_of(folder: Path, name: str) -> float:
    """Return the peak memory of this process after alignment, in MB.

    Args:
        folder: the folder with the files of the pairs, which stay in their files.
        name: the name of the model.
    """
    torch.set_num_threads(1)
    align_all(load_model(name), load_bitext(folder / "pairs", gold=folder / "gold"))
    return peak_memory()


def write_bitext(bitext: Bitext, folder: Path) -> None:
    """Write sentence pairs and their gold links to files."""
    lines = (f"{' '.join(pair.source)} ||| {' '.join(pair.words)}\n" for pair in bitext.pairs)
    (folder / "pairs").write_text("".join(lines), encoding="utf-8")
    write_links(folder / "gold", (pair.gold.sure if pair.gold else () for pair in bitext.pairs))


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    models = parser.add_mutually_exclusive_group()
    models.add_argument("--sample", action="store_true", help="measure the model of the sample")
    models.add_argument("--uniform", action="store_true", help="measure a model with nearly uniform attention")
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory")
    options = parser.parse_args()
    torch.set_num_threads(1)
    name = "sample" if options.sample else "uniform" if options.uniform else "opus"
    model, bitext = load_model(name), make_bitext(options.pairs)
    contestants = {
        "plain": lambda: forward_plain(model, bitext),
        "attention": lambda: forward_attention(model, bitext),
        "align": lambda: align_all(model, bitext, examples=0),
        "whole": lambda: align_all(model, bitext),
    }
    seconds = take_turns(contestants, options.rounds)
    times = {contestant: statistics.median(taken) for contestant, taken in seconds.items()}
    print(f"{model!r}, {options.pairs} pairs, {close_share(model, bitext):.1%} of which are read again in float64")
    print(f"plain forward pass {times['plain']:.2f} s, up to cross-attention {times['attention']:.2f} s")
    for name, what in (("align", "alignment"), ("whole", "with pairs to show")):
        ratios = [f"{ratio(seconds[name], seconds[base]):.2f}" for base in ("plain", "attention")]
        print(f"{what} {times[name]:.2f} s: {ratios[0]} × plain, {ratios[1]} × up to cross-attention")
    if options.no_memory:
        return
    for number in (options.pairs, 4 * options.pairs, 16 * options.pairs):
        with (
            tempfile.TemporaryDirectory() as folder,
            ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        ):
            write_bitext(make_bitext(number), Path(folder))
            peak = pool.submit(memory_of, Path(folder), name).result()
        print(f"peak memory for {number} pairs: {peak:.0f} MB")


if __name__ == "__main__":
    main()

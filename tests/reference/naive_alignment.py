"""Cross-attention maps of one sentence pair in float64, one cell at a time, straight from the definitions."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from attentionology.corpora_loaders.alignment import SentencePair

Words = list[list[int]]


def word_pieces(tokenizer: Any, words: tuple[str, ...], space: str) -> Words:
    return [tokenizer(space + word, add_special_tokens=False).input_ids for word in words]


def run(model: Any, source: list[int], target: list[int]) -> tuple[list[np.ndarray], np.ndarray]:
    """The cross-attention of all layers, each (heads, target, source), and the encoder's output."""
    inputs = {"input_ids": torch.tensor([source]), "decoder_input_ids": torch.tensor([target])}
    ones = {"attention_mask": torch.ones(1, len(source)), "decoder_attention_mask": torch.ones(1, len(target))}
    with torch.no_grad():
        if model.config.model_type == "fsmt":  # its own causal mask overflows in float64
            body, n = model.model, len(target)
            x = body.encoder(inputs["input_ids"], attention_mask=ones["attention_mask"]).last_hidden_state
            causal = torch.full((n, n), -1e300, dtype=torch.float64).triu(1)
            mask = torch.zeros(1, n, dtype=torch.bool)
            output = body.decoder(
                inputs["decoder_input_ids"], x, ones["attention_mask"], mask, causal, output_attentions=True
            )
        else:
            output = model(**inputs, **ones, output_attentions=True, use_cache=False)
            x = output.encoder_last_hidden_state
    return [alpha[0].numpy() for alpha in output.cross_attentions], x[0].numpy()


def projections(model: Any, layer: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W_V, b_V and W_O, applied as x @ W + b."""
    if hasattr(model, "model"):
        block = model.model.decoder.layers[layer].encoder_attn
        value, output = block.v_proj, block.out_proj
    else:
        block = model.decoder.block[layer].layer[1].EncDecAttention
        value, output = block.v, block.o
    w_v = value.weight.detach().numpy().T
    b_v = np.zeros(w_v.shape[1]) if value.bias is None else value.bias.detach().numpy()
    return w_v, b_v, output.weight.detach().numpy().T


def vectors(alpha: np.ndarray, x: np.ndarray, weights: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """α f(x), one vector for each head, target and source piece."""
    w_v, b_v, w_o = weights
    heads, targets, sources = alpha.shape
    size = w_v.shape[1] // heads
    result = np.zeros((heads, targets, sources, w_o.shape[1]))
    for h in range(heads):
        part = slice(h * size, (h + 1) * size)
        for j in range(sources):
            f = (x[j] @ w_v[:, part] + b_v[part]) @ w_o[part]
            for i in range(targets):
                result[h, i, j] = alpha[h, i, j] * f
    return result


def merged(cells: np.ndarray, rows: Words, columns: Words) -> np.ndarray:
    """Mean over the rows of each word and sum over the columns of each; cells are numbers or vectors."""
    result = np.zeros((len(cells), len(rows), len(columns), *cells.shape[3:]))
    for h in range(len(cells)):
        for a, from_ in enumerate(rows):
            for b, to in enumerate(columns):
                result[h, a, b] = cells[h][np.ix_(from_, to)].sum((0, 1)) / len(from_)
    return result


def groups(words: Words, before: int) -> Words:
    """The positions of each word's pieces, which begin after ``before`` other positions."""
    result, position = [], before
    for pieces in words:
        result.append(list(range(position, position + len(pieces))))
        position += len(pieces)
    return result


def naive_maps(model: Any, tokenizer: Any, pair: SentencePair, *, space: str = "") -> dict[tuple[str, str], np.ndarray]:
    """The maps of all kinds and settings, each (layers, heads, target words, source words and special tokens)."""
    double = copy.deepcopy(model).double()
    start, end = tokenizer.convert_tokens_to_ids([tokenizer.bos_token, tokenizer.eos_token])
    source, target = (word_pieces(tokenizer, words, space) for words in (pair.source, pair.words))
    source_ids = [start, *(piece for word in source for piece in word), end]
    first = double.config.decoder_start_token_id
    if double.config.model_type in ("mbart", "plbart", "fsmt"):  # these begin with the last label
        first = end
    target_ids = [first, start, *(piece for word in target for piece in word)]
    attentions, x = run(double, source_ids, target_ids)
    columns = [[0], *groups(source, 1), [len(source_ids) - 1]]
    result: dict[tuple[str, str], list[np.ndarray]] = {}
    for layer, alpha in enumerate(attentions):
        of_heads = vectors(alpha, x, projections(double, layer))
        of_layer = of_heads.sum(0, keepdims=True)
        norms = {"norm": np.linalg.norm(of_heads, axis=-1), "attn": np.linalg.norm(of_layer, axis=-1)}
        for setting, before in (("AWI", 2), ("AWO", 1)):
            rows = groups(target, before)
            maps = {
                "weight": merged(alpha, rows, columns),
                **{kind: merged(cells, rows, columns) for kind, cells in norms.items()},
                "norm vector": np.linalg.norm(merged(of_heads, rows, columns), axis=-1),
                "attn vector": np.linalg.norm(merged(of_layer, rows, columns), axis=-1),
            }
            for kind, cells in maps.items():
                result.setdefault((kind, setting), []).append(cells)
    return {name: np.stack(cells) for name, cells in result.items()}


def naive_links(cells: np.ndarray) -> set[tuple[int, int]]:
    """The links of one map (target words, source words and special tokens), source word first."""
    links = set()
    for target, row in enumerate(cells):
        best = 0
        for column in range(len(row)):
            if row[column] > row[best]:
                best = column
        if 0 < best < len(row) - 1:
            links.add((best - 1, target))
    return links


def naive_itermax(cosines: np.ndarray) -> set[tuple[int, int]]:
    """The links of one pair, as (source word, target word); rows are target words and columns are source words."""
    links: set[tuple[int, int]] = set()
    for _ in range(2):
        values: dict[tuple[int, int], float] = {}
        for target in range(cosines.shape[0]):
            for source in range(cosines.shape[1]):
                has_links = [any(i == source for i, _ in links), any(j == target for _, j in links)]
                if not all(has_links):
                    similarity = (1 + float(cosines[target, source])) / 2
                    values[source, target] = 0.9 * similarity if any(has_links) else similarity
        # Of equal values, the first is taken: the largest value, and of those the smallest position.
        best_target = {i: min((-value, j) for (k, j), value in values.items() if k == i)[1] for i, _ in values}
        best_source = {j: min((-value, i) for (i, k), value in values.items() if k == j)[1] for _, j in values}
        links |= {(i, j) for i, j in values if best_target[i] == j and best_source[j] == i}
    return links

"""Alignment by encoders, by similarity and by self-attention, against a naive float64 loop over single pairs."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import processors

from attentionology import Encoder
from attentionology.analyses import AlignmentOptions
from attentionology.analyses.alignment.series import all_series
from attentionology.corpora_loaders.alignment import Bitext, LinkFile, PairLinks, SentencePair, add_links
from attentionology.engine.align import align
from attentionology.extractors import MapMaker, ModelError, get_kind
from attentionology.extractors.translation import PairEncoder, SimilarityMaker, read_pairs
from attentionology.extractors.translation.pair_encoder import PairMethod
from tests import tiny, tiny_translation
from tests.reference.naive_alignment import naive_itermax
from tests.reference.test_symmetrization import naive_symmetrized

PAIRS = tiny_translation.PAIRS


def pieces_of(tokenizer: Any, words: tuple[str, ...], space: str) -> list[list[int]]:
    return [tokenizer(space + word, add_special_tokens=False).input_ids for word in words]


def run(model: Any, ids: list[int], segments: list[int] | None = None) -> Any:
    inputs = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
    if segments is not None:
        inputs["token_type_ids"] = torch.tensor([segments])
    with torch.no_grad():
        return model(**inputs, output_attentions=True, output_hidden_states=True)


def naive_similarity(model: Any, tokenizer: Any, pair: SentencePair, space: str) -> np.ndarray:
    """Cosines of the mean vectors of words; (layers, target words, source words)."""
    double = copy.deepcopy(model).double()
    cls, sep = tokenizer.convert_tokens_to_ids(list(special(tokenizer)))
    vectors = []
    for words in (pair.words, pair.source):
        pieces = pieces_of(tokenizer, words, space)
        hidden = run(double, [cls, *(piece for word in pieces for piece in word), sep]).hidden_states[1:]
        layers = []
        for layer in hidden:
            position, rows = 1, []
            for word in pieces:
                rows.append(layer[0, position : position + len(word)].numpy().mean(0))
                position += len(word)
            layers.append(rows)
        vectors.append(layers)
    result = np.zeros((len(vectors[0]), len(pair.words), len(pair.source)))
    for layer, i, j in np.ndindex(*result.shape):
        u, v = vectors[0][layer][i], vectors[1][layer][j]
        result[layer, i, j] = u @ v / np.sqrt((u @ u) * (v @ v))
    return result


def naive_self_attention(model: Any, tokenizer: Any, pair: SentencePair, space: str) -> np.ndarray:
    """Attention in one input; (layers, heads, target words, source words)."""
    double = copy.deepcopy(model).double()
    cls, sep = tokenizer.convert_tokens_to_ids(list(special(tokenizer)))
    source, target = (pieces_of(tokenizer, words, space) for words in (pair.source, pair.words))
    has_segments = special(tokenizer)[0] == "[CLS]"
    middle = [sep] if has_segments else [sep, sep]
    first = [cls, *(piece for word in source for piece in word), *middle]
    second = [*(piece for word in target for piece in word), sep]
    segments = [0] * len(first) + [1] * len(second) if has_segments else None
    attentions = run(double, first + second, segments).attentions
    result = np.zeros((len(attentions), attentions[0].shape[1], len(target), len(source)))
    for layer, alpha in enumerate(attentions):
        for head in range(alpha.shape[1]):
            row = len(first)
            for i, from_ in enumerate(target):
                column = 1
                for j, to in enumerate(source):
                    block = alpha[0, head, row : row + len(from_), column : column + len(to)].numpy()
                    result[layer, head, i, j] = block.sum() / len(from_)
                    column += len(to)
                row += len(from_)
    return result


def special(tokenizer: Any) -> tuple[str, str]:
    return ("[CLS]", "[SEP]") if "[CLS]" in tokenizer.get_vocab() else ("<s>", "</s>")


def encoder_of(family: str, method: PairMethod) -> PairEncoder:
    tokenizer = tiny.fresh_tokenizer(tiny.FAMILIES[family][0])
    encoder = Encoder(tiny.randomize(family).model, tokenizer, f"tiny {family}")
    names = special(tokenizer)
    # The tokenizers of the tests have no template of their own for two texts.
    pairs = "[CLS] $A [SEP] $B:1 [SEP]:1" if names[0] == "[CLS]" else "<s> $A </s> </s> $B </s>"
    ids = list(zip(names, tokenizer.convert_tokens_to_ids(list(names)), strict=True))
    single = f"{names[0]} $A {names[1]}"
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=single, pair=pairs, special_tokens=ids
    )
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    return PairEncoder(encoder, method)


@pytest.mark.parametrize("batch_cells", [2**16, 1])
def test_similarities_are_those_of_a_naive_loop(batch_cells):
    encoder = encoder_of("bert", "similarity")
    for batch in read_pairs(encoder, PAIRS, batch_cells=batch_cells):
        [maps] = batch.maps([SimilarityMaker()])
        for index, (pair, (_, array)) in enumerate(zip(batch.sentences, maps.unpadded(), strict=True)):
            naive = naive_similarity(encoder.model, encoder.tokenizer, pair, "")
            np.testing.assert_allclose(array[:, 0], naive, atol=1e-5)
            np.testing.assert_allclose(maps.exact([index])[0][:, 0], naive, atol=1e-12)


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_self_attention_is_that_of_a_naive_loop(family):
    encoder = encoder_of(family, "self-attention")
    [batch] = read_pairs(encoder, PAIRS)
    weights, norms = batch.maps([MapMaker(get_kind("weight")), MapMaker(get_kind("norm"))])
    assert norms.maps.shape == weights.maps.shape
    for index, (pair, (_, array)) in enumerate(zip(batch.sentences, weights.unpadded(), strict=True)):
        naive = naive_self_attention(encoder.model, encoder.tokenizer, pair, "")
        np.testing.assert_allclose(array, naive, atol=1e-5)
        np.testing.assert_allclose(weights.exact([index])[0], naive, atol=1e-12)


def test_links_and_scores_are_those_of_a_naive_loop():
    gold = [PairLinks.of([(0, 0)], [(0, len(pair) - 1)]) for pair in PAIRS]
    file = LinkFile("gold", "", "talp", one_based=False, links=tuple(gold))
    bitext = add_links(Bitext(tuple(PAIRS), total=3), file)
    encoder = encoder_of("bert", "similarity")
    run = align(encoder, bitext, options=[AlignmentOptions(method="similarity", replicates=0)])
    cells = run["alignment"].cells
    assert set(cells["direction"]) == {each.direction for each in all_series("similarity", both=True)}
    assert run["alignment"].chosen.series.direction == "intersection"
    for direction in ("forward", "intersection", "itermax"):
        for layer in range(encoder.n_layers):
            links = hits = possible_hits = 0
            for pair, known in zip(PAIRS, gold, strict=True):
                cosines = naive_similarity(encoder.model, encoder.tokenizer, pair, "")[layer]
                forward = {(int(row.argmax()), i) for i, row in enumerate(cosines)}
                reverse = {(j, int(column.argmax())) for j, column in enumerate(cosines.T)}
                size = (len(pair.source), len(pair))
                if direction == "itermax":
                    found = naive_itermax(cosines)
                else:
                    found = forward if direction == "forward" else naive_symmetrized(forward, reverse, size, direction)
                links, hits = links + len(found), hits + len(found & known.sure)
                possible_hits += len(found & known.possible)
            row = cells.query("direction == @direction and layer == @layer + 1").iloc[0]
            assert row[["links", "hits_sure", "hits_possible", "sure"]].tolist() == [links, hits, possible_hits, 3]


def test_a_model_of_another_method_is_refused():
    encoder = encoder_of("bert", "similarity")
    [batch] = read_pairs(encoder, PAIRS[:1])
    with pytest.raises(ModelError, match="not made by the method 'similarity'"):
        batch.maps([MapMaker(get_kind("weight"))])
    with pytest.raises(ValueError, match="method must be one of similarity, self-attention"):
        PairEncoder(encoder.encoder, "telepathy")

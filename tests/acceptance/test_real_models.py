"""Trained models on real treebanks: exact counts, and nothing that depends on how it was computed."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import transformers

import attentionology
from attentionology.analyses import DependencyOptions, EnsembleOptions
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.extractors import Encoder, ExtractionLog, extract
from tests.reference import naive
from tests.reference.test_dependency import as_counter


def counts(encoder, sentences, relations, **options):
    batches = list(extract(encoder, sentences, log=ExtractionLog(), **options))
    accuracy = DependencyAccuracy(relations, *batches[0].maps.shape[1:3], replicates=0)
    for batch in batches:
        accuracy.update(batch)
    return accuracy


@pytest.mark.slow
def test_counts_on_ewt_equal_the_naive_float32_counts(demo_encoder, ewt):
    """All 46 relations × 2 directions × 72 heads, as single sentences in float32 give them, in every third sentence."""
    assert len(ewt.relations) == 46
    sentences = list(ewt)[::3]
    accuracy = counts(demo_encoder, sentences, list(ewt.relations))
    maps = [naive.word_map(demo_encoder.model, demo_encoder.tokenizer, s.words).astype(np.float32) for s in sentences]
    expected, _ = naive.dependency_counts(sentences, maps)
    assert as_counter(accuracy.compute().cells) == dict(expected)


OTHER_KINDS = ("norm", "attnresln", "globenc", "alti", "alti-l2", "value-zeroing", "rollout:attnres")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "limit"),
    [
        *((name, "weight", 30) for name in ("en_partut", "fr_gsd", "ko_kaist")),
        *(("en_partut", kind, 15) for kind in OTHER_KINDS),
    ],
)
def test_counts_do_not_depend_on_batches_threads_or_order(demo_encoder, data_file, name, kind, limit):
    treebank = load_treebank(data_file(f"ud/{name}-dev.conllu"), limit=limit)
    relations = list(treebank.relations)
    reference = counts(demo_encoder, treebank, relations, kind=kind)
    shuffled = [treebank[i] for i in np.random.default_rng(1).permutation(len(treebank))]
    threads = torch.get_num_threads()
    for n_threads, cells in ((1, 1), (2, 2**19)):
        torch.set_num_threads(n_threads)
        try:
            other = counts(demo_encoder, shuffled, relations, kind=kind, batch_cells=cells)
        finally:
            torch.set_num_threads(threads)
        assert torch.equal(other.counts, reference.counts)


def test_albert_with_shared_layers(data_file, tmp_path):
    """A trained ALBERT whose twelve layers are one: every layer gives its own map, and they differ."""
    folder = data_file("models/rxnmapper_albert")
    config = transformers.AlbertConfig(**json.loads((folder / "config.json").read_text()))
    model = transformers.AlbertModel._from_config(config, attn_implementation="eager")
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True, map_location="cpu")
    state = {k.removeprefix("albert."): v for k, v in weights.items() if k.startswith("albert.")}
    missing = model.load_state_dict(state, strict=False).missing_keys
    assert not [key for key in missing if "pooler" not in key]
    encoder = Encoder(model, transformers.BertTokenizer.from_pretrained(folder, do_lower_case=False))
    assert (encoder.n_layers, encoder.n_heads) == (12, 8)
    smiles = "C C O . C C ( = O ) O > > C C O C ( C ) = O"
    reaction = Sentence("r", tuple(smiles.split()))
    short = Sentence("s", ("C", "C", "O"))
    (batch,) = extract(encoder, [short, reaction])
    for sentence, array in batch.unpadded():
        expected = naive.word_map(encoder.model, encoder.tokenizer, sentence.words)
        np.testing.assert_allclose(array, expected, atol=1e-5)
    first, last = batch.maps[0, 0], batch.maps[0, -1]
    assert (first - last).abs().max() > 0.1


@pytest.mark.slow
def test_ensembles_on_ewt_find_more_than_one_head(demo_encoder, data_file):
    """On 700 sentences, held out: case 80.2 % and aux (with its subtype aux:pass) 79.1 %, by a search written apart."""
    treebank = load_treebank(data_file("ud/en_ewt-dev.conllu"), limit=700)
    options = [
        DependencyOptions(coarse=True),
        EnsembleOptions(ensembles=4, ensemble_method="raw"),
        CountOptions(replicates=0),
    ]
    run = attentionology.analyze(demo_encoder, treebank, analyses="dependency", options=options)
    found = run.tables["dependency_ensembles"].set_index("relation")["heldout_accuracy"]
    assert found["case"] == pytest.approx(0.802, abs=0.002)
    assert found["aux"] == pytest.approx(0.791, abs=0.002)

"""What the analysis of norms leaves on disk, and published numbers beside one's own."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import attentionology
from attentionology.analyses.counting.resampling import sentence_keys
from attentionology.analyses.norms.block import FeedForwardBlock
from attentionology.analyses.norms.feed_forward import FeedForwardChange, with_examples
from attentionology.analyses.norms.frequency import FrequencyCorrelation, FrequencyTables
from attentionology.analyses.norms.mixing import MixingRatios
from attentionology.analyses.norms.paper import PUBLISHED, published_numbers
from attentionology.analyses.norms.rows import layers_table
from attentionology.analyses.norms.shares import NormShares
from attentionology.analyses.norms.spread import WeightsAndNorms
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import MIXING_VARIANTS, NormMaker, StageMaker
from attentionology.extractors.tokens.pieces import Pieces
from attentionology.reports.page import write_report
from tests import tiny
from tests.norms import changed_results, made_results, norms_section
from tests.unit.test_reports import RUN

COMPONENTS = ("FF", "RES", "LN")


@pytest.fixture(scope="module")
def results():
    encoder = tiny.encoder()
    sentences = [
        Sentence("<s>", ("the", "man", "&", "<b>", "."), heads=(2, 0, 2, 2, 2), relations=("det", *["nsubj"] * 4)),
        Sentence("t", ("a", "dog"), heads=(2, 0), relations=("det", "nsubj")),
    ]
    shares, mixing, frequency = NormShares(3, 4), MixingRatios(3), FrequencyCorrelation(1000)
    spread = WeightsAndNorms(3, 4)
    for batch in tiny.batches(NormMaker(), encoder, sentences):
        for metric in (shares, spread, mixing, frequency):
            metric.update(batch)
    change, block = FeedForwardChange(3, COMPONENTS, top=3), FeedForwardBlock(3, COMPONENTS, 24, ["det", "nsubj"])
    for stages in tiny.batches(StageMaker(), encoder, sentences):
        change.update(stages)
        block.update(stages)
    found = change.compute()
    texts = [
        {"key": int(key), "id": sentence.id, "words": list(sentence.words), "pieces": list(pieces.tokens)}
        for key, sentence, pieces in zip(
            sentence_keys([s.id for s in sentences]).view("int64"), sentences, encoder.align(sentences), strict=True
        )
        if isinstance(pieces, Pieces)
    ]
    answers = {
        "shares": shares.compute(),
        "spread": spread.compute(),
        "mixing": mixing.compute(),
        "frequency": FrequencyTables(frequency.compute(), frequency.points()),
        "expansion": pd.DataFrame({"layer": [1, 2, 3], "expansion": [0.5, 1.0, 2.0]}),
        "feed_forward": found._replace(amplified=with_examples(found.amplified, texts)),
        "block": block.compute(),
    }
    return made_results(answers, notes=("mind the <gap>",))


def test_names_of_published_models():
    assert published_numbers("google-bert/bert-base-uncased") is PUBLISHED["bert-base-uncased"]
    assert published_numbers("bert-base-uncased/") is PUBLISHED["bert-base-uncased"]
    assert published_numbers("bert-base-cased") is None


def test_published_numbers_fit_the_tables():
    """Twelve layers, known variants, and the mean expansion rate is that of the layers."""
    for numbers in PUBLISHED.values():
        assert set(numbers.mixing) <= set(MIXING_VARIANTS)
        for mean, highest, lowest in numbers.mixing.values():
            assert lowest <= mean <= highest <= 100
        assert numbers.mixing["attnres-w"][0] == pytest.approx(numbers.mixing["attn-w"][0] / 2, abs=0.02)
    bert = PUBLISHED["bert-base-uncased"]
    assert sum(bert.expansion_by_layer) / 12 == pytest.approx(0.877, abs=1e-3)  # the mean that the notebook gives
    assert {len(values) for values in bert.mixing_by_layer.values()} == {12}
    assert sum(bert.mixing_by_layer["all"]) / 12 == pytest.approx(bert.mixing["attnresln-n"][0], abs=0.5)


@pytest.mark.slow
def test_without_the_feed_forward_block(results, tmp_path):
    section = norms_section(changed_results(results, feed_forward=None, block=None))
    write_report(tmp_path, run=RUN, sections=[section])
    assert not (tmp_path / "tables" / "norms_change.csv").exists()
    assert (tmp_path / "report.html").read_text().count("<svg") == 4
    assert "FFB" not in [column.heading for column in layers_table(changed_results(results, feed_forward=None)).columns]
    assert "FFB" in [column.heading for column in layers_table(results).columns]


class SmallSample(FrequencyCorrelation):
    def __init__(self, vocabulary, ranks=None):
        super().__init__(vocabulary, ranks, most_tokens=100)


@pytest.mark.slow
def test_a_sample_of_sentences_is_said_in_the_notes(monkeypatch):
    encoder, corpus = tiny.encoder(max_position_embeddings=200), load_treebank(SAMPLE_TREEBANK, limit=12)
    whole = attentionology.analyze(encoder, corpus, analyses="norms")["norms"]
    assert not any("sampled" in note for note in whole.notes)
    monkeypatch.setattr("attentionology.analyses.norms.frequency.FrequencyCorrelation", SmallSample)
    sampled = attentionology.analyze(encoder, corpus, analyses="norms")["norms"]
    [note] = [note for note in sampled.notes if "sampled" in note]
    kept, total = map(int, re.findall(r"\d+", note))
    assert 0 < kept < total == 12
    assert kept < sampled.frequency.correlations["count"].max() <= 100 < whole.frequency.correlations["count"].max()

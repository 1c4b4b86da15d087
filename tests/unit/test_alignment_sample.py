"""The sample of the alignment analysis: what its maker makes again, and the pattern of the paper in its numbers."""

from __future__ import annotations

import os
import random

import pytest

from attentionology.analyses.alignment.options import AlignmentOptions
from attentionology.corpora_loaders.alignment import load_bitext, load_links
from attentionology.corpora_loaders.sample.translation import SAMPLE_GOLD, SAMPLE_PAIRS, SAMPLE_TRANSLATOR
from attentionology.engine.align import align
from attentionology.engine.run import Run
from attentionology.extractors.translation import Translator
from benchmarks.made_up_pair import SEED, make_pair
from benchmarks.sample_translator import make_tokenizer, save, train, unseen_sentences


@pytest.fixture(scope="module")
def run() -> Run:
    return align(options=[AlignmentOptions(replicates=0)])


def check_pattern(run: Run) -> None:
    """AWI is good in layer 1 and AWO is not; in layer 2, norms are better than weights, which rest on the end."""
    cells = run["alignment"].tables.cells.query("heads == 'all'").set_index(["layer", "setting", "measure"])
    rates, specials = cells["error_rate"], cells["on_special"]
    for measure in ("weight", "norm"):
        assert rates[1, "AWI", measure] < 0.15
        assert rates[1, "AWO", measure] > 0.35
    assert rates[2, "AWO", "norm"] < rates[2, "AWO", "weight"]
    assert specials[2, "AWI", "norm"] < specials[2, "AWI", "weight"]


def test_the_trained_model_shows_the_pattern_of_the_paper(run):
    check_pattern(run)
    assert run.record["sentences"]["read"] == 200
    assert not run.record["sentences"]["unknown_words"]


def test_choices_without_gold_and_baselines_are_reported(run):
    results = run["alignment"]
    best = results.tables.best.set_index(["setting", "measure", "heads"])
    assert best.loc[("AWI", "norm", "all"), "layer"] == 1
    assert best.loc[("AWI", "norm", "all"), "heldout_error_rate"] < 0.15
    diagonal, same = results.tables.baselines["error_rate"]
    assert best["error_rate"].min() < same < diagonal


def test_pairs_and_links_are_those_of_the_maker():
    bitext = load_bitext(SAMPLE_PAIRS)
    gold = load_links(SAMPLE_GOLD, bitext)
    made = unseen_sentences(make_pair(SEED))
    assert [(pair.source, pair.words) for pair in bitext.pairs] == [(pair.source, pair.target) for pair in made]
    assert [links.sure for links in gold.links] == [frozenset(pair.links) for pair in made]
    assert (SAMPLE_TRANSLATOR / "model.safetensors").stat().st_size <= 2**20


def test_translations_follow_the_rules():
    pair = make_pair(SEED)
    words = list(pair.lexicon)
    opener = next(word for word in words if pair.lexicon[word].block == 3)
    plain = [word for word in words if pair.lexicon[word].block == 1][:4]
    source = [plain[0], opener, *plain[1:]]

    class Kept(random.Random):
        def random(self) -> float:
            return 1.0  # no word is left out

    translation = pair.translate(source, Kept())
    order = list(dict.fromkeys(link[0] for link in translation.links))
    assert order == [0, 3, 2, 1, 4]
    assert translation.target == tuple(word for k in order for word in pair.lexicon[source[k]].translation)
    assert len({*pair.lexicon}) == 300


@pytest.mark.slow
@pytest.mark.skipif(
    "ATTENTIONOLOGY_TRAIN" not in os.environ, reason="takes minutes; set ATTENTIONOLOGY_TRAIN to run it"
)
def test_a_model_that_is_trained_again_shows_the_pattern(tmp_path):
    pair = make_pair(SEED)
    tokenizer = make_tokenizer(pair)
    save(train(pair, tokenizer), tokenizer, tmp_path)
    check_pattern(align(Translator.from_pretrained(tmp_path), options=[AlignmentOptions(replicates=0)]))

"""The links that are written: those of every pair in order, read window by window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attentionology.analyses.alignment import results
from attentionology.analyses.alignment.links import LinkMaker
from attentionology.analyses.alignment.results import LayerChoice, chosen_links
from attentionology.analyses.alignment.series import Series
from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.alignment import SentencePair, load_bitext
from attentionology.corpora_loaders.sample.translation import SAMPLE_PAIRS
from attentionology.engine.passes import Limits, reader_of
from attentionology.extractors.translation import CrossMapMaker, extract_cross, load_sample_translator

CHOICE = LayerChoice(Series("AWI", "weight"), layer=1, by_gold=True)


def test_links_are_those_of_the_layer_in_the_order_of_the_pairs(monkeypatch):
    monkeypatch.setattr(results, "WINDOW", 4)
    translator = load_sample_translator()
    too_long = SentencePair(id="long", source=("bad",) * 40, words=("mä",) * 40)
    pairs: list[Sentence] = list(load_bitext(SAMPLE_PAIRS, limit=9).pairs)
    pairs.insert(5, too_long)
    read_windows: list[list[str]] = []
    read_with_limit = reader_of(translator, Limits(max_length=40))

    def read(inputs: Sequence[Sentence], maker: Any) -> Iterator[Any]:
        read_windows.append([pair.id for pair in inputs])
        yield from read_with_limit(inputs, maker)

    links = list(chosen_links(pairs, CHOICE, "norm", read))
    assert [len(window) for window in read_windows] == [4, 4, 2]
    assert links[5] == ()
    for pair, linked in zip(pairs, links, strict=True):
        assert isinstance(pair, SentencePair)
        if pair is too_long:
            continue
        [(batch,)] = extract_cross(translator, [pair], [CrossMapMaker("weight", "AWI")])
        maps = batch.maps[0, CHOICE.layer].double().mean(0).numpy()  # the mean of all heads
        best = maps.argmax(-1)
        expected = {(int(s), t) for t, s in enumerate(best[: len(pair)]) if s < len(pair.source)}
        assert set(linked) == expected
        assert not np.isclose(np.sort(maps, axis=-1)[:, -1], np.sort(maps, axis=-1)[:, -2], rtol=1e-6).any()


def test_only_the_chosen_series_is_made():
    made: list[LinkMaker] = []

    def read(inputs: Sequence[Sentence], maker: Any) -> Iterator[Any]:
        made.append(maker)
        return iter(())

    pair = SentencePair(id="1", source=("bad",), words=("mä",))
    assert list(chosen_links([pair], CHOICE, "vector", read)) == [()]
    assert list(chosen_links([], CHOICE, "norm", read)) == []
    assert made == [LinkMaker((CHOICE.series,), "vector")]

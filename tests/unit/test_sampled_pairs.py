"""The sentence pairs that an alignment run keeps: their maps, gold links and decisions, however the text is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attentionology.analyses import ExampleOptions
from attentionology.analyses.alignment import links as links_module
from attentionology.analyses.alignment.inputs import read_bitext
from attentionology.analyses.alignment.options import AlignmentOptions, BitextOptions, LinkOptions
from attentionology.analyses.alignment.sample_maps import PairsToDraw
from attentionology.analyses.alignment.series import TO_SOURCE, Series
from attentionology.analyses.shared.input_sample import MOST_ROWS, InputSample
from attentionology.analyses.shared.sampled_input import LEVELS
from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.alignment import Bitext, PairLinks, SentencePair, load_bitext
from attentionology.corpora_loaders.sample.translation import SAMPLE_PAIRS
from attentionology.engine.align import align
from attentionology.engine.counting.passes import Limits, reader_of
from attentionology.engine.merge import merge_runs
from attentionology.engine.results.run import Run
from attentionology.engine.stored_run import report_run
from attentionology.extractors.translation import (
    CrossMapMaker,
    PairEncoder,
    extract_cross,
    load_sample_translator,
    read_pairs,
)
from attentionology.reports.explorer.data import Sample, SampledSentence
from tests import tiny, tiny_translation
from tests.maps import inflate

PAIRS = 24
KEPT = 9
SINGLE = ("AWI-norm", "AWI-weight", "AWO-norm", "AWO-weight")
KINDS = (*SINGLE, *(f"{kind}-all" for kind in SINGLE))


def bitext() -> Bitext:
    """Some pairs of the sample. Every third link is only possible."""
    corpus = read_bitext(BitextOptions(limit=PAIRS))
    pairs = []
    for pair in corpus.pairs:
        links = sorted(pair.gold.possible if pair.gold else ())
        pairs.append(replace(pair, gold=PairLinks.of([k for n, k in enumerate(links) if n % 3], links)))
    return Bitext(tuple(pairs), corpus.files, total=corpus.total, gold=corpus.gold)


def run_of(corpus: Bitext, out: Path | None = None, examples: int = KEPT) -> Run:
    groups: list[Any] = [AlignmentOptions(replicates=0), ExampleOptions(examples)]
    return align(bitext=corpus, options=groups, out=out)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    links = out / "links.talp"
    groups: list[Any] = [AlignmentOptions(replicates=0), ExampleOptions(KEPT), LinkOptions(links)]
    return align(bitext=bitext(), options=groups, out=out / "run"), links


@pytest.fixture(scope="module")
def sentences(whole) -> dict[str, SampledSentence]:
    sample = sample_of(whole[0])
    assert sample.kinds == KINDS
    assert sample.layer_kinds == KINDS[4:]
    assert sample.share_kinds == tuple(kind for kind in KINDS if "weight" in kind)
    return {each.id: each for each in sample.sentences}


def sample_of(run: Run) -> Sample:
    sample = run.explore().explorer.sample
    assert sample is not None
    return sample


def decoded(sentence: SampledSentence, kind: str, heads: int) -> tuple[Any, Any]:
    """The maps of a kind, and how far the rounding may have moved a value."""
    stored = sentence.maps[kind]
    shape = (2, heads, len(sentence.rows), len(sentence.columns or ()))
    scales = np.array(stored.scales).reshape(2, heads, 1, 1)
    maps = np.frombuffer(inflate(stored.data), dtype=np.uint8).reshape(shape) / LEVELS * scales
    return maps, 0.51 / LEVELS * scales


def guesses_of(sentence: SampledSentence, kind: str, heads: int) -> Any:
    picked = np.frombuffer(inflate(sentence.guesses[f"{kind}/{TO_SOURCE}"]), dtype="<u2")
    return picked.reshape(2, heads, len(sentence.rows))


@pytest.mark.parametrize("setting", ["AWI", "AWO"])
def test_maps_and_guesses_are_those_of_the_translator(sentences, setting):
    """The oracle takes all pairs in one batch, in float32, and finds largest values with numpy."""
    kept = [pair for pair in bitext().pairs if pair.id in sentences]
    assert len(kept) == KEPT
    makers = [CrossMapMaker(kind, setting) for kind in ("weight", "norm", "attn")]
    for weight, norm, together in extract_cross(load_sample_translator(), kept, makers):
        for index, pair in enumerate(weight.sentences):
            sentence = sentences[pair.id]
            weights, norms, sums = (list(batch.unpadded())[index][1] for batch in (weight, norm, together))
            assert sentence.columns == (*pair.source, "</s>")  # type: ignore[attr-defined]
            assert sentence.rows == pair.words
            assert sentence.special_columns == (*[False] * len(pair.source), True)  # type: ignore[attr-defined]
            expected = {
                "weight": weights,
                "norm": norms,
                "weight-all": weights.mean(1, keepdims=True),
                "norm-all": sums,
            }
            for name, maps in expected.items():
                drawn, error = decoded(sentence, f"{setting}-{name}", maps.shape[1])
                assert (np.abs(drawn - maps) <= error + 1e-5).all(), (name, index)
                picked = guesses_of(sentence, f"{setting}-{name}", maps.shape[1])
                chosen = np.take_along_axis(maps, picked[..., None].astype(int), -1)[..., 0]
                assert (chosen >= maps.max(-1) * (1 - 1e-4)).all()
                assert (picked == maps.argmax(-1)).mean() > 0.99


def test_links_are_the_gold_links(sentences):
    gold = {pair.id: pair.gold or PairLinks() for pair in bitext().pairs}
    possible = 0
    for sentence in sentences.values():
        links = {(link.column, link.row): link.sure for link in sentence.links}
        assert links == {link: link in gold[sentence.id].sure for link in gold[sentence.id].possible}
        possible += sum(not sure for sure in links.values())
    assert possible > KEPT


def test_guesses_are_the_links_that_are_written(whole, sentences):
    run, path = whole
    series, layer = run["alignment"].chosen.series, run["alignment"].chosen.layer
    lines = path.read_text().splitlines()
    for pair, line in zip(bitext().pairs, lines, strict=True):
        if pair.id in sentences:
            picked = guesses_of(sentences[pair.id], f"{series.setting}-{series.measure}-all", 1)[layer, 0]
            links = {f"{source}-{target}" for target, source in enumerate(picked) if source < len(pair.source)}
            assert links == set(line.split())


def test_right_words_add_up_to_the_counts_of_the_tables(whole):
    """If all pairs are kept, the guesses have as many links and hits as the tables count for each head."""
    corpus = bitext()
    run = run_of(corpus, examples=PAIRS)
    kept = sample_of(run).sentences
    assert len(kept) == PAIRS
    cells = run.alignment.cells.query("heads == 'single'")
    for row in cells.to_dict("records"):
        layer, head = row["layer"], row["head"]
        links = sure = possible = 0
        for sentence in kept:
            picked = guesses_of(sentence, f"{row['setting']}-{row['measure']}", 4)[layer - 1, head - 1]
            gold = {(link.row, link.column): link.sure for link in sentence.links}
            made = [(k, column) for k, column in enumerate(picked) if column < len(sentence.columns or ()) - 1]
            links += len(made)
            sure += sum(gold.get(link, False) for link in made)
            possible += sum(link in gold for link in made)
        assert (links, sure, possible) == (row["links"], row["hits_sure"], row["hits_possible"])


def sampled_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "states").glob("examples-*.safetensors")}


@pytest.mark.slow
def test_merged_runs_and_reports_have_the_same_pairs(whole, tmp_path):
    run, _ = whole
    corpus = bitext()
    cuts = [(0, 5), (5, 16), (16, PAIRS)]
    for number, (start, stop) in enumerate(cuts):
        run_of(replace(corpus, sentences=corpus.sentences[start:stop], files=()), tmp_path / f"part{number}")
    merged = merge_runs([tmp_path / f"part{number}" for number in (2, 0, 1)], tmp_path / "merged")
    assert len(sampled_files(run.folder)) == len(KINDS)
    assert sampled_files(tmp_path / "merged") == sampled_files(run.folder)
    assert merged.explore().explorer.sample == run.explore().explorer.sample
    report_run(run.folder, tmp_path / "again")
    assert (tmp_path / "again" / "report.html").read_bytes() == (run.folder / "report.html").read_bytes()


def test_long_pairs_are_counted_but_not_kept():
    reader = tiny_translation.translator("t5")
    [short] = read_pairs(reader, [SentencePair(id="short", source=("the",), words=("the",))])
    room = MOST_ROWS - short.pieces[0].source.special.count(True)
    fitting = SentencePair(id="fits", source=("the",) * room, words=("the",) * MOST_ROWS)
    pairs = [replace(fitting, id="a", source=(*fitting.source, "the")), fitting]
    pairs.append(replace(fitting, id="b", words=(*fitting.words, "the")))
    series = (Series("AWI", "weight"),)
    metric = InputSample(3, 1, size=3, kind="AWI-weight-all")
    for batch in read_pairs(reader, pairs):
        metric.update(PairsToDraw(series).of(batch))
    assert [each.annotation.id for each in metric.sort_inputs()] == ["fits"]
    assert metric.sort_inputs()[0].shape == (3, 1, MOST_ROWS, MOST_ROWS, 0)
    assert (int(metric.inputs), int(metric.too_long)) == (3, 2)


def test_pairs_without_gold_links_are_kept_without_links():
    corpus = replace(bitext(), gold=None)
    plain = replace(corpus, sentences=tuple(replace(pair, gold=None) for pair in corpus.pairs))
    kept = sample_of(run_of(plain)).sentences
    assert len(kept) == KEPT
    assert all(not each.links and each.guesses for each in kept)


@pytest.mark.parametrize(
    ("method", "kinds"), [("similarity", ("cosine",)), ("self-attention", ("norm", "weight", "norm-all", "weight-all"))]
)
def test_encoders_have_their_maps_too(method, kinds):
    reader = PairEncoder(tiny.encoder(max_position_embeddings=200), method)
    groups: list[Any] = [AlignmentOptions(replicates=0, method=method), ExampleOptions(4)]
    explorer = align(reader, replace(bitext(), sentences=bitext().sentences[:6]), options=groups).explore().explorer
    assert explorer.heads == (1 if method == "similarity" else reader.n_heads)
    assert {measure.kind for measure in explorer.measures} == set(kinds)
    assert {measure.relation for measure in explorer.measures} == {"alignment"}
    assert explorer.sample is not None
    assert explorer.sample.kinds == kinds
    for sentence in explorer.sample.sentences:
        assert sentence.columns is not None
        assert not any(sentence.special_columns or ())
        picked = np.frombuffer(inflate(sentence.guesses[f"{kinds[0]}/{TO_SOURCE}"]), dtype="<u2")
        assert picked.max() < len(sentence.columns)


SERIES, LAYER = Series("AWI", "weight"), 1


def test_links_are_those_of_the_layer_in_the_order_of_the_pairs(monkeypatch):
    monkeypatch.setattr(links_module, "WINDOW", 4)
    translator = load_sample_translator()
    too_long = SentencePair(id="long", source=("bad",) * 40, words=("mä",) * 40)
    pairs: list[Sentence] = list(load_bitext(SAMPLE_PAIRS, limit=9).pairs)
    pairs.insert(5, too_long)
    read_windows: list[list[str]] = []
    read_with_limit = reader_of(translator, Limits(max_length=40))

    def read(inputs: Sequence[Sentence], maker: Any) -> Iterator[Any]:
        read_windows.append([pair.id for pair in inputs])
        yield from read_with_limit(inputs, maker)

    links = list(links_module.chosen_links(pairs, SERIES, LAYER, "norm", read))
    assert [len(window) for window in read_windows] == [4, 4, 2]
    assert links[5] == ()
    for pair, linked in zip(pairs, links, strict=True):
        assert isinstance(pair, SentencePair)
        if pair is too_long:
            continue
        [(batch,)] = extract_cross(translator, [pair], [CrossMapMaker("weight", "AWI")])
        maps = batch.maps[0, LAYER].double().mean(0).numpy()  # the mean of all heads
        best = maps.argmax(-1)
        expected = {(int(s), t) for t, s in enumerate(best[: len(pair)]) if s < len(pair.source)}
        assert set(linked) == expected
        assert not np.isclose(np.sort(maps, axis=-1)[:, -1], np.sort(maps, axis=-1)[:, -2], rtol=1e-6).any()

"""Surface statistics against sums written out, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch

from attentionology import analyze
from attentionology.analyses.shared.options import CountOptions, MapOptions
from attentionology.analyses.surface.figures import statistics_figure
from attentionology.analyses.surface.labels import Thresholds, label_heads
from attentionology.analyses.surface.shares import layers_table
from attentionology.analyses.surface.statistics import SurfaceStatistics
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import MapBatch, extract
from tests import tiny
from tests.reference import naive_surface
from tests.surface import explored_surface


def hand_made(maps: list[np.ndarray], special: list[list[bool]], forms: list[tuple[str, ...]]) -> MapBatch:
    """A padded batch of maps of shape (layers, heads, n, n)."""
    n = max(m.shape[-1] for m in maps)
    padded = torch.zeros(len(maps), *maps[0].shape[:2], n, n)
    mask = torch.zeros(len(maps), n, dtype=torch.bool)
    for row, m in enumerate(maps):
        padded[row, ..., : m.shape[-1], : m.shape[-1]] = torch.from_numpy(m.astype(np.float32))
        mask[row, : len(special[row])] = torch.tensor(special[row])
    sentences = tuple(Sentence(f"s{i}", ("w",)) for i in range(len(maps)))
    lengths = torch.tensor([m.shape[-1] for m in maps])
    return MapBatch(padded, lengths, mask, sentences, tuple(forms), tuple(forms), level="token")


def random_batch(rng: np.random.Generator, size: int = 5, specials: bool = True) -> MapBatch:
    maps, special, forms = [], [], []
    for _ in range(size):
        n = int(rng.integers(2 if specials else 1, 9))
        maps.append(rng.dirichlet(np.full(n, 0.3), size=(2, 3, n)))
        flags = rng.random(n) < 0.15
        flags[[0, -1]] = specials
        if not specials:
            flags[:] = False
        special.append(flags.tolist())
        forms.append(tuple(rng.choice([".", ",", "!?", "a", "dog", "x."], size=n).tolist()))
    return hand_made(maps, special, forms)


def expected(
    batches: list[MapBatch], smoothing: float = 0.0, *, causal: bool = False
) -> dict[tuple[int, int], dict[str, tuple[float, float]]]:
    """Macro and pooled means of each statistic by layer and head."""
    found: dict[tuple[int, int], dict[str, tuple[float, float]]] = {}
    for layer in range(batches[0].maps.shape[1]):
        for head in range(batches[0].maps.shape[2]):
            by_input = [
                naive_surface.statistics(
                    array[layer, head],
                    batch.special[row, : array.shape[-1]].tolist(),
                    batch.forms[row],
                    smoothing,
                    causal=causal,
                )
                for batch in batches
                for row, (_, array) in enumerate(batch.unpadded())
            ]
            found[layer + 1, head + 1] = {}
            for name in by_input[0]:
                counted = [one[name] for one in by_input if one[name][1]]
                macro = np.mean([total / rows for total, rows in counted]) if counted else math.nan
                rows = sum(rows for _, rows in counted)
                found[layer + 1, head + 1][name] = (
                    float(macro),
                    sum(total for total, _ in counted) / rows if rows else math.nan,
                )
    return found


def compare(metric: SurfaceStatistics, batches: list[MapBatch], smoothing: float = 0.0) -> None:
    tables = metric.compute()
    oracle = expected(batches, smoothing, causal=metric.causal)
    offsets = {(row["layer"], row["head"], row["offset"]): row for row in tables.offsets.to_dict("records")}
    assert len(offsets) == len(tables.offsets)
    for row in tables.heads.to_dict("records"):
        want = oracle[row["layer"], row["head"]]
        for name in metric.statistics:
            assert row[name] == pytest.approx(want[name][0], abs=1e-6, nan_ok=True), name
            assert row[name + "_pooled"] == pytest.approx(want[name][1], abs=1e-6, nan_ok=True), name
        for o in metric.offsets:
            cell = offsets[row["layer"], row["head"], o]
            assert cell["attention"] == pytest.approx(want[f"offset {o}"][0], abs=1e-6, nan_ok=True)
            assert cell["attention_pooled"] == pytest.approx(want[f"offset {o}"][1], abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("smoothing", [0.0, 1e-4, 0.2])
@pytest.mark.parametrize("specials", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_against_sums_written_out(seed, specials, smoothing):
    rng = np.random.default_rng(seed)
    batches = [random_batch(rng, specials=specials) for _ in range(2)]
    metric = SurfaceStatistics(2, 3, smoothing=smoothing)
    for batch in batches:
        metric.update(batch)
    compare(metric, batches, smoothing)


@pytest.mark.parametrize(("family", "smoothing"), [("bert", 0.0), ("roberta", 0.0), ("gpt2", 0.0), ("gpt2", 0.2)])
@pytest.mark.parametrize("level", ["token", "word"])
def test_on_what_a_model_gives(family, smoothing, level):
    encoder = tiny.encoder(family)
    sentences = load_treebank(SAMPLE_TREEBANK, limit=5)
    batches = list(extract(encoder, sentences, level=level, max_length=60))
    metric = SurfaceStatistics(3, 4, smoothing=smoothing, causal=encoder.causal)
    for batch in batches:
        metric.update(batch)
    compare(metric, batches, smoothing)


@pytest.mark.parametrize("level", ["token", "word"])
@pytest.mark.parametrize("smoothing", [0.0, 1e-4])
def test_learned_sinks_are_a_class_of_their_own(level, smoothing):
    """What the rows of gpt-oss lack to 1 goes to the sink, and entropies are those of what goes to tokens."""
    encoder = tiny.randomize("gpt_oss")
    batches = list(extract(encoder, load_treebank(SAMPLE_TREEBANK, limit=5), level=level))
    metric = SurfaceStatistics(3, 4, smoothing=smoothing, causal=True, sinks=True)
    for batch in batches:
        metric.update(batch)
    compare(metric, batches, smoothing)
    heads = metric.compute().heads
    assert heads["learned_sink"].between(0.02, 0.9).all()
    assert "learned_sink" not in SurfaceStatistics(3, 4).compute().heads


def test_rows_above_one_are_no_rows_with_sinks():
    """Sinks take from a row and never add to it."""
    batch = random_batch(np.random.default_rng(1))
    batch.maps.mul_(1.01)
    with pytest.raises(ValueError, match="rows sum to 1 only within"):
        SurfaceStatistics(2, 3, sinks=True).update(batch)


def test_a_run_shows_the_share_of_learned_sinks():
    """The terminal, the figure, the explorer and the comparable statistics show the values of the table."""
    run = analyze(tiny.randomize("gpt_oss"), load_treebank(SAMPLE_TREEBANK, limit=4), analyses=["surface", "clusters"])
    layers, heads = run.surface.tables.layers, run.surface.tables.heads
    shown = layers_table(run.surface)
    column = next(column for column in shown.columns if column.heading == "learned sink")
    assert [column.text(row) for row in shown.rows] == [f"{100 * value:.1f}" for value in layers["learned_sink"]]
    figure = statistics_figure(heads, run.surface.specials)
    panel = next(axes for axes in figure.axes if axes.get_ylabel() == "to the learned sink (%)")
    np.testing.assert_allclose(np.asarray(panel.collections[0].get_offsets())[:, 1], 100 * heads["learned_sink"])
    measure = next(each for each in explored_surface(run.surface, "weight").measures if "learned_sink" in each.id)
    np.testing.assert_allclose(np.array(measure.values, dtype=float), heads["learned_sink"], atol=1e-6)
    assert any("learned sinks" in note for note in run.surface.notes)
    by_row = MapOptions(("weight",), normalize="row")
    treebank = load_treebank(SAMPLE_TREEBANK, limit=4)
    divided = analyze(tiny.randomize("gpt_oss"), treebank, analyses=["surface"], options=by_row)
    assert "learned_sink" not in divided.surface.tables.heads


@pytest.mark.parametrize("specials", [True, False])
def test_causal_rows_are_compared_with_what_they_see(specials):
    """A head that attends to all that it sees has the entropy of uniform attention, and none is on the right."""
    batches = [random_batch(np.random.default_rng(5), specials=specials)]
    for batch in batches:
        n = batch.maps.shape[-1]
        seen = torch.tril(torch.ones(n, n)) / torch.arange(1, n + 1)[:, None]
        rows, columns = batch.words[:, :, None] | batch.special[:, :, None], torch.arange(n) < batch.lengths[:, None]
        batch.maps.copy_((seen * (rows & columns[:, None]))[:, None, None].expand_as(batch.maps))
    metric = SurfaceStatistics(2, 3, causal=True)
    metric.update(batches[0])
    compare(metric, batches)
    tables = metric.compute()
    assert tables.heads["entropy_relative"].tolist() == pytest.approx([1.0] * 6)
    assert tables.heads["entropy"].tolist() == pytest.approx([tables.layers["uniform_entropy"].iloc[0]] * 6)
    assert (tables.heads["next"].fillna(0) == 0).all()
    assert (label_heads(tables.heads)["labels"].str.contains("broad")).all()


def test_a_run_says_that_the_model_is_causal():
    """The page and the terminal say what that means for offsets and entropy, and what the first word then is."""
    treebank = load_treebank(SAMPLE_TREEBANK, limit=3)
    encoder = tiny.encoder("llama", max_position_embeddings=200)
    run = analyze(encoder, treebank, analyses="surface", options=[CountOptions(replicates=0)])
    shown = " ".join(run.record["surface"]["notes"])
    assert "The model is causal" in shown
    assert "Inputs begin with no special token" in shown
    assert shown.split()[0] in " ".join(layers_table(run.parts[0].results).notes)
    (batch,) = extract(encoder, treebank, level="token")
    metric = SurfaceStatistics(3, 4, causal=True)
    metric.update(batch)
    assert run.parts[0].results.tables.heads["entropy_relative"].tolist() == pytest.approx(
        metric.compute().heads["entropy_relative"].tolist()
    )
    assert "causal" not in " ".join(
        analyze(tiny.encoder(), treebank, analyses="surface", options=[CountOptions(replicates=0)]).record["surface"][
            "notes"
        ]
    )


def test_by_hand():
    """[CLS] a . [SEP]: one head looks at the next token, [SEP] at itself."""
    alpha = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1.0]])[None, None]
    metric = SurfaceStatistics(1, 1, reach=2)
    metric.update(hand_made([alpha], [[True, False, False, True]], [("[CLS]", "a", ".", "[SEP]")]))
    tables = metric.compute()
    row = tables.heads.iloc[0]
    assert row["next"] == 1  # three of three rows that have a next token; the published code says 3/4
    assert row["previous"] == 0
    assert row["self"] == 1 / 4
    assert row["last_special"] == 1 / 2
    assert row["first_special"] == 0
    assert row["period_comma"] == row["punctuation"] == 1 / 4
    assert row["other"] == 1 / 4
    assert row["last_to_last"] == 1
    assert row["rest_to_last"] == pytest.approx(1 / 3)
    assert row["entropy"] == 0
    assert tables.layers["uniform_entropy"].item() == pytest.approx(math.log(4))
    assert tables.layers["sink"].item() == "last_special"
    assert dict(zip(tables.offsets["offset"], tables.offsets["rows"], strict=True)) == {-2: 2, -1: 3, 0: 4, 1: 3, 2: 2}
    counts = tables.counts.set_index("statistic")
    assert counts.loc[["rest_to_last"]].to_numpy().tolist() == [[1, 3]]
    labeled = label_heads(tables.heads)
    assert labeled["label"].item() == labeled["labels"].item() == "next"
    assert label_heads(tables.heads, Thresholds(target=0.4))["labels"].item() == "next last-special"


def test_uniform_attention():
    n = 7
    metric = SurfaceStatistics(1, 1)
    metric.update(hand_made([np.full((1, 1, n, n), 1 / n)], [[True] + [False] * 5 + [True]], [tuple("<ab.d,>")]))
    row = metric.compute().heads.iloc[0]
    assert row["entropy"] == pytest.approx(math.log(n))
    assert [row["entropy_relative"], row["entropy_first_relative"]] == pytest.approx([1, 1])
    assert [row["rest_to_first"], row["first_to_first"], row["self"]] == pytest.approx([1 / n] * 3)
    assert label_heads(metric.compute().heads)["label"].item() == "broad"


@pytest.mark.parametrize("seed", range(3))
def test_what_must_sum_to_one(seed):
    rng = np.random.default_rng(seed)
    batch = random_batch(rng)
    batch.special[:, 1] = False  # in a text of no words there is no last special token to attend to
    batch = hand_made(
        [array for (_, array), n in zip(batch.unpadded(), batch.lengths, strict=True) if n > 2],
        [flags[:n].tolist() for flags, n in zip(batch.special, batch.lengths, strict=True) if n > 2],
        [forms for forms in batch.forms if len(forms) > 2],
    )
    metric = SurfaceStatistics(2, 3, reach=9)
    metric.update(batch)
    tables = metric.compute()
    for suffix in ("", "_pooled"):
        shares = tables.heads[[n + suffix for n in ("first_special", "last_special", "punctuation", "other")]]
        assert shares.sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-6)
    own = tables.offsets.assign(mass=tables.offsets["attention_pooled"].fillna(0) * tables.offsets["rows"])
    by_head = own.groupby(["layer", "head"])["mass"].sum() / int(batch.lengths.sum())
    assert by_head.to_numpy() == pytest.approx(1, abs=1e-6)


def test_parts_add_up_to_the_whole():
    rng = np.random.default_rng(0)
    batches = [random_batch(rng) for _ in range(4)]
    whole, one, two = (SurfaceStatistics(2, 3) for _ in range(3))
    for k, batch in enumerate(batches):
        whole.update(batch)
        (one if k % 2 else two).update(batch)
    one.merge_state(two)
    for mine, theirs in zip(one.compute(), whole.compute(), strict=True):
        pd.testing.assert_frame_equal(mine, theirs, check_exact=True)


def test_batches_and_padding_do_not_matter():
    encoder = tiny.encoder("bert")
    sentences = load_treebank(SAMPLE_TREEBANK, limit=12)
    tables = []
    for cells in (1, 2**17):
        metric = SurfaceStatistics(3, 4)
        for batch in extract(encoder, sentences, level="token", batch_cells=cells, max_length=60):
            metric.update(batch)
        tables.append(metric.compute())
    pd.testing.assert_frame_equal(tables[0].heads, tables[1].heads, atol=2e-6)
    pd.testing.assert_frame_equal(tables[0].counts, tables[1].counts)


def test_rows_must_be_distributions():
    batch = hand_made([np.full((1, 1, 3, 3), 0.5)], [[True, False, True]], [("[CLS]", "a", "[SEP]")])
    metric = SurfaceStatistics(1, 1)
    with pytest.raises(ValueError, match="normalize='row'"):
        metric.update(batch)
    assert metric.compute().heads["self"].isna().all()  # nothing of it was counted


def test_what_cannot_be_analyzed():
    batch = hand_made([np.full((1, 1, 2, 2), 0.5)], [[True, True]], [("[CLS]", "[SEP]")])
    with pytest.raises(ValueError, match="2 × 2 were expected"):
        SurfaceStatistics(2, 2).update(batch)
    with pytest.raises(ValueError, match="no forms"):
        SurfaceStatistics(1, 1).update(MapBatch(batch.maps, batch.lengths, batch.special, batch.sentences))
    with pytest.raises(ValueError, match="reach"):
        SurfaceStatistics(1, 1, reach=0)

"""Surface patterns, gradients and clusters of heads, on real data and as a user meets them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

from attentionology.analyses.surface.statistics import SMOOTHING, SurfaceStatistics
from attentionology.corpora_loaders import load_text
from attentionology.extractors import extract, make_segments
from attentionology.scripts.cli import main
from tests import tiny
from tests.outlines import FIGURES


def published_formulas(alpha: np.ndarray, tokens: list[str], smoothing: float) -> dict[str, np.ndarray]:
    """Cells 5 and 7 of the published notebook on one document, shape (layers, heads); divisors corrected."""
    n = alpha.shape[-1]
    cls = np.array([t == "[CLS]" for t in tokens], dtype=float)
    sep = np.array([t == "[SEP]" for t in tokens], dtype=float)
    punct = np.array([t in (".", ",") for t in tokens], dtype=float)
    selectors = {
        "self": (np.eye(n), n),
        "next": (np.eye(n, k=1), n - 1),
        "previous": (np.eye(n, k=-1), n - 1),
        "last_special": (np.tile(sep, (n, 1)), n),
        "last_to_last": (np.outer(sep, sep), sep.sum()),
        "rest_to_last": (np.outer(1 - sep, sep), n - sep.sum()),
        "first_special": (np.tile(cls, (n, 1)), n),
        "period_comma": (np.tile(punct, (n, 1)), n),
    }
    found = {key: (alpha * selector).sum((-1, -2)) / divisor for key, (selector, divisor) in selectors.items()}
    smooth = (1 - smoothing) * alpha + smoothing / n
    entropies = -(smooth * np.log(smooth)).sum(-1)
    return {**found, "entropy": entropies.mean(-1), "entropy_first": entropies[..., 0]}


def compare(metric: SurfaceStatistics, documents: list[dict[str, np.ndarray]], lengths: list[int]) -> None:
    tables = metric.compute()
    for name in documents[0]:
        expected = np.mean([one[name] for one in documents], axis=0)
        found = tables.heads[name].to_numpy().reshape(expected.shape)
        assert np.abs(found - expected).max() < 1e-5, name
    assert tables.layers["uniform_entropy"].to_numpy() == pytest.approx(np.log(lengths).mean())


@torch.no_grad()
def attention(encoder, ids: list[int]) -> np.ndarray:
    output = encoder.model(input_ids=torch.tensor([ids]), output_attentions=True)
    return torch.stack(output.attentions)[:, 0].double().numpy()


@pytest.mark.slow
def test_sentences_against_the_published_formulas(demo_encoder, ewt):
    sentences = list(ewt)[::8]
    metrics = {smoothing: SurfaceStatistics(6, 12, smoothing=smoothing) for smoothing in (0.0, SMOOTHING)}
    for batch in extract(demo_encoder, sentences, level="token"):
        for metric in metrics.values():
            metric.update(batch)
    documents: dict[float, list[dict[str, np.ndarray]]] = {smoothing: [] for smoothing in metrics}
    lengths = []
    for sentence in sentences:
        ids = demo_encoder.tokenizer(list(sentence.words), is_split_into_words=True).input_ids
        tokens = demo_encoder.tokenizer.convert_ids_to_tokens(ids)
        alpha = attention(demo_encoder, ids)
        with np.errstate(divide="ignore", invalid="ignore"):
            for smoothing in metrics:
                documents[smoothing].append(published_formulas(alpha, tokens, smoothing))
        lengths.append(len(ids))
    for smoothing, metric in metrics.items():
        compare(metric, documents[smoothing], lengths)


@pytest.fixture(scope="module")
def segments(demo_encoder, data_file):
    text = load_text(data_file("text/wiki_valid_paragraphs.txt"))
    return make_segments(demo_encoder, text, 12)


@pytest.mark.slow
def test_segments_against_the_published_formulas(demo_encoder, segments):
    metric = SurfaceStatistics(6, 12)
    for batch in extract(demo_encoder, segments, level="token"):
        metric.update(batch)
    pieces = [segment.pieces for segment in segments.sentences]
    assert all(p.tokens.count("[SEP]") == 2 and len(p) <= 128 for p in pieces)
    documents = [published_formulas(attention(demo_encoder, p.ids), p.tokens, 0.0) for p in pieces]
    compare(metric, documents, [len(p) for p in pieces])


@pytest.mark.slow
def test_all_of_the_text_is_read(demo_encoder, data_file):
    text = load_text(data_file("text/wiki_valid_paragraphs.txt"))
    segments = make_segments(demo_encoder, text)
    words = [form for segment in segments.sentences for form in segment.words]
    assert len(segments) == segments.made >= 992
    assert len(words) + segments.left_over == segments.text_pieces
    tokens = [token for p in text[:50] for token in demo_encoder.tokenizer.tokenize(p.text)]
    assert words[:5000] == [token.removeprefix("##") if len(token) > 2 else token for token in tokens][:5000]


@pytest.mark.slow
def test_the_sink_of_the_demo_model_is_found(demo_encoder, tmp_path, capsys):
    out = tmp_path / "r"
    options = ["--analyses", "surface", "--gradients", "hidden", "--gradient-sentences", "30", "--out", str(out)]
    assert main(["analyze", *options]) == 0
    layers = pd.read_csv(out / "tables" / "surface_layers.csv")
    assert (layers["sink"] == "first_special").all()
    assert layers["sink_share"][1:5].between(0.4, 0.7).all()
    assert "sink [CLS]" in capsys.readouterr().out
    # The no-op: much attention to the sink, and the loss would hardly notice a change of it.
    gradients = pd.read_csv(out / "tables" / "gradients.csv")
    means = gradients.groupby(["class", "layer"])[["attention", "gradient"]].mean()
    sink, other = means.loc["[CLS]"].loc[2:5], means.loc["other"].loc[2:5]
    assert (sink["attention"] > other["attention"]).all()
    assert (sink["gradient"] < other["gradient"] / 5).all()


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A tiny checkpoint with a masked-LM head."""
    folder = tiny.save(tmp_path_factory.mktemp("mlm"), mask="[MASK]")
    plain = tiny.model("bert")
    head = transformers.AutoModelForMaskedLM.from_config(plain.config)
    head.bert.load_state_dict(plain.state_dict(), strict=False)
    head.save_pretrained(folder)
    return folder


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("The garden was by the sea.\nThe train, the night train.\n\nAnd a letter\nA museum\n" * 6)
    return str(path)


def run(*arguments) -> int:
    return main(["analyze", *map(str, arguments)])


@pytest.mark.slow
def test_segments_from_the_command_line(bert, text, tmp_path, capsys):
    out = tmp_path / "r"
    options = ["--max-length", 24, "--segments", 5, "--segment-ids", "pair", "--reach", 3, "--n-clusters", 2]
    with FIGURES.in_full():
        assert run("--model", bert, "--text", text, *options, "--out", out) == 0
    assert "Segments read: 5, skipped: 0" in capsys.readouterr().out
    tables = {path.stem: pd.read_csv(path) for path in (out / "tables").glob("*.csv")}
    assert set(tables) == {
        "segments", "surface", "surface_layers", "surface_counts", "offsets", "gradients",
        "head_distances", "head_distances_sum", "head_embedding", "head_neighbors",
    }  # fmt: skip
    assert len(tables["segments"]) == 5
    first = tables["segments"].iloc[0]
    assert first["pieces"].split()[0] == "[CLS]"
    assert first["pieces"].split().count("[SEP]") == 2
    for row in tables["segments"].to_dict("records"):  # 1 from after the first [SEP] on
        pieces = row["pieces"].split()
        cut = pieces.index("[SEP]") + 1
        assert row["segment_ids"].split() == ["0"] * cut + ["1"] * (len(pieces) - cut)
    assert len(tables["surface"]) == len(tables["head_embedding"]) == 12
    assert tables["head_embedding"]["cluster"].max() == 2
    assert sorted(tables["offsets"]["offset"].unique()) == [-3, -2, -1, 0, 1, 2, 3]
    square = tables["head_distances"].set_index("head")
    assert square.index.tolist() == square.columns.tolist() == [f"{a}-{b}" for a in (1, 2, 3) for b in (1, 2, 3, 4)]
    record = json.loads((out / "run.json").read_text())
    rows = json.loads((out / "summary.json").read_text())["head_geography"][0]["rows"]
    ratio = tables["head_distances_sum"].set_index("head").to_numpy() / rows
    assert ratio == pytest.approx(square.to_numpy())
    assert record["options"]["analyses"] == ["surface", "clusters"]
    assert record["corpus"]["unit"] == "segments"
    assert any("masked-LM loss" in note for note in record["surface"]["notes"])
    page = (out / "report.html").read_text()
    for remark in record["corpus"]["remarks"]:
        assert remark in page
    assert {p.name for p in (out / "figures").glob("*.svg")} >= {
        "surface_statistics.svg", "surface_offsets.svg", "surface_special.svg", "surface_entropy.svg",
        "surface_gradients.svg", "head_distances.svg",
    }  # fmt: skip


def test_paragraphs_one_by_one(bert, text, tmp_path, capsys):
    assert run("--model", bert, "--text", text, "--analyses", "surface", "--limit", 7, "--out", tmp_path / "r") == 0
    assert "Paragraphs read: 7, skipped: 0" in capsys.readouterr().out
    counts = pd.read_csv(tmp_path / "r" / "tables" / "surface_counts.csv").set_index("statistic")
    assert counts.loc[["last_to_last"]].to_numpy().tolist() == [[7, 7]]
    assert not (tmp_path / "r" / "tables" / "head_distances.csv").exists()


def test_fewer_segments_than_asked_for(bert, text, tmp_path, capsys):
    options = ["--segments", 992, "--analyses", "surface", "--gradients", "none"]
    assert run("--model", bert, "--text", text, *options, "--out", tmp_path / "r") == 0
    (warning,) = json.loads((tmp_path / "r" / "run.json").read_text())["warnings"]
    assert warning.startswith("992 segments were asked for; the text gives ")
    assert f"Warning: {warning}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("family", "mask", "reason"),
    [
        ("bert", "[MASK]", "this checkpoint has no masked-LM head"),
        pytest.param("bert", None, "this tokenizer has no mask token", marks=pytest.mark.slow),
        ("gpt2", None, "this tokenizer has no mask token"),
    ],
)
def test_where_there_are_no_gradients_it_is_said(text, tmp_path, capsys, family, mask, reason):
    tiny.save(tmp_path / "bare", family, mask=mask)
    options = ["--model", tmp_path / "bare", "--text", text, "--analyses", "surface", "--limit", 4]
    assert run(*options, "--out", tmp_path / "r") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"Gradients were not computed: {reason}" in said
    assert ("--gradients hidden" in said) == bool(mask)
    assert not (tmp_path / "r" / "tables" / "gradients.csv").exists()
    for loss in ("mlm", *([] if mask else ["hidden"])):
        assert run(*options, "--gradients", loss, "--out", tmp_path / "s") == 1
        assert reason in capsys.readouterr().err


def test_clusters_alone_say_how_the_maps_were_read(bert, text, tmp_path, capsys):
    options = ["--text", text, "--analyses", "clusters", "--smoothing", "release", "--map", "attnresln"]
    assert run("--model", bert, *options, "--out", tmp_path / "r") == 0
    said = " ".join(capsys.readouterr().out.split())
    notes = json.loads((tmp_path / "r" / "run.json").read_text())["clusters"]["notes"]
    assert "one map for all heads" in notes[0]
    assert any("divided by its sum" in note for note in notes)
    assert any("0.001 for the distances" in note for note in notes)
    for note in notes:
        assert note in said


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--corpus", "sample.conllu"], 2, "give one of --corpus, --text and --minimal-pairs"),
        (["--corpus", "sample"], 2, "give one of --corpus, --text and --minimal-pairs"),
        (["--analyses"], 2, "--analyses has no value; it takes NAME"),
        (["--tokens", "surface"], 2, "--tokens is for treebanks"),
        (["--segment-ids", "pair"], 2, "--segment-ids is for --segments"),
        (["--segments", "5", "--max-length", "128"], 1, "segments of 128 pieces are too long"),
        (["--segments", "5", "--max-length", "4"], 2, "are too short for a pair"),
        (["--analyses", "dependency"], 1, "--analyses surface,clusters needs none"),
        (["--analyses", "surface,nope"], 2, "unknown analysis 'nope'"),
        (["--analyses", "surface,surface"], 2, "named twice"),
        (["--analyses", "norms", "--reach", "3"], 2, "--reach is for surface, not"),
        (["--analyses", "clusters", "--gradients", "hidden"], 2, "--gradients is for surface, not"),
        (["--analyses", "norms", "--smoothing", "release"], 2, "--smoothing is for surface or clusters"),
        (["--gradients", "none", "--gradient-sentences", "5"], 2, "has no effect on --gradients none"),
        (["--map", "norm", "--merge", "vector"], 2, "--merge is for words"),
        (["--level", "word"], 2, "--level word is for treebanks"),
        (["--analyses", "surface", "--n-clusters", "3"], 2, "--n-clusters is for clusters"),
    ],
)
def test_impossible_options(bert, text, tmp_path, capsys, options, status, message):
    assert run("--model", bert, "--text", text, *options, "--out", tmp_path / "r") == status
    assert message in capsys.readouterr().err
    assert not (tmp_path / "r").exists()

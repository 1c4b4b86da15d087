"""The analysis of norms and the kinds of maps as a user meets them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import extract, get_kind, list_kinds
from attentionology.scripts.cli import main
from tests import tiny


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp("bert"), mask="[MASK]", max_position_embeddings=128)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp("gpt2"), "gpt2", n_positions=128)


def run(*arguments, limit=3):
    return main(["analyze", "--limit", str(limit), *map(str, arguments)])


@pytest.fixture(scope="module")
def done(bert, tmp_path_factory, figures_are_outlines):
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("done") / "r"
    assert run("--model", bert, "--analyses", "norms", "--ff-sentences", 3, "--out", folder) == 0
    return folder


def test_a_model_without_mask_token_or_specials(gpt2, tmp_path, capsys):
    assert run("--model", gpt2, "--analyses", "norms", "--out", tmp_path / "r", "--ff-sentences", 0) == 0
    tables = tmp_path / "r" / "tables"
    assert not (tables / "norms_change.csv").exists()
    assert set(pd.read_csv(tables / "norms_shares.csv")["class"]) == {"punctuation", "other"}
    assert "no mask token" in (tmp_path / "r" / "report.html").read_text()


def test_examples_of_amplified_pairs_are_where_they_say(done):
    pairs = pd.read_csv(done / "tables" / "norms_amplified.csv", keep_default_na=False)
    encoder = tiny.encoder(max_position_embeddings=128)
    by_id = {s.id: s for s in load_treebank(SAMPLE_TREEBANK, limit=3)}
    for pair in pairs.groupby("layer").head(3).to_dict("records"):
        sentence = [by_id[pair["sentence_id"]]]
        i, j, layer = pair["from_position"] - 1, pair["to_position"] - 1, pair["layer"] - 1
        (before,) = extract(encoder, sentence, kind="attnresln", level="token", normalize="row")
        (after,) = extract(encoder, sentence, kind="atbff", level="token", normalize="row")
        found = after.maps[0, layer, 0, i, j] - before.maps[0, layer, 0, i, j]
        assert pair["amplification"] == pytest.approx(float(found), abs=1e-5)
        assert (before.labels[0][i], before.labels[0][j]) == (pair["from"], pair["to"])


def test_frequencies_from_a_file(bert, tmp_path, capsys):
    file = tmp_path / "counts.tsv"
    file.write_text("the\t1000\n.\t900\nnosuchpiecehere\t3\n")
    options = ("--analyses", "norms", "--ff-sentences", 0, "--frequencies", file)
    assert run("--model", bert, *options, "--out", tmp_path / "r") == 0
    assert "2 of its 3 forms" in (tmp_path / "r" / "report.html").read_text()
    file.write_text("nosuchpiecehere\t3\n")
    assert run("--model", bert, *options, "--out", tmp_path / "s") == 1
    assert "none of its forms" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--map", "nope"], "choose from: alti"),
        (["--map", "weight", "--merge", "vector"], "not made of vectors"),
        (["--analyses", "norms", "norms"], "named twice"),
        (
            ["--analyses", "norms", "--map", "alti"],
            "--map is for dependency or surface or clusters or coreference or pairs, not",
        ),
        (["--analyses", "norms", "--control", "random-init"], "--control is for dependency"),
        (["--ff-sentences", "3"], "--ff-sentences is for norms, not among --analyses dependency surface clusters"),
    ],
)
def test_impossible_options(bert, tmp_path, capsys, options, message):
    assert run("--model", bert, "--out", tmp_path / "r", *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_an_architecture_that_is_not_known(tmp_path, capsys):
    import transformers

    config = transformers.ErnieConfig(**tiny.SIZE, vocab_size=400)
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path / "m")
    tiny.fresh_tokenizer("wordpiece").save_pretrained(tmp_path / "m")
    model = ("--model", tmp_path / "m", "--max-length", 60)
    assert run(*model, "--analyses", "dependency", "--replicates", 0, "--out", tmp_path / "r") == 0
    for options in (["--map", "norm"], ["--analyses", "norms"]):
        assert run(*model, *options, "--out", tmp_path / "s") == 1
        message = capsys.readouterr().err
        assert "'ernie'" in message
        assert "docs/how-to/architectures.md" in message


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*list_kinds(), "rollout:norm"])
def test_the_dependency_report_with_every_kind(bert, tmp_path, kind):
    options = ("--analyses", "dependency", "--replicates", 0, "--map", kind)
    assert run("--model", bert, *options, "--out", tmp_path / "r", limit=4) == 0
    page = (tmp_path / "r" / "report.html").read_text()
    assert f"map “{kind}”" in page
    heads = pd.read_csv(tmp_path / "r" / "tables" / "dependency.csv")["head"].max()
    assert heads == (4 if kind in ("weight", "norm") or kind.startswith("attention-x-gradient") else 1)
    assert ("one map for all heads" in page) == (heads == 1)


@pytest.mark.filterwarnings("error:constrained_layout not applied")  # to a figure of one row
def test_gradients_in_the_same_pass_as_weights(bert, tmp_path):
    options = ("--map", "weight", "attention-x-gradient", "--analyses", "dependency,surface")
    assert run("--model", bert, *options, "--out", tmp_path / "r", "--replicates", 0, limit=4) == 0
    for name in ("dependency", "surface"):
        table = pd.read_csv(tmp_path / "r" / "tables" / f"{name}.csv")
        weights, gradients = (rows.drop(columns="map") for _, rows in table.groupby("map", sort=False))
        assert weights.shape == gradients.shape
        assert not weights.reset_index(drop=True).equals(gradients.reset_index(drop=True))
    described = get_kind("attention-x-gradient").description
    assert "final hidden states" in described
    assert described in (tmp_path / "r" / "run.json").read_text()  # so the loss is on record


def test_options_of_the_map_are_in_record_and_page(bert, tmp_path):
    options = ["--analyses", "dependency", "--map", "atbff", "--merge", "vector", "--normalize", "row"]
    options += ["--ff-bias", "fixed"]
    assert run("--model", bert, *options, "--out", tmp_path / "r", "--replicates", 0) == 0
    record = json.loads((tmp_path / "r" / "run.json").read_text())["options"]
    assert [record[k] for k in ("map", "merge", "normalize", "ff_bias")] == ["atbff", "vector", "row", "fixed"]
    page = (tmp_path / "r" / "report.html").read_text()
    for fact in ("adding vectors", "rows divided by their sums", "feed-forward bias: fixed"):
        assert fact in page


@pytest.mark.slow
def test_demo_model_shows_the_no_op(demo_encoder, tmp_path):
    """Its sink is [CLS]: most of the weight of the middle layers, little of the norms."""
    assert run("--analyses", "norms", "--out", tmp_path / "r", limit=12) == 0
    shares = pd.read_csv(tmp_path / "r" / "tables" / "norms_shares.csv")
    cls = shares[shares["class"] == "[CLS]"].groupby("layer")[["weight", "norm_share"]].mean()
    assert (cls["weight"][1:5] > 3 * cls["norm_share"][1:5]).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["norm", "attnresln"])
def test_ewt_with_norms(demo_encoder, ewt, kind):
    """Float32 in batches against float64 one by one, on sentences of all lengths."""
    chosen = sorted(ewt, key=len)[::30]
    worst = 0.0
    for batch in extract(demo_encoder, chosen, kind=kind):
        for row, (_, array) in enumerate(batch.unpadded()):
            exact = batch.exact([row])[0].numpy()
            worst = max(worst, float(np.abs(array - exact).max() / exact.max()))
    assert worst < 1e-5

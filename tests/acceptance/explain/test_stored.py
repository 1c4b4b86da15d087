"""Runs of ``attentionology explain`` are rendered again, added up and compared from what they have stored."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest

from attentionology import compare, load_run, merge_runs, report_run
from attentionology.analyses.counting.resampling import poisson_weights
from attentionology.analyses.explanation.contract.registry import column_of
from attentionology.analyses.shared.merged_facts import MergeError
from attentionology.engine.compare import compare_folders
from attentionology.scripts.cli import main
from tests.acceptance.explain.explaining import run, table, texts
from tests.written import without_record

pytestmark = pytest.mark.slow

OPTIONS = (
    *("--tests", "permutation", "seeds", "regularizers", "erasure", "adversarial", "--seeds", "2", "--steps", "0"),
    *("--draws", "5", "--encoder", "average", "--epochs", "2", "--replicates", "200"),
)


@pytest.fixture(scope="module")
def runs(files, tmp_path_factory):
    """Runs of the same trained models on two files of texts, and on both files together."""
    folder = tmp_path_factory.mktemp("stored")
    for name, count, seed in (("a", 45, 5), ("b", 35, 6)):
        (folder / f"{name}.txt").write_text("\n".join(texts(count, seed)) + "\n")
    given = ("--data", files / "train.txt", "--dev", files / "dev.txt", "--cache", folder / "cache", *OPTIONS)
    for out, tested in (("ra", ["a"]), ("rb", ["b"]), ("rab", ["a", "b"])):
        assert run(*given, "--test", *(folder / f"{name}.txt" for name in tested), "--out", folder / out) == 0
    return folder


@pytest.mark.slow
def test_a_run_is_rendered_again_without_its_model_and_texts(done, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(done / "run", again)
    before = without_record(again)
    for path in (again / "tables").iterdir():
        path.write_text("damaged")
    assert main(["report", str(again)]) == 0
    assert without_record(again) == before
    assert "classifier.safetensors" in before


@pytest.mark.slow
def test_two_runs_add_up_to_the_run_over_all_texts(runs):
    merged = merge_runs([runs / "ra", runs / "rb"], runs / "merged")
    assert merged.record["sentences"]["read"] == 80
    assert not any("only 45" in warning or "only 35" in warning for warning in merged.record["warnings"])
    assert any("only 80" in warning for warning in merged.record["warnings"])
    for name in ("texts", "summary", "verdicts", "models", "curve", "flips", "regularizers"):
        added, whole = table(runs / "merged", name), table(runs / "rab", name)
        # Attention is computed in float32, so its last digits depend on the texts of a batch.
        pd.testing.assert_frame_equal(added, whole, rtol=0, atol=1e-6)


def test_a_difference_is_the_mean_of_the_first_run_minus_that_of_the_other(runs):
    means = [table(runs / name)["permutation_tvd"].mean() for name in ("ra", "rb")]
    right = [table(runs / name)["correct"].mean() for name in ("ra", "rb")]
    compare_folders([runs / "ra", runs / "rb"], runs / "compared", min_count=1)
    rows = pd.read_csv(runs / "compared/tables/comparison.csv")
    moved = rows[(rows["family"] == "permutation (TVD, 0 to 1)")].iloc[0]
    np.testing.assert_allclose(
        [moved["value_a"], moved["value_b"], moved["difference"]], [*means, means[0] - means[1]], atol=1e-9
    )
    assert (moved["n_a"], moved["n_b"]) == (45, 35)
    accuracy = rows[rows["family"] == "decisions (%)"].iloc[0]
    np.testing.assert_allclose([accuracy["value_a"], accuracy["value_b"]], np.array(right), atol=1e-9)
    loaded = compare(load_run(runs / "ra"), load_run(runs / "rb"), min_count=1).table
    np.testing.assert_array_equal(loaded["difference"].to_numpy(), rows["difference"].to_numpy())


@pytest.mark.slow
def test_runs_of_other_models_and_damaged_runs_are_refused(runs, tmp_path, capsys):
    damaged = tmp_path / "damaged"
    shutil.copytree(runs / "rb", damaged)
    index = damaged / "states/run.json"
    index.write_text(index.read_text().replace('"epsilon": 0.05', '"epsilon": 0.06'))
    assert main(["report", str(damaged)]) == 1
    assert "is damaged: its content does not match its SHA-256 digest" in capsys.readouterr().err
    with pytest.raises(MergeError, match="have read the same file"):
        merge_runs([runs / "ra", runs / "rab"], tmp_path / "twice")
    given = ("--data", runs / "a.txt", "--test", runs / "b.txt", "--cache", runs / "cache", *OPTIONS)
    assert run(*given, "--out", tmp_path / "elsewhere") == 0
    with pytest.raises(MergeError, match="of different models"):
        merge_runs([runs / "ra", tmp_path / "elsewhere"], tmp_path / "mixed")


@pytest.mark.slow
def test_runs_on_the_same_texts_are_compared_text_by_text(runs, files):
    given = ("--data", files / "train.txt", "--dev", files / "dev.txt", "--cache", runs / "cache", *OPTIONS)
    assert run(*given, "--learning-rate", "0.01", "--test", runs / "a.txt", "--out", runs / "faster") == 0
    rows = compare(load_run(runs / "ra"), load_run(runs / "faster"), min_count=1).table
    row = rows[rows["group"] == column_of("permutation_tvd").label].iloc[0]
    assert row["paired"] == "paired"
    differences = (table(runs / "ra")["permutation_tvd"] - table(runs / "faster")["permutation_tvd"]).to_numpy()
    words = [line.split(maxsplit=1)[1].split() for line in (runs / "a.txt").read_text().splitlines()]
    drawn = poisson_weights(["\x1f".join(text) for text in words], 200, 0).astype(float)
    replicated = drawn @ differences / drawn.sum(1)
    np.testing.assert_allclose(row["difference"], differences.mean(), atol=1e-12)
    margin = 1.959964 * replicated.std(ddof=1)
    interval = differences.mean() - margin, differences.mean() + margin
    np.testing.assert_allclose([row["low"], row["high"]], interval, atol=1e-6)


@pytest.mark.slow
def test_a_run_that_replaces_another_one_takes_nothing_of_it(runs, done, tmp_path):
    for name in ("merged", "rendered"):
        shutil.copytree(done / "run", tmp_path / name)
    merge_runs([runs / "ra", runs / "rb"], tmp_path / "merged", overwrite=True)
    report_run(runs / "ra", tmp_path / "rendered", overwrite=True)
    assert not list(tmp_path.glob("*/classifier.safetensors"))

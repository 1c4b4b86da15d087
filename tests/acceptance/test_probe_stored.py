"""Runs of ``attentionology probe`` are rendered again and added up from what they have stored."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

from attentionology import load_run, merge_runs
from attentionology.analyses.shared.merged_facts import MergeError
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.scripts.cli import main
from tests.acceptance.probing import run, table
from tests.written import without_record

pytestmark = pytest.mark.slow

COUNTS = ("probe", "probe_runs", "probe_by_relation", "probe_by_length", "probe_contrasts")
WEIGHTS = ("probe_weights", "probe_weights_by_relation", "probe_weights_correlation")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Probes trained on the same sentences and tested on two files, and on both files together."""
    folder = tmp_path_factory.mktemp("stored")
    sentences = SAMPLE_TREEBANK.read_text().strip().split("\n\n")
    for name, chosen in (("train", sentences[:60]), ("a", sentences[60:80]), ("b", sentences[80:110])):
        (folder / f"{name}.conllu").write_text("\n\n".join(chosen) + "\n\n")
    options = ("--recipe", "paper", "--seeds", "2", "--replicates", "100", "--tree", "--cache", folder / "cache")
    for out, tested in (("ra", ["a"]), ("rb", ["b"]), ("rab", ["a", "b"])):
        files = [folder / f"{name}.conllu" for name in tested]
        assert run("--train", folder / "train.conllu", "--test", *files, *options, "--out", folder / out) == 0
    return folder


@pytest.mark.slow
def test_a_run_is_rendered_again_without_its_model_and_treebanks(runs):
    again = runs / "again"
    shutil.copytree(runs / "ra", again)
    before = without_record(again)
    for path in (*(again / "tables").iterdir(), again / "report.html"):
        path.write_text("damaged")
    assert main(["report", str(again)]) == 0
    assert without_record(again) == before
    assert any(name.startswith("probes/") for name in before)
    assert main(["report", str(again), "--min-count", "3"]) == 0
    assert load_run(again)["probe"].min_count == 3


def test_two_runs_add_up_to_the_run_over_all_sentences(runs):
    merged = merge_runs([runs / "ra", runs / "rb"], runs / "merged")
    assert merged.record["sentences"]["read"] == 50
    for name in COUNTS:
        path = f"tables/{name}.csv"
        assert (runs / "merged" / path).read_bytes() == (runs / "rab" / path).read_bytes()
    for name in WEIGHTS:  # sums of real numbers, which are added in another order
        pd.testing.assert_frame_equal(table(runs / "merged", name), table(runs / "rab", name), rtol=0, atol=1e-5)


@pytest.mark.slow
def test_runs_that_were_trained_on_other_sentences_are_not_added_up(runs):
    options = ("--recipe", "paper", "--seeds", "1", "--folds", "2", "--cache", runs / "cache")
    for name in ("a", "b"):
        assert run("--test", runs / f"{name}.conllu", *options, "--out", runs / f"folds-{name}") == 0
    with pytest.raises(MergeError, match="training sentences of the facts of the analysis probe"):
        merge_runs([runs / "folds-a", runs / "folds-b"], runs / "folds")

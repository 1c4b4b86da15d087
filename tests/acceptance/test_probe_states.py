"""Runs of ``attentionology probe`` with probes of hidden states: the same bytes whatever happens, and what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil  # type: ignore[import-untyped]
import pytest
import torch

from attentionology import load_run, merge_runs
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.scripts.cli import main
from tests.acceptance.probing import run, table
from tests.acceptance.test_probe_workers import wait_for_a_checkpoint, workers_of
from tests.written import results, without_record

PROBES = ("arcs", "arcs+attention", "depth", "label:upos")
SMALL = ("--limit", 24, "--folds", 2, "--seeds", 1, "--replicates", 20, "--rank", 4)
ALONE = (*SMALL, "--probe", *PROBES, "--layers", 0, 2, "mix")
OF_LAYERS = ("probe_layers", "probe_states", "probe_state_contrasts", "probe_state_training")
OF_TABLES = (*OF_LAYERS, "probe_mix", "probe_edges")


def record(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return facts


@pytest.fixture(scope="module")
def done(model, tmp_path_factory):
    """A run in this process, of probes of states alone."""
    folder = tmp_path_factory.mktemp("done") / "run"
    assert run("--model", model, *ALONE, "--out", folder) == 0
    return folder


@pytest.mark.slow
def test_the_results_are_those_of_one_process(done, model, tmp_path):
    assert run("--model", model, *ALONE, "--workers", 2, "--out", tmp_path / "run") == 0
    assert results(tmp_path / "run") == results(done)
    kept = ("probes", "states", "sentences", "treebanks", "warnings", "cache")
    assert [record(tmp_path / "run")[name] for name in kept] == [record(done)[name] for name in kept]
    assert record(tmp_path / "run")["seconds"].keys() == record(done)["seconds"].keys()
    assert not list((tmp_path / "cache" / "training").iterdir())


@pytest.mark.slow
def test_a_killed_run_is_continued(done, model, programs, tmp_path):
    given = ["probe", "--model", model, *ALONE, "--workers", 2, "--out", tmp_path / "run"]
    process = programs.start("-m", "attentionology", *given, folder=tmp_path)
    wait_for_a_checkpoint(process, tmp_path)
    workers = workers_of(process)
    process.kill()
    programs.wait(process)
    psutil.wait_procs(workers, timeout=60)
    assert not (tmp_path / "run").exists()
    assert run("--model", model, *ALONE, "--out", tmp_path / "run") == 0
    assert results(tmp_path / "run") == results(done)
    assert record(tmp_path / "run")["probes"]["continued_after_interruption"] > 0


@pytest.mark.slow
def test_layer_0_of_random_layers_gives_the_same_scores_to_the_bit(done):
    layers = table(done, "probe_layers")
    first = layers[(layers["layer"] == 0) & (layers["task"] == "gold")]
    sides = [
        first[first["source"] == source].set_index(["probe", "score"])[["value", "dev"]]
        for source in ("model", "random weights")
    ]
    assert len(sides[0]) == 5
    assert not sides[0].equals(sides[1])  # as the maps of the copy are others
    of_model, of_copy = (side.drop("arcs+attention") for side in sides)
    pd.testing.assert_frame_equal(of_model, of_copy, check_exact=True)
    others = layers[(layers["layer"] == 2) & (layers["task"] == "gold")]
    values = [set(others[others["source"] == source]["value"]) for source in ("model", "random weights")]
    assert values[0] != values[1]


@pytest.mark.slow
def test_a_run_of_states_alone_says_what_it_trained(done):
    facts = record(done)
    assert facts["options"]["probe"] == list(PROBES)
    states = facts["states"]
    assert (states["probes"], states["layers"], states["pooling"]) == (list(PROBES), [0, 2, "mix"], "mean")
    assert states["chosen_layers"].keys() == states["recipes"].keys() == set(PROBES)
    assert states["sentences_made"] == 24 * 2  # of the model and of one copy
    chosen = table(done, "probe_states")
    layers = chosen[chosen["chosen"]].groupby("probe")["layer"].first()
    assert layers.to_dict() == states["chosen_layers"]
    dev = table(done, "probe_states").dropna(subset=["dev", "layer"])
    best = dev.sort_values(["dev", "layer"], ascending=[False, True]).groupby("probe")["layer"].first()
    assert best.to_dict() == states["chosen_layers"]
    assert {path.name for path in (done / "probes").iterdir()} == {
        f"{probe.replace(':', '-')}-{place}-seed0-fold{fold}"
        for probe in PROBES
        for place in ("layer0", "layer2", "mix")
        for fold in (1, 2)
    }
    methods = list(table(done)["method"])
    assert methods[4:] == [name + of for of in ("", ", random weights") for name in PROBES[:2]]
    page = (done / "report.html").read_text()
    assert "trained on attention maps and hidden states that stay unchanged" in page
    assert "recipe “" not in page
    assert len(table(done, "probe_training")) == 0


@pytest.mark.slow
def test_it_is_rendered_again_and_compared(done, tmp_path):
    before = without_record(done)
    assert main(["report", str(done), "--out", str(tmp_path / "again")]) == 0
    for name in OF_TABLES:
        assert (tmp_path / "again" / "tables" / f"{name}.csv").read_bytes() == before[f"tables/{name}.csv"]
    assert main(["compare", str(done), str(tmp_path / "again"), "--out", str(tmp_path / "compared")]) == 0
    differences = pd.concat(map(pd.read_csv, (tmp_path / "compared" / "tables").glob("*.csv")))
    assert set(differences["difference"].dropna()) == {0}


@pytest.mark.slow
def test_sentences_are_skipped_for_maps_and_states_alike(model, tmp_path):
    given = ("--probe", "attention", "depth", "--max-length", 18, "--layers", 1, "--controls", "none")
    out = tmp_path / "run"
    assert run("--model", model, *SMALL, *given, "--out", out) == 0
    sentences = record(out)["sentences"]
    read, skipped = sentences["read"], len(sentences["skipped"])
    assert read + skipped == 24
    assert read > 5
    assert skipped > 3
    assert record(out)["states"]["sentences_made"] == read
    counts = load_run(out)["probe"]
    assert len(counts.answers["layers"].layers) == 4
    assert sum(split["test"] for split in record(out)["probes"]["splits"]) == read


@pytest.mark.slow
def test_decayed_states_are_a_floor_with_weights_of_their_own(model, tmp_path):
    given = ("--probe", "depth", "--layers", 0, 2, "--controls", "decay")
    out = tmp_path / "run"
    assert run("--model", model, *SMALL, *given, "--out", out) == 0
    rows = table(out, "probe_layers").query("score == 'nspr'").set_index("source")
    assert pd.isna(rows.loc["decayed layer 0", "layer"])
    losses = table(out, "probe_state_training").groupby("source")["loss"].last()
    assert losses["decayed layer 0"] not in set(table(out, "probe_state_training").query("source == 'model'")["loss"])
    assert "decayed layer 0" in set(table(out, "probe_state_contrasts")["second"])


@pytest.mark.slow
def test_two_runs_add_up_to_the_run_over_all_sentences(model, tmp_path):
    sentences = SAMPLE_TREEBANK.read_text().strip().split("\n\n")
    for name, chosen in (("train", sentences[:30]), ("a", sentences[60:80]), ("b", sentences[80:110])):
        (tmp_path / f"{name}.conllu").write_text("\n\n".join(chosen) + "\n\n")
    given = ("--model", model, "--train", tmp_path / "train.conllu", *SMALL[4:], "--probe", *PROBES, "--layers", 0, 2)
    for out, tested in (("ra", ["a"]), ("rb", ["b"]), ("rab", ["a", "b"])):
        files = [tmp_path / f"{name}.conllu" for name in tested]
        assert run(*given, "--test", *files, "--out", tmp_path / out) == 0
    merge_runs([tmp_path / "ra", tmp_path / "rb"], tmp_path / "merged")
    for name in ("probe", *OF_LAYERS):  # correlations are sums of real numbers
        pd.testing.assert_frame_equal(table(tmp_path / "merged", name), table(tmp_path / "rab", name), rtol=1e-6)


def test_the_layer_in_which_a_label_is_planted_is_chosen(model, tmp_path, monkeypatch):
    """All other layers are noise: there, neither the tags nor the control task are found."""
    vectors = dict[str, np.ndarray]()
    rng = np.random.default_rng(0)

    def of(placing: Any, batch: Any) -> tuple[int, ...]:
        for layer, stored in zip(placing.maker.layers, placing.stored, strict=True):
            for index, sentence in zip(batch.indices, batch.sentences, strict=True):
                states = rng.normal(size=(len(sentence), stored.shape[1]))
                if layer == 2:
                    of_tags = [vectors.setdefault(tag, rng.normal(size=stored.shape[1])) for tag in sentence.tags]
                    states += 6 * np.array(of_tags)
                stored[placing.starts[index] : placing.starts[index + 1]] = torch.from_numpy(states).float()
        return tuple(batch.indices)

    monkeypatch.setattr("attentionology.extractors.states.store._Placing.of", of)
    given = ("--limit", 60, "--folds", 2, "--seeds", 1, "--probe", "label:upos", "--layers", 0, 2, 3)
    assert run("--model", model, *given, "--controls", "task", "--replicates", 50, "--out", tmp_path / "run") == 0
    states = table(tmp_path / "run", "probe_states").dropna(subset="layer").set_index("layer")
    floors = table(tmp_path / "run", "probe_states").set_index("source")["value"]
    assert states.index[states["chosen"]].to_list() == [2]
    assert states["value"][2] > 0.7
    assert states["control"][2] < 0.5
    assert states["value"].drop(2).max() < floors["most frequent label"] + 0.02
    assert states["control"].drop(2).max() < states["control"][2]
    assert " in layer 2, which the dev sentences chose" in load_run(tmp_path / "run").findings[0].text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--probe", "arcs", "--layers", 7), "the layers of the model are 0 to 3; there is no layer 7"),
        (("--probe", "label:feats:Nope"), "no test word has what the probe label:feats:Nope learns"),
    ],
)
def test_what_cannot_be_learned_is_refused_before_anything_slow(given, message, model, tmp_path, capsys):
    assert run("--model", model, "--limit", 20, *given, "--out", tmp_path / "run") in (1, 2)
    assert message in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.safetensors"))

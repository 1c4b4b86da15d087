"""``--codelength`` of ``attentionology probe``: the codes of a run, in one process, in several, and interrupted."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from attentionology import load_encoder, load_treebank, store_states
from attentionology.analyses.probing.trainings import state_codes
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.probes import LabelProbe, codelength
from attentionology.probes.states.codelength import code_block
from tests.acceptance.probing import run, table
from tests.written import results

COMMON = ("--replicates", 20, "--recipe", "paper", "--probe", "label:upos", "depth", "--layers", 2, "--codelength")
FOLDS = (*COMMON, "--limit", 24, "--folds", 2, "--seeds", 1)


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> dict[str, Path]:
    """Three treebanks."""
    folder = tmp_path_factory.mktemp("treebanks")
    blocks = Path(SAMPLE_TREEBANK).read_text().strip().split("\n\n")
    cut = {"train": blocks[:20], "dev": blocks[20:25], "test": blocks[25:30]}
    for role, sentences in cut.items():
        (folder / f"{role}.conllu").write_text("\n\n".join(sentences) + "\n\n")
    return {role: folder / f"{role}.conllu" for role in cut}


@pytest.fixture(scope="module")
def done(model, tmp_path_factory):
    """A run in this process."""
    folder = tmp_path_factory.mktemp("codes") / "run"
    assert run("--model", model, *FOLDS, "--out", folder) == 0
    return folder


def record(folder: Path) -> dict[str, object]:
    """What a run says about its probes."""
    facts = json.loads((folder / "run.json").read_text())
    return {name: facts[name] for name in ("probes", "states", "warnings")}


def test_the_codes_are_those_of_the_probes(model, parts, tmp_path):
    """The table has the means over the seeds of the codes that the probes give from Python."""
    files = [word for role, file in parts.items() for word in (f"--{role}", file)]
    given = ("--seeds", 2, "--seed", 5, "--controls", "task", "random-init")
    assert run("--model", model, *COMMON, *files, *given, "--out", tmp_path / "run") == 0
    [row] = table(tmp_path / "run", "probe_codelength").to_dict("records")
    encoder = load_encoder(model)
    read = {role: load_treebank(file).sentences for role, file in parts.items()}
    lengths = {}
    for name, network in (("own", encoder), ("random", encoder.random_layers(5))):
        train, dev = (store_states(network, read[role], tmp_path, layers=[2]).layer(2) for role in ("train", "dev"))
        own = [codelength(LabelProbe("upos", random_state=seed), train, dev) for seed in (5, 6)]
        lengths[name] = [code.bits_per_word for code in own]
        if name == "own":
            compressions, first = [code.compression for code in own], own[0]
            controls = [
                codelength(probe, train, dev, gold=probe.control(train.sentences, seed)).bits_per_word
                for seed, probe in ((seed, LabelProbe("upos", random_state=seed)) for seed in (5, 6))
            ]
    assert (row["probe"], row["layer"], row["runs"]) == ("label:upos", 2, 2)
    assert row["words"] == sum(map(len, read["train"])) == first.words
    expected = {
        "bits": np.mean(lengths["own"]) * first.words,
        "bits_per_word": np.mean(lengths["own"]),
        "bits_per_word_sd": np.std(lengths["own"], ddof=1),
        "compression": np.mean(compressions),
        "compression_sd": np.std(compressions, ddof=1),
        "uniform": math.log2(len({tag for sentence in read["train"] for tag in sentence.tags})),
        "floor": first.floor / first.words,
        "control_bits_per_word": np.mean(controls),
        "control_bits_per_word_sd": np.std(controls, ddof=1),
        "random_bits_per_word": np.mean(lengths["random"]),
        "random_bits_per_word_sd": np.std(lengths["random"], ddof=1),
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    page = " ".join((tmp_path / "run" / "report.html").read_text().split())
    assert "depth predicts no probabilities and has no code." in page
    assert "in the training sentences, for someone" in page
    assert not list((tmp_path / "cache" / "training").iterdir())


@pytest.mark.slow
def test_the_results_are_those_of_one_process(done, model, tmp_path):
    assert run("--model", model, *FOLDS, "--workers", 2, "--out", tmp_path / "run") == 0
    assert results(tmp_path / "run") == results(done)
    assert record(tmp_path / "run") == record(done)
    assert "of the first fold" in (done / "report.html").read_text()


@pytest.mark.slow
def test_an_interrupted_run_goes_on_with_the_next_block(done, model, tmp_path, monkeypatch):
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 4:  # the first block needs no training
            raise KeyboardInterrupt
        return code_block(*arguments)

    monkeypatch.setattr(state_codes, "code_block", interrupted)
    assert run("--model", model, *FOLDS, "--out", tmp_path / "run") != 0
    monkeypatch.undo()
    left = {path.name for path in (tmp_path / "cache" / "training").iterdir() if "-code" in path.name}
    assert {name.split("-")[1] for name in left} == {"code1.safetensors", "code2.safetensors", "code3.safetensors"}
    assert run("--model", model, *FOLDS, "--out", tmp_path / "run") == 0
    assert results(tmp_path / "run") == results(done)
    continued = json.loads((tmp_path / "run" / "run.json").read_text())["probes"]["continued_after_interruption"]
    trained_before = json.loads((done / "run.json").read_text())["probes"]["continued_after_interruption"]
    assert (trained_before, continued > 3) == (0, True)


def test_it_is_refused_without_a_probe_of_probabilities(model, tmp_path, capsys):
    given = ("--limit", 10, "--codelength", "--out", tmp_path / "run")
    assert run("--model", model, *given, "--probe", "depth", "distance") == 2
    assert "--codelength is for probes that predict probabilities" in capsys.readouterr().err
    assert run("--model", model, *given, "--probe", "attention") == 2
    assert "--codelength are for probes of hidden states" in capsys.readouterr().err

"""`attentionology.probe`: what the command does, from Python; and probes that are not of the toolkit."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint

import numpy as np
import pandas as pd
import pytest

import attentionology
from attentionology import CountOptions, Encoder, ModelOptions, OptionError, load_treebank, load_vectors
from attentionology.analyses import (
    MapStoreOptions,
    ProbeOptions,
    ProbeTrainingOptions,
    StateProbeOptions,
    TreebankOptions,
)
from attentionology.corpora_loaders import Treebank, WordVectors
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.probes import AttentionProbe, registry
from attentionology.scripts.cli import main
from attentionology.storage import plugins
from tests.written import results

SMALL = ("--recipe", "paper", "--limit", "12", "--folds", "2", "--seeds", "1", "--replicates", "20")
GROUPS = (
    TreebankOptions(limit=12, folds=2),
    ProbeTrainingOptions(recipe="paper", seeds=1),
    CountOptions(replicates=20),
)
LOADED = (TreebankOptions(folds=2), *GROUPS[1:])


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """Vectors of some words of the sample treebank."""
    words = sorted({word.lower() for s in load_treebank(SAMPLE_TREEBANK, limit=12) for word in s.words})
    numbers = np.random.default_rng(0).normal(size=(len(words), 4))
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    path.write_text(
        "\n".join(f"{w} {' '.join(f'{x:.3f}' for x in row)}" for w, row in zip(words, numbers, strict=True))
    )
    return path


@pytest.fixture(scope="module")
def done(model, vectors, tmp_path_factory):
    """The folder that the command writes."""
    folder = tmp_path_factory.mktemp("done") / "run"
    assert main(["probe", "--model", model, "--vectors", str(vectors), *SMALL, "--out", str(folder)]) == 0
    return folder


@pytest.mark.slow
def test_the_folder_is_that_of_the_command(done, model, vectors, tmp_path):
    run = attentionology.probe(model, vectors=vectors, options=GROUPS, out=tmp_path / "run")
    assert run.folder == tmp_path / "run"
    assert results(tmp_path / "run") == results(done)
    assert not list((tmp_path / "cache" / "training").iterdir())
    ours, theirs = (json.loads((folder / "run.json").read_text()) for folder in (tmp_path / "run", done))
    places = ("out", "cache", "overwrite", "json")
    for record in (ours, theirs):
        record["options"] = {name: value for name, value in record["options"].items() if name not in places}
    for name in ("options", "probes", "vectors", "warnings", "model", "files"):
        assert ours[name] == theirs[name], name


@pytest.mark.slow
def test_loaded_inputs_give_the_same_and_nothing_is_written(done, model, vectors, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    treebank = load_treebank(SAMPLE_TREEBANK, limit=12)
    words = {word for sentence in treebank for word in sentence.words}
    encoder = Encoder.from_pretrained(model)
    run = attentionology.probe(encoder, test=treebank, vectors=load_vectors(vectors, words), options=LOADED)
    assert run.folder is None
    assert not list(tmp_path.iterdir())
    written = pd.read_csv(done / "tables" / "probe.csv")
    pd.testing.assert_frame_equal(run.tables["probe"], written, check_dtype=False)
    assert run.record["options"]["test"] == [str(SAMPLE_TREEBANK)]
    assert run.record["options"]["model"] == encoder.name
    assert repr(run) == (
        f"ProbingRun(attention, attention+words, words+distances of {encoder.name} on en_sample.conllu)"
    )
    assert run._repr_html_().startswith("<p>ProbingRun(attention")
    assert run._repr_html_().count("<table") == 1  # the methods, below what was found
    assert "<ul><li>" in run._repr_html_()


def test_treebanks_and_vectors_without_files(model):
    sentences = load_treebank(SAMPLE_TREEBANK, limit=24).sentences
    train, test = Treebank(sentences[:16]), Treebank(sentences[16:])
    numbers = np.eye(2, dtype=np.float32)
    run = attentionology.probe(
        model,
        train=train,
        test=test,
        probes="words+distances",
        vectors=WordVectors(numbers, {"the": 0, "a": 1}),
        options=[
            ProbeTrainingOptions(recipe="paper", seeds=1),
            ProbeOptions(controls=("none",)),
            CountOptions(replicates=0),
        ],
    )
    assert list(run.tables["probe"]["method"])[-1] == "words+distances"
    assert run.record["probes"]["splits"] == [{"train": 16, "dev": None, "test": 8}]
    assert repr(run) == f"ProbingRun(words+distances of {run.record['model']['name']} on a treebank)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": [ProbeTrainingOptions(), ProbeTrainingOptions()]}, "two groups of the class ProbeTrainingOptions"),
        ({"options": [attentionology.analyses.DependencyOptions()]}, "no options of the class DependencyOptions"),
        (
            {"test": "a.conllu", "options": [TreebankOptions(test=("b.conllu",))]},
            "test is given twice, also in TreebankOptions",
        ),
        ({"probes": "attention", "options": [ProbeOptions(probe=("attention",))]}, "probe is given twice"),
        ({"model": "one", "options": [ModelOptions(model="other")]}, "model is given twice, also in ModelOptions"),
        ({"test": Treebank(()), "options": [TreebankOptions(limit=3)]}, "treebanks that are read from files"),
        ({"options": [ProbeTrainingOptions(seeds=0)]}, "--seeds must be at least 1"),
        ({"options": [MapStoreOptions(batch_cells=0)]}, "--batch-cells must be at least 1"),
    ],
)
def test_what_cannot_be(arguments, message, tmp_path):
    with pytest.raises(OptionError, match=message):
        attentionology.probe(**arguments, out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


class Opposite(AttentionProbe):
    """An attention probe that takes the last candidate of all."""

    name = "opposite"
    meaning = "always the last word of the sentence"

    def scores(self, batches):
        for scores in super().scores(batches):
            changed = np.zeros_like(scores)
            changed[:, -1] = 1
            yield changed


@pytest.fixture
def installed(monkeypatch):
    """The probe above, as if a package that is installed named it."""
    point = EntryPoint("opposite", f"{__name__}:Opposite", registry.ENTRY_POINTS)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == registry.ENTRY_POINTS else [])
    plugins.points_of.cache_clear()
    registry._from_packages.cache_clear()
    yield
    monkeypatch.undo()
    plugins.points_of.cache_clear()
    registry._from_packages.cache_clear()


@pytest.mark.usefixtures("installed")
def test_a_probe_of_another_package_is_a_row_of_every_table(model, tmp_path):
    command = ["probe", "--model", model, "--probe", "attention,opposite", *SMALL, "--out", str(tmp_path / "run")]
    assert main(command) == 0
    tables = {path.stem: pd.read_csv(path) for path in (tmp_path / "run" / "tables").glob("*.csv")}
    methods = tables["probe"].set_index("method")
    last = total = 0
    for sentence in load_treebank(SAMPLE_TREEBANK, limit=12):
        for head, relation in zip(sentence.heads, sentence.relations, strict=True):
            total += relation != "punct"
            last += relation != "punct" and head == len(sentence)
    assert (methods["correct"]["opposite"], methods["total"]["opposite"]) == (last, total)
    assert methods["correct"]["opposite, random weights"] == last
    assert methods["control_accuracy"]["opposite"] > 0
    contrasts = set(zip(tables["probe_contrasts"]["first"], tables["probe_contrasts"]["second"], strict=True))
    assert {("opposite", "attention"), ("opposite", "opposite, random weights")} <= contrasts
    assert set(tables["probe_weights"]["probe"]) == {"attention", "opposite"}
    assert "opposite" in set(tables["probe_by_length"]["method"])
    assert (tmp_path / "run" / "probes" / "opposite-seed0-fold1" / "probe.json").exists()
    assert "always the last word of the sentence" in (tmp_path / "run" / "report.html").read_text()


def test_the_control_of_a_probe_of_states_is_scored_by_the_heads_of_the_control_task(model):
    treebank = TreebankOptions(limit=30, folds=2)  # of which the control task can be learned
    options = [treebank, *GROUPS[1:], ProbeOptions(controls=("task",)), StateProbeOptions(layers=("1",))]
    run = attentionology.probe(model, probes="arcs", options=options)
    layers = run.tables["probe_layers"].set_index("task")["value"]
    [found] = run.tables["probe"].set_index("method").loc[["arcs"], "control_accuracy"]
    assert found == pytest.approx(layers["behaviors"])
    assert found > 0.1  # of the sentences' own heads, what has learned other ones finds far fewer

"""States belong to one run: those of another run, damaged or incomplete ones are refused by whatever reads them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attentionology import load_run
from attentionology.analyses.comparison.differences import differences
from attentionology.analyses.counting.metric import StateError
from attentionology.engine.compare import compare
from attentionology.engine.compared_run import load_compared_run
from attentionology.engine.results.states import read_states
from attentionology.scripts.cli import main
from attentionology.storage.sealed import read_json, write_json
from tests import tiny
from tests.corpora import word

INDEX = "states/run.json"
OPTIONS = ["--analyses", "dependency", "surface", "--gradients", "none", "--replicates", "200", "--min-count", "5"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tiny models, and two treebanks of different sentences with the same ids."""
    folder = tmp_path_factory.mktemp("identity")
    for seed, name in enumerate(("model-a", "model-b")):
        tiny.save(folder / name, seed=seed)
    choices = np.random.default_rng(0)
    text = ""
    for number in range(60):
        text += f"# sent_id = {number}\n"
        root = int(choices.integers(1, 7))
        for i, form in enumerate(choices.choice(["cats", "dogs", "the", "word", "unbelievable"], 6), start=1):
            head, relation = (0, "root") if i == root else (root, "obj" if choices.random() < 0.5 else "det")
            text += word(i, form, head, relation, upos="NOUN")
        text += "\n"
    (folder / "first.conllu").write_text(text, encoding="utf-8")
    (folder / "second.conllu").write_text(text.replace("\tcats\t", "\tdogs\t", 5), encoding="utf-8")
    return folder


def analyze(folder: Path, model: str, corpus: str, out: Path, *options: str) -> Path:
    named = ["--model", str(folder / model), "--corpus", str(folder / f"{corpus}.conllu"), "--out", str(out)]
    assert main(["analyze", *named, *OPTIONS, *options]) == 0
    return out


@pytest.fixture(scope="module")
def runs(folder):
    return {
        "a": analyze(folder, "model-a", "first", folder / "a"),
        "b": analyze(folder, "model-b", "first", folder / "b"),
        "other": analyze(folder, "model-a", "second", folder / "other"),
    }


def refused(run: Path, other: Path, tmp_path: Path, capsys: Any, named: str) -> None:
    """Check that everything that reads states refuses those of a run, and names what is wrong."""
    for command in (
        ["report", run, "--out", tmp_path / "out"],
        ["compare", run, other, "--out", tmp_path / "out"],
        ["merge", other, run, "--out", tmp_path / "out"],
    ):
        assert main([str(part) for part in command]) == 1
        message = capsys.readouterr().err
        assert named in message
        assert "Traceback" not in message
    with pytest.raises(StateError, match=named):
        load_run(run)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("source", "named"), [("b", "another model"), ("other", "another corpus")])
def test_states_of_another_run_are_refused(runs, source, named, tmp_path, capsys):
    """The file has the same name, the same shape and a valid seal; then all files are those of the other run."""
    changed = Path(shutil.copytree(runs["a"], tmp_path / "a"))
    name = "dependency-weight.safetensors"
    shutil.copy(runs[source] / "states" / name, changed / "states" / name)
    refused(changed, runs["other"], tmp_path, capsys, f"{name} does not belong to this run")
    shutil.copytree(runs[source] / "states", changed / "states", dirs_exist_ok=True)
    refused(changed, runs["other"], tmp_path, capsys, named)


def test_an_index_that_lacks_an_entry_is_refused(runs, tmp_path):
    changed = Path(shutil.copytree(runs["a"], tmp_path / "a"))
    index = read_json(changed / INDEX, INDEX)
    for name in ("format", "requests", "analyses", "options", "titles", "record", "sha256", "samples"):
        write_json(changed / INDEX, {key: value for key, value in index.items() if key != name}, INDEX)
        with pytest.raises(StateError):
            load_run(changed)
    for analysis in index["analyses"]:
        del analysis["requests"]
    write_json(changed / INDEX, index, INDEX)
    with pytest.raises(StateError, match="has no entry 'requests'"):
        load_run(changed)


@pytest.mark.parametrize(("version", "advice"), [(1, "report the run with version 0.3, or"), (3, "reads format 2;")])
def test_runs_in_another_format_are_refused(version, advice, runs, tmp_path):
    other = Path(shutil.copytree(runs["a"], tmp_path / "a"))
    write_json(other / INDEX, {**read_json(other / INDEX, INDEX), "format": version}, INDEX)
    with pytest.raises(StateError, match=rf"states of format {version}, .*{advice} count again"):
        load_run(other)


def test_a_merge_does_not_replace_what_it_reads(runs, tmp_path, capsys):
    first, second = (Path(shutil.copytree(runs[name], tmp_path / name)) for name in ("a", "other"))
    before = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}
    assert main(["merge", str(first), str(second), "--out", str(first), "--overwrite"]) == 1
    assert str(first) in capsys.readouterr().err
    assert {path: path.read_bytes() for path in first.rglob("*") if path.is_file()} == before


def test_different_sentences_with_the_same_ids_are_drawn_independently(runs):
    """Otherwise the variance of the difference has a covariance that the two samples do not have."""
    first, second = (load_compared_run(runs[name]) for name in ("a", "other"))
    ids = [set(read_states(runs[name]).inputs) for name in ("a", "other")]
    assert ids[0] == ids[1]
    contrasts = [one for one in compare(first, second, min_count=5).contrasts if one.analysis == "dependency"]
    families = zip(*(run.families["dependency", "weight"] for run in (first, second)), strict=True)
    for contrast, families_of_both in zip(contrasts, families, strict=True):
        assert contrast.pairing == "unpaired"
        assert {family.family for family in families_of_both} == {contrast.family}
        by_id = {row.group: row for row in differences(*families_of_both, min_count=5)}
        checked = 0
        for row in contrast.differences:
            one, other = by_id[row.group].first, by_id[row.group].second
            if one and other and row.first and row.second and row.low < row.high:
                # The replicates are those of the run, in another order: variances stay, and the covariance vanishes.
                assert sorted(row.second.deviations) == sorted(other.deviations)
                assert (row.first.deviations == one.deviations).all()
                assert (row.second.deviations != other.deviations).any()
                expected = np.sqrt(one.deviations.var(ddof=1) + other.deviations.var(ddof=1))
                assert (row.high - row.low) / (2 * 1.959964) == pytest.approx(expected, rel=0.15)
                assert (one.deviations - other.deviations).std() < 0.8 * expected
                checked += 1
        assert checked >= 2


def test_the_same_sentences_are_still_paired(runs):
    first, second = (load_compared_run(runs[name]) for name in ("a", "b"))
    for contrast in compare(first, second, min_count=5).contrasts:
        assert contrast.pairing == "paired"
        key = contrast.analysis, "weight"
        for one, other in zip(first.families[key], second.families[key], strict=True):
            if one.family == contrast.family:
                expected = differences(one, other, min_count=5, names=(contrast.first.name, contrast.second.name))
                for row, by_hand in zip(contrast.differences, expected, strict=True):
                    assert np.array_equal(
                        [row.low, row.high, row.p], [by_hand.low, by_hand.high, by_hand.p], equal_nan=True
                    )

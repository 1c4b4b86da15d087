"""Reports made again from stored counts, and runs that are added up: the same files, byte for byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attentionology import OptionError, merge_runs
from attentionology.analyses.shared.merged_facts import MergeError
from attentionology.analyses.shared.record import warnings_of
from attentionology.engine.merge import _check_pair, _merge_options, merge_states
from attentionology.engine.results.states import read_states
from attentionology.scripts.cli import main
from tests import tiny
from tests.corpora import sample_blocks, write_blocks
from tests.written import contents

ANALYSES = ["--analyses", "dependency", "surface", "norms", "--gradients", "none"]
SMALL = ["--replicates", "20", "--control", "random-init:1", "--ff-sentences", "100000"]
COUNT_ONLY = ["--analyses", "dependency", "--replicates", "0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a tiny model, and the sample treebank in three files of unequal length."""
    folder = tmp_path_factory.mktemp("stored")
    tiny.save(folder / "model", max_position_embeddings=512)
    for name, start, stop in (("a", 0, 13), ("b", 13, 15), ("c", 15, 24)):
        write_blocks(folder / f"{name}.conllu", sample_blocks()[start:stop])
    return folder


def analyze(folder: Path, files: Iterable[str], out: Path, *options: str) -> Path:
    corpus = [str(folder / f"{name}.conllu") for name in files]
    arguments = ["analyze", "--model", str(folder / "model"), "--corpus", *corpus, "--out", str(out)]
    assert main([*arguments, *(options or [*ANALYSES, *SMALL])]) == 0
    return out


@pytest.fixture(scope="module")
def whole(folder):
    return analyze(folder, "abc", folder / "whole")


@pytest.fixture(scope="module")
def small(folder):
    """A run of one analysis."""
    return analyze(folder, "a", folder / "small", *COUNT_ONLY)


@pytest.fixture(scope="module")
def other(folder):
    """A run of the same analysis on another file."""
    return analyze(folder, "b", folder / "other", *COUNT_ONLY, "--parts", str(folder / "parts"))


@pytest.fixture(scope="module")
def parts(folder):
    return [analyze(folder, name, folder / name) for name in "abc"]


@pytest.mark.slow
def test_figures_have_the_formats_that_are_asked_for(small, tmp_path):
    again = tmp_path / "again"
    assert {path.suffix for path in (small / "figures").iterdir()} == {".svg"}
    assert main(["report", str(small), "--out", str(again), "--figures", "pdf", "png"]) == 0
    drawn = {path.stem for path in (small / "figures").iterdir()}
    files = {path.name: path.read_bytes() for path in (again / "figures").iterdir()}
    assert set(files) == {f"{name}{ending}" for name in drawn for ending in (".svg", ".pdf", ".png")}
    assert all(content.startswith(b"%PDF") for name, content in files.items() if name.endswith(".pdf"))
    svgs = {name: content for name, content in files.items() if name.endswith(".svg")}
    assert svgs == contents(small, "figures")
    assert main(["report", str(again), "--overwrite"]) == 0  # which removes what the earlier report has written
    assert contents(again, "figures") == svgs


@pytest.mark.slow
def test_a_report_is_a_function_of_the_counts(whole, tmp_path):
    copy = Path(shutil.copytree(whole, tmp_path / "copy"))
    shutil.rmtree(copy / "tables")
    (copy / "report.html").unlink()
    assert main(["report", str(copy)]) == 0
    assert contents(copy) == contents(whole)


def test_another_min_count_changes_what_it_should(small, tmp_path):
    assert main(["report", str(small), "--out", str(tmp_path / "few"), "--min-count", "3"]) == 0
    assert json.loads((tmp_path / "few" / "run.json").read_text())["options"]["min_count"] == 3
    few, many = (contents(folder, "tables") for folder in (tmp_path / "few", small))
    assert few.keys() == many.keys()
    assert all(few[name] == many[name] for name in many if name.endswith(".csv"))
    assert few["dependency_best.tex"] != many["dependency_best.tex"]  # n of rare relations is in parentheses
    assert (tmp_path / "few" / "report.html").read_text() != (small / "report.html").read_text()


@pytest.mark.slow
def test_merged_runs_are_the_run_over_all_texts(whole, parts, tmp_path):
    assert main(["merge", str(parts[1]), str(parts[2]), "--out", str(tmp_path / "bc")]) == 0
    assert main(["merge", str(tmp_path / "bc"), str(parts[0]), "--out", str(tmp_path / "merged")]) == 0
    merged, expected = contents(tmp_path / "merged", "tables"), contents(whole, "tables")
    assert merged.keys() == expected.keys()
    assert all(merged[name] == expected[name] for name in expected if name.startswith("dependency"))
    for name in (name for name in expected if name.endswith(".csv")):
        # The last bits of a map depend on the inputs in its batch, and three files are cut into other batches than one.
        pd.testing.assert_frame_equal(
            pd.read_csv(tmp_path / "merged" / "tables" / name), pd.read_csv(whole / "tables" / name), rtol=0, atol=2e-5
        )
    record, whole_record = (json.loads((path / "run.json").read_text()) for path in (tmp_path / "merged", whole))
    assert record["sentences"] == whole_record["sentences"]
    assert record["corpus"]["counts"] == whole_record["corpus"]["counts"]
    digests = [{file["sha256"] for file in each["corpus"]["files"]} for each in (record, whole_record)]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--analyses", "surface", "--gradients", "none"], "analyses"),
        ([*COUNT_ONLY, "--coarse"], "--coarse"),
        ([*COUNT_ONLY, "--seed", "1"], "--seed"),
        ([*COUNT_ONLY, "--map", "norm"], "maps"),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(folder, small, options, reason, tmp_path, capsys):
    other = analyze(folder, "b", tmp_path / "other", *options)
    capsys.readouterr()
    assert main(["merge", str(small), str(other), "--out", str(tmp_path / "merged")]) == 1
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "merged").exists()


def test_another_model_and_the_same_file_are_refused(folder, small, tmp_path, capsys):
    tiny.save(tmp_path / "model", seed=1, max_position_embeddings=512)
    shutil.copy(folder / "b.conllu", tmp_path / "b.conllu")
    other = analyze(tmp_path, "b", tmp_path / "other", *COUNT_ONLY)
    capsys.readouterr()
    assert main(["merge", str(small), str(other), "--out", str(tmp_path / "merged")]) == 1
    assert "different models" in capsys.readouterr().err
    same = Path(shutil.copytree(small, tmp_path / "same"))
    assert main(["merge", str(small), str(same), "--out", str(tmp_path / "merged")]) == 1
    assert "a.conllu" in capsys.readouterr().err
    for wrong in ([str(same)], [str(same), str(same)]):
        assert main(["merge", *wrong, "--out", str(tmp_path / "merged")]) == 2


def test_the_same_sentence_in_another_file_is_refused(folder, small, other, tmp_path, capsys):
    text = (folder / "a.conllu").read_text(encoding="utf-8")
    name = text.split("# sent_id = ")[1].split("\n")[0]
    first = text.split("\n\n")[0]
    tree = "# sent_id = alone\n1\tBirds\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tsing\t_\tVERB\t_\t_\t0\troot\t_\t_"
    (folder / "twice.conllu").write_text(f"{tree}\n\n{first}\n\n", encoding="utf-8")
    twice = analyze(folder, ["twice"], tmp_path / "twice", *COUNT_ONLY)
    capsys.readouterr()
    # The two that share a sentence are not compared with the first run alone.
    for runs in ([small, twice], [other, small, twice]):
        assert main(["merge", *map(str, runs), "--out", str(tmp_path / "merged")]) == 1
        assert repr(name) in capsys.readouterr().err
    (folder / "named.conllu").write_text(f"{tree.replace('alone', name)}\n\n", encoding="utf-8")
    named = analyze(folder, ["named"], tmp_path / "named", *COUNT_ONLY)
    capsys.readouterr()
    assert main(["merge", str(small), str(named), "--out", str(tmp_path / "merged")]) == 0
    (warning,) = json.loads((tmp_path / "merged" / "run.json").read_text())["warnings"]
    assert repr(name) in warning


def test_the_record_of_a_merged_run_has_those_of_all_runs(folder, small, other, tmp_path):
    run = merge_runs([small, other], tmp_path / "ab")
    again = merge_runs([tmp_path / "ab", analyze(folder, "c", tmp_path / "c", *COUNT_ONLY)], tmp_path / "abc")
    records = [json.loads((path / "run.json").read_text()) for path in (small, other)]
    assert [entry["run"] for entry in run.record["merged"]] == [str(small), str(other)]
    for entry, record in zip(run.record["merged"], records, strict=True):
        for name in ("command", "started", "finished", "seconds", "versions", "git_commit"):
            assert entry[name] == record[name]
    assert run.record["started"] == min(record["started"] for record in records)
    for name, seconds in run.record["seconds"].items():
        assert seconds == pytest.approx(sum(record["seconds"].get(name, 0) for record in records), abs=1e-9)
    assert "count parts" in run.record["seconds"]
    of_all = [record["corpus"] for record in records]
    assert run.record["corpus"].keys() == of_all[0].keys()
    for name in ("sentences", "words"):
        assert run.record["corpus"]["counts"][name] == sum(corpus["counts"][name] for corpus in of_all)
    assert again.record["merged"][0]["merged"] == run.record["merged"]


@pytest.mark.parametrize(("unknown", "said"), [(20, ["10 %"]), (10, [])])
def test_a_merged_run_says_what_all_runs_read_together(small, other, unknown, said):
    """Half of the words were read by each run. At most 5 % of unknown words are no reason for a warning."""
    kept, states = "A warning of another kind.", [read_states(path) for path in (small, other)]
    for run, n_unknown, started in zip(states, (0, unknown), ("2026-02-03", "2026-01-02"), strict=True):
        record: Any = run.record
        record["started"] = started
        record["sentences"] |= {"words": 100, "unknown_words": n_unknown}
        record["warnings"] = [*warnings_of(record["sentences"]), kept]
        record["corpus"]["remarks"] = ["The same.", f"{n_unknown} of these."]
    assert len(states[1].record["warnings"]) == 2
    merged = merge_states(states, ["first", "second"])
    *of_words, last = merged.record["warnings"]
    assert [warning.partition(" of the words")[0] for warning in of_words] == said
    assert last == kept
    assert merged.record["started"] == "2026-01-02"
    assert merged.titles == (states[0].titles[0], "a.conllu, b.conllu")
    assert merged.record["corpus"]["remarks"] == ["The same.", "0 of these.", f"{unknown} of these."]


def test_inputs_that_both_runs_have_read_are_counted_without_the_one_that_is_named(small, other):
    first, second = (replace(read_states(path), inputs=dict.fromkeys("cab", "words")) for path in (small, other))
    with pytest.raises(MergeError, match="x and y have both read 'a' and 2 other inputs, with the same id"):
        _check_pair("x and y", first, second)


def test_a_merged_run_has_the_smallest_of_the_samples():
    assert _merge_options([{"examples": 7}, {"examples": None}, {"examples": 3}]) == {"examples": 3}


def test_the_options_of_a_merged_run_name_all_its_files():
    of_text = [{"corpus": [], "text": ["a.txt", "b.txt"]}, {"corpus": [], "text": ["c.txt"]}]
    assert _merge_options(of_text) == {"corpus": [], "text": ["a.txt", "b.txt", "c.txt"]}
    of_corpus = [{"corpus": ["a.conllu"], "text": None}, {"corpus": ["b.conllu"], "text": None}]
    assert _merge_options(of_corpus) == {"corpus": ["a.conllu", "b.conllu"], "text": None}
    assert _merge_options([{"test": ["a.txt"]}, {"test": None}]) == {"test": ["a.txt"]}


def test_a_merged_table_has_the_columns_of_the_last_run(small, other):
    runs = {"first": small, "last": other}
    states = [
        replace(read_states(path), tables={"cuts": {"columns": [name], "rows": [[name]]}})
        for name, path in runs.items()
    ]
    merged = merge_states(states, list(runs))
    assert merged.tables == {"cuts": {"columns": ["last"], "rows": [["first"], ["last"]]}}


def test_damage_is_noticed(folder, tmp_path, capsys):
    whole = analyze(folder, "b", tmp_path / "whole")
    capsys.readouterr()
    for index, path in enumerate(sorted((whole / "states").iterdir())):
        copy = Path(shutil.copytree(whole, tmp_path / str(index)))
        damaged = copy / "states" / path.name
        content = bytearray(damaged.read_bytes())
        content[len(content) // 2] ^= 1
        damaged.write_bytes(content)
        before = contents(copy)
        assert main(["report", str(copy)]) == 1
        assert path.name in capsys.readouterr().err
        assert contents(copy) == before
        damaged.unlink()
        assert main(["report", str(copy)]) == 1
        assert "Traceback" not in capsys.readouterr().err


def test_folders_without_states_are_refused(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 1
    assert "states" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "none")]) == 1
    assert "does not exist" in capsys.readouterr().err


def test_a_single_folder_is_not_taken_for_a_list_of_folders(tmp_path):
    with pytest.raises(OptionError, match="at least two runs"):
        merge_runs("runs/first", tmp_path / "merged")

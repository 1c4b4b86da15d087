"""The sentences that a run keeps with their maps: the same however the corpus is counted, and close to the maps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attentionology import Encoder, extract, load_treebank
from attentionology.engine.stored_run import load_run
from attentionology.extractors.maps.batching import WINDOW
from attentionology.reports.explorer.data import Explorer, SampledSentence
from attentionology.scripts.cli import main
from tests import tiny
from tests.maps import inflate

KINDS = ("weight", "norm")
SPREAD, KEPT = 60, 602  # short sentences count as longer ones, so that not all of them are kept
COUNT_ONLY = ["--analyses", "dependency", "--replicates", "10"]
NO_GUESS = 65535


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a tiny model, and two files of one and a half windows together, in documents of 40 sentences."""
    folder = tmp_path_factory.mktemp("examples")
    tiny.save(folder / "model", max_position_embeddings=64)
    words = ("cats", "dogs", "the", "word", "unbelievable")
    for name, start, stop in (("a", 0, WINDOW), ("b", WINDOW, WINDOW + 500)):
        rows = []
        for i in range(start, stop):
            if i % 40 == 0 or i == start:
                rows.append(f"# newdoc id = d{i // 40}")
            rows.append(f"# sent_id = s{i}")
            rows.append(f"1\t{words[i % 5]}\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_")
            rows.append(f"2\t{words[i % 3]}\t_\tVERB\t_\t_\t0\troot\t_\t_")
            rows += [f"{j}\t{words[(i + j) % 5]}\t_\tNOUN\t_\t_\t{j - 1}\tobj\t_\t_" for j in range(3, 3 + i % 4)]
            rows.append("")
        (folder / f"{name}.conllu").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def analyze(folder: Path, files: str, out: Path, *options: object) -> Path:
    corpus = [folder / f"{name}.conllu" for name in files]
    arguments = ["analyze", "--model", folder / "model", "--corpus", *corpus, "--out", out, "--map", *KINDS]
    assert main([*map(str, [*arguments, *COUNT_ONLY, *options])]) == 0
    return out


@pytest.fixture(scope="module")
def whole(folder):
    return analyze(folder, "ab", folder / "whole")


def samples(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run / "states").glob("examples*")}


def data_of(run: Path) -> Any:
    """The data that the page of a run holds."""
    page = (run / "report.html").read_text(encoding="utf-8")
    return json.loads(page.split('id="explorer-data">', 1)[1].split("</script>", 1)[0])["runs"][0]


def quantized(sentence: SampledSentence, kind: str, explorer: Explorer) -> np.ndarray:
    """The values that the page shows."""
    rows = len(sentence.rows)
    encoded = sentence.maps[kind]
    values = np.frombuffer(inflate(encoded.data), dtype=np.uint8).reshape(explorer.layers, explorer.heads, rows, rows)
    scales = np.array(encoded.scales).reshape(explorer.layers, explorer.heads, 1, 1)
    return np.asarray(values / 255 * scales)


@pytest.mark.slow
def test_parts_and_workers_keep_the_same(folder, whole, tmp_path):
    expected = samples(whole)
    assert set(expected) == {"examples-weight.safetensors", "examples-norm.safetensors"}
    assert samples(analyze(folder, "ab", tmp_path / "parts", "--parts", tmp_path / "counts")) == expected
    assert samples(analyze(folder, "ab", tmp_path / "workers", "--workers", 2)) == expected


@pytest.mark.slow
def test_the_page_holds_what_the_states_hold(whole, tmp_path):
    assert main(["report", str(whole), "--out", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "report.html").read_bytes() == (whole / "report.html").read_bytes()
    sample = data_of(whole)["sample"]
    names = [sentence["id"] for sentence in sample["sentences"]]
    assert len(names) == len(set(names)) == KEPT
    assert sample["kinds"] == list(KINDS)
    assert len({sentence["document"] for sentence in sample["sentences"][:SPREAD]}) == -(-(WINDOW + 500) // 40)
    assert sample["note"].startswith(
        f"{KEPT} of 1,524 inputs, sampled by a hash of their ids from as many documents as possible (60 of them) and "
        "then by these hashes alone."
    )


def test_values_are_those_of_extract(folder, whole):
    explorer = load_run(whole).explorer()
    assert explorer.sample is not None
    kept = {sentence.id: sentence for sentence in explorer.sample.sentences}
    chosen = [sentence for name in "ab" for sentence in load_treebank(folder / f"{name}.conllu") if sentence.id in kept]
    encoder = Encoder.from_pretrained(str(folder / "model"))
    seen = 0
    for kind in KINDS:
        for batch in extract(encoder, chosen, kind=kind):
            for sentence, maps in batch.unpadded():
                shown = quantized(kept[sentence.id], kind, explorer)
                scale = 1 if kind == "weight" else maps.max((-1, -2), keepdims=True)
                assert (np.abs(shown - maps) <= scale / 255).all()
                assert [word for word in kept[sentence.id].rows if word[0] != "["] == list(sentence.words)
                seen += 1
    assert seen == 2 * KEPT


@pytest.mark.slow
def test_guesses_of_a_whole_corpus_are_the_counts(folder, tmp_path):
    """Where all sentences are kept, the right guesses of a head are those of the table."""
    run = analyze(folder, "b", tmp_path / "all", "--examples", 500)
    explorer = load_run(run).explorer()
    assert explorer.sample is not None
    assert len(explorer.sample.sentences) == 500
    cells = load_run(run)["dependency", "norm"].cells
    for index, direction in enumerate(("dep->head", "head->dep")):
        right = np.zeros((explorer.layers, explorer.heads), dtype=int)
        for sentence in explorer.sample.sentences:
            shape = explorer.layers, explorer.heads, len(sentence.rows)
            guesses = np.frombuffer(inflate(sentence.guesses[f"norm/{direction}"]), dtype="<u2").reshape(shape)
            for row, head in enumerate(sentence.heads):
                right += guesses[..., row] == (NO_GUESS - 1 if head in (None, -1) else head)
        table = cells[(cells["relation"] == "all") & (cells["direction"] == direction)].sort_values(["layer", "head"])
        assert table["correct"].to_numpy().reshape(right.shape).tolist() == right.tolist(), index


@pytest.mark.slow
def test_merged_runs_keep_what_one_run_would_keep(folder, whole, tmp_path):
    runs = [analyze(folder, name, tmp_path / name) for name in "ba"]
    assert main(["merge", *map(str, runs), "--out", str(tmp_path / "ab")]) == 0
    merged, expected = (load_run(run).explorer() for run in (tmp_path / "ab", whole))
    assert merged.sample is not None
    assert expected.sample is not None
    for sentence, other in zip(merged.sample.sentences, expected.sample.sentences, strict=True):
        assert (sentence.id, sentence.rows, sentence.guesses) == (other.id, other.rows, other.guesses)
        # The files are cut into other batches than one corpus, and the last bits of a map depend on its batch.
        for kind in KINDS:
            difference = np.abs(quantized(sentence, kind, merged) - quantized(other, kind, expected))
            assert difference.max() <= 1.01 * max(sentence.maps[kind].scales) / 255


@pytest.mark.slow
def test_the_page_of_the_demo_has_all_sentences(demo_encoder, tmp_path):
    """By default, all 157 sentences of the sample treebank fit into 5 MB of maps and guesses."""
    assert main(["analyze", *COUNT_ONLY, "--out", str(tmp_path / "demo")]) == 0
    sample = data_of(tmp_path / "demo")["sample"]
    assert len(sample["sentences"]) == 157
    assert sample["note"].startswith("All 157 inputs. Values")
    arrays = [
        array for each in sample["sentences"] for array in (each["maps"]["weight"]["data"], *each["guesses"].values())
    ]
    assert 4_000_000 < sum(map(len, arrays)) < 5_000_000
    assert (tmp_path / "demo" / "report.html").stat().st_size < 8_000_000


@pytest.mark.slow
def test_runs_with_samples_of_other_sizes_add_up_to_the_smallest(folder, tmp_path):
    """As of a run that an earlier version has made, which kept 60 sentences, and a run of this one."""
    runs = [analyze(folder, "a", tmp_path / "a", "--examples", 40), analyze(folder, "b", tmp_path / "b")]
    assert main(["merge", *map(str, runs), "--out", str(tmp_path / "ab")]) == 0
    merged = load_run(tmp_path / "ab")
    whole = load_run(analyze(folder, "ab", tmp_path / "whole", "--examples", 40))
    samples = [run.explorer().sample for run in (merged, whole)]
    names = [[each.id for each in sample.sentences] for sample in samples if sample is not None]
    assert names[0] == names[1]
    assert len(names[0]) == merged.record["options"]["examples"] == 40
    none = analyze(folder, "b", tmp_path / "none", "--examples", 0)
    assert main(["merge", str(runs[0]), str(none), "--out", str(tmp_path / "no")]) == 1


def test_no_examples_leave_no_maps(folder, tmp_path):
    run = analyze(folder, "b", tmp_path / "none", "--examples", 0, "--limit", 8)
    assert samples(run) == {}
    assert data_of(run)["sample"] is None
    assert data_of(run)["measures"]


def test_a_negative_number_is_refused(folder, tmp_path, capsys):
    arguments = ["analyze", "--model", folder / "model", "--corpus", folder / "a.conllu", "--examples=-1"]
    assert main([*map(str, arguments)]) == 2
    assert "--examples must be at least 0" in capsys.readouterr().err

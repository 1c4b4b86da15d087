"""Alignment runs that are made again, merged, resumed, and run without gold links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attentionology.analyses.alignment.options import AlignmentOptions, BitextOptions, LinkOptions
from attentionology.corpora_loaders.alignment import load_bitext, load_links, write_links
from attentionology.corpora_loaders.sample.translation import SAMPLE_GOLD, SAMPLE_PAIRS
from attentionology.engine.align import align
from attentionology.engine.merge import merge_runs
from attentionology.engine.stored_run import load_run, report_run
from attentionology.extractors.translation import PairEncoder, load_sample_translator
from attentionology.scripts.cli import main
from tests import tiny
from tests.written import results

FEW = AlignmentOptions(replicates=20)


def cut_sample(folder: Path, start: int, stop: int) -> list[str]:
    """Write a stretch of the sample, and return the options that read it."""
    folder.mkdir()
    lines = SAMPLE_PAIRS.read_text("utf-8").splitlines(keepends=True)[start:stop]
    pairs, gold = folder / f"pairs-{start}.txt", folder / "gold.talp"
    pairs.write_text("".join(lines), "utf-8")
    links = load_links(SAMPLE_GOLD, load_bitext(SAMPLE_PAIRS)).links[start:stop]
    write_links(gold, [pair.sure for pair in links])
    return [str(pairs), str(gold)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("whole")
    options: list[Any] = [BitextOptions(limit=14), AlignmentOptions(replicates=20, direction="both")]
    align(options=options, out=folder / "run")
    return folder / "run"


@pytest.mark.slow
def test_a_report_is_made_again_from_the_counts_alone(whole, tmp_path):
    report_run(whole, tmp_path / "again")
    again = {path.relative_to(tmp_path / "again") for path in (tmp_path / "again").rglob("*") if path.is_file()}
    for path in again:
        assert (tmp_path / "again" / path).read_bytes() == (whole / path).read_bytes(), path
    assert "report.html" in map(str, again)
    run = load_run(whole)
    cells = pd.read_csv(whole / "tables" / "alignment.csv")
    assert run["alignment"].cells["error_rate"].to_numpy() == pytest.approx(cells["error_rate"].to_numpy())
    assert run.record["alignment"]["lowest_error_rate"]["direction"] == "grow-diag-final"


def test_the_explorer_has_the_error_rate_of_every_head(whole):
    explorer = load_run(whole).explore().explorer
    measure = next(each for each in explorer.measures if each.id == "alignment/error_rate/AWI/norm")
    cells = pd.read_csv(whole / "tables" / "alignment.csv").query("setting == 'AWI' and measure == 'norm'")
    expected = cells[cells["heads"] == "single"].sort_values(["layer", "head"])["error_rate"]
    assert list(measure.values) == pytest.approx(list(expected))
    assert "is the lowest alignment error rate of all heads" in explorer.findings[0].text
    assert "held out" in explorer.findings[0].text
    assert explorer.unit == "sentence pairs"


@pytest.mark.slow
def test_merged_runs_are_one_run_over_both_texts(tmp_path):
    folders = []
    for number, (start, stop) in enumerate([(0, 9), (9, 20)]):
        pairs, gold = cut_sample(tmp_path / f"text{number}", start, stop)
        folders.append(tmp_path / f"run{number}")
        align("sample", pairs, gold=gold, options=[FEW], out=folders[-1])
    merged = merge_runs(folders, tmp_path / "merged")
    counts = [pd.read_csv(folder / "tables" / "alignment.csv") for folder in [*folders, tmp_path / "merged"]]
    for column in ("links", "sure", "hits_sure", "hits_possible"):
        assert (counts[0][column] + counts[1][column] == counts[2][column]).all()
    assert merged.record["sentences"]["read"] == 20
    *parts, whole = (run.alignment.example for run in (*map(load_run, folders), merged))
    assert whole is not None
    assert whole.id in {part.id for part in parts if part}


@pytest.mark.slow
def test_parts_give_the_same_results_and_are_used_again(whole, tmp_path, capsys):
    options = ["align", *"--limit 14 --replicates 20 --direction both --parts".split(), str(tmp_path / "parts")]
    assert main([*options, "--part", "1/1"]) == 0
    assert "1 of 1 part is in" in capsys.readouterr().out
    [part] = (tmp_path / "parts").iterdir()
    written = part.stat().st_mtime_ns
    assert main([*options, "--out", str(tmp_path / "run")]) == 0
    assert part.stat().st_mtime_ns == written
    assert results(tmp_path / "run") == results(whole)


def test_without_gold_links_only_the_hypothesis_is_written(tmp_path, capsys):
    links = tmp_path / "links.talp"
    source = tmp_path / "pairs.txt"
    source.write_text("".join(SAMPLE_PAIRS.read_text("utf-8").splitlines(keepends=True)[:4]), "utf-8")
    options = ["--source", str(source), "--write", str(links), "--out", str(tmp_path / "run")]
    assert main(["align", *options]) == 0
    shown = capsys.readouterr().out
    assert "Alignment error rate" not in shown
    assert "Target words on special tokens of all heads of a layer together (%)" in shown
    assert {path.name for path in (tmp_path / "run" / "tables").iterdir()} == {"alignment.csv", "alignment_layers.tex"}
    cells = pd.read_csv(tmp_path / "run" / "tables" / "alignment.csv")
    assert not {"error_rate", "precision", "sure"} & set(cells.columns)
    norms = cells.query("setting == 'AWI' and measure == 'norm' and heads == 'all'").set_index("layer")
    chosen = json.loads((tmp_path / "run" / "run.json").read_text())["alignment"]
    layer = norms["size"].to_numpy().argmax() + 1
    largest = {"setting": "AWI", "measure": "norm", "direction": "forward", "layer": layer}
    assert chosen == {"gold": None, "baselines": {}, "largest_norm": largest}
    written = load_links(links, load_bitext(source))
    assert sum(len(pair.sure) for pair in written.links) == norms["links"].to_numpy()[int(layer) - 1]
    report_run(tmp_path / "run", tmp_path / "again")
    assert (tmp_path / "again" / "report.html").read_bytes() == (tmp_path / "run" / "report.html").read_bytes()


def test_links_of_both_directions_are_written_as_they_are_scored(tmp_path):
    links = tmp_path / "links.talp"
    pairs, gold = cut_sample(tmp_path / "text", 0, 5)
    options: list[Any] = [
        AlignmentOptions(replicates=0, direction="both", symmetrize="intersection"),
        LinkOptions(links),
    ]
    run = align("sample", pairs, gold=gold, options=options)
    again = align("sample", pairs, gold=gold, options=[FEW, BitextOptions(baseline=(f"written={links}",))])
    best = run["alignment"].best.query("direction == 'intersection'")["error_rate"].min()
    baselines = again["alignment"].baselines.set_index("name")
    assert baselines.loc["written", "error_rate"] == best


@pytest.mark.slow
def test_links_of_an_encoder_are_scored_and_reported(tmp_path):
    """Cosines have no norm by which a layer could be chosen, so its columns are empty and the page shows a dash."""
    out = tmp_path / "similar"
    arguments = ["align", "--method", "similarity", "--model", "demo", "--limit", "4", "--replicates", "20"]
    assert main([*arguments, "--out", str(out)]) == 0
    best = pd.read_csv(out / "tables" / "alignment_best.csv")
    assert set(best["measure"]) == {"cosine"}
    assert best[["largest_layer", "largest_head", "largest_error_rate"]].isna().all(axis=None)
    assert best["error_rate"].between(0, 1).all()
    page = (out / "report.html").read_text("utf-8")
    assert "The best layers and heads" in page
    assert "<td>–</td>" in page


def test_sentence_pairs_that_were_loaded_are_recorded_by_their_file():
    pairs = load_bitext(SAMPLE_PAIRS, limit=3)
    run = align("sample", pairs, options=[AlignmentOptions(replicates=0)])
    assert run.record["options"]["source"] == str(SAMPLE_PAIRS)
    assert run.record["options"]["target"] is None


@pytest.mark.parametrize("method", ["cross-attention", "similarity", "self-attention"])
def test_a_share_of_unknown_words_is_one_of_the_words_of_both_sides(tmp_path, method):
    """Two of three words of the source are unknown, the third and the only word of the target are not."""
    reader: Any = load_sample_translator()
    source, target = (words.split()[0] for words in SAMPLE_PAIRS.read_text("utf-8").splitlines()[0].split("|||"))
    if method != "cross-attention":
        reader, source, target = PairEncoder(tiny.encoder(), method), "the", "man"
    (tmp_path / "pairs.txt").write_text(f"Ωμέγα Ωμέγα {source} ||| {target}\n", "utf-8")
    options: Any = AlignmentOptions(method=method, replicates=20)
    run = align(reader, tmp_path / "pairs.txt", options=[options], out=tmp_path / "run")
    counts = run.record["sentences"]
    assert (counts["read"], counts["words"], counts["unknown_words"]) == (1, 4, 2)
    (warning,) = run.record["warnings"]
    assert warning.startswith("50 % of the words contain pieces")
    assert "know: 2 of 4" in " ".join((tmp_path / "run" / "report.html").read_text("utf-8").split())

"""The command ``align``: what it writes, and what it refuses before it reads a model."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from attentionology.corpora_loaders.alignment import load_bitext, load_links
from attentionology.corpora_loaders.sample.translation import SAMPLE_GOLD, SAMPLE_PAIRS
from attentionology.scripts.cli import main


def align(tmp_path: Path, *arguments: str) -> int:
    return main(["align", "--out", str(tmp_path / "out"), "--replicates", "20", *arguments])


@pytest.mark.slow
def test_results_are_written(tmp_path, capsys):
    links = tmp_path / "links.talp"
    arguments = ["--limit", "12", "--controls", "1", "--write", str(links), "--baseline", f"gold={SAMPLE_GOLD}"]
    assert align(tmp_path, *arguments) == 0
    shown = capsys.readouterr().out
    assert "\n\n\n" not in "\n".join(line.rstrip() for line in shown.splitlines())
    assert "Best layer, or layer and head (error rates in %)" in shown
    assert "Baselines (%)" in shown
    assert "Sentence pairs read: 12, skipped: 0" in shown
    assert shown.endswith(f"Links: {links}\n")
    assert "random weights, copy 1, best of all" in shown
    out = tmp_path / "out"
    cells = pd.read_csv(out / "tables" / "alignment.csv")
    assert len(cells) == 2 * 2 * (2 + 2 * 4)  # settings × measures × (layers + heads)
    assert (cells["low"] <= cells["high"]).all()
    baselines = pd.read_csv(out / "tables" / "alignment_baselines.csv").set_index("name")
    assert baselines.loc["gold", "error_rate"] == 0
    record = json.loads((out / "run.json").read_text())
    assert record["alignment"]["gold"]["sure"] == baselines.loc["gold", "links"]
    assert record["sentences"]["read"] == 12
    assert record["corpus"]["counts"]["sentence_pairs"] == 12
    assert "Word alignment by cross-attention" in (out / "report.html").read_text()
    best = cells[cells["heads"] == "all"]["error_rate"].min()
    bitext = load_bitext(SAMPLE_PAIRS, limit=12)
    lines = [f"{line}\n" for line in links.read_text().splitlines()]
    assert len(lines) == 12
    shortened = tmp_path / "pairs.txt"
    shortened.write_text("".join(SAMPLE_PAIRS.read_text("utf-8").splitlines(keepends=True)[:12]), "utf-8")
    written = load_links(links, load_bitext(shortened))
    hits = sum(len(a.sure & b.sure) for a, b in zip(written.links, load_links(SAMPLE_GOLD, bitext).links, strict=True))
    total = sum(len(pair.sure) for pair in written.links) + int(cells["sure"].iloc[0])
    assert best == pytest.approx(1 - 2 * hits / total)


def test_links_outside_their_pair_are_reported(tmp_path, capsys):
    gold = tmp_path / "gold.talp"
    lines = SAMPLE_GOLD.read_text("utf-8").splitlines()
    gold.write_text("\n".join([f"{lines[0]} 40-0 0p41", *lines[1:], "", ""]), "utf-8")
    arguments = ["--source", str(SAMPLE_PAIRS), "--gold", str(gold), "--limit", "4"]
    assert align(tmp_path, *arguments) == 1
    assert f"{gold}:1: link 40-0 is outside its sentence pair" in " ".join(capsys.readouterr().err.split())
    assert align(tmp_path, *arguments, "--lenient") == 0
    remark = f"Links of gold ({gold}) that are outside their sentence pairs, left out: 2 of "
    assert f"Warning: {remark}" in capsys.readouterr().out.replace("\n", " ")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["alignment"]["gold"]["outside"] == 2
    assert [text.startswith(remark) for text in (*record["warnings"], *record["corpus"]["remarks"])] == [True, True]
    left_out = (tmp_path / "out" / "report.html").read_text().partition("What was left out</h2>")[2]
    assert "outside their sentence pairs, left out: 2 of" in left_out.partition("Provenance")[0]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--source", str(SAMPLE_PAIRS), "--one-based"], 2, "--one-based has no effect without gold links"),
        (["--source", str(SAMPLE_PAIRS), "--controls", "1"], 2, "--controls has no effect without gold links"),
        (["--source", str(SAMPLE_PAIRS), "--lenient"], 2, "--lenient has no effect without gold links"),
        (["--symmetrize", "itermax", "--direction", "both"], 2, "--symmetrize itermax is for similar words"),
        (["--symmetrize", "union"], 2, "--symmetrize needs links of both directions"),
        (["--write", "nowhere/links.talp"], 2, "there is no folder nowhere"),
        (["--gold", str(SAMPLE_GOLD)], 2, "the sample has its own translations and gold links"),
        (["--baseline", "giza"], 2, "--baseline takes NAME=FILE, not 'giza'"),
        (
            ["--source", str(SAMPLE_PAIRS), "--gold", str(SAMPLE_GOLD), "--one-based"],
            1,
            "counted from 0: use one_based",
        ),
        (["--source", str(SAMPLE_PAIRS), "--gold", str(SAMPLE_PAIRS)], 1, "expected links such as 3-4"),
    ],
)
def test_wrong_options_and_files_are_refused(tmp_path, capsys, arguments, status, message):
    assert align(tmp_path, *arguments) == status
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

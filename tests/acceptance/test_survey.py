"""``attentionology survey``: three models on four treebanks with two kinds of maps, where one treebank is broken."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

import attentionology
from attentionology import CorpusOptions, CountOptions, OptionError, load_run
from attentionology.analyses import PartOptions
from attentionology.analyses.survey.accuracy import SURVEY
from attentionology.analyses.survey.cells import SURVEY_CELLS
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.counting import parts
from attentionology.reports.tables import write_csv
from attentionology.scripts.cli import main
from tests import tiny

MODELS, KINDS = ("model-a", "model-b", "model-c"), ("weight", "norm")
TREEBANKS = ("first", "second", "third", "broken")
LIMIT, LEAST, REPLICATES = 10, 5, 40
COUNTS = ("--replicates", str(REPLICATES), "--min-count", str(LEAST), "--limit", str(LIMIT))
SAME = {
    "layer": "layer", "head": "head", "direction": "direction", "total": "n", "correct": "correct",
    "accuracy": "accuracy", "accuracy_low": "low", "accuracy_high": "high", "offset": "offset", "gain": "gain",
    "gain_low": "gain_low", "gain_high": "gain_high", "heldout_accuracy": "heldout",
}  # fmt: skip


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """Three models, and four treebanks of sentences of the sample, the last of which begins with a broken line."""
    folder = tmp_path_factory.mktemp("grid")
    for seed, name in enumerate(MODELS):
        tiny.save(folder / name, seed=seed, max_position_embeddings=200)
    sentences = SAMPLE_TREEBANK.read_text(encoding="utf-8").split("\n\n")
    for index, name in enumerate(TREEBANKS):
        chosen = sentences[LIMIT * index : LIMIT * (index + 1)]
        # Sentences of different treebanks have the same ids.
        text = "\n\n".join(re.sub("# sent_id = .*", f"# sent_id = {k}", one) for k, one in enumerate(chosen)) + "\n\n"
        # Every relation takes time, so there are five: all others become dep.
        text = re.sub(r"\t(?!(?:det|nsubj|punct|root)\t)[a-z:]+(\t\S*\t\S*\n)", r"\tdep\1", text)
        (folder / f"{name}.conllu").write_text(("1\tbroken\n\n" if name == "broken" else "") + text, encoding="utf-8")
    return folder


def command(grid, out, *options, models=MODELS, treebanks=TREEBANKS):
    paths = [str(grid / name) for name in models]
    files = [str(grid / f"{name}.conllu") for name in treebanks]
    return ["survey", "--models", *paths, "--treebanks", *files, "--maps", *KINDS, *COUNTS, "--out", str(out), *options]


@pytest.fixture(scope="module")
def surveyed(grid):
    """The folder of the survey, and its exit status."""
    out = grid / "out"
    status = main(command(grid, out, "--parts", str(grid / "parts"), "--relation", "det"))
    return out, status


def read(out, name):
    return pd.read_csv(out / "tables" / f"{name}.csv", keep_default_na=False, na_values=[""])


@pytest.mark.slow
def test_a_cell_that_fails_is_a_row_and_does_not_stop_the_grid(surveyed):
    out, status = surveyed
    assert status == 3
    table = read(out, "survey")
    assert list(table) == SURVEY.names
    failed = table[table["status"] == "failed"]
    assert failed["model"].str.rsplit("/").str[-1].tolist() == list(MODELS)
    assert set(failed["treebank"]) == {"broken"}
    assert failed["reason"].str.contains("broken.conllu:").all()
    assert failed["n"].isna().all()
    counted = table[table["status"] == "ok"]
    assert len(counted.groupby(["model", "treebank", "map"])) == 3 * 3 * 2
    cells = read(out, "survey_cells")
    assert list(cells) == SURVEY_CELLS.names
    assert cells["status"].value_counts().to_dict() == {"ok": 18, "failed": 3}
    assert (cells.loc[cells["status"] == "ok", "sentences"] == LIMIT).all()


@pytest.mark.slow
def test_cells_have_the_numbers_of_single_runs(grid, surveyed):
    table = read(surveyed[0], "survey")
    options: list[Any] = [CorpusOptions(limit=LIMIT), CountOptions(replicates=REPLICATES, min_count=LEAST)]
    for model, treebank in (("model-a", "second"), ("model-c", "third")):
        path = str(grid / model)
        for kind in KINDS:
            run = attentionology.analyze(
                path, grid / f"{treebank}.conllu", analyses="dependency", maps=kind, options=options
            )
            cell = table[(table["model"] == path) & (table["treebank"] == treebank) & (table["map"] == kind)]
            best = run["dependency"].best[["relation", *SAME]].rename(columns=SAME)
            pd.testing.assert_frame_equal(
                cell[["relation", *SAME.values()]].reset_index(drop=True), best, check_dtype=False, rtol=1e-12
            )


@pytest.mark.slow
def test_contrasts_are_those_of_compare(grid, surveyed):
    contrasts = read(surveyed[0], "survey_contrasts")
    options: list[Any] = [CorpusOptions(limit=LIMIT), CountOptions(replicates=REPLICATES, min_count=LEAST)]
    runs = [
        attentionology.analyze(grid / model, grid / "third.conllu", analyses="dependency", maps=KINDS, options=options)
        for model in MODELS[:2]
    ]
    expected = attentionology.compare(*runs, names=("a", "b"), min_count=LEAST).table.query("map_a == 'norm'")
    about = contrasts.query("about == 'models' and treebank == 'third' and map_a == 'norm'")
    about = about[about["model_b"] == str(grid / "model-b")]
    numbers = ["n_a", "n_b", "value_a", "value_b", "difference", "low", "high", "p", "p_holm"]
    assert about["relation"].tolist() == expected["group"].tolist()
    np.testing.assert_allclose(about[numbers].astype(float), expected[numbers].astype(float), rtol=1e-9)
    assert set(about["paired"]) == {"paired"}
    kinds = contrasts.query("about == 'maps' and treebank == 'third'")
    kinds = kinds[kinds["model_a"] == str(grid / "model-a")]
    assert runs[0].contrasts is not None
    np.testing.assert_allclose(kinds[numbers].astype(float), runs[0].contrasts.table[numbers].astype(float), rtol=1e-9)
    assert set(contrasts["treebank"]) == set(TREEBANKS[:3])


def test_means_are_over_the_treebanks_that_were_counted(surveyed):
    means, contrasts = read(surveyed[0], "survey_means"), read(surveyed[0], "survey_contrasts")
    row = means.query("about == 'maps' and relation == 'det'").iloc[0]
    rows = contrasts.query("about == 'maps' and relation == 'det' and n_a >= @LEAST")
    rows = rows[rows["model_a"] == row["model_a"]]
    assert row["treebanks"] == len(rows) > 1
    assert row["difference"] == pytest.approx(rows["difference"].mean())
    assert row["low"] < row["difference"] < row["high"]


@pytest.mark.slow
def test_a_mended_treebank_is_all_that_is_counted(grid, surveyed, tmp_path, monkeypatch):
    counted = []
    write = parts.PartCounter.write

    def counting(self, part, counts):
        counted.append(len(part))
        write(self, part, counts)

    monkeypatch.setattr(parts.PartCounter, "write", counting)
    broken = grid / "broken.conllu"
    text = broken.read_text(encoding="utf-8")
    try:
        broken.write_text(text.replace("1\tbroken\n\n", ""), encoding="utf-8")
        assert main(command(grid, tmp_path / "out", "--parts", str(grid / "parts"))) == 0
    finally:
        broken.write_text(text, encoding="utf-8")
    assert counted == [LIMIT, LIMIT, LIMIT]
    assert set(read(tmp_path / "out", "survey")["treebank"]) == set(TREEBANKS)


def test_the_page_has_every_entry_without_a_script(surveyed):
    out, _ = surveyed
    page = (out / "report.html").read_text(encoding="utf-8")
    static = page.split("<script>")[0]
    table = read(out, "survey").query("status == 'ok'")
    sections = re.findall(r'<section class="relation" [^>]*data-name="([^"]*)"[^>]*>(.*?)</section>', static, re.DOTALL)
    assert {name for name, _ in sections} == set(table["relation"])
    assert re.findall(r'data-name="([^"]*)" data-first', page) == ["det"]
    det = dict(sections)["det"]
    for row in table.query("relation == 'det'").itertuples():
        assert f">{100 * row.heldout:.1f} <span" in det
        assert f"{int(row.layer)}-{int(row.head)} " in det
    assert det.count(">failed</td>") == 3 * 2
    assert "broken.conllu:" in re.sub("<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<(?:script|link)[^>]+(?:src|href)=", page)
    for name in ("survey_accuracy", "survey_differences"):
        assert (out / "figures" / f"{name}.svg").exists()
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["survey"]["failed"] == 3
    assert all(len(model["weights_sha256"]) == 64 for model in record["survey"]["models"])


def test_a_model_that_cannot_be_loaded_fails_in_every_cell(grid, tmp_path, capsys):
    arguments = command(grid, tmp_path / "out", models=("model-a", "absent"), treebanks=("first", "second"))
    assert main(arguments) == 3
    printed = capsys.readouterr().out
    assert "Failed: " in printed
    assert "Warning: 2 of 4 cells failed" in printed
    assert any("held-out accuracy of the best head, and" in line for line in printed.splitlines())
    cells = read(tmp_path / "out", "survey_cells")
    assert cells["status"].tolist() == ["ok", "ok", "failed"] * 2


@pytest.mark.slow
def test_dry_run_counts_cells_sentences_and_passes(grid, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(command(grid, out, "--dry-run", "--control", "random-init:2", "--json")) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["cells"], facts["passes"], facts["all_passes"]) == (12, 3, 27)
    assert facts["sentences"] == 3 * 3 * 3 * LIMIT
    assert [treebank["sentences"] for treebank in facts["treebanks"]] == [LIMIT, LIMIT, LIMIT, 0]
    assert not out.exists()
    assert main(command(grid, out, "--dry-run")) == 0
    text = capsys.readouterr().out
    assert "Cells: 12 (3 models × 4 treebanks)" in text
    assert "Cells that would fail: 3" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--maps", "weight", "weight"], "--maps names weight twice"),
        (["--maps", "nonsense"], "nonsense"),
        (["--models", "demo", "demo"], "--models names demo twice"),
        (["--models", "org/m", "org/m/"], "--models names org/m twice, also as org/m/"),
        (["--treebanks", "sample", "tests/older/../older", "tests/older"], "names tests/older/../older twice, also as"),
        (["--relation", "zzz"], "the relation 'zzz'; choose from: all, all-nopunct, all-nopunct-noroot, "),
        (["--relation", "nsubjj"], "; did you mean 'nsubj'?"),
        (["--relation", "nsubj:pass", "--coarse"], "no treebank has the relation 'nsubj:pass'; choose from: all"),
    ],
)
def test_wrong_options_end_the_survey_before_it_begins(tmp_path, capsys, options, message):
    assert main(["survey", *options, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_call_has_the_results_of_the_command(grid, surveyed, tmp_path):
    counts, files = CountOptions(replicates=REPLICATES, min_count=LEAST), CorpusOptions(limit=LIMIT)
    options: list[Any] = [files, counts, PartOptions(parts=grid / "parts")]
    result = attentionology.survey(
        [grid / name for name in MODELS],
        [grid / f"{name}.conllu" for name in TREEBANKS],
        maps=KINDS,
        options=options,
        relation="det",
    )
    assert repr(result) == "Survey(3 models × 4 treebanks × 2 maps, 3 failed)"
    write_csv(result.table, tmp_path / "call.csv")
    assert (tmp_path / "call.csv").read_bytes() == (surveyed[0] / "tables" / "survey.csv").read_bytes()
    unread: Any = CorpusOptions(text=("a.txt",))
    with pytest.raises(OptionError, match="a survey uses only format, tokens, limit, lenient and punctuation"):
        attentionology.survey("demo", "sample", options=[unread])


@pytest.mark.slow
def test_heads_lead_to_the_reports_of_the_cells(grid, tmp_path):
    """Each entry of the page leads to the head of the table in the report of its model, treebank and kind of map."""
    out = tmp_path / "a survey"
    some: dict[str, Any] = {"models": MODELS[:2], "treebanks": TREEBANKS[1:3]}
    assert main(command(grid, out, "--reports", **some)) == 0
    table = read(out, "survey")
    expected = set()
    for row in table[table["correct"] > 0].itertuples():
        view = f"head={row.layer}-{row.head}&relation={row.relation}&direction={row.direction}&kind={row.map}"
        expected.add(f"runs/{Path(row.model).name}-{row.treebank}/report.html#{view}")
    page = (out / "report.html").read_text(encoding="utf-8")
    links = {unquote(html.unescape(link)) for link in re.findall('href="(runs/[^"]*)"', page)}
    assert links == expected  # those of the table of transfer are among them
    for model in some["models"]:
        for treebank in some["treebanks"]:
            run = load_run(out / "runs" / f"{model}-{treebank}")
            assert (out / "runs" / f"{model}-{treebank}" / "report.html").exists()
            assert run.record["options"]["out"] == str(out / "runs" / f"{model}-{treebank}")
            sample = run.explorer().sample
            assert sample is not None
            assert len(sample.sentences) == run.record["sentences"]["read"] > 0
            for kind in KINDS:
                rows = table[(table["model"].str.endswith(model)) & (table["treebank"] == treebank)]
                own = rows[rows["map"] == kind]["heldout"].tolist()
                assert own == pytest.approx(run["dependency", kind].best["heldout_accuracy"].tolist(), nan_ok=True)
    assert main(command(grid, out, "--overwrite", **some)) == 0
    assert not (out / "runs").exists()
    assert 'href="runs/' not in (out / "report.html").read_text(encoding="utf-8")
    with pytest.raises(OptionError, match="needs out"):
        attentionology.survey("demo", "sample", reports=True)

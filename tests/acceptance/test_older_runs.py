"""Run folders that version 0.3.0 has written are reported, merged, compared and loaded, with the numbers of then."""

from __future__ import annotations

import functools
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attentionology import CountOptions, Run, analyze, load_run, load_treebank
from attentionology.analyses.contract import OptionError
from attentionology.analyses.counting.metric import StateError
from attentionology.analyses.surface.analysis import Surface
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine import stored_run
from attentionology.engine.results.states import read_states
from attentionology.scripts.cli import main
from tests import tiny
from tests.written import contents

OLDER = Path(__file__).parents[1] / "older" / "0.3.0"
"""Records and states of runs of 0.3.0 on a few sentences of the sample, without pages and figures, and some tables,
which have the names of today."""

TABLES = sorted(path.relative_to(OLDER).as_posix() for path in OLDER.glob("*/tables/*.csv"))


loaded = functools.cache(load_run)


def assert_equal_to_what_was_written(run: Run, path: Path) -> None:
    """Check all columns that the table had when it was written."""
    then, now = pd.read_csv(path), pd.read_csv(io.StringIO(run.tables[path.stem].to_csv(index=False)))
    then = then.drop(columns=["shuffled", "p"], errors="ignore")  # tests shuffle heads less often
    then = then.loc[:, ~then.columns.str.contains("gain_(?:low|high)$")]  # which are computed in another way now
    pd.testing.assert_frame_equal(now[list(then)], then, check_dtype=False, rtol=1e-12)


@pytest.mark.parametrize("name", TABLES)
def test_tables_say_what_they_said_when_they_were_written(name):
    path = OLDER / name
    assert_equal_to_what_was_written(loaded(path.parents[1]), path)


def test_an_older_run_is_reported_and_then_has_todays_format(tmp_path):
    assert main(["report", str(OLDER / "a"), "--out", str(tmp_path / "run")]) == 0
    assert "obj" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "run" / "states" / "run.json").read_bytes())["format"] == 2
    assert_equal_to_what_was_written(load_run(tmp_path / "run"), OLDER / "a" / "tables" / "dependency_best.csv")


def test_a_report_in_place_leaves_no_table_of_a_former_name(tmp_path):
    run = Path(shutil.copytree(OLDER / "a", tmp_path / "run"))
    (run / "tables" / "head_neighbors.csv").rename(run / "tables" / "head_neighbours.csv")  # as 0.3.0 called it
    assert main(["report", str(run)]) == 0
    assert [path.name for path in run.glob("tables/head_n*.csv")] == ["head_neighbors.csv"]


def test_a_report_has_no_count_that_a_run_cannot_have(tmp_path):
    with pytest.raises(OptionError, match="--min-count must be at least 1, not 0"):
        stored_run.report_run(OLDER / "a", tmp_path / "run", min_count=0)
    assert not (tmp_path / "run").exists()


def test_a_run_of_0_2_that_0_3_has_stored_again_is_reported(tmp_path):
    assert main(["report", str(OLDER / "counted-by-0.2.0"), "--out", str(tmp_path / "run")]) == 0
    best = pd.read_csv(tmp_path / "run" / "tables" / "dependency_best.csv").set_index("relation")
    found = [best[column]["all"] for column in ("layer", "head", "direction", "total", "correct")]
    assert found == [3, 2, "dep->head", 52, 25]


def test_what_was_not_counted_is_left_out():
    run = loaded(OLDER / "ablation")
    assert [warning.partition(" were ")[0] for warning in run.record["warnings"] if "not counted" in warning] == [
        "pairs of ablation-vectors", "pairs of ablation-predictions"
    ]  # fmt: skip
    summary = run.tables["ablation_summary"]
    assert summary["lead"].notna().all()
    assert summary[["lead_low", "lead_high"]].isna().all(axis=None)


def test_a_value_of_an_option_has_the_name_of_today():
    assert loaded(OLDER / "explain").record["options"]["special"] == "renormalize"


def test_older_runs_are_merged(tmp_path):
    assert main(["merge", str(OLDER / "a"), str(OLDER / "b"), "--out", str(tmp_path / "both")]) == 0
    totals = [
        run.dependency.best.set_index("relation")["total"]
        for run in map(loaded, (tmp_path / "both", OLDER / "a", OLDER / "b"))
    ]
    expected = totals[1].add(totals[2], fill_value=0).astype(int)
    assert totals[0].sort_index().to_dict() == expected.sort_index().to_dict()
    assert totals[0]["all"] == 52 + pd.read_csv(OLDER / "b" / "tables" / "dependency_best.csv")["total"][0]


@pytest.mark.parametrize(
    ("runs", "tables", "label", "score"),
    [
        (("a", "a-norm"), "dependency_best.csv", "relation", "heldout_accuracy"),
        (("probe", "probe"), "probe.csv", "method", "uas"),
    ],
)
def test_older_runs_are_compared(runs, tables, label, score, tmp_path):
    folders = [Path(shutil.copytree(OLDER / name, tmp_path / str(number))) for number, name in enumerate(runs)]
    names = ["--names", "one", "other"]
    assert main(["compare", *map(str, folders), *names, "--out", str(tmp_path / "compared")]) == 0
    compared = pd.read_csv(tmp_path / "compared" / "tables" / "comparison.csv")
    compared = compared[compared["family"].isin(["relations", "attachment score (argmax)"])].set_index("group")
    one, other = (pd.read_csv(folder / "tables" / tables).set_index(label)[score] for folder in folders)
    assert len(compared) > 4
    for group, row in compared.iterrows():
        assert (row["value_a"], row["value_b"]) == pytest.approx((one[group], other[group]), nan_ok=True)
        assert row["difference"] == pytest.approx(one[group] - other[group], nan_ok=True)


def test_an_analysis_says_how_its_older_facts_are_read(monkeypatch):
    class Renamed(Surface):
        """An analysis that has renamed one of its facts and has dropped another."""

        def read_older(self, facts: Any, lookups: Any) -> tuple[Any, Any]:
            facts = {"unit": facts["inputs"], **facts}
            kept = {name: value for name, value in facts.items() if name not in ("inputs", "dropped")}
            return super().read_older(kept, lookups)

    states = read_states(OLDER / "a")
    older = [
        replace(each, facts={**{k: v for k, v in each.facts.items() if k != "unit"}, "inputs": "lines", "dropped": 1})
        if each.name == "surface"
        else each
        for each in states.analyses
    ]
    monkeypatch.setattr(stored_run, "read_states", lambda folder: replace(states, analyses=tuple(older)))
    with pytest.raises(StateError, match=r"the facts of the analysis surface cannot be read: .*dropped"):
        load_run(OLDER / "a")
    found = stored_run.registered_analysis
    monkeypatch.setattr(stored_run, "registered_analysis", lambda name: Renamed() if name == "surface" else found(name))
    facts = next(part.counts.facts for part in load_run(OLDER / "a").parts if part.analysis.name == "surface")
    assert facts.unit == "lines"


def test_a_run_that_is_saved_later_is_the_run_that_a_folder_was_written_of(tmp_path):
    corpus, encoder = load_treebank(SAMPLE_TREEBANK, limit=4), tiny.encoder("bert")
    names, options = ["dependency", "clusters"], [CountOptions(replicates=20)]
    run = analyze(encoder, corpus, analyses=names, options=options)
    analyze(encoder, corpus, analyses=names, options=options, out=tmp_path / "at once")
    saved = run.save(tmp_path / "later")
    assert saved.folder == tmp_path / "later"
    assert run.folder is None
    written, later = contents(tmp_path / "at once"), contents(tmp_path / "later")
    assert set(written) == set(later)
    timed = {name for name in written if written[name] != later[name]}
    assert timed <= {"report.html", "summary.json", "run.json", "states/run.json"}  # they have times and the folder
    assert main(["report", str(tmp_path / "later"), "--out", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "report.html").read_bytes() == (tmp_path / "later" / "report.html").read_bytes()
    assert load_run(tmp_path / "later").report() == (tmp_path / "later" / "report.html").read_text(encoding="utf-8")

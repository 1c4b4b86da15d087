"""The engine: one pass for all analyses, several kinds of maps, and `analyze` from Python."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch

import attentionology
from attentionology.analyses.contract import (
    Analysis,
    AnalysisRow,
    Masking,
    OptionError,
    OptionSet,
    Plan,
    Request,
    Titles,
)
from attentionology.analyses.coreference.options import CoreferenceOptions
from attentionology.analyses.counting.counting import CountWith
from attentionology.analyses.counting.metric import Metric
from attentionology.analyses.dependency.options import DependencyOptions
from attentionology.analyses.registry import registered_analyses
from attentionology.analyses.shared.input_options import LimitOptions, ModelOptions
from attentionology.analyses.shared.options import CountOptions, MapOptions
from attentionology.analyses.surface.analysis import Surface
from attentionology.analyses.surface.options import SurfaceOptions
from attentionology.corpora_loaders import Treebank, load_treebank
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.corpus import CorpusOptions
from attentionology.engine.counting.passes import Limits, plan_passes, run_passes
from attentionology.engine.results.explorer import contributions_of, explorer_of
from attentionology.engine.results.part import _with_kinds
from attentionology.engine.results.run import Run
from attentionology.extractors import Encoder, ExtractionError, MapBatch, MapMaker, ModelError, get_kind
from attentionology.reports.explorer.contribution import Contribution
from attentionology.reports.explorer.data import Fact
from attentionology.reports.finding import Finding
from attentionology.reports.page import Section, SectionError
from attentionology.reports.run_folder import RunFolderError
from attentionology.reports.tables import write_csv
from attentionology.scripts.cli import main
from attentionology.scripts.running import print_run, tables_of
from attentionology.storage.plugins import RegistryError
from tests import tiny
from tests.unit.test_run_folder import write_run

pytestmark = pytest.mark.usefixtures("quick_geography")

SENTENCES = 24


@pytest.fixture(scope="module")
def encoder():
    return tiny.encoder(max_position_embeddings=200)


@pytest.fixture(scope="module")
def treebank():
    return load_treebank(SAMPLE_TREEBANK, limit=SENTENCES)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny model on disk."""
    return tiny.save(tmp_path_factory.mktemp("model"), max_position_embeddings=200)


@pytest.fixture
def passed(monkeypatch):
    """How often each input goes through the model in single precision, by its pieces."""
    counts: Counter[tuple[int, ...]] = Counter()
    forward = Encoder.forward

    def counting(self, pieces, **options):
        if self.dtype == torch.float32:
            counts.update(tuple(one.ids) for one in pieces)
        return forward(self, pieces, **options)

    monkeypatch.setattr(Encoder, "forward", counting)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("maps", ["weight", ("weight", "rollout")])
def test_every_sentence_is_read_once_for_all_analyses(encoder, treebank, passed, maps):
    run = attentionology.analyze(encoder, treebank, maps=maps)
    assert {part.analysis.name for part in run.parts} == {"dependency", "surface", "clusters"}
    assert sum(passed.values()) == SENTENCES
    assert set(passed.values()) == {1}


@pytest.mark.slow
def test_the_pass_of_a_kind_that_reads_weights_serves_all_kinds(encoder, treebank, passed):
    attentionology.analyze(encoder, load_treebank(SAMPLE_TREEBANK, limit=2), maps="norm")
    passed.clear()  # the weights were compared with the model when they were read
    attentionology.analyze(encoder, treebank, maps=["weight", "norm", "attnresln"])
    assert sum(passed.values()) == SENTENCES


def figures_and_tables(folder: Path) -> tuple[dict[str, pd.DataFrame], set[str]]:
    tables = {path.stem: pd.read_csv(path) for path in (folder / "tables").glob("*.csv")}
    return tables, {path.stem for path in (folder / "figures").glob("*.svg")}


@pytest.fixture(scope="module")
def folders(encoder, treebank, tmp_path_factory):
    """A run of two kinds of maps, and a run of each."""
    folder = tmp_path_factory.mktemp("runs")
    for kinds in (["weight", "norm"], ["weight"], ["norm"]):
        attentionology.analyze(encoder, treebank, maps=kinds, out=folder / "-".join(kinds))
    return folder


@pytest.mark.slow
def test_tables_of_two_kinds_are_those_of_one_kind_each(folders):
    together, drawn = figures_and_tables(folders / "weight-norm")
    assert {"dependency", "dependency_best", "surface", "offsets", "head_distances"} <= set(together)
    for kind in ("weight", "norm"):
        alone, drawn_alone = figures_and_tables(folders / kind)
        assert set(alone) == set(together) - {"contrasts"}
        assert {f"{name}-{kind}" for name in drawn_alone} <= drawn
        for name, table in alone.items():
            assert together[name].columns[0] == "map"
            rows = together[name][together[name]["map"] == kind].drop(columns="map").reset_index(drop=True)
            # Columns of counts are whole numbers and compared exactly; batches differ, and with them last digits.
            rows = rows.astype({column: table[column].dtype for column in table if table[column].dtype != object})
            pd.testing.assert_frame_equal(rows[table.columns], table, check_exact=False, rtol=1e-5, atol=1e-6)
    assert not {name for name in drawn if name.startswith("contrasts-")}  # nothing has enough words to be tested
    assert len(drawn) == 2 * len(drawn_alone)


def test_the_record_holds_what_every_kind_adds(encoder, treebank):
    record = attentionology.analyze(encoder, treebank, analyses="surface", maps=["weight", "norm"]).record
    assert set(record["surface"]) == {"weight", "norm"}
    assert "divided by its sum" in " ".join(record["surface"]["norm"]["notes"])
    assert "divided by its sum" not in " ".join(record["surface"]["weight"]["notes"])
    assert record["options"]["map"] == ["weight", "norm"]
    alone = attentionology.analyze(encoder, treebank, analyses="surface", maps="norm").record
    assert alone["surface"] == record["surface"]["norm"]


@pytest.mark.parametrize(("limit", "cut"), [(3, ", first 3 sentences"), (900, ""), (None, "")])
def test_titles_say_how_much_was_read(encoder, limit, cut):
    name = f"en_sample.conllu{cut}"
    analyses = "dependency" if limit == 3 else "surface"
    options = [CorpusOptions(limit=limit), CountOptions(replicates=0)]
    run = attentionology.analyze(encoder, "sample", analyses=analyses, options=options)
    assert run.titles.corpus == name
    if limit == 3:
        title = " ".join(run.figures["dependency_best"].get_suptitle().split())  # which may take two lines
        assert title.endswith(f" on {name}")


@pytest.mark.slow
def test_analyze_returns_the_tables_that_the_command_writes(model, tmp_path):
    """By the names of a model and a corpus, and with objects that have been loaded."""
    command = ["analyze", "--model", model, "--analyses", "dependency", "--limit", "20", "--coarse"]
    assert main([*command, "--out", str(tmp_path / "command")]) == 0
    coarse, loaded = DependencyOptions(coarse=True), load_treebank(SAMPLE_TREEBANK, limit=20)
    given: list[Any] = [(model, "sample", [coarse, CorpusOptions(limit=20)])]
    for encoder, corpus, options in [*given, (Encoder.from_pretrained(model), loaded, coarse)]:
        run = attentionology.analyze(encoder, corpus, analyses=["dependency"], options=options)
        results = run["dependency"]
        for name, table in (("dependency", results.cells), ("dependency_best", results.best)):
            write_csv(table, tmp_path / f"{name}.csv")
            written = tmp_path / "command" / "tables" / f"{name}.csv"
            assert (tmp_path / f"{name}.csv").read_bytes() == written.read_bytes()
        assert run.folder is None
        assert run.record["options"]["corpus"] == [str(SAMPLE_TREEBANK)]
        assert results.cells["relation"].str.contains(":").sum() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"analyses": ["nonsense"]}, "unknown analysis 'nonsense'; choose from: dependency"),
        ({"analyses": []}, "--analyses needs at least one name"),
        ({"analyses": ["surface", "surface"]}, "named twice"),
        ({"maps": ["nonsense"]}, "unknown map kind 'nonsense'"),
        ({"maps": []}, "--map needs at least one kind"),
        ({"maps": ["norm", "norm"]}, "names a kind twice"),
        ({"maps": "norm", "options": [MapOptions(map=("alti",))]}, "map is given twice, also in MapOptions"),
        ({"options": [CoreferenceOptions(candidates="words")]}, "--candidates is for coreference"),
        ({"options": [DependencyOptions(), DependencyOptions(coarse=True)]}, "two groups of the class DependencyOp"),
        ({"options": DependencyOptions}, "options are given as objects such as CorpusOptions(limit=3), not as <class"),
        ({"options": {"limit": 3}}, "options are given as objects such as CorpusOptions(limit=3), not as 'limit'"),
        ({"options": [DependencyOptions(coarse=True)], "analyses": "surface"}, "--coarse is for dependency"),
        ({"options": [LimitOptions(max_length=0)]}, "--max-length must be at least 1"),
        ({"options": [ModelOptions(device="cuda")]}, "ModelOptions are for a model that is loaded by its name"),
        ({"options": [CorpusOptions(limit=3)]}, "CorpusOptions apply to a corpus that is read from files"),
        ({"options": [CorpusOptions(limit=3, text=("a",))], "corpus": "b"}, "the corpus is given twice"),
        ({"options": [SurfaceOptions(reach=0)]}, "--reach"),
        ({"corpus": [3]}, "the corpus must be a file, a list of files"),
        ({"seed": -1}, "--seed must be from 0"),
    ],
)
def test_wrong_arguments_are_refused(encoder, treebank, arguments, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        attentionology.analyze(encoder, **{"corpus": treebank, **arguments})


def test_a_corpus_without_sentences_is_refused(encoder, treebank):
    for empty in (treebank[:0], Treebank([])):
        with pytest.raises(CorpusError, match="the corpus has no sentences"):
            attentionology.analyze(encoder, empty)


def test_what_a_run_reads_is_not_replaced_by_it(encoder, tmp_path):
    write_run(tmp_path)
    options: list[Any] = [CorpusOptions(text=(str(tmp_path / "run.json"),)), SurfaceOptions(gradients="none")]
    with pytest.raises(RunFolderError, match=r"holds .*run\.json, which this run reads"):
        attentionology.analyze(encoder, analyses="surface", options=options, out=tmp_path, overwrite=True)


class CountSentences(Metric):
    """How many sentences were counted."""

    sentences: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("sentences", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, batch: MapBatch) -> None:
        self.sentences += len(batch)

    def compute(self) -> int:
        return int(self.sentences)


class NotCounted(CountSentences):
    def __init__(self) -> None:
        raise ModelError("this cannot be counted")


count, fail = CountWith(CountSentences), CountWith(NotCounted)


def request(name, inputs, kind="weight", metric=count, **changes):
    return Request(name, name, inputs, MapMaker(get_kind(kind)), metric, **changes)


def test_requests_with_equal_inputs_share_a_pass(encoder, treebank, passed):
    again = load_treebank(SAMPLE_TREEBANK, limit=SENTENCES)
    part = treebank[:5]
    requests = [
        request("a", treebank),
        request("b", again, "rollout"),
        request("a", treebank),
        request("c", part),
        request("d", treebank, masking=Masking(0.5, 0)),
        request("e", treebank, copy=0),
        request("f", treebank, optional=True),
    ]
    passes = plan_passes(requests)
    names = [[one.name for one in group.requests] for group in passes]
    assert names == [["a", "b"], ["c"], ["d"], ["f"], ["e"]]
    counts = run_passes(passes[:2], encoder)
    assert {name: metric.compute() for name, metric in counts.metrics.items()} == {"a": 24, "b": 24, "c": 5}
    assert sum(passed.values()) == SENTENCES + 5


def test_different_requests_of_one_name_are_refused(treebank):
    with pytest.raises(ValueError, match="two different requests are called 'a'"):
        plan_passes([request("a", treebank), request("a", treebank, "norm")])
    with pytest.raises(ValueError, match="two different requests are called 'a'"):
        plan_passes([request("a", treebank), request("a", treebank, copy=0)])


def test_an_optional_request_that_fails_stops_no_other(encoder, treebank):
    requests = [
        request("first", treebank),
        request("wrong", treebank, metric=fail, optional=True),
        request("last", treebank, "rollout"),
    ]
    counts = run_passes(plan_passes(requests), encoder)
    assert set(counts.metrics) == {"first", "last"}
    assert counts.metrics["last"].compute() == SENTENCES
    assert str(counts.failures["wrong"]) == "this cannot be counted"
    with pytest.raises(ModelError, match="this cannot be counted"):
        run_passes(plan_passes([request("wrong", treebank, metric=fail)]), encoder)


def test_a_pass_in_which_nothing_can_be_read_says_so(encoder, treebank):
    with pytest.raises(ExtractionError, match=r"none of the 24 sentences could be read: .*the limit is 2"):
        run_passes(plan_passes([request("a", treebank)]), encoder, limits=Limits(max_length=2))


class Clash(Analysis[str, int]):
    """Counts sentences, and writes what the parameters say."""

    name = "clash"
    options = ()
    of_maps = False
    entry = "clash"

    def plan(self, options, setting):
        return Plan((request("clash", setting.corpus),), "")

    def results(self, options, counted, needed, lookups):
        return counted.metric("clash", CountSentences).compute()

    def section(self, results, titles):
        return Section("Clash", "", tables={"dependency": pd.DataFrame({"sentences": [results]})})

    def show(self, results, width):
        return str(results)

    def record(self, options, counted, results):
        return {self.entry: results}


@pytest.fixture
def clash(monkeypatch):
    """The analysis above, registered for one test."""
    known = {**registered_analyses(), "clash": AnalysisRow("clash", f"{__name__}:Clash")}
    for module in ("attentionology.engine.analyze", "attentionology.analyses.registry"):
        monkeypatch.setattr(f"{module}.registered_analyses", lambda: known)


@pytest.mark.slow
@pytest.mark.usefixtures("clash")
def test_two_analyses_do_not_write_the_same_table(encoder, treebank, tmp_path):
    with pytest.raises(SectionError, match="“Clash” both write the table 'dependency'"):
        attentionology.analyze(encoder, treebank, analyses="dependency,clash", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    run = attentionology.analyze(encoder, treebank, analyses="dependency,clash")
    assert run["clash"] == run.record["clash"] == SENTENCES


@pytest.mark.usefixtures("clash")
def test_an_analysis_does_not_replace_parts_of_the_record(encoder, treebank, monkeypatch):
    monkeypatch.setattr(Clash, "entry", "model")
    with pytest.raises(RegistryError, match="adds 'model' to the run record"):
        attentionology.analyze(encoder, treebank, analyses="clash")


def test_an_entry_of_the_summary_that_is_no_list_is_named():
    right, wrong = (
        Section("Agreement", "section.html.j2", summary={"best": best}) for best in ([{"head": 1}], {"a": 1})
    )
    first, second = _with_kinds([("weight", right), ("norm", right)])
    assert first.summary == {"best": [{"map": "weight", "head": 1}, {"map": "norm", "head": 1}]}
    assert second.summary == {}
    with pytest.raises(TypeError, match="the entry 'best' of the summary is no list of rows"):
        _with_kinds([("weight", wrong)])


def test_an_entry_that_json_cannot_write_is_refused_where_the_analysis_makes_it(encoder, treebank):
    class Undefined(Surface):
        def section(self, results, titles):
            return replace(super().section(results, titles), summary={"best": [{"share": float("nan")}]})

    run = attentionology.analyze(encoder, treebank, analyses="surface")
    with pytest.raises(ValueError, match="not JSON compliant"):
        replace(run.parts[0], analysis=Undefined()).section(run.titles)


def part_of(kind: str) -> Any:
    """What an analysis without numbers has for a kind of map."""
    said = {"phrases": {"1-1": (f"is read by {kind}",)}, "facts": {"1-1": (Fact("map", kind),)}}
    found = Contribution(findings=(Finding(f"Found by {kind}.", "#"),), **said)  # type: ignore[arg-type]
    analysis = SimpleNamespace(name="own", explored=lambda options, counted, results, kind: found)
    return SimpleNamespace(
        analysis=analysis, kind=kind, counts=None, results=None, name_analysis=lambda step: nullcontext(),
        show=lambda width: f"results of {kind}",
    )  # fmt: skip


def test_findings_and_summaries_are_about_the_first_kind_of_map_and_facts_about_all():
    record = {"model": {"layers": 1, "heads": 1}, "corpus": {"unit": "sentences"}}
    contributed = contributions_of([part_of("weight"), part_of("norm")], OptionSet([]))
    explorer = explorer_of(contributed, Titles("m", "c"), record, {})
    assert [finding.text for finding in explorer.findings] == ["Found by weight."]
    assert [card.summary for card in explorer.cards] == ["Head 1-1 is read by weight (map weight)."]
    assert [fact.text for card in explorer.cards for fact in card.facts] == ["weight", "norm"]


@pytest.mark.parametrize(
    ("kinds", "shown"),
    [
        (["weight"], ["Findings", "• Found by weight.", "results of weight"]),
        (
            ["weight", "norm"],
            ["Findings", "• Found by weight.", "map “weight”", "results of weight", "map “norm”", "results of norm"],
        ),
    ],
)
def test_a_terminal_names_the_kind_of_map_above_its_results_if_there_are_several(kinds, shown, capsys, monkeypatch):
    monkeypatch.setattr("attentionology.scripts.running.closing_lines", lambda *_: [])
    run = Run(tuple(map(part_of, kinds)), record={})
    print_run(run, Path("out"), tables_of(run), as_json=False)
    assert [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()] == shown

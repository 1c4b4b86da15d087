"""``--dry-run``: what it says of a run, against what the run takes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from attentionology import CorpusOptions, CountOptions
from attentionology.analyses import AblationOptions, ExampleOptions, SurfaceOptions
from attentionology.analyses.ablation.predictions import MAX_WORDS
from attentionology.analyses.ablation.pruning import orders, sets_of, steps
from attentionology.analyses.contract import OptionSet
from attentionology.analyses.shared.input_options import ModelOptions
from attentionology.analyses.shared.options import ControlOptions
from attentionology.analyses.shared.part_options import PartOptions
from attentionology.analyses.survey.rows import Cell, CellFailure
from attentionology.corpora_loaders import Treebank, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.analyze import AnalyzeJob
from attentionology.engine.counting.parts import PartCounter
from attentionology.engine.estimate import RunEstimate, estimate_run
from attentionology.engine.surveying import dry_run
from attentionology.engine.surveying.cells import CountedCell
from attentionology.engine.surveying.dry_run import estimate_survey
from attentionology.engine.surveying.options import SurveyOptions
from attentionology.engine.surveying.plan import SurveyPlan
from attentionology.scripts.cli import main
from tests import tiny

FACTOR = 2.5
"""The factor within which sizes are right; they are usually too large."""

ANALYSES = ("dependency", "surface")


@pytest.fixture(scope="module")
def options(data_file):
    groups = OptionSet(
        [CountOptions(replicates=200), ControlOptions("random-init"), SurfaceOptions(gradients="hidden")]
    )
    corpus = CorpusOptions(corpus=(str(data_file("ud/en_ewt-dev.conllu")),), limit=60)
    return AnalyzeJob(OptionSet([*groups, corpus]), ANALYSES)


@pytest.fixture(scope="module")
def estimate(options, demo_encoder) -> RunEstimate:
    return estimate_run(options)


@pytest.fixture(scope="module")
def counted(options, estimate, tmp_path_factory):
    """The folder of the parts of the run, and the parts."""
    folder = tmp_path_factory.mktemp("dry") / "parts"
    options.check()
    prepared = options.prepare()
    counter = PartCounter(options, prepared, folder)
    for part in counter.parts:
        counter.count(part)
    return folder, counter, counter.parts


@pytest.mark.slow
def test_passes_and_parts_are_those_of_the_run(estimate, counted):
    _, _, parts = counted
    assert estimate.inputs == 60
    assert estimate.parts == len(parts)
    assert [size for each in estimate.passes for size in each.parts] == [len(part) for part in parts]
    assert estimate.read == sum(len(part) for part in parts)
    assert {name for each in estimate.passes for name in each.analyses} == set(ANALYSES)
    assert [each.copy for each in estimate.passes if each.copy is not None] == [0]


@pytest.mark.slow
def test_the_disk_space_is_right_within_the_factor(estimate, counted):
    folder, _, _ = counted
    written = sum(path.stat().st_size for path in folder.iterdir())
    assert written / FACTOR < estimate.disk_of_parts < written * FACTOR


@pytest.mark.slow
def test_the_counts_take_no_more_memory_than_was_said(estimate, counted):
    _, counter, parts = counted
    taken = 0
    for number in {part.number for part in parts}:
        counts = counter.counts_of([next(part for part in parts if part.number == number)])
        taken += sum(tensor.nbytes for states in counts.states().values() for tensor in states.tensors.values())
    assert taken <= sum(each.states for each in estimate.passes) * 1.001
    assert sum(each.states for each in estimate.passes) < FACTOR * taken
    weights = sum(parameter.nbytes for parameter in counter.readers.model.model.parameters())
    assert estimate.memory > 2 * weights + taken
    stored = sum(file.stat().st_size for file in counter.readers.model.files.folder.glob("*.safetensors"))
    assert stored / 1.1 < estimate.weights < stored * 1.1


def test_workers_share_nothing(options, demo_encoder):
    few = AnalyzeJob(OptionSet([CorpusOptions(limit=5), ControlOptions("random-init")]), ("dependency",))
    estimate = estimate_run(few, PartOptions(workers=3))
    assert estimate.processes == 3
    assert estimate.memory_of_worker <= estimate.memory
    first, control = (each.states for each in estimate.passes)  # a worker has the counts of one pass at a time
    assert estimate.memory - estimate.memory_of_worker == first + control + 2 * max(first, control)


def test_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["analyze", "--limit", "20", "--dry-run", "--control", "random-init", "--gradients", "none"]) == 0
    printed = capsys.readouterr().out
    assert "20 sentences" in printed
    assert "dependency, surface, clusters" in printed
    assert "random copy 1" in printed
    assert "Model: 90.9 MB of weights, and up to" in printed
    assert "of maps of one batch" in printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "status", "named"),
    [
        (["--limit", "0"], 2, "--limit"),
        (["--map", "nonsense"], 2, "nonsense"),
        (["--corpus", "absent.conllu"], 1, "absent.conllu"),
        (["--part", "1/2"], 2, "--parts"),
        (["--max-length", "2"], 1, "could be read"),
    ],
)
def test_what_a_run_refuses_is_refused(wrong, status, named, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["analyze", *wrong, "--dry-run"]) == status
    assert named in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_replaced_is_refused(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    assert main(["analyze", "--limit", "5", "--dry-run", "--out", str(tmp_path / "runs")]) == 1
    assert "exists" in capsys.readouterr().err


@pytest.mark.slow
def test_a_pass_that_will_fail_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def fail(self: object, batch: object) -> None:
        from attentionology.extractors import ModelError

        raise ModelError("the loss is not finite")

    monkeypatch.setattr("attentionology.extractors.GradientMaker.of", fail)
    assert main(["analyze", "--limit", "5", "--analyses", "surface", "--gradients", "hidden", "--dry-run"]) == 0
    assert "will fail: the loss is not finite" in " ".join(capsys.readouterr().out.split())
    assert main(["analyze", "--limit", "5", "--analyses", "surface", "--gradients=hidden", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passes"][1]["failure"] == "the loss is not finite"
    assert list(Path(tmp_path).iterdir()) == []


def test_an_alignment_is_estimated(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["align", "--dry-run", "--json"]) == 0
    estimate = json.loads(capsys.readouterr().out)
    assert (estimate["unit"], estimate["inputs"], estimate["parts"]) == ("sentence pairs", 200, 1)
    assert [each["analyses"] for each in estimate["passes"]] == [["alignment"]]
    assert estimate["memory"] > estimate["weights"] > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_kept_sentences_grow_up_to_their_bound():
    """The demo's sample has 157 sentences, of which 64 are read; counts do not grow, and kept sentences do."""

    def states(examples: int | None) -> int:
        options = AnalyzeJob(OptionSet([ExampleOptions(examples)]), ("dependency",))
        return estimate_run(options).passes[0].states

    none, ten, eighty, all_of_them, more = map(states, (0, 10, 80, 157, 1000))
    assert 0 < none < ten < eighty < all_of_them
    assert all_of_them <= more < none + (eighty - none) * 157 / 64
    assert states(None) == all_of_them


def test_a_dry_run_counts_the_passes_of_pruning():
    """Each set of heads that an order leaves is one pass of each sentence, and sets that orders share are made once."""
    heads = [(layer, head) for layer in range(6) for head in range(12)]
    effect, importance = np.random.default_rng(0).random((2, 72))
    for measured, number in ((importance, 118), (None, 109)):  # without predictions, no head has an importance
        order = orders(heads, effect, measured, 0)
        assert len({tuple(ordered[:n]) for ordered in order.values() for n in steps(72)}) == number
        assert sets_of(72, importance=measured is not None) == number
    job = AnalyzeJob(OptionSet([AblationOptions(pruning_sentences=3)]), analyses=("ablation",))
    estimate = estimate_run(job, model=tiny.encoder(), corpus=load_treebank(SAMPLE_TREEBANK, limit=5))
    assert estimate.follow_up_passes == 3 * sets_of(12, importance=False)
    line = f"After these passes: about {estimate.follow_up_passes} more forward passes of single sentences"
    assert line in list(estimate.lines())


def test_a_dry_run_counts_the_passes_of_predictions(monkeypatch):
    """Words of short sentences are masked one by one, in as many as cost no more than the effects."""
    encoder = tiny.encoder("bert", max_position_embeddings=128)
    encoder.tokenizer.mask_token = "[MASK]"
    lm = tiny.language_model(encoder, "MaskedLM")
    monkeypatch.setattr("attentionology.engine.analyze.load_head", lambda *_: lm)
    sentences = [sentence for sentence in load_treebank(SAMPLE_TREEBANK) if len(sentence.words) <= MAX_WORDS]
    for length, is_costly in ((range(1, 6), False), (range(15, 20), True)):
        corpus = Treebank(tuple(sentence for sentence in sentences if len(sentence.words) in length)[:6])
        job = AnalyzeJob(OptionSet([AblationOptions(pruning_sentences=0)]), analyses=("ablation",))
        estimate = estimate_run(job, model=encoder, corpus=corpus)
        passes = sum(len(sentence.words) for sentence in corpus) * (
            1 + 6 * 2 / 3
        )  # six heads, on average from layer 2 on
        of_effects = len(corpus) * sum(each.further_passes for each in estimate.passes)
        assert (passes > of_effects) == is_costly
        assert estimate.follow_up_passes == round(min(passes, of_effects))


def test_cells_fail_whose_model_or_treebank_cannot_be_used_and_models_read_the_one_with_most_relations(monkeypatch):
    sizes = [("long", 900, 5, ""), ("rich", 20, 40, ""), ("broken", 0, 0, "no trees")]
    rows = [
        {"name": name, "sentences": n, "words": n, "relations": relations, "obstacle": obstacle}
        for name, n, relations, obstacle in sizes
    ]
    read = []

    def counter(plan, _):
        read.append(list(plan.treebanks))
        reasons = {"a": [], "b": [CellFailure("", "too large")]}
        needs = RunEstimate("sentences", 9, (), 7, "cpu", 1, None, 9, 1, 50, 60, 0, 0)
        counted = [CountedCell(Cell(name, "rich"), [] if why else [needs], why) for name, why in reasons.items()]
        return SimpleNamespace(treebanks=lambda: [("rich", counted)])

    monkeypatch.setattr(dry_run, "_treebanks", lambda _: rows)
    monkeypatch.setattr(dry_run, "CellCounter", counter)
    models = {name: ModelOptions(name) for name in "ab"}
    plan = SurveyPlan(SurveyOptions(), models, {name: name for name, *_ in sizes}, {})
    estimate = estimate_survey(plan)
    assert read == [["rich"]]
    assert [estimate[name] for name in ("cells", "failing", "all_passes", "sentences")] == [6, 4, 2, 920]
    assert (estimate["memory"], estimate["memory_of_worker"]) == (50, 60)

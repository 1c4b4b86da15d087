"""One driver for all commands: parts, shares, workers and actors count the same for every job."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attentionology import CorpusOptions, OptionError, Sentence, analyze
from attentionology.analyses import SurfaceOptions
from attentionology.analyses.alignment.options import AlignmentOptions, BitextOptions
from attentionology.analyses.contract import OptionGroup, OptionSet
from attentionology.analyses.shared.input_options import LimitOptions, ModelOptions
from attentionology.analyses.shared.part_options import PartOptions
from attentionology.analyses.shared.record import describe_model
from attentionology.corpora_loaders import Corpus
from attentionology.engine.align import AlignJob
from attentionology.engine.analyze import AnalyzeJob
from attentionology.engine.corpus import title_of_files
from attentionology.engine.counting.executors import PartTask, RayWorker
from attentionology.engine.counting.job import Job
from attentionology.engine.counting.parts import PartCounter
from attentionology.engine.counting.passes import Readers
from attentionology.engine.execution import count_share, execute
from attentionology.extractors.translation import Translator, load_sample_translator
from tests import tiny

ALIGN = AlignJob(OptionSet([BitextOptions(limit=10), AlignmentOptions(replicates=10, controls=1)]))
"""A job of two parts: one of the model, and one of its copy with random weights."""


@pytest.fixture(scope="module")
def segmented(tmp_path_factory) -> AnalyzeJob:
    """A job whose text is cut into segments, which other processes do again."""
    folder = tmp_path_factory.mktemp("segmented")
    tiny.save(folder / "model")
    (folder / "text.txt").write_text("the cats sing\n" * 30, encoding="utf-8")
    groups: list[OptionGroup] = [
        SurfaceOptions(gradients="none"),
        ModelOptions(str(folder / "model")),
        CorpusOptions(text=(str(folder / "text.txt"),), segments=3),
        LimitOptions(max_length=24),
    ]
    return AnalyzeJob(OptionSet(groups), analyses=("surface",))


@pytest.mark.parametrize("command", ["analyze", "align"])
def test_an_actor_counts_the_parts_of_every_job(command, segmented, tmp_path):
    job: Job = {"analyze": segmented, "align": ALIGN}[command]
    job.check()
    prepared = job.prepare()
    counter = PartCounter(job, prepared, tmp_path)
    actor = RayWorker(pickle.loads(pickle.dumps(PartTask.of(counter))), 0)  # noqa: S301 it was made here
    assert len(counter.parts) == {"analyze": 1, "align": 2}[command]
    for number, part in enumerate(counter.parts):
        assert actor.content(number) == (counter.content(part), "")
    changed = RayWorker(replace(PartTask.of(counter), fingerprint="another"), 0)
    assert changed.content(0) == (b"", "the model or the toolkit has changed while the run was started; run the "
                                       "command again")  # fmt: skip


def test_another_device_is_the_only_difference():
    for job in (AnalyzeJob(seed=3), ALIGN):
        moved = job.on_device("cuda:1")
        assert moved.model.device == "cuda:1"
        assert moved != job
        assert moved.on_device("cpu") == job


def test_workers_load_the_models_of_every_job_themselves():
    models = ((ALIGN, load_sample_translator()), (AnalyzeJob(), tiny.encoder("bert")))
    for job, model in models:
        for run in (execute, count_share):
            with pytest.raises(OptionError, match="workers load the model themselves"):
                run(job, part_options=PartOptions(workers=2, parts=Path("never")), model=model)
    assert not Path("never").exists()


def test_analyses_of_sentences_refuse_a_translation_model():
    translator: Any = load_sample_translator()
    with pytest.raises(TypeError, match="needs an encoder, not Translator"):
        analyze(translator, Corpus((Sentence("s1", ("the", "cats")),)), analyses="surface")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return load_sample_translator()


def test_a_copy_is_made_once_and_then_replaced_by_the_next(translator):
    readers = Readers(translator, seed=3)
    assert readers.of(None) is translator
    first = readers.of(0)
    assert readers.of(0) is first
    assert first.weights_sha256() == translator.random_init(3).weights_sha256()
    assert readers.of(1).weights_sha256() == translator.random_init(4).weights_sha256()


def test_the_record_says_which_attention_a_model_gives(translator):
    assert describe_model(translator)["shape"] == "2 layers × 4 heads of cross-attention"
    encoder = tiny.encoder("bert")
    assert describe_model(encoder)["shape"] == f"{encoder.n_layers} layers × {encoder.n_heads} heads"


def test_titles_have_the_names_of_two_files_and_the_number_of_the_others():
    names = ["folder/a.conllu", "b.conllu", "c.conllu", "d.conllu"]
    titles = [title_of_files(names[:n]) for n in (1, 2, 3, 4)]
    assert titles == ["a.conllu", *(f"a.conllu, b.conllu{more}" for more in ("", " and 1 more", " and 2 more"))]

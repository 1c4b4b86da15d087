"""One driver for all commands: parts, shares, workers and actors count the same for every job."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from attentionology import CorpusOptions, OptionError, Sentence, analyze
from attentionology.analyses import SurfaceOptions
from attentionology.analyses.alignment.options import AlignmentOptions, BitextOptions
from attentionology.analyses.contract import OptionGroup, OptionSet, Setting
from attentionology.analyses.shared.input_options import LimitOptions, ModelOptions
from attentionology.analyses.shared.part_options import PartOptions
from attentionology.analyses.surface.analysis import Surface
from attentionology.analyses.surface.options import ReadingOptions
from attentionology.corpora_loaders import Corpus
from attentionology.engine.align import AlignJob
from attentionology.engine.analyze import AnalyzeJob
from attentionology.engine.execution import count_share, execute
from attentionology.engine.executors import PartTask, RayWorker
from attentionology.engine.parts import PartCounter
from attentionology.engine.passes import Limits
from attentionology.engine.preparing import Job, Prepared
from attentionology.engine.run import Run
from attentionology.extractors.model.loaded_model import LoadedModel
from attentionology.extractors.translation import load_sample_translator
from attentionology.reports.progress import Stages
from attentionology.reports.run_folder import RunFolderError
from attentionology.scripts.cli import main
from tests import tiny

ALIGN = AlignJob(OptionSet([BitextOptions(limit=10), AlignmentOptions(replicates=10, controls=1)]))
"""A job of two parts: one of the model, and one of its copy with random weights."""


def files_of(folder: Path) -> Mapping[str, bytes]:
    """The tables and figures of a run."""
    files = [path for path in folder.rglob("*") if path.suffix in (".csv", ".svg")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Mapping[str, bytes]:
    folder = tmp_path_factory.mktemp("whole") / "run"
    execute(ALIGN, out=folder)
    return files_of(folder)


@pytest.fixture(scope="module")
def segmented(tmp_path_factory) -> AnalyzeJob:
    """A job whose text is cut into segments, which other processes do again."""
    folder = tmp_path_factory.mktemp("segmented")
    tiny.model("bert", max_position_embeddings=64).save_pretrained(folder / "model")
    tiny.fresh_tokenizer("wordpiece").save_pretrained(folder / "model")
    (folder / "text.txt").write_text("the cats sing\n" * 30, encoding="utf-8")
    groups: list[OptionGroup] = [
        SurfaceOptions(gradients="none"),
        ModelOptions(str(folder / "model")),
        CorpusOptions(text=(str(folder / "text.txt"),), segments=3),
        LimitOptions(max_length=24),
    ]
    return AnalyzeJob(OptionSet(groups), analyses=("surface",))


@pytest.mark.slow
def test_workers_give_the_tables_of_one_process(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(PartCounter, "count", lambda *_: pytest.fail("a part was counted by this process"))
    arguments = ["align", "--limit", "10", "--replicates", "10", "--controls", "1", "--workers", "2"]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 0
    assert len(whole) > 5
    assert files_of(tmp_path / "run") == whole


@pytest.mark.slow
def test_shares_give_the_tables_of_one_process(whole, tmp_path, monkeypatch):
    parts = tmp_path / "parts"
    shares = [count_share(ALIGN, PartOptions(parts=parts, part=part)) for part in ("2/2", "1/2")]
    assert [(share.share, share.counted, share.total) for share in shares] == [(1, 1, 2), (1, 2, 2)]
    monkeypatch.setattr(PartCounter, "count", lambda *_: pytest.fail("a part was counted again"))
    execute(ALIGN, part_options=PartOptions(parts=parts), out=tmp_path / "run")
    assert files_of(tmp_path / "run") == whole


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


def test_a_text_that_was_cut_is_sent_as_it_was_read(segmented):
    prepared = segmented.prepare()
    assert prepared.setting.corpus is not prepared.source
    again = segmented.prepare(corpus=pickle.loads(pickle.dumps(prepared.source)))  # noqa: S301 it was made here
    pieces = [[segment.pieces for segment in each.setting.corpus] for each in (prepared, again)]
    assert pieces[0] == pieces[1]
    assert len(pieces[0]) == 3


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


@dataclass(frozen=True)
class Surfaces(Job):
    """A third command: the surface of two sentences. It keeps what it was given when it finished."""

    seen: list[tuple[bool, bool]] = field(default_factory=list)
    paths: tuple[Path, ...] = ()

    def check(self, corpus: Corpus | None = None) -> None:
        if self.model.device == "no such device":
            raise OptionError("there is no such device")

    def prepare(
        self, *, model: LoadedModel | None = None, corpus: Corpus | None = None, stages: Stages | None = None
    ) -> Prepared:
        source = corpus or Corpus((Sentence("s1", ("the", "cats", "sing")), Sentence("s2", ("dogs", "sing"))))
        setting = Setting(model or tiny.encoder("bert"), source, chosen=("surface",))
        options = OptionSet([SurfaceOptions(gradients="none")])
        return Prepared(
            (Surface(),),
            setting,
            (setting.maps,),
            Limits(),
            options,
            source,
            resolved={"depth": 2},
            warnings=("Thin.",),
        )

    @property
    def kinds(self) -> list[type[Any]]:
        return [CorpusOptions, ReadingOptions]

    def flat(self) -> dict[str, Any]:
        return {"depth": 1, "width": 1, **super().flat()}

    def paths_read(self, corpus: Corpus | None = None) -> list[Path]:
        return list(self.paths)

    def finish(self, run: Run, prepared: Prepared, stages: Stages) -> None:
        self.seen.append(("surface" in repr(run), run.folder is not None))


@pytest.mark.slow
def test_a_third_command_takes_one_class(tmp_path):
    job = Surfaces()
    run = execute(job, out=tmp_path / "run", command="attentionology thirdly", shown_options={"width": 3})
    assert job.seen == [(True, False)]  # the results were there, and had not been written
    assert (tmp_path / "run" / "report.html").is_file()
    assert run.folder == tmp_path / "run"
    assert run.record["options"] == job.flat() | {"depth": 2, "width": 3, "out": str(tmp_path / "run")}
    assert run.record["warnings"][-1] == "Thin."
    assert run.record["sentences"]["read"] == 2
    in_parts = execute(job, part_options=PartOptions(parts=tmp_path / "parts"), out=tmp_path / "again")
    assert in_parts["surface"].tables.heads.equals(run["surface"].tables.heads)
    with pytest.raises(OptionError, match="no such device"):
        count_share(job.on_device("no such device"), PartOptions(parts=tmp_path / "parts", part="1/1"))
    share = count_share(job, PartOptions(parts=tmp_path / "parts", part="1/1"))
    assert (share.counted, share.total) == (1, 1)
    read = replace(job, paths=(tmp_path / "run" / "run.json",))
    with pytest.raises(RunFolderError, match=r"holds .*run\.json, which this run reads"):
        execute(read, out=tmp_path / "run", overwrite=True)
    assert (tmp_path / "run" / "run.json").is_file()

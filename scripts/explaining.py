"""The work of ``attentionology explain``: train, examine, compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from attentionology.analyses.explanation.batch import Test, examine
from attentionology.analyses.explanation.exact_adversary import solvable
from attentionology.analyses.explanation.readings import Reading, reading
from attentionology.analyses.explanation.section import ExplainResults, write_explain
from attentionology.analyses.explanation.summary import Bootstrap, flip_table, significant, summarise
from attentionology.analyses.explanation.terminal import explain_table
from attentionology.analyses.explanation.tests.adversarial import by_gradient, exact
from attentionology.analyses.explanation.tests.correlation import correlation
from attentionology.analyses.explanation.tests.eraser import rationales
from attentionology.analyses.explanation.tests.erasure import single_weight
from attentionology.analyses.explanation.tests.permutation import permutation
from attentionology.analyses.explanation.tests.removal import removal
from attentionology.analyses.explanation.tests.single_token import single_token
from attentionology.analyses.explanation.tests.uniform import uniform_attention
from attentionology.analyses.explanation.verdict import verdicts
from attentionology.corpora_loaders import AttentionologyError
from attentionology.extractors import AttentionModel, TransformerAttention
from attentionology.probes.classifiers import AttentionClassifier
from attentionology.probes.training import one_thread
from attentionology.reports.page import Section
from attentionology.reports.progress import Stages, progress_bar
from attentionology.scripts.errors import UsageError
from attentionology.scripts.explain_checks import is_saved, left_out
from attentionology.scripts.explain_comparisons import Comparisons, Scores
from attentionology.scripts.explain_examples import examples
from attentionology.scripts.explain_models import (
    Classifiers,
    Transformers,
    load_saved,
    readable,
    states_test,
    without_reasons,
)
from attentionology.scripts.explain_record import describe, facts, notes
from attentionology.scripts.labelled_data import class_numbers, read_data, words_of
from attentionology.scripts.trainings import Trainings

if TYPE_CHECKING:
    from rich.console import RenderableType

    from attentionology.analyses.explanation.batch import Rows, TextBatch
    from attentionology.scripts.explain import Explain


_SHUFFLED = {"adversarial": "permutation_jsd", "seeds": "permutation_mean_tvd"}
"""Tests that are held against a column of ``permutation``, also where that was not chosen."""

_NO_STEPS = "but for two classes and a linear classifier there is only the search by gradient, and --steps is 0"


@dataclass
class Explaining:
    """One run.

    Args:
        options: the command.
        folder: where tables, figures and the trained model go.
        cache: where trained models are kept.
        stages: the stopwatch.

    Attributes:
        data: the texts; those that the model cannot read are in ``skipped`` with role and reason.
        model: the one that is tested.
        texts: one row per tested text.
        groups: columns of each test.
        scores: of all models.
        curve: models and adversaries in the plane of attention and output.
        adversary: the trained one in the verdicts.
    """

    options: Explain
    folder: Path
    cache: Path
    stages: Stages
    skipped: list[tuple[str, Any, str]] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)
    curve: list[dict[str, Any]] = field(default_factory=list)
    adversary: str | None = None

    def __call__(
        self, arguments: Sequence[str], out: Path
    ) -> tuple[dict[str, Any], Section, Callable[[int], RenderableType]]:
        """Do it; returns the run record, the section of the report, and what to show in a terminal of some width."""
        own, stages = self.options, self.stages
        self.left_out = left_out(own)
        self.chosen = [name for name in own.chosen() if name not in dict(self.left_out)]
        with stages("read the texts"):
            self.data = read_data(own)
            self.source = self._source()
        small = self.source is None or self.source.small
        self.trainings = Trainings(self.cache, workers=torch.get_num_threads() if small else 1)
        with one_thread() if small else nullcontext():  # the same on machines with other numbers of cores
            return self._run(arguments, out)

    def _run(
        self, arguments: Sequence[str], out: Path
    ) -> tuple[dict[str, Any], Section, Callable[[int], RenderableType]]:
        own, stages = self.options, self.stages
        self._leave_out()
        self.model = self._base()
        self.words, self.labels = words_of(self.data.test), class_numbers(self.data.test, self.model.classes)
        self.bootstrap = Bootstrap(self.words, own.replicates, own.seed)
        self.scores = Scores(np.asarray(self.labels), self.bootstrap)
        self.texts = self.examined(self.model, self._tests(), "examine", self.groups)
        self.scores.add("base", "base", self.base.probabilities)
        if self.source is not None:
            Comparisons(self, self.source)()
        self._per_text_point()
        regularizers = pd.DataFrame()
        if "regularizers" in self.chosen and isinstance(self.source, Classifiers):
            regularizers = Comparisons(self, self.source).regularizers(self.source)
        with stages("tables and figures"):
            results = ExplainResults(
                texts=self.texts,
                summary=summarise(self.texts, self._measures(), self.model.classes, self.bootstrap),
                verdicts=verdicts(self.texts, self.bootstrap, epsilon=own.epsilon),
                models=pd.DataFrame(self.scores.rows),
                flips=self._flips(),
                curve=pd.DataFrame(self.curve),
                regularizers=regularizers,
                history=pd.DataFrame(self.trainings.history),
                classes=self.model.classes,
                examples=examples(self.model, self.data.test, self.labels, own.epsilon, own.seed),
                epsilon=own.epsilon,
                facts=tuple(facts(self)),
                notes=tuple(notes(self)),
                left_out=tuple(self.left_out),
            )
            run = describe(self, arguments, out)
            names = ", ".join(Path(file.path).name for file in self.data.test.files)
            section = write_explain(self.folder, results, model=run["model"]["name"], corpus=names)
            if self.source is not None:
                self._save(self.model)
        return run, section, lambda width: explain_table(results, width=width)

    @cached_property
    def base(self) -> Reading:
        """What the model makes of the tested texts."""
        return reading(self.model, self.words)

    def _leave_out(self) -> None:
        """Tests that turn out to be impossible with these texts and this model.

        Raises:
            UsageError: nothing is left.
        """
        source = self.source
        searched = isinstance(source, Transformers) or (isinstance(source, Classifiers) and len(source.classes) > 2)
        if "adversarial" in self.chosen and searched and not self.options.steps:
            self.chosen.remove("adversarial")
            self.left_out.append(("adversarial", _NO_STEPS))
        if not self.chosen:
            raise UsageError("; ".join(f"--tests {name}: {why}" for name, why in self.left_out))
        if "uniform" in self.chosen and not self.options.trains():
            self.left_out.append(("uniform, trained with it", "nothing is trained in this run"))

    def _source(self) -> Classifiers | Transformers | None:
        """How models are made; None: a saved one is taken."""
        if self.options.model is None:
            return Classifiers(self.options, self.data)
        return None if is_saved(self.options.model) else Transformers(self.options, self.data)

    def _base(self) -> Any:
        """The model to test; texts that it cannot read are left out from here on."""
        own, stages, source = self.options, self.stages, self.source
        if source is None:
            model: Any = load_saved(own.model or "")
        else:
            with stages("load the model"):
                try:
                    model = source.make(own.seed)
                except ValueError as error:
                    if isinstance(error, AttentionologyError):
                        raise
                    raise UsageError(str(error)) from error
        if "eraser" in self.chosen and isinstance(model, TransformerAttention) and any(model.readable([()])):
            self.chosen.remove("eraser")
            self.left_out.append(("eraser", "it asks what the model says of no words, which this one cannot read"))
        for role, texts in self.data.roles().items():
            reasons = readable(model, texts)
            self.skipped += [(role, text, why) for text, why in zip(texts, reasons, strict=True) if why]
            setattr(self.data, role, without_reasons(texts, reasons))
        if source is None or not own.trains():
            return model
        with stages("train"):
            return self.trainings([Comparisons(self, source).job("base", "base", own.seed)], "train")["base"]

    def _tests(self) -> dict[str, Test]:
        """Those that need no other model, by name."""
        own = self.options
        adversaries: dict[str, Test] = {}
        if solvable(self.model):
            adversaries["exact"] = partial(exact, epsilon=own.epsilon)
        if own.steps:
            adversaries["gradient"] = partial(by_gradient, epsilon=own.epsilon, steps=own.steps)
        if "adversarial" in self.chosen and not adversaries:  # a saved classifier of more classes
            self.chosen.remove("adversarial")
            self.left_out.append(("adversarial", _NO_STEPS))
        shuffled: Test = partial(permutation, draws=own.draws)
        floors = [column for name, column in _SHUFFLED.items() if name in self.chosen]
        if "permutation" not in self.chosen:
            shuffled = _columns(shuffled, floors)
        tests: dict[str, Test] = {
            "correlation": correlation,
            "permutation": shuffled,
            "adversarial": lambda batch: {k: v for test in adversaries.values() for k, v in test(batch).items()},
            "uniform": uniform_attention,
            "erasure": single_weight,
            "removal": removal,
            "single-token": single_token,
            "eraser": rationales,
        }
        return {n: test for n, test in tests.items() if n in self.chosen or (n == "permutation" and floors)}

    def examined(
        self, model: AttentionModel, tests: Mapping[str, Test], label: str, groups: dict[str, list[str]]
    ) -> pd.DataFrame:
        """Per-text table of one model; the columns of each test are noted in ``groups``."""
        wrapped = {name: _noted(name, test, groups) for name, test in tests.items()}
        wrapped["states"] = _noted("states", states_test(model), groups)
        ids = [text.id for text in self.data.test]
        with self.stages(label), progress_bar(label, len(ids), unit="texts") as advance:
            table = examine(
                model,
                ids,
                self.words,
                wrapped,
                seed=self.options.seed,
                workers=self.trainings.workers,
                advance=advance,
            )
        found = significant(table)
        if found:
            groups["correlation"] = [*groups["correlation"], *found]
        label_names = [self.model.classes[label] for label in self.labels]
        correct = (table["predicted"].to_numpy() == np.asarray(self.labels)).astype(float)
        return table.assign(label=label_names, correct=correct, **found)

    def add(self, test: str, columns: Rows) -> None:
        """Put what was found for each text into the table."""
        self.texts = self.texts.assign(**columns)
        self.groups.setdefault(test, []).extend(columns)

    def _measures(self) -> dict[str, list[str]]:
        """Columns of each test of which a mean says something: no numbers of classes, no probabilities of error."""
        return {
            test: [name for name in columns if not name.startswith("p_") and not name.endswith("_predicted")]
            for test, columns in self.groups.items()
        }

    def _per_text_point(self) -> None:
        """The adversaries of single texts, for the plane of the trained ones."""
        for name in ("exact", "adversarial"):
            column = f"{name}_jsd"
            if column in self.texts:
                moved = self.texts["adversarial_tvd"].mean() if name == "adversarial" else self.options.epsilon
                point = {"name": name, "lambda": np.nan, "jsd": self.texts[column].mean(), "tvd": moved}
                self.curve.append({"kind": "per text", **point})

    def _flips(self) -> pd.DataFrame:
        if "erasure" not in self.chosen:
            return pd.DataFrame()
        return flip_table(self.texts, ("attention", "gradient", "attention_gradient"))

    def _save(self, model: Any) -> None:
        if isinstance(model, AttentionClassifier):
            model.save(self.folder / "classifier.safetensors")
        elif self.options.finetune:
            model.save(self.folder / "model")


def _columns(test: Test, names: Sequence[str]) -> Test:
    """The same test with only some of its columns."""

    def run(batch: TextBatch) -> Rows:
        rows = test(batch)
        return {name: rows[name] for name in names}

    return run


def _noted(name: str, test: Test, groups: dict[str, list[str]]) -> Test:
    """The same test, which writes down its columns."""

    def run(batch: TextBatch) -> Rows:
        rows = test(batch)
        groups[name] = list(rows)
        return rows

    return run

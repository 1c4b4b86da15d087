"""The models that ``attentionology explain`` trains beside the one it tests, and what they say of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attentionology.analyses.explanation.batch import Column, Test
from attentionology.analyses.explanation.exact_adversary import solvable
from attentionology.analyses.explanation.readings import Given, Reading, chance, divergences, reading, uniform_rows
from attentionology.analyses.explanation.summary import OVERALL, Bootstrap, quality, summarise
from attentionology.analyses.explanation.tests.adversarial import exact
from attentionology.analyses.explanation.tests.correlation import correlation
from attentionology.analyses.explanation.tests.erasure import single_weight
from attentionology.analyses.explanation.tests.permutation import permutation
from attentionology.analyses.explanation.tests.removal import removal
from attentionology.analyses.explanation.tests.seeds import seed_variance
from attentionology.analyses.explanation.tests.single_token import single_token
from attentionology.extractors import Attend, AttentionModel, probabilities
from attentionology.probes.classifiers import LAMBDAS, CrossEntropy, Imitation, Trainable
from attentionology.scripts.explain_checks import REGULARIZERS
from attentionology.scripts.explain_models import Classifiers, Transformers
from attentionology.scripts.labelled_data import class_numbers, words_of
from attentionology.scripts.trainings import Job

if TYPE_CHECKING:
    from attentionology.scripts.explaining import Explaining


REGULARISED = (
    "correct", "conicity", "tau_gradient", "tau_loo", "permutation_tvd", "permutation_flip", "exact_jsd",
    "single_attention_top_flip", "removal_attention", "single_token_std", "top_token_agrees",
)  # fmt: skip
"""Columns that are compared between regularisers."""


class Scores:
    """How good all models are on the tested texts.

    Args:
        labels: 0-based class of each text.
        bootstrap: of these texts.

    Attributes:
        rows: one per model: ``model, role, accuracy, low, high, macro_f1, f1, auc``.
    """

    def __init__(self, labels: npt.NDArray[np.int64], bootstrap: Bootstrap) -> None:
        self.labels, self.bootstrap = labels, bootstrap
        self.rows: list[dict[str, Any]] = []

    def add(self, name: str, role: str, found: Column) -> Column:
        """Note a model by its class probabilities; returns 1 for every text that it is right about, else 0."""
        correct: Column = (found.argmax(1) == self.labels).astype(np.float64)
        (low,), (high,) = self.bootstrap(correct[:, None])
        own = quality(found, self.labels)
        self.rows.append(
            {"model": name, "role": role, "accuracy": own.pop("accuracy"), "low": low, "high": high, **own}
        )
        return correct


class Comparisons:
    """Trains what the chosen tests ask for and adds to the tables of a run.

    Args:
        run: the run; its base model has been examined.
        source: makes models.
    """

    def __init__(self, run: Explaining, source: Classifiers | Transformers) -> None:
        self.run, self.source = run, source

    def __call__(self) -> None:
        """All tests that compare models."""
        chosen = self.run.chosen
        if not self.run.options.trains():
            return
        if {"uniform", "seeds"} & set(chosen):
            self._uniform_and_seeds(uniform="uniform" in chosen, seeds="seeds" in chosen)
        if "imitation" in chosen:
            assert self.run.data.train is not None  # noqa: S101 there is training
            self.trained_on = words_of(self.run.data.train)
            with self.run.stages("read the training texts"):
                self.base = reading(self.run.model, self.trained_on)
        adversary = self._imitation() if "imitation" in chosen else None
        if "guided" in chosen:
            self._guided(adversary)

    def job(
        self,
        name: str,
        role: str,
        seed: int,
        *,
        make: Callable[[int], Trainable] | None = None,
        attend: Attend | None = None,
        attended: str = "own",
    ) -> Job:
        """A model to train on the labels; ``attended`` names the attention for the cache."""
        data, classes = self.run.data, self.source.classes or ()
        assert data.train is not None  # noqa: S101 there is training
        makes: Callable[[int], Any] = make or self.source.make
        return Job(
            name=name,
            role=role,
            make=partial(makes, seed),
            texts=words_of(data.train),
            objective=CrossEntropy(class_numbers(data.train, classes), len(classes)),
            recipe=self.source.recipe,
            seed=seed,
            identity={"what": "labels", "attention": attended, **self._data_identity},
            dev=None if data.dev is None else (words_of(data.dev), class_numbers(data.dev, classes)),
            attend=attend,
            made_of=self.source.identity,
        )

    @cached_property
    def _data_identity(self) -> dict[str, Any]:
        roles = self.run.data.roles()
        return {role: digest(roles[role]) for role in ("train", "dev") if role in roles}

    def _uniform_and_seeds(self, *, uniform: bool, seeds: bool) -> None:
        run, own = self.run, self.run.options
        jobs = []
        if uniform:
            jobs.append(self.job("uniform", "uniform", own.seed, attend=uniform_rows, attended="uniform"))
        if seeds:
            others = range(own.seed + 1, own.seed + 1 + (own.seeds or self.source.seeds))
            jobs += [self.job(f"seed {seed}", "seed", seed) for seed in others]
        with run.stages("train other seeds and with uniform attention"):
            models = run.trainings(jobs, "train")
        if uniform:
            found = probabilities(models.pop("uniform"), run.words, uniform_rows).numpy()
            run.add("uniform", {"uniform_retrained_correct": run.scores.add("uniform", "uniform", found)})
        if seeds:
            readings = {name: reading(model, run.words) for name, model in models.items()}
            every = list(readings.values())
            run.add("seeds", seed_variance(run.base, every, run.words, draws=own.draws, seed=own.seed))
            for name, other in readings.items():
                run.scores.add(name, "seed", other.probabilities)
                self._point("seed", name, np.nan, other)

    def _point(self, kind: str, name: str, strength: float, other: Reading) -> None:
        shapes, outputs = divergences(self.run.base, other)
        jsd = float(np.nanmean(shapes)) if not np.isnan(shapes).all() else np.nan
        point = {"name": name, "lambda": strength, "jsd": jsd, "tvd": float(outputs.mean())}
        self.run.curve.append({"kind": kind, **point})

    def _imitation(self) -> Trainable:
        """Train the adversaries; returns the one that attends most differently and still says the same.

        Which one that is, is decided on the training texts: the farthest attention among those whose output is, on
        average, no more than ε farther from the base than that of plain imitation (λ = 0), which is one of them.
        """
        run, own = self.run, self.run.options
        strengths = sorted({0.0, *(LAMBDAS if own.lambdas is None else own.lambdas)})
        jobs = []
        for strength in strengths:
            name = f"λ = {repr(strength).removesuffix('.0')}"
            job = self.job(name, "adversary", own.seed + 1)  # not the initial weights of the base
            objective = Imitation(self.base.probabilities, self.base.attention, strength, own.divergence)
            identity = {**job.identity, "what": f"imitation {strength!r} {own.divergence}", "of": self._base_key()}
            jobs.append(job.changed(objective=objective, identity=identity, recipe=self.source.imitation, dev=None))
        with run.stages("train adversaries"):
            models = run.trainings(jobs, "train adversaries")
        best = -1.0, jobs[0].name
        floor = float("nan")
        farthest: dict[str, Column] = {}
        for strength, (name, model) in zip(strengths, models.items(), strict=True):
            shapes, outputs = divergences(self.base, reading(model, self.trained_on))
            floor = float(outputs.mean()) if strength == 0 else floor
            far = float(np.nan_to_num(shapes).mean())
            if outputs.mean() <= floor + own.epsilon and far > best[0]:
                best = far, name
            on_test = reading(model, run.words)
            run.scores.add(name, "adversary", on_test.probabilities)
            self._point("adversary", name, strength, on_test)
            if name == best[1]:
                shapes, outputs = divergences(run.base, on_test)
                farthest = {"imitation_jsd": shapes, "imitation_tvd": outputs}
                by_chance = chance(run.base, [on_test], run.words, draws=own.draws, seed=own.seed)
                for column, values in (("imitation_same_jsd", shapes), ("imitation_same_shuffled_jsd", by_chance)):
                    farthest[column] = np.where(outputs <= own.epsilon, values, np.nan)
        run.add("imitation", farthest)
        run.adversary = best[1]
        return models[best[1]]

    def _base_key(self) -> str:
        return self.job("base", "base", self.run.options.seed).key(self.run.model)

    def _guided(self, adversary: Trainable | None) -> None:
        """A classifier that sees word by word, with the attention of others (Wiegreffe & Pinter 2019, §3.4)."""
        run, own = self.run, self.run.options
        assert isinstance(self.source, Classifiers)  # noqa: S101 the command leaves it out otherwise
        roles = run.data.roles().values()
        texts = list(dict.fromkeys(text.words for part in roles for text in part))
        guides: dict[str, tuple[Attend | None, str]] = {
            "uniform": (uniform_rows, "uniform"),
            "own": (None, "own"),
            "base": (Given(texts, reading(run.model, texts).attention), self._base_key()),
        }
        if adversary is not None:
            name = f"{self._base_key()} {run.adversary} {own.divergence} {self.source.imitation}"
            guides["adversary"] = Given(texts, reading(adversary, texts).attention), name
        make = partial(self.source.make, encoder="average", regularizer=None)
        jobs = [
            self.job(f"guided by {name}", "guided", own.seed, make=make, attend=attend, attended=f"{name} {key}")
            for name, (attend, key) in guides.items()
        ]
        with run.stages("train guided classifiers"):
            models = run.trainings(jobs, "train guided classifiers")
        columns = {}
        for name, (attend, _) in guides.items():
            found = probabilities(models[f"guided by {name}"], run.words, attend).numpy()
            columns[f"guided_{name}_correct"] = run.scores.add(f"guided by {name}", "guided", found)
        run.add("guided", columns)

    def regularizers(self, source: Classifiers) -> pd.DataFrame:
        """Every regulariser under the tests that need no other model: ``regularizer, measure, n, mean, low, high``."""
        run, own, jobs = self.run, self.run.options, []
        for name in (None, *REGULARIZERS):
            if (name or "none") != own.regularizer:
                make = partial(source.make, regularizer=name)
                try:
                    make(own.seed)
                except ValueError as error:
                    run.left_out.append((f"regularizer {name}", str(error)))
                    continue
                jobs.append(self.job(name or "none", "regularizer", own.seed, make=make))
        with run.stages("train regularisers"):
            models = run.trainings(jobs, "train regularisers")
        tables: dict[str, pd.DataFrame] = {own.regularizer: self._with_all_measures(run.model)}
        for name, model in models.items():
            tables[name] = self._with_all_measures(model)
            run.scores.add(name, "regularizer", probabilities(model, run.words).numpy())
        parts = []
        for name in ("none", *REGULARIZERS):
            if name not in tables:
                continue
            columns = [column for column in REGULARISED if column in tables[name]]
            rows = summarise(tables[name], {"regularizers": columns}, run.model.classes, run.bootstrap)
            overall = rows.loc[rows["predicted"] == OVERALL, ["measure", "n", "mean", "low", "high"]]
            parts.append(overall.replace({"measure": {"correct": "accuracy"}}).assign(regularizer=name))
        return pd.concat(parts)[["regularizer", "measure", "n", "mean", "low", "high"]].reset_index(drop=True)

    def _with_all_measures(self, model: AttentionModel) -> pd.DataFrame:
        tests: dict[str, Test] = {
            "correlation": correlation,
            "permutation": partial(permutation, draws=self.run.options.draws),
            "erasure": single_weight,
            "removal": removal,
            "single-token": single_token,
        }
        if solvable(model):
            tests["adversarial"] = partial(exact, epsilon=self.run.options.epsilon)
        if model is self.run.model and tests.keys() <= set(self.run.chosen):
            return self.run.texts  # all of it is there
        return self.run.examined(model, tests, "examine regularisers", {})


def digest(texts: Any) -> str:
    """Changes with the words or labels of any text."""
    known = hashlib.sha256()
    for text, label in zip(texts, texts.labels, strict=True):
        known.update("\x1f".join((label, *text.words)).encode() + b"\n")
    return known.hexdigest()

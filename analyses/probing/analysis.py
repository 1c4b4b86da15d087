"""Probing as an analysis: the results of a run from what it has stored, word by word."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from rich.console import RenderableType
from torch import Tensor

from ...corpora_loaders.tree import counted_relations
from ...probes import ArcWeights, added_up
from ...reports.explorer.contribution import Contribution
from ...reports.page import Section
from ..contract import Analysis, Counted, OptionSet, Plan, Setting, Titles
from ..counting.comparable import Comparable
from ..counting.metric import Metric
from ..shared.merged_facts import merges_by
from ..shared.options import CountOptions
from ..shared.published import published_probes
from . import record
from .attachment import Attempt, Task, TestedSentence, attachment
from .folds import Arcs
from .head_weights import head_weights
from .inputs import ProbingInputs
from .methods import contrasts, meaning
from .outcomes import AttachmentOutcomes
from .report import ProbeResults, explored_probes, methods_table, probe_section
from .run_options import ProbingOptions
from .training import TrainedProbes

NAME = "probe"
"""The name of the analysis, and of its counts."""

# ruff: noqa: RUF009  (merges_by is dataclasses.field with a rule)


@dataclass(frozen=True)
class Tried:
    """One attempt of a method, see `Attempt`."""

    method: str
    task: Task
    decoding: str
    run: int


@dataclass(frozen=True, eq=False)
class ProbeFacts:
    """Everything that probing has found, except for which words are right. All results are made of both."""

    model: str
    probes: tuple[str, ...]
    tried: tuple[Tried, ...]  # in the order of the table
    replicates: int
    seed: int  # of the bootstrap
    training_sentences: tuple[str, ...]  # a digest for each split; runs can be merged if they trained on the same
    alone: tuple[tuple[tuple[int, ...], ...], ...]  # training words that each head finds: direction, layer, head
    alone_of: int  # the number of these words
    sentences: pd.DataFrame = merges_by("rows")  # the tested sentences: id, heads, relations
    arcs: pd.DataFrame = merges_by("rows")  # sums over tested arcs: probe, run, relation, arcs, weight, contribution
    history: pd.DataFrame = merges_by("first")  # a row for each training, split and epoch
    phrases: tuple[str, ...] = merges_by("union")  # what was trained on what
    notes: tuple[str, ...] = merges_by("union")  # how the numbers came about

    def tested(self) -> list[TestedSentence]:
        """Return the tested sentences."""
        columns = (self.sentences[name] for name in ("id", "heads", "relations"))
        return [TestedSentence(id_, tuple(heads), tuple(names)) for id_, heads, names in zip(*columns, strict=True)]


class RightWords(Metric):
    """Which attempts get the head of a word right, for all words of the tested sentences in their order."""

    def __init__(self, attempts: int) -> None:
        super().__init__()
        self.attempts = attempts
        self.right: list[Tensor]
        self.add_state("right", [], "cat")

    def update(self, attempts: Sequence[Attempt]) -> None:
        """Count the words of the tested sentences."""
        self.right.append(torch.from_numpy(np.stack([attempt.right for attempt in attempts], axis=1)))

    def merge_state(self, incoming_state: Mapping[str, Any] | Metric) -> None:
        """Add the words of another run after those of this one, as the facts do; the rule ``cat`` puts them first."""
        if not isinstance(incoming_state, RightWords):
            raise ValueError("only the words of another probing run can be added")
        self.right = [*self.right, *incoming_state.right]

    def compute(self) -> npt.NDArray[np.bool_]:
        """Return which words are right, shape (words, attempts)."""
        return torch.cat(self.right).numpy() if self.right else np.zeros((0, self.attempts), dtype=bool)


class Probing(Analysis[ProbeFacts, ProbeResults]):
    """What all heads of a model together know about syntax. Its driver is `attentionology.probe`."""

    name = NAME
    options = (CountOptions,)
    facts_type = ProbeFacts
    summary = "probe: probes that predict syntactic heads from the maps of all heads (Clark et al. 2019, section 5)."

    def plan(self, options: OptionSet, setting: Setting) -> Plan[ProbeFacts]:
        """Probes are trained on stored maps, so nothing is planned."""
        raise NotImplementedError("probes are trained by attentionology.probe")

    def results(
        self, options: OptionSet, counted: Counted[ProbeFacts], needed: Mapping[str, Any], looked: Any
    ) -> ProbeResults:
        """Make all tables of what the attempts got right."""
        facts, attempts = counted.facts, attempts_of(counted)
        methods = dict.fromkeys(attempt.method for attempt in attempts)
        tables = attachment(
            facts.tested(), attempts, contrasts=contrasts(methods), replicates=facts.replicates, seed=facts.seed
        )
        correct = np.asarray(facts.alone)  # (directions, layers, heads)
        weights = {probe: head_weights(runs, correct, facts.alone_of) for probe, runs in _arcs_by_probe(facts).items()}
        return ProbeResults(
            tables=tables,
            weights=weights,
            history=facts.history,
            published=published_probes(facts.model),
            min_count=options[CountOptions].min_count,
            facts=facts.phrases,
            notes=facts.notes,
            meanings={method: meaning(method) for method in methods},
        )

    def section(self, results: ProbeResults, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page."""
        return probe_section(results, titles)

    def show(self, results: ProbeResults, width: int) -> RenderableType:
        """Return the table of methods."""
        return methods_table(results).terminal(width)

    def comparable(self, counted: Counted[ProbeFacts]) -> Sequence[Comparable]:
        """Return the attachment scores of all methods, and those of probes by relation."""
        facts = counted.facts
        return AttachmentOutcomes.of(
            facts.tested(), attempts_of(counted), probes=facts.probes, replicates=facts.replicates, seed=facts.seed
        ).comparable()

    def explored(
        self, options: OptionSet, counted: Counted[ProbeFacts], results: ProbeResults, kind: str | None
    ) -> Contribution | None:
        """Return the weights of all heads in the probes of attention."""
        return explored_probes(results)


def attempts_of(counted: Counted[ProbeFacts]) -> list[Attempt]:
    """Return what every method got right, in the order of the table."""
    right = counted.metric(NAME, RightWords).compute()
    return [
        Attempt(tried.method, tried.task, tried.decoding, tried.run, words)
        for tried, words in zip(counted.facts.tried, right.T, strict=True)
    ]


def counted_probes(options: ProbingOptions, inputs: ProbingInputs, trained: TrainedProbes) -> Counted[ProbeFacts]:
    """Return everything that was trained and tested, as it is stored."""
    attempts = trained.attempts
    # The counts of all splits together; shape (directions, layers, heads).
    alone: npt.NDArray[np.int64] = np.asarray(sum(baseline.correct_ for baseline in trained.single_heads))
    facts = ProbeFacts(
        model=inputs.encoder.name,
        probes=tuple(options.probes.chosen(has_vectors=inputs.vectors is not None)),
        tried=tuple(Tried(attempt.method, attempt.task, attempt.decoding, attempt.run) for attempt in attempts),
        replicates=options.counts.replicates,
        seed=options.seed,
        training_sentences=tuple(_digest(split.train.sentences) for split in inputs.splits),
        alone=tuple(tuple(tuple(heads) for heads in layers) for layers in alone.tolist()),
        alone_of=sum(baseline.total_ for baseline in trained.single_heads),
        sentences=pd.DataFrame(
            {
                "id": [sentence.id for sentence in inputs.sentences],
                "heads": [list(sentence.heads) for sentence in inputs.sentences],
                "relations": [list(counted_relations(sentence)) for sentence in inputs.sentences],
            }
        ),
        arcs=_arcs_table(trained.arcs),
        history=pd.DataFrame([epoch for outcome in trained.outcomes for epoch in outcome.history]),
        phrases=tuple(record.facts(options, inputs)),
        notes=tuple(record.notes(options, inputs, trained)),
    )
    metric = RightWords(len(attempts))
    metric.update(attempts)
    return Counted(facts, {NAME: metric}, {})


def _digest(sentences: Sequence[Any]) -> str:
    """Return a hash of the words, heads and relations of sentences."""
    hashed = hashlib.sha256()
    for sentence in sentences:
        hashed.update(repr((sentence.words, sentence.heads, counted_relations(sentence))).encode())
    return hashed.hexdigest()


def _arcs_table(by_probe: Mapping[str, Sequence[Arcs]]) -> pd.DataFrame:
    """Return the sums over tested arcs as rows, which add up over runs."""
    rows = []
    for probe, runs in by_probe.items():
        for run, arcs in enumerate(runs):
            for relation, (count, weight, contribution) in arcs.items():
                rows.append((probe, run, relation, count, weight.tolist(), contribution.tolist()))
    return pd.DataFrame(rows, columns=["probe", "run", "relation", "arcs", "weight", "contribution"])


def _arcs_by_probe(facts: ProbeFacts) -> dict[str, list[Arcs]]:
    """Return the sums over tested arcs of each probe, run by run, with those of runs that were merged added up."""
    by_probe: dict[str, list[Arcs]] = {}
    for (probe, _), table in facts.arcs.groupby(["probe", "run"], sort=False):
        parts = [
            {row["relation"]: ArcWeights(row["arcs"], np.array(row["weight"]), np.array(row["contribution"]))}
            for row in table.to_dict("records")
        ]
        by_probe.setdefault(str(probe), []).append(added_up(parts))
    return by_probe

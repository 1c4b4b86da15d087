"""The rows that all questions about coreference share: what they plan with, look up with, answer from and show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from ...corpora_loaders.documents import Documents
from ...extractors import MapBatch, Windows, make_windows
from ...reports.columns import Row, TableColumn
from ...reports.explorer.references import Reference
from ...reports.format import head_name, rows_of
from ..contract import Guesses, OptionError, OptionSet, PlanCounts, Reader, Request, Setting
from ..counting.comparable import Comparable, measured_heads
from ..counting.held_out import heldout_baseline, heldout_rate
from ..counting.outcomes import Counts
from ..counting.resampling import check_limit
from ..questions import Question
from ..shared.control import requests_with_control
from ..shared.head_counts import HeadCounts
from ..shared.measures import address
from ..shared.merged_facts import key_of_texts, merges_by
from ..shared.options import CountOptions
from ..shared.previews import Answers
from ..shared.record import MapFacts, map_facts
from ..shared.references import Rule, marks_of
from .accuracy import RULES, CoreferenceAccuracy, CoreferenceTables, groups_of_documents, mentions_by_group
from .decisions import ALL, BASELINES, DIRECTIONS, POLICIES, AntecedentGuesses, sources_of_agreement
from .options import CoreferenceOptions

Head = tuple[str, int, int]  # direction, layer, head

KEYS = ("candidates", "type")
"""The columns that name a row of the best heads."""
FIRST_WINDOWS = 128
"""The number of windows, from the first one on, in which examples are looked for."""

_AT_ONCE = 16  # windows that are read at once
_CANDIDATES = {
    "preceding": "head words of the preceding mentions",
    "mentions": "head words of all other mentions",
    "words": "all other words",
}


@dataclass(frozen=True)
class CoreferenceFacts:
    """The facts that the results need from the plan."""

    requests: Mapping[str, tuple[str, ...]]  # of each question, the names of its requests
    model_name: str
    maps: MapFacts
    seed: int
    asked: bool  # whether the corpus asks questions of its own, which come with candidates
    notes: tuple[str, ...] = merges_by("union")  # sentences about how the documents are read


class PlanContext:
    """What questions plan with. The options are checked against the corpus, which is cut into windows.

    Attributes:
        options, setting: those of the run.
        chosen: the options of the analysis.
        windows: the windows of the documents.
        arguments: those of every metric of decisions.
    """

    def __init__(self, options: OptionSet, setting: Setting) -> None:
        if not isinstance(setting.corpus, Documents):
            raise OptionError("the analysis coreference needs a corpus with mentions, see load_documents")
        self.options, self.setting, self.corpus = options, setting, setting.corpus
        self.chosen = options[CoreferenceOptions]
        check_limit(mentions_by_group(self.corpus), options[CountOptions].replicates)
        self.windows = _windows(self.chosen, setting, self.corpus)
        self.arguments = {"singletons": self.chosen.singletons == "keep", "seed": setting.seed}

    def facts(self, requests: Mapping[str, tuple[str, ...]]) -> CoreferenceFacts:
        """Return what the results need."""
        agreement = " or ".join(sources_of_agreement(self.corpus))
        return CoreferenceFacts(
            requests=requests,
            model_name=self.setting.encoder.name,
            maps=map_facts(self.setting.maps, self.setting.encoder.n_heads),
            seed=self.setting.seed,
            asked=_have_questions(self.corpus),
            notes=(self.windows.remarks()[0], f"Agreement, for the rules: {agreement}."),
        )

    def accuracy_requests(self) -> list[Request]:
        """Return the request that counts the heads of the model, and those of its copies with random weights."""
        return requests_with_control(
            "coreference",
            self.windows,
            self.setting.maps,
            CoreferenceAccuracy,
            {"corpus": tuple(groups_of_documents(self.corpus)), **self.arguments},
            self.options,
        )


class Mentions(HeadCounts[CoreferenceFacts, CoreferenceAccuracy]):
    """What questions answer from: the counts of mentions, and the choice of candidates that the report is about.

    Attributes:
        candidates: one of `POLICIES`.
        singletons: whether the mentions of entities that are mentioned only once are candidates.
    """

    outcomes = CoreferenceAccuracy

    def __init__(self, options: OptionSet, plan_counts: PlanCounts[CoreferenceFacts]) -> None:
        super().__init__(options, plan_counts)
        self.candidates: str = options[CoreferenceOptions].candidates
        self.singletons = options[CoreferenceOptions].singletons == "keep"

    @cached_property
    def tables(self) -> CoreferenceTables:
        """The tables of the model."""
        return self.metric.compute()

    @property
    def best_head(self) -> Head | None:
        """The direction, layer and number of the best head for all types, None if no mention was scored."""
        best = under(self.candidates, self.tables.best)
        (row,) = rows_of(best[best["type"] == ALL])
        return (row["direction"], int(row["layer"]), int(row["head"])) if row["total"] else None

    def comparable(self) -> list[Comparable]:
        """Return the held-out accuracies of the best heads, which can be compared with those of other runs."""
        members = {**self.metric.members(), **self.metric.members_by_label()}
        families = []
        for index, policy in enumerate(POLICIES):
            subsets, replicates = (
                replace(part, correct=part.correct[:, :, index]) for part in (self.subsets, self.replicates)
            )
            measured = measured_heads(members, subsets, replicates, DIRECTIONS)
            seed = self.metric.seed
            rules = {name: heldout_baseline(rows, subsets, replicates, [RULES]) for name, rows in members.items()}
            measured = tuple(replace(one, rule=rules[one.group].value) for one in measured)
            families.append(Comparable(f"candidates: {policy}", measured, "antecedents found", "mentions", seed))
            gains = tuple(
                replace(
                    one,
                    value=one.value - rules[one.group].value,
                    deviations=one.deviations - rules[one.group].deviations,
                )
                for one in measured
            )
            quantity = "held-out gain over the rules"
            families.append(Comparable(f"candidates: {policy}, gains", gains, quantity, "mentions", seed, "points"))
        return families


class LookupContext:
    """What questions look up with: the windows of the documents, and their maps.

    Attributes:
        options, mentions: the options, and the counts.
        windows: the windows.
        key: a name for the texts.
    """

    def __init__(self, mentions: Mentions, request: Request, read: Reader) -> None:
        assert isinstance(request.inputs, Windows)  # noqa: S101  # the plan has cut them
        self.options, self.mentions, self.windows = mentions.options, mentions, request.inputs
        self._request, self._read = request, read
        # Documents of different corpora may have the same ids.
        self.key = key_of_texts(" ".join((each.id, *each.words)) for each in self.windows[:FIRST_WINDOWS])

    @property
    def skipped(self) -> set[str]:
        """The ids of the windows that were not read."""
        return self.mentions.skipped_ids(self._request.name)

    def parts(self, most: int | None = None) -> Iterator[Iterator[MapBatch]]:
        """Yield the batches of a few windows at a time, of the first ``most`` windows or of all."""
        n_windows = len(self.windows)
        for start in range(0, n_windows if most is None else min(n_windows, most), _AT_ONCE):
            yield self._read(self.windows[start : start + _AT_ONCE], self._request.maker)


CoreferenceQuestion = Question[PlanContext, LookupContext, Mentions, Any]


@dataclass(frozen=True, repr=False)
class CoreferenceResults(Answers):
    """The results of the analysis ``coreference``. Layers and heads are 1-based, accuracies are shares of mentions.

    Attributes:
        tables: those of `attentionology.analyses.coreference.accuracy.CoreferenceTables`: ``cells``, ``best``,
            ``baselines`` and ``distances``. ``best`` has the columns that other questions add, such as those of a
            control.
        account: how many mentions were scored, see `attentionology.analyses.coreference.decisions.account`.
        candidates: the policy that the report is about.
        singletons: ``"drop"`` or ``"keep"``.
        map_facts, notes: sentences about the maps, and about how the numbers were computed.
        asked: whether the corpus asks questions of its own, which come with candidates.
        min_count: types with fewer mentions are grayed.
        claimed: the types of which something may be claimed: they have enough mentions in enough documents.
        added: the columns of ``best`` that other questions add.
        answers: the answers of all questions, by name.
    """

    tables: CoreferenceTables
    account: Mapping[str, int] = field(default_factory=dict)
    candidates: str = "preceding"
    singletons: str = "drop"
    map_facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    asked: bool = False
    min_count: int = 50
    claimed: tuple[str, ...] = ()
    added: tuple[TableColumn, ...] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> pd.DataFrame:
        """The best heads for the candidates of the report, a row per type."""
        return under(self.candidates, self.tables.best).reset_index(drop=True)

    @property
    def row_of_all(self) -> dict[str, Any] | None:
        """The best head for all mentions together; None if none was scored."""
        return next((row for row in self.best_rows if row["type"] == ALL), None)

    @property
    def best_rows(self) -> list[dict[str, Any]]:
        """The rows of the types that have any mentions, all types first."""
        return [row for row in rows_of(self.best) if row["total"]]

    @property
    def candidates_in_words(self) -> dict[str, str]:
        """The candidates of each policy in words."""
        named = "head words of the two names or occupations in question"
        return {**_CANDIDATES, "preceding": named, "mentions": named} if self.asked else _CANDIDATES

    @property
    def n_choices(self) -> int:
        """The number of heads and directions among which the best one is chosen."""
        return len(DIRECTIONS) * int(self.tables.cells["layer"].max()) * int(self.tables.cells["head"].max())


def under(policy: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table under one choice of candidates."""
    return table[table["candidates"] == policy]


def guesses_of_heads(options: CoreferenceOptions) -> Guesses:
    """Return the candidate that each head picks for each mention, in both directions."""
    return Guesses(DIRECTIONS, AntecedentGuesses(options.candidates, options.singletons == "keep"))


def mentions_of(row: Row) -> str:
    """Return the mentions that a row is about, in words."""
    return "all mentions" if row["type"] == ALL else f"{row['type']} mentions"


def measure_id(row: Row, kind: str, column: str = "accuracy") -> str:
    """Return the id of a measure of the explorer."""
    return f"coreference/{row['type']}/{row['direction']}/{column}/{kind}"


def address_of(row: Row, kind: str) -> str:
    """Return the address of the best head for a type of mention."""
    head, measure = head_name(row["layer"], row["head"]), measure_id(row, kind)
    return address(head=head, measure=measure, kind=kind, relation="coreference", direction=row["direction"])


def _windows(options: CoreferenceOptions, setting: Setting, corpus: Documents) -> Windows:
    """Cut the documents into windows."""
    if _have_questions(corpus):
        for name, allowed in (("singletons", ("drop",)), ("candidates", ("preceding", "words"))):
            value = getattr(options, name)
            if value not in allowed:
                raise OptionError(f"--{name} {value} has no effect on GAP and WinoBias, which come with candidates")
    try:
        return make_windows(setting.encoder, corpus, length=setting.max_length, stride=options.stride)
    except ValueError as error:
        raise OptionError(f"--max-length and --stride: {error}") from None


def _have_questions(corpus: Documents) -> bool:
    """Return whether all documents come with questions of their own."""
    return corpus.facts.with_questions == len(corpus.documents)


def of_policy(counts: Counts, policy: str) -> Counts:
    """Return the counts under one choice of candidates."""
    return replace(counts, correct=counts.correct[:, :, POLICIES.index(policy)])


def rules_of(row: Row, counts: Mentions, results: CoreferenceResults) -> list[Rule]:
    """Return the rules that heads are compared with for a row; they choose among preceding mentions."""
    rows = counts.metric.members()[str(row["type"])]
    easier = ""
    if results.candidates != "preceding":
        easier = f" It chooses among {results.candidates_in_words['preceding']}, which is easier than what heads do."
    named = (
        ("position", "nearest mention", BASELINES.index("nearest"), "The nearest candidate before the mention."),
        ("rule", "rules", RULES, "The nearest candidate with the same words, the same head word, or that agrees."),
    )
    return [
        Rule(role, label, heldout_baseline(rows, counts.subsets, counts.replicates, [index]), note + easier)
        for role, label, index, note in named
    ]


def reference_of(row: Row, rules: list[Rule], counts: Mentions, results: CoreferenceResults, kind: str) -> Reference:
    """Return what the measures of a type of mention are read beside."""
    subsets, replicates = (of_policy(part, str(row["candidates"])) for part in (counts.subsets, counts.replicates))
    best = heldout_rate(counts.metric.members()[str(row["type"])], subsets, replicates)
    layers = results.answers.get("layers", {}).get(row["type"])
    return Reference(
        reference_id(row, kind),
        mentions_of(row),
        tuple(marks_of(row, best, rules, len(results.answers.get("control", ())))),
        layers.curve() if layers and len(layers.rates) > 1 else None,
    )


def reference_id(row: Row, kind: str) -> str:
    """Return the id of what the measures of a type of mention are read beside."""
    return f"coreference/{row['type']}/{kind}"

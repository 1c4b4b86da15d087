"""The plan and the results of the analysis ``coreference`` (Clark et al. 2019, §4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import RenderableType

from ...corpora_loaders.documents import Documents
from ...extractors import Windows, make_windows
from ...reports.explorer.contribution import Contribution
from ...reports.page import Section
from ..contract import Analysis, Counted, Guesses, OptionError, OptionSet, Plan, Reader, Request, Setting, Titles
from ..counting.best_head import with_control
from ..counting.comparable import Comparable, measured_heads
from ..counting.counting import CountMaps
from ..counting.resampling import check_limit
from ..shared.control import control_record, requests_with_control
from ..shared.ensembles import ensemble_table
from ..shared.merged_facts import merges_by
from ..shared.options import ControlOptions, CountOptions, EnsembleOptions, FailureOptions
from ..shared.published import published_coreference
from ..shared.record import MapFacts, map_facts
from .accuracy import CoreferenceAccuracy, groups_of_documents, mentions_by_group
from .decisions import DIRECTIONS, POLICIES, AntecedentGuesses, account, sources_of_agreement
from .ensembles import ENSEMBLES, ensemble_rows
from .examples import EXAMPLES, Decision, ShownExample, decisions_of, shown_example, spread
from .explored import explored_coreference
from .failure_tables import failure_tables
from .failures import CoreferenceFailures
from .options import COREFERENCE, CoreferenceOptions
from .section import coreference_section
from .shown_tables import CoreferenceResults, best_table

_MIN_DOCUMENTS = 10
_WINDOWS_AT_ONCE = 16
_MAX_WINDOWS = 128  # the number of windows in which examples are looked for


@dataclass(frozen=True)
class CoreferenceFacts:
    """The facts that the results need from the plan."""

    model: str  # the name of the request for the model
    copies: tuple[str, ...]  # the names of the requests for its copies
    model_name: str
    maps: MapFacts
    seed: int
    asked: bool  # whether the corpus asks questions of its own, which come with candidates
    notes: tuple[str, ...] = merges_by("union")  # sentences about how the documents are read
    failures: str = ""  # the name of the request for failures; empty if they are not counted


@dataclass(frozen=True)
class CoreferenceLookup:
    """What was looked up after counting."""

    account: Mapping[str, int] = merges_by("add")  # see `attentionology.analyses.coreference.decisions.account`
    head: tuple[str, int, int] | None = merges_by("common")  # the head whose decisions were looked up, if any
    examples: tuple[ShownExample, ...] = merges_by("all")  # right and wrong decisions of this head
    # The counts of ensembles for each set of documents that chose them, see `ensemble_rows`.
    ensembles: tuple[list[dict[str, Any]], ...] = merges_by("all", ())


class Coreference(Analysis[CoreferenceFacts, CoreferenceResults], row=COREFERENCE):
    """The analysis that counts how often the most attended other mention is an antecedent."""

    facts_type = CoreferenceFacts
    looked_type = CoreferenceLookup

    def plan(self, options: OptionSet, setting: Setting) -> Plan[CoreferenceFacts]:
        """Cut the documents into windows, and plan one request for the model and one for each copy."""
        corpus = setting.corpus
        if not isinstance(corpus, Documents):
            raise OptionError("the analysis coreference needs a corpus with mentions, see load_documents")
        check_limit(mentions_by_group(corpus), options[CountOptions].replicates)
        windows = _windows(options[CoreferenceOptions], setting, corpus)
        singletons = options[CoreferenceOptions].singletons == "keep"
        groups = tuple(groups_of_documents(corpus))
        model, *copies = requests_with_control(
            "coreference",
            windows,
            setting.maps,
            CoreferenceAccuracy,
            {"corpus": groups, "singletons": singletons, "seed": setting.seed},
            options,
        )
        requests = [model, *copies]
        failures = ""  # the name of the request, if there is one
        if options[FailureOptions].failures:
            options[FailureOptions].check_heads(setting.encoder.n_layers, setting.encoder.n_heads)
            failures = f"coreference-failures/{setting.maps.kind}"
            candidates = options[CoreferenceOptions].candidates
            arguments = {"candidates": candidates, "singletons": singletons, "seed": setting.seed}
            counting = CountMaps(CoreferenceFailures, tuple(arguments.items()))
            requests.append(Request(failures, "failures", windows, setting.maps, counting))
        facts = CoreferenceFacts(
            model=model.name,
            copies=tuple(copy.name for copy in copies),
            model_name=setting.encoder.name,
            maps=map_facts(setting.maps, setting.encoder.n_heads),
            seed=setting.seed,
            asked=_asked(corpus),
            notes=(windows.remarks()[0], f"Agreement, for the rules: {' or '.join(sources_of_agreement(corpus))}."),
            failures=failures,
        )
        return Plan(tuple(requests), facts, windows)

    def guesses(self, options: OptionSet, setting: Setting) -> Guesses:
        """Return the candidate that each head picks for each mention, in both directions."""
        chosen = options[CoreferenceOptions]
        return Guesses(DIRECTIONS, AntecedentGuesses(chosen.candidates, chosen.singletons == "keep"))

    def follow_up(
        self, options: OptionSet, plan: Plan[CoreferenceFacts], counted: Counted[CoreferenceFacts], read: Reader
    ) -> CoreferenceLookup:
        """Look up which mentions were scored, a few decisions of the best head, and what ensembles of heads find."""
        coreference_options = options[CoreferenceOptions]
        candidates, singletons = coreference_options.candidates, coreference_options.singletons == "keep"
        request = plan.requests[0]  # of the model
        windows = request.inputs
        assert isinstance(windows, Windows)  # noqa: S101  # the plan has cut them
        skipped = {skip.sentence.id for skip in counted.logs[request.name].skipped}
        read_windows = (window for window in windows.sentences if window.id not in skipped)
        scored = account(windows.corpus, read_windows, singletons=singletons)
        head = _best_head(coreference_options, counted)
        if head is None:
            return CoreferenceLookup(scored, head, ())

        ensembles: tuple[list[dict[str, Any]], ...] = ()
        if most := options[EnsembleOptions].ensembles:
            starts = range(0, len(windows), _WINDOWS_AT_ONCE)
            rows = ensemble_rows(
                (read(windows[start : start + _WINDOWS_AT_ONCE], request.maker) for start in starts),
                candidates,
                singletons=singletons,
                most=most,
                min_count=options[CountOptions].min_count,
                replicates=options[CountOptions].replicates,
                seed=plan.facts.seed,
            )
            ensembles = (rows,)

        decisions: list[Decision] = []
        right: list[Decision] = []  # examples from as many documents as possible
        wrong: list[Decision] = []
        for start in range(0, min(len(windows), _MAX_WINDOWS), _WINDOWS_AT_ONCE):
            for batch in read(windows[start : start + _WINDOWS_AT_ONCE], request.maker):
                decisions += decisions_of(batch, head, candidates, singletons=singletons)
            right, wrong = spread(decisions, right=True), spread(decisions, right=False)
            documents_of_both = [{decision.document.id for decision in examples} for examples in (right, wrong)]
            if all(len(documents) == EXAMPLES for documents in documents_of_both):
                break
        shown = tuple(shown_example(decision, candidates) for decision in (*right, *wrong))
        return CoreferenceLookup(scored, head, shown, ensembles)

    def results(
        self, options: OptionSet, counted: Counted[CoreferenceFacts], needed: Mapping[str, Any], looked: Any
    ) -> CoreferenceResults:
        """Make the tables of the model, with the accuracy of its copies beside them, and the examples."""
        facts = counted.facts
        coreference_options = options[CoreferenceOptions]
        tables = counted.metric(facts.model, CoreferenceAccuracy).compute()
        controls = tuple(counted.metric(name, CoreferenceAccuracy).compute().best for name in facts.copies)
        examples: tuple[ShownExample, ...] = ()
        if looked.head == _best_head(coreference_options, counted):  # merged runs may have looked at another head
            right = [example for example in looked.examples if example.right]
            wrong = [example for example in looked.examples if not example.right]
            examples = (*right[:EXAMPLES], *wrong[:EXAMPLES])
        failures = None
        if facts.failures:
            counts = counted.metric(facts.failures, CoreferenceFailures)
            best, cells = (table[table["candidates"] == counts.candidates] for table in (tables.best, tables.cells))
            failures = failure_tables(counts, best, cells, options[FailureOptions].failures)
        return CoreferenceResults(
            tables=tables._replace(best=with_control(tables.best, controls, key=("candidates", "type"))),
            controls=controls,
            examples=examples,
            account=looked.account,
            candidates=coreference_options.candidates,
            singletons=coreference_options.singletons,
            published=None if facts.asked else published_coreference(facts.model_name),
            map_facts=facts.maps.phrases(int(tables.cells["head"].max())),
            notes=facts.notes,
            asked=facts.asked,
            min_count=options[CountOptions].min_count,
            failures=failures,
            # The ensembles of merged runs were chosen on different documents, so none of them is that of all.
            ensembles=ensemble_table(looked.ensembles[0], ENSEMBLES) if len(looked.ensembles) == 1 else None,
        )

    def section(self, results: CoreferenceResults, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page."""
        return coreference_section(results, titles)

    def show(self, results: CoreferenceResults, width: int) -> RenderableType:
        """Return a table of the best head of each type of mention."""
        return best_table(results).terminal(width)

    def comparable(self, counted: Counted[CoreferenceFacts]) -> Sequence[Comparable]:
        """Return the held-out accuracy of the best head of each type of mention, for each choice of candidates."""
        metric = counted.metric(counted.facts.model, CoreferenceAccuracy)
        counts = metric.split_counts()
        members = {**metric.members(), **metric.members_by_label()}
        families = []
        for index, policy in enumerate(POLICIES):
            subsets, replicates = (replace(part, correct=part.correct[:, :, index]) for part in counts)
            measured = measured_heads(members, subsets, replicates, DIRECTIONS)
            families.append(Comparable(f"candidates: {policy}", measured, "antecedents found", "mentions", metric.seed))
        return families

    def explored(
        self, options: OptionSet, counted: Counted[CoreferenceFacts], results: CoreferenceResults, kind: str | None
    ) -> Contribution:
        """Return the accuracies of all heads, and what was found."""
        return explored_coreference(results, counted.metric(counted.facts.model, CoreferenceAccuracy), kind or "")

    def record(
        self, options: OptionSet, counted: Counted[CoreferenceFacts], results: CoreferenceResults
    ) -> dict[str, Any]:
        """Describe the copies with random weights, how many mentions were scored and why others were not, and notes."""
        control = control_record(options[ControlOptions], counted.facts.seed)
        return {**control, "coreference": {"account": dict(results.account), "notes": list(results.notes)}}

    def warnings(self, results: CoreferenceResults) -> list[str]:
        """Warn of too few mentions or documents."""
        account = results.account
        if not account["scored"]:
            text = f"No mention could be scored; {account['anaphors']:,} have an antecedent in the corpus."
            if account["anaphors"]:
                text += " Read more of the documents at once with --max-length, or leave out --stride 0."
            return [text]
        if account["documents"] < _MIN_DOCUMENTS:
            return [
                f"Documents with mentions that were scored: {account['documents']}. Intervals and held-out accuracies "
                "are unreliable for so few documents."
            ]
        return []


def _windows(options: CoreferenceOptions, setting: Setting, corpus: Documents) -> Windows:
    """Cut the documents into windows."""
    if _asked(corpus):
        for name, allowed in (("singletons", ("drop",)), ("candidates", ("preceding", "words"))):
            value = getattr(options, name)
            if value not in allowed:
                raise OptionError(f"--{name} {value} has no effect on GAP and WinoBias, which come with candidates")
    try:
        return make_windows(setting.encoder, corpus, length=setting.max_length, stride=options.stride)
    except ValueError as error:
        raise OptionError(f"--max-length and --stride: {error}") from None


def _asked(corpus: Documents) -> bool:
    """Return whether all documents come with questions of their own."""
    return corpus.facts.with_questions == len(corpus.documents)


def _best_head(options: CoreferenceOptions, counted: Counted[CoreferenceFacts]) -> tuple[str, int, int] | None:
    """Return the direction, layer and head of the best head of all types, None if no mention was scored."""
    best = counted.metric(counted.facts.model, CoreferenceAccuracy).compute().best
    (row,) = best[(best["candidates"] == options.candidates) & (best["type"] == "all")].to_dict("records")
    return (row["direction"], int(row["layer"]), int(row["head"])) if row["total"] else None

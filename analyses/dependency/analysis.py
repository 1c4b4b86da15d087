"""The plan and the results of the analysis ``dependency`` (Clark et al. 2019, §4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rich.console import RenderableType

from ...corpora_loaders import Corpus, CorpusError, coarse_relation, is_punct
from ...corpora_loaders.tags import UPOS
from ...corpora_loaders.tree import plain_relation
from ...extractors import DIRECTIONS
from ...reports.explorer.contribution import Contribution
from ...reports.page import Section
from ...storage.nearest import did_you_mean
from ..contract import Analysis, Counted, Guesses, OptionError, OptionSet, Plan, Reader, Request, Setting, Titles
from ..counting.best_head import with_control
from ..counting.comparable import Comparable, measured_heads
from ..counting.counting import CountMaps, CountWith
from ..counting.resampling import check_limit
from ..shared.control import control_record, requests_with_control
from ..shared.ensembles import ensemble_table
from ..shared.merged_facts import key_of_texts
from ..shared.options import ControlOptions, CountOptions, EnsembleOptions, FailureOptions
from ..shared.record import MapFacts, map_facts
from .accuracy import DependencyAccuracy, check_relations, inventory, words_by_group
from .decisions import READINGS, head_guesses
from .ensembles import ENSEMBLES, SENTENCES, ensemble_rows, read_values
from .explored import explored_dependency
from .failure_tables import failure_tables
from .failures import DependencyFailures
from .options import DEPENDENCY, DependencyOptions
from .rules import DependencyRules, rule_columns
from .section import DependencyResults, best_table, dependency_section
from .spanning import SPANNING, tree_counts, united
from .spanning_tables import spanning_trees
from .tables import TOTALS, Asked, members_of

_UNIVERSAL = frozenset(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed "
    "flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative "
    "xcomp".split()
)
"""The relations of Universal Dependencies, version 2."""


@dataclass(frozen=True)
class DependencyFacts:
    """The facts that the results need from the plan."""

    model: str  # the name of the request for the model
    copies: tuple[str, ...]  # the names of the requests for its copies
    maps: MapFacts
    seed: int
    asked: Asked = field(default_factory=Asked)  # the rows, if they were chosen before the run
    failures: str = ""  # the name of the request for failures; empty if they are not counted
    rules: str = ""  # the name of the request for rules that know parts of speech; empty if the words have none


class Dependency(Analysis[DependencyFacts, DependencyResults], row=DEPENDENCY):
    """The analysis that counts how often the most attended other word is the syntactic head."""

    facts_type = DependencyFacts

    def plan(self, options: OptionSet, setting: Setting) -> Plan[DependencyFacts]:
        """Plan one request for the model, and one for each copy."""
        corpus, maker = setting.corpus, setting.maps
        chosen, replicates = options[DependencyOptions], options[CountOptions].replicates
        coarse, trees = chosen.coarse, chosen.trees
        relations = _checked_relations(corpus, chosen)
        words_of_groups = words_by_group(relations, coarse=coarse)
        asked = _asked(chosen, words_of_groups)
        check_limit(words_of_groups, replicates)
        failure_options = options[FailureOptions]
        need_one_head = failure_options.failures or options[EnsembleOptions].ensembles or chosen.spanning_trees
        if trees == "enhanced" and need_one_head:
            raise OptionError(
                "--failures, --ensembles and --spanning-trees need basic trees, in which a word has one head; leave "
                "out --trees enhanced"
            )

        # Only what is not the default is named, so that states of other models are those of former versions.
        readings = {"both": True} if chosen.both else {}
        if setting.encoder.causal:
            readings = {"causal": True}
        gold = {} if trees == "basic" else {"trees": trees, "unions": asked.unions}
        groups = {"relations": tuple(relations), "coarse": coarse}
        model, *copies = requests_with_control(
            "dependency",
            corpus,
            maker,
            DependencyAccuracy,
            {**groups, "seed": setting.seed, **readings, **gold},
            options,
        )
        requests, failures, rules = [model, *copies], "", ""
        if failure_options.failures:
            failure_options.check_heads(setting.encoder.n_layers, setting.encoder.n_heads)
            failures = f"dependency-failures/{maker.kind}"
            arguments = {**groups, "unions": asked.unions, **({"both": True} if readings else {})}
            counting = CountMaps(DependencyFailures, tuple(arguments.items()))
            requests.append(Request(failures, "failures", corpus, maker, counting))
        if trees == "basic" and any(tag in UPOS for _, tag in corpus.counted.tagged):
            rules = f"dependency-rules/{maker.kind}"
            pairs = tuple(sorted(corpus.counted.tagged))
            arguments = {"pairs": pairs, "coarse": coarse, "seed": setting.seed, "replicates": replicates}
            counting_rules = CountWith(DependencyRules, tuple(arguments.items()))
            requests.append(Request(rules, "rules", corpus, maker, counting_rules))
        copy_names = tuple(copy.name for copy in copies)
        maps = map_facts(maker, setting.encoder.n_heads)
        facts = DependencyFacts(model.name, copy_names, maps, setting.seed, asked, failures, rules)
        return Plan(tuple(requests), facts)

    def guesses(self, options: OptionSet, setting: Setting) -> Guesses | None:
        """Return the word that each head picks for each word, in all directions."""
        if options[DependencyOptions].trees == "enhanced":
            return None  # the explorer draws the basic trees, by which it would call right picks wrong
        names = READINGS if setting.encoder.causal or options[DependencyOptions].both else DIRECTIONS
        return Guesses(names, partial(head_guesses, readings=len(names)))

    def follow_up(
        self, options: OptionSet, plan: Plan[DependencyFacts], counted: Counted[DependencyFacts], read: Reader
    ) -> dict[str, Any] | None:
        """Choose ensembles of heads on the first sentences, score them on the others, and build trees."""
        most, has_trees = options[EnsembleOptions].ensembles, options[DependencyOptions].spanning_trees
        if not most and not has_trees:
            return None
        facts = plan.facts
        replicates = options[CountOptions].replicates
        request = plan.requests[0]  # of the model
        metric = counted.metric(facts.model, DependencyAccuracy)
        shape = (metric.n_layers, metric.n_heads, len(metric.directions))
        batches = read(request.inputs[:SENTENCES], request.maker)
        name_of = coarse_relation if options[DependencyOptions].coarse else str
        sentences = read_values(batches, name_of, len(metric.directions))
        key = key_of_texts(sentences.ids)
        looked: dict[str, Any] = {}  # by the texts that were read
        ensembles: list[tuple[int, ...]] = []  # each with its heads
        if most:
            rows = _relations_by_row(metric, facts.asked)
            looked[key], chosen = ensemble_rows(
                sentences,
                {name: relations for name, relations in rows.items() if name not in (*TOTALS, "root")},
                shape,
                most=most,
                min_count=options[CountOptions].min_count,
                replicates=replicates,
                seed=facts.seed,
            )
            # Trees are scored without punctuation, so heads that find it are of no use to them.
            ensembles = united([heads for name, heads in chosen.items() if not all(map(is_punct, rows[name]))])
        if has_trees:
            looked[f"{SPANNING}{key}"] = tree_counts(sentences, shape, ensembles, replicates, facts.seed)
        return looked

    def results(
        self, options: OptionSet, counted: Counted[DependencyFacts], needed: Mapping[str, Any], looked: Any
    ) -> DependencyResults:
        """Make the tables of the model, with the accuracy of its copies beside them."""
        facts = counted.facts
        metric = counted.metric(facts.model, DependencyAccuracy)
        tables = metric.compute(facts.asked)
        controls = tuple(counted.metric(name, DependencyAccuracy).compute(facts.asked).best for name in facts.copies)
        best = with_control(tables.best, controls)
        rules = counted.metric(facts.rules, DependencyRules) if facts.rules else None
        if rules:
            rows = _relations_by_row(metric, facts.asked)
            best = best.join(rule_columns(rules, rows, *metric.split_counts(), metric.groups), on="relation")
        # What was looked up are counts of ensembles and of spanning trees, by a key of the texts that were read for
        # them. Merged runs have read different texts, so several counts of a sort are of a part each, and not shown.
        counts_by_texts = looked or {}
        ensembles = [counts for key, counts in counts_by_texts.items() if not key.startswith(SPANNING)]
        spanning = [counts for key, counts in counts_by_texts.items() if key.startswith(SPANNING)]
        failures = None
        if facts.failures:
            counts = counted.metric(facts.failures, DependencyFailures)
            failures = failure_tables(counts, tables.best, tables.cells, options[FailureOptions].failures)
        return DependencyResults(
            cells=tables.cells,
            best=best,
            controls=controls,
            min_count=options[CountOptions].min_count,
            map_facts=(
                *facts.maps.phrases(int(tables.cells["head"].max())),
                *_gold(metric),
                *_phrases(facts.asked, metric.groups),
            ),
            failures=failures,
            ensembles=ensemble_table(ensembles[0], ENSEMBLES) if len(ensembles) == 1 else None,
            rules=rules.compute() if rules else None,
            trees=metric.trees,
            spanning_trees=spanning_trees(*spanning) if len(spanning) == 1 else None,
        )

    def section(self, results: DependencyResults, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page."""
        return dependency_section(results, titles)

    def show(self, results: DependencyResults, width: int) -> RenderableType:
        """Return a table of the best head of each relation."""
        return best_table(results).terminal(width)

    def comparable(self, counted: Counted[DependencyFacts]) -> Sequence[Comparable]:
        """Return the held-out accuracy of the best head of each relation."""
        metric = counted.metric(counted.facts.model, DependencyAccuracy)
        subsets, replicates = metric.split_counts()
        members = members_of(metric.groups, subsets, counted.facts.asked)
        measured = measured_heads(members, subsets, replicates, READINGS)
        return (Comparable("relations", measured, "words whose head is found", "words", metric.seed),)

    def explored(
        self, options: OptionSet, counted: Counted[DependencyFacts], results: DependencyResults, kind: str | None
    ) -> Contribution:
        """Return the accuracies and gains of all heads, and what was found."""
        metric = counted.metric(counted.facts.model, DependencyAccuracy)
        return explored_dependency(results, metric, kind or "", counted.facts.asked)

    def record(
        self, options: OptionSet, counted: Counted[DependencyFacts], results: DependencyResults
    ) -> dict[str, Any]:
        """Describe the copies with random weights, and what was left out of the enhanced dependencies."""
        control = control_record(options[ControlOptions], counted.facts.seed)
        metric = counted.metric(counted.facts.model, DependencyAccuracy)
        if metric.trees == "basic":
            return control
        left_out = dict(zip(("roots", "empty_nodes", "words_without_head"), metric.left_out.tolist(), strict=True))
        return {**control, "dependency": {"trees": "enhanced", "left_out": left_out}}


def _checked_relations(corpus: Corpus, options: DependencyOptions) -> Counter[str]:
    """Return the relations of a corpus with their words, if there are any and none has the name of a total."""
    file = corpus.files[0].path if corpus.files else None
    relations = inventory(corpus, options.trees)
    if not relations:
        raise CorpusError("no word has an enhanced head that is a word, which --trees enhanced needs", file=file)
    try:
        check_relations(tuple(relations), coarse=options.coarse)
    except ValueError as error:
        raise CorpusError(str(error), file=file) from None
    return relations


def _asked(options: DependencyOptions, known: Collection[str]) -> Asked:
    """Return the rows that the options ask for, if the corpus can have them."""
    unions = options.unions()
    if taken := next((name for name, _ in unions if name in known or name in TOTALS), None):
        raise OptionError(f"--group: {taken!r} is the name of a relation or total")
    wanted = [*options.relations, *(name for _, members in unions for name in members)]
    names = [*known, *TOTALS]
    absent = tuple(name for name in dict.fromkeys(wanted) if name not in names)
    # A treebank may lack a universal relation, or a subtype of one. Any other unknown name is a mistake.
    for name in absent:
        if coarse_relation(name) not in _UNIVERSAL:
            raise OptionError(f"the corpus has no relation {name!r}{did_you_mean(name, names)}")
    if wanted and len(absent) == len(set(wanted)):
        raise OptionError(f"the corpus has none of the relations {', '.join(absent)}")
    return Asked(options.relations, unions)


def _relations_by_row(metric: DependencyAccuracy, asked: Asked) -> dict[str, frozenset[str]]:
    """Return the relations that each row of the table of best heads counts."""
    members = members_of(metric.groups, metric.split_counts()[0], asked)
    return {name: frozenset(metric.groups[index] for index in rows) for name, rows in members.items()}


def _phrases(asked: Asked, groups_of_words: Sequence[str]) -> tuple[str, ...]:
    """Say which rows were chosen before the run."""
    wanted = [*asked.relations, *(name for _, members in asked.unions for name in members)]
    there = {*map(plain_relation, groups_of_words), *TOTALS}
    absent = [name for name in dict.fromkeys(wanted) if name not in there]
    groups = [f"{name} ({', '.join(members)})" for name, members in asked.unions]
    phrases = []
    if asked.relations:
        phrases.append(f"only the relations that were named before the run: {', '.join(asked.relations)}")
    phrases += [f"groups of relations: {'; '.join(groups)}"] if groups else []
    phrases += [f"not in the corpus: {', '.join(absent)}"] if absent else []
    return tuple(phrases)


def _gold(metric: DependencyAccuracy) -> tuple[str, ...]:
    """Say what was left out of enhanced dependencies."""
    if metric.trees == "basic":
        return ()
    roots, empty_nodes, words = metric.left_out.tolist()
    return (
        "gold: the enhanced dependencies, of which one has to be found for each relation of a word; left out: "
        f"{roots:,} heads that are the root, {empty_nodes:,} that are empty nodes, and hence {words:,} words that have "
        "no other head",
        "rules that know parts of speech are counted for basic trees only",
    )

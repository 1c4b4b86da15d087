"""Each check of `attentionology.testing.check_analysis` notices an analysis with the mistake that it looks for."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pandas as pd
import pytest
import torch
from rich.text import Text

from attentionology import MapOptions
from attentionology.analyses import Analysis, CountMaps, ExactMetric, Plan, Request
from attentionology.analyses.probing.analysis import Probing
from attentionology.analyses.registry import find_analysis, list_analyses
from attentionology.analyses.shared.merged_facts import merges_by
from attentionology.corpora_loaders import CorpusError
from attentionology.reports import Section
from attentionology.reports.columns import Schema, TableColumn
from attentionology.storage.characters import visible
from attentionology.storage.plugins import RegistryError
from attentionology.testing import analyses, check_analysis
from attentionology.testing.analyses import (
    check_batches,
    check_kinds,
    check_merging,
    check_models,
    check_names,
    check_order,
    check_parts,
    check_unusual,
)

TEMPLATE = """{% for name in names %}<p>{{ name }}</p>{% endfor %}"""


class SelfAttention(ExactMetric):
    """The mean attention of words to themselves."""

    total: torch.Tensor
    words: torch.Tensor

    def __init__(self, n_layers: int, n_heads: int) -> None:
        super().__init__()
        self.shape = (n_layers, n_heads)
        self.add_state("total", torch.zeros(n_layers, n_heads, dtype=torch.int64), "sum")
        self.add_state("words", torch.tensor(0), "sum")

    def update(self, batch: Any) -> None:
        for _, array in batch.unpadded():
            diagonal = array.diagonal(axis1=-2, axis2=-1).sum(-1).astype(float)
            self.total = self.added(self.total, torch.from_numpy(diagonal[None]))
            self.words = self.words + array.shape[-1]

    def compute(self) -> torch.Tensor:
        return self.floating(self.total) / self.words


@dataclass(frozen=True)
class Facts:
    request: str
    relations: Mapping[str, int] = merges_by("add")


class Good(Analysis[Any, Any]):
    """How much words attend to themselves, and how often each relation occurs."""

    name, options = "good", (MapOptions,)
    facts_type = Facts
    metric: ClassVar[type[SelfAttention]] = SelfAttention
    template: ClassVar[Path]

    def plan(self, options, setting):
        name = f"good/{setting.maps.kind}"
        request = Request(name, "good", setting.corpus, setting.maps, CountMaps(self.metric))
        return Plan((request,), Facts(name, dict(setting.corpus.relations)))

    def results(self, options, counted, needed, lookups):
        means = counted.metric(counted.facts.request, self.metric).compute().numpy()
        rows = [(layer + 1, head + 1, mean) for layer, row in enumerate(means) for head, mean in enumerate(row)]
        relations = sorted(counted.facts.relations.items())
        return {
            "good": pd.DataFrame(rows, columns=["layer", "head", "mean"]),
            "good_relations": pd.DataFrame(relations, columns=["relation", "words"]),
        }

    def section(self, results, titles):
        names = list(results["good_relations"]["relation"]) if "good_relations" in results else []
        return Section("Good", self.template, context={"names": names}, tables=results)

    def show(self, results, width):
        return Text(visible("".join(table.to_string() for table in results.values())))


@pytest.fixture(autouse=True)
def template(tmp_path, monkeypatch):
    monkeypatch.setattr(Good, "template", tmp_path / "section.html.j2", raising=False)
    Good.template.write_text(TEMPLATE, encoding="utf-8")


def test_every_check_is_made():
    """Other tests name the only check that is made, which saves time."""
    checks = {check for name, check in vars(analyses).items() if name.startswith("check_")}
    own = {check for check in checks if check.__module__ == analyses.__name__} - {check_analysis}
    assert own == {*analyses.CHECKS}


def test_a_good_analysis_passes():
    before = list_analyses()
    check_analysis(Good, schemas=[Schema("good", "", (TableColumn("layer head mean", "number", ""),))])
    assert list_analyses() == before
    assert find_analysis("good") is None


def changed(**methods: Any) -> type[Good]:
    """The good analysis with other methods."""
    return type("Changed", (Good,), methods)


def with_metric(update: Any, **more: Any) -> type[Good]:
    """The good analysis with another metric."""
    return changed(metric=type("Other", (SelfAttention,), {"update": update, **more}))


def refused(
    analysis: type[Analysis[Any, Any]], message: str, by: Callable[..., None] | None = None, **options: Any
) -> None:
    """Check that an analysis is refused, by one check alone if it is named, which saves time."""
    only = mock.patch.object(analyses, "CHECKS", (by,)) if by else contextlib.nullcontext()
    with only, pytest.raises(AssertionError, match=message):
        check_analysis(analysis, **options)


def test_padding_that_is_counted():
    def update(self, batch):
        SelfAttention.update(self, batch)
        self.words = self.words + batch.maps.shape[-1] * len(batch) - int(batch.lengths.sum())

    refused(
        with_metric(update),
        r"table 'good' has .* in row 1, column 'mean', in larger batches\. Leave out padding",
        check_batches,
    )


def test_batches_that_are_counted():
    def update(self, batch):
        SelfAttention.update(self, batch)
        self.words = self.words + 1

    refused(with_metric(update), "in larger batches", check_batches)


def test_a_sentence_that_is_counted_because_it_comes_first():
    def plan(self, options, setting):
        plan = Good.plan(self, options, setting)
        return Plan(plan.requests, Facts(plan.facts.request, {setting.corpus[0].words[0]: 1}))

    refused(changed(plan=plan), "'good_relations' has .* if the sentences come in another order", check_order)


def test_a_sum_of_floating_point_numbers():
    class Sums(SelfAttention):
        def __init__(self, n_layers, n_heads):
            super().__init__(n_layers, n_heads)
            self.add_state("total", torch.zeros(n_layers, n_heads), "sum")

        def update(self, batch):
            for _, array in batch.unpadded():
                self.total = self.total + torch.from_numpy(array.diagonal(axis1=-2, axis2=-1).sum(-1))
                self.words = self.words + array.shape[-1]

        def compute(self):
            return self.total.double() / self.words

    refused(changed(metric=Sums), "if the corpus is counted in parts.*ExactMetric", check_parts)


def test_counts_that_are_no_states():
    class Forgets(SelfAttention):
        seen = 0

        def update(self, batch):
            super().update(batch)
            self.seen += len(batch)

        def compute(self):
            return super().compute() * self.seen

    refused(changed(metric=Forgets), r"if the corpus is counted in parts\. .* states", check_parts)


def test_facts_that_are_not_added_up():
    @dataclass(frozen=True)
    class First(Facts):
        relations: Mapping[str, int] = merges_by("first")

    def plan(self, options, setting):
        plan = Good.plan(self, options, setting)
        return Plan(plan.requests, First(plan.facts.request, plan.facts.relations))

    globals()["First"] = First  # where cattrs looks for annotations
    refused(changed(plan=plan, facts_type=First), "if two runs are merged", check_merging)


def test_a_request_without_the_kind():
    def plan(self, options, setting):
        request = Request("good", "good", setting.corpus, setting.maps, CountMaps(SelfAttention))
        return Plan((request,), Facts("good", {}))

    refused(changed(plan=plan), "fails with two kinds of maps with ValueError: two different requests", check_kinds)


def test_what_is_kept_in_the_analysis():
    def plan(self, options, setting):
        plan = Good.plan(self, options, setting)
        self.last = plan.facts.request
        return plan

    def results(self, options, counted, needed, lookups):
        facts = replace(counted.facts, request=self.last)
        return Good.results(self, options, replace(counted, facts=facts), needed, lookups)

    refused(changed(plan=plan, results=results), "for the kind 'weight' of two kinds of maps", check_kinds)


def of_words(fails: Any) -> Any:
    """A method of results that does something else with the number of words."""

    def results(self, options, counted, needed, lookups):
        tables = Good.results(self, options, counted, needed, lookups)
        return fails(tables, counted)

    return results


def test_an_error_that_users_cannot_read():
    def fails(tables, counted):
        return tables if 1 // (len(counted.facts.relations) - 1) < 9 else {}

    refused(
        changed(results=of_words(fails)),
        "fails on a corpus of one word with ZeroDivisionError.*CorpusError",
        check_unusual,
    )


def test_a_corpus_may_be_refused():
    def plan(self, options, setting):
        if len(setting.corpus.relations) < 3:
            raise CorpusError("the corpus has too few relations")
        return Good.plan(self, options, setting)

    with mock.patch.object(analyses, "CHECKS", (check_unusual,)):
        check_analysis(changed(plan=plan))


def test_an_ordinary_corpus_may_not_be_refused():
    def plan(self, options, setting):
        raise CorpusError("not this one")

    refused(changed(plan=plan), "refuses to work on an ordinary corpus: CorpusError: not this one")


def test_columns_that_depend_on_the_corpus():
    def fails(tables, counted):
        return {"good": tables["good"].assign(**dict.fromkeys(counted.facts.relations, 1))}

    refused(
        changed(results=of_words(fails)), "table 'good' has other columns on a corpus of one sentence", check_unusual
    )


def test_infinite_values():
    def fails(tables, counted):
        return {**tables, "good": tables["good"].assign(mean=math.inf)}

    refused(changed(results=of_words(fails)), "column 'mean' of the table 'good' has infinite values")


def test_columns_that_are_not_declared():
    schema = Schema("good", "", (TableColumn("layer mean", "number", ""),))
    refused(Good, "schema of the table 'good' lacks head", schemas=[schema])


def test_a_model_that_breaks_it():
    def fails(tables, counted):
        return {**tables, "good": tables["good"].assign(second=tables["good"]["mean"][1])}

    refused(changed(results=of_words(fails)), "fails for a model with one head with KeyError", check_models)


def names_written(write: Any) -> type[Good]:
    """The good analysis, which does something to the relations in its table."""

    def fails(tables, counted):
        relations = tables["good_relations"]
        return {**tables, "good_relations": relations.assign(relation=list(map(write, relations["relation"])))}

    return changed(results=of_words(fails))


def test_names_in_a_format_string():
    refused(
        names_written(lambda name: name.format()),
        "fails on a corpus whose names have braces.* with (Key|Value|Index)Error",
        check_names,
    )


@pytest.mark.parametrize("write", [lambda name: name.replace("{{", "{"), lambda name: name.strip("\x01")])
def test_names_that_are_changed(write):
    refused(names_written(write), "table 'good_relations' .*if relations have names with braces", check_names)


def test_names_in_markup():
    Good.template.write_text(TEMPLATE.replace("{{ name }}", "{{ name | safe }}"), encoding="utf-8")
    refused(Good, "report.html is not well-formed", check_names)


def test_names_in_a_template():
    def section(self, results, titles):
        section = Good.section(self, results, titles)
        self.template.write_text("".join(section.context["names"]), encoding="utf-8")
        return section

    refused(
        changed(section=section), "fails on a corpus whose names have braces.* with TemplateSyntaxError", check_names
    )


@pytest.mark.parametrize(
    ("write", "message"),
    [(str, r"show\(\) returns cannot be printed: .*\[/\]"), (Text, "prints the control character")],
)
def test_names_in_a_terminal(write, message):
    def show(self, results, width):
        return write(results["good_relations"].to_string())

    refused(changed(show=show), message, check_names)


def test_facts_that_cannot_be_stored():
    def plan(self, options, setting):
        plan = Good.plan(self, options, setting)
        return Plan(plan.requests, replace(plan.facts, relations={"dep": {1, 2}}))

    def results(self, options, counted, needed, lookups):
        return Good.results(self, options, replace(counted, facts=Facts(counted.facts.request, {})), needed, lookups)

    refused(
        changed(plan=plan, results=results),
        "the facts of the analysis good cannot be stored: set is no plain data",
        check_merging,
    )


def test_results_that_need_more_than_what_is_stored():
    def plan(self, options, setting):
        self.corpora = [*getattr(self, "corpora", []), setting.corpus]
        return Good.plan(self, options, setting)

    def results(self, options, counted, needed, lookups):
        tables = Good.results(self, options, counted, needed, lookups)
        words = len(self.corpora.pop()) if self.corpora else 0
        return {**tables, "good": tables["good"].assign(words=words)}

    refused(changed(plan=plan, results=results), "if the report is made again", check_names)


class NoName(Good):
    name = "a name"


def test_classes_that_are_no_analyses():
    for kind, message in ((int, "not a subclass"), (NoName, "a name consists of"), (Analysis, "lacks the methods")):
        with pytest.raises(RegistryError, match=message):
            check_analysis(kind)  # type: ignore[arg-type]
    with pytest.raises(RegistryError, match="'probe' is none of analyze"):
        check_analysis(Probing)
    with pytest.raises(RegistryError, match="two analyses are called 'surface'"):
        check_analysis(changed(name="surface"))


def test_messages_are_sentences():
    with pytest.raises(AssertionError) as failed:
        check_analysis(changed(results=of_words(lambda tables, counted: 1 / 0)))
    assert re.fullmatch(
        r"It fails on an ordinary corpus with ZeroDivisionError: .*\. Let it work, or .*", str(failed.value)
    )

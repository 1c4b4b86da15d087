"""The sentences around tables and figures have the numbers of the results, and are there only if they are true."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attentionology.analyses.ablation.heads import heads_table
from attentionology.analyses.ablation.relations import conclusion, relations_table
from attentionology.analyses.clusters.layers import neighbors_table
from attentionology.analyses.coreference.best_heads import best_table as best_of_mentions
from attentionology.analyses.coreference.ensembles import ENSEMBLES as ENSEMBLES_OF_MENTIONS
from attentionology.analyses.dependency.best_heads import best_table
from attentionology.analyses.dependency.ensembles import ENSEMBLES
from attentionology.analyses.dependency.rows import DependencyResults
from attentionology.analyses.dependency.rules import RULES, Rules
from attentionology.analyses.dependency.spanning import TREES, TREES_BEST, SpanningTrees
from attentionology.analyses.norms.block import _relations as table_of_relations
from attentionology.analyses.surface.shares import layers_table, sinks
from attentionology.reports.page import Section, write_report
from tests.ablation import ablation_section
from tests.clusters import clusters_section
from tests.clusters import with_answers as answered_clusters
from tests.coreference import coreference_section, with_changes
from tests.dependency import against_tags, dependency_section, made_results, with_answers
from tests.maps import counted_words
from tests.norms import changed_results as changed_norms
from tests.norms import norms_section
from tests.shown_tables import on_page, percent
from tests.surface import changed_results, explored_surface, surface_section
from tests.unit.coreference.test_shown_coreference import MIN_COUNT
from tests.unit.coreference.test_shown_coreference import results as mentions  # noqa: F401  # a fixture
from tests.unit.test_norm_reports import results as norms  # noqa: F401  # a fixture
from tests.unit.test_reports import RUN
from tests.unit.test_sections import rendered
from tests.unit.test_shown_ablation import results as ablation_results
from tests.unit.test_surface_reports import OPTIONS
from tests.unit.test_surface_reports import results as surface_results


def said(analysis: str, section: Section) -> str:
    """The text of a section, with the names of tables and figures in their places."""
    templates = None if isinstance(section.template, str | Path) else section.template
    return rendered(analysis, {"run": {"options": OPTIONS}, **section.context}, templates)[1]


@pytest.fixture(scope="module")
def words() -> DependencyResults:
    tables = counted_words().compute()
    return made_results(tables.cells, tables.best, (tables.best,) * 3, 23, ("map “weight”", "fact b"))


def test_dependency(words: DependencyResults) -> None:
    text = said("dependency", dependency_section(words))
    assert text.startswith("The best head for every relation map “weight” · fact b [dependency_best]")
    assert "Gray rows have fewer than 23 words. root is not shown" in text
    row = next(row for row in words.best.to_dict("records") if row["relation"] in ("det", "nsubj", "nsubj:pass", "obj"))
    assert row["total"] >= 23
    side = "right" if row["offset"] > 0 else "left"
    places = "1 place" if abs(row["offset"]) == 1 else f"{abs(row['offset'])} places"
    assert (
        f"For example: {row['total']} words are {row['relation']} of another word. Attention head "
        f"{row['layer']}-{row['head']} finds that other word for {row['correct']} of them "
        f"({percent(row['accuracy'])} %). Always guessing the word {places} to the {side} finds it for "
        f"{row['offset_correct']} ({percent(row['offset_accuracy'])} %)."
    ) in text
    many = words.best.assign(total=9999, correct=8888, offset_correct=7777)
    text = said("dependency", dependency_section(replace(words, best=many)))
    assert "For example: 9,999 words are" in text
    assert "finds that other word for 8,888 of them" in text
    assert "finds it for 7,777 (" in text


def of_trees(sentences: int, left_out: int) -> SpanningTrees:
    heads, best = (pd.DataFrame(columns=schema.names) for schema in (TREES, TREES_BEST))
    return SpanningTrees(heads, best, sentences, left_out)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rules": Rules(pd.DataFrame(columns=RULES.names), pd.DataFrame())}, "Heads against parts of speech"),
        ({"ensembles": pd.DataFrame(columns=ENSEMBLES.names)}, "Ensembles of heads"),
        (
            {"spanning_trees": of_trees(1500, 3)},
            "1,500 of the first sentences are scored; 3 are left out, because they do not have one root",
        ),
        (
            {"spanning_trees": of_trees(1, 1)},
            "1 of the first sentences is scored; 1 is left out, because it does not have one root",
        ),
        ({"trees": "enhanced"}, "Heads that are the root or an empty node are left out"),
    ],
)
def test_parts_of_dependency_are_there_if_they_were_asked_for(
    words: DependencyResults, changes: dict[str, Any], sentence: str
) -> None:
    other = replace(words, **changes) if "trees" in changes else with_answers(words, **changes)
    without, changed = (said("dependency", dependency_section(each)) for each in (words, other))
    assert sentence not in without
    assert sentence in changed
    headings = ("Heads against parts of speech", "Ensembles of heads", "Trees from heads", "an empty node are left out")
    assert sum(heading in changed for heading in headings) == 1


def test_notes_and_legend_of_dependency(words: DependencyResults) -> None:
    table = best_table(words)
    assert table.rare == "fewer than 23 words, too few for reliable conclusions"
    assert table.notes == ("Map “weight”.", "Fact b.")
    causal = best_table(replace(words, cells=words.cells.assign(reach=0.25)))
    assert causal.notes[:2] == table.notes
    assert causal.notes[2].startswith("Causal model, in which words see only the words before; all words whose head")
    with_control = replace(words, best=words.best.assign(control_accuracy=0.5))
    assert "as the mean over the copies (3)." in best_table(with_control).legend
    assert ", with a 95 % bootstrap interval over sentences" in table.legend
    assert "bootstrap" not in best_table(replace(words, best=words.best.assign(accuracy_low=float("nan")))).legend
    of_all = words.best["accuracy_low"].where(words.best["relation"] == "all")  # other rows have no interval
    assert "bootstrap interval" in best_table(replace(words, best=words.best.assign(accuracy_low=of_all))).legend
    assert "<b>both</b>" not in table.legend
    three = pd.concat([words.cells, words.cells[words.cells["direction"] == "dep->head"].assign(direction="both")])
    legend = best_table(replace(words, cells=three)).legend
    assert "<b>both</b>: the word for which the sum of the two values is largest." in legend
    assert "the best of 18 on these same words" in legend
    deep = best_table(replace(words, cells=words.cells.assign(layer=200))).legend
    assert "the best of 1,200 on these same words" in deep
    assert [against_tags(words).style(row) for row in table.rows] == [table.style(row) for row in table.rows]


def test_coreference(mentions) -> None:  # noqa: F811  # the fixture
    account = {"anaphors": 1099, "scored": 1077, "no answer": 3, "documents": 8, "forced": 4}
    results = with_changes(mentions, account=account, notes=("Note a.", "Note b."), map_facts=("fact a", "fact b"))
    section = coreference_section(results)
    text, largest = said("coreference", section), section.context["largest"]
    assert text.startswith(
        "The best head for every type of mention fact a · fact b 1,077 of the 1,099 mentions that have an antecedent "
        "are scored. Note a. Note b. Candidates are head words of the preceding mentions. Entities that are mentioned "
        "only once are not among them. [coreference_best] 1,077 mentions in 8 documents. Gray rows have fewer than "
        f"{MIN_COUNT} mentions. [figure coreference_best]"
    )
    assert "The largest of 12 differences would be large even by chance." in text  # 2 layers, 3 heads, 2 directions
    many = {
        **section.context,
        "choices": 1234,
        "largest": [{**each, "choices": 4321, "has_intervals": True} for each in largest],
    }
    in_many = said("coreference", replace(section, context=many))
    assert "The largest of 1,234 differences would be large even by chance." in in_many
    assert "of 4,321 heads and directions" in in_many
    assert "1,099 mentions have an antecedent in the corpus, of which 1,077 could be scored. 4 of the scored" in text
    assert text.endswith("given with candidates of which none is right: 3")
    deep = results.tables._replace(cells=results.tables.cells.assign(layer=200))
    assert "the best of 1,200 on these same mentions" in best_of_mentions(with_changes(results, tables=deep)).legend
    copies = best_of_mentions(with_changes(results, control=results.control * 2)).legend
    assert "as the mean over the copies (2)." in copies
    assert "<dd>The accuracy of a guess that always picks the nearest candidate. The candidates" in copies
    contrasts = results.contrasts.best.set_index("candidates")
    for policy in ("preceding", "mentions", "words"):
        notes = best_of_mentions(with_changes(results, candidates=policy)).notes
        row = contrasts.loc[policy]
        (difference,) = (note for note in notes if ": difference " in note)
        assert f": difference {percent(row['difference'], '+')} " in difference
        assert difference.endswith(f"(head {row['layer']}-{row['head']})")
    kept = said("coreference", coreference_section(with_changes(results, singletons="keep", candidates="mentions")))
    assert (
        "Candidates are head words of all other mentions. Entities that are mentioned only once are candidates, too."
        in kept
    )
    assert "choose among head words of the preceding mentions, which is easier" in kept
    assert "only once" not in said("coreference", coreference_section(with_changes(results, asked=True)))
    paper = {"head 5-4": {"all": 65, "pronoun": 64, "proper": 73, "nominal": 58}}
    ensembles = pd.DataFrame(columns=ENSEMBLES_OF_MENTIONS.names)
    for changes, heading in (({"published": paper}, "The paper’s numbers"), ({"ensembles": ensembles}, "Ensembles of")):
        assert heading in said("coreference", coreference_section(with_changes(results, **changes)))
        assert heading not in text


def test_surface() -> None:
    found, _ = surface_results("bert")
    assert found.gradients is not None
    layers = found.tables.layers.assign(
        sink=["last_special", "last_special", "first_special"], sink_share=[0.25, 0.5, 0.75]
    )
    results = changed_results(
        found, tables=found.tables._replace(layers=layers), gradients=found.gradients.assign(loss=0.25)
    )
    text = said("surface", surface_section(results))
    assert text.startswith("mind the <gap> Where attention goes [surface_layers]")
    most = "The special token that gets the most attention is [SEP] in layers 1–2 (25.0 to 50.0 %), <cls> in layers 3"
    assert f"{most} (75.0 %)." in text
    assert [part["name"] for part in sinks(layers, results.specials)] == ["[SEP]", "<cls>"]
    assert f"over heads and {found.gradients['inputs'].max()} inputs (the mean loss is 0.250)." in text
    assert layers_table(results).notes[-2:] == ("mind the <gap>", "The gradients are in the report.")
    assert layers_table(changed_results(results, gradients=None)).notes[-1] == "mind the <gap>"


def test_gradients_are_those_of_the_tokens_of_the_model() -> None:
    found, _ = surface_results("bert")
    assert found.gradients is not None
    inputs = {name: number for number, name in enumerate(dict.fromkeys(found.gradients["class"]), start=3)}
    gradients = found.gradients.assign(inputs=found.gradients["class"].map(inputs), weights=99)
    measures = explored_surface(changed_results(found, gradients=gradients), "weight").measures
    shown = {each.id: (each.label, each.n) for each in measures if each.id.startswith("surface/gradient/")}
    names = {"[CLS]": "<cls>"}
    assert shown == {
        f"surface/gradient/{name}": (f"gradient of attention to {names.get(name, name)}", number)
        for name, number in inputs.items()
    }
    assert len(shown) > 2
    section = surface_section(found)
    (table,) = (each for each in section.shown if each.name == "surface_gradients")
    assert {"|∂L/∂α| <cls>", "α <cls> %"} < {*on_page(table)[0]}
    assert "<cls>" in [line.get_label() for line in section.figures["surface_gradients"].axes[0].get_lines()]


def test_norms(norms) -> None:  # noqa: F811  # the fixture
    changed = norms.feed_forward.change.assign(sentences=1234)
    points = pd.concat([norms.frequency.points[:1]] * 1111)
    text = said("norms", norms_section(changed_norms(norms, change=changed, points=points)))
    assert text.startswith("mind the <gap> Where attention goes, by weight and by norm [norms_classes]")
    assert "The figure shows 1,111 tokens of a few sentences" in text
    assert f"The ratios are over all layers and {norms.mixing['tokens'].max()} tokens." in text
    assert "as the mean over 1,234 sentences." in text


def test_the_ten_most_frequent_relations_of_amplified_pairs() -> None:
    """Of relations that are amplified alike, the first by name comes first."""
    amplified = {**{f"r{number}": number for number in range(1, 13)}, "a": 7, "never": 0, "": 99}
    rows = [
        {"layer": layer, "type": "type", "relation": name, "amplified": count, "pairs": 10}
        for layer in (1, 2)
        for name, count in amplified.items()
    ]
    shown = on_page(table_of_relations(pd.DataFrame(rows)))
    assert [row["relation"] for row in shown] == ["r12", "r11", "r10", "r9", "r8", "a", "r7", "r6", "r5", "r4"]
    total = 2 * sum(amplified.values())
    for row in shown:
        count = 2 * amplified[row["relation"]]
        assert (row["amplified"], row["of amplified %"]) == (str(count), percent(count / total))
        assert (row["pairs"], row["of all pairs %"]) == ("20", percent(1 / len(amplified)))


def test_clusters() -> None:
    _, found = surface_results("bert")
    results = answered_clusters(
        found,
        distances=found.distances._replace(rows=1234),
        layers=found.layers.assign(within=[float("nan"), 0.1234], across=[float("nan"), 0.4321]),
        clusters=found.clusters._replace(stress=0.125, silhouette=0.25),
    )
    count = results.clusters.embedding["cluster"].nunique()
    text = said("clusters", clusters_section(results))
    assert text.startswith("mind it [figure head_distances] Distances are Jensen-Shannon divergences")
    assert "as means over 1,234 rows: 0 if they attend in the same way" in text
    assert "The mean distance is 0.123 nats within layers and 0.432 nats across layers." in text
    assert f"is cut into {count} clusters. Their mean silhouette is 0.25:" in text
    table = neighbors_table(results)
    assert table.title == "Which heads attend alike (Jensen-Shannon divergence, 1,234 rows)"
    assert table.notes == (
        f"Stress of the map in two dimensions: 0.12. Number of clusters: {count}, mean silhouette 0.25.",
        "mind it",
    )


def test_ablation() -> None:
    results = ablation_results()
    text = said("ablation", ablation_section(results))
    assert text.startswith("a note The heads that matter most")
    assert f"Does the head that finds a relation matter for its words? {conclusion(results)}" in text
    assert "on 9 words or masked pieces. The band" in text
    assert relations_table(results).notes == ("a note",)
    assert heads_table(results).notes == ("a note",)


def test_the_page_of_one_sentence_says_one_sentence(tmp_path):
    changed: Any = copy.deepcopy(RUN)
    changed["corpus"]["files"][0] |= {"sentences": 1, "words": 1}
    changed["corpus"]["counts"]["sentences"] = 1
    changed["sentences"] |= {"read": 1, "skipped": []}
    write_report(tmp_path, run=changed, sections=[])
    page = " ".join((tmp_path / "report.html").read_text().split())
    assert '<p class="facts">1 sentence of a.conllu ·' in page
    assert "<p>1 of 1 sentence was read. None was skipped.</p>" in page
    assert "x/a.conllu: 1 sentence, 1 word " in page

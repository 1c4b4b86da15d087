"""The templates of sections: each value, table and figure stands where it belongs, and each condition decides."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import attentionology.analyses
from attentionology.analyses.ablation.analysis import Ablation
from attentionology.analyses.alignment.analysis import Alignment
from attentionology.analyses.clusters.analysis import Clusters
from attentionology.analyses.coreference.analysis import Coreference
from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.norms.analysis import Norms
from attentionology.analyses.pairs.analysis import MinimalPairs
from attentionology.analyses.probing.analysis import Probing
from attentionology.analyses.questions import Question
from attentionology.analyses.surface.analysis import Surface
from attentionology.analyses.survey.results import QUESTIONS as SURVEY
from attentionology.reports.page import template_environment
from tests.sections import COMPARISON, COREFERENCE, EXPLANATION, NAN, SHOWN, SURFACE

ROOM = Path(attentionology.analyses.__path__[0])


class Table(str):
    """What stands for a table."""

    @property
    def legend(self):
        return f"[legend of {self[1:]}"

    @property
    def rows(self):
        return [self]

    @property
    def notes(self):
        return [f"[note on {self[1:]}"]

    def by(self, column):
        return {name: Table(f"[{self[1:-1]} of {name}]") for name in ("obj", "nsubj")}


class Names(dict[str, Any]):
    """Tables, which all exist but those that are left out."""

    def __init__(self, *left_out: str):
        super().__init__()
        self.left_out = left_out

    def __getitem__(self, name):
        if name in self.left_out:
            raise KeyError(name)
        return Table(f"[{name}]")


class Figures(Names):
    """Figures, which all exist but those that are left out."""

    def __getitem__(self, name):
        return f"[figure {super().__getitem__(name)[1:]}"

    def __contains__(self, name):
        return name not in self.left_out


def plain(page: str) -> str:
    """Return the text of a page with single spaces, without styles and scripts."""
    text = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    text = re.sub(r"</?(b|i|code|span|a)\b[^>]*>", "", text)
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", text)).split())


QUESTIONS: dict[str, Sequence[Question[Any, Any, Any, Any]]] = {
    **{
        analysis.name: analysis.questions
        for analysis in (Ablation, Alignment, Clusters, Coreference, Dependency, Norms, MinimalPairs, Surface)
    },
    "probing": Probing.questions,
    "survey": SURVEY,
}
OF_QUESTIONS = {name: [each.template for each in questions if each.template] for name, questions in QUESTIONS.items()}
"""The templates of analyses of several questions."""


def rendered(analysis: str, context: dict[str, Any], templates: Sequence[str | Path] | None = None) -> tuple[str, str]:
    """Return the HTML of a section, and its text, both with single spaces."""
    given = {"suffix": "", "shown": Names(), "svgs": Figures(), "notes": ["First.", "Second."], **context}
    paths = templates or OF_QUESTIONS.get(analysis) or list((ROOM / analysis).rglob("section.html.j2"))
    sources = [Path(path).read_text(encoding="utf-8") for path in paths]
    page = "\n".join(template_environment().from_string(source).render(given) for source in sources)
    return " ".join(page.split()), plain(page)


def among(fragment: str, page: str, text: str) -> bool:
    """Return whether a fragment is shown: of the HTML if it begins with a tag."""
    return fragment in (page if fragment.startswith("<") else text)


def part(**changes: Any) -> dict[str, Any]:
    """Return what changes a part of a comparison."""
    return {"parts": [{**COMPARISON["parts"][0], **changes}]}


def example(analysis: dict[str, Any], name: str, **changes: Any) -> dict[str, Any]:
    """Return what changes an example, or the first one of a list."""
    value = analysis[name]
    return {name: [{**value[0], **changes}, *value[1:]] if isinstance(value, list) else {**value, **changes}}


# What else the section says if its context is changed: what goes, and what comes.
CHANGED: list[tuple[str, dict[str, Any], tuple[str, ...], tuple[str, ...]]] = [
    ("coreference", {"asked": ["he"]}, ("Entities that are mentioned only once",), ()),
    ("coreference", {"singletons": "drop"}, (), ("only once are not among them.",)),
    (
        "coreference",
        {"scored": []},
        ("[coreference_best]", "Other candidates", "Every head", "[coreference_contrasts]", "heads fail"),
        ("No mention could be scored", "of which 1,200 could be scored"),
    ),
    ("coreference", {"account": {**COREFERENCE["account"], "documents": 1}}, (), ("mentions in 1 document. Gray",)),
    (
        "coreference",
        {"account": {**COREFERENCE["account"], "forced": 1}},
        (),
        ("1 of the scored mentions has no wrong",),
    ),
    ("coreference", {"account": {**COREFERENCE["account"], "forced": 0}}, ("scored mentions ha",), ()),
    (
        "coreference",
        {"policy": "preceding"},
        ("which is easier",),
        ("Candidates are EARLIER.", "among EARLIER. Whatever is chosen"),
    ),
    ("coreference", {"published": []}, ("[coreference_published]", "Table 2"), ("[figure coreference_best]",)),
    ("coreference", {"contrasts": []}, ("[coreference_contrasts]",), ("[coreference_largest_contrasts_1]",)),
    ("coreference", {"largest": []}, ("largest of", "[figure coreference_contrasts]"), ("[coreference_contrasts]",)),
    (
        "coreference",
        example(COREFERENCE, "largest", has_intervals=False),
        ("above 0 in",),
        ("minus he (n = 1,400). [coreference_largest_contrasts_1]",),
    ),
    ("coreference", {"reasons": []}, ("no answer",), ()),
    ("coreference", {"mistakes": COREFERENCE["mistakes"][:1]}, ("1-2",), ('<a href="#of-all">all, head 3-4</a>.',)),
    (
        "dependency",
        {"gold": "enhanced"},
        ("root is not shown",),
        (
            "Heads that are the root or an empty node are left out",
            "have several heads.",
            "if any of its heads is found",
        ),
    ),
    ("dependency", {"example": None}, ("For example",), ()),
    (
        "dependency",
        {"example": {**SHOWN["dependency"][0]["example"], "offset": 1}},
        (),
        ("the word 1 place to the right finds",),
    ),
    (
        "dependency",
        {"example": {**SHOWN["dependency"][0]["example"], "offset": -1}},
        (),
        ("1 place to the left finds",),
    ),
    (
        "dependency",
        {"spanning_trees": {"sentences": 1500, "left_out": 0}},
        ("are left out, because they",),
        ("sentences are scored. tables/dependency_trees.csv", '<a href="#of-obj">obj, head 3-4</a>.'),
    ),
    ("explanation", {"facts": []}, ("fact a",), ()),
    (
        "explanation",
        {"verdicts": 0},
        ("[explain_verdicts]", "How to read the verdicts", "uniform attention does"),
        ("There is no verdict", "[explain_left_out]"),
    ),
    ("explanation", {"gate": "undecided"}, ("does better here",), ("do not show that this task needs attention",)),
    ("explanation", {"gate": "passes"}, ("does better here", "needs attention:", "3.2"), ()),
    ("explanation", {"not_run": []}, ("Tests left out",), ()),
    ("explanation", {"models": []}, ("[explain_models]", "1,500 tested"), ()),
    ("explanation", {"has_f1": False}, ("F1 is",), ("under the ROC curve, mean of each class against all others.",)),
    ("explanation", {"has_auc": False}, ("AUC",), ("F1 is",)),
    (
        "explanation",
        {"by_class": False},
        (),
        (
            "too many classes to split",
            '<span title="attention: -0.500" style="background: rgba(213, 94, 0, 0.55)">one</span>',
            '<span title="attention: 0.250" style="background: rgba(0, 114, 178, 0.28)">two</span>',
        ),
    ),
    ("explanation", example(EXPLANATION, "parts", by_class=""), ("By predicted class",), ("[whole] [rest]",)),
    ("explanation", {"svgs": Figures("explain_a")}, ("CAPTION",), ("[figure explain_training]",)),
    ("explanation", {"svgs": Figures("explain_training")}, ("Training",), ("CAPTION",)),
    ("explanation", {"examples": []}, ("A text", "Point at"), ()),
    (
        "explanation",
        {"examples": EXPLANATION["examples"] * 3},
        ("A text",),
        ("One text The colors", "More texts label: good · predicted"),
    ),
    ("explanation", example(EXPLANATION, "examples", query=""), ("Query",), ('<p class="words" dir="rtl">',)),
    ("explanation", example(EXPLANATION, "examples", is_right_to_left=False), (), ('<p class="words"><span',)),
    (
        "norms",
        {"changed_sentences": 0, "has_changes": False},
        ("FF and FFB", "[norms_change]", "[norms_amplified]", "[figure norms_change]"),
        ("attnresln-n and atbffresln-n are mixing ratios. They", "[norms_frequency]"),
    ),
    ("norms", {"svgs": Figures("norms_grid")}, ("[figure norms_grid]",), ("against norm [norms_correlation]",)),
    ("norms", {"svgs": Figures("norms_pairs")}, ("[figure norms_pairs]",), ("it amplifies [norms_pairs]",)),
    ("norms", {"svgs": Figures("norms_block")}, ("[figure norms_block]",), ("shrinks [norms_overwriting]",)),
    (
        "probing",
        {"has_control": False},
        ("Orange mark", "control task, selectivity"),
        ("n = 1,500 words. The numbers",),
    ),
    ("probing", {"has_published": False}, ("The numbers of the paper",), ("Orange mark: control task. First.",)),
    ("probing", {"layer_contrasts": 0}, ("[probe_state_contrasts]", "between layers"), ("[probe_states]",)),
    ("probing", {"uncoded": []}, ("and have no code", "predict no"), ("natural logarithms to them.",)),
    ("probing", {"uncoded": ["depth"]}, ("distance and",), ("depth predicts no probabilities and has no code.",)),
    ("probing", {"edge_scores": ["uas"]}, ("[probe_edges]", "13 edges"), ("[probe_directions]",)),
    ("probing", {"tree_decoding": "argmax"}, ("the best tree)",), ("the best candidate of each word)",)),
    ("probing", {"has_folds": False}, ("the other folds",), ("The probes were trained on other sentences.",)),
    ("probing", {"contrasts": []}, ("What each adds", "[probe_contrasts]"), ("How to read it",)),
    (
        "probing",
        {"has_intervals": False},
        ("bootstrap interval",),
        ("On the same words.", "3 training runs. attention"),
    ),
    ("probing", {"tree": False}, ("as a tree",), ("for each word separately. Mean over",)),
    ("probing", {"runs": 1}, (), ("Mean over 1 training run;",)),
    (
        "probing",
        {"svgs": Figures("probe_training")},
        ("[figure probe_training]", "One line per"),
        ("[probe_weights_1]",),
    ),
    (
        "probing",
        {"run": {"probes": {"splits": [1]}}},
        ("of the first fold", "offset .", "145 heads", "146 heads"),
        ("One line per run. UAS", "<details><summary>The most", "<details open><summary>The most"),
    ),
    ("surface", {"sink": []}, ("that gets the most attention",), ("tables/surface.csv. Every input",)),
    ("surface", {"svgs": Figures("surface_special")}, ("Figure 2",), ("[figure surface_offsets]",)),
    (
        "surface",
        {"detectors": {"causal": True}},
        ("mask-copy", "never induction"),
        ("duplicate or induction if", "model predict that piece is not measured"),
    ),
    (
        "surface",
        {"sink": SURFACE["sink"][:1]},
        ("[CLS]",),
        ("[SEP] in layers 1–2 (50.0 to 75.0 %). Every",),
    ),
    ("survey", {"has_failures": False}, ("What failed",), ("[survey_fit]",)),
    ("survey", {"has_fit": False}, ("[survey_fit]",), ("[survey_failures]",)),
    ("survey", {"has_reports": False}, ("An entry leads",), ("With --reports, entries lead",)),
    ("survey", {"left_out_heads": []}, ("enhanced", "m1"), ("not tested. obj",)),
    (
        "survey",
        {"matrices": [{**SHOWN["survey"][0]["matrices"][0], "differences": ""}]},
        ("[differences]",),
        ("[accuracies] 2 rarer",),
    ),
    ("survey", {"left_out": []}, ("rarer relations",), ()),
    ("survey", {"svgs": Figures("survey_accuracy")}, ("Held-out accuracies of",), ("[figure survey_differences]",)),
    ("survey", {"svgs": Figures("survey_transfer")}, ("Losses of heads",), ("[figure survey_accuracy]",)),
    ("survey", {"svgs": Figures("survey_seeds")}, ("best head of each seed (circles)",), ("[survey_seeds] Each",)),
    ("survey", {"has_contrasts": False}, ("[survey_significant]",), ("Transfer between",)),
    ("survey", {"has_means": False}, ("survey_means", "Every treebank has"), ("tables/survey_contrasts.csv.",)),
    ("survey", {"only_in_one": {}}, ("only one of two", "pair 1"), ()),
    (
        "survey",
        {"shown": Names("survey_treebank_differences")},
        ("Relations that differ clearly", "[note on survey_treebank_differences]"),
        ("[survey_treebank_pairs]",),
    ),
    ("survey", {"untested_pairs": 1}, ("In 13 comparisons",), ("In 1 comparison, no relation could be tested",)),
    ("survey", {"untested_pairs": 0}, ("no relation could be tested",), ()),
    ("survey", {"curves_left_out": []}, ("so are the curves", "pair 13"), ("tables/survey_training.csv.",)),
    (
        "alignment",
        {"method": "similarity"},
        ("(AWI)", "norms of the vectors", "reads both sentences"),
        ("Values are cosines of word vectors.",),
    ),
    ("alignment", {"method": "encoder"}, ("(AWI)",), ("reads both sentences", "norms of the vectors")),
    (
        "alignment",
        {"has_gold": False},
        ("0 for a perfect", "Squares are"),
        ("Links are written for layer 5 (AWO, norm), REASON.",),
    ),
    ("alignment", {"both": False}, ("(forward)",), ()),
    ("alignment", {"correlations": []}, ("[alignment_correlations]", "fewer than 4"), ("[alignment_baselines]",)),
    ("ablation", {"has_relations": False}, ("CONCLUSION", "[ablation_relations]"), ("[ablation_heads]",)),
    ("clusters", {"has_relations": False}, ("Words name",), ()),
    ("clusters", {"neighbors": {}}, ("[head_neighbors]", "nats within"), ("[head_clusters]",)),
    ("clusters", {"clusters": 1}, (), ("into 1 cluster. Their",)),
    ("clusters", {"silhouette": NAN}, ("silhouette",), ("into 4 clusters.",)),
    ("comparison", part(short="LONG"), ("title=",), ("<summary>LONG</summary>",)),
    ("comparison", part(above=4), (), ('<summary title="LONG">SHORT</summary>', "5 differ significantly")),
    ("comparison", part(figure=""), ("Each dot",), ("Drawn together",)),
    ("comparison", {"together": {}}, ("Drawn together",), ("[figure drawn]",)),
]


@pytest.mark.parametrize("analysis", SHOWN)
def test_everything_is_shown_in_its_place(analysis):
    context, fragments = SHOWN[analysis]
    page, text = rendered(analysis, context)
    at = 0
    for fragment in fragments:
        if fragment.startswith("<") or fragment not in text:
            assert fragment in page
        else:
            assert fragment in text[at:]
            at = text.index(fragment, at)


def test_all_sections_with_a_template_are_tried():
    found = {path.relative_to(ROOM).parts[0] for path in ROOM.rglob("section.html.j2")}
    assert found | {*OF_QUESTIONS} == set(SHOWN)


@pytest.mark.parametrize(("analysis", "changes", "gone", "come"), CHANGED)
def test_conditions_decide_what_is_shown(analysis, changes, gone, come):
    before = rendered(analysis, SHOWN[analysis][0])
    after = rendered(analysis, {**SHOWN[analysis][0], **changes})
    assert before != after
    assert [fragment for fragment in gone if among(fragment, *after)] == []
    assert [fragment for fragment in come if not among(fragment, *after)] == []


RUN: dict[str, Any] = {
    "command": "attentionology X",
    "started": "2020-01-01",
    "seconds": {"read": 1.25, "count": 2.5},
    "warnings": ["WARNED."],
    "versions": {"attentionology": "VERSION"},
}
FILES = [{"name": "f1", "sha256": "abc"}, {"name": "f2", "sha256": "def"}]
FILES_OF_PAGE: dict[str, Any] = {"page_styles": "", "styles": "", "script": ""}
COMPARED: dict[str, Any] = {
    "runs": [
        {
            "name": "A",
            "model": "m1",
            "revision": "0123456789abcdef",
            "corpus": "c1",
            "folder": "FOLDER",
            "weights_sha256": "w1",
            "files": FILES,
            "command": "attentionology A",
        },
        {
            "name": "B",
            "model": "m2",
            "revision": "",
            "corpus": "c2",
            "folder": "",
            "weights_sha256": "w2",
            "files": [],
            "command": "attentionology B",
        },
    ]
}
SURVEYED: dict[str, Any] = {
    "survey": {
        "models": [
            {"name": "m1", "revision": "", "weights_sha256": ""},
            {"name": "m2", "revision": "r2", "weights_sha256": "w2"},
        ],
        "treebanks": [{"name": "t1", "path": "p1", "files": FILES}, {"name": "t2", "path": "p2", "files": []}],
    }
}


@pytest.mark.parametrize(
    ("template", "about", "facts", "provenance"),
    [
        (
            "comparison.html.j2",
            COMPARED,
            "A: m1 @ 0123456789ab on c1 · B: m2 on c2",
            "A FOLDER all weights: sha256 w1 f1: sha256 abc f2: sha256 def attentionology A "
            "B all weights: sha256 w2 attentionology B",
        ),
        (
            "survey.html.j2",
            SURVEYED,
            "m1, m2 on t1, t2",
            "m1 not loaded m2 revision r2 all weights: sha256 w2 t1 p1 sha256 abc sha256 def t2 p2",
        ),
    ],
)
def test_pages_about_several_runs_say_where_they_come_from(template, about, facts, provenance):
    section: dict[str, Any] = {"id": "part-1", "title": "TITLE", "tab": "TITLE", "map": "", "html": "[body]"}
    section |= {"headings": [{"id": "h", "level": 2, "text": "HEADING"}], "findings": []}
    page = template_environment().get_template(template)
    shown = page.render(
        run={**RUN, **about}, sections=[section], parts=[[section]], explorer=None, record="RECORD", **FILES_OF_PAGE
    )
    text = plain(shown)
    assert text == (
        f"TITLE Skip to the content TITLE Warning: WARNED. {facts} · attentionology VERSION Contents HEADING "
        f"Provenance [body] Provenance {provenance} command attentionology X when 2020-01-01, 3.8 s "
        "The whole run record (run.json) RECORD"
    )


def of_one(value: Any) -> Any:
    """Return a context in which there is one of everything that is counted."""
    if isinstance(value, dict):
        return {name: of_one(each) for name, each in value.items()}
    if isinstance(value, list):
        return [of_one(each) for each in value]
    return 1 if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("analysis", SHOWN)
def test_one_of_a_thing_is_in_the_singular(analysis):
    _, text = rendered(analysis, of_one(SHOWN[analysis][0]))
    things = "words|tokens|mentions|documents|sentences|inputs|heads|layers|relations|groups|texts|entities|places"
    assert not re.findall(rf"(?<![\d,.–-])1 (?:[a-z]+ )?(?:{things})\b.{{30}}", text)

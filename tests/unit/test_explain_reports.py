"""What the tests of attention as an explanation leave on disk, in the page and in the terminal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.explanation.attention.interventions import ORDERS
from attentionology.analyses.explanation.contract.results import ExplainResults, Highlight, HighlightedText
from attentionology.analyses.explanation.contract.summary import OVERALL, Bootstrap, summarize
from attentionology.analyses.explanation.contract.verdict import verdicts
from attentionology.analyses.explanation.methods.correlation import mark_significant
from attentionology.analyses.explanation.methods.erasure import flip_table
from attentionology.analyses.explanation.showing.section import explain_section
from attentionology.engine.explain import Explanation
from attentionology.reports.page import Section, write_report
from tests.outlines import FIGURES as OUTLINES
from tests.unit.test_reports import RUN

BEST = ("attention", "gradient", "attention_gradient")
TESTS: dict[str, tuple[str, ...]] = {
    "uniform": ("correct", "uniform_retrained_correct"),
    "correlation": tuple(
        f"{kind}_{of}" for of in ("gradient", "loo", "gradient_loo", "random") for kind in ("tau", "p")
    ),
    "permutation": ("permutation_tvd", "permutation_mean_tvd", "permutation_jsd", "permutation_flip"),
    "made uniform": ("uniform_tvd", "uniform_flip", "uniform_jsd"),
    "states": ("conicity", "null_space"),
    "adversarial": ("exact_jsd", "ceiling_jsd", "adversarial_jsd", "adversarial_tvd"),
    "seeds": ("seed_jsd", "seed_shuffled_jsd", "seed_tvd", "seed_mean_tvd"),
    "guided": ("guided_base_correct", "guided_uniform_correct"),
    "imitation": ("imitation_jsd", "imitation_same_jsd", "imitation_same_shuffled_jsd", "imitation_tvd"),
    "erasure": tuple(
        f"single_{name}_{part}"
        for name in BEST
        for part in ("top_jsd", "random_jsd", "difference", "top_flip", "random_flip", "weight_difference")
    ),
    "removal": (*(f"removal_{o}{part}" for o in ORDERS for part in ("", "_mass", "_never")), "removal_never",
                "all_zero_tvd"),
    "single token": tuple(
        f"{prefix}{name}"
        for prefix in ("", "alone_")
        for name in ("single_token_std", "top_token_predicted", "top_token_agrees", "random_token_agrees")
    ),
    "eraser": tuple(f"{kind}_{name}" for kind in ("comprehensiveness", "sufficiency") for name in (*BEST, "random")),
}  # fmt: skip
FIGURES = {
    "explain_tau": "correlation",
    "explain_permutation": "permutation",
    "explain_adversarial": "adversarial",
    "explain_adversarial_weight": "adversarial",
    "explain_seeds": "seeds",
    "explain_curve": "imitation",
    "explain_imitation": "imitation",
    "explain_single": "erasure",
    "explain_removal": "removal",
    "explain_regularizers": "regularizers",
    "explain_training": "trained",
}
HEADINGS = {
    "uniform": "Does the task need attention?",
    "correlation": "Does attention rank words as other measures do?",
    "permutation": "Does it matter which word gets which weight?",
    "adversarial": "Does only this attention give this output?",
    "seeds": "Do models with other seeds attend to the same words?",
    "guided": "Is the attention useful to another model?",
    "imitation": "Can a model learn to give the same output and attend elsewhere?",
    "erasure": "Does the decision depend on the most attended word?",
    "removal": "Are the most attended words a short reason for the decision?",
    "single token": "Is one word enough for the decision?",
    "eraser": "Are the most attended words needed, and enough?",
    "states": "How similar are the states that attention weighs?",
    "regularizers": "Does regularization tie attention to the words?",
}
TABLES = ("verdicts", "summary", "texts", "models", "flips", "curve", "regularizers", "training")
EVERYTHING = (*TESTS, "regularizers", "trained")
HOLLOW = ("correlation", "adversarial", "removal")
TWO = ("negative", "positive")


def drawn(name: str, n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Values as a column of this name may have them."""
    if name.endswith(("correct", "flip", "agrees", "never", "predicted")):
        return (rng.random(n) < (0.2 if "flip" in name or "never" in name else 0.8)).astype(float)
    if name.startswith(("tau_", "single_")) and not name.endswith("std"):
        return np.clip(rng.normal({"tau_random": 0.0, "tau_gradient_loo": 0.5}.get(name, 0.2), 0.2, n), -1, 1)
    if name == "ceiling_jsd":
        return rng.uniform(0.66, 0.69, n)
    if name.endswith("_jsd"):
        return rng.beta(2, 2, n) * math.log(2)
    return rng.beta(1, 5, n)


def results(
    n: int = 120, classes: tuple[str, ...] = TWO, ran: Iterable[str] = EVERYTHING, replicates: int = 20,
    undefined: tuple[str, ...] = (), dev: bool = True,
) -> ExplainResults:  # fmt: skip
    """Everything drawn at random; ``undefined``: columns without any value."""
    rng, ran = np.random.default_rng(0), set(ran)
    base = pd.DataFrame(
        {
            "id": [f"t{i}" for i in range(n)],
            "label": rng.choice(classes, n),
            "words": rng.integers(1, 40, n),
            "predicted": rng.integers(0, len(classes), n),
            "probability": rng.uniform(0.5, 1, n),
            "max_attention": rng.beta(1.2, 1.5, n),
            "correct": (rng.random(n) < 0.8).astype(float),
        }
    )
    columns = {name: drawn(name, n, rng) for test in TESTS if test in ran for name in TESTS[test] if name != "correct"}
    texts = base.assign(**columns)
    if n > 10:
        hollow = [name for name in columns if name.startswith(("tau_", "p_"))]
        texts.loc[:3, hollow] = np.nan
        partly = [f"removal_{order}" for order in ORDERS] if "removal" in ran else []
        for name in partly:
            texts.loc[texts[f"{name}_never"] > 0, name] = np.nan
    texts[list(undefined)] = np.nan
    texts = texts.assign(**mark_significant(texts))
    tests = {test: [c for c in TESTS[test] if not c.startswith("p_")] for test in TESTS if test in ran}
    if "correlation" in tests:
        tests["correlation"] += [str(name) for name in texts if str(name).startswith("significant_")]
    bootstrap = Bootstrap([(str(i),) for i in range(n)], replicates)
    models = [("tested", "base"), ("uniform", "uniform"), ("seed_1", "seed"), ("adversary $1$", "adversary")]
    named = models if "trained" in ran else models[:1]
    regularized = [
        {"regularizer": name, "measure": measure, "n": n, "mean": 0.3 + 0.1 * i, "low": 0.25 + 0.1 * i, "high": 0.5}
        for i, name in enumerate(("none", "concat", "tying"))
        for measure in ("accuracy", "permutation_tvd", "exact_jsd", "single_token_std", "tau_loo", "conicity", "<odd>")
        if (name, measure) != ("tying", "conicity")
    ]
    curve = [("adversary", f"a{i}", step, 0.05 + 0.1 * i, 0.01 * i) for i, step in enumerate((0, 1e-4, 1e-3, 1e-2))]
    curve += [("seed", "seed_1", np.nan, 0.2, 0.02), ("per text", "exact", np.nan, 0.6, 0.05)]
    curve += [("per text", "adversarial", np.nan, 0.5, 0.03)]
    return ExplainResults(
        texts=texts,
        summary=summarize(texts, tests, classes, bootstrap),
        verdicts=verdicts(texts, bootstrap),
        models=pd.DataFrame(
            [
                {"model": name, "role": role, "accuracy": 0.8, "low": 0.75, "high": 0.85, "macro_f1": 0.79,
                 "f1": 0.81 if len(classes) == 2 else np.nan, "auc": np.nan if n == 1 else 0.9}
                for name, role in named
            ]
        ),
        curve=pd.DataFrame(curve if "imitation" in ran else [], columns=["kind", "name", "lambda", "jsd", "tvd"]),
        tables={
            "flips": flip_table(texts) if "erasure" in ran else pd.DataFrame(),
            "regularizers": pd.DataFrame(regularized if "regularizers" in ran else []),
        },
        history=pd.DataFrame(
            [
                {"model": name, "epoch": epoch, "loss": 1 / epoch, "dev_auc": 0.7 + 0.02 * epoch if dev else np.nan}
                for name, _ in models
                for epoch in (1, 2, 3)
                if "trained" in ran
            ]
        ),
        classes=classes,
        examples=(
            HighlightedText(
                words=("an", "<b>odd</b>", 'fi"lm', "$_$"),
                label=classes[0],
                predicted=classes[-1],
                probability=0.91,
                panels=(
                    Highlight("attention", (0.1, 0.6, 0.3, 0.0)),
                    Highlight("gradient × input", (-0.2, 0.1, math.nan, 0.1), "τ = <0.3>"),
                    Highlight("nothing", (0.0,) * 4),
                ),
            ),
        ),
        facts=(f"{n} texts", "a model [bold]of[/bold] <its> kind"),
        notes=("Mind the <gap> [red].",),
        left_out=(("eraser", "took <too> long [really]"),),
    )  # fmt: skip


def written(folder: Path, found: ExplainResults) -> tuple[Section, str]:
    section = explain_section(found, model="$m_1$ <b>", corpus="c")
    write_report(folder, run=RUN, sections=[section])
    return section, (folder / "report.html").read_text(encoding="utf-8")


CASES: dict[str, dict[str, Any]] = {
    "everything": {},
    "three classes": {"classes": ("<b>good</b>", "_$x$_", "a" * 40)},
    "eight classes": {"classes": tuple("abcdefgh"), "ran": ("correlation", "permutation", "guided")},
    "one text": {"n": 1},
    "few texts": {"n": 12, "replicates": 0, "ran": ("seeds", "erasure", "removal")},
    "nothing": {"ran": ()},
    "nothing trained": {"ran": ("correlation", "permutation", "adversarial", "erasure", "removal")},
    "no dev": {"dev": False, "ran": ("trained", "seeds", "permutation")},
    **{f"only {name}": {"ran": (name,)} for name in EVERYTHING},
    "undefined": {"ran": HOLLOW, "undefined": tuple(c for name in HOLLOW for c in TESTS[name])},
    "undefined in part": {
        "ran": ("correlation", "removal", "permutation", "seeds"),
        "undefined": ("tau_random", "tau_loo", "removal_gradient", "permutation_tvd", "seed_jsd"),
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_everything_is_written_that_was_found(case, tmp_path):
    found = results(**CASES[case])
    section, page = written(tmp_path, found)
    ran = set(CASES[case].get("ran", EVERYTHING))
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    expected = ran - {"trained", "made uniform"} | ({"uniform"} if "made uniform" in ran else set())
    assert {test for test, heading in HEADINGS.items() if heading in headings} == expected
    assert ("A second model was trained" in page) == ("uniform" in ran)
    assert ("are another test" in page) == ("made uniform" in ran)
    empty = {
        "undefined": {"explain_tau", "explain_adversarial", "explain_adversarial_weight", "explain_removal"},
        "undefined in part": {"explain_permutation", "explain_seeds"},
    }
    figures = {figure for figure, test in FIGURES.items() if test in ran} - empty.get(case, set())
    assert {path.name for path in (tmp_path / "figures").glob("*")} == {f"{figure}.svg" for figure in figures}
    assert page.count("<svg") == len(figures)
    for name in TABLES:
        path = tmp_path / "tables" / f"explain_{name}.csv"
        assert path.exists() == bool(len(tables_of(found)[name])), name
        if path.exists():
            own = tables_of(found)[name]
            again = pd.read_csv(path, keep_default_na=False, na_values=[""])
            pd.testing.assert_frame_equal(again, own, check_dtype=False, check_exact=False)
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL).casefold().split()
    summary = json.loads((tmp_path / "summary.json").read_text(), parse_constant=pytest.fail)
    assert set(summary) == {"run", *section.summary}
    assert len(summary["explain_verdicts"]) == len(found.verdicts)
    assert {row["predicted"] for row in summary["explain_summary"]} <= {OVERALL}


def tables_of(found: ExplainResults) -> dict[str, pd.DataFrame]:
    tables = {**found._asdict(), **found.tables, "training": found.history}
    return {name: tables[name] for name in TABLES}


@pytest.mark.slow
def test_text_of_others_is_escaped(tmp_path):
    classes = ("<b>good</b>", '_$x$_"', "plain")
    with OUTLINES.in_full():
        _, page = written(tmp_path, results(classes=classes, ran=("uniform", "correlation", "regularizers")))
    outside = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    for raw in ("<b>odd", "<b>good", "<gap>", "<its>", "<too>", "<0.3>", "<odd>", 'title="attention: 0.600" <'):
        assert raw not in outside
    for text in (
        "&lt;b&gt;odd&lt;/b&gt;",
        "&lt;b&gt;good&lt;/b&gt;",
        "fi&#34;lm",
        "_$x$_",
        "&lt;odd&gt;",
        "&lt;gap&gt;",
    ):
        assert text in outside
    assert "predicted: <b>" not in page
    drawing = (tmp_path / "figures" / "explain_tau.svg").read_text()
    assert "predicted: _$x$_" in drawing
    assert "predicted: &lt;b&gt;good" in drawing
    assert "$m_1$" in drawing


@pytest.mark.parametrize(("verdict", "warned"), [("fails", True), ("undecided", True), ("passes", False)])
def test_a_task_that_does_not_need_attention_is_pointed_out(verdict, warned, tmp_path):
    found = results(ran=("uniform", "permutation"))
    found.verdicts.loc[found.verdicts["test"] == "uniform", "verdict"] = verdict
    _, page = written(tmp_path, found)
    assert ("can hardly explain" in page) == warned


def test_all_but_the_verdicts_and_one_text_is_folded(tmp_path):
    _, page = written(tmp_path, results(n=40, ran=("uniform", "permutation", "correlation")))
    main = page[page.index("<main") : page.index("What was left out</h2>")]
    innermost = re.compile(r"<details(?:(?!<details).)*?</details>", re.DOTALL)
    while innermost.search(main):
        main = innermost.sub("", main)
    assert re.findall(r"<h2[^>]*>([^<]*)</h2>", main) == ["Verdicts", "A text"]
    assert (main.count("<table"), main.count("<figure")) == (1, 0)


def test_shades_of_examples(tmp_path):
    _, page = written(tmp_path, results(ran=()))
    shades = re.findall(r'<span title="([^"]*)" style="background: rgba\(([\d, ]+), ([\d.]+)\)">', page)
    assert [float(shade) for *_, shade in shades] == [0.11, 0.55, 0.33, 0, 0.22, 0.11, 0, 0.11, 0, 0, 0, 0]
    assert shades[1][0] == "attention: 0.600"
    assert shades[4][:2] == ("gradient × input: -0.200", "213, 94, 0")
    assert shades[6][0] == "gradient × input: –"


def test_the_page_is_told_what_was_found_about_these_texts():
    """The verdict that decides how others are read is that of one test, and the tolerance that of the run."""
    found = results(n=40, ran=("uniform", "permutation"))._replace(epsilon=0.2)
    found.verdicts["verdict"] = ["fails" if test == "uniform" else "passes" for test in found.verdicts["test"]]
    context = explain_section(found).context
    assert context["counts"] == {"fails": 1, "passes": 1}
    assert (context["n_texts"], context["verdicts"], context["models"], context["not_run"]) == (40, 2, 1, 1)
    assert (context["gate"], context["has_f1"], context["has_auc"], context["by_class"]) == ("fails", True, True, True)
    (part,) = (part for part in context["parts"] if part["heading"] == HEADINGS["permutation"])
    assert "up to ε = 0.2 counts as no change" in part["html"]
    undefined = found.models.assign(f1=math.nan, auc=math.nan)
    without = explain_section(results(ran=("permutation",))._replace(models=undefined)).context
    assert (without["gate"], without["has_f1"], without["has_auc"]) == ("", False, False)
    for n, split in ((6, True), (7, False)):
        many = results(n=40, classes=tuple("abcdefg"[:n]), ran=())
        assert explain_section(many).context["by_class"] == split


def test_a_session_shows_how_many_questions_have_each_verdict():
    judged = pd.DataFrame({"verdict": [*["passes"] * 3, "fails", *["undecided"] * 2]})
    run: Any = SimpleNamespace(record={"model": {"name": "m"}}, texts=range(1030), verdicts=judged)
    assert Explanation.__repr__(run) == "Explanation(m, 1,030 texts: 3 passes, 1 fails, 2 undecided)"
    run.verdicts = judged[:0]
    assert Explanation.__repr__(run) == "Explanation(m, 1,030 texts: 0 passes, 0 fails, 0 undecided)"

"""The names that people give to heads, wherever heads are shown."""

from __future__ import annotations

import json

from matplotlib.text import Text

from attentionology import analyze, load_run
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import Corpus, Sentence
from attentionology.reports.format import best_head, heads_named, name_head, shown_head
from attentionology.scripts.cli import main
from attentionology.storage.characters import in_html, in_latex
from tests import tiny

NAME = "a_b & <c>"


def test_a_head_is_shown_with_its_name_while_a_block_runs():
    row = {"layer": 3, "head": 9, "correct": 2}
    with heads_named({"3-9": "objects"}):
        assert (shown_head(row), best_head(row), name_head(row)) == ("3-9 (objects)", "3-9 (objects)", "3-9")
        assert shown_head({**row, "head": 8}) == "3-8"
    assert shown_head(row) == "3-9"


def test_a_report_shows_the_names_that_its_run_keeps(tmp_path, capsys):
    sentence = Sentence("s", ("She", "sings", "songs"), heads=(2, 0, 2), relations=("nsubj", "root", "obj"))
    options = CountOptions(replicates=0, min_count=1)
    run = analyze(
        tiny.encoder("bert"), Corpus((sentence,)), analyses="dependency", options=options, out=tmp_path / "run"
    )
    best = run.dependency.best.set_index("relation").loc["all"]
    head = f"{best['layer']}-{best['head']}"
    kept = json.dumps({"names": [{"head": head, "name": NAME, "note": ""}]})
    (tmp_path / "run" / "heads.json").write_text(kept)
    capsys.readouterr()
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "again")]) == 0
    shown = f"{head} ({NAME})"
    again = tmp_path / "again"
    assert shown in capsys.readouterr().out
    assert f"<td>{in_html(shown)}" in (again / "report.html").read_text()
    assert in_latex(shown) in (again / "tables" / "dependency_best.tex").read_text()
    assert NAME not in (again / "tables" / "dependency_best.csv").read_text()  # which is for programs
    assert (again / "heads.json").read_text() == kept
    loaded = load_run(again)
    with loaded.showing_names():
        figure = loaded.figures["dependency_best"]
    texts = [artist.get_text() for artist in figure.findobj(Text)]
    labels = [label for axes in figure.axes for label in getattr(axes.yaxis.get_major_formatter(), "seq", ())]
    assert shown in [*texts, *labels]

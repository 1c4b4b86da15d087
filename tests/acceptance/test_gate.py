"""Commands on corpora of which a part, or all, cannot be analyzed."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from attentionology import CorpusOptions, CountOptions, probe, survey
from attentionology.analyses import ProbeOptions, ProbeTrainingOptions, TreebankOptions
from attentionology.engine.compared_run import differ_in
from attentionology.scripts.cli import main
from tests.corpora import chain, word

BROKEN = "# sent_id = broken\n" + word(1, "Ann", 0, "root") + word(2, "reads", 7) + "\n"


def text_of(folder) -> str:
    """What the page of a run says, with single spaces."""
    return " ".join((folder / "report.html").read_text(encoding="utf-8").split())


@pytest.fixture
def one_broken(tmp_path):
    """A treebank of ten sentences, the fourth of which is broken, and the line of its mistake."""
    good = [chain(["Ann", "reads", "old", "books"], f"s{number}") for number in range(9)]
    path = tmp_path / "one.conllu"
    path.write_text("".join([*good[:3], BROKEN, *good[3:]]))
    return path, len("".join(good[:3]).splitlines()) + 3


def test_a_broken_sentence_is_refused_or_left_out_counted_and_listed(one_broken, model, tmp_path, capsys):
    path, line = one_broken
    given = ["analyze", "--model", model, "--corpus", str(path), "--analyses", "dependency", "--replicates", "0"]
    assert main([*given, "--out", str(tmp_path / "strict")]) == 1
    assert f"{path}:{line}: sentence 'broken': the head of word 2 is 7" in capsys.readouterr().err
    assert main([*given, "--lenient", "--out", str(tmp_path / "lenient")]) == 0
    assert "Sentences read: 9, skipped: 0, with mistakes and left out: 1 (see the report)" in capsys.readouterr().out
    record = json.loads((tmp_path / "lenient" / "run.json").read_text())
    (left_out,) = record["corpus"]["left_out"]
    assert (left_out["id"], left_out["file"], left_out["line"]) == ("broken", str(path), line)
    assert left_out["reason"].startswith("the head of word 2 is 7, which is outside 0 … 2")
    assert record["corpus"]["counts"]["left_out_sentences"] == 1
    assert record["corpus"]["counts"]["sentences"] == record["sentences"]["read"] == 9
    assert f"Sentences with mistakes, left out: 1 ({path}:{line}: the head of word 2 is 7" in text_of(
        tmp_path / "lenient"
    )
    assert record["corpus"]["checked"] == {
        "blank_words": 0,
        "words_with_head": 9 * 3,
        "punctuation": {"rule": "relation", "names": [], "words": 0},
    }
    best = pd.read_csv(tmp_path / "lenient" / "tables" / "dependency_best.csv").set_index("relation")
    assert best.loc["all", "total"] == 9 * 4


def test_the_case_of_one_broken_sentence(data_file, model, tmp_path, capsys):
    path = data_file("cases/one_bad_of_50.conllu")
    given = [
        "analyze",
        "--model",
        model,
        "--corpus",
        str(path),
        "--analyses",
        "surface",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(given) == 1
    assert f"{path}:" in capsys.readouterr().err
    assert main([*given, "--lenient"]) == 0
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert len(record["corpus"]["left_out"]) == record["corpus"]["counts"]["left_out_sentences"] == 1
    assert record["sentences"]["read"] == record["corpus"]["counts"]["sentences"]


def test_probes_and_surveys_leave_out_broken_sentences(one_broken, model, tmp_path):
    path, line = one_broken
    options = [CountOptions(replicates=0)]
    strict, lenient = (
        survey(model, path, options=[*options, CorpusOptions(lenient=lenient)], progress=False)
        for lenient in (False, True)
    )
    assert strict.cells_table["status"].tolist() == ["failed"]
    assert lenient.cells_table["status"].tolist() == ["ok"]
    probing = [ProbeOptions(controls=("none",)), ProbeTrainingOptions(recipe="paper", seeds=1), *options]
    run = probe(model, test=path, options=[TreebankOptions(folds=2, lenient=True), *probing])
    assert [left_out["line"] for left_out in run.record["corpus"]["left_out"]] == [line]


def test_texts_have_no_sentences_to_leave_out(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("One two.\n")
    assert main(["analyze", "--text", str(tmp_path / "a.txt"), "--lenient"]) == 2
    assert "--lenient is for treebanks and coreference corpora" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["analyze", "--analyses", "surface", "--corpus"],
        ["analyze", "--dry-run", "--corpus"],
        ["probe", "--test"],
        ["doctor", "--corpus"],
        ["show", "--head", "1-1", "--sentence", "mostly_blank.conllu:1", "--corpus"],
        ["treebanks", "--check"],
    ],
)
def test_every_command_refuses_a_treebank_without_its_words(data_file, model, capsys, command):
    given = [] if command[0] == "treebanks" else ["--model", model]
    assert main([*command, str(data_file("cases/mostly_blank.conllu")), *given]) == 1
    said = capsys.readouterr().err
    assert "60.0 % of the words are blank (30 of 50, most of them '_')" in said
    assert "the README of the treebank says where it can be had" in said


def test_a_survey_says_which_treebank_has_no_words(data_file, model, tmp_path, capsys):
    blank, whole = data_file("cases/mostly_blank.conllu"), tmp_path / "whole.conllu"
    whole.write_text(chain(["Ann", "reads", "books"]) * 5)
    given = ["survey", "--models", model, "--treebanks", str(blank), str(whole), "--replicates", "0"]
    assert main([*given, "--out", str(tmp_path / "out")]) == 3
    cells = pd.read_csv(tmp_path / "out" / "tables" / "survey_cells.csv").set_index("treebank")
    assert cells["status"].to_dict() == {"mostly_blank": "failed", "whole": "ok"}
    assert "60.0 % of the words are blank" in str(cells.loc["mostly_blank", "reason"])


def test_few_blank_words_are_said_on_the_page_and_in_the_record(model, tmp_path):
    path = tmp_path / "few.conllu"
    path.write_text(chain(["Ann", "reads", "old", "books"]) * 19 + chain(["Ann", "_", "old", "books"]))
    given = ["analyze", "--model", model, "--corpus", str(path), "--analyses", "dependency", "--replicates", "0"]
    assert main([*given, "--out", str(tmp_path / "out")]) == 0
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["corpus"]["counts"]["blank_words"] == 1
    said = "Blank words (_ or [WORD]), of which none is scored: 1 of 80, 1 %."
    assert said in record["corpus"]["remarks"]
    assert said in text_of(tmp_path / "out")
    best = pd.read_csv(tmp_path / "out" / "tables" / "dependency_best.csv").set_index("relation")
    assert best["total"].to_dict() == {"all": 79, "all-nopunct": 79, "all-nopunct-noroot": 59, "dep": 59, "root": 20}


def test_an_export_without_a_parse_is_refused_where_trees_are_needed(data_file, model, tmp_path, capsys):
    path = str(data_file("cases/all_root_blank_rel.conllu"))
    for given in (["analyze", "--corpus", path], ["probe", "--test", path]):
        assert main([*given, "--model", model, "--out", str(tmp_path / "refused")]) == 1
        said = capsys.readouterr().err
        assert f"{path}: no word has a head in its sentence" in said
        assert "every head is 0, as in an export without a parse" in said
        assert not (tmp_path / "refused").exists()
    given = ["analyze", "--model", model, "--corpus", path, "--analyses", "surface", "--out", str(tmp_path / "surface")]
    assert main(given) == 0


def test_merged_runs_add_up_what_was_checked_and_left_out(one_broken, model, tmp_path):
    path, _ = one_broken
    other = tmp_path / "other.conllu"
    signs = chain(["Ann", "reads", "."]).replace("\troot\t", "\tPred\t") + BROKEN.replace("broken", "too")
    other.write_text(signs)
    runs = []
    for number, file in enumerate((path, other)):
        runs.append(str(tmp_path / f"run{number}"))
        given = ["analyze", "--model", model, "--corpus", str(file), "--analyses", "dependency", "--lenient"]
        assert main([*given, "--replicates", "0", "--out", runs[-1]]) == 0
    assert main(["merge", *runs, "--out", str(tmp_path / "merged")]) == 0
    corpus = json.loads((tmp_path / "merged" / "run.json").read_text())["corpus"]
    assert [(each["file"], each["id"]) for each in corpus["left_out"]] == [(str(path), "broken"), (str(other), "too")]
    assert corpus["checked"] == {
        "blank_words": 0,
        "words_with_head": 9 * 3 + 2,
        "punctuation": {"rule": "relation, form", "names": [], "words": 1},
    }
    best = pd.read_csv(tmp_path / "merged" / "tables" / "dependency_best.csv").set_index("relation")
    expected = {"all": 39, "all-nopunct": 38, "all-nopunct-noroot": 28, "dep": 29, "root": 9, "Pred": 1}
    assert best["total"].to_dict() == expected


def test_a_run_before_an_option_was_there_does_not_differ_in_it():
    earlier, later = {"lenient": False}, {"lenient": True, "punctuation": ()}
    assert not differ_in(earlier, later, "punctuation")
    assert not differ_in(later, earlier, "punctuation")
    assert differ_in(earlier, {"punctuation": ("AuxK",)}, "punctuation")
    assert differ_in(earlier, later, "lenient")
    assert not differ_in(earlier, {"pll": "l2r"}, "pll")
    assert differ_in({"pll": "original"}, earlier, "pll")


def test_pairs_without_a_gold_label_are_no_class_of_an_explanation(tmp_path):
    path = tmp_path / "snli.jsonl"  # as Hugging Face exports it
    pairs = [{"premise": f"Man {n} walks .", "hypothesis": "He moves .", "label": n % 4 - 1} for n in range(80)]
    path.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    given = [
        "explain",
        "--data",
        str(path),
        "--text-column",
        "premise",
        "--query-column",
        "hypothesis",
        "--epochs",
        "1",
    ]
    given += ["--encoder", "average", "--dimensions", "4", "--replicates", "0", "--tests", "correlation"]
    assert main([*given, "--out", str(tmp_path / "out")]) == 0
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert list(record["texts"]["train"]["classes"]) == record["model"]["classes"] == ["0", "1", "2"]
    remark = "Texts with the label -1, which means no gold label, left out: 20."
    assert remark in record["texts"]["train"]["remarks"]


STRANGE = [
    "\u0643\u062a\u0627\u0628\u0647\u0645",
    "\u0627\u0644\u0645\u062f\u0631\u0633\u0629",
    "\u064a\u0642\u0631\u0623\u0648\u0646",
]  # of Arabic


@pytest.fixture
def strange(tmp_path):
    """Sentences whose words the demo model reads letter by letter."""
    path = tmp_path / "strange.conllu"
    path.write_text("".join(chain(STRANGE, f"s{n}") for n in range(20)))
    return str(path)


def test_words_that_go_to_pieces_are_warned_of_before_any_number(strange, demo_encoder, tmp_path, capsys):
    """In analyze, cite, doctor and survey alike, by one rule."""
    out = tmp_path / "out"
    given = ["--corpus", strange, "--replicates", "0", "--out", str(out)]
    assert main(["analyze", "--analyses", "dependency", *given]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    (warning,) = (each for each in json.loads((out / "run.json").read_text())["warnings"] if "go to" in each)
    assert warning.startswith("This model was hardly made for this language: words go to 6.3 pieces each.")
    assert shown.index(f"Warning: {warning}") < shown.index("Best attention head per relation")
    page = text_of(out)
    assert page.index(f'<p class="careful">Warning: {warning}</p>') < page.index("The best head for every relation")
    assert main(["cite", str(out)]) == 0
    cited = capsys.readouterr()
    assert f"Warning: {warning}" in cited.err
    assert warning in cited.out
    assert main(["doctor", "--corpus", strange, "--map", "weight"]) == 0
    lines, _, verdict = capsys.readouterr().out.rpartition("\n\n")
    warned = [line.split(":")[0] for line in lines.splitlines() if line.startswith("WARN")]
    assert warned == ["WARN words and pieces", "WARN text"]
    assert "no verdict is bad" not in verdict
    assert "not on this text. Warning: This model was hardly made" in " ".join(verdict.split())
    treebanks = [
        "--treebanks",
        strange,
        "sample",
        "--limit",
        "5",
        "--replicates",
        "0",
        "--out",
        str(tmp_path / "survey"),
    ]
    assert main(["survey", *treebanks]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.index("Warning: demo on strange: This model was hardly made") < shown.index("Whether the models fit")
    assert "demo on sample" not in shown


def test_words_that_stay_whole_are_not_warned_of(demo_encoder, tmp_path, capsys):
    given = ["--corpus", "sample", "--limit", "5", "--replicates", "0", "--out", str(tmp_path / "out")]
    assert main(["analyze", "--analyses", "dependency", *given]) == 0
    assert main(["cite", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert "go to" not in shown.out + shown.err + text_of(tmp_path / "out")

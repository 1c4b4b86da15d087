"""Coreference on real corpora and as a user meets it."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from html import unescape
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.decisions import DIRECTIONS
from attentionology.corpora_loaders import CorpusError
from attentionology.corpora_loaders.coreference import ANTI, PRO, TYPES
from attentionology.corpora_loaders.documents import Documents, load_documents
from attentionology.extractors import extract, make_windows
from attentionology.scripts.cli import main
from tests import tiny
from tests.coreference import groups_of
from tests.reference import naive


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny model on disk that reads up to 64 pieces."""
    return tiny.save(tmp_path_factory.mktemp("model"))


def run(*arguments):
    return main(["analyze", *map(str, arguments)])


def row_of(table: pd.DataFrame, **where: str | int) -> dict[str, Any]:
    """The one row that has these values."""
    for name, value in where.items():
        table = table[table[name] == value]
    [row] = table.to_dict("records")
    return {str(key): value for key, value in row.items()}


@functools.cache
def loaded(path):
    """The documents of a file, which several tests read."""
    return load_documents(path)


def brackets(path):
    """Mentions and entities of a CoNLL-2012 file, counted by its brackets alone."""
    mentions, entities, document = 0, set(), 0
    for line in path.read_text(encoding="utf-8").splitlines():
        document += line.startswith("#begin")
        if line.strip() and not line.startswith("#"):
            opened = re.findall(r"\(([^()|]+)", line.split()[-1])
            mentions += len(opened)
            entities |= {(document, entity) for entity in opened}
    return mentions, len(entities)


def test_ontogum(data_file):
    path = data_file("coref/ontogum_dev.v4_gold_conll")
    counts = loaded(path).counts()
    assert (counts["documents"], counts["mentions"], counts["entities"]) == (30, 3817, 857)
    assert brackets(path) == (3817, 857)
    assert (counts["sentences"], counts["words"]) == (1575, 28119)


def test_gum_entities(data_file):
    path = data_file("ud/en_gum-dev.conllu")
    counts = loaded(path).counts()
    assert (counts["documents"], counts["mentions"], counts["entities"]) == (30, 7897, 3940)
    assert counts["entities_mentioned_again"] == 1102
    assert counts["split_antecedents"] == path.read_text(encoding="utf-8").count("SplitAnte=") == 15


def test_both_annotations_of_the_same_text_agree_on_heads_and_types(data_file):
    """The mentions that both have: heads by chunk and tag against heads by tree."""
    gum = {d.id: d for d in loaded(data_file("ud/en_gum-dev.conllu")).documents}
    same = types = total = 0
    for document in loaded(data_file("coref/ontogum_dev.v4_gold_conll")).documents:
        assert document.words == gum[document.id].words
        by_span = {m.spans: m for m in gum[document.id].mentions}
        shared = [(m, by_span[m.spans]) for m in document.mentions if m.spans in by_span]
        total += len(shared)
        same += sum(a.head == b.head for a, b in shared)
        types += sum(a.type == b.type for a, b in shared)
    assert total == 3688
    assert same / total > 0.96
    assert types / total > 0.98


@pytest.mark.parametrize("letter", "ABCDEFGHIJKLMN")
def test_keys_of_the_reference_scorer(data_file, letter):
    path = data_file(f"coref/conll_scorer_tests/TC-{letter}.key")
    if letter in "AMN":
        mentions, entities = brackets(path)
        counts = load_documents(path).counts()
        assert (counts["mentions"], counts["entities"]) == (mentions, entities)
        assert counts["sentences"] == 2
    else:  # two columns, document and brackets: nothing for a model to read
        with pytest.raises(CorpusError, match="there is no column of words"):
            load_documents(path)


def test_winobias(data_file):
    paths = [data_file(f"coref/dev_type{n}_{kind}.v4_auto_conll") for n in (1, 2) for kind in ("pro", "anti")]
    corpus = load_documents(paths)
    assert corpus.counts()["mentions"] == sum(brackets(path)[0] for path in paths)
    questions = [(d, q) for d in corpus.documents for q in d.questions or ()]
    assert Counter(len(q.candidates) for _, q in questions) == {2: 1614}
    assert all(sum(c.entity == q.anaphor.entity for c in q.candidates) == 1 for _, q in questions)
    labels = Counter(label for d in corpus.documents for label in d.labels)
    assert labels[PRO] == labels[ANTI] == 792
    assert Counter(Counter(d.family for d in corpus.documents).values()) == {2: 783, 1: 18}


def test_gap(data_file):
    corpus = load_documents(data_file("coref/gap-development.tsv"))
    questions = [q for d in corpus.documents for q in d.questions or ()]
    assert len(questions) == 2000
    assert sum(any(c.entity == q.anaphor.entity for c in q.candidates) for q in questions) == 1799
    pronouns = {d.text(q.anaphor).lower() for d in corpus.documents for q in d.questions or ()}
    assert pronouns == {"he", "him", "his", "she", "her"}


@pytest.mark.slow
def test_demo_model_finds_antecedents(demo_encoder, data_file, tmp_path):
    """Around the paper's numbers for BERT: a head that finds two thirds and more, well above the nearest mention."""
    path = data_file("coref/ontogum_dev.v4_gold_conll")
    options = ("--stride", 0, "--control", "random-init", "--replicates", 0)  # read as the paper did
    assert run("--corpus", path, "--out", tmp_path / "run", *options) == 0
    best = pd.read_csv(tmp_path / "run/tables/coreference_best.csv")
    row = row_of(best, candidates="preceding", type="all")
    assert row["total"] == 255
    assert row["accuracy"] > 0.65 > row["control_accuracy"]
    assert row["nearest_accuracy"] < row["head_match_accuracy"] < row["rule_based_accuracy"]
    assert best.groupby("type")["total"].nunique().eq(1).all()
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert record["corpus"]["counts"]["mentions"] == 3817
    assert record["coreference"]["account"]["anaphors"] == 3817 - 857
    assert record["coreference"]["account"]["scored"] == 255


def test_tables_of_the_sample(model, tmp_path, capsys):
    out = tmp_path / "run"
    options = ("--max-length", 64, "--stride", 40, "--limit", 3, "--replicates", 50, "--out", out)
    assert run("--model", model, "--analyses", "coreference", "--failures", "best", *options) == 0
    shown = capsys.readouterr().out
    assert "Best attention head per type of mention" in shown
    assert "windows of up to 64 pieces that start at most 40 apart" in shown
    cells = pd.read_csv(out / "tables/coreference.csv")
    assert len(cells) == 3 * 4 * 2 * 3 * 4
    assert set(cells["type"]) == {"all", *TYPES}
    wide = cells.pivot_table(index=["candidates", "direction", "layer", "head"], columns="type", values="correct")
    assert (wide["all"] == wide[list(TYPES)].sum(axis=1)).all()
    examples = pd.read_csv(out / "tables/coreference_examples.csv")
    best = pd.read_csv(out / "tables/coreference_best.csv")
    assert (examples.groupby(["document", "before", "mention"], dropna=False)["antecedent"].min() == 0).all()
    heaviest = examples.groupby(["right", "document", "before", "mention"], dropna=False)["weight"].idxmax()
    assert (examples.loc[heaviest, "antecedent"] == examples.loc[heaviest, "right"]).all()
    assert {*examples["right"]} == {True, False}
    assert examples.groupby("right")["document"].nunique().max() == 3
    assert not [name for name in best if str(name).startswith("paper")]
    page = (out / "report.html").read_text()
    assert "the word whose syntactic head is" in page
    first = row_of(best, candidates="preceding", type="all")
    head = f"{first['layer']}-{first['head']}"
    [link] = re.findall(rf'<a href="([^"]*)">all, head {head}</a>', page)
    asked = {"head": head, "relation": "coreference", "direction": first["direction"], "show": "wrong"}
    assert dict(parse_qsl(unescape(link).removeprefix("#"))) == asked
    for name in ("coreference_best", "coreference_heads", "coreference_distances"):
        assert (out / f"figures/{name}.svg").exists()
    record = json.loads((out / "run.json").read_text())
    assert record["corpus"]["unit"] == "windows"
    assert record["options"]["stride"] == 40
    assert "coreference_best" in json.loads((out / "summary.json").read_text())


def test_the_paper_stands_beside_its_model(model, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "attentionology.analyses.shared.input_options.load_encoder", lambda *a, **k: named(tiny.encoder("bert"))
    )

    def named(encoder):
        encoder.name = "google-bert/bert-base-uncased"
        return encoder

    options = ("--max-length", 64, "--limit", 1, "--replicates", 0)
    assert run("--analyses", "coreference", *options, "--out", tmp_path / "run") == 0
    best = pd.read_csv(tmp_path / "run/tables/coreference_best.csv")
    row = row_of(best, candidates="preceding", type="proper")
    assert (row["paper_head_5_4"], row["paper_rule_based"]) == (73, 77)
    assert "The paper’s numbers" in (tmp_path / "run/report.html").read_text()


@pytest.mark.slow
def test_groups_of_winobias(model, data_file, tmp_path, capsys):
    """Only the first 100 documents of each file are read; their labels have nothing to do with their order."""
    paths = []
    for whole in (data_file(f"coref/dev_type{n}_{kind}.v4_auto_conll") for n in (1, 2) for kind in ("pro", "anti")):
        documents = whole.read_text(encoding="utf-8").split("#end document\n")[:100]
        paths.append(tmp_path / whole.name)
        paths[-1].write_text("".join(f"{document}#end document\n" for document in documents), encoding="utf-8")
    corpus = load_documents(paths)
    questions = Counter(d.labels[0] for d in corpus.documents for _ in d.questions or ())
    assert min(questions[PRO], questions[ANTI]) >= 200
    pairs = Counter(Counter(d.family for d in corpus.documents).values())
    assert min(pairs[1], pairs[2]) > 0
    assert run("--model", model, "--corpus", *paths, "--out", tmp_path / "run", "--replicates", 20) == 0
    groups = pd.read_csv(tmp_path / "run/tables/coreference_groups.csv")
    totals = groups.groupby("group")["total"].first()
    assert totals["feminine pronoun"] + totals["masculine pronoun"] == totals[PRO] + totals[ANTI] == questions.total()
    contrasts = pd.read_csv(tmp_path / "run/tables/coreference_contrasts.csv")
    row = row_of(contrasts, candidates="preceding", first=PRO)
    assert row["difference"] == pytest.approx(
        row["first_correct"] / questions[PRO] - row["second_correct"] / questions[ANTI], abs=0.01
    )
    assert row["difference_low"] < row["difference"] < row["difference_high"]
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{PRO} " in shown
    page = " ".join((tmp_path / "run/report.html").read_text().split())
    assert "The heads with the largest differences between groups" in page
    assert f"are sampled and held out together: {pairs[2]} pairs; {pairs[1]} sentences have no counterpart" in page


@pytest.mark.slow
def test_heads_of_the_demo_model_see_stereotypes(demo_encoder, data_file):
    """Counted from maps of the plain model, by hand: of two occupations before the pronoun, which weighs more?"""
    documents = [
        document
        for kind in ("pro", "anti")
        for document in load_documents(data_file(f"coref/dev_type1_{kind}.v4_auto_conll"), limit=60).documents
    ]
    corpus = Documents(tuple(s for d in documents for s in d.sentences), documents=tuple(documents))
    accuracy = CoreferenceAccuracy(corpus, demo_encoder.n_layers, demo_encoder.n_heads, replicates=50)
    for batch in extract(demo_encoder, make_windows(demo_encoder, corpus)):
        accuracy.update(batch)
    table = groups_of(accuracy).heads
    table = table[(table["candidates"] == "preceding") & (table["first"] == PRO)]
    shape = len(DIRECTIONS), demo_encoder.n_layers, demo_encoder.n_heads
    right = {PRO: np.zeros(shape, dtype=int), ANTI: np.zeros(shape, dtype=int)}
    for document in documents:
        for question in document.questions or ():
            (good,) = (c.head for c in question.candidates if c.entity == question.anaphor.entity)
            (bad,) = (c.head for c in question.candidates if c.entity != question.anaphor.entity)
            pronoun = question.anaphor.head
            maps = naive.word_map(demo_encoder.model, demo_encoder.tokenizer, document.words)[:, :, 1:-1, 1:-1]
            right[document.labels[0]][0] += maps[:, :, pronoun, good] > maps[:, :, pronoun, bad]
            right[document.labels[0]][1] += maps[:, :, good, pronoun] > maps[:, :, bad, pronoun]
    assert table["first_correct"].tolist() == right[PRO].ravel().tolist()
    assert table["second_correct"].tolist() == right[ANTI].ravel().tolist()
    seen = row_of(table, direction="mention->antecedent", layer=2, head=4)
    assert seen["simultaneous_low"] > 0.1


CONLL = "#begin document (x); part 000\nd\t0\t0\tAnn\t(1)\nd\t0\t1\tsaw\t-\nd\t0\t2\ther\t{}\n#end document\n"


@pytest.mark.parametrize(
    ("cell", "options", "status", "message"),
    [
        ("(1", (), 1, "x.conll:4: a mention of entity '1' is opened but not closed"),
        ("(1)", ("--tokens", "surface"), 2, "--tokens surface is not for coreference"),
        ("(1)", ("--analyses", "surface", "--tokens", "surface"), 2, "--tokens surface is for CoNLL-U"),
        ("(1)", ("--analyses", "dependency"), 1, "no word has a head"),
        ("(1)", ("--stride", "-1"), 2, "--stride must be at least 0"),
        ("(1)", ("--stride", "900"), 2, "must start at most as many pieces apart"),
        ("(1)", ("--max-length", "900"), 2, "windows must have 3 pieces or more, at most 64, not 900"),
        ("(1)", ("--analyses", "surface", "--stride", "3"), 2, "--stride is for coreference"),
        ("(1)", ("--analyses", "surface", "--singletons", "keep"), 2, "--singletons is for coreference"),
        ("(1)", ("--candidates", "all"), 2, "all"),
        ("(1)", ("--analyses", "norms", "--replicates", "3"), 2, "--replicates is for dependency or surface or coref"),
        ("(1)", ("--ff-bias", "fixed"), 2, "--ff-bias is for maps that pass the feed-forward block"),
        ("-", (), 0, ""),
        ("(1", ("--lenient",), 0, ""),
    ],
)
def test_faults_are_told_and_leave_nothing(model, tmp_path, capsys, cell, options, status, message):
    (tmp_path / "x.conll").write_text(CONLL.format(cell))
    arguments = ("--model", model, "--corpus", tmp_path / "x.conll", "--out", tmp_path / "run")
    assert run(*arguments, *options) == status
    assert message in capsys.readouterr().err
    assert (tmp_path / "run").exists() == (status == 0)


def test_nothing_to_score_is_said(model, tmp_path, capsys):
    (tmp_path / "x.conll").write_text(CONLL.format("(2)"))
    assert run("--model", model, "--corpus", tmp_path / "x.conll", "--out", tmp_path / "run", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["run"]["coreference"]["account"] == {
        "anaphors": 0, "scored": 0, "documents": 0, "forced": 0, "outside": 0, "no words": 0, "no antecedent": 0,
        "same head": 0, "no answer": 0,
    }  # fmt: skip
    assert {(row["accuracy"], row["layer"], row["direction"]) for row in summary["coreference_best"]} == {
        (None, None, None)
    }
    assert summary["run"]["warnings"] == ["No mention could be scored; 0 have an antecedent in the corpus."]
    assert "No mention could be scored" in (tmp_path / "run/report.html").read_text()

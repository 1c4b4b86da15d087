"""Decisions of heads word by word: their sums are the counts of the tables, and one sentence is worked out by hand."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from attentionology import (
    CountOptions,
    OptionError,
    Sentence,
    analyze,
    extract,
    load_run,
    load_treebank,
    merge_runs,
    report_run,
)
from attentionology.analyses import DecisionOptions, DependencyOptions, FailureOptions
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine import decisions
from attentionology.extractors import MapBatch
from attentionology.reports import tables
from attentionology.scripts import cli
from tests import tiny

KEYS = ["relation", "layer", "head", "direction"]
OPTIONS = [CountOptions(replicates=0), FailureOptions(failures=("best", "2-1"))]


@pytest.fixture(scope="module", params=["bert", "gpt2"])
def run(request):
    corpus = load_treebank("sample", limit=12)
    chosen = DependencyOptions(coarse=True, both=True)
    return analyze(tiny.encoder(request.param), corpus, analyses="dependency", options=[*OPTIONS, chosen])


def test_sums_are_the_counts_of_the_tables(run):
    rows = run.decisions("best", "2-1")
    found = rows.groupby(KEYS, as_index=False).agg(correct=("right", "sum"), total=("right", "size"))
    both = found.merge(run.dependency.cells, on=KEYS)
    assert len(both) == len(found) > 20
    assert (both["correct_x"] == both["correct_y"]).all()
    assert (both["total_x"] == both["total_y"]).all()
    best = run.dependency.best.query("total > 0 and not relation.str.startswith('all')")
    chosen = rows.merge(best[[*KEYS, "offset_correct"]], on=KEYS)
    by_rule = chosen.groupby(KEYS).agg(found=("rule_right", "sum"), told=("offset_correct", "first"))
    assert len(by_rule) == len(best)
    assert (by_rule["found"] == by_rule["told"]).all()
    picks = run.dependency.failures.picked
    mistakes = rows[rows["right"] == 0].groupby([*KEYS, "mistake"]).size().reset_index(name="n")
    told = picks.merge(mistakes, left_on=[*KEYS, "picked"], right_on=[*KEYS, "mistake"])
    assert len(told) > 20
    assert (told["count"] == told["n"]).all()


def test_rows_are_in_the_order_of_the_corpus_and_say_what_the_corpus_says(run):
    rows = run.decisions("2-1")
    of_head = rows[rows["direction"] == "dep->head"]
    corpus = load_treebank("sample", limit=12)
    read = set(of_head["sentence"])  # the model is too small for some
    assert len(read) > 8
    assert list(dict.fromkeys(of_head["sentence"])) == [each.id for each in corpus if each.id in read]
    by_id = {sentence.id: sentence for sentence in corpus}
    for row in of_head.head(60).to_dict("records"):
        sentence, word = by_id[row["sentence"]], row["word"] - 1
        assert (row["form"], row["gold"]) == (sentence.words[word], sentence.heads[word])
        assert row["distance_picked"] == row["picked"] - row["word"]
        assert row["right"] == int(row["picked"] == row["gold"])
        assert (row["file"], row["document"]) == ("en_sample.conllu", sentence.document)


def test_a_sentence_by_hand():
    sentence = Sentence(
        "s",
        ("Ann", "reads", "books", "."),
        heads=(2, 0, 2, 2),
        relations=("nsubj", "root", "obj", "punct"),
        tags=("PROPN", "VERB", "NOUN", "PUNCT"),
        feats=("_", "Tense=Pres", "_", "_"),
    )
    maps = torch.tensor(
        [
            [0.9, 0.05, 0.03, 0.02],  # Ann: itself, then reads
            [0.2, 0.0, 0.5, 0.3],  # reads: books
            [0.4, 0.1, 0.2, 0.3],  # books: Ann
            [0.25, 0.0, 0.5, 0.25],  # the full stop: books, and nothing for its head
        ]
    )[None, None, None]
    batch = MapBatch(maps, torch.tensor([4]), torch.zeros(1, 4, dtype=torch.bool), (sentence,), indices=(0,))
    offsets = {"nsubj": 1, "root": 1, "obj": -1, "punct": -2}
    table = pd.concat(
        decisions._of_map([batch], "weight", [(1, 1, "dep->head"), (1, 1, "head->dep")], offsets, coarse=False)
    )
    rows = table[table["direction"] == "dep->head"].set_index("form")
    assert rows["picked"].to_dict() == {"Ann": 2, "reads": 3, "books": 1, ".": 3}
    assert rows["right"].to_dict() == {"Ann": 1, "reads": 0, "books": 0, ".": 0}
    assert rows["mistake"].fillna("").tolist() == ["", "dependent", "argument", "out of reach"]
    assert rows["weight_picked"].tolist() == [0.05, 0.5, 0.4, 0.5]
    assert rows["weight_gold"].fillna(-1).tolist() == [0.05, -1, 0.1, 0.0]
    assert rows["rank_gold"].fillna(-1).tolist() == [1, -1, 3, 3]
    assert rows["margin"].tolist() == pytest.approx([0.02, 0.2, 0.1, 0.25], abs=1e-6)
    assert rows["distance_gold"].fillna(9).tolist() == [1, 9, -1, -2]
    assert rows["distance_picked"].tolist() == [1, 1, -2, -1]
    assert rows["rule"].tolist() == [2, 3, 2, 2]
    assert rows["rule_right"].tolist() == [1, 0, 1, 1]
    assert rows["feats"].fillna("").tolist() == ["", "Tense=Pres", "", ""]
    turned = table[table["direction"] == "head->dep"].set_index("form")
    assert turned["picked"].to_dict() == {"Ann": 3, "reads": 3, "books": 2, ".": 2}  # . has equal values: the first
    assert turned["right"].tolist() == [0, 0, 1, 1]


def test_the_table_is_written_beside_the_report_and_kept(tmp_path, monkeypatch):
    corpus = load_treebank("sample", limit=3)
    options = [*OPTIONS[:1], DecisionOptions(("1-2",))]
    run = analyze(tiny.encoder("bert"), corpus, analyses="dependency", options=options, out=tmp_path / "run")
    written = (tmp_path / "run" / "decisions.csv").read_bytes()
    table = pd.read_csv(tmp_path / "run" / "decisions.csv", keep_default_na=False, na_values=[""])
    assert list(table) == list(decisions.COLUMNS)
    assert len(table) == 2 * corpus.counts()["words"]
    report_run(tmp_path / "run")
    assert (tmp_path / "run" / "decisions.csv").read_bytes() == written
    with pytest.raises(OptionError, match="at least one head"):
        run.decisions()
    with pytest.raises(OptionError, match="the model has 3 layers of 4 heads, and no head 4-1"):
        run.decisions("4-1")
    monkeypatch.setattr(decisions, "MOST_ROWS", 10)
    with pytest.raises(OptionError, match=r"2 heads in their directions and .* rows"):
        run.decisions("1-2")


@pytest.mark.parametrize(
    ("analyses", "options", "message"),
    [
        ("surface", [DecisionOptions(("best",))], "--decisions is for the analysis dependency"),
        ("dependency", [DecisionOptions(("best",)), DependencyOptions(trees="enhanced")], "needs basic trees"),
        ("dependency", [DecisionOptions(("worst",))], "takes 'best' or heads"),
    ],
)
def test_what_has_no_decisions_is_refused_before_the_run(analyses, options, message):
    with pytest.raises(OptionError, match=message):
        analyze("no-such-model", "sample", analyses=analyses, options=options)


def test_runs_that_are_loaded_or_merged_read_their_files_again(tmp_path):
    texts = SAMPLE_TREEBANK.read_text(encoding="utf-8").split("\n\n")
    model, options = str(tiny.save(tmp_path / "model", max_position_embeddings=64)), OPTIONS[:1]
    made = []
    for name, part in (("a", texts[:4]), ("b", texts[4:7])):
        file = tmp_path / f"{name}.conllu"
        file.write_text("\n\n".join(part) + "\n\n", encoding="utf-8")
        run = analyze(model, file, analyses="dependency", options=options, out=tmp_path / name)
        made.append(run.decisions("1-2", "2-1"))
        pd.testing.assert_frame_equal(load_run(tmp_path / name).decisions("1-2", "2-1"), made[-1])
    merge_runs([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    both = load_run(tmp_path / "both")
    keys = ["layer", "head", "direction"]
    together = pd.concat(made).sort_values(keys, kind="stable").reset_index(drop=True)
    again = both.decisions("1-2", "2-1").sort_values(keys, kind="stable").reset_index(drop=True)
    # What the best distance of a relation picks depends on which distance is the best in the corpus.
    of_rules = ["rule", "rule_right"]
    # Another batch changes the last digits of weights.
    plain, other = (table.drop(columns=of_rules).astype(object).fillna("") for table in (again, together))
    pd.testing.assert_frame_equal(plain, other, check_dtype=False, rtol=1e-4, atol=1e-5)
    found = again.groupby(["relation", *keys], as_index=False)["right"].sum().merge(both.dependency.cells)
    assert len(found) > 10
    assert (found["right"] == found["correct"]).all()

    first = load_run(tmp_path / "a")
    corpus = load_treebank(tmp_path / "a.conllu")
    with pytest.raises(OptionError, match=r"other weights than the model of this run; give what .* model="):
        first.decisions("1-2", model=tiny.encoder("bert", seed=1))
    with pytest.raises(OptionError, match=r"the corpus has 3 sentences, and this run has read 4; give what"):
        first.decisions("1-2", corpus=corpus[:3])
    (tmp_path / "a.conllu").write_text("\n\n".join(texts[:3]) + "\n\n", encoding="utf-8")
    with pytest.raises(OptionError, match=r"a\.conllu has changed since this run has read it; give what"):
        first.decisions("1-2")
    (tmp_path / "a.conllu").unlink()
    with pytest.raises(OptionError, match=r"a\.conllu, which this run has read, is not there any more; give"):
        first.decisions("1-2")
    kept = load_treebank(tmp_path / "b.conllu")
    pd.testing.assert_frame_equal(load_run(tmp_path / "b").decisions("1-2", "2-1", corpus=list(kept)), made[1])
    analyze(model, kept, analyses="surface", out=tmp_path / "surface")
    with pytest.raises(OptionError, match="those of the analysis dependency, which this run does not have"):
        load_run(tmp_path / "surface").decisions("1-2")


def test_tables_are_written_as_parquet_too(tmp_path, monkeypatch, capsys):
    written = []
    monkeypatch.setattr(pd.DataFrame, "to_parquet", lambda self, path, index: written.append((path, list(self))))
    table = pd.DataFrame({"a": [1, 2], "b": ["x", 3]})
    tables.write_csv(table, tmp_path / "t.csv")
    assert not written
    with tables.also_as_parquet():
        tables.write_csv(table, tmp_path / "t.csv")
    assert written == [(tmp_path / "t.parquet", ["a", "b"])]
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert cli.main(["analyze", "--tables", "parquet", "--model", "no-such-model"]) == 2
    assert "needs the library pyarrow" in capsys.readouterr().err


def test_maps_as_tables():
    maps = torch.arange(16.0).view(1, 2, 2, 2, 2)
    batch = MapBatch(maps, torch.tensor([2]), torch.zeros(1, 2, dtype=torch.bool), (Sentence("s", ("Cats", "sleep")),))
    table = batch.to_dataframe()
    row = table.query("layer == 2 and head == 1 and `from` == 2 and to == 1").iloc[0]
    assert (row["sentence"], row["value"], row["from_label"]) == ("s", 10, "2")
    assert len(table) == 16


def test_maps_of_several_inputs_are_in_their_order(monkeypatch):
    encoder = tiny.encoder("bert")
    texts = ["Hi", "The old dog barks at me", "Cats sleep"]
    made = extract(encoder, texts, level="token").to_dataframe()
    alone = [next(extract(encoder, text, level="token")).to_dataframe() for text in texts]
    pd.testing.assert_frame_equal(made, pd.concat(alone, ignore_index=True), rtol=1e-5)
    batches = extract(encoder, texts, batch_cells=1)  # one sentence in each
    assert [sentence.id for sentence in next(batches).sentences] == [texts[1]]
    assert batches.to_dataframe()["sentence"].unique().tolist() == [texts[0], texts[2]]
    assert len(batches.to_dataframe()) == 0
    monkeypatch.setitem(sys.modules, "xarray", SimpleNamespace(DataArray=lambda array, **rest: (array.shape, rest)))
    arrays = extract(encoder, texts, batch_cells=1).to_xarray()
    shape = (encoder.n_layers, encoder.n_heads)
    assert [(each, rest["attrs"]["sentence"]) for each, rest in arrays] == [
        ((*shape, n, n), text) for n, text in zip((3, 8, 4), texts, strict=True)
    ]

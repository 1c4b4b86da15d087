"""Pairs of words as gold: read from a file, checked against the corpus, and counted as enhanced dependencies are."""

from __future__ import annotations

import pytest

from attentionology import CorpusError, CountOptions, OptionError, Sentence, Treebank, analyze, load_run, load_treebank
from attentionology.analyses import AblationOptions, DecisionOptions, DependencyOptions, FailureOptions
from attentionology.corpora_loaders import pairs as module
from attentionology.corpora_loaders.pairs import read_pairs, with_pairs
from attentionology.engine.surveying.options import SurveyOptions
from attentionology.engine.surveying.plan import check_survey
from attentionology.extractors import extract
from tests import tiny

WORDS = Treebank((Sentence("a", ("A", "B", "C", "D")), Sentence("b", ("E", "F", "G"))))
PAIRS = "a\t1\t3\tnear\na\t1\t4\tnear\na\t3\t1\tnear\na\t2\t4\tfar\nb\t1\t3\tfar\n"


def options(path):
    return [CountOptions(replicates=20), DependencyOptions(pairs=path)]


def test_pairs_become_enhanced_dependencies(write):
    corpus = with_pairs(WORDS, write("sentence\tword\tpartner\tlabel\n\n" + PAIRS))
    assert [sentence.deps for sentence in corpus] == [("3:near|4:near", "4:far", "1:near", "_"), ("3:far", "_", "_")]
    assert corpus.enhanced_relations == {"near": 2, "far": 2}
    assert WORDS[0].deps == ()


def test_pairs_of_a_large_corpus_are_put_into_its_stream(write, monkeypatch):
    corpus = load_treebank("sample", limit=5)
    path = write("".join(f"{sentence.id}\t1\t2\tx\n" for sentence in corpus))
    held = list(with_pairs(corpus, path))
    monkeypatch.setattr(module, "HELD", 0)
    paired = with_pairs(corpus, path)
    assert [list(paired), list(paired[1:3]), paired[4]] == [held, held[1:3], held[4]]
    assert paired.counts() == corpus.counts()
    assert paired == with_pairs(corpus, path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\t1\t2\tx\na\t1\t5\tx\n", r":2: sentence 'a': there is no word 5; the sentence has 4"),
        ("a\t1\t2\tx\nc\t1\t2\tx\n", r":2: sentence 'c': the corpus has no sentence with this id"),
        ("a\t2\t2\tx\n", r":1: sentence 'a': word 2 is its own partner"),
        ("a\t1\t2\n", r":1: expected four columns .*; found 3"),
        ("a\t1\t2\tx\na\tone\ttwo\tx\n", r":2: the word is 'one', not a number from 1"),
        ("a\t1\t0\tx\n", r":1: the partner is '0'"),
        ("a\t1\t2\ta|b\n", r":1: the label is 'a\|b'"),
        ("a\t1\t2\t \n", r":1: the label is ''"),
        ("sentence\tword\tpartner\tlabel\n", r"the file has no pairs"),
    ],
)
def test_mistakes_are_told_with_their_line(write, text, message):
    with pytest.raises(CorpusError, match=message):
        with_pairs(WORDS, write(text))


def test_a_word_counts_once_for_each_label_and_is_right_if_any_partner_is_found(write):
    encoder, path = tiny.encoder("bert"), write(PAIRS)
    run = analyze(encoder, WORDS, analyses="dependency", options=options(path))
    expected: dict[tuple[str, int, int, str], tuple[int, int]] = {}
    partners = {("a", 1, "near"): {3, 4}, ("a", 3, "near"): {1}, ("a", 2, "far"): {4}, ("b", 1, "far"): {3}}
    for batch in extract(encoder, WORDS):
        for sentence, maps in batch.unpadded():
            n = len(sentence)
            of_words = maps[..., 1 : n + 1, 1 : n + 1].copy()
            of_words[..., range(n), range(n)] = -1
            for (name, word, label), wanted in partners.items():
                for layer, head in [(0, 0), (1, 3), (2, 2)] if name == sentence.id else ():
                    for direction, values in (("dep->head", of_words), ("head->dep", of_words.swapaxes(-1, -2))):
                        picked = int(values[layer, head, word - 1].argmax()) + 1
                        key = label, layer + 1, head + 1, direction
                        right, total = expected.get(key, (0, 0))
                        expected[key] = right + (picked in wanted), total + 1
    cells = run.dependency.cells.set_index(["relation", "layer", "head", "direction"])
    assert len(expected) == 12
    for key, counts in expected.items():
        assert tuple(cells.loc[key, ["correct", "total"]]) == counts
    assert dict(run.dependency.best.groupby("relation")["total"].first()) == {
        "all": 4,
        "all-nopunct": 4,
        "all-nopunct-noroot": 4,
        "near": 2,
        "far": 2,
    }
    left_out = {"roots": 0, "empty_nodes": 0, "words_without_head": 3}
    assert run.record["dependency"] == {"trees": "pairs", "left_out": left_out}
    assert len(run.record["options"]["pairs_sha256"]) == 64


def test_the_tree_as_pairs_has_the_counts_of_the_tree(write, tmp_path):
    corpus, encoder = load_treebank("sample", limit=8), tiny.encoder("bert")
    rows = [
        f"{sentence.id}\t{number}\t{head}\t{relation}\n"
        for sentence in corpus
        for number, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1)
        if head
    ]
    tree = analyze(encoder, corpus, analyses="dependency", options=options(None)).dependency
    run = analyze(encoder, corpus, analyses="dependency", options=options(write("".join(rows))), out=tmp_path / "run")
    columns = ["accuracy_low", "accuracy_high", "offset_accuracy", "heldout_accuracy"]
    for relation in ("det", "nsubj", "punct", "all-nopunct-noroot"):
        of_pairs, of_tree = (each.cells[each.cells["relation"] == relation] for each in (run.dependency, tree))
        assert of_pairs[["correct", "total"]].values.tolist() == of_tree[["correct", "total"]].values.tolist()
        of_pairs, of_tree = (each.best[each.best["relation"] == relation] for each in (run.dependency, tree))
        assert of_pairs[columns].values.tolist() == of_tree[columns].values.tolist()
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "taken as a guess at its partner" in page
    assert "know about pairs of words" in page
    assert "enhanced dependencies" not in page.partition("<script")[0]
    assert load_run(tmp_path / "run").dependency.best.equals(run.dependency.best)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([FailureOptions(failures=("best",))], "leave out --pairs"),
        ([DecisionOptions(decisions=("best",))], "leave out --trees and --pairs"),
    ],
)
def test_what_needs_trees_is_refused(write, more, message):
    path = write(PAIRS)
    with pytest.raises(OptionError, match=message):
        analyze(tiny.encoder("bert"), WORDS, analyses="dependency", options=[*options(path), *more])
    with pytest.raises(OptionError, match="--pairs is not for ablation"):
        analyze(tiny.encoder("bert"), WORDS, analyses="ablation", options=[*options(path), AblationOptions()])
    with pytest.raises(OptionError, match="--pairs is a gold of its own"):
        DependencyOptions(pairs=path, trees="enhanced").check()
    with pytest.raises(OptionError, match="--pairs is not for a survey"):
        check_survey(SurveyOptions(dependency=DependencyOptions(pairs=path)))


def test_equal_pairs_are_read_once(write):
    assert read_pairs(write("a\t1\t2\tx\na\t1\t2\tx\n")) == {"a": {1: {(2, "x"): 1}}}


CUPT = """\
# global.columns = ID FORM HEAD DEPREL PARSEME:MWE
1\tAnn\t2\tnsubj\t*
2\ttook\t0\troot\t1:LVC.full;2:VPC
3\ta\t4\tdet\t*
4\twalk\t2\tobj\t1
5\tup\t2\tcompound\t2;1
"""


def test_the_words_of_an_expression_are_pairs(write):
    path = write(CUPT, "a.cupt")
    [sentence] = with_pairs(load_treebank(path), path)
    assert sentence.deps == (
        "_",
        "4:LVC.full|5:LVC.full|5:VPC",
        "_",
        "2:LVC.full|5:LVC.full",
        "2:LVC.full|4:LVC.full|2:VPC",
    )
    assert read_pairs(path)["a.cupt:1"][5][2, "VPC"] == 6  # the line
    with pytest.raises(CorpusError, match="the file has no pairs"):
        read_pairs(write(CUPT.replace("1:LVC.full;2:VPC", "*").replace("2;1", "_").replace("obj\t1", "obj\t*")))

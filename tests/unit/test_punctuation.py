"""Roots and punctuation by what they mean, where relations have other names, against a treebank with new relations."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attentionology import CorpusError, CorpusOptions, CountOptions, Sentence, Treebank, analyze, load_treebank, probe
from attentionology.analyses import (
    DependencyOptions,
    ProbeOptions,
    ProbeTrainingOptions,
    TreebankOptions,
)
from attentionology.analyses.dependency.accuracy import DependencyAccuracy, inventory
from attentionology.analyses.dependency.failures import DependencyFailures
from attentionology.analyses.dependency.picks import PICKS, relationships
from attentionology.analyses.dependency.rules import DependencyRules
from attentionology.analyses.probing import rows
from attentionology.analyses.shared.annotation import Annotation
from attentionology.analyses.shared.options import EnsembleOptions, FailureOptions
from attentionology.corpora_loaders import documents, stream
from attentionology.corpora_loaders.documents import load_documents
from attentionology.corpora_loaders.tree import coarse_relation, counted_relations, is_punct, is_root, plain_relation
from attentionology.probes import scored
from tests import tiny
from tests.corpora import word
from tests.maps import batch_of
from tests.reference import naive

FORMS = ("psi", "koně", ",", "$", "...", "vidí", ".", "§")
LABELS = ("Sb", "Pred", "Obj:x", "AuxX", "AuxK")
SIGNS = {",", "...", ".", "§"}  # of Unicode's category P, in which $ is not


def prague(seed: int, n_sentences: int = 25, tag: str = "N") -> list[Sentence]:
    """Random trees without the relations root and punct; any relation may be that of a root or of a sign."""
    rng = np.random.default_rng(seed)
    sentences = []
    for number in range(n_sentences):
        n = int(rng.integers(1, 10))
        heads = tuple(int(rng.integers(0, i)) for i in range(1, n + 1))  # a head is before its word, or 0
        words = tuple(str(form) for form in rng.choice(FORMS, n))
        relations = tuple(str(label) for label in rng.choice(LABELS, n))
        xpos = tuple("Z" if form in SIGNS else "N" for form in words)
        sentences.append(Sentence(f"s{number}", words, heads, relations, tags=(tag,) * n, xpos=xpos))
    return sentences


def relabeled(sentence: Sentence, is_sign: list[bool]) -> Sentence:
    """The sentence with relations that say what the words are."""
    roles = [
        "punct" if sign else "word" if head else "root" for sign, head in zip(is_sign, sentence.heads, strict=True)
    ]
    return replace(sentence, relations=tuple(roles), punctuation=())


def maps_of(sentences, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.random((2, 3, len(each) + 2, len(each) + 2), dtype=np.float32) for each in sentences]


@pytest.fixture(scope="module")
def encoder():
    return tiny.encoder("bert", max_position_embeddings=200)


BY_FORM = Treebank(tuple(prague(0))).checked()


@pytest.mark.parametrize("coarse", [False, True])
def test_totals_are_those_of_a_treebank_whose_relations_say_what_words_are(coarse):
    """The totals of random trees, against a recount of the same trees with the relations word, root and punct."""
    sentences, maps = list(BY_FORM), maps_of(BY_FORM)
    accuracy = DependencyAccuracy(tuple(inventory(BY_FORM, "basic")), 2, 3, coarse=coarse, replicates=0)
    accuracy.update(batch_of(sentences, maps))
    cells = accuracy.compute().cells
    in_words = [relabeled(each, [form in SIGNS for form in each.words]) for each in sentences]
    right, total = naive.dependency_counts(in_words, [m.astype(np.float64) for m in maps])
    members = {"all": ("word", "root", "punct"), "all-nopunct": ("word", "root"), "all-nopunct-noroot": ("word",)}
    row: Any
    for row in cells[cells["relation"].isin(members)].itertuples():
        names = members[row.relation]
        assert row.total == sum(total[name] for name in names)
        assert row.correct == sum(right[name, row.direction, row.layer, row.head] for name in names)
    assert min(total.values()) > 10
    by_label, words_by_label = naive.dependency_counts(
        [
            replace(each, relations=tuple(map(coarse_relation, each.relations)) if coarse else each.relations)
            for each in sentences
        ],
        [m.astype(np.float64) for m in maps],
    )
    single = cells[~cells["relation"].isin(members)]
    assert set(single["relation"]) == set(words_by_label)
    for row in single.itertuples():
        assert row.total == words_by_label[row.relation]
        assert row.correct == by_label[row.relation, row.direction, row.layer, row.head]


def test_failures_and_rules_count_relations_and_totals_alike():
    sentences, maps = list(BY_FORM), maps_of(BY_FORM)
    failures = DependencyFailures(tuple(inventory(BY_FORM, "basic")), 2, 3)
    failures.update(batch_of(sentences, maps))
    n_of = dict(zip(failures.groups, failures.compute()["total"][:, 0, 0].tolist(), strict=True))
    accuracy = DependencyAccuracy(tuple(inventory(BY_FORM, "basic")), 2, 3, replicates=0)
    accuracy.update(batch_of(sentences, maps))
    assert n_of == accuracy.compute().best.set_index("relation")["total"].to_dict()
    rules = DependencyRules(tuple(BY_FORM.counted.tagged), replicates=0)
    rules.update(batch_of(sentences, maps))
    assert rules.compute().set_index("relation")["total"].to_dict() == dict(BY_FORM.relations)


def test_what_heads_pick_is_punctuation_by_what_it_means():
    for sentence in BY_FORM:
        picked = relationships(sentence)
        for column, form in enumerate(sentence.words):
            others = [row for row in range(len(sentence)) if row != column and sentence.heads[row] != column + 1]
            assert {picked[row, column] == PICKS.index("punctuation") for row in others} <= {form in SIGNS}


def test_probes_score_words_that_are_no_punctuation():
    for sentence in BY_FORM:
        assert scored(sentence).tolist() == [form not in SIGNS for form in sentence.words]
    words = rows.TestedWords.of(list(BY_FORM))
    assert words.scored.tolist() == [form not in SIGNS for each in BY_FORM for form in each.words]
    assert words.relation.tolist() == [name for each in BY_FORM for name in each.relations]


def test_names_of_relations_say_what_words_are_only_where_relations_do_not():
    sentence = Sentence("s", tuple("abcd"), (0, 1, 0, None), ("root", "punct:x", "dep", "root"), punctuation=())
    assert counted_relations(sentence)[:3] == ("root", "punct:x", "dep\troot")
    marked = replace(sentence, punctuation=(True, False, False, True))
    assert counted_relations(marked) == ("root\tpunctuation", "punct:x\tword", "dep\troot", "root\tpunctuation")
    for name in counted_relations(marked):
        assert plain_relation(name) in sentence.relations
        assert coarse_relation(name).split("\t")[0] == plain_relation(name).split(":")[0]
    assert [(is_punct(name), is_root(name)) for name in counted_relations(marked)] == [
        (True, False), (False, False), (False, True), (True, False)
    ]  # fmt: skip


# which rule decides


def treebank(relations: str, tags: str, forms: str = "Ann reads .", heads=(2, 0, 2)) -> str:
    """A treebank of two equal sentences, with the language-specific tag z of the last word."""
    columns = zip(forms.split(), heads, relations.split(), tags.split(), strict=True)
    rows = [word(n, form, head, name, upos=tag) for n, (form, head, name, tag) in enumerate(columns, start=1)]
    return "".join([*rows[:-1], rows[-1].replace("\t_\t_\t", "\tz\t_\t", 1), "\n"]) * 2


RULES = {
    "the relation punct": (treebank("Sb Pred punct:x", "N V PUNCT"), (), "relation", ["punct:x"]),
    "the relation, not the tag": (treebank("punct root Obj", "N V PUNCT"), (), "relation", ["punct"]),
    "the tag, not the form": (treebank("Sb Pred Obj", "PUNCT V N"), (), "tag", ["Sb"]),
    "the form": (treebank("Sb Pred AuxK", "N V Z"), (), "form", ["AuxK"]),
    "the relation root": (treebank("Sb root Obj", "N V Z", "Ann reads it"), (), "relation", []),
    "nothing": (treebank("Sb Pred Obj", "N V Z", "Ann reads it"), (), "none", []),
    "a named relation": (treebank("Sb Pred AuxK", "N V Z"), ("AuxK", "AuxX"), "names", ["AuxK"]),
    "a named relation in place of punct": (treebank("Sb root punct", "N V Z"), ("Sb",), "names", ["Sb"]),
    "a named subtype": (treebank("Sb Pred Aux:K", "N V Z"), ("Aux",), "names", ["Aux:K"]),
    "a named part of speech": (treebank("Sb Pred AuxK", "N V Z"), ("V",), "names", ["Pred"]),
    "a named tag of the language": (treebank("Sb Pred AuxK", "N V Q"), ("z",), "names", ["AuxK"]),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("held", [stream.HELD, 0])
def test_the_first_rule_that_finds_a_word_decides(write, monkeypatch, name, held):
    text, names, rule, expected = RULES[name]
    monkeypatch.setattr(stream, "HELD", held)
    bank = load_treebank(write(text), punctuation=names)
    assert (bank.counted.punctuation.rule, bank.counted.punctuation.words) == (rule, 2 * len(expected))
    for sentence in itertools.chain(bank, bank[1:], [bank[0]]):
        found = [plain_relation(counted) for counted in counted_relations(sentence) if is_punct(counted)]
        assert found == expected
    assert bool(bank.counted.punctuation.remarks()) == (rule != "relation")
    for remark in bank.counted.punctuation.remarks():
        assert remark in bank.remarks()


def test_names_that_no_word_has_are_an_error(write):
    with pytest.raises(
        CorpusError, match=r"no word has the relation or part of speech AuxX or Q \(--punctuation\); there are"
    ):
        load_treebank(write(treebank("Sb Pred AuxK", "N V Z")), punctuation=("AuxX", "Q"))


def test_a_part_of_a_treebank_keeps_its_marks(write):
    bank = load_treebank(write(treebank("Sb Pred AuxK", "N V Z")))
    assert bank[:1].counted.punctuation.words == 1
    assert [sentence.punctuation for sentence in bank[:1]] == [(False, False, True)]


def test_sentences_of_documents_are_marked_too(write, monkeypatch):
    text = "# global.Entity = eid\n" + treebank("Sb Pred AuxK", "N V Z").replace("\t_\n", "\tEntity=(e1)\n", 1)
    path = write(text)
    for held in (documents.HELD_IN_DOCUMENTS, 0):
        monkeypatch.setattr(documents, "HELD_IN_DOCUMENTS", held)
        corpus = load_documents(path)
        assert [sentence.punctuation for sentence in corpus] == [(False, False, True)] * 2
        assert corpus.counted.punctuation.rule == "form"
    assert [s.punctuation for s in load_documents(path, punctuation=("Sb",))] == [(True, False, False)] * 2


# in runs


def test_a_row_that_would_be_that_of_all_words_is_left_out_with_a_remark(write, encoder):
    path = write(treebank("Sb Pred Obj", "N V Z", "Ann reads it"))
    options = [
        CountOptions(replicates=0),
        FailureOptions(("best",)),
        EnsembleOptions(2),
        DependencyOptions(spanning_trees=True),
    ]
    run = analyze(encoder, path, analyses="dependency", options=options)
    assert run.dependency.best["relation"].tolist()[:2] == ["all", "all-nopunct-noroot"]
    assert set(run.dependency.cells["relation"]) == {"all", "all-nopunct-noroot", "Sb", "Pred", "Obj"}
    (remark,) = [remark for remark in run.record["corpus"]["remarks"] if "punctuation" in remark]
    assert remark.startswith("No word is known to be punctuation")
    named = analyze(
        encoder, path, analyses="dependency", options=[CountOptions(replicates=0), CorpusOptions(punctuation=("z",))]
    )
    totals = named.dependency.best.set_index("relation")["total"]
    assert totals.loc[["all", "all-nopunct", "all-nopunct-noroot"]].tolist() == [6, 4, 2]


def test_words_without_relations_are_in_the_totals_alone(write, encoder):
    path = write(treebank("_ _ _", "NOUN VERB PUNCT"))
    run = analyze(encoder, path, analyses="dependency", options=CountOptions(replicates=0))
    totals = run.dependency.best.set_index("relation")["total"].to_dict()
    assert totals == {"all": 6, "all-nopunct": 4, "all-nopunct-noroot": 2}
    assert "No word has a relation, so words are counted in totals alone." in run.record["corpus"]["remarks"]


def test_the_case_of_prague(data_file, encoder):
    path = data_file("cases/prague.conllx")
    run = analyze(encoder, path, analyses="dependency", options=CountOptions(replicates=0))
    totals = run.dependency.best.set_index("relation")["total"].to_dict()
    assert totals == {"all": 15, "all-nopunct": 10, "all-nopunct-noroot": 5, "AuxK": 5, "Pred": 5, "Sb": 5}
    assert "Punctuation is known by its characters" in " ".join(run.record["corpus"]["remarks"])


def test_a_probe_leaves_out_punctuation_by_what_it_means(write, encoder):
    text = treebank("Sb Pred AuxK", "N V Z") * 3
    options = [
        ProbeOptions(controls=("none",)),
        ProbeTrainingOptions(recipe="paper", seeds=1),
        CountOptions(replicates=0),
    ]
    run = probe(encoder, test=write(text), options=[TreebankOptions(folds=2), *options])
    assert set(run.tables["probe"]["total"]) == {2 * 6}
    named = TreebankOptions(folds=2, punctuation=("Sb", "AuxK"))
    assert set(probe(encoder, test=write(text), options=[named, *options]).tables["probe"]["total"]) == {6}


def test_the_explorer_knows_the_marks(write):
    for text, expected in (
        (treebank("Sb Pred AuxK", "N V Z"), (False,) * 3 + (True, False)),
        (treebank("a root punct", "X X X"), ()),
    ):
        sentence = load_treebank(write(text))[0]
        annotation = Annotation.of(batch_of([sentence], maps_of([sentence])), 0)
        assert annotation.punctuation == expected
        assert Annotation.decode(annotation.encode()) == annotation
        assert (b"punctuation" in annotation.encode()) == bool(expected)

"""Enhanced dependencies as the gold: counts against a recount of the column DEPS, with a parser of its own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from attentionology import CorpusError, OptionError, Sentence, analyze, compare, load_treebank
from attentionology.analyses.dependency.accuracy import DependencyAccuracy, RowChoice
from attentionology.analyses.dependency.options import DependencyOptions
from attentionology.analyses.shared.merged_facts import MergeError
from attentionology.analyses.shared.options import CountOptions, EnsembleOptions, FailureOptions
from attentionology.corpora_loaders.enhanced import enhanced_heads, enhanced_relations
from attentionology.engine.cite import cite_run
from attentionology.engine.merge import merge_runs
from attentionology.extractors import extract
from tests import tiny
from tests.maps import batch_of, one_head
from tests.reference.naive_enhanced import assert_equal, recount

WORDS = """\
# sent_id = control
1 Ann _ PROPN _ _ 2 nsubj 2:nsubj|4:nsubj:xsubj _
2 wants _ VERB _ _ 0 root 0:root _
3 to _ PART _ _ 4 mark 4:mark _
4 sing _ VERB _ _ 2 xcomp 2:xcomp _
5 . _ PUNCT _ _ 2 punct 2:punct _

# sent_id = shared
1 Birds _ NOUN _ _ 3 nsubj 3:nsubj|5:nsubj _
2-3 don't _ _ _ _ _ _ _ _
2 do _ AUX _ _ 3 aux 3:aux|5:aux _
3 sing _ VERB _ _ 0 root 0:root _
4 and _ CCONJ _ _ 5 cc 5:cc _
5 fly _ VERB _ _ 3 conj 0:root|3:conj:and _
6 over _ ADP _ _ 7 case 7:case _
7 Kent _ PROPN _ _ 5 obl 5:obl:over|3:obl:in _

# sent_id = elided
1 Ann _ PROPN _ _ 2 nsubj 2:nsubj _
2 likes _ VERB _ _ 0 root 0:root _
3 tea _ NOUN _ _ 2 obj 2:obj _
4 and _ CCONJ _ _ 5 cc 5.1:cc _
5 Bob _ PROPN _ _ 2 conj 5.1:nsubj _
5.1 likes _ VERB _ _ _ _ 2:conj:and _
6 coffee _ NOUN _ _ 5 orphan 5.1:obj|3:conj:and _
7 now _ ADV _ _ 2 advmod _ _
"""
CONLLU = WORDS.replace(" ", "\t").replace("#\tsent_id\t=\t", "# sent_id = ")
UNIONS = (("modifiers", ("obl:over", "obl:in")), ("both", ("nsubj", "nsubj:xsubj")))


def metric(treebank: Any, *, coarse: bool = False, unions: Any = (), replicates: int = 0) -> DependencyAccuracy:
    relations = tuple(treebank.enhanced_relations)
    return DependencyAccuracy(relations, 2, 3, coarse=coarse, trees="enhanced", unions=unions, replicates=replicates)


def random_maps(sentences: Any, seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.random((2, 3, len(s) + 2, len(s) + 2), dtype=np.float32) for s in sentences]


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_a_recount_of_the_column(seed, coarse):
    treebank = load_treebank(from_string=CONLLU)
    maps = random_maps(treebank, seed)
    unions = (("core", ("nsubj", "obj")), ("verbs", ("xcomp", "conj"))) if coarse else UNIONS
    counts = metric(treebank, coarse=coarse, unions=unions)
    counts.update(batch_of(list(treebank), maps))
    tables = counts.compute(RowChoice((), unions))
    assert_equal(tables.best, tables.cells, recount(CONLLU, maps, coarse=coarse, unions=unions))


def test_what_is_left_out_and_what_is_counted_make_up_the_whole_column():
    treebank = load_treebank(from_string=CONLLU)
    counts = metric(treebank)
    for sentence, maps in zip(treebank, random_maps(treebank, 0), strict=True):
        counts.update(batch_of([sentence], [maps]))
    # The roots are wants, sing, fly and likes; 5.1 is the head of and, Bob and coffee. Without another head are wants,
    # sing, likes, and, Bob, and now, which has no enhanced dependency.
    assert counts.left_out.tolist() == [4, 3, 6]
    words = counts.compute().best.set_index("relation")["total"]
    assert words["all"] + 6 == sum(map(len, treebank)) == 19
    assert (words["nsubj"], words["nsubj:xsubj"], words["aux"]) == (3, 1, 1)
    assert dict(treebank.enhanced_relations) == words.drop(["all", "all-nopunct", "all-nopunct-noroot"]).to_dict()
    dependencies = sum(len(cell.split("|")) for sentence in treebank for cell in sentence.deps if cell != "_")
    assert sum(len(enhanced_heads(sentence).arcs) for sentence in treebank) == dependencies - 4 - 3


def of_subject(sentence: Sentence, values: list[list[float]]) -> list[int]:
    """Right and scored subjects of a sentence with the map of one head."""
    counts = DependencyAccuracy(tuple(enhanced_relations([sentence])), 1, 1, trees="enhanced", replicates=0)
    counts.update(batch_of([sentence], [one_head(values)]))
    cells = counts.compute().cells
    (row,) = cells[(cells["relation"] == "nsubj") & (cells["direction"] == "dep->head")].to_dict("records")
    return [row["correct"], row["total"]]


@pytest.mark.parametrize(("picked", "right"), [(3, 1), (5, 1), (2, 0), (7, 0)])
def test_one_of_two_heads_of_one_relation_has_to_be_found(picked, right):
    """*Birds* is the subject of *sing* (3) and of *fly* (5)."""
    birds = load_treebank(from_string=CONLLU)[1]
    values = [[0.0] * 7 for _ in range(7)]
    values[0][picked - 1] = 1.0
    assert of_subject(birds, values) == [right, 1]


def test_two_heads_that_are_attended_to_alike_are_both_right():
    """Whichever of them float64 would pick, float32 need not know it to count the word as right."""
    birds = load_treebank(from_string=CONLLU)[1]
    values = [[0.0] * 7 for _ in range(7)]
    values[0][2] = values[0][4] = 1.0
    assert of_subject(birds, values) == [1, 1]


def test_parts_in_any_order_give_the_same_bits_and_other_trees_are_not_added_up():
    treebank = load_treebank(from_string=CONLLU)
    maps = random_maps(treebank, 3)
    whole = metric(treebank, unions=UNIONS, replicates=20)
    whole.update(batch_of(list(treebank), maps))
    parts = metric(treebank, unions=UNIONS, replicates=20)
    for index in (2, 0, 1):
        part = metric(treebank, unions=UNIONS, replicates=20)
        part.update(batch_of([treebank[index]], [maps[index]]))
        parts.merge_state(part)
    apart = metric(treebank, unions=UNIONS, replicates=20)
    for index in range(3):  # a metric of one text has fewer relations
        text = treebank[index : index + 1]
        part = metric(text, unions=UNIONS, replicates=20)
        part.update(batch_of(list(text), [maps[index]]))
        apart.absorb(part)
    for other in (parts, apart):
        assert all(other.metric_state[name].equal(state) for name, state in whole.metric_state.items())
    spoilt = metric(treebank, unions=(("modifiers", ("obl:over",)), UNIONS[1]), replicates=20)
    spoilt.merge_state(whole)
    with pytest.raises(ValueError, match="cannot be added up"):
        spoilt.compute()


def test_memory_is_told_before_it_is_taken():
    arguments: dict[str, Any] = {"relations": ("nsubj", "obj", "nmod:of"), "n_layers": 2, "n_heads": 3, "replicates": 7}
    told = DependencyAccuracy.state_bytes(**arguments, trees="enhanced", unions=UNIONS)
    counts = DependencyAccuracy(**arguments, trees="enhanced", unions=UNIONS)
    large = 2 * counts.counts.nbytes + counts.bootstrap.nbytes  # the initial zeros are kept
    assert large <= told <= large + 100


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("2", "'2', not HEAD:RELATION"),
        ("2:", "'2:', not"),
        ("2:nsubj|x:obj", "'x:obj', not"),
        ("7:nsubj", "the head 7, which"),
        ("2.1:nsubj", "the head 2.1, which"),
        ("1:nsubj", "the head 1, which"),
    ],
)
def test_mistakes_have_a_place(cell, message, tmp_path):
    path = tmp_path / "wrong.conllu"
    path.write_text(CONLLU.replace("2:nsubj|4:nsubj:xsubj", cell), encoding="utf-8")
    with pytest.raises(CorpusError, match=f"wrong.conllu:2: sentence 'control': .* of word 1 .*{message}"):
        enhanced_relations(load_treebank(path))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs with enhanced dependencies of two texts, of both, and one with basic trees."""
    folder = tmp_path_factory.mktemp("enhanced")
    first, second = CONLLU.split("\n\n", 1)
    for name, text in (("a", first + "\n\n"), ("b", second), ("ab", CONLLU)):
        (folder / f"{name}.conllu").write_text(text, encoding="utf-8")
    model = tiny.encoder(max_position_embeddings=64)

    def run(name: str, *corpus: str, **options: Any):
        groups = [CountOptions(replicates=20, min_count=1), DependencyOptions(**options)]
        files = [folder / f"{each}.conllu" for each in corpus]
        return analyze(model, files, analyses="dependency", options=groups, out=folder / name)

    enhanced: dict[str, Any] = {"trees": "enhanced", "group": ("core=nsubj,obj",)}
    run("A", "a", **enhanced)
    run("B", "b", **enhanced)
    return folder, model, run("AB", "a", "b", **enhanced), run("basic", "ab", group=("core=nsubj,obj",))


def test_a_run_counts_what_a_recount_does_and_says_what_was_left_out(runs):
    folder, model, run, _ = runs
    treebank = load_treebank([folder / "a.conllu", folder / "b.conllu"])
    exact = {batch.sentences[0].id: batch.exact([0])[0].numpy() for batch in extract(model, treebank, batch_cells=1)}
    maps = [exact[sentence.id] for sentence in treebank]
    expected = recount(CONLLU, maps, unions=(("core", ("nsubj", "obj")),))
    results = run["dependency"]
    assert_equal(results.best, results.cells, expected)
    record = json.loads((folder / "AB" / "run.json").read_text())
    assert record["options"]["trees"] == "enhanced"
    left_out = {"roots": 4, "empty_nodes": 3, "words_without_head": 6}
    assert record["dependency"] == {"trees": "enhanced", "left_out": left_out}
    (fact,) = [fact for fact in results.map_facts if fact.startswith("gold:")]
    assert fact.endswith("4 heads that are the root, 3 that are empty nodes, and hence 6 words that have no other head")
    page = (folder / "AB" / "report.html").read_text()
    assert fact in page
    assert "dependency_rules" not in page
    assert "rules that know parts of speech are counted for basic trees only" in page
    assert "roots count as wrong" not in page
    assert "· enhanced dependencies" in (folder / "AB" / "figures" / "dependency_heads.svg").read_text()
    assert "the enhanced dependencies (column DEPS)" in cite_run(folder / "AB").methods


def test_basic_trees_say_nothing_of_enhanced_ones(runs):
    folder, _, _, run = runs
    record = json.loads((folder / "basic" / "run.json").read_text())
    assert record["options"]["trees"] == "basic"
    assert "dependency" not in record
    assert run["dependency"].best.set_index("relation")["total"]["root"] == 3
    page = (folder / "basic" / "report.html").read_text()
    assert "roots count as wrong" in page
    assert "several heads" not in page
    assert "the enhanced" not in page


def test_merged_runs_are_the_run_over_both_texts(runs):
    folder, _, run, _ = runs
    merged = merge_runs([folder / "A", folder / "B"], folder / "merged")
    for table in ("dependency", "dependency_best"):
        one, other = (folder / name / "tables" / f"{table}.csv" for name in ("merged", "AB"))
        assert one.read_bytes() == other.read_bytes()
    assert merged.record["dependency"] == run.record["dependency"]


def test_runs_of_different_trees_are_compared_and_not_merged(runs):
    folder, model, run, _ = runs
    with pytest.raises(MergeError, match="differ in --trees: enhanced and basic"):
        merge_runs([folder / "AB", folder / "basic"], folder / "both")
    groups = [CountOptions(replicates=20, min_count=1), DependencyOptions(group=("core=nsubj,obj",))]
    files = [folder / "a.conllu", folder / "b.conllu"]
    basic = analyze(model, files, analyses="dependency", options=groups)
    comparison = compare(run, basic, min_count=1)
    assert "The runs differ in these options: --trees (enhanced and basic)." in comparison.notes[0]
    rows = comparison.table.set_index("group")
    assert {"all", "core", "nsubj", "case"} <= set(rows.index)
    assert set(rows["paired"]) == {"paired"}


@pytest.mark.parametrize(
    ("options", "analyses", "message"),
    [
        ({"spanning_trees": True}, "dependency", "--failures, --ensembles and --spanning-trees need basic trees"),
        ({}, "dependency,ablation", "--trees enhanced is not for ablation"),
        ({"relations": ("nmod:off",)}, "dependency", "none of the relations nmod:off"),
        ({"group": ("nsubj:xsubj=nsubj,obj",)}, "dependency", "'nsubj:xsubj' is the name of a relation"),
    ],
)
def test_what_needs_one_head_for_each_word_is_refused(options, analyses, message):
    groups = [CountOptions(replicates=0), DependencyOptions(trees="enhanced", **options)]
    with pytest.raises(OptionError, match=message):
        analyze(tiny.encoder(), load_treebank(from_string=CONLLU), analyses=analyses, options=groups)


@pytest.mark.parametrize("refused", [FailureOptions(failures=("best",)), EnsembleOptions(2)])
def test_failures_and_ensembles_are_refused(refused):
    groups = [CountOptions(replicates=0), DependencyOptions(trees="enhanced"), refused]
    with pytest.raises(OptionError, match="--failures, --ensembles and --spanning-trees need basic trees"):
        analyze(tiny.encoder(), load_treebank(from_string=CONLLU), analyses="dependency", options=groups)


def test_a_file_without_enhanced_dependencies_is_named(tmp_path):
    (tmp_path / "with.conllu").write_text(CONLLU, encoding="utf-8")
    bare = tmp_path / "without.conllu"
    bare.write_text("1\tBirds\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tsing\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    groups = [CountOptions(replicates=0), DependencyOptions(trees="enhanced")]
    with pytest.raises(CorpusError, match=r"without.conllu: no word has enhanced .*; leave out --trees enhanced"):
        analyze(tiny.encoder(), [tmp_path / "with.conllu", bare], analyses="dependency", options=groups)
    surface = load_treebank(tmp_path / "with.conllu", tokens="surface")
    with pytest.raises(OptionError, match=r"needs the syntactic words.* leave out --tokens"):
        analyze(tiny.encoder(), surface, analyses="dependency", options=groups)
    with pytest.raises(OptionError, match="--trees is basic or enhanced, not 'both'"):
        DependencyOptions(trees="both").check()  # type: ignore[arg-type]

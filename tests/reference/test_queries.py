"""Texts with queries: their formats, the classifier that attends to a text given a query, and its explanation tests."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from scipy.stats import kendalltau
from torch import nn

from attentionology import explain, load_encoder, load_labeled
from attentionology.analyses import ClassifierOptions, ClassifierTrainingOptions, TextOptions
from attentionology.analyses.explanation.methods.correlation import tau_figure
from attentionology.corpora_loaders import CorpusError
from attentionology.extractors import (
    LinearAttentionModel,
    TanhAttentionModel,
    TransformerAttention,
    WordsWithQuery,
    drop,
    probabilities,
)
from attentionology.extractors.tokens.tokenizer import needs_space
from attentionology.probes.classifiers import PUBLISHED, AttentionClassifier, QueryClassifier, Vocabulary
from tests import tiny

PERSONS, PLACES = (
    ("Mary", "John", "Daniel", "Sandra"),
    ("bathroom", "hallway", "garden", "office", "kitchen", "bedroom"),
)


def stories(count: int, seed: int) -> tuple[list[str], list[int]]:
    """The lines of bAbI's first task, and which sentence of its story supports each answer, from 0."""
    rng = random.Random(seed)
    lines, facts = [], []
    for _ in range(count):
        moves = [(rng.choice(PERSONS), rng.choice(PLACES)) for _ in range(rng.randint(2, 8))]
        who = rng.choice(sorted({person for person, _ in moves}))
        fact = max(k for k, (person, _) in enumerate(moves) if person == who)
        verbs = [rng.choice(("moved", "went")) for _ in moves]
        told = zip(moves, verbs, strict=True)
        lines += [f"{k} {person} {verb} to the {place}." for k, ((person, place), verb) in enumerate(told, start=1)]
        lines.append(f"{len(moves) + 1} Where is {who}? \t{moves[fact][1]}\t{fact + 1}")
        facts.append(fact)
    return lines, facts


def write(path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n")
    return str(path)


class TestFormats:
    def test_stories(self, tmp_path):
        path = write(
            tmp_path / "qa1.txt",
            *("1 Mary moved to the hall.", "2 Where is Mary? \thall\t1", "3 John left.", "4 Is he gone?\tyes\t3 1", ""),
            *("1 Sandra sat.", "2 Who sat?\tSandra\t1"),
        )
        texts = load_labeled(path)
        assert texts.labels == ("hall", "yes", "Sandra")
        assert texts.queries == (("Where", "is", "Mary", "?"), ("Is", "he", "gone", "?"), ("Who", "sat", "?"))
        first = ("Mary", "moved", "to", "the", "hall", ".")
        assert [text.words for text in texts] == [first, (*first, "John", "left", "."), ("Sandra", "sat", ".")]
        assert [text.line for text in texts] == [2, 4, 7]
        assert texts[1:].queries == texts.queries[1:]

    def test_a_broken_story(self, tmp_path):
        path = write(tmp_path / "qa1.txt", "1 Mary sat.", "2 Who sat?\tMary\t1", "John left.")
        with pytest.raises(CorpusError, match=r"qa1\.txt:3: expected a numbered sentence, or a question"):
            load_labeled(path)

    def test_lines_with_labels_are_not_stories(self, tmp_path):
        assert load_labeled(write(tmp_path / "a.txt", "1 a fine film", "2 a dull film")).queries == ()

    def test_pairs_of_snli(self, tmp_path):
        pair = {"sentence1": "It isn't.", "sentence2": "It is!", "sentence1_binary_parse": "( It ( ( is n't ) . ) )"}
        rows = [{**pair, "gold_label": label} for label in ("neutral", "-", "entailment")]
        texts = load_labeled(write(tmp_path / "snli.jsonl", *map(json.dumps, rows)))
        assert texts.labels == ("neutral", "entailment")
        assert texts.undecided == 1
        assert (texts[0].words, texts.queries[0]) == (("It", "is", "n't", "."), ("It", "is!"))
        assert any("left out: 1." in remark for remark in texts.remarks())

    def test_tables(self, tmp_path):
        tsv = write(
            tmp_path / "a.tsv", "label\ttext\tquery", "yes\tthe dog barks\tdoes it", "no\tcats sleep\tdo they bark"
        )
        texts = load_labeled(tsv, query="query")
        assert texts.queries == (("does", "it"), ("do", "they", "bark"))
        assert texts.labels == ("yes", "no")
        lines = write(tmp_path / "a.jsonl", '{"label": 1, "text": "x y", "q": ["z", "u"]}')
        assert load_labeled(lines, query="q").queries == (("z", "u"),)
        assert load_labeled(tsv).queries == ()
        with pytest.raises(CorpusError, match=r"a\.tsv:2: the query is empty"):
            load_labeled(write(tmp_path / "a.tsv", "label\ttext\tquery", "yes\tthe dog\t "), query="query")
        with pytest.raises(CorpusError, match=r"a\.tsv:1: expected columns 'text' and 'label' and 'q'"):
            load_labeled(tsv, query="q")
        with pytest.raises(ValueError, match="different columns, not both 'label'"):
            load_labeled(tsv, query="label")

    def test_texts_with_and_without_queries(self, tmp_path):
        plain = write(tmp_path / "plain.txt", "yes the dog barks")
        story = write(tmp_path / "qa.txt", "1 Mary sat.", "2 Who sat?\tMary\t1")
        with pytest.raises(CorpusError, match=r"plain\.txt:1: this text has no query"):
            load_labeled([story, plain])
        with pytest.raises(CorpusError, match="some files have texts with queries"):
            explain(story, test=plain)


def test_a_query_goes_with_its_text():
    text = WordsWithQuery(("a", "b"), ("who",))
    assert text == WordsWithQuery(["a", "b"], ["who"])
    assert hash(text) == hash(WordsWithQuery(["a", "b"], ["who"]))
    assert text != WordsWithQuery(("a", "b"), ("what",))
    assert text != ("a", "b")
    assert drop(text, 0) == WordsWithQuery(("b",), ("who",))
    assert len({text, ("a", "b"), WordsWithQuery(("a", "b"), ("what",))}) == 3


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def naive_probabilities(model: QueryClassifier, text: Any, alpha=None) -> tuple[Any, Any]:
    """The attention and the class probabilities by the formulas, in float64 and for one text."""
    p = {name: value.double().numpy() for name, value in model.state_dict().items()}
    rows = {word: row for row, word in enumerate(model.vocabulary.words, start=5)}

    def states(words, prefix):
        embedded = np.stack([p["table.weight"][row] for row in (2, *(rows.get(word, 1) for word in words), 3)])
        if model.config["encoder"] == "none":
            return embedded
        if model.config["encoder"] == "average":
            return np.tanh(embedded @ p[f"{prefix}.linear.weight"].T + p[f"{prefix}.linear.bias"])
        lstm = nn.LSTM(embedded.shape[1], model.config["size"] // 2, batch_first=True, bidirectional=True).double()
        named = {"": "ahead", "_reverse": "back"}
        lstm.load_state_dict({
            f"{name}_l0{end}": torch.tensor(p[f"{prefix}.{part}.{name}_l0"])
            for end, part in named.items()
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        })  # fmt: skip
        out, (last, _) = lstm(torch.tensor(embedded)[None])
        last_states[prefix] = last.flatten().detach().numpy()
        return out[0].detach().numpy()

    last_states: dict[str, Any] = {}
    h = states(text, "encoder")[1:-1]
    asked = states(text.query, "query_encoder")
    q = last_states.get("query_encoder", asked.mean(0))
    if model.config["attention"] == "additive":
        both = np.tanh(h @ p["attend.text.weight"].T + p["attend.text.bias"] + q @ p["attend.query.weight"].T)
        scores = both @ p["attend.score.weight"][0]
    else:
        scores = h @ q / np.sqrt(len(q))
    alpha = softmax(scores) if alpha is None else alpha
    both = np.tanh(alpha @ h @ p["from_text.weight"].T + p["from_text.bias"] + q @ p["from_query.weight"].T)
    logits = both @ p["decoder.weight"].T + p["decoder.bias"]
    return alpha, softmax(logits if len(logits) > 1 else np.array([0, logits[0]]))


def random_pairs(count: int, seed: int = 0) -> list[WordsWithQuery]:
    rng = random.Random(seed)
    words = [f"w{k}" for k in range(12)]
    return [
        WordsWithQuery(rng.choices(words, k=rng.randint(2, 9)), rng.choices(words, k=rng.randint(1, 5)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("attention", ["additive", "dot"])
@pytest.mark.parametrize("encoder", ["lstm", "average", "none"])
def test_the_classifier_computes_its_formulas(encoder, attention):
    pairs, rng = random_pairs(20), np.random.default_rng(0)
    for classes in (("a", "b", "c"), ("a", "b")):
        model = QueryClassifier(encoder, attention, dimensions=6, size=None if encoder == "none" else 6)
        model.build(Vocabulary.of(pairs[:15]), classes)
        with torch.no_grad():
            model.table.weight[1] = 0.3  # of unknown words
            state = model.encode(pairs)
            other = torch.zeros(len(pairs), 2, 1, state.alpha.shape[-1])
            for row, text in enumerate(pairs):
                other[row, :, 0, : len(text)] = torch.from_numpy(rng.dirichlet(np.ones(len(text)), 2))
            own = model.decode(state, state.alpha[:, None])[:, 0].softmax(-1)
            changed = model.decode(state, other).softmax(-1)
        for row, text in enumerate(pairs):
            alpha, expected = naive_probabilities(model, text)
            np.testing.assert_allclose(state.alpha[row, 0, : len(text)], alpha, atol=1e-6)
            np.testing.assert_allclose(own[row], expected, atol=1e-6)
            for k in range(2):
                given = other[row, k, 0, : len(text)].double().numpy()
                np.testing.assert_allclose(changed[row, k], naive_probabilities(model, text, given)[1], atol=1e-6)


@pytest.mark.parametrize("classes", [("a", "b", "c"), ("a", "b")])
def test_hidden_units_of_single_words_give_the_logits_of_any_attention(classes):
    """The units are those before tanh, so that they are mixed as the words are."""
    pairs = random_pairs(9)
    model = QueryClassifier("average", dimensions=6, size=6).build(Vocabulary.of(pairs), classes).double()
    assert isinstance(model, TanhAttentionModel)
    assert not isinstance(model, LinearAttentionModel)
    state = model.encode(pairs)
    units, weights, bias = model.hidden_units(state)
    alpha = torch.rand(len(pairs), 3, 1, state.alpha.shape[-1], dtype=torch.float64) * state.mask[:, None, None]
    alpha /= alpha.sum(-1, keepdim=True)
    logits = (alpha[:, :, 0] @ units).tanh() @ weights + bias
    assert logits.shape[-1] == len(classes)
    torch.testing.assert_close(model.decode(state, alpha), logits)


def test_the_last_state_of_a_cnn_is_its_largest_values():
    pairs = random_pairs(6)
    model = QueryClassifier("cnn", dimensions=6, size=8).build(Vocabulary.of(pairs), ("a", "b"))
    state: Any = model.encode(pairs)
    for row, text in enumerate(pairs):
        alone: Any = model.encode([text])  # padding has no influence
        torch.testing.assert_close(state.query[row], alone.query[0])
        ids = torch.tensor([[2, *model.vocabulary.ids(text.query), 3]])
        states = model.query_encoder(model.table(ids), torch.tensor([ids.shape[1]]))
        torch.testing.assert_close(alone.query[0], states[0].amax(0))


def test_what_cannot_be_read():
    model = QueryClassifier("none", dimensions=4).build(Vocabulary.of(random_pairs(3)), ("a", "b"))
    with pytest.raises(ValueError, match="texts with queries"):
        model.encode([("a", "b")])


def test_a_saved_classifier_reads_queries_again(tmp_path):
    pairs = random_pairs(12)
    model = QueryClassifier("average", dimensions=6).fit(pairs, ["a", "b", "c"] * 4)
    model.save(tmp_path / "classifier.safetensors")
    loaded = AttentionClassifier.load(tmp_path / "classifier.safetensors")
    assert isinstance(loaded, QueryClassifier)
    assert torch.equal(probabilities(loaded, pairs), probabilities(model, pairs))
    plain = write(tmp_path / "plain.txt", *(f"a fine film number {k}" for k in range(3)))
    with pytest.raises(CorpusError, match="these are texts without queries"):
        explain(model=tmp_path / "classifier.safetensors", test=plain)
    AttentionClassifier("none").fit([("fine",), ("dull",)], ["a", "b"]).save(tmp_path / "plain.safetensors")
    story = write(tmp_path / "qa.txt", "1 Mary sat.", "2 Who sat?\ta\t1")
    with pytest.raises(CorpusError, match="these are texts with queries"):
        explain(model=tmp_path / "plain.safetensors", test=story)


@pytest.mark.slow
def test_questions_are_answered_from_the_sentence_that_supports_them(tmp_path):
    lines, _ = stories(1600, seed=0)
    train = load_labeled(write(tmp_path / "train.txt", *lines))
    lines, facts = stories(200, seed=1)
    test = load_labeled(write(tmp_path / "test.txt", *lines))
    texts, tested = (
        [WordsWithQuery(text.words, query) for text, query in zip(part, part.queries, strict=True)]
        for part in (train, test)
    )
    recipe = replace(PUBLISHED, epochs=15, learning_rate=0.003)
    model = QueryClassifier("lstm", dimensions=50, size=64, random_state=1).fit(texts, train.labels, recipe=recipe)
    answers = [model.classes[index] for index in probabilities(model, tested).argmax(-1).tolist()]
    assert np.mean([answer == label for answer, label in zip(answers, test.labels, strict=True)]) > 0.95
    supported = [
        int(model.encode([text]).alpha.argmax()) // 6 == fact for text, fact in zip(tested, facts, strict=True)
    ]  # each sentence has six words
    assert np.mean(supported) > 0.95


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    """Three classes: the query names a word, and the label is the word after it in the text, or none."""
    folder, rng = tmp_path_factory.mktemp("pairs"), random.Random(0)
    rows = ["label\ttext\tquery"]
    for _ in range(300):
        keys = rng.sample(["k1", "k2", "k3", "k4"], 3)
        values = [rng.choice(["red", "green"]) for _ in keys]
        words = [part for key, value in zip(keys, values, strict=True) for part in (key, value, rng.choice(["u", "v"]))]
        asked = rng.choice(["k1", "k2", "k3", "k4"])
        label = values[keys.index(asked)] if asked in keys else "none"
        rows.append(f"{label}\t{' '.join(words)}\twhere is {asked}")
    path = write(folder / "pairs.tsv", *rows)
    options = [
        TextOptions(query_column="query", limit=30),
        ClassifierOptions(encoder="average", dimensions=12),
        ClassifierTrainingOptions(epochs=4),
    ]
    return explain(path, tests="all", options=options, out=folder / "run", cache=folder / "cache"), folder / "run"


@pytest.mark.slow
def test_every_test_runs_on_pairs_of_three_classes(explained):
    explanation, _ = explained
    assert isinstance(explanation.model, QueryClassifier)
    assert explanation.results.classes == ("green", "none", "red")
    assert dict(explanation.results.left_out) == {}
    assert set(explanation.verdicts["test"]) >= {
        "correlation",
        "permutation",
        "adversarial",
        "erasure",
        "removal",
        "eraser",
    }
    assert explanation.texts.filter(like="tau").notna().all(axis=None)


@pytest.mark.slow
def test_the_verdict_is_about_the_farthest_attention_of_both_searches(explained):
    explanation, folder = explained
    texts = explanation.texts
    assert (texts["farthest_jsd"] == texts[["two_word_jsd", "adversarial_jsd"]].max(axis=1)).all()
    assert texts["two_word_jsd"].mean() > texts["adversarial_jsd"].mean() + 0.02
    verdicts = explanation.verdicts
    (row,) = verdicts[verdicts["test"] == "adversarial"].to_dict("records")
    assert row["smaller"] == "farthest_jsd"
    assert row["difference"] == pytest.approx((texts["permutation_jsd"] - texts["farthest_jsd"]).mean())
    assert any(note.startswith("On average, the JSD found by gradient is") for note in explanation.results.notes)
    assert "On average, the JSD found by gradient is" in (folder / "report.html").read_text()
    measures = set(explanation.results.tables["regularizers"]["measure"])
    assert "two_word_jsd" in measures
    assert not {"exact_jsd", "farthest_jsd"} & measures


@pytest.mark.slow
def test_leave_one_out_keeps_the_query(explained):
    explanation, folder = explained
    texts = load_labeled(folder.parent / "pairs.tsv", query="query")
    pairs = {text.id: WordsWithQuery(text.words, query) for text, query in zip(texts, texts.queries, strict=True)}
    for row in explanation.texts.head(20).to_dict("records"):
        text = pairs[row["id"]]
        alpha, whole = naive_probabilities(explanation.model, text)
        assert row["probability"] == pytest.approx(whole.max(), abs=1e-5)
        shorter = [naive_probabilities(explanation.model, drop(text, k))[1] for k in range(len(text))]
        changes = [0.5 * np.abs(whole - each).sum() for each in shorter]
        # Nearly equal numbers are ties in the results; none of these texts may hang on one.
        if min(np.diff(np.sort(changes))) > 1e-6 and min(np.diff(np.sort(alpha))) > 1e-5:
            assert row["tau_loo"] == pytest.approx(kendalltau(alpha, changes).statistic)


@pytest.mark.slow
def test_pages_and_figures_show_the_query_and_each_class(explained):
    explanation, folder = explained
    page = (folder / "report.html").read_text()
    examples = explanation.results.examples
    assert examples
    for example in examples:
        assert example.query[:2] == ("where", "is")
        assert f"Query: {' '.join(example.query)}" in page
    figure: Any = tau_figure(explanation.results, "")
    lines = figure.axes[0].get_lines()
    colors = {line.get_label(): line.get_color() for line in lines if line.get_label().startswith("predicted")}
    predicted = {explanation.results.classes[c] for c in explanation.texts["predicted"].unique()}
    assert set(colors) == {f"predicted: {name}" for name in predicted}
    assert len(set(colors.values())) == len(predicted) > 1


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta"])
@pytest.mark.parametrize("query", ["cls", "all"])
def test_transformers_read_pairs(family, query):
    # Only the tokenizer of the demo model makes pairs with special tokens and segments.
    encoder = tiny.encoder(family)
    tokenizer = encoder.tokenizer if family == "roberta" else load_encoder("demo").tokenizer
    config = copy.deepcopy(encoder.model.config)
    config.num_labels, config.vocab_size = 3, len(tokenizer)
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    attention = TransformerAttention(model, tokenizer, query=query)
    pairs = [
        WordsWithQuery(("The", "dog", "barks"), ("Who", "barks", "?")),
        WordsWithQuery(("Cats",), ("Do", "they", "?")),
    ]
    for indices in attention.batches(pairs):
        state: Any = attention.encode([pairs[i] for i in indices])
        own = attention.decode(state, state.alpha[:, None])[:, 0]
        assert state.alpha.shape[-1] == max(len(pairs[i]) for i in indices)
        for row, index in enumerate(indices):
            text = pairs[index]
            space = " " if needs_space(tokenizer) else ""
            sides = [[space + word for word in words] for words in (text, text.query)]
            inputs = tokenizer(*sides, is_split_into_words=True, return_tensors="pt")
            if family == "bert":
                n = inputs.input_ids.shape[1]
                assert state.segment_ids[row, :n].tolist() == inputs.token_type_ids[0].tolist()
                assert state.segment_ids[row].any()
            else:
                inputs.pop("token_type_ids", None)
            with torch.no_grad():
                expected = model(**inputs).logits[0]
            torch.testing.assert_close(own[row], expected, atol=1e-5, rtol=1e-4)
            word_of = [word for word in state.word_of[row].tolist() if word >= 0]
            assert sorted(set(word_of)) == list(range(len(text)))


def test_a_pair_that_is_too_long_cannot_be_read():
    encoder = tiny.encoder("bert")
    encoder.model.config.num_labels = 2
    model = transformers.AutoModelForSequenceClassification.from_config(encoder.model.config)
    attention = TransformerAttention(model, encoder.tokenizer)
    short, long = WordsWithQuery(("dog",), ("cat",)), WordsWithQuery(("dog",), ("cat",) * 70)
    first, second = attention.readable([short, long])
    assert first is None
    assert second
    assert "pieces" in second

"""Documents: their formats, the classifier that attends to words and then to sentences, and its explanation tests."""

from __future__ import annotations

import itertools
import json
import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.text import Text
from torch import nn

from attentionology import explain, load_labeled
from attentionology.analyses import ClassifierOptions, ClassifierTrainingOptions, ExplanationTestOptions, TextOptions
from attentionology.analyses.contract import OptionError
from attentionology.analyses.explanation.attention.batch import read
from attentionology.analyses.explanation.attention.exact_adversary import is_solvable
from attentionology.analyses.explanation.attention.measures import jsd, tvd
from attentionology.analyses.explanation.attention.two_words import decoders, farthest_on_two_words
from attentionology.analyses.explanation.methods.adversarial import exact_adversary
from attentionology.analyses.explanation.showing.section import explain_figures, explain_table
from attentionology.corpora_loaders import CorpusError
from attentionology.extractors import drop, probabilities
from attentionology.probes.classifiers import PUBLISHED, AttentionClassifier, HierarchicalClassifier, Vocabulary

NEUTRAL = [f"w{k}" for k in range(40)]


def documents(count: int, seed: int) -> tuple[list[dict[str, Any]], list[int]]:
    """Documents of 3 to 9 sentences, each with a word of judgment; the one that is marked decides."""
    rng = random.Random(seed)
    found, marked = [], []
    for _ in range(count):
        size, label = rng.randint(3, 9), rng.randrange(2)
        decisive = rng.randrange(size)
        sentences = []
        for k in range(size):
            words = rng.choices(NEUTRAL, k=rng.randint(3, 8))
            words.insert(rng.randrange(len(words)), ("bad", "good")[label if k == decisive else rng.randrange(2)])
            sentences.append(" ".join((["overall"] if k == decisive else []) + words))
        found.append({"sentences": sentences, "label": label})
        marked.append(decisive)
    return found, marked


def write(path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n")
    return str(path)


class TestFormats:
    def test_json_lines(self, tmp_path):
        rows = [
            {"sentences": ["It rains .", " ", "A fine film ."], "label": "pos"},
            {"sentences": ["No ."], "label": "neg"},
        ]
        texts = load_labeled(write(tmp_path / "a.jsonl", *map(json.dumps, rows)))
        assert texts.reads == "sentences"
        assert [text.words for text in texts] == [("It rains .", "A fine film ."), ("No .",)]
        assert texts.labels == ("pos", "neg")
        assert texts.counts()["words"] == texts.files[0].words == 9
        assert texts[1:].reads == "sentences"

    def test_blocks_of_lines(self, tmp_path):
        path = write(tmp_path / "a.txt", "pos It  rains .", "A fine film .", "", "", "neg\tNo .")
        texts = load_labeled(path, blocks=True)
        assert [text.words for text in texts] == [("It rains .", "A fine film ."), ("No .",)]
        assert (texts.labels, [text.line for text in texts]) == (("pos", "neg"), [1, 5])
        assert load_labeled(path).reads == "words"

    def test_documents_beside_texts(self, tmp_path):
        rows = ['{"sentences": ["No ."], "label": 0}', '{"text": "No .", "label": 1}']
        with pytest.raises(CorpusError, match=r"some texts are lists of sentences, as that of .*a\.jsonl:1"):
            load_labeled(write(tmp_path / "a.jsonl", *rows))


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def naive(model: HierarchicalClassifier, document: tuple[str, ...]) -> tuple[Any, Any]:
    """The attention to sentences and the class probabilities, sentence by sentence in float64."""
    p = {name: value.double() for name, value in model.state_dict().items()}

    def lstm(prefix: str, inputs: Any) -> Any:
        size = model.config["size"]
        both = nn.LSTM(inputs.shape[1], size // 2, batch_first=True, bidirectional=True).double()
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        both.load_state_dict(
            {
                f"{name}_l0{end}": p[f"{prefix}.{part}.{name}_l0"]
                for end, part in (("", "ahead"), ("_reverse", "back"))
                for name in names
            }
        )
        return both(inputs[None])[0][0]

    def attention(prefix: str, states: Any) -> Any:
        hidden = (states @ p[f"{prefix}.0.weight"].T + p[f"{prefix}.0.bias"]).tanh()
        return torch.tensor(softmax((hidden @ p[f"{prefix}.2.weight"].T)[:, 0].detach().numpy()))

    vectors = []
    for sentence in document:
        rows = torch.tensor(model.vocabulary.ids(tuple(sentence.split())))
        states = lstm("word_encoder", p["table.weight"][rows])
        vectors.append(attention("attend_words", states) @ states)
    states = lstm("encoder", torch.stack(vectors))
    alpha = attention("attend", states)
    logit = (alpha @ states @ p["decoder.weight"].T + p["decoder.bias"]).detach().numpy()
    return alpha.numpy(), softmax(np.array([0, logit[0]]))


def test_the_classifier_computes_its_formulas():
    texts = [tuple(each["sentences"]) for each in documents(20, 3)[0]]
    model = HierarchicalClassifier(dimensions=6, size=8)
    model.build(Vocabulary.of([model.words_read(text) for text in texts[:10]]), ("a", "b"))
    with torch.no_grad():
        model.table.weight[1] = 0.2  # of unknown words
        state = model.encode(texts)
        found = model.decode(state, state.alpha[:, None])[:, 0].softmax(-1)
    for row, text in enumerate(texts):
        alpha, expected = naive(model, text)
        np.testing.assert_allclose(state.alpha[row, 0, : len(text)], alpha, atol=1e-6)
        np.testing.assert_allclose(found[row], expected, atol=1e-6)
        assert state.word_of[row][state.word_of[row] >= 0].bincount().tolist() == [len(s.split()) for s in text]
    assert is_solvable(model)


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c")])
def test_the_farthest_attention_on_two_sentences_is_that_of_a_scan(classes):
    """Whatever the number of classes; with two, the exact adversary is the same."""
    texts = [tuple(each["sentences"]) for each in documents(12, 5)[0]]
    model = HierarchicalClassifier(dimensions=6, size=8)
    model.build(Vocabulary.of([model.words_read(text) for text in texts]), classes)
    with torch.no_grad():
        model.decoder.weight.mul_(40)  # with its first weights, no sentence changes the output by more than ε
    model.double()
    batch = read(model, [str(index) for index in range(len(texts))], texts)
    found = [farthest_on_two_words(decoder, alpha, 0.02).jsd for decoder, alpha in decoders(batch)]
    scan = torch.zeros(len(texts), 0, 1, batch.alpha.shape[-1], dtype=torch.float64)
    weights = torch.linspace(0, 1, 201, dtype=torch.float64)
    for i, j in itertools.combinations(range(scan.shape[-1]), 2):
        mixed = torch.zeros(201, 1, scan.shape[-1], dtype=torch.float64)
        mixed[:, 0, i], mixed[:, 0, j] = weights, 1 - weights
        scan = torch.cat([scan, mixed.expand(len(texts), -1, -1, -1)], dim=1)
    inside = (scan * ~batch.mask[:, None, None]).sum((2, 3)) == 0
    allowed = inside & (tvd(batch.decoded(scan), batch.probabilities[:, None]) <= 0.02)
    best = jsd(scan, batch.alpha[:, None]).mean(-1).masked_fill(~allowed, 0.0).amax(1)
    assert best.mean() > 0.1
    assert (best.numpy() <= np.array(found) + 1e-9).all()
    np.testing.assert_allclose(found, best.numpy(), atol=0.02)
    if len(classes) == 2:
        np.testing.assert_allclose(found, exact_adversary(batch, epsilon=0.02)["exact_jsd"], atol=2e-9)


def test_gradients_are_those_of_the_words_of_a_sentence():
    texts = [tuple(each["sentences"]) for each in documents(5, 4)[0]]
    model = HierarchicalClassifier(dimensions=6, size=8)
    model.build(Vocabulary.of([model.words_read(text) for text in texts]), ("a", "b"))
    state = model.encode(texts, gradient=True)
    model.decode(state, state.alpha.detach()[:, None])[:, 0, 1].sum().backward()
    gradient = state.embeddings.grad
    assert gradient is not None
    assert (gradient[state.word_of < 0] == 0).all()
    assert (gradient[state.word_of >= 0].abs().sum(-1) > 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"encoder": "lstm"}, "documents are read by the encoder 'han'"),
        ({"regularizer": "mlm"}, "for classifiers of words"),
    ],
)
def test_what_cannot_be_made(arguments, message):
    with pytest.raises(ValueError, match=message):
        HierarchicalClassifier(**arguments)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    train, _ = documents(400, 0)
    test, marked = documents(120, 1)
    return (
        write(folder / "train.jsonl", *map(json.dumps, train)),
        write(folder / "test.jsonl", *map(json.dumps, test)),
        marked,
    )


@pytest.fixture(scope="module")
def explained(files, tmp_path_factory):
    train, test, _ = files
    out = tmp_path_factory.mktemp("han") / "run"
    options = [
        TextOptions(limit=30),
        ClassifierOptions(encoder="han", dimensions=30),
        ClassifierTrainingOptions(epochs=2, learning_rate=0.005),
        ExplanationTestOptions(steps=20, draws=20),
    ]
    tests = "correlation permutation adversarial erasure removal single-token eraser guided".split()
    with pytest.raises(OptionError, match="--tests guided: it trains classifiers of words"):
        explain(train, test=test, tests="guided", options=options[:3])
    return explain(train, test=test, tests=tests[:-1], options=options, out=out), out


@pytest.mark.slow
def test_the_marked_sentence_gets_the_weight(files):
    train, test, marked = files
    texts, tested = load_labeled(train), load_labeled(test)
    recipe = replace(PUBLISHED, epochs=12, learning_rate=0.005)
    model = HierarchicalClassifier(dimensions=30, size=32).fit([t.words for t in texts], texts.labels, recipe=recipe)
    answers = probabilities(model, [t.words for t in tested]).argmax(-1).tolist()
    assert np.mean([model.classes[i] == label for i, label in zip(answers, tested.labels, strict=True)]) > 0.9
    assert (
        np.mean([int(model.encode([t.words]).alpha.argmax()) == at for t, at in zip(tested, marked, strict=True)]) > 0.8
    )


@pytest.mark.slow
def test_sentences_are_what_is_deleted(explained, files):
    explanation, _ = explained
    texts = {text.id: text.words for text in load_labeled(files[1])}
    assert isinstance(explanation.model, HierarchicalClassifier)
    for row in explanation.texts.head(10).to_dict("records"):
        document = texts[row["id"]]
        assert row["words"] == len(document)
        alpha, whole = naive(explanation.model, document)
        assert row["max_attention"] == pytest.approx(alpha.max(), abs=1e-5)
        assert row["probability"] == pytest.approx(whole.max(), abs=1e-5)
        shorter = naive(explanation.model, drop(document, int(alpha.argmax())))[1]
        assert shorter.shape == whole.shape


@pytest.mark.slow
def test_everything_speaks_of_sentences(explained):
    explanation, out = explained
    results = explanation.results
    assert results.item == "sentence"
    assert "Does it matter which sentence gets which weight?" in set(results.verdicts["question"])
    assert (
        not results.verdicts[["question", "compared", "meaning"]]
        .apply(lambda each: each.str.contains(r"\bwords?\b"))
        .any(axis=None)
    )
    for figure in explain_figures(results, "").values():
        assert not [text.get_text() for text in figure.findobj(Text) if re.search(r"\bwords?\b", text.get_text())]
    page = re.sub(r"<(script|style).*?</\1>", "", (out / "report.html").read_text(), flags=re.DOTALL)
    shown = re.sub(r"<[^>]+>", " ", page[page.index("How to read the verdicts") : page.index("were read.")])
    assert "most attended sentence" in shown
    sampled = shown.replace("by a hash of their words", "")  # in which way texts were sampled
    assert not re.findall(r".{0,60}\b[Ww]ords?\b.{0,60}", sampled)
    assert explain_table(results, width=100)
    words_again = explain_figures(results._replace(item="word"), "")["explain_permutation"]
    assert [text for text in words_again.findobj(Text) if "word" in text.get_text()]


@pytest.mark.slow
def test_a_saved_classifier_reads_documents_again(explained, files, tmp_path):
    explanation, out = explained
    loaded = AttentionClassifier.load(out / "classifier.safetensors")
    assert isinstance(loaded, HierarchicalClassifier)
    texts = [text.words for text in load_labeled(files[1])[:20]]
    assert torch.equal(probabilities(loaded, texts), probabilities(explanation.model, texts))
    plain = write(tmp_path / "plain.txt", *(f"a fine film number {k}" for k in range(3)))
    with pytest.raises(
        CorpusError, match="these are texts without queries, and the model reads documents of sentences"
    ):
        explain(model=out / "classifier.safetensors", test=plain)


def test_encoders_and_files_that_do_not_fit(files, tmp_path):
    with pytest.raises(OptionError, match="documents are read by the encoder 'han', not by 'lstm'"):
        explain(files[0])
    lines = write(tmp_path / "a.csv", "text,label", *(f"a fine film {k},{k % 2}" for k in range(60)))
    with pytest.raises(OptionError, match="the encoder han is for documents"):
        explain(lines, options=[ClassifierOptions(encoder="han")])

"""Made-up data for the explorer: real sentences, and attention that is random but consistent with its measures.

Accuracies are counted from the guesses of the sampled sentences, so numbers and pictures agree. Head 1-2 always finds
the syntactic head of a determiner, and head 2-1 that of an object more often than not.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.reports.explorer.data import Writing

NO_GUESS = 65535
DIRECTIONS = ("dep->head", "head->dep")
HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "שלום",
    "e\u0301\u0323a",
    "&amp;",
)


def packed(values: NDArray[Any]) -> str:
    """Deflate an array without a header, and encode it in base64."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, -15)
    return base64.b64encode(compressor.compress(values.tobytes()) + compressor.flush()).decode()


def hostile_sentence() -> Sentence:
    relations = ("det", "obj", "root", "obj", "det")
    return Sentence("hostile <b>&\"'#=", HOSTILE, heads=(2, 3, 0, 3, 4), relations=relations, document="<i>hostile</i>")


def long_sentence(words: int) -> Sentence:
    return Sentence(
        f"long-{words}",
        tuple(f"word{i}" for i in range(1, words + 1)),
        heads=(0, *range(1, words)),
        relations=("root", *("det" if i % 3 else "obj" for i in range(1, words))),
        document="long",
    )


def attention(sentence: Sentence, layers: int, heads: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Random attention of shape (layers, heads, n + 2, n + 2) between the words and two special tokens."""
    n = len(sentence) + 2
    logits = generator.normal(0, 1, (layers, heads, n, n))
    logits[..., 0] += np.linspace(0, 3, layers)[:, None, None]
    logits[0, 0, range(1, n), range(n - 1)] += 5  # the previous token
    for word, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1):
        if head:
            logits[0, 1, word, head] += 20 * (relation == "det")
            logits[1, 0, word, head] += 4 * (relation == "obj")
    weights = np.exp(logits)
    return np.asarray(weights / weights.sum(-1, keepdims=True))


def guesses(weights: NDArray[np.float64]) -> dict[str, NDArray[np.uint16]]:
    """The most attended other word of each word, and the other word that attends to it most."""
    n = weights.shape[-1]
    masked = weights.copy()
    masked[..., [0, n - 1]] = masked[..., [0, n - 1], :] = -1
    masked[..., range(n), range(n)] = -1
    result = {DIRECTIONS[0]: masked.argmax(-1).astype(np.uint16), DIRECTIONS[1]: masked.argmax(-2).astype(np.uint16)}
    for guess in result.values():
        guess[..., [0, n - 1]] = NO_GUESS
        if n == 3:
            guess[:] = NO_GUESS
    return result


def sampled(
    sentence: Sentence, maps: dict[str, NDArray[np.float64]], decided: dict[str, NDArray[np.uint16]]
) -> dict[str, Any]:
    """A sentence of the sample. Words whose lemma is repeated are mentions."""
    layers, heads = maps["weight"].shape[:2]
    first = {lemma: i for i, lemma in reversed(list(enumerate(sentence.lemmas, start=1)))}
    repeated = [i for i, lemma in enumerate(sentence.lemmas, start=1) if first[lemma] != i and lemma.isalpha()]
    mentions = [
        {"start": i, "end": i, "entity": sentence.lemmas[i - 1], "type": "repeated"}
        for i in sorted({*repeated, *(first[sentence.lemmas[i - 1]] for i in repeated)})
    ]
    stored = {}
    for kind, values in maps.items():
        scales = np.ones(layers * heads) if kind == "weight" else values.reshape(layers * heads, -1).max(-1)
        shares = values / scales.reshape(layers, heads, 1, 1)
        stored[kind] = {"data": packed(np.rint(shares * 255).astype(np.uint8)), "scales": scales.tolist()}
    return {
        "id": sentence.id,
        "document": sentence.document,
        "file": "made_up.conllu",
        "line": sentence.line,
        "rows": ["[CLS]", *sentence.words, "[SEP]"],
        "columns": None,
        "special": [True, *[False] * len(sentence), True],
        "special_columns": None,
        "heads": [None, *[(head or 0) or -1 for head in sentence.heads], None],
        "relations": [None, *sentence.relations, None],
        "tags": [None, *sentence.tags, None] if sentence.tags else [],
        "mentions": mentions,
        "links": [],
        "maps": stored,
        "guesses": {f"weight/{direction}": packed(guess) for direction, guess in decided.items()},
        "writing": [asdict(Writing.of(("", *sentence.words, ""), (True, *[False] * len(sentence), True)))],
    }


def measure(identifier: str, group: str, label: str, values: NDArray[np.float64], **fields: Any) -> dict[str, Any]:
    numbers = [None if np.isnan(value) else float(value) for value in values]
    return {
        "id": identifier, "group": group, "label": label, "kind": "weight", "unit": "%", "values": numbers,
        "low": None, "high": None, "n": None, "baseline": None, "center": None, "categories": None,
        "relation": None, "direction": None, "note": f"A made-up measure: {label}.",
    } | fields  # fmt: skip


def measures(
    counts: dict[tuple[str, str], tuple[NDArray[np.int64], int]], n_heads: int, entropy: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """The accuracy and the gain of each relation and direction, and one measure of each other sort."""
    result = []
    for (relation, direction), (right, total) in counts.items():
        share, half = right / total, 0.98 / np.sqrt(total)
        name, label = f"dependency/{relation}/{direction}", f"{relation}, {direction.replace('->', ' → ')}"
        common: dict[str, Any] = {"n": total, "relation": relation, "direction": direction}
        bounds = {"low": np.clip(share - half, 0, 1).tolist(), "high": np.clip(share + half, 0, 1).tolist()}
        group = "Dependency accuracy"
        result.append(measure(f"{name}/accuracy/weight", group, label, share, baseline=0.4, **bounds, **common))
        group = "Gain over the best offset"
        result.append(measure(f"{name}/gain/weight", group, label, share - 0.4, center=0, **common))
    clusters = (np.arange(n_heads) % 4).astype(np.float64)
    result.append(measure("surface/entropy", "Surface", "entropy", entropy, unit="nats"))
    result.append(
        measure("clusters/cluster", "Clusters", "cluster", clusters, unit="", categories=["A", "B", "C", "D"])
    )
    name = "surface/entropy as an error"
    result.append(measure(name, "Surface", "entropy as an error", entropy, unit="nats", low_is_best=True))
    undefined = np.where(np.arange(n_heads) % 3 == 0, np.nan, 0.25).astype(np.float64)
    result.append(measure("surface/punctuation", "Surface", "share to punctuation", undefined))
    return result


def made_up(sentences: Sequence[Sentence], layers: int = 6, heads: int = 12, seed: int = 0) -> dict[str, Any]:
    """The data of an explorer, as `json.loads` gives them."""
    generator = np.random.default_rng(seed)
    counts: dict[tuple[str, str], tuple[NDArray[np.int64], int]] = {}
    shown, entropy = [], np.zeros(layers * heads)
    for sentence in sentences:
        weights = attention(sentence, layers, heads, generator)
        norms = weights * generator.uniform(0.2, 3, weights.shape[-1])
        decided = guesses(weights)
        shown.append(sampled(sentence, {"weight": weights, "norm": norms}, decided))
        entropy += (-weights * np.log(weights)).sum(-1).mean(-1).ravel() / len(sentences)
        for direction, guess in decided.items():
            for word, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1):
                for name in ("all", relation) if relation != "root" else ("all",):
                    right, total = counts.get((name, direction), (np.zeros(layers * heads, dtype=np.int64), 0))
                    counts[name, direction] = right + (guess[..., word] == head).ravel(), total + 1
    ordered = dict(sorted(counts.items(), key=lambda item: -item[1][1]))
    return {
        "model": "made-up model",
        "corpus": "made_up.conllu",
        "unit": "sentences",
        "layers": layers,
        "heads": heads,
        "measures": measures(ordered, layers * heads, entropy),
        "cards": [card(i, layers, heads, entropy, generator) for i in range(layers * heads)],
        "findings": [
            {"text": "Head 1-2 finds the noun of every determiner.", "address": finding("1-2", "det")},
            {"text": "Head 2-1 finds most objects, but not all of them.", "address": finding("2-1", "obj")},
        ],
        "sample": {"kinds": ["weight", "norm"], "note": "Sampled by a hash of the words.", "sentences": shown},
    }


def finding(head: str, relation: str) -> str:
    measure = f"dependency/{relation}/dep->head/accuracy/weight"
    return f"#head={head}&relation={relation}&direction=dep->head&measure={measure}"


def card(
    index: int, layers: int, heads: int, entropy: NDArray[np.float64], generator: np.random.Generator
) -> dict[str, Any]:
    names = [f"{i // heads + 1}-{i % heads + 1}" for i in range(layers * heads)]
    return {
        "head": names[index],
        "summary": f"Head {names[index]} spreads its attention: its entropy is {entropy[index]:.2f} nats.",
        "facts": [
            {"label": "entropy", "text": f"{entropy[index]:.2f} nats", "measure": "surface/entropy"},
            {"label": "obj", "text": f"{index} %", "measure": "dependency/obj/dep->head/accuracy/weight"},
            {"label": "rank in the probe", "text": f"{index + 1} of {layers * heads}", "measure": None},
        ],
        "nearest": [other for other in names[max(0, index - 2) : index + 3] if other != names[index]],
        "profile": {"offsets": list(range(-5, 6)), "values": np.abs(generator.normal(0, 0.1, 11)).tolist()},
    }


def sentences(count: int) -> list[Sentence]:
    """The first sentences of the sample treebank, and one whose words must not become markup."""
    return [*list(load_treebank(SAMPLE_TREEBANK))[: count - 1], hostile_sentence()]


def as_text(*runs: dict[str, Any], live: dict[str, Any] | None = None) -> str:
    """A page about one or several runs, as JSON from which no text can break out."""
    text = json.dumps({"runs": runs, "live": live}, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text

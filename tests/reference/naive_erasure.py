"""A small model with attention that can be changed, and naive oracles of erasure: one text and one change at a time."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch

from attentionology.analyses.explanation.attention.batch import generator
from attentionology.extractors.replaceable.attention_model import TextState

VOCABULARY = "the a film plot was is not very good bad dull warm and but ending".split()
MEASURES = ("attention", "gradient", "attention_gradient")


@dataclass(frozen=True, eq=False)
class MassState(TextState):
    """How much attention the words of each text get together, beside what every state has."""

    mass: torch.Tensor


class Fake:
    """Attention over words in some context; logits are linear in it, or would be if the model did not scale it."""

    def __init__(self, classes=2, rows=1, special="keep", seed=0, size=3, pad=1):
        rng = np.random.default_rng(seed)
        self.classes = tuple("abc"[:classes])
        self.special = special
        self.size, self.pad = size, pad
        self.vectors = {word: rng.normal(size=4) for word in VOCABULARY}
        self.query, self.value = rng.normal(size=(rows, 4)), rng.normal(size=(rows, 4, classes))
        self.bias, self.sink = 0.3 * rng.normal(size=classes), rng.normal(size=classes)
        self.read: list[tuple[str, ...]] = []
        self.states_of: dict[tuple[str, ...], np.ndarray] = {}

    def states(self, text):
        if text not in self.states_of:
            self.states_of[text] = self.contextual(text)
        return self.states_of[text]

    def contextual(self, text):
        h = np.array([self.vectors[word] for word in text]).reshape(-1, 4)
        return np.tanh(h + 0.5 * np.roll(h, 1, axis=0) + 0.1 * h.sum(0))

    def weights(self, text):
        scores = np.exp(self.states(text) @ self.query.T).T
        return scores / scores.sum(-1, keepdims=True)

    def to_words(self, text):
        return 1.0 if self.special == "keep" and len(text) % 2 else 0.8 * len(text) / (1 + len(text))

    def logits(self, text, weights):
        """Of one text under one attention (rows, n)."""
        mass = self.to_words(text)
        total = np.zeros(len(self.classes))
        for row, value in zip(weights, self.value, strict=True):
            scale = 1.0
            if self.special == "renormalize":
                scale = 1 / (sum(mass * w for w in row) + 1 - mass)
            total += scale * mass * (np.asarray(row) @ self.states(text) @ value)
            total += scale * (1 - mass) * self.sink
        return self.bias + total

    def batches(self, texts):
        places = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(places), self.size):
            yield places[start : start + self.size]

    def encode(self, texts, *, gradient=False):
        self.read += texts
        n = max(len(text) for text in texts) + self.pad
        alpha, h = torch.zeros(len(texts), len(self.query), n).double(), torch.full((len(texts), n, 4), 7.0).double()
        for i, text in enumerate(texts):
            h[i, : len(text)] = torch.from_numpy(self.states(text))
            alpha[i, :, : len(text)] = torch.from_numpy(self.weights(text))
        mask = torch.tensor([[place < len(text) for place in range(n)] for text in texts]).bool().reshape(len(texts), n)
        places = torch.where(mask, torch.arange(n), -1)
        mass = torch.tensor([self.to_words(text) for text in texts]).double()
        return MassState(tuple(texts), alpha, mask, h, places, mass)

    def attention(self, state):
        return state.alpha, state.mask

    def decode(self, state, alpha):
        mass = state.mass[:, None, None, None]
        said = torch.einsum("bkrn,bnd,rdc->bkrc", alpha * mass, state.embeddings, torch.from_numpy(self.value))
        said = said + (1 - mass) * torch.from_numpy(self.sink)
        if self.special == "renormalize":
            said = said / ((alpha * mass).sum(-1, keepdim=True) + 1 - mass)
        return torch.from_numpy(self.bias) + said.sum(2)

    def embeddings(self, state):
        return state.embeddings

    def scores(self, state):
        return state.alpha.mean(1)


def softmax(x):
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


def jsd(p, q):
    m = (p + q) / 2
    return sum(0.5 * x * math.log(x / z) for v in (p, q) for x, z in zip(v, m, strict=True) if x > 0)


def answer(model, text, weights):
    return softmax(model.logits(text, weights))


def zeroed(model, text, gone):
    """What is said without some words."""
    weights = np.array(model.weights(text))
    for row, place in itertools.product(range(len(weights)), gone):
        weights[row, place] = 0
    for row in weights:
        if model.special == "keep" and len(gone) < len(text):
            row /= row.sum()
    return answer(model, text, weights)


def importance(model, text):
    """Gradients by central differences."""
    weights = model.weights(text)
    y = answer(model, text, weights).argmax()
    slope = np.zeros_like(weights)
    for cell in np.ndindex(weights.shape):
        up, down = weights.copy(), weights.copy()
        up[cell] += 1e-6
        down[cell] -= 1e-6
        slope[cell] = (answer(model, text, up)[y] - answer(model, text, down)[y]) / 2e-6
    return {"attention": weights.mean(0), "gradient": slope.sum(0), "attention_gradient": (weights * slope).sum(0)}


def places_in_order(model, text, text_id, draws):
    """Places from the best on; several where they are drawn."""
    scores = importance(model, text)
    scores["ascending"] = -scores["attention"]
    orders = {name: [np.argsort(-s, kind="stable").tolist()] for name, s in scores.items()}
    drawn = generator(" ".join(text), "removal", 0).random((draws, len(text)))
    return orders | {"random": [np.argsort(-row).tolist() for row in drawn]}


def single(model, text, text_id):
    values: dict[str, float] = {}
    drawn = generator(" ".join(text), "single weight", 0).integers(len(text) - 1, size=3)
    scores = importance(model, text)
    p = answer(model, text, model.weights(text))
    for name, nth in zip(MEASURES, drawn, strict=True):
        best = int(scores[name].argmax())
        other = [place for place in range(len(text)) if place != best][nth]
        jsds = []
        for which, place in (("top", best), ("random", other)):
            q = zeroed(model, text, [place])
            jsds.append(jsd(p, q))
            values[f"single_{name}_{which}_jsd"] = jsds[-1]
            values[f"single_{name}_{which}_flip"] = float(q.argmax() != p.argmax())
        values[f"single_{name}_difference"] = jsds[0] - jsds[1]
        values[f"single_{name}_weight_difference"] = scores["attention"][best] - scores["attention"][other]
    return values


def removal(model, text, text_id, draws=3):
    p, empty = answer(model, text, model.weights(text)), zeroed(model, text, range(len(text)))
    values = {"all_zero_tvd": abs(p - empty).sum() / 2, "removal_never": float(p.argmax() == empty.argmax())}
    attention = model.weights(text).mean(0)
    for name, orders in places_in_order(model, text, text_id, draws).items():
        shares, masses = [], []
        for order in orders:
            for removed in range(1, len(text) + 1):
                if zeroed(model, text, order[:removed]).argmax() != p.argmax():
                    shares.append(removed / len(text))
                    masses.append(sum(attention[place] for place in order[:removed]) / attention.sum())
                    break
        values[f"removal_{name}"] = np.mean(shares) if shares else math.nan
        values[f"removal_{name}_mass"] = np.mean(masses) if masses else math.nan
        values[f"removal_{name}_never"] = 1 - len(shares) / len(orders)
    return values


def whole(model, text):
    return answer(model, text, model.weights(text))


def rationales(model, text, text_id, draws=2):
    values: dict[str, float] = {}
    p = whole(model, text)
    y = p.argmax()
    orders = places_in_order(model, text, text_id, draws)
    for name in (*MEASURES, "random"):
        needed, enough = [], []
        for order, share in itertools.product(orders[name], (0, 0.01, 0.05, 0.10, 0.20, 0.50)):
            k = math.ceil(round(share * len(text), 6))
            rest = tuple(text[place] for place in sorted(order[k:]))
            best = tuple(text[place] for place in sorted(order[:k]))
            needed.append(p[y] - whole(model, rest)[y])
            enough.append(p[y] - whole(model, best)[y])
        values |= {f"comprehensiveness_{name}": np.mean(needed), f"sufficiency_{name}": np.mean(enough)}
    return values


def token(model, text, text_id):
    p = whole(model, text)
    drawn = int(generator(" ".join(text), "single token", 0).integers(len(text)))
    best = int(model.weights(text).mean(0).argmax())
    values: dict[str, float] = {}
    rows = len(model.query)
    for prefix, said in (
        ("", [answer(model, text, np.eye(len(text))[[place] * rows]) for place in range(len(text))]),
        ("alone_", [whole(model, (word,)) for word in text]),
    ):
        values[f"{prefix}single_token_std"] = np.std([q[p.argmax()] for q in said])
        for name, place in (("top", best), ("random", drawn)):
            values[f"{prefix}{name}_token_predicted"] = float(said[place].argmax())
            values[f"{prefix}{name}_token_agrees"] = float(said[place].argmax() == p.argmax())
    return values

"""Map kinds of decoders, against a loop over the modules of the model itself in float64, one family at a time.

Contributions must add up to what the model itself adds to its residual stream, and every kind must be what the loop
gives: grouped queries, RMS norms, norms after the blocks, parallel blocks and gated feed-forward blocks.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
import transformers

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapMaker, ModelError, extract, extract_many, get_kind
from attentionology.extractors.kinds.feed_forward import feed_forward_projections, feed_forward_vectors
from attentionology.extractors.layers.activations import FFBias, activation_slopes
from attentionology.extractors.layers.contributions import contribution_blocks
from attentionology.extractors.maps.norm_batch import mixing_ratios
from attentionology.extractors.model.float64_copy import InFloat64
from attentionology.extractors.tokens.pieces import Pieces
from tests import tiny
from tests.reference.naive_layers import path_slopes

Array = npt.NDArray[np.float64]
SENTENCE = Sentence("a", ("an", "old", "dog", "unbelievably", "barks", "."))
SHORT = Sentence("b", ("hi", "you"))
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{family: (family, {}) for family in tiny.DECODERS},
    "llama, one key-value head": ("llama", {"num_key_value_heads": 1, "attention_bias": True, "mlp_bias": True}),
    "llama, a head per key": ("llama", {"num_key_value_heads": 4, "hidden_act": "gelu"}),
    "phi3, partial rotary": ("phi3", {"num_key_value_heads": 1, "partial_rotary_factor": 0.5, "head_dim": 12,
                                      "hidden_size": 48}),
    "gpt_neox, one block after the other": ("gpt_neox", {"use_parallel_residual": False}),
    "opt, norms after the blocks": ("opt", {"do_layer_norm_before": False}),
    "falcon, new": ("falcon", {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon, new with one norm": ("falcon", {"new_decoder_architecture": True, "num_kv_heads": 2,
                                             "num_ln_in_parallel_attn": 1, "bias": True}),
    "llama, one head in one layer": ("llama", {"num_hidden_layers": 1, "num_attention_heads": 1,
                                               "num_key_value_heads": 1, "head_dim": 24, "mlp_bias": True}),
    "llama, wide heads": ("llama", {"num_key_value_heads": 1, "head_dim": 10, "attention_bias": True}),
    "mistral, one key-value head": ("mistral", {"num_key_value_heads": 1, "head_dim": 10, "num_hidden_layers": 1}),
    "qwen2, window": ("qwen2", {"num_key_value_heads": 1, "use_sliding_window": True, "sliding_window": 8,
                                "max_window_layers": 1}),
    "qwen3, biases": ("qwen3", {"num_key_value_heads": 1, "attention_bias": True, "num_hidden_layers": 1}),
    "gemma2, narrow heads": ("gemma2", {"num_key_value_heads": 1, "head_dim": 4, "attention_bias": True}),
    "gemma3, wide heads": ("gemma3_text", {"num_key_value_heads": 4, "head_dim": 10, "attention_bias": True}),
    "olmo2, one key-value head": ("olmo2", {"num_key_value_heads": 1, "attention_bias": True}),
    "opt, no biases": ("opt", {"enable_bias": False, "word_embed_proj_dim": 12, "num_attention_heads": 1}),
    "gpt_neox, one head": ("gpt_neox", {"num_attention_heads": 1, "num_hidden_layers": 1, "attention_bias": False,
                                        "rotary_pct": 0.25}),
    "bloom, one head": ("bloom", {"n_head": 1, "n_layer": 1}),
    "falcon, one head": ("falcon", {"num_attention_heads": 1, "num_hidden_layers": 1, "bias": True}),
    "falcon, a head per key": ("falcon", {"multi_query": False, "bias": True, "alibi": True}),
    "phi3, window": ("phi3", {"sliding_window": 8, "num_key_value_heads": 4}),
    "falcon, one block after the other": ("falcon", {"multi_query": False, "parallel_attn": False, "alibi": True}),
}  # fmt: skip
KINDS = ("norm", "attn", "attnres", "attnresln", "atbff", "atbffres", "atbffresln", "alti", "alti-l2", "value-zeroing")


def array(tensor: torch.Tensor | None, size: int = 0) -> Array:
    values: Array = np.zeros(size) if tensor is None else tensor.detach().double().numpy()
    return values


class Norm:
    """A layer norm or RMS norm by its formula."""

    def __init__(self, module: Any) -> None:
        self.rms = not isinstance(module, torch.nn.LayerNorm)
        gemma = "Gemma" in type(module).__name__
        self.gamma = array(module.weight) + gemma
        self.beta = array(getattr(module, "bias", None), len(self.gamma))
        self.eps = getattr(module, "variance_epsilon", None) or module.eps

    def deviation(self, y: Array) -> Array:
        centered = y if self.rms else y - y.mean(-1, keepdims=True)
        deviation: Array = np.sqrt((centered**2).mean(-1, keepdims=True) + self.eps)
        return deviation

    def share(self, parts: Array, whole: Array) -> Array:
        """The norm of ``whole`` (query, dim), shared out over its parts (query, key, dim)."""
        parts = parts if self.rms else parts - parts.mean(-1, keepdims=True)
        shared: Array = parts * self.gamma / self.deviation(whole)[:, None]
        return shared

    def __call__(self, y: Array) -> Array:
        centered = y if self.rms else y - y.mean(-1, keepdims=True)
        normed: Array = centered / self.deviation(y) * self.gamma + self.beta
        return normed


class Block:
    """The modules of a layer of one family, as the code of the family uses them."""

    def __init__(self, family: str, layer: Any, config: Any) -> None:
        heads = config.num_attention_heads
        self.family, self.post_norm, self.parallel = family, False, False
        self.before = self.read = self.after_attention = self.after_ff = None
        if family in ("llama", "mistral", "qwen2", "qwen3", "phi3", "gemma2", "gemma3_text", "olmo2"):
            attention, mlp = layer.self_attn, layer.mlp
            self.out, self.down, self.act = attention.o_proj, mlp.down_proj, getattr(mlp, "act_fn", None)
            if family == "phi3":
                self.act, weight = mlp.activation_fn, array(mlp.gate_up_proj.weight)
                units = len(weight) // 2
                self.ff = [(weight[:units].T, np.zeros(units)), (weight[units:].T, np.zeros(units))]
            else:
                self.ff = [self._linear(mlp.gate_proj), self._linear(mlp.up_proj)]
            if family != "olmo2":
                self.before = Norm(layer.input_layernorm)
            if family in ("gemma2", "gemma3_text", "olmo2"):
                self.after_attention = Norm(layer.post_attention_layernorm)
                self.after_ff = Norm(layer.post_feedforward_layernorm)
                self.read = None if family == "olmo2" else Norm(layer.pre_feedforward_layernorm)
            else:
                self.read = Norm(layer.post_attention_layernorm)
        elif family == "opt":
            attention = layer.self_attn
            self.post_norm = not config.do_layer_norm_before
            self.out, self.down, self.act = attention.out_proj, layer.fc2, layer.activation_fn
            self.ff = [self._linear(layer.fc1)]
            self.before, self.read = Norm(layer.self_attn_layer_norm), Norm(layer.final_layer_norm)
        else:
            attention = layer.attention if family == "gpt_neox" else layer.self_attention
            mlp = layer.mlp
            self.out, self.down = attention.dense, mlp.dense_4h_to_h
            self.act = mlp.gelu_impl if family == "bloom" else mlp.act
            self.ff = [self._linear(mlp.dense_h_to_4h)]
            if family == "falcon":
                self.parallel = config.parallel_attn
                two = hasattr(layer, "ln_attn")
                self.before = Norm(layer.ln_attn if two else layer.input_layernorm)
                single = layer.input_layernorm if config.parallel_attn and not two else None
                self.read = Norm(layer.ln_mlp if two else single or layer.post_attention_layernorm)
            else:
                self.parallel = family == "gpt_neox" and config.use_parallel_residual
                self.before, self.read = Norm(layer.input_layernorm), Norm(layer.post_attention_layernorm)
        self.attention, self.config = attention, config
        w_o, _ = self._linear(self.out)
        self.b_o = array(self.out.bias, w_o.shape[1])
        self.w_o = w_o.reshape(heads, -1, w_o.shape[1])
        self.w_2, self.b_2 = self._linear(self.down)

    @staticmethod
    def _linear(module: Any) -> tuple[Array, Array]:
        weight = array(module.weight).T
        return weight, array(module.bias, weight.shape[1])

    def values(self, h: Array) -> Array:
        """(heads, n, size): the value vector of every query head, by the splits of the family's own code."""
        attention, heads, given = self.attention, self.config.num_attention_heads, torch.tensor(h)
        size = self.w_o.shape[1]
        if self.family in ("gpt_neox", "bloom"):
            fused = attention.query_key_value(given).view(len(h), heads, 3, size)
            v = fused[:, :, 2]
        elif self.family == "falcon":
            v = attention._split_heads(attention.query_key_value(given)[None])[2][0]
            v = v.expand(len(h), heads, size) if v.shape[1] == 1 else v
        elif self.family == "phi3":
            kv = self.config.num_key_value_heads
            v = attention.qkv_proj(given)[:, -kv * size :].view(len(h), kv, size)
        else:
            v = attention.v_proj(given).view(len(h), -1, size)
        by_head = [v[:, h // (heads // v.shape[1])] for h in range(heads)]
        return np.stack([array(each) for each in by_head])


class Naive:
    """All vectors of one layer for one sentence, all n² of them."""

    def __init__(self, block: Block, x: Array, alpha: Array) -> None:
        n, itself = len(x), np.eye(len(x))[..., None]
        self.block, self.x, self.alpha = block, x, alpha
        v = block.values(x if block.before is None or block.post_norm else block.before(x))
        self.af = np.stack([alpha[h][..., None] * (v[h] @ block.w_o[h])[None] for h in range(len(alpha))])
        self.given = self.af.sum((0, 2)) + block.b_o
        if block.after_attention is not None:
            self.af = np.stack([block.after_attention.share(each, self.given) for each in self.af])
        self.y = self.af.sum(0)
        self.added = self.given if block.after_attention is None else block.after_attention(self.given)
        self.r = self.y + itself * x[:, None]
        self.p = self.added + x
        if block.post_norm:
            assert block.before is not None
            assert block.read is not None
            self.t, self.a = block.before.share(self.r, self.p), block.before(self.p)
            self.z, ff = self._feed_forward(self.t, self.a)
            self.w = self.z + self.t
            self.q = ff + self.a
            self.o, self.output = block.read.share(self.w, self.q), block.read(self.q)
            return
        whole = x if block.parallel else self.p
        parts = itself * x[:, None] if block.parallel else self.r
        read = parts if block.read is None else block.read.share(parts, whole)
        self.t = self.r if block.parallel else read
        self.a = whole if block.read is None else block.read(whole)
        self.z, ff = self._feed_forward(read, self.a)
        self.w = self.o = self.z + self.r
        self.q = self.output = ff + self.p
        assert self.z.shape == (n, n, x.shape[1])

    def _feed_forward(self, parts: Array, a: Array) -> tuple[Array, Array]:
        """What each part gives by integrated gradients from 0, and what the block adds."""
        block = self.block
        u = [a @ w + b for w, b in block.ff]
        slopes = path_slopes(block.act, [np.zeros_like(each) for each in u], u)
        z = sum(slope[:, None] * (parts @ w) for slope, (w, _) in zip(slopes, block.ff, strict=True)) @ block.w_2
        given = self._units(u) @ block.w_2 + block.b_2
        if block.after_ff is None:
            return z, given
        return block.after_ff.share(z, given), block.after_ff(given)

    def _units(self, u: list[Array]) -> Array:
        assert self.block.act is not None
        given = self.block.act(torch.tensor(u[0]))
        return array(given) * (u[1] if len(u) == 2 else 1)

    def _output(self, given: Array) -> Array:
        """The output of the layer, from what attention gives before any norm."""
        block = self.block
        added = given if block.after_attention is None else block.after_attention(given)
        p = added + self.x
        if block.post_norm:
            assert block.before is not None
            assert block.read is not None
            a = block.before(p)
            return block.read(self._units([a @ w + b for w, b in block.ff]) @ block.w_2 + block.b_2 + a)
        whole = self.x if block.parallel else p
        a = whole if block.read is None else block.read(whole)
        ff = self._units([a @ w + b for w, b in block.ff]) @ block.w_2 + block.b_2
        return p + (ff if block.after_ff is None else block.after_ff(ff))

    def map(self, kind: str) -> Array:
        vectors = {"norm": self.af, "attn": self.y, "attnres": self.r, "attnresln": self.t, "atbff": self.z}
        vectors |= {"atbffres": self.w, "atbffresln": self.o}
        if kind in vectors:
            norms: Array = np.linalg.norm(vectors[kind], axis=-1)
            return norms if kind == "norm" else norms[None]
        if kind == "value-zeroing":
            unnormed = np.stack([self.alpha[h][..., None] * 1.0 for h in range(len(self.alpha))])
            v = self.block.values(
                self.x if self.block.before is None or self.block.post_norm else self.block.before(self.x)
            )
            moved = sum(unnormed[h] * (v[h] @ self.block.w_o[h])[None] for h in range(len(self.alpha)))
            rows = []
            for key in range(len(self.x)):
                changed = self._output(self.given - moved[:, key])
                cosine = (changed * self.output).sum(-1) / np.linalg.norm(changed, axis=-1)
                rows.append(1 - cosine / np.linalg.norm(self.output, axis=-1))
            distances = np.stack(rows, axis=1) * (self.alpha.max(0) > 0)
            return self._distributions(distances)[None]
        order = {"alti": 1, "alti-l2": 2}[kind]
        parts, target = (self.t, self.a) if self.block.post_norm else (self.r, self.p)
        off = np.linalg.norm(parts - target[:, None], ord=order, axis=-1)
        closer = np.maximum(0, np.linalg.norm(target, ord=order, axis=-1)[:, None] - off)
        return self._distributions(closer)[None]

    @staticmethod
    def _distributions(maps: Array) -> Array:
        sums = maps.sum(-1, keepdims=True)
        return np.where(sums > 0, maps / np.where(sums > 0, sums, 1), np.eye(len(maps)))


def naive_of(encoder: Any, sentence: Sentence) -> tuple[list[Naive], list[Array], list[Array]]:
    """All layers of a plain float64 copy of the model, with what its layer modules took and gave."""
    model = copy.deepcopy(encoder.model).double()
    (pieces,) = encoder.align([sentence])
    layers = model.decoder.layers if encoder.family == "opt" else getattr(model, "layers", None) or model.h
    inputs: list[Array] = []
    outputs: list[Array] = []

    def note(module: Any, given: Any, keywords: Any, output: Any) -> None:
        inputs.append(array((given[0] if given else keywords["hidden_states"])[0]))
        outputs.append(array((output if isinstance(output, torch.Tensor) else output[0])[0]))

    for layer in layers:
        layer.register_forward_hook(note, with_kwargs=True)
    with torch.inference_mode(), InFloat64(model):
        attentions = [array(alpha[0]) for alpha in model(torch.tensor([pieces.ids]), output_attentions=True).attentions]
    blocks = [Block(encoder.family, layer, model.config) for layer in layers]
    naive = [Naive(block, x, alpha) for block, x, alpha in zip(blocks, inputs, attentions, strict=True)]
    return naive, inputs, outputs


QUICK = ("llama", "gemma2", "gpt_neox", "phi3, partial rotary", "falcon, new")


@pytest.fixture(scope="module", params=[pytest.param(v, marks=[pytest.mark.slow] * (v not in QUICK)) for v in VARIANTS])
def model(request):
    family, changes = VARIANTS[request.param]
    encoder = tiny.randomize(family, **changes)
    return encoder, *naive_of(encoder, SENTENCE)


def test_the_loop_and_the_layers_compute_what_the_model_computes(model):
    """Contributions and biases add up, to float64 accuracy, to what the modules of the model give."""
    encoder, naive, _, outputs = model
    double = encoder.double
    pieces = [each for each in double.align([SENTENCE]) if isinstance(each, Pieces)]
    with torch.inference_mode():
        layers = list(double.forward(pieces, hidden_states=True).layers())
        for one, layer, output in zip(naive, layers, outputs, strict=True):
            np.testing.assert_allclose(one.output, output, rtol=0, atol=1e-9 * np.abs(output).max())
            weights = layer.weights
            attended = np.zeros_like(output)
            for block in contribution_blocks(layer, [weights.moving]):
                attended[block.queries] += block.vectors[0][0].sum(0).numpy()
            bias = array(weights.b_o)
            if one.block.after_attention is not None:
                norm = one.block.after_attention
                bias = bias * norm.gamma / norm.deviation(one.given) + norm.beta
            np.testing.assert_allclose(attended + bias, one.added, rtol=0, atol=1e-9 * np.abs(one.added).max())
            whole = np.zeros_like(output)
            for block, vectors in feed_forward_vectors(layer, feed_forward_projections(weights)):
                whole[block.queries] += vectors["atbffresln"][0].sum(0).numpy()
            np.testing.assert_allclose(whole, one.o.sum(1), rtol=0, atol=1e-8 * np.abs(output).max())


def test_every_kind_is_what_the_loop_gives(model):
    encoder, naive, _, _ = model
    kinds = list(KINDS)
    if naive[0].block.parallel:
        kinds.remove("atbff")
        with pytest.raises(ModelError, match=r"reads the input of the layer.*atbffres is"):
            list(extract(encoder, [SENTENCE], kind="atbff", level="token"))
    makers = [MapMaker(get_kind(kind), level="token") for kind in kinds]
    (batches,) = extract_many(encoder, [SHORT, SENTENCE], makers)
    n = len(naive[0].x)
    for kind, batch in zip(kinds, batches, strict=True):
        row = [sentence.id for sentence in batch.sentences].index(SENTENCE.id)
        (exact,) = batch.exact([row])
        for number, one in enumerate(naive):
            expected = one.map(kind)
            within = {"rtol": 1e-6, "atol": 1e-9 * expected.max(), "err_msg": kind}
            np.testing.assert_allclose(exact[number, :, :n, :n], expected, **within)
            rounded = batch.maps[row, number, :, :n, :n].double()
            np.testing.assert_allclose(rounded, expected, rtol=0, atol=2e-4 * expected.max(), err_msg=kind)


def test_mixing_ratios_are_what_the_loop_gives(model):
    encoder, naive, _, _ = model
    double = encoder.double
    pieces = [each for each in double.align([SENTENCE]) if isinstance(each, Pieces)]
    vectors = {
        "attn-n": "y",
        "attnres-n": "r",
        "attnresln-n": "t",
        "atbff-n": "z",
        "atbffres-n": "w",
        "atbffresln-n": "o",
    }
    with torch.inference_mode():
        for layer, one in zip(double.forward(pieces, hidden_states=True).layers(), naive, strict=True):
            ratios = mixing_ratios(layer)
            for name, field in vectors.items():
                parts = getattr(one, field)
                itself = np.stack([parts[i, i] for i in range(len(parts))])
                mixed, kept = np.linalg.norm(parts.sum(1) - itself, axis=-1), np.linalg.norm(itself, axis=-1)
                np.testing.assert_allclose(ratios[name][0], mixed / (mixed + kept), rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("family", tiny.DECODERS)
def test_padding_batches_and_order_change_nothing(family):
    encoder = tiny.randomize(family)
    sentences = [SHORT, Sentence("c", ("a", "very", "long", "and", "winding", "road", "leads", "home"))]
    together = {s.id: m for batch in extract(encoder, sentences, kind="atbffres") for (s, m) in batch.unpadded()}
    for sentence in reversed(sentences):
        (batch,) = extract(encoder, [sentence], kind="atbffres")
        ((_, alone),) = batch.unpadded()
        np.testing.assert_allclose(together[sentence.id], alone, rtol=1e-4, atol=1e-5 * alone.max())


@pytest.mark.parametrize("activation", [torch.nn.SiLU(), torch.nn.GELU(), torch.nn.GELU("tanh")], ids=str)
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_gated_slopes_are_integrals_along_the_path(activation, scale):
    rng = np.random.default_rng(0)
    start_u, start_w, u, w = (torch.tensor(scale * rng.normal(size=(40, 3))) for _ in range(4))
    for start in ((torch.zeros(3).double(),) * 2, (start_u[0], start_w[0])):
        fixed: FFBias = "input" if not float(start[0].abs().sum()) else "fixed"
        slopes = activation_slopes(activation, (u, w), start, fixed)
        t, weights = np.polynomial.legendre.leggauss(400)
        at = [
            torch.tensor((t + 1) / 2)[:, None, None] * (end - begin) + begin
            for begin, end in zip(start, (u, w), strict=True)
        ]
        at = [each.requires_grad_() for each in at]
        gradients = torch.autograd.grad((activation(at[0]) * at[1]).sum(), at)
        for slope, gradient in zip(slopes, gradients, strict=True):
            expected = (torch.tensor(weights / 2)[:, None, None] * gradient).sum(0)
            torch.testing.assert_close(slope, expected, rtol=1e-8, atol=1e-9 * scale)


def test_a_gate_without_an_antiderivative_is_refused():
    encoder = tiny.randomize("llama", hidden_act="relu")
    with pytest.raises(ModelError, match="gated by something other than GELU and SiLU"):
        list(extract(encoder, [SENTENCE], kind="atbff"))
    assert len(list(extract(encoder, [SENTENCE], kind="attnresln"))) == 1


def test_layer_norms_after_the_feed_forward_block_are_missing_in_decoders():
    with pytest.raises(ModelError, match="no layer norm follows the feed-forward block"):
        list(extract(tiny.randomize("llama"), [SENTENCE], kind="globenc"))


def test_the_float64_view_computes_in_float64():
    """Llama's own norms and softmax go through float32; the view of the model does not."""
    model = tiny.randomize("llama").model
    exact = copy.deepcopy(model).double()
    ids = torch.tensor([[5, 6, 7, 8, 9, 10]])
    with torch.inference_mode():
        rounded = exact(ids, output_attentions=True).attentions[-1]
        with InFloat64(exact):
            alpha = exact(ids, output_attentions=True).attentions[-1]
    assert (alpha.sum(-1) - 1).abs().max() < 1e-14
    assert (rounded.sum(-1) - 1).abs().max() > 1e-9
    assert isinstance(exact, transformers.PreTrainedModel)


def test_gpt_oss_in_float64_is_its_own_formula():
    """Experts run one by one in the float64 view, and attention is computed here from the inputs of a layer."""
    encoder = tiny.randomize("gpt_oss")
    pieces = [each for each in encoder.align([SENTENCE]) if isinstance(each, Pieces)]
    seen: list[torch.Tensor] = []
    double = encoder.double
    last = double.model.layers[-1].self_attn
    hook = last.register_forward_pre_hook(
        lambda _, args, kwargs: seen.append(kwargs["hidden_states"]), with_kwargs=True
    )
    with torch.inference_mode():
        alpha = double.forward(pieces).attentions[-1]
    hook.remove()
    hidden = seen[-1][0]
    n = len(hidden)
    with torch.inference_mode():
        cos, sin = double.model.rotary_emb(hidden[None], torch.arange(n)[None])
        query, key = (
            part(hidden).view(n, -1, last.head_dim).transpose(0, 1) for part in (last.q_proj, last.k_proj)
        )  # head, position, size
        sinks = last.sinks.double()
    cosine, sine = cos[0].double(), sin[0].double()  # half as many as a head has dimensions
    assert alpha.dtype == hidden.dtype == torch.float64

    def turned(vectors: torch.Tensor) -> torch.Tensor:
        low, high = vectors.chunk(2, -1)
        return torch.cat([low * cosine - high * sine, high * cosine + low * sine], -1)

    query, key = turned(query), turned(key)
    for head in range(len(query)):
        for i in range(n):
            scores = [query[head, i] @ key[head // 2, j] / math.sqrt(last.head_dim) for j in range(i + 1)]
            total = sum(math.exp(score) for score in scores) + math.exp(sinks[head])
            for j, score in enumerate(scores):
                assert float(alpha[0, head, i, j]) == pytest.approx(math.exp(score) / total, rel=1e-11)
    single = encoder.forward(pieces).attentions[-1]
    torch.testing.assert_close(single.double(), alpha, rtol=0, atol=1e-4)


def test_learned_sinks_take_a_share_of_every_row():
    """Rows of gpt-oss sum to 1 − s, with s the softmax weight of a number that each head has learned."""
    encoder = tiny.randomize("gpt_oss")
    (batch,) = extract(encoder, [SENTENCE, SHORT], level="token")
    sums = batch.maps.sum(-1)[0, :, :, : int(batch.lengths[0])]
    layer = encoder.model.layers[0]
    pieces = [each for each in encoder.align([batch.sentences[0]]) if isinstance(each, Pieces)]
    with torch.inference_mode():
        hidden = encoder.forward(pieces).attentions[0]
        # The only key of the first row competes with the sink: α = eˢ / (eˢ + e^sink), so s = sink + log(α / (1 − α)).
        scores = torch.log(hidden[0, :, 0, 0]) - torch.log1p(-hidden[0, :, 0, 0]) + layer.self_attn.sinks
        layer.self_attn.sinks.data -= 1.0
        moved = encoder.forward(pieces).attentions[0]
        expected = torch.exp(scores) / (torch.exp(scores) + torch.exp(layer.self_attn.sinks))
    assert float(sums.max()) < 1 + 1e-6
    assert 0 < float(sums.min()) < 0.9
    torch.testing.assert_close(moved[0, :, 0, 0], expected, rtol=1e-5, atol=1e-6)
    assert "learned sinks" in encoder.warnings[-1]
    (row_normalized,) = extract(encoder, [SENTENCE], level="token", normalize="row")
    assert float((row_normalized.maps.sum(-1) - 1).abs().max()) < 1e-5

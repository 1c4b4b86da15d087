"""Forced decoding: an encoder–decoder reads given translations, and what this leaves behind.

The model is run without its language-model head where that is possible, and the last decoder layer ends after its
cross-attention, because nothing that follows is needed.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ...corpora_loaders.describing import amount
from ..errors import ModelError
from ..layers import ARCHITECTURES, AttentionBlock, AttentionWeights, CrossAttention
from ..layers.attention_weights import find_module, find_modules, read_linear
from ..layers.verification import compare, spread_positions
from ..model.forward_pass import feed_forward, giving_zeros, layer_list, shorten


@dataclass(frozen=True)
class CrossBlocks:
    """The cross-attention blocks of a model, one for each layer of the decoder."""

    modules: tuple[nn.Module, ...]
    weights: tuple[AttentionWeights, ...]
    time_first: bool  # whether what they give has the positions before the inputs of the batch
    family: str


@dataclass(frozen=True, eq=False, repr=False)
class ForcedDecoding:
    """The results of one forward pass over sentence pairs.

    Attributes:
        attentions: the cross-attention α of each layer of the decoder, shape (batch, heads, target, source).
        source_mask, target_mask: True where there is a piece, False on padding.
        encoded: the output of the encoder; None if the pass kept only attention.
        outputs: what each cross-attention block gave, shape (batch, target, dim).
        blocks: the weights of the blocks; None if the pass kept only attention.

    Example:
        >>> from attentionology.corpora_loaders.alignment import SentencePair
        >>> from attentionology.extractors.translation import load_sample_translator
        >>> translator = load_sample_translator()
        >>> pieces = translator.align([SentencePair(id="1", words=("mä",), source=("bad",))])
        >>> translator.decode(pieces)
        ForcedDecoding(1 sentence pair, 2 source and 2 target pieces, 2 layers)
    """

    attentions: Sequence[Float[Tensor, "batch heads target source"]]
    source_mask: Bool[Tensor, "batch source"]
    target_mask: Bool[Tensor, "batch target"]
    encoded: Float[Tensor, "batch source dim"] | None = None
    outputs: Sequence[Float[Tensor, "batch target dim"]] = ()
    blocks: CrossBlocks | None = None

    def __repr__(self) -> str:
        (pairs, source), target = self.source_mask.shape, self.target_mask.shape[1]
        pieces = f"{source} source and {target} target pieces"
        layers = amount(len(self.attentions), "layers")
        return f"ForcedDecoding({amount(pairs, 'sentence pairs')}, {pieces}, {layers})"

    def layer(self, number: int) -> AttentionBlock:
        """Return the cross-attention of a layer, verified if the pass kept what it takes.

        Args:
            number: the layer, 0-based.

        Raises:
            ModelError: what is recomputed is not what the model computed.
        """
        alpha = self.attentions[number]
        if self.blocks is None:
            return AttentionBlock(alpha, self.source_mask)
        block = AttentionBlock(alpha, self.source_mask, weights=self.blocks.weights[number], x=self.encoded)
        where = f"{self.blocks.family!r} decoder layer {number + 1}"
        verify_cross_attention(block, self.outputs[number], self.target_mask, where)
        return block


def read_cross_attention(model: Any, n_layers: int, n_heads: int) -> CrossBlocks:
    """Read the weights of all cross-attention blocks of a model that has the decoder among its modules."""
    family = str(model.config.model_type)
    row = ARCHITECTURES.get(family)
    if row is None or row.cross is None:
        known = sorted(name for name, architecture in ARCHITECTURES.items() if architecture.cross)
        raise ModelError(
            f"where {family!r} models keep the projections of their cross-attention is not known here, so only the map "
            f"kind 'weight' works. The known families are: {', '.join(known)}. Add a row with "
            "attentionology.extractors.register_architecture, see docs/how-to/architectures.md"
        )
    layers = list(find_modules(model, row.cross.layers))
    if len(layers) != n_layers:
        raise ModelError(f"{family!r}: {len(layers)} layers at {row.cross.layers!r} for {n_layers} of cross-attention")
    modules, weights = [], []
    for number, layer in enumerate(layers, start=1):
        where = f"{family!r} decoder layer {number}"
        block = find_module(layer, row.cross.block, where)
        w_v, b_v = read_linear(find_module(block, row.cross.value, where), where)
        w_o, b_o = read_linear(find_module(block, row.cross.output, where), where)
        modules.append(block)
        weights.append(AttentionWeights(n_heads, w_v, b_v, w_o, b_o))
    return CrossBlocks(tuple(modules), tuple(weights), row.cross.time_first, family)


def verify_cross_attention(block: AttentionBlock, output: Tensor, queries: Tensor, where: str) -> None:
    """Compare ``Σ_j Σ_h α f_h(x_j) + b_O`` with what the block gave, in one position of each input of a batch."""
    inputs, positions = spread_positions(queries)
    context = torch.einsum("bhk,bkhi->bhi", block.alpha[inputs, :, positions], block.v).flatten(1)
    recomputed = torch.matmul(context, block.weights.w_o) + block.weights.b_o
    compare(recomputed, output[inputs, positions], f"{where}: cross-attention", works="the map kind 'weight' works")


def core(model: Any) -> Any:
    """Return the model without its language-model head, if it can be run without."""
    base = model.base_model
    return base if hasattr(base, "encoder") and hasattr(base, "decoder") else model


@contextmanager
def cross_attention_only(model: Any, names: CrossAttention | None, depth: int | None = None) -> Iterator[int | None]:
    """Let the decoder end after the cross-attention of its first ``depth`` layers, which depends on nothing later."""
    layers = nn.ModuleList() if names is None else layer_list(core(model), names.layers)
    if names is None or not layers:
        yield None
        return
    head = {names.head: 0} if names.head else {}
    with (
        shorten(layers, depth or len(layers)),
        giving_zeros(layers[-1], feed_forward(names)),
        giving_zeros(core(model), head),
    ):
        yield depth


def decoder_inputs(model: Any, labels: list[int]) -> list[int]:
    """Make the decoder inputs of labels as the model does in training."""
    tensor = torch.tensor([labels])
    if hasattr(model, "prepare_decoder_input_ids_from_labels"):
        inputs = model.prepare_decoder_input_ids_from_labels(tensor)
    elif hasattr(model, "_shift_right"):
        inputs = model._shift_right(tensor)
    else:
        shift = getattr(sys.modules[type(model).__module__], "shift_tokens_right", None)
        if shift is None:
            raise ModelError(f"how {model.config.model_type!r} models make decoder inputs of labels is not known here")
        # Models that begin with the last label take no start token.
        arguments = (tensor, model.config.pad_token_id, model.config.decoder_start_token_id)
        inputs = shift(*arguments[: len(inspect.signature(shift).parameters)])
    ids: list[int] = inputs[0].tolist()
    return ids


def run(model: Any, inputs: Mapping[str, Tensor]) -> tuple[list[Tensor], Tensor]:
    """Run a model once, and return the cross-attention of each layer that gave one, and the output of the encoder."""
    options = {"output_attentions": True, "use_cache": False, "return_dict": True}
    if model.config.model_type == "fsmt":
        output, encoded = _run_fsmt(core(model), inputs, options)
    else:
        output = core(model)(**inputs, **options)
        encoded = output.encoder_last_hidden_state
    return [alpha for alpha in output.cross_attentions or () if alpha is not None], encoded


def _run_fsmt(model: Any, inputs: Mapping[str, Tensor], options: Mapping[str, bool]) -> tuple[Any, Tensor]:
    """Run encoder and decoder of an FSMT model with masks made here.

    The causal mask that the model makes by itself overflows in float64 (transformers 5.23), which exact decisions need.
    """
    encoded = model.encoder(
        input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], output_attentions=True, return_dict=True
    ).last_hidden_state
    n = inputs["decoder_input_ids"].shape[1]
    lowest = torch.finfo(encoded.dtype).min
    causal_mask = torch.full((n, n), lowest, dtype=encoded.dtype, device=encoded.device).triu(1)
    output = model.decoder(
        inputs["decoder_input_ids"],
        encoded,
        inputs["attention_mask"],
        inputs["decoder_attention_mask"].eq(0),
        decoder_causal_mask=causal_mask,
        **options,
    )
    return output, encoded

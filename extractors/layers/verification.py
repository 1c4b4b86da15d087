"""The checks that what is recomputed from weights is what the model computes, and that attention is a distribution.

The rows of names in `attentionology.extractors.layers.architectures` are claims about code that others change: a new
version of transformers may move a layer norm, an adapter may wrap a projection, a model may scale its residuals. A map
from the wrong formula looks as good as any other. So all layers are recomputed once for each model (`verify_model`),
and one position of every sentence in every batch after that (`verify_batch`), which also notices changed weights.
Inputs and outputs are recorded at the layer modules, because the last hidden state may have passed a final layer norm.

Every batch of attention is checked, too, because attention can be wrong in ways that no shape shows: without a mask,
every piece attends to padding, and rows sum to 1 over the padded length, but not over the sentence.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..deferred import check_at_most
from ..errors import ModelError
from .layer import Layer

TOLERANCE = 1e-3
"""The largest allowed relative difference of a recomputed layer output from the model's own."""


class Recorder:
    """Records what goes into and comes out of modules, in the order of the calls.

    Modules may be shared by several layers (ALBERT), so records are distinguished by the number of the call.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self.inputs: list[Any] = []  # None where a module calls its input by another name than hidden_states
        self.outputs: list[Tensor] = []
        self.sizes: list[int] = []  # how many values each call gave, 0 for a tensor alone
        self._modules, self._hooks = modules, ExitStack()

    def __enter__(self) -> Recorder:
        for module in self._modules:
            self._hooks.callback(module.register_forward_hook(self._record, with_kwargs=True).remove)
        return self

    def __exit__(self, *_: object) -> None:
        self._hooks.close()

    def _record(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        self.inputs.append(args[0] if args else kwargs.get("hidden_states"))
        self.outputs.append(output if isinstance(output, Tensor) else output[0])
        self.sizes.append(0 if isinstance(output, Tensor) else len(output))


def verify_model(
    layers: Iterable[Layer],
    recorded: Recorder,
    sums: Recorder,
    hidden: tuple[Tensor, ...],
    n_layers: int,
    family: str,
) -> list[bool]:
    """Compare all layers of a forward pass, recomputed one by one from ``hidden``, with what the modules took and gave.

    Returns for each layer whether the next hidden state is the layer's output itself. A final layer norm may come
    between the two, a projection, or the convolution of some DeBERTa-v2 models. Of a layer whose feed-forward block is
    a mixture of experts, what the block reads is compared, as ``sums`` recorded it: the router may choose other experts
    for vectors that differ in their last bits, so that the output says nothing about the part before it.
    """
    if len(recorded.outputs) != n_layers:
        raise ModelError(f"{family!r}: its layers were called {len(recorded.outputs)} times for {n_layers} layers")
    comparable = []
    for index, layer in enumerate(layers):
        where = f"{family!r} layer {index + 1}"
        output = recorded.outputs[index]
        compare(layer.x[layer.mask], recorded.inputs[index][layer.mask], f"{where}: the input")
        if not layer.weights.ff_in:
            compare(layer.p[layer.mask], sums.inputs[index][layer.mask], f"{where}: the sum after attention")
            comparable.append(False)
            continue
        compare(layer.output[layer.mask], output[layer.mask], f"{where}: the output")
        after = hidden[index + 1]  # which a projection may have made smaller (OPT 350M)
        same_shape = after.shape == output.shape
        comparable.append(same_shape and relative_difference(after[layer.mask], output[layer.mask]) <= TOLERANCE)
    return comparable


def verify_batch(layer: Layer, expected: Float[Tensor, "batch n dim"], where: str) -> None:
    """Compare one position of each sentence with the model's output. This costs about 1/n of the layer."""
    sentences, positions = spread_positions(layer.mask)
    weights, x = layer.weights, layer.x[sentences, positions]
    context = torch.einsum("bhn,bnhi->bhi", layer.alpha[sentences, :, positions], layer.v).flatten(1)
    # p, a and q are those of `LayerWeights`, with one row for each sentence.
    p = weights.attended(context, x)
    a = weights.read_by_ff(p, x)
    q = weights.finish(p, a, weights.preactivations(a))
    output = weights.norm_out(q) if weights.norm_out else q
    name, difference = f"{where}: the output", _largest_difference(output, expected[sentences, positions])
    check_at_most(difference, TOLERANCE, functools.partial(_differs, name, STILL_WORKS))


def spread_positions(mask: Bool[Tensor, "batch n"]) -> tuple[Int[Tensor, " batch"], Int[Tensor, " batch"]]:
    """Choose one position of each sentence, from the first in the first sentence to the last in the last sentence.

    Returns the 0-based indices of the sentences, and those of the positions.

    Example:
        >>> spread_positions(torch.tensor([[True, True, True], [True, False, False], [True, True, True]]))
        (tensor([0, 1, 2]), tensor([0, 0, 2]))
    """
    lengths = mask.sum(1)
    sentences = torch.arange(len(lengths), device=lengths.device)
    return sentences, (lengths - 1) * sentences // max(1, len(lengths) - 1)


def relative_difference(actual: Float[Tensor, "*rows dim"], expected: Float[Tensor, "*rows dim"]) -> float:
    """Compute the largest norm of the difference of two rows, relative to the norm of the second."""
    return float(_largest_difference(actual, expected))


def _largest_difference(actual: Float[Tensor, "*rows dim"], expected: Float[Tensor, "*rows dim"]) -> Float[Tensor, ""]:
    """Compute the same on the device."""
    relative: Tensor = (actual - expected).norm(dim=-1) / expected.norm(dim=-1).clamp(min=1e-12)
    return relative.max()


STILL_WORKS = "kinds of maps that do not read weights work"
"""What a model can be used for whose layers compute something else."""


def compare(actual: Tensor, expected: Tensor, name: str, works: str = STILL_WORKS) -> None:
    """Raise `ModelError`, which says what still ``works``, if a recomputed row is off by more than `TOLERANCE`."""
    difference = relative_difference(actual, expected)
    if not difference <= TOLERANCE:  # also if it is NaN
        raise _differs(name, works, difference)


def _differs(name: str, works: str, difference: float) -> ModelError:
    """Return the error that something recomputed differs from what the model computed."""
    return ModelError(
        f"{name} recomputed from weights and attention differs from that of the model by {difference:.1%}; this "
        f"model does more than its architecture describes (such as adapters or other projections), so only {works}"
    )


ROW_SUM_TOLERANCE = 1e-4
"""How far from 1 the sum of a row of attention may be."""


def check_attention(
    attentions: Sequence[Float[Tensor, "batch heads queries keys"]],
    queries: Bool[Tensor, "batch queries"],
    keys: Bool[Tensor, "batch keys"],
    label: str,
    rows_of: str = "attention",
    *,
    sinks: bool = False,
) -> None:
    """Raise `ModelError` unless the attention of every query to the keys sums to 1, in every layer and head.

    The masks are True where there is a piece, and False on padding. If heads have learned ``sinks`` (gpt-oss), which
    take a share of the attention and are no position, rows may sum to less.
    """
    # A column of ones and zeros, which sums rows when multiplied.
    inside = keys.to(attentions[0].dtype)[:, None, :, None]
    errors = [off_one(torch.matmul(alpha, inside).squeeze(-1), sinks=sinks).amax(1) for alpha in attentions]
    # Over layers, heads and queries. To leave out what stands on padding would wait for a device; it is replaced.
    error = torch.where(queries, torch.stack(errors).amax(0), 0).max()
    if error.device.type == "cpu" and not float(error) <= ROW_SUM_TOLERANCE:
        mass = mass_on_padding(attentions, queries, keys)
        if mass > ROW_SUM_TOLERANCE:
            raise ModelError(
                f"{label}: up to {mass:.2g} of a row's attention falls on padding, so the attention mask is not "
                "respected; maps of this model cannot be trusted"
            )
    check_row_sums(error, rows_of, label)


def off_one(sums: Float[Tensor, "*rows"], *, sinks: bool) -> Float[Tensor, "*rows"]:
    """Compute how far the sums of rows are from 1, or with ``sinks``, which take a part of each row, how far above."""
    return (sums - 1).clamp(min=0) if sinks else (sums - 1).abs()


def mass_on_padding(
    attentions: Sequence[Float[Tensor, "batch heads queries keys"]],
    queries: Bool[Tensor, "batch queries"],
    keys: Bool[Tensor, "batch keys"],
) -> float:
    """Compute the largest attention of a piece to padding, over all layers and heads."""
    onto_padding = queries[:, None, :, None] & ~keys[:, None, None, :]
    return max(float((alpha * onto_padding).sum(-1).max()) for alpha in attentions)


def check_row_sums(error: Float[Tensor, ""], rows_of: str, label: str) -> None:
    """Raise `ModelError` if the sum of a row is too far from 1, or is NaN."""
    check_at_most(
        error,
        ROW_SUM_TOLERANCE,
        lambda error: ModelError(
            f"{label}: rows of {rows_of} sum to 1 only within {error:.2g}; maps of this model cannot be trusted"
        ),
    )

"""One forward pass over a padded batch: what it is given, computes and leaves behind.

A pass that only gives attention skips what its last layer computes besides: the projections to values and of the
output and the feed-forward block, which are 10 of the about 12 dim² multiplications for each piece in a layer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ...corpora_loaders.describing import amount
from ..errors import ModelError
from ..layers import ARCHITECTURES, Architecture, CrossAttention, FFBias, Layer, LayerWeights, TextLoss
from ..layers.attention_weights import read_linear
from ..layers.verification import verify_batch
from ..tokens.word_merging import WordMerger


@dataclass(frozen=True, eq=False, repr=False)
class ModelLayers:
    """The verified weights of all layers of an architecture."""

    weights: Sequence[LayerWeights]
    comparable: list[bool]  # for each layer, whether the next hidden state is the layer's output itself
    family: str

    def __repr__(self) -> str:
        return f"ModelLayers({self.family!r}, {amount(len(self.weights), 'layers')})"


@dataclass(frozen=True, eq=False, repr=False)
class Forward:
    """The results of one forward pass.

    Attributes:
        attentions: the attention weights α of each layer, shape (batch, heads, n, n); empty where they were released.
        mask: True where there is a piece, False on padding; shape (batch, n).
        hidden_states: the input of each layer and what follows the last, shape (batch, n, dim); None if the pass kept
            only attention. Those of layers that are computed later are still empty, and OPT projects what follows the
            last layer to another width.
        model_layers: the weights of the layers; None if the pass kept only attention.
        gradients: for each loss that was asked for, its gradients with respect to the attention of each layer.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> encoder = load_encoder("demo")
        >>> forward = encoder.forward(encoder.align([Sentence.from_text("Cats sleep.")]))
        >>> forward
        Forward(1 input, 5 pieces, 6 layers)
        >>> forward.attentions[0].shape
        torch.Size([1, 12, 5, 5])
    """

    attentions: Sequence[Tensor]
    mask: Bool[Tensor, "batch n"]
    hidden_states: Sequence[Tensor] | None = None
    model_layers: ModelLayers | None = None
    gradients: Mapping[TextLoss, list[Tensor]] = field(default_factory=dict)

    def __repr__(self) -> str:
        inputs, pieces = self.mask.shape
        facts = [amount(inputs, "inputs"), amount(pieces, "pieces"), amount(len(self.attentions), "layers")]
        facts += [] if self.hidden_states is None else ["hidden states"]
        return f"Forward({', '.join(facts)})"

    def layers(
        self,
        groups: WordMerger | None = None,
        ff_bias: FFBias = "input",
        loss: TextLoss | None = None,
        *,
        release: bool = False,
    ) -> Iterator[Layer]:
        """Yield the layers one after the other. Drop each before you take the next, to save memory.

        Args:
            groups: the pieces to merge as vectors.
            ff_bias: see `attentionology.extractors.layers.activations.activation_slopes`.
            loss: the loss whose gradient the layers have, one of those that the pass was made with.
            release: whether the pass releases the attention and the gradient of each layer that is taken, so that its
                memory is free as soon as the layer is dropped. They are the largest results of a pass.

        Raises:
            ModelError: what is recomputed is not what the model computed.
        """
        gradients = [] if loss is None else self.gradients[loss]
        for index, alpha in enumerate(self.attentions):
            gradient = gradients[index] if gradients else None
            if release and isinstance(self.attentions, list):
                self.attentions[index] = alpha.new_empty(0)
                gradients[index : index + 1] = [alpha.new_empty(0)] if gradients else []
            if self.hidden_states is None or self.model_layers is None:
                yield Layer(alpha, self.mask, gradient=gradient)
                continue
            weights = self.model_layers.weights[index]
            x = self.hidden_states[index]
            layer = Layer(alpha, self.mask, weights=weights, x=x, groups=groups, ff_bias=ff_bias, gradient=gradient)
            if self.model_layers.comparable[index]:
                where = f"{self.model_layers.family!r} layer {index + 1}"
                verify_batch(layer, self.hidden_states[index + 1], where)
            yield layer


def model_inputs(
    ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch n"], segment_ids: Int[Tensor, "batch n"] | None
) -> dict[str, Any]:
    """Return the arguments with which every model is called to give its attention."""
    inputs = {"input_ids": ids, "attention_mask": mask.long(), "output_attentions": True, "return_dict": True}
    return inputs if segment_ids is None else {**inputs, "token_type_ids": segment_ids}


def parameters_key(model: Any) -> tuple[Any, ...]:
    """Return a key that changes when a parameter is replaced, moved or written to, other than through ``.data``."""
    return tuple(  # tensors made in inference mode have no version
        (id(p), p.data_ptr(), p.dtype, p.device, None if p.is_inference() else p._version) for p in model.parameters()
    )


@contextmanager
def attention_only(model: Any, layers: int | None = None) -> Iterator[int | None]:
    """Let forward passes give only the attention of the first layers, and yield the number of layers they compute.

    All that a pass gives besides attention is meaningless. The whole model is computed, and the number is None, if its
    family has no row of names, or if its layers share modules.
    """
    modules = layers_of(model)
    if not modules:
        yield None
        return
    row = ARCHITECTURES[str(model.config.model_type)]
    unneeded = {row.output: None, **feed_forward(row)}
    if row.fused == "no":  # otherwise the same map gives the queries and keys
        unneeded[row.value] = None
    with shorten(modules, layers or len(modules)), giving_zeros(modules[-1], unneeded):
        yield len(modules)


def feed_forward(names: Architecture | CrossAttention) -> dict[str, int | None]:
    """Return what `giving_zeros` takes to skip the feed-forward block of a layer, empty if it must be computed."""
    return {**dict.fromkeys(names.ff_in.split(), 0), names.ff_out: None} if names.ff_in else {}


@contextmanager
def shorten(modules: nn.ModuleList, n_kept: int) -> Iterator[None]:
    """Leave only the first ``n_kept`` modules in a list within the context."""
    above = list(modules[n_kept:])
    del modules[n_kept:]
    try:
        yield
    finally:
        modules.extend(above)


@contextmanager
def resume_at(
    modules: Sequence[nn.Module], layer: int, hidden: Float[Tensor, "batch n dim"], sizes: Sequence[int] = ()
) -> Iterator[None]:
    """Let forward passes begin at a layer: the layers below return their input, and the layer takes ``hidden``.

    Some models need as many values from a layer as it usually gives: ``sizes`` has their number, 0 for a tensor alone.
    """
    calls = itertools.count()

    def resume(original: Callable[..., Any]) -> Callable[..., Any]:  # the ``forward`` of a module, and what replaces it
        def forward(hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
            call = next(calls)  # the number of the layer, as layers may share modules
            if call >= layer:
                return original(hidden if call == layer else hidden_states, *args, **kwargs)
            size = sizes[call] if sizes else 0
            return (hidden_states, *[None] * (size - 1)) if size else hidden_states

        return forward

    for module in modules:
        module.forward = resume(module.forward)
    try:
        yield
    finally:
        for module in modules:
            del module.forward


@contextmanager
def giving_zeros(module: nn.Module, dims: Mapping[str, int | None]) -> Iterator[None]:
    """Let linear maps give zeros within the context, instead of what nobody needs.

    For each path from the module, ``dims`` has the dimension of what the map gives, None for the usual one. With 0
    dimensions, what follows has nothing to compute.
    """
    try:
        originals = {path: module.get_submodule(path) for path in dims}
        zeros = {
            path: _Zeros(read_linear(originals[path], path)[0].shape[1] if dim is None else dim)
            for path, dim in dims.items()
        }
    except (AttributeError, ModelError):
        # The row does not fit, which matters only to kinds of maps that read weights. Then all is computed.
        originals, zeros = {}, {}
    try:
        for path, replacement in zeros.items():
            module.set_submodule(path, replacement)
        yield
    finally:
        for path, original in originals.items():
            module.set_submodule(path, original)


class _Zeros(nn.Module):
    """Takes the place of a linear map, and gives zeros."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return x.new_zeros(*x.shape[:-1], self.dim)


def layers_of(model: Any) -> nn.ModuleList:
    """Return the list of the layers of a model; empty if its family has no row of names, or layers share modules."""
    row = ARCHITECTURES.get(str(model.config.model_type))
    modules = nn.ModuleList() if row is None else layer_list(getattr(model, "base_model", model), row.layers)
    return modules if len(modules) == int(model.config.num_hidden_layers) else nn.ModuleList()


def layer_list(model: Any, path: str) -> nn.ModuleList:
    """Return the list of the layers of a model, empty if there is no list at the path."""
    try:
        modules = model.get_submodule(path)
    except AttributeError:  # no such module
        return nn.ModuleList()
    return modules if isinstance(modules, nn.ModuleList) else nn.ModuleList()

"""What one forward pass over a padded batch is given and leaves behind, and the weights that explain it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...corpora_loaders.describing import amount
from ..layers import FFBias, Layer, LayerWeights
from ..layers.verification import verify_batch
from ..tokens.word_merging import WordMerger


@dataclass(frozen=True, eq=False, repr=False)
class ModelLayers:
    """The verified weights of all layers of an architecture."""

    weights: list[LayerWeights]
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
            only attention.
        model_layers: the weights of the layers; None if the pass kept only attention.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> encoder = load_encoder("demo")
        >>> forward = encoder.forward(encoder.align([Sentence.from_text("Cats sleep.")]))
        >>> forward
        Forward(1 input, 5 pieces, 6 layers)
        >>> forward.attentions[0].shape
        torch.Size([1, 12, 5, 5])
    """

    attentions: list[Tensor]
    mask: Bool[Tensor, "batch n"]
    hidden_states: tuple[Float[Tensor, "batch n dim"], ...] | None = None
    model_layers: ModelLayers | None = None

    def __repr__(self) -> str:
        inputs, pieces = self.mask.shape
        facts = [amount(inputs, "inputs"), amount(pieces, "pieces"), amount(len(self.attentions), "layers")]
        facts += [] if self.hidden_states is None else ["hidden states"]
        return f"Forward({', '.join(facts)})"

    def layers(
        self, groups: WordMerger | None = None, ff_bias: FFBias = "input", *, release: bool = False
    ) -> Iterator[Layer]:
        """Yield the layers one after the other. Drop each before you take the next, to save memory.

        Args:
            groups: the pieces to merge as vectors.
            ff_bias: see `attentionology.extractors.layers.activations.activation_slopes`.
            release: whether the pass releases the attention of each layer that is taken, so that its memory is free as
                soon as the layer is dropped. The attention of all layers is the largest result of a pass.

        Raises:
            ModelError: what is recomputed is not what the model computed.
        """
        for number, alpha in enumerate(self.attentions):
            if release:
                self.attentions[number] = alpha.new_empty(0)
            if self.hidden_states is None or self.model_layers is None:
                yield Layer(alpha, self.mask)
                continue
            layer = Layer(
                alpha,
                self.mask,
                weights=self.model_layers.weights[number],
                x=self.hidden_states[number],
                groups=groups,
                ff_bias=ff_bias,
            )
            if self.model_layers.comparable[number]:
                where = f"{self.model_layers.family!r} layer {number + 1}"
                verify_batch(layer, self.hidden_states[number + 1], where)
            yield layer


def model_inputs(
    ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch n"], segment_ids: Int[Tensor, "batch n"] | None
) -> dict[str, Any]:
    """Return the arguments with which every model is called to give its attention."""
    inputs = {"input_ids": ids, "attention_mask": mask.long(), "output_attentions": True, "return_dict": True}
    return inputs if segment_ids is None else {**inputs, "token_type_ids": segment_ids}


def parameters_key(model: Any) -> tuple[Any, ...]:
    """Return a key that changes when a parameter is replaced, moved or written to, other than through ``.data``."""
    return tuple(
        (id(p), p.data_ptr(), p.dtype, p.device, None if p.is_inference() else p._version) for p in model.parameters()
    )

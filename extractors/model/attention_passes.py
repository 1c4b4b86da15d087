"""The ways in which a model that gives attention is run: at once, in turns, with gradients, or for its states alone."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ..layers import TextLoss
from ..layers.gradients import attention_gradients, keeping_graph
from .conditions import check_full_attention, hidden_states_of
from .float64_copy import InFloat64
from .forward_pass import Forward, ModelLayers, layers_of, model_inputs
from .loaded_model import LoadedModel
from .turns import InTurns, layers_per_turn


class AttentionPasses(LoadedModel):
    """The base class of models that read padded ids and give the attention of all layers."""

    def _run(
        self,
        ids: Int[Tensor, "batch n"],
        mask: Bool[Tensor, "batch n"],
        segment_ids: Int[Tensor, "batch n"] | None = None,
        n_layers: int | None = None,
        *,
        hidden_states: bool = False,
        graph: bool = False,
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...] | None]:
        """Return the attention of all layers, of which there must be ``n_layers``, and all hidden states on request.

        With ``graph``, both are in the graph that `keeping_graph` begins.
        """
        with torch.inference_mode(not graph):
            output = self._output({**model_inputs(ids, mask, segment_ids), "output_hidden_states": hidden_states})
        attentions = tuple(getattr(output, "attentions", None) or ())
        check_full_attention(self.model, attentions, tuple(ids.shape), self.label, n_layers)
        return attentions, hidden_states_of(output, self.label) if hidden_states else None

    @torch.inference_mode()
    def _states(self, ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch n"]) -> tuple[Tensor, ...]:
        """Return the hidden states of a pass that keeps no attention."""
        inputs = {**model_inputs(ids, mask, None), "output_attentions": False, "output_hidden_states": True}
        return hidden_states_of(self._output(inputs), self.label)

    def _output(self, inputs: dict[str, Any]) -> Any:
        """Return what the model gives for inputs, in the type that it computes in."""
        in_float64 = InFloat64(self.model) if self.dtype == torch.float64 else nullcontext()
        with self._explain_errors(f"an input of {inputs['input_ids'].shape[1]} pieces"), in_float64:
            return self.model(**inputs)

    def _with_gradients(
        self,
        ids: Int[Tensor, "batch n"],
        mask: Bool[Tensor, "batch n"],
        segment_ids: Int[Tensor, "batch n"] | None,
        losses: Sequence[TextLoss],
        layers: ModelLayers | None,
        *,
        keeps: bool,
    ) -> Forward:
        """Return what `forward` does of a pass that keeps its graph, with the gradients of losses."""
        with keeping_graph(self.model) as read:
            attentions, states = self._run(ids, mask, segment_ids, hidden_states=True, graph=True)
            values = {loss: loss((states or ())[-1], mask) for loss in losses}
            gradients = attention_gradients(values, attentions, mask, read.inputs, self.label)
        hidden = tuple(state.detach() for state in states or ()) if keeps else None
        return Forward([alpha.detach() for alpha in attentions], mask, hidden, layers, gradients)

    def _in_turns(
        self, ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch n"], first_layers: int | None
    ) -> InTurns | None:
        """Return a decoder's attention, computed a few layers at a time; None if that is not needed or not possible."""
        n_layers = first_layers or self.n_layers
        bytes_of_layer = self.n_heads * ids.numel() * ids.shape[1] * self.dtype.itemsize
        per_turn = layers_per_turn(bytes_of_layer, n_layers, causal=self.causal, family=self.family)
        modules = layers_of(self.model) if per_turn else None
        if not (per_turn and modules):
            return None
        return InTurns(lambda n: self._run(ids, mask, None, n)[0], modules, n_layers, per_turn)

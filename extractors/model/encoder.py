"""A Hugging Face model that reads sentences and gives its attention, or says clearly why it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import transformers
from jaxtyping import Bool, Int
from torch import Tensor

from ...corpora_loaders import Sentence
from ..errors import ModelError, cause
from ..layers import TextLoss, read_weights
from ..layers.gradients import attention_gradients, keeping_graph
from ..layers.verification import Recorder, verify_model
from ..layers.weights import layer_modules
from ..tokens.pieces import Pieces, Unalignable, align
from ..tokens.token_classes import PieceForms, token_classes
from ..tokens.tokenizer import prepare_tokenizer
from . import forward_pass
from .conditions import (
    attend_fully,
    batching_of,
    check_full_attention,
    check_readable,
    check_vocabulary,
    has_sinks,
    hidden_states_of,
    longest_input,
    switch_to_eager,
)
from .files import LoadedFiles
from .float64_copy import InFloat64, float32_view
from .forward_pass import Forward, InTurns, ModelLayers, attention_only, layers_of, model_inputs
from .loaded_model import LoadedModel, random_copy
from .loading import begin_with, load_pretrained, quiet


class Encoder(LoadedModel):
    """A model and its tokenizer, ready to give attention for sentences.

    The model is put into evaluation mode. It is not copied. Attention comes from the eager
    implementation with ``output_attentions``, because other kernels never form the weights: with the default of
    transformers 5 (``"sdpa"``), a model returns an empty tuple for its attentions, without an error. Such a model is
    switched to eager attention and stays so; what it computes is the same up to rounding. A short probe pass at
    construction checks that every layer then delivers a full matrix.

    Args:
        model: a model of transformers, or one of your own (`attentionology.extractors.ReadableModel`). Of an
            encoder-decoder, the encoder is used.
        tokenizer: its fast tokenizer.
        name: the name of the model in results.
        files: where it was loaded from, if it was.

    Attributes:
        n_layers, n_heads: the shape of its attention.
        max_length: the largest number of pieces it takes, special tokens included; None if it sets no limit.
        forms: the text of each piece by its vocabulary id.
        causal: whether no piece attends to those after it.
        has_sinks: whether heads have learned sinks, which take a share of the attention and are no position (gpt-oss).
        prepended: the token with which every input begins because it was asked for, not by the tokenizer itself.
        batching: which sentences it may read together, see `attentionology.extractors.model.conditions`.

    Raises:
        ModelError: the model gives no attention or not one square matrix per layer, or the tokenizer does not fit.

    Example:
        >>> from attentionology import Encoder, Sentence, load_encoder
        >>> folder = load_encoder("demo").files.folder  # a folder with config.json, weights and a tokenizer
        >>> encoder = Encoder.from_pretrained(folder)
        >>> encoder.n_layers, encoder.n_heads, encoder.max_length
        (6, 12, 512)
        >>> encoder.align([Sentence.from_text("Unalignable words?")])
        [Pieces('[CLS] una ##li ##gna ##ble words ? [SEP]', 8 pieces, 5 positions)]
    """

    def __init__(self, model: Any, tokenizer: Any, name: str = "", files: LoadedFiles | None = None) -> None:
        check_readable(model, name or "the model")
        if model.config.is_encoder_decoder and hasattr(model, "get_encoder"):
            model = model.get_encoder()
        super().__init__(model, prepare_tokenizer(tokenizer), name, files)
        self.forms = PieceForms(self.tokenizer)
        check_vocabulary(model, tokenizer, name or "the model")
        self.max_length = longest_input(model)
        self.has_sinks = has_sinks(self.held)
        attend_fully(model)
        self.prepended: str | None = None
        probe = self._probe()
        self.n_layers, self.n_heads = len(probe), probe[0].shape[1]
        is_lower_triangular = not any(bool(alpha.triu(1).any()) for alpha in probe)
        self.causal = probe[0].shape[-1] > 1 and is_lower_triangular
        self.batching = batching_of(self.align, self._attention, self.max_length, self.label)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path,
        *,
        revision: str | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        prepend: str = "auto",
    ) -> Encoder:
        """Load a model from a folder or from the Hugging Face Hub.

        Args:
            name_or_path: a folder with ``config.json`` and ``*.safetensors``, or a Hub id. A model of the Hub is read
                at one commit, which ``files`` records; see `attentionology.extractors.model.hub.hub_model`.
            revision: a branch, tag or commit on the Hub.
            device: the device to compute on.
            dtype: the type of weights and maps, float32 or float64; or bfloat16 to hold the weights in half the memory
                and compute in float32. Lower precision would blur the comparisons that every count is made of.
            prepend: the token with which every input begins, see `attentionology.extractors.model.loading.begin_with`:
                ``auto`` for that of the tokenizer if it adds no special token by itself, ``none`` for no token.

        Raises:
            ValueError: ``dtype`` is another type.
            ModelError: the model cannot be found or loaded, has no safetensors, or gives no attention.
        """
        model, tokenizer, name, files = load_pretrained(transformers.AutoModel, name_or_path, revision, device, dtype)
        if dtype == torch.bfloat16:
            model = float32_view(model)
        prepended = begin_with(tokenizer, prepend)
        encoder = cls(model, tokenizer, name, files)
        encoder.prepended = prepended
        return encoder

    def align(self, sentences: Sequence[Sentence], queries: Sequence[Sequence[str]] = ()) -> list[Pieces | Unalignable]:
        """Tokenize sentences and match words with pieces, see `attentionology.extractors.tokens.pieces.align`."""
        return align(self.tokenizer, sentences, queries)

    def forward(
        self,
        batch: Sequence[Pieces],
        *,
        hidden_states: bool = False,
        first_layers: int | None = None,
        whole: bool = False,
        losses: Sequence[TextLoss] = (),
    ) -> Forward:
        """Run one forward pass over sentences padded to the longest.

        Args:
            batch: the pieces of each sentence.
            hidden_states: whether to keep hidden states, too, and read the layers' weights.
            first_layers: the number of layers whose attention is needed; None for all. There may be more in the result.
            whole: whether the pass is made at once even if the attention of all layers takes gigabytes. Otherwise
                layers of decoders are then computed in turns when they are read, see
                `attentionology.extractors.model.forward_pass.InTurns`, and hidden states are there only after that.
            losses: those whose gradients with respect to attention are needed. They are computed with the whole pass.

        Raises:
            ModelError: a layer gives no attention matrix; with ``hidden_states``, for the same reasons as `layers`; a
                gradient cannot be computed or fails its check.
        """
        if losses:
            return self._with_gradients(batch, losses, hidden_states=hidden_states)
        ids, mask = self.pad(batch)
        layers = self.layers if hidden_states else None
        if not whole and (turns := self._in_turns(ids, mask, first_layers)) is not None:
            return Forward(turns, mask, turns.hidden if hidden_states else None, layers)
        # Hidden states need the whole model. Without them, only what attention depends on is computed.
        with nullcontext() if hidden_states else attention_only(self.model, first_layers) as n_layers:
            attentions, hidden = self._run(ids, mask, self.segment_ids(batch), n_layers, hidden_states=hidden_states)
        return Forward(list(attentions), mask, hidden, layers)

    def _with_gradients(self, batch: Sequence[Pieces], losses: Sequence[TextLoss], *, hidden_states: bool) -> Forward:
        """Return what `forward` does of a pass that keeps its graph, with the gradients of losses."""
        layers = self.layers if hidden_states else None
        with keeping_graph(self.model) as read:
            ids, mask = self.pad(batch)
            attentions, states = self._run(ids, mask, self.segment_ids(batch), hidden_states=True, graph=True)
            values = {loss: loss((states or ())[-1], mask) for loss in losses}
            gradients = attention_gradients(values, attentions, mask, read.inputs, self.label)
        hidden = tuple(state.detach() for state in states or ()) if hidden_states else None
        return Forward([alpha.detach() for alpha in attentions], mask, hidden, layers, gradients)

    def _in_turns(
        self, ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch n"], first_layers: int | None
    ) -> InTurns | None:
        """Return a decoder's attention, computed a few layers at a time; None if that is not needed or not possible."""
        n_layers = first_layers or self.n_layers
        bytes_of_layer = self.n_heads * ids.numel() * ids.shape[1] * self.dtype.itemsize
        layers_per_turn = max(1, forward_pass.MOST // bytes_of_layer)
        # Between the layers of other models, there may be more than the output of one and the input of the next.
        if layers_per_turn >= n_layers or not self.causal or self.family in forward_pass.TAKES_APART:
            return None
        modules = layers_of(self.model)
        if not modules:
            return None
        return InTurns(lambda n: self._run(ids, mask, None, n)[0], modules, n_layers, layers_per_turn)

    @property
    def layers(self) -> ModelLayers:
        """The layers' weights in one form for all architectures, verified on short inputs.

        They are read again after the parameters have changed.

        Raises:
            ModelError: the architecture has no row of names, or what is recomputed is not what the model computes.
        """
        try:
            layers: ModelLayers = self._up_to_date(self._read_layers)
        except ModelError:
            raise
        except Exception as error:
            row = f"{self.family!r}: the row of this architecture does not fit"
            raise ModelError(f"{row}: {cause(error)}") from error
        return layers

    @torch.inference_mode()
    def _read_layers(self) -> ModelLayers:
        """Read the weights of all layers by the row of names of the architecture, and verify them on a batch."""
        # A model that does not read padded batches may give NaN on padding, as ModernBERT does in float64 for its rows
        # outside the sliding window, and NaN spreads.
        ids, mask = self._pieces_of("a b c d e f g h i j k l", *(["m"] if self.batching == "padded" else []))
        weights = read_weights(self.model, self.n_layers, self.n_heads, again=self.held is not self.model)
        with Recorder(layer_modules(self.model)) as recorded:
            attentions, hidden = self._run(ids, mask, hidden_states=True)
        unchecked = ModelLayers(weights, [False] * self.n_layers, self.family)
        layers = Forward(list(attentions), mask, hidden, unchecked).layers()
        comparable = verify_model(layers, recorded, hidden or (), self.n_layers, self.family)
        return ModelLayers(weights, comparable, self.family)

    def pad(self, batch: Sequence[Pieces]) -> tuple[Int[Tensor, "batch n"], Bool[Tensor, "batch n"]]:
        """Return the ids padded on the right to the longest sentence, and the mask that is True on pieces."""
        return self._padded([pieces.ids for pieces in batch], self.tokenizer.pad_token_id)

    def segment_ids(self, batch: Sequence[Pieces]) -> Int[Tensor, "batch n"] | None:
        """Return the segment ids, padded as by `pad`; None if they are all zero, which is the default of models."""
        if all(pieces.segment_ids is None for pieces in batch):
            return None
        return self._padded([pieces.segment_ids or [0] * len(pieces) for pieces in batch], pad=0)[0]

    def classes(self, batch: Sequence[Pieces]) -> Int[Tensor, "batch n"]:
        """Return the index into `attentionology.extractors.TOKEN_CLASSES` of every piece, −1 on padding."""
        return token_classes(self.forms, self.tokenizer.mask_token_id, batch)

    def random_init(self, seed: int) -> Encoder:
        """Make a copy with random weights that keeps the embedding tables.

        This is the control of Clark et al. (2019, §5): pre-trained word and position embeddings, and every other weight
        drawn as the architecture initializes it. The embedding tables are all `torch.nn.Embedding` modules (words,
        positions, segments); the layer norm after them is reset like the rest.
        """
        random = random_copy(self.held, seed, self.dtype)
        control = Encoder(random.to(self.device), self.tokenizer, f"{self.name} random-init seed {seed}")
        control.batching = self.batching  # so that both read the same batches
        return control

    def _with_model(self, twin: Any) -> Encoder:
        return Encoder(twin, self.tokenizer, self.name, self.files)

    def _probe(self) -> tuple[Tensor, ...]:
        """Return the attention of a short input, after switching the model to eager attention if it gives none."""
        probe = self._pieces_of("a b c")
        try:
            with quiet():  # transformers logs the advice to do what is done below
                return self._run(*probe)[0]
        except ModelError:
            if not switch_to_eager(self.model):
                raise
        return self._run(*probe)[0]

    def _pieces_of(self, *texts: str) -> tuple[Int[Tensor, "batch n"], Bool[Tensor, "batch n"]]:
        """Return the padded ids of texts as the tokenizer reads them, and the mask."""
        return self._padded([self.tokenizer(text).input_ids for text in texts], self.tokenizer.pad_token_id)

    def _attention(self, *batch: Pieces) -> list[list[Tensor]]:
        """Return for each input of a padded batch the attention of its layers, without the padding."""
        attentions = self.forward(batch).attentions
        return [[alpha[row, :, : len(p), : len(p)] for alpha in attentions] for row, p in enumerate(batch)]

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
        in_float64 = InFloat64(self.model) if self.dtype == torch.float64 else nullcontext()
        with torch.inference_mode(not graph), self._reading(f"an input of {ids.shape[1]} pieces"), in_float64:
            output = self.model(**model_inputs(ids, mask, segment_ids), output_hidden_states=hidden_states)
        attentions = tuple(getattr(output, "attentions", None) or ())
        check_full_attention(self.model, attentions, tuple(ids.shape), self.label, n_layers)
        return attentions, hidden_states_of(output, self.label) if hidden_states else None

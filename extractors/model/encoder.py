"""A Hugging Face model that reads sentences and gives its attention, or says clearly why it cannot."""

from __future__ import annotations

import copy
import functools
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
from ..layers import ARCHITECTURES, TextLoss, read_weights
from ..layers.attention_weights import find_module
from ..layers.verification import Recorder, verify_model
from ..layers.weights import layer_modules
from ..tokens.pieces import Pieces, Unalignable, align
from ..tokens.token_classes import PieceForms, token_classes
from ..tokens.tokenizer import prepare_tokenizer
from .attention_passes import AttentionPasses
from .conditions import (
    attend_fully,
    batching_of,
    check_readable,
    check_vocabulary,
    has_sinks,
    longest_input,
    switch_to_eager,
)
from .files import LoadedFiles
from .float64_copy import float32_view
from .forward_pass import Forward, ModelLayers, attention_only
from .loaded_model import keep_outside, random_copy
from .loading import begin_with, load_pretrained, quiet


class Encoder(AttentionPasses):
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
            name_or_path: a folder with ``config.json`` and weights, or a Hub id. A model of the Hub is read
                at one commit, which ``files`` records; see `attentionology.extractors.model.hub.hub_model`.
            revision: a branch, tag or commit on the Hub.
            device: the device to compute on.
            dtype: the type of weights and maps, float32 or float64; or bfloat16 to hold the weights in half the memory
                and compute in float32. Lower precision would blur the comparisons that every count is made of.
            prepend: the token with which every input begins, see `attentionology.extractors.model.loading.begin_with`:
                ``auto`` for that of the tokenizer if it adds no special token by itself, ``none`` for no token.

        Raises:
            ValueError: ``dtype`` is another type.
            ModelError: the model cannot be found or loaded, has no weights that are read, or gives no attention.
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
        states: bool = False,
        first_layers: int | None = None,
        whole: bool = False,
        losses: Sequence[TextLoss] = (),
    ) -> Forward:
        """Run one forward pass over sentences padded to the longest.

        Args:
            batch: the pieces of each sentence.
            hidden_states: whether to keep hidden states, too, and read the layers' weights.
            states: whether to keep hidden states without the layers' weights, which any architecture can give. They
                are then there at once, and the last one is as the model gives it, even if layers are computed in turns.
            first_layers: the number of layers whose attention is needed; None for all. There may be more in the result.
            whole: whether the pass is made at once even if the attention of all layers takes gigabytes. Otherwise
                layers of decoders are then computed in turns when they are read, see
                `attentionology.extractors.model.turns.InTurns`, and hidden states are there only after that.
            losses: those whose gradients with respect to attention are needed. They are computed with the whole pass.

        Raises:
            ModelError: a layer gives no attention matrix; with ``hidden_states``, for the same reasons as `layers`; a
                gradient cannot be computed or fails its check.
        """
        layers = self.layers if hidden_states else None
        keeps = hidden_states or states
        (ids, mask), segment_ids = self.pad(batch), self.segment_ids(batch)
        if losses:
            return self._with_gradients(ids, mask, segment_ids, losses, layers, keeps=keeps)
        if not whole and (turns := self._in_turns(ids, mask, first_layers)) is not None:
            # What follows the last layer, such as a final norm, is not computed in turns. A pass that keeps no
            # attention fits into memory.
            hidden = self._states(ids, mask) if states else turns.hidden if hidden_states else None
            return Forward(turns, mask, hidden, layers)
        # Hidden states need the whole model. Without them, only what attention depends on is computed.
        with nullcontext() if keeps else attention_only(self.model, first_layers) as n_layers:
            attentions, hidden = self._run(ids, mask, segment_ids, n_layers, hidden_states=keeps)
        return Forward(list(attentions), mask, hidden, layers)

    @functools.cached_property
    def width(self) -> int:
        """The number of dimensions of the state that the embedding block gives for a piece."""
        ids, mask = self._pieces_of("a")
        return int(self._states(ids, mask)[0].shape[-1])

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
        modules = layer_modules(self.model)
        # Only where a row names no feed-forward block, the sum that its norm reads is compared.
        norm = "" if (row := ARCHITECTURES[self.family]).ff_in else row.norm_2
        norms = [find_module(module, norm, self.family) for module in modules] if norm else []
        with Recorder(modules) as recorded, Recorder(norms) as sums:
            attentions, hidden = self._run(ids, mask, hidden_states=True)
        unchecked = ModelLayers(weights, [False] * self.n_layers, self.family)
        layers = Forward(list(attentions), mask, hidden, unchecked).layers()
        comparable = verify_model(layers, recorded, sums, hidden or (), self.n_layers, self.family)
        return ModelLayers(weights, comparable, self.family)

    def pad(self, batch: Sequence[Pieces]) -> tuple[Int[Tensor, "batch n"], Bool[Tensor, "batch n"]]:
        """Return the ids padded on the right to the longest sentence, and the mask that is True on pieces."""
        return self._pad([pieces.ids for pieces in batch], self.tokenizer.pad_token_id)

    def segment_ids(self, batch: Sequence[Pieces]) -> Int[Tensor, "batch n"] | None:
        """Return the segment ids, padded as by `pad`; None if they are all zero, which is the default of models."""
        if all(pieces.segment_ids is None for pieces in batch):
            return None
        return self._pad([pieces.segment_ids or [0] * len(pieces) for pieces in batch], pad=0)[0]

    def classes(self, batch: Sequence[Pieces]) -> Int[Tensor, "batch n"]:
        """Return the index into `attentionology.extractors.TOKEN_CLASSES` of every piece, −1 on padding."""
        return token_classes(self.forms, self.tokenizer.mask_token_id, batch)

    def random_init(self, seed: int) -> Encoder:
        """Make a copy with random weights that keeps the embedding tables.

        This is the control of Clark et al. (2019, §5): pre-trained word and position embeddings, and every other weight
        drawn as the architecture initializes it. The embedding tables are all `torch.nn.Embedding` modules (words,
        positions, segments); the layer norm after them is reset like the rest.
        """
        return self._control(random_copy(self.held, seed, self.dtype), f"random-init seed {seed}")

    def random_layers(self, seed: int) -> Encoder:
        """Make a copy with random weights in its layers alone: the control of probes of hidden states.

        Unlike `random_init`, it keeps all that is around the layers, so that its layer 0 is that of the model, bit by
        bit, and whatever is read better from a later layer of the model is due to what the layers have learned.

        Raises:
            ModelError: the architecture has no row of names, so that its layers are unknown.
        """
        random = random_copy(self.held, seed, self.dtype)
        keep_outside(random, self.held, layer_modules(random) if self.family in ARCHITECTURES else [], self.label)
        return self._control(random, f"random-layers seed {seed}")

    def _control(self, model: Any, name: str) -> Encoder:
        """Return a copy with random weights, which reads the same batches."""
        control = Encoder(model.to(self.device), self.tokenizer, f"{self.name} {name}")
        control.batching = self.batching
        return control

    def in_own_modules(self) -> Encoder:
        """Return the same model in modules of its own, which share the weights, for another thread.

        A pass without some heads, or of the first layers alone, changes modules for all who use them meanwhile.

        Example:
            >>> from attentionology import load_encoder
            >>> encoder = load_encoder("demo")
            >>> twin = encoder.in_own_modules()
            >>> twin.model is encoder.model, next(twin.model.parameters()) is next(encoder.model.parameters())
            (False, True)
        """
        shared = {id(tensor): tensor for tensor in (*self.held.parameters(), *self.held.buffers())}
        # What deepcopy finds in `shared` it takes for the copy of an object.
        model, tokenizer = copy.deepcopy(self.held, dict(shared)), copy.deepcopy(self.tokenizer)
        twin = Encoder(model, tokenizer, self.name, self.files)
        twin.prepended = self.prepended
        return twin

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
        return self._pad([self.tokenizer(text).input_ids for text in texts], self.tokenizer.pad_token_id)

    def _attention(self, *batch: Pieces) -> list[list[Tensor]]:
        """Return for each input of a padded batch the attention of its layers, without the padding."""
        attentions = self.forward(batch).attentions
        return [[alpha[row, :, : len(p), : len(p)] for alpha in attentions] for row, p in enumerate(batch)]

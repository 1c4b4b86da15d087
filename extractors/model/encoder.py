"""A Hugging Face model that reads sentences and gives its attention, or says clearly why it cannot."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from attentionology.corpora_loaders import Sentence
from attentionology.extractors.errors import ModelError, cause
from attentionology.extractors.layers import read_weights
from attentionology.extractors.layers.verification import LayerRecorder, verify_model
from attentionology.extractors.model.conditions import (
    Batching,
    attend_fully,
    check_full_attention,
    check_vocabulary,
    conditions_of,
    find_batching,
    longest_input,
    switch_to_eager,
)
from attentionology.extractors.model.float64_copy import float64_twin, in_float64
from attentionology.extractors.model.forward_pass import Forward, ModelLayers
from attentionology.extractors.model.loading import LoadedFiles, find_model, load_model, load_tokenizer, quiet
from attentionology.extractors.tokens.pieces import Pieces, Unalignable, align, prepare_tokenizer
from attentionology.extractors.tokens.token_classes import PieceForms, token_classes


class Encoder:
    """A model and its tokenizer, ready to give attention for sentences.

    The model is put into evaluation mode. Attention comes from the eager implementation with
    ``output_attentions``, because the default kernels never form the weights; a short probe pass at
    construction checks that every layer delivers a full matrix.

    The model is used as it is and not copied. Where its attention implementation gives no weights, as the default of
    ``from_pretrained`` (``"sdpa"``), it is switched to eager attention, and stays so. What the model computes is then
    the same up to rounding.

    Args:
        model: an encoder that takes ``input_ids`` and ``attention_mask`` and returns ``attentions``; of an
            encoder-decoder the encoder is taken.
        tokenizer: its fast tokenizer.
        name: what to call it in results.
        files: where it was loaded from, if it was.

    Attributes:
        n_layers, n_heads: shape of its attention.
        max_length: the most pieces it takes, special tokens included; None if it sets no limit.
        forms: the text of each piece by its vocabulary id.
        batching: which sentences it may read together, see `attentionology.extractors.model.conditions.find_batching`.

    Raises:
        ModelError: no attention, not one square matrix per layer, or a tokenizer that does not fit.
    """

    def __init__(self, model: Any, tokenizer: Any, name: str = "", files: LoadedFiles | None = None) -> None:
        if model.config.is_encoder_decoder and hasattr(model, "get_encoder"):
            model = model.get_encoder()
        self.model: Any = model.eval()
        self.tokenizer: Any = prepare_tokenizer(tokenizer)
        self.name = name
        self.files = files or LoadedFiles()
        self.forms = PieceForms(self.tokenizer)
        check_vocabulary(model, tokenizer, name or "the model")
        self.max_length = longest_input(model)
        attend_fully(model)
        self._layers: tuple[Any, ModelLayers] | None = None
        self._double: tuple[Any, _Float64Encoder] | None = None
        probe = self._probe()
        self.n_layers, self.n_heads = len(probe), probe[0].shape[1]
        self.batching: Batching = find_batching(self)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path,
        *,
        revision: str | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> Encoder:
        """Load a model from a folder or from the Hugging Face Hub.

        Args:
            name_or_path: folder with ``config.json`` and ``*.safetensors``, or a Hub id. A model of the Hub is read at
                one commit, which ``files`` records; see `attentionology.extractors.model.hub.hub_model`.
            revision: branch, tag or commit on the Hub.
            device: where to compute.
            dtype: of weights and maps, float32 or float64. Lower precision would blur the comparisons that
                every count is made of.

        Raises:
            ValueError: another dtype.
            ModelError: it cannot be found or loaded, holds no safetensors, or gives no attention.
        """
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"dtype must be torch.float32 or torch.float64, not {dtype}")
        files = find_model(name_or_path, revision)
        tokenizer = load_tokenizer(files)
        model, files = load_model(files, dtype=dtype)
        try:
            if torch.device(device).type == "meta":
                raise RuntimeError("it computes shapes and no numbers")
            model = model.to(device)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            first = str(error).split(". ", 1)[0].split("\n", 1)[0][:120]
            known = "usual are cpu, cuda, cuda:1, mps"
            raise ModelError(f"cannot use device {str(device)!r} ({known}): {first}") from error
        name = Path(name_or_path).resolve().name if files.endpoint is None else files.name
        return cls(model, tokenizer, name, files)

    def __repr__(self) -> str:
        return f"Encoder({self.name!r}, {self.family}, {self.n_layers} layers × {self.n_heads} heads, {self.dtype})"

    @property
    def family(self) -> str:
        """The architecture, as Hugging Face names it (``model_type``)."""
        return str(self.model.config.model_type)

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return torch.device(next(self.model.parameters()).device)

    @property
    def dtype(self) -> torch.dtype:
        """What the model computes in (the input embeddings may be stored in another type)."""
        parameters: list[Tensor] = list(self.model.parameters())
        return next(p.dtype for p in reversed(parameters) if p.is_floating_point())

    @property
    def warnings(self) -> list[str]:
        """What a user should be told before the numbers, a sentence each."""
        return [*self.files.warnings, *conditions_of(self.model, self.batching)]

    def align(self, sentences: Sequence[Sentence]) -> list[Pieces | Unalignable]:
        """Tokenise sentences and match words with pieces, see `attentionology.extractors.tokens.pieces.align`."""
        return align(self.tokenizer, sentences)

    def forward(self, batch: Sequence[Pieces], *, hidden_states: bool = False) -> Forward:
        """One forward pass over sentences padded to the longest, segment ids all zero if the pieces have no others.

        Args:
            batch: what to read.
            hidden_states: keep them too, and read the layers' weights.

        Raises:
            ModelError: a layer gives no attention matrix; with ``hidden_states``, as `layers`.
        """
        ids, mask = self.pad(batch)
        layers = self.layers if hidden_states else None
        attentions, hidden = self._run(ids, mask, self.segment_ids(batch), hidden_states=hidden_states)
        return Forward(list(attentions), mask, hidden, layers)

    @property
    def layers(self) -> ModelLayers:
        """The layers' weights in one form for all architectures, verified on a padded batch of two short inputs.

        Read again after the parameters have changed.

        Raises:
            ModelError: the architecture is not known, or what is recomputed is not what the model computes.
        """
        key = self._parameters_key()
        if self._layers is None or self._layers[0] != key:
            self._layers = key, self._read_layers()
        return self._layers[1]

    def pad(self, batch: Sequence[Pieces]) -> tuple[Int[Tensor, "batch n"], Bool[Tensor, "batch n"]]:
        """Ids padded on the right to the longest sentence, and the mask that is True on pieces."""
        n = max(len(pieces) for pieces in batch)
        pad = self.tokenizer.pad_token_id
        ids = torch.full((len(batch), n), 0 if pad is None else pad)
        mask = torch.zeros(len(batch), n, dtype=torch.bool)
        for row, pieces in enumerate(batch):
            ids[row, : len(pieces)] = torch.tensor(pieces.ids)
            mask[row, : len(pieces)] = True
        return ids.to(self.device), mask.to(self.device)

    def segment_ids(self, batch: Sequence[Pieces]) -> Int[Tensor, "batch n"] | None:
        """Padded as by `pad`; None if they are all zero, which is what models take for granted."""
        if all(pieces.segment_ids is None for pieces in batch):
            return None
        n = max(len(pieces) for pieces in batch)
        given = [pieces.segment_ids or [0] * len(pieces) for pieces in batch]
        return torch.tensor([row + [0] * (n - len(row)) for row in given], device=self.device)

    def classes(self, batch: Sequence[Pieces]) -> Int[Tensor, "batch n"]:
        """Index into `attentionology.extractors.TOKEN_CLASSES` of every piece, −1 on padding."""
        return token_classes(self.forms, self.tokenizer.mask_token_id, batch)

    @property
    def double(self) -> Encoder:
        """The same model in float64, made when first needed and again after parameters have been replaced.

        It shares the parameters of this one and converts each when it is used, see `extractors.twin.float64_twin`.
        """
        if self.dtype == torch.float64:
            return self
        key = tuple(id(parameter) for parameter in self.model.parameters())  # kept alive, and so unique, by the twin
        if self._double is None or self._double[0] != key:
            self._double = key, _Float64Encoder(float64_twin(self.model), self.tokenizer, self.name, self.files)
        return self._double[1]

    def random_init(self, seed: int) -> Encoder:
        """A copy of the same architecture with random weights that keeps the embedding tables.

        The control of Clark et al. (2019, §5): pre-trained word and position embeddings, every other weight
        drawn anew as the architecture initialises it. "Embedding tables" are all `torch.nn.Embedding`
        modules (words, positions, segments); the layer norm after them is reset like the rest.
        """
        with torch.random.fork_rng(devices=[]), torch.device("cpu"):
            torch.manual_seed(seed)
            twin = type(self.model)._from_config(self.model.config, dtype=self.dtype)
        trained = dict(self.model.named_modules())
        for module_name, module in twin.named_modules():
            if isinstance(module, nn.Embedding):
                module.weight.data.copy_(trained[module_name].weight.data)
        twin.set_attn_implementation("eager")
        control = Encoder(twin.to(self.device), self.tokenizer, f"{self.name} random-init seed {seed}")
        control.batching = self.batching
        return control

    def weights_sha256(self) -> str:
        """SHA-256 over names, shapes, types and bytes of all weights, independent of how they were stored.

        Weights that the files lack, such as a pooler's, are random numbers in every run and are left out.
        """
        digest = hashlib.sha256()
        for key, tensor in sorted(self.model.state_dict().items()):
            if key in self.files.untrained:
                continue
            digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
            digest.update(tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy())
        return digest.hexdigest()

    def _probe(self) -> tuple[Tensor, ...]:
        """Attention of a short input; the model is switched to eager attention if it gives none otherwise."""
        try:
            with quiet():  # transformers advises what is done here
                return self._run(*self._probe_input())[0]
        except ModelError:
            if not switch_to_eager(self.model):
                raise
        return self._run(*self._probe_input())[0]

    def _probe_input(self, text: str = "a b c") -> tuple[Int[Tensor, "1 n"], Bool[Tensor, "1 n"]]:
        ids = torch.tensor([self.tokenizer(text).input_ids], device=self.device)
        return ids, torch.ones_like(ids, dtype=torch.bool)

    def _read_layers(self) -> ModelLayers:
        try:
            return self._verified_layers()
        except ModelError:
            raise
        except Exception as error:
            what = f"{self.family!r}: what is known of this architecture does not fit"
            raise ModelError(f"{what}: {cause(error)}") from error

    @torch.inference_mode()
    def _verified_layers(self) -> ModelLayers:
        weights = read_weights(self.model, self.n_layers, self.n_heads)
        long, _ = self._probe_input("a b c d e f g h i j k l")
        short, _ = self._probe_input("m")
        ids, mask = long.expand(2, -1).clone(), torch.ones(2, long.shape[1], dtype=torch.bool, device=long.device)
        ids[1, : short.shape[1]] = short
        mask[1, short.shape[1] :] = False
        with LayerRecorder(self.model) as recorded:
            attentions, hidden = self._run(ids, mask, hidden_states=True)
        unchecked = ModelLayers(weights, [False] * self.n_layers, self.family)
        found = list(Forward(list(attentions), mask, hidden, unchecked).layers())
        comparable = verify_model(found, recorded, hidden or (), self.family)
        return ModelLayers(weights, comparable, self.family)

    def _parameters_key(self) -> tuple[Any, ...]:
        """Changes when a parameter is replaced, moved or written to, other than through ``.data``."""
        return tuple(
            (id(p), p.data_ptr(), p.dtype, p.device, None if p.is_inference() else p._version)
            for p in self.model.parameters()
        )

    @torch.inference_mode()
    def _run(
        self,
        ids: Int[Tensor, "batch n"],
        mask: Bool[Tensor, "batch n"],
        segment_ids: Int[Tensor, "batch n"] | None = None,
        *,
        hidden_states: bool = False,
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...] | None]:
        """Attention of all layers, and all hidden states if asked for."""
        try:
            output = self.model(**model_inputs(ids, mask, segment_ids), output_hidden_states=hidden_states)
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:  # whatever a model raises, this is the one that cannot be used
            what = f"an input of {ids.shape[1]} pieces in {str(self.dtype).removeprefix('torch.')}"
            raise ModelError(f"{self.name or self.family}: the model cannot read {what} ({cause(error)})") from error
        attentions = tuple(getattr(output, "attentions", None) or ())
        check_full_attention(self.model, attentions, tuple(ids.shape), self.name or self.family)
        return attentions, tuple(output.hidden_states) if hidden_states else None


class _Float64Encoder(Encoder):
    """An encoder around a float64 twin, whose parameters are stored in another type than it computes in."""

    @property
    def device(self) -> torch.device:
        """Where the twin computes, which is not where its parameters are if that device has no float64."""
        return in_float64(torch.zeros(0, device=super().device)).device

    @property
    def dtype(self) -> torch.dtype:
        """What the twin computes in."""
        return torch.float64

    @torch.inference_mode()
    def _parameters_key(self) -> tuple[Any, ...]:
        """Changes with any value: what is read of the layers are copies here, which must not go stale."""
        flat = [parameter.flatten() for parameter in self.model.parameters()]
        return tuple(float(p.sum()) + float(torch.dot(p[1:], p[:-1])) for p in flat)


def model_inputs(
    ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch n"], segment_ids: Int[Tensor, "batch n"] | None
) -> dict[str, Any]:
    """What any model here is called with to give its attention."""
    inputs = {"input_ids": ids, "attention_mask": mask.long(), "output_attentions": True, "return_dict": True}
    return inputs if segment_ids is None else {**inputs, "token_type_ids": segment_ids}

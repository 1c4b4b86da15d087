"""A Hugging Face model with its tokenizer: what encoders and translation models have in common."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ...corpora_loaders.errors import out_of_memory
from ...storage.writing import amount
from ..errors import ModelError, cause
from .conditions import Batching, conditions_of, missing_tokens
from .files import LoadedFiles
from .float64_copy import float64_twin, in_float64
from .forward_pass import parameters_key

Model = TypeVar("Model", bound="LoadedModel")


class LoadedModel:
    """The base class of models that give attention; its attributes are those of `Encoder`."""

    n_layers: int
    n_heads: int
    max_length: int | None
    batching: Batching
    causal: bool = False

    def __init__(self, model: Any, tokenizer: Any, name: str, files: LoadedFiles | None) -> None:
        self.model: Any = model.eval()
        self.tokenizer: Any = tokenizer
        self.name = name
        self.files = files or LoadedFiles()
        # The model that holds the parameters, and the type that this one computes in, if it is a view of that.
        self.held: Any
        self._view_dtype: torch.dtype | None
        self.held, self._view_dtype = getattr(model, "view_of", (model, None))
        self._double: tuple[Any, Any] | None = None  # the ids of parameters, and the twin that was made of them
        self._read: tuple[Any, Any] | None = None  # the key of the parameters, and what was read of them

    def __repr__(self) -> str:
        shape = f"{amount(self.n_layers, 'layers')} × {amount(self.n_heads, 'heads')}"
        return f"{type(self).__name__}({self.name!r}, {self.family}, {shape}, {self.dtype})"

    @property
    def family(self) -> str:
        """The architecture, by its name in transformers (``model_type``)."""
        return str(self.model.config.model_type)

    @property
    def label(self) -> str:
        """What messages call the model: its name, or its architecture if it has no name."""
        return self.name or self.family

    @property
    def device(self) -> torch.device:
        """The device that the model computes on: that of the parameters, unless that lacks the float64 of a twin."""
        parameter: Tensor = next(self.model.parameters())
        # A tensor without values is enough to see where float64 tensors are put.
        return in_float64(parameter[:0]).device if self._view_dtype == torch.float64 else parameter.device

    @property
    def dtype(self) -> torch.dtype:
        """The type that the model computes in. The input embeddings may be stored in another one."""
        return self._view_dtype or self.held_dtype

    @property
    def held_dtype(self) -> torch.dtype:
        """The type in which weights are held in memory: bfloat16 weights are computed with in float32."""
        parameters: list[Tensor] = list(self.held.parameters())
        return next(p.dtype for p in reversed(parameters) if p.is_floating_point())  # input embeddings come first

    @property
    def warnings(self) -> list[str]:
        """What a user should know before reading the numbers, one sentence each."""
        tokens = [] if self.causal else missing_tokens(self.tokenizer)
        return [*self.files.warnings, *conditions_of(self.held, self.batching), *tokens]

    @property
    def double(self: Model) -> Model:
        """The same model in float64, which shares the parameters of this one and converts each when it is used.

        It is made when it is first read, and again after parameters have been replaced. See
        `attentionology.extractors.model.float64_copy`.

        Raises:
            ModelError: the model cannot be computed in float64.
        """
        if self.dtype == torch.float64:
            return self
        ids = tuple(id(parameter) for parameter in self.model.parameters())  # kept alive, and so unique, by the twin
        if self._double is None or self._double[0] != ids:
            key = parameters_key(self.held)
            try:
                self._double = ids, self._with_model(float64_twin(self.held))
            except Exception as error:
                if out_of_memory(error):
                    raise
                why = f"it cannot be computed in float64, which decides what float32 cannot ({cause(error)})"
                raise ModelError(f"{self.label}: {why}") from error
            # For torch, the twin has changed all parameters, but they have the values that were read.
            if self._read is not None and self._read[0] == key:
                self._read = parameters_key(self.held), self._read[1]
        double: Model = self._double[1]
        return double

    @property
    def shape(self) -> str:
        """The shape of its attention, in words."""
        return f"{amount(self.n_layers, 'layers')} × {amount(self.n_heads, 'heads')}"

    def align(self, inputs: Any, /) -> Sequence[Any]:
        """Tokenize inputs and match words with pieces; an `Unalignable` says why an input cannot be read."""
        raise NotImplementedError

    def random_init(self, seed: int) -> LoadedModel:
        """Make a copy with random weights that keeps the embedding tables, see `Encoder.random_init`."""
        raise NotImplementedError

    def weights_sha256(self) -> str:
        """Compute a SHA-256 of names, shapes, types and bytes of all weights, independent of how they were stored."""
        # Weights that the files lack, such as a pooler's, are random numbers in every run.
        return weights_sha256(self.held, self.files.untrained)

    def _up_to_date(self, read: Callable[[], Any]) -> Any:
        """Return what a function reads of the weights, which is read again after parameters have changed."""
        key = parameters_key(self.held)
        if self._read is None or self._read[0] != key:
            self._read = key, read()
        return self._read[1]

    def _with_model(self, twin: Any) -> Any:
        """Wrap the float64 view of the model."""
        raise NotImplementedError

    def _pad(
        self, rows: Sequence[Sequence[int]], pad: int | None
    ) -> tuple[Int[Tensor, "batch n"], Bool[Tensor, "batch n"]]:
        """Return ids padded on the right to the longest row, and the mask that is True on pieces."""
        ids = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad or 0)
        mask = pad_sequence([torch.ones(len(row), dtype=torch.bool) for row in rows], batch_first=True)
        return ids.to(self.device), mask.to(self.device)

    @contextmanager
    def _explain_errors(self, extent: str) -> Iterator[None]:
        """Turn whatever the model raises, except for a lack of memory, into an error that says what it was to read."""
        try:
            yield
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:  # whatever a model raises, it is the model that cannot be used
            what = f"{extent} in {str(self.dtype).removeprefix('torch.')}"
            raise ModelError(f"{self.label}: the model cannot read {what} ({cause(error)})") from error


def weights_sha256(model: Any, left_out: Collection[str] = ()) -> str:
    """Compute a SHA-256 of names, shapes, types and bytes of the weights of a model, except for those left out."""
    digest = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        if key in left_out:
            continue
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy())
    return digest.hexdigest()


def random_copy(model: Any, seed: int, dtype: torch.dtype) -> Any:
    """Make the control of Clark et al. (2019, §5), a copy with random weights that keeps the embedding tables."""
    if not hasattr(type(model), "_from_config"):
        raise ModelError(f"{model.config.model_type}: only models of transformers can be copied with random weights")
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.manual_seed(seed)
        random = type(model)._from_config(model.config, dtype=dtype)
    trained = dict(model.named_modules())
    for name, module in random.named_modules():
        if isinstance(module, nn.Embedding):
            module.weight.data.copy_(trained[name].weight.data)
    random.set_attn_implementation("eager")
    return random


def keep_outside(random: Any, trained: Any, layers: Sequence[nn.Module], label: str) -> None:
    """Give a copy with random weights all parameters and buffers that a model has outside its layers."""
    if not layers:
        raise ModelError(f"{label}: its architecture has no row of names, so its layers cannot be told from the rest")
    inside = {id(tensor) for layer in layers for tensor in (*layer.parameters(), *layer.buffers())}
    values = dict(trained.named_parameters()) | dict(trained.named_buffers())
    with torch.no_grad():
        for name, tensor in (*random.named_parameters(), *random.named_buffers()):
            if id(tensor) not in inside:
                tensor.copy_(values[name])


def described_model(model: LoadedModel) -> dict[str, Any]:
    """Return what a model is recognized by, wherever it is stored: configuration, digests of weights and tokenizer."""
    tokenizer = model.tokenizer
    configuration = model.model.config.to_dict()
    for name in ("_name_or_path", "transformers_version"):
        configuration.pop(name, None)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        rules = sorted(tokenizer.get_vocab().items())
    else:  # how the last call padded and truncated is kept by a tokenizer, and is no part of it
        rules = json.loads(backend.to_str()) | {"padding": None, "truncation": None}
    described = json.dumps([type(tokenizer).__name__, rules, tokenizer.special_tokens_map], sort_keys=True, default=str)
    return {
        "weights": model.weights_sha256(),
        "configuration": configuration,
        "tokenizer": hashlib.sha256(described.encode()).hexdigest(),
    }

"""A Hugging Face model with its tokenizer: what encoders and translation models have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from ...corpora_loaders.errors import out_of_memory
from ..errors import ModelError, cause
from .conditions import Batching, conditions_of
from .files import LoadedFiles
from .float64_copy import float64_twin, in_float64
from .loading import find_model, load_tokenizer, on_device

Model = TypeVar("Model", bound="LoadedModel")


class LoadedModel:
    """The base class of models that give attention. The model is put into evaluation mode, and not copied.

    Args:
        model: the model.
        tokenizer: its tokenizer.
        name: the name of the model in results.
        files: where it was loaded from, if it was.

    Attributes:
        n_layers, n_heads: the shape of its attention.
        max_length: the largest number of pieces of an input, special tokens included; None if there is no limit.
        batching: which inputs it may read together.
    """

    n_layers: int
    n_heads: int
    max_length: int | None
    batching: Batching

    def __init__(self, model: Any, tokenizer: Any, name: str, files: LoadedFiles | None) -> None:
        self.model: Any = model.eval()
        self.tokenizer: Any = tokenizer
        self.name = name
        self.files = files or LoadedFiles()
        self._double: tuple[Any, Any] | None = None

    def __repr__(self) -> str:
        shape = f"{self.n_layers} layers × {self.n_heads} heads"
        return f"{type(self).__name__.removeprefix('_Float64')}({self.name!r}, {self.family}, {shape}, {self.dtype})"

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
        """The device that the model computes on."""
        return torch.device(next(self.model.parameters()).device)

    @property
    def dtype(self) -> torch.dtype:
        """The type that the model computes in. The input embeddings may be stored in another one."""
        parameters: list[Tensor] = list(self.model.parameters())
        return next(p.dtype for p in reversed(parameters) if p.is_floating_point())

    @property
    def warnings(self) -> list[str]:
        """What a user should know before reading the numbers, one sentence each."""
        return [*self.files.warnings, *conditions_of(self.model, self.batching)]

    @property
    def double(self: Model) -> Model:
        """The same model in float64, which is made when it is first read and again after parameters have been replaced.

        It shares the parameters of this one and converts each when it is used, see
        `attentionology.extractors.model.float64_copy`.

        Raises:
            ModelError: the model cannot be computed in float64.
        """
        if self.dtype == torch.float64:
            return self
        key = tuple(id(parameter) for parameter in self.model.parameters())  # kept alive, and so unique, by the twin
        if self._double is None or self._double[0] != key:
            try:
                self._double = key, self._with_model(float64_twin(self.model))
            except Exception as error:
                if out_of_memory(error):
                    raise
                why = f"it cannot be computed in float64, which decides what float32 cannot ({cause(error)})"
                raise ModelError(f"{self.label}: {why}") from error
        double: Model = self._double[1]
        return double

    @property
    def shape(self) -> str:
        """The shape of its attention, in words."""
        return f"{self.n_layers} layers × {self.n_heads} heads"

    def random_init(self, seed: int) -> LoadedModel:
        """Make a copy with random weights that keeps the embedding tables, see `Encoder.random_init`."""
        raise NotImplementedError

    def weights_sha256(self) -> str:
        """Compute a SHA-256 of names, shapes, types and bytes of all weights, independent of how they were stored.

        Weights that the files lack, such as a pooler's, are random numbers in every run and are left out.
        """
        return weights_sha256(self.model, self.files.untrained)

    def _with_model(self, twin: Any) -> Any:
        """Wrap the float64 view of the model in a subclass of both this class and `Float64Model`."""
        raise NotImplementedError

    def _padded(
        self, rows: Sequence[Sequence[int]], pad: int | None
    ) -> tuple[Int[Tensor, "batch n"], Bool[Tensor, "batch n"]]:
        """Return ids padded on the right to the longest row, and the mask that is True on pieces."""
        n = max(map(len, rows))
        ids, mask = torch.full((len(rows), n), 0 if pad is None else pad), torch.zeros(len(rows), n, dtype=torch.bool)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = torch.tensor(row)
            mask[index, : len(row)] = True
        return ids.to(self.device), mask.to(self.device)

    @contextmanager
    def _reading(self, extent: str) -> Iterator[None]:
        """Turn whatever the model raises, except for a lack of memory, into an error of the model.

        Args:
            extent: what the model reads, for the message.

        Raises:
            ModelError: the model cannot read it.
        """
        try:
            yield
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:  # whatever a model raises, it is the model that cannot be used
            read = f"{extent} in {str(self.dtype).removeprefix('torch.')}"
            raise ModelError(f"{self.label}: the model cannot read {read} ({cause(error)})") from error


class Float64Model(LoadedModel):
    """What differs for a float64 copy, whose parameters are stored in another type than it computes in."""

    @property
    def device(self) -> torch.device:
        """The device that the copy computes on, which is not that of its parameters if that has no float64."""
        return in_float64(torch.zeros(0, device=super().device)).device

    @property
    def dtype(self) -> torch.dtype:
        """The type that the copy computes in."""
        return torch.float64


class Pretrained(NamedTuple):
    """What `load_pretrained` loads, in the order in which models take it."""

    model: Any
    tokenizer: Any
    name: str
    files: LoadedFiles


def load_pretrained(
    load: Callable[..., tuple[Any, LoadedFiles]],
    name_or_path: str | Path,
    revision: str | None,
    device: str | torch.device,
    dtype: torch.dtype,
) -> Pretrained:
    """Load a model and its tokenizer from a folder or from the Hugging Face Hub.

    Args:
        load: loads the model from its files, for example `attentionology.extractors.model.loading.load_model`.
        name_or_path: a folder with ``config.json`` and ``*.safetensors``, or a Hub id.
        revision: a branch, tag or commit on the Hub.
        device: the device to compute on.
        dtype: the type of weights and maps, float32 or float64. Lower precision would blur the comparisons that
            every count is made of.

    Raises:
        ValueError: ``dtype`` is another type.
        ModelError: the model cannot be found or loaded, or has no safetensors.
    """
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"dtype must be torch.float32 or torch.float64, not {dtype}")
    files = find_model(name_or_path, revision)
    tokenizer = load_tokenizer(files)
    model, files = load(files, dtype=dtype)
    name = Path(name_or_path).resolve().name if files.endpoint is None else files.name
    return Pretrained(on_device(model, device), tokenizer, name, files)


def weights_sha256(model: Any, left_out: Collection[str] = ()) -> str:
    """Compute a SHA-256 of names, shapes, types and bytes of the weights of a model.

    Args:
        model: the model.
        left_out: the names of weights that the digest does not cover.
    """
    digest = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        if key in left_out:
            continue
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy())
    return digest.hexdigest()


def random_copy(model: Any, seed: int, dtype: torch.dtype) -> Any:
    """Make a copy of a model with random weights that keeps the embedding tables, on the CPU and with eager attention.

    This is the control of Clark et al. (2019, §5).

    Args:
        model: the model.
        seed: the seed of the weights, which are drawn as the architecture initializes them.
        dtype: the type of the weights.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.manual_seed(seed)
        random = type(model)._from_config(model.config, dtype=dtype)
    trained = dict(model.named_modules())
    for name, module in random.named_modules():
        if isinstance(module, nn.Embedding):
            module.weight.data.copy_(trained[name].weight.data)
    random.set_attn_implementation("eager")
    return random

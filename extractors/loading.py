"""Models and tokenizers from a folder or the Hugging Face Hub: safetensors only, no remote code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
import transformers

from corpora_loaders.lines import file_sha256
from extractors.checkpoint import check_checkpoint, check_tokenizer
from extractors.errors import ModelError, cause
from extractors.loaded_weights import UnusedWeights, check_loaded, shape_conflict


@dataclass(frozen=True)
class LoadedFiles:
    """Where a model came from.

    Attributes:
        revision: the Hub commit, None for a local folder.
        sha256: SHA-256 of each safetensors file by its name.
        unused: tensors of the files that the model has no place for.
        warnings: what a user should be told before the numbers, a sentence each.
    """

    revision: str | None = None
    sha256: dict[str, str] = field(default_factory=dict)
    unused: UnusedWeights = field(default_factory=UnusedWeights)
    warnings: tuple[str, ...] = ()


def load_tokenizer(name_or_path: str | Path, revision: str | None = None) -> Any:
    """The fast tokenizer of a model.

    Raises:
        ModelError: it cannot be loaded, or it has hardly any vocabulary (its files are missing).
    """
    _check_folder(name_or_path)
    with _quiet():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                str(name_or_path), revision=revision, trust_remote_code=False
            )
        except Exception as error:  # whatever the libraries raise, the cause is in the files
            raise ModelError(f"cannot load {str(name_or_path)!r} (its tokenizer): {cause(error)}") from error
    check_tokenizer(name_or_path, tokenizer)
    if len(tokenizer) <= len(tokenizer.all_special_ids) + 1:
        raise ModelError(
            f"the tokenizer of {str(name_or_path)!r} has no vocabulary besides special tokens; is "
            "tokenizer.json or vocab.txt missing?"
        )
    return tokenizer


def load_model(
    name_or_path: str | Path, revision: str | None = None, dtype: torch.dtype = torch.float32
) -> tuple[Any, LoadedFiles]:
    """The bare model with eager attention, and a record of its files.

    Raises:
        ModelError: it cannot be found or loaded, or its weights are not stored as safetensors.
    """
    model, info = _from_pretrained(transformers.AutoModel, name_or_path, revision, dtype)
    return model, _files(name_or_path, model, info)


def load_classifier(
    name_or_path: str | Path,
    revision: str | None = None,
    dtype: torch.dtype = torch.float32,
    labels: Sequence[str] | None = None,
) -> tuple[Any, LoadedFiles]:
    """The model with a classification head and eager attention, and a record of its files.

    Args:
        name_or_path, revision, dtype: as for `load_model`.
        labels: names of the classes of a head to be trained. What the checkpoint lacks of the head is random numbers
            then, from the seed that is set. Without them the checkpoint must have a head.

    Raises:
        ModelError: as `load_model`, or there is no trained classification head.
        ValueError: fewer than two labels, or one twice.
    """
    head: dict[str, Any] = {}
    if labels is not None:
        if len(set(labels)) != len(labels) or len(labels) < 2:
            raise ValueError(f"labels must be two or more different names, not {list(labels)}")
        names = dict(enumerate(labels))
        numbers = {label: number for number, label in names.items()}
        head = {"num_labels": len(names), "id2label": names, "label2id": numbers, "ignore_mismatched_sizes": True}
    auto_class = transformers.AutoModelForSequenceClassification
    model, info = _from_pretrained(auto_class, name_or_path, revision, dtype, **head)
    files = _files(name_or_path, model, info)
    if labels is None and (info["missing_keys"] or info["mismatched_keys"]):
        raise ModelError(f"{str(name_or_path)!r} has no trained classification head; fine-tune one with --finetune")
    return model.eval(), files


def load_masked_lm(
    name_or_path: str | Path, revision: str | None = None, dtype: torch.dtype = torch.float32
) -> Any | None:
    """The model with its masked-LM head and eager attention; None if the checkpoint has no such head.

    Raises:
        ModelError: it cannot be found or loaded.
    """
    _check_folder(name_or_path)
    with _quiet():
        try:
            config = transformers.AutoConfig.from_pretrained(
                str(name_or_path), revision=revision, trust_remote_code=False
            )
        except Exception as error:
            raise ModelError(f"cannot load {str(name_or_path)!r}: {cause(error)}") from error
    if config.is_encoder_decoder or type(config) not in transformers.MODEL_FOR_MASKED_LM_MAPPING:
        return None
    model, info = _from_pretrained(transformers.AutoModelForMaskedLM, name_or_path, revision, dtype)
    if info["missing_keys"] or info["mismatched_keys"]:
        return None
    check_loaded(str(name_or_path), model, info)
    return model.eval()


def save_model(model: Any, tokenizer: Any, folder: str | Path) -> None:
    """Write a model, as safetensors, and its tokenizer so that they can be loaded from the folder."""
    with _quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _from_pretrained(
    auto_class: Any, name_or_path: str | Path, revision: str | None, dtype: torch.dtype, **options: Any
) -> tuple[Any, dict[str, Any]]:
    """A model with eager attention from safetensors, and what was missing from them and left over of them."""
    warnings = _check_folder(name_or_path)
    with _quiet():
        try:
            model, info = auto_class.from_pretrained(
                str(name_or_path),
                revision=revision,
                dtype=dtype,
                attn_implementation="eager",
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
        except Exception as error:  # whatever the libraries raise, the cause is in the files
            if "ignore_mismatched_sizes" in str(error):
                raise ModelError(_shape_conflict(auto_class, name_or_path, revision)) from error
            hint = ""
            if "safetensors" in str(error):
                hint = (
                    " Weights are only read as safetensors. To convert a pytorch_model.bin that you trust: load it "
                    "once with torch.load(..., weights_only=True) and save it with model.save_pretrained()."
                )
            raise ModelError(f"cannot load {str(name_or_path)!r}: {cause(error)}{hint}") from error
    return model, {**info, "warnings": warnings}


def _shape_conflict(auto_class: Any, name_or_path: str | Path, revision: str | None) -> str:
    """What to say of weights that do not fit config.json; transformers writes their names into its log only."""
    config = transformers.AutoConfig.from_pretrained(str(name_or_path), revision=revision, trust_remote_code=False)
    with torch.device("meta"):
        model = auto_class.from_config(config)
    config_file = transformers.utils.cached_file(str(name_or_path), "config.json", revision=revision)
    return f"{str(name_or_path)!r}: {shape_conflict(model, Path(config_file).parent)}"


def max_length(model: Any) -> int | None:
    """Length limit set by the position embeddings.

    RoBERTa-like models start counting positions after the padding index, so they take fewer pieces than
    their table has rows.
    """
    limit = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit <= 0:
        return None
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return limit - int(module.padding_idx) - 1
    return limit


def _check_folder(name_or_path: str | Path) -> list[str]:
    """What a user should be told of a folder; a path that is none is refused as such, not as a malformed Hub id."""
    name = str(name_or_path)
    looks_like_path = isinstance(name_or_path, Path) or name.startswith((".", "/", "~")) or name.endswith("/")
    if not Path(name).is_dir() and (looks_like_path or name.count("/") > 1):
        raise ModelError(f"there is no model folder {name!r}")
    if Path(name).is_dir() and not (Path(name) / "config.json").is_file():
        raise ModelError(f"cannot load {name!r}: there is no config.json in that folder")
    return check_checkpoint(name) if Path(name).is_dir() else []


def _files(name_or_path: str | Path, model: Any, info: dict[str, Any]) -> LoadedFiles:
    unused = check_loaded(str(name_or_path), model, info)
    warnings = (*info["warnings"], *unused.warnings())
    revision = getattr(model.config, "_commit_hash", None)
    folder = Path(name_or_path)
    if not folder.is_dir():
        config = transformers.utils.cached_file(str(name_or_path), "config.json", revision=revision)
        folder = Path(config).parent
    sha256 = {f.name: file_sha256(f) for f in sorted(folder.glob("*.safetensors"))}
    return LoadedFiles(revision, sha256, unused, warnings)


class _quiet:  # noqa: N801
    """Silences the loading bars and notes of transformers, and restores its settings."""

    def __enter__(self) -> None:
        self._verbosity = transformers.utils.logging.get_verbosity()
        self._bars = transformers.utils.logging.is_progress_bar_enabled()
        self._hub_verbosity = huggingface_hub.logging.get_verbosity()
        huggingface_hub.logging.set_verbosity_error()
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()

    def __exit__(self, *_: object) -> None:
        transformers.utils.logging.set_verbosity(self._verbosity)
        huggingface_hub.logging.set_verbosity(self._hub_verbosity)
        if self._bars:
            transformers.utils.logging.enable_progress_bar()

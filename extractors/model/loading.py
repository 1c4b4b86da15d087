"""Models and tokenizers from a folder or the Hugging Face Hub: safetensors only, no remote code."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
import transformers

from ..errors import ModelError
from .checkpoint import check_tokenizer
from .files import LoadedFiles, Location, find_model
from .hub import CONVERSION_HINT
from .load_failures import model_failure, tokenizer_failure, vocabulary_failure
from .loaded_weights import check_loaded, shape_conflict


def load_tokenizer(name_or_path: Location, revision: str | None = None) -> Any:
    """Load the fast tokenizer of a model.

    Args:
        name_or_path: a model folder, a name on the Hub, or the files that another loader returned.
        revision: a branch, tag or commit on the Hub.

    Raises:
        ModelError: the tokenizer cannot be loaded, has no vocabulary besides special tokens, or cannot read all words.

    Example:
        >>> from attentionology import load_encoder, load_tokenizer
        >>> load_tokenizer(load_encoder("demo").files).tokenize("Unalignable words?")
        ['una', '##li', '##gna', '##ble', 'words', '?']
    """
    files = find_model(name_or_path, revision)
    with quiet():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                str(files.folder), local_files_only=True, trust_remote_code=False
            )
        except Exception as error:  # whatever the libraries raise, the cause is in the files
            raise ModelError(tokenizer_failure(files.name, files.folder or Path(), error)) from error
    check_tokenizer(files.folder or "", tokenizer)
    if failure := vocabulary_failure(files.folder or Path(), tokenizer):
        raise ModelError(f"the tokenizer of {files.name!r} {failure}")
    return tokenizer


def load_model(
    name_or_path: Location, revision: str | None = None, dtype: torch.dtype = torch.float32
) -> tuple[Any, LoadedFiles]:
    """Load the bare model with eager attention, and return it with a record of its files.

    Raises:
        ModelError: it cannot be found or loaded, or its weights are not stored as safetensors.
    """
    files = find_model(name_or_path, revision)
    model, info = _from_pretrained(transformers.AutoModel, files, dtype)
    return model, _with_unused(files, model, info)


def load_classifier(
    name_or_path: Location,
    revision: str | None = None,
    dtype: torch.dtype = torch.float32,
    labels: Sequence[str] | None = None,
) -> tuple[Any, LoadedFiles]:
    """Load the model with a classification head and eager attention, and return it with a record of its files.

    Args:
        name_or_path: a model folder, a name on the Hub, or the files that another loader returned.
        revision: a branch, tag or commit on the Hub.
        dtype: the type of the weights.
        labels: the names of the classes of a head that is to be trained. What the checkpoint lacks of the head is then
            initialized with random numbers from torch's generator. Without labels, the checkpoint must have a head.

    Raises:
        ModelError: the model cannot be found or loaded, or there is no trained classification head.
        ValueError: there are fewer than two labels, or one occurs twice.

    Example:
        >>> from attentionology import load_classifier, load_encoder
        >>> model, files = load_classifier(load_encoder("demo").files, labels=["dull", "fine"])
        >>> model.config.id2label
        {0: 'dull', 1: 'fine'}
    """
    head: dict[str, Any] = {}
    if labels is not None:
        if len(set(labels)) != len(labels) or len(labels) < 2:
            raise ValueError(f"labels must be two or more different names, not {list(labels)}")
        names = dict(enumerate(labels))
        numbers = {label: number for number, label in names.items()}
        head = {"num_labels": len(names), "id2label": names, "label2id": numbers, "ignore_mismatched_sizes": True}
    files = find_model(name_or_path, revision)
    model, info = _from_pretrained(transformers.AutoModelForSequenceClassification, files, dtype, **head)
    files = _with_unused(files, model, info)
    if labels is None and (info["missing_keys"] or info["mismatched_keys"]):
        raise ModelError(f"{files.name!r} has no trained classification head; fine-tune one with --finetune")
    return model.eval(), files


def load_masked_lm(
    name_or_path: Location, revision: str | None = None, dtype: torch.dtype = torch.float32
) -> Any | None:
    """Load the model with its masked-LM head and eager attention; None if the checkpoint has no such head.

    Args:
        name_or_path: a model folder, a name on the Hub, or the files that another loader returned.
        revision: a branch, tag or commit on the Hub.
        dtype: the type of the weights.

    Raises:
        ModelError: it cannot be found or loaded.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import load_masked_lm
        >>> load_masked_lm(load_encoder("demo").files) is None  # a model of sentences, without a masked-LM head
        True
    """
    files = find_model(name_or_path, revision)
    with quiet():
        try:
            config = transformers.AutoConfig.from_pretrained(
                str(files.folder), local_files_only=True, trust_remote_code=False
            )
        except Exception as error:
            raise ModelError(model_failure(files.name, files.folder or Path(), error)) from error
    if config.is_encoder_decoder or type(config) not in transformers.MODEL_FOR_MASKED_LM_MAPPING:
        return None
    model, info = _from_pretrained(transformers.AutoModelForMaskedLM, files, dtype)
    if info["missing_keys"] or info["mismatched_keys"]:
        return None
    check_loaded(files.name, model, info)
    return model.eval()


def load_translation_model(
    name_or_path: Location, revision: str | None = None, dtype: torch.dtype = torch.float32
) -> tuple[Any, LoadedFiles]:
    """Load an encoder–decoder with eager attention, and return it with a record of its files.

    Args:
        name_or_path: a model folder, a name on the Hub, or the files that another loader returned.
        revision: a branch, tag or commit on the Hub.
        dtype: the type of the weights.

    Raises:
        ModelError: it cannot be found or loaded, or its weights are not stored as safetensors.
    """
    files = find_model(name_or_path, revision)
    model, info = _from_pretrained(transformers.AutoModelForSeq2SeqLM, files, dtype)
    return model.eval(), _with_unused(files, model, info, decoder=True)


def on_device(model: Any, device: str | torch.device) -> Any:
    """Move a model to a device.

    Raises:
        ModelError: there is no such device, or it cannot compute this model.
    """
    try:
        if torch.device(device).type == "meta":
            raise RuntimeError("it computes shapes and no numbers")
        return model.to(device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = textwrap.shorten(str(error).split(". ", 1)[0].split("\n", 1)[0], 100, placeholder=" …")
        usual = "devices are for example cpu, cuda, cuda:1 and mps"
        raise ModelError(f"cannot use device {str(device)!r}: {reason}; {usual}") from error


def save_model(model: Any, tokenizer: Any, folder: str | Path) -> None:
    """Write a model, as safetensors, and its tokenizer to a folder from which they can be loaded."""
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _from_pretrained(
    auto_class: Any, files: LoadedFiles, dtype: torch.dtype, **options: Any
) -> tuple[Any, dict[str, Any]]:
    """Load a model with eager attention from safetensors, and return it with transformers' loading info.

    The folder is local and only safetensors are read. Given the name of a model on the Hub that has no safetensors,
    transformers 5 would load those of a pull request by a conversion bot, even if nobody has merged it.
    """
    with quiet():
        try:
            model, info = auto_class.from_pretrained(
                str(files.folder),
                local_files_only=True,
                dtype=dtype,
                attn_implementation="eager",
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
        except Exception as error:  # whatever the libraries raise, the cause is in the files
            if "ignore_mismatched_sizes" in str(error):
                raise ModelError(_shape_conflict(auto_class, files)) from error
            hint = f" {CONVERSION_HINT}" if "safetensors" in str(error) else ""
            raise ModelError(model_failure(files.name, files.folder or Path(), error) + hint) from error
    return model, info


def _shape_conflict(auto_class: Any, files: LoadedFiles) -> str:
    """Describe the weights that do not fit config.json, which transformers names in its log only."""
    folder = files.folder or Path()
    config = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    with torch.device("meta"):
        model = auto_class.from_config(config)
    return f"{files.name!r}: {shape_conflict(model, folder)}"


def _with_unused(files: LoadedFiles, model: Any, info: dict[str, Any], *, decoder: bool = False) -> LoadedFiles:
    """Add to the record of the files what the model has no place for.

    Raises:
        ModelError: the files lack weights of the model, or have weights of further layers.
    """
    unused = check_loaded(files.name, model, info, decoder=decoder)
    missing = frozenset(info["missing_keys"])
    return replace(files, unused=unused, untrained=missing, warnings=(*files.warnings, *unused.warnings()))


def max_length(model: Any) -> int | None:
    """Return the limit that the position embeddings set to the length of inputs.

    RoBERTa-like models begin to count positions after the padding index, so they take fewer pieces than
    their table has rows.
    """
    limit = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit <= 0:
        return None
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return limit - int(module.padding_idx) - 1
    return limit


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the progress bars and logs of transformers within a block, and then restore its settings.

    Within the block, transformers also asks no service on the Hub to convert a checkpoint, which would be done in
    public.
    """
    conversion = os.environ.get("DISABLE_SAFETENSORS_CONVERSION")
    verbosity = transformers.utils.logging.get_verbosity()
    bars = transformers.utils.logging.is_progress_bar_enabled()
    hub_verbosity = huggingface_hub.logging.get_verbosity()
    os.environ["DISABLE_SAFETENSORS_CONVERSION"] = "1"
    huggingface_hub.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        yield
    finally:
        if conversion is None:
            os.environ.pop("DISABLE_SAFETENSORS_CONVERSION", None)
        else:
            os.environ["DISABLE_SAFETENSORS_CONVERSION"] = conversion
        transformers.utils.logging.set_verbosity(verbosity)
        huggingface_hub.logging.set_verbosity(hub_verbosity)
        if bars:
            transformers.utils.logging.enable_progress_bar()

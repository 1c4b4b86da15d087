"""Models and tokenizers from a folder or the Hugging Face Hub: tensors only, no remote code."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
import transformers
from tokenizers.processors import Sequence as Sequential
from tokenizers.processors import TemplateProcessing

from ...corpora_loaders.lines import file_sha256
from ..errors import ModelError, cause
from .checkpoint import check_loaded
from .files import (
    CONFIG,
    INDEX,
    PICKLE_INDEX,
    TOKENIZER,
    TOKENIZER_CONFIG,
    TOKENIZER_FILE,
    WEIGHTS,
    WEIGHTS_HINT,
    LoadedFiles,
    check_files,
    main_weights,
    read_object,
    shard_names,
    stored_types,
)
from .hub import hub_model

_ONE_AT_A_TIME = threading.Lock()
"""Held while transformers loads a model, because it changes where PyTorch puts tensors for the whole process."""

_TOKENIZER_HINT = (
    f"correct {TOKENIZER_CONFIG}, or download the files again. Of the values of tokenizer_class, "
    f'"PreTrainedTokenizerFast" reads any {TOKENIZER}, and "BertTokenizer" reads vocab.txt'
)

Location = str | Path | LoadedFiles
"""A model's folder, its name on the Hub, or what `find_model` made of either."""


def find_model(location: Location, revision: str | None = None) -> LoadedFiles:
    """Find and check the files of a model in a folder, or at one commit of the Hub, for all functions that load."""
    if isinstance(location, LoadedFiles):
        return location
    folder, name = Path(location), str(location)
    with quiet():
        if folder.is_dir():
            files = LoadedFiles(folder=folder, name=name)
        elif folder.is_file():
            raise ModelError(f"{name!r} is a file; give the folder that contains it")
        elif isinstance(location, Path) or re.match(r"[./~]", name) or name.endswith("/") or name.count("/") > 1:
            raise ModelError(f"there is no model folder {name!r}")
        else:
            files = hub_model(name, revision)
            folder = files.folder or folder
        warnings = check_files(folder)
    sha256 = files.sha256 or {file.name: file_sha256(file) for file in _files_of_weights(folder)}
    return replace(files, sha256=sha256, warnings=warnings)


def _files_of_weights(folder: Path) -> list[Path]:
    """Return the files of weights in a folder: all safetensors, or the pickles that are read."""
    main = main_weights({path.name for path in folder.iterdir()})
    if main in (WEIGHTS, INDEX, ""):
        return sorted(folder.glob("*.safetensors"))
    return [folder / name for name in (shard_names(folder / main) if main == PICKLE_INDEX else [main])]


def load_tokenizer(name_or_path: Location, revision: str | None = None) -> Any:
    """Load the fast tokenizer of a model.

    Args:
        name_or_path: a model folder, a name on the Hub, or the files that another loader returned.
        revision: a branch, tag or commit on the Hub.

    Raises:
        ModelError: the tokenizer cannot be loaded, has no vocabulary besides special tokens, or cannot read all words.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import load_tokenizer
        >>> load_tokenizer(load_encoder("demo").files).tokenize("Unalignable words?")
        ['una', '##li', '##gna', '##ble', 'words', '?']
    """
    files = find_model(name_or_path, revision)
    folder = files.folder or Path()
    with quiet():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False
            )
            if failure := _tokenizer_failure(tokenizer, folder):
                raise ValueError(failure)
        except Exception as error:  # whatever the libraries raise, the cause is in the files
            raise ModelError(
                f"cannot load the tokenizer of {files.name!r}: {cause(error)}; {_TOKENIZER_HINT}"
            ) from error
    return tokenizer


def begin_with(tokenizer: Any, prepend: str) -> str | None:
    """Let a tokenizer begin every input with a special token, and return the token; None if nothing changes.

    Tokenizers of GPT-2 and Qwen add none, so that the first *word* is where idle attention rests, and competes with all
    other words for being the one that is attended to most. ``auto`` is the BOS token of a tokenizer that adds no
    special token by itself, and ``none`` changes nothing.
    """
    token = tokenizer.bos_token if prepend == "auto" else prepend
    adds_tokens = tokenizer.num_special_tokens_to_add() > 0
    if prepend == "none" or token is None or (prepend == "auto" and adds_tokens):
        return None
    token_id = tokenizer.get_vocab().get(token)
    if token_id is None:
        raise ModelError(f"--prepend {token}: the tokenizer has no such token")
    if tokenizer("a").input_ids[:1] == [token_id]:
        return None
    if adds_tokens:
        raise ModelError(f"--prepend {token}: the tokenizer adds special tokens by itself; leave the option out")
    backend = tokenizer.backend_tokenizer
    template = TemplateProcessing(single=[token, "$A"], pair=[token, "$A", "$B"], special_tokens=[(token, token_id)])
    previous = backend.post_processor
    backend.post_processor = template if previous is None else Sequential([previous, template])
    return str(token)


def load_pretrained(
    auto_class: Any,
    name_or_path: str | Path,
    revision: str | None,
    device: str | torch.device,
    dtype: torch.dtype,
    *,
    decoder: bool = False,
) -> tuple[Any, Any, str, LoadedFiles]:
    """Return a model on its device, its tokenizer, its name, and what is known of its files."""
    # Weights can be held in bfloat16, but not computed with (see `Encoder.from_pretrained`): that would blur the
    # comparisons that every count is made of.
    allowed = (torch.float32, torch.float64) if decoder else (torch.float32, torch.float64, torch.bfloat16)
    if dtype not in allowed:
        raise ValueError(f"dtype must be {' or '.join(map(str, allowed))}, not {dtype}")
    located = find_model(name_or_path, revision)
    tokenizer = load_tokenizer(located)
    model, files = load_from(auto_class, located, dtype, decoder=decoder)
    if dtype == torch.bfloat16 and (rounded_types := _rounded_types(files)):
        warning = (
            f"The checkpoint has weights in {' and '.join(rounded_types)}, which --dtype bfloat16 has rounded, so that "
            "this is not quite the model that was trained."
        )
        files = replace(files, warnings=(*files.warnings, warning))
    name = Path(name_or_path).resolve().name if files.endpoint is None else files.name
    try:
        if torch.device(device).type == "meta":  # to which PyTorch would move the model without an error
            raise RuntimeError("it computes shapes and no numbers")
        return model.to(device), tokenizer, name, files
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        usual = "devices are for example cpu, cuda, cuda:1 and mps"
        raise ModelError(f"cannot use device {str(device)!r}: {cause(error)}; {usual}") from error


def _rounded_types(files: LoadedFiles) -> list[str]:
    """Return the types of weights in the files that bfloat16 cannot hold, without constants such as position ids."""
    folder = files.folder or Path()
    types = {kind for name in files.sha256 for kind in stored_types(folder / name).values()}
    return sorted(types - {"BF16", "I64", "I32", "U8", "BOOL"})


def load_from(
    auto_class: Any, files: LoadedFiles, dtype: torch.dtype, *, decoder: bool = False, **head: Any
) -> tuple[Any, LoadedFiles]:
    """Load a model with eager attention, and compare it with its checkpoint.

    The folder is local. Given the name of a model on the Hub that has no safetensors, transformers 5 would load those
    of a pull request by a conversion bot, even if nobody has merged it. A pickle has been found to hold tensors alone
    (`pickled_types`), and is read in the same way again.
    """
    folder = Path(files.folder or "")
    main = main_weights({path.name for path in folder.iterdir()} if folder.is_dir() else ())
    with _ONE_AT_A_TIME, quiet():
        try:
            model, info = auto_class.from_pretrained(
                str(files.folder),
                local_files_only=True,
                dtype=dtype,
                attn_implementation="eager",
                use_safetensors=main in (WEIGHTS, INDEX, ""),
                weights_only=True,
                trust_remote_code=False,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # the loading info names them, and `check_loaded` refuses them
                **head,
            )
        except Exception as error:  # whatever the libraries raise, the cause is in the files
            correct = f"correct its {CONFIG}, or download the files again"
            hint = correct if main else WEIGHTS_HINT
            raise ModelError(f"cannot load {files.name!r}: {cause(error)}; {hint}") from error
    return model.eval(), check_loaded(files, model, info, decoder=decoder)


def _tokenizer_failure(tokenizer: Any, folder: Path) -> str | None:
    """Say why a tokenizer that was loaded does not read words as its files describe; None if it does.

    Transformers chooses a class by ``tokenizer_config.json`` and the type of the model, and may build the tokenizer of
    that class from the vocabulary alone, or from nothing. It would read most words as single characters or as unknown.
    """
    kind = type(tokenizer).__name__
    names = sorted(set(type(tokenizer).vocab_files_names.values()))
    if (folder / TOKENIZER).is_file():
        backend = getattr(tokenizer, "backend_tokenizer", None)
        loaded = "another kind" if backend is None else type(backend.model).__name__
        described = read_object(folder / TOKENIZER)["model"].get("type", loaded)
        if described != loaded:
            return f"{TOKENIZER} describes a {described} tokenizer, but {kind}, which is asked for, is of {loaded}"
    special = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    if len(tokenizer) <= len(special.union(tokenizer.all_special_ids)) + 1:
        files = " and ".join(path.name for path in sorted(folder.iterdir()) if TOKENIZER_FILE.fullmatch(path.name))
        lacks = "has no vocabulary besides special tokens"
        return f"{kind} {lacks}: it reads {' or '.join(names)}, and the folder has {files or 'no file of a tokenizer'}"
    # An error is raised here if the tokenizer cannot read what it does not know: a letter of a few medieval books.
    tokenizer("\ua66e")
    return None


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the progress bars and logs of transformers and huggingface_hub, whose errors are passed on."""
    log, hub_log = transformers.utils.logging, huggingface_hub.logging
    verbosity, hub_verbosity = log.get_verbosity(), hub_log.get_verbosity()
    shows_bars = log.is_progress_bar_enabled()
    log.set_verbosity_error()
    hub_log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(verbosity)
        hub_log.set_verbosity(hub_verbosity)
        if shows_bars:
            log.enable_progress_bar()

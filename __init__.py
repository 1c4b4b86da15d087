"""What do the attention heads of a transformer encoder know about language?

The names below are those that guides use; rooms such as ``attentionology.analyses`` have what extensions need, and
everything else may change without notice. Names are loaded when they are first used, so that ``import attentionology``
is fast and needs no torch.
"""

import warnings
from typing import Any

import lazy_loader

_ROOMS = ("analyses", "corpora_loaders", "engine", "extractors", "probes", "reports", "testing")

_load, _, _known = lazy_loader.attach_stub(__name__, __file__)
__all__ = [name for name in _known if name not in _ROOMS]


def __getattr__(name: str) -> Any:
    if name == "load_labelled":  # deprecated, and removed in 0.5
        warnings.warn(f"{name} is called load_labeled", DeprecationWarning, stacklevel=2)
        name = "load_labeled"
    if name != "__version__":
        return _load(name)
    from importlib.metadata import version  # 40 ms, which most programs need not wait for

    return version("attentionology")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

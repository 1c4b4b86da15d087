"""Files → annotated text. One file per format; no torch here.

The names below are loaded when they are first used, because the command line needs few of them for its help.
"""

import warnings
from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_RENAMED = {"LabelledTexts": "LabeledTexts", "load_labelled": "load_labeled"}  # deprecated, and removed in 0.5


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        warnings.warn(f"{name} is called {_RENAMED[name]}", DeprecationWarning, stacklevel=2)
    return _load(_RENAMED.get(name, name))

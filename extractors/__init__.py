"""Annotated text + a Hugging Face model → maps. The only room that knows the inside of transformers.

The names below are loaded when they are first used, because they need torch and transformers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

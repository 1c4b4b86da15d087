"""What do the attention heads of a transformer encoder know about language?

The names below are the public ones; everything else may change without notice. They are loaded when they are first
used, so that ``import attentionology`` is fast and needs no torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

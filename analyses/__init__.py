"""Maps → mergeable statistics → tables. No files, no model loading.

The names below are for those who write an analysis or read results. They are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

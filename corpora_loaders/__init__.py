"""Files → annotated text. One file per format; no torch here.

The names below are loaded when they are first used, because the command line needs few of them for its help.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

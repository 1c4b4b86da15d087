"""Checks of what extensions add: an analysis, a kind of map, a format, a probe or an explanation test.

Each check is a plain function that returns nothing, and raises an `AssertionError` that says what is wrong and what to
do. The toolkit runs the same checks on its own. They use small models with random weights and the sample treebank, and
no network.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

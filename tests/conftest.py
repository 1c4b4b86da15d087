"""Shapes in annotations are checked while the tests run: jaxtyping with beartype, in every room with tensors.

Wrapping every function takes 20 to 30 seconds per process and slows whole commands down, so `make test` runs the
acceptance tests, which start commands, with CHECK_SHAPES=0. The unit and reference tests check the same functions.
"""

import os

from jaxtyping import install_import_hook

if os.environ.get("CHECK_SHAPES", "1") != "0":
    install_import_hook(
        ["attentionology.extractors", "attentionology.analyses", "attentionology.probes"], "beartype.beartype"
    )

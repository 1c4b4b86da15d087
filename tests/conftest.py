"""Shapes in annotations are checked while the tests run: jaxtyping with beartype, in every room with tensors."""

from jaxtyping import install_import_hook

install_import_hook(["extractors", "analyses", "probes"], "beartype.beartype")

"""Shapes in annotations are checked while the tests run: jaxtyping with beartype, in every room with tensors."""

from jaxtyping import install_import_hook

install_import_hook(
    ["attentionology.extractors", "attentionology.analyses", "attentionology.probes"], "beartype.beartype"
)

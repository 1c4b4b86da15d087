"""Map kinds. Importing this package registers the kinds that come with the toolkit."""

from . import alti, attention_block, attention_gradient, feed_forward, value_zeroing
from .registry import MapKind, get_kind, list_kinds, register_kind

__all__ = [
    "MapKind",
    "alti",
    "attention_block",
    "attention_gradient",
    "feed_forward",
    "get_kind",
    "list_kinds",
    "register_kind",
    "value_zeroing",
]

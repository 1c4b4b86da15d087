"""How this process returns memory to the system."""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_LARGE = 8 * 2**20
_KEEP = 64 * 2**20


def return_large_blocks() -> None:
    """Make glibc give every block of 8 MB or more back to the system as soon as it is freed.

    By default glibc learns from the first large blocks that are freed to keep blocks of up to 32 MB for later. The
    attention of one layer, which lives a little longer than what is computed between, then leaves holes that nothing
    else fits into: a long sentence in a large model took a third more memory than was ever in use. With another C
    library than glibc, the function does nothing.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGE)
    mallopt(_M_TRIM_THRESHOLD, _KEEP)

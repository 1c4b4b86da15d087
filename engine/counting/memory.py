"""The memory that a run needs, the memory that is available, and the options to lower if it is not enough.

The estimate is made once, after the first batch. It adds up the maps of one batch and the states of the metrics, above
all the bootstrap. The weights of the model and the libraries are in memory already. An estimate that is too high
refuses a run that would have fit, but one that is too low lets the operating system kill the process after hours. So
the terms are upper bounds where a size is not known exactly.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import re
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...corpora_loaders import AttentionologyError
from ...reports.help.options import flag
from ...storage.durable import size

if TYPE_CHECKING:
    import torch

LIBRARIES = 600_000_000
"""The bytes that Python and all libraries take in a process that makes a report, measured with the demo on Linux."""

_TRIED = re.compile(r"(?:tried|unable) to allocate ([\d.]+ \w+)", re.IGNORECASE)

_CONTROL_GROUPS = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)
"""The files with the limit, the use and the statistics of a control group, in the second and in the first version."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_KEEP, _LARGE = 64 * 2**20, 8 * 2**20


class MemoryShortageError(AttentionologyError):
    """The run would take more memory than there is."""


def bytes_of_maps(n_layers: int, n_heads: int, *, longest: int, batch_cells: int, batch_pieces: int) -> int:
    """Estimate the bytes of the largest batch of maps, while it is made and close decisions are made again.

    How many cells a batch has depends on its sentences, so the largest possible one within the bounds on its cells and
    its pieces is assumed.
    """
    longest_cells = longest**2
    # A batch of one sentence may be larger than the bounds. Pieces have at most ``longest`` cells each.
    cells = max(longest_cells, min(batch_cells, batch_pieces * longest))
    # All layers of the batch are in float32; those of one sentence at a time are in float64, which takes two more cells
    # of 4 bytes for each cell.
    maps = 4 * n_layers * n_heads * (cells + 2 * longest_cells)
    # While a layer is computed, four arrays of its shape exist: the scores, the masked scores, the weights, and what is
    # made of the weights. In float64 they are twice as large, but only for one sentence.
    return maps + 4 * n_heads * max(4 * cells, 2 * 4 * longest_cells)


def check_memory(state_bytes: int, map_bytes: int, device: torch.device) -> None:
    """Check that so many bytes of counts and of the maps of a batch fit into memory.

    On a GPU, the maps are in its own memory.
    """
    on_cpu = device.type == "cpu"
    free = available_memory()
    if free is not None and state_bytes + (map_bytes if on_cpu else 0) > free:
        of_batch = f", and the maps of a batch about {size(map_bytes)}" if on_cpu else ""
        raise MemoryShortageError(
            f"the counts of all bootstrap replicates take {size(state_bytes)}{of_batch}, but only {size(free)} of "
            "memory is available; lower --replicates, or --batch-cells and --max-length"
        )


def available_memory() -> int | None:
    """Return the number of bytes that this process can still allocate; None if the system does not tell.

    It is the smallest of three numbers: the memory that the machine has left, the memory that the control group (of a
    container or of a job on a cluster) has left, and what the limit on the address space (``ulimit -v``) leaves.
    """
    if not sys.platform.startswith("linux"):
        return None
    import resource

    machine = _table(Path("/proc/meminfo"))
    group = Path("/sys/fs/cgroup")
    left = [1024 * (machine["MemAvailable:"] + machine["SwapFree:"])]  # which are in kB
    for limit, used, statistics in _CONTROL_GROUPS:
        with suppress(OSError, ValueError, KeyError):  # there is no such control group, or its limit is "max"
            # Files that are cached count as used, but are given up when the memory is needed.
            cached = _table(group / statistics)["inactive_file"]
            left.append(int((group / limit).read_text()) - int((group / used).read_text()) + cached)
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if addresses != resource.RLIM_INFINITY:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        left.append(addresses - pages * resource.getpagesize())
    return min(left)


def _table(path: Path) -> dict[str, int]:
    """Return the numbers in a file by their names, which begin its lines."""
    return {name: int(number) for name, number, *_ in map(str.split, path.read_text().splitlines())}


def shortage(reason: BaseException, options: Collection[str]) -> str:
    """Return a message about memory that ran out, with the amount that was requested and the options to lower."""
    tried = _TRIED.search(str(reason))
    requested = f" (tried to allocate {tried[1]})" if tried else ""
    bounding_memory = ("batch_cells", "max_length", "max_words", "replicates", "sentences")  # no command has all
    *but_last, last = [flag(name) for name in bounding_memory if name in options] or ["the size of the input"]
    lower = f"{', '.join(but_last)} or {last}" if but_last else last
    return f"out of memory{requested}, no results were written; lower {lower}, or use a smaller model"


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


def collect_rarely() -> None:
    """Let Python look for unreachable cycles of objects after 20,000 new objects instead of 700, and not at its end.

    To import the libraries makes some hundred thousand objects that all stay. By default they are looked at again and
    again, and once more when the process ends: this took a fifth of a short run.
    """
    gc.set_threshold(20_000, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # what is frozen is left to the system, which takes the memory back anyway

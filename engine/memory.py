"""The memory that a run needs, the memory that is available, and the options to lower if it is not enough.

The estimate is made once, after the first batch, when the shape of the maps is known and before the long part of the
run. It adds up the three things whose size depends on the options:

* The weights of the model. They are in memory already when the estimate is made.
* The maps of one batch. The layers of a whole batch are kept in float32; a decision too close for float32 is made again
  in float64, which takes the maps of one sentence twice that size. While a layer is computed, a few more arrays of its
  shape exist for a moment. How many cells a batch has depends on its sentences, so the largest batch is assumed.
* The states of the metrics, above all the bootstrap, which grows with the number of heads times replicates.

An estimate that is too high refuses a run that would have fit, but one that is too low lets the operating system kill
the process after hours. So the terms are upper bounds where a size is not known exactly. The libraries are left out,
because their memory is already in use and not part of what is available. Only `LIBRARIES` knows of them, for forecasts.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..corpora_loaders import AttentionologyError

if TYPE_CHECKING:
    import torch

    from ..extractors.model.loaded_model import LoadedModel


LIBRARIES = 600_000_000
"""The bytes that Python and all libraries take in a process that makes a report, measured with the demo on Linux."""

_LOWER = ("batch_cells", "max_length", "max_words", "replicates", "sentences")
"""The options that bound the memory of a run, in the order in which messages name them. No command has all of them."""

_TRIED = re.compile(r"(?:tried|unable) to allocate ([\d.]+ \w+)", re.IGNORECASE)
_CGROUPS = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)


_KEEP = 64 * 2**20
_LARGE = 8 * 2**20


class MemoryShortageError(AttentionologyError):
    """The run would take more memory than there is."""


@dataclass(frozen=True)
class MemoryEstimate:
    """The largest objects that a run holds in memory at the same time, in bytes.

    The Python libraries and the corpus itself are not included.

    Attributes:
        weights: the weights of the model.
        maps: the maps of the largest batch, while it is made and close decisions are made again in float64.
        states: the states of the metrics, most of which belong to the bootstrap.
    """

    weights: int
    maps: int
    states: int

    @property
    def total(self) -> int:
        """The sum of all three."""
        return self.weights + self.maps + self.states


def estimate_memory(
    model: LoadedModel, shape: tuple[int, int], *, longest: int, batch_cells: int, states: int
) -> MemoryEstimate:
    """Estimate the memory that counting the maps of a corpus needs."""
    layers, heads = shape
    longest_cells = longest**2
    cells = max(longest_cells, min(batch_cells, 1024 * longest))
    # All layers of the batch are in float32; those of one sentence at a time are in float64, which takes two more cells
    # of 4 bytes for each cell.
    maps = 4 * layers * heads * (cells + 2 * longest_cells)
    # While a layer is computed, four arrays of its shape exist: the scores, the masked scores, the weights, and what is
    # made of the weights. In float64 they are twice as large, but only for one sentence.
    layer = 4 * heads * max(4 * cells, 2 * 4 * longest_cells)
    weights = sum(p.numel() * p.element_size() for p in model.model.parameters())
    return MemoryEstimate(weights=weights, maps=maps + layer, states=states)


def check_memory(estimate: MemoryEstimate, device: torch.device) -> None:
    """Check that a run fits into memory, before its long part starts.

    The weights are not counted, because they are loaded already. On a GPU the maps are not counted either, because they
    are in its own memory.
    """
    on_cpu = device.type == "cpu"
    needed = estimate.states + (estimate.maps if on_cpu else 0)
    free = available_memory()
    if free is not None and needed > free:
        maps = f", and the maps of a batch about {gigabytes(estimate.maps)}" if on_cpu else ""
        raise MemoryShortageError(
            f"the counts of all bootstrap replicates take {gigabytes(estimate.states)}{maps}, but only "
            f"{gigabytes(free)} of memory is available; lower --replicates, or --batch-cells and --max-length"
        )


def available_memory() -> int | None:
    """The number of bytes that this process can still allocate; None if the system does not tell.

    It is the smallest of three numbers: the memory that the machine has left, the memory that the control group (of a
    container or of a job on a cluster) has left, and what the limit on the address space (``ulimit -v``) leaves.
    """
    return min(_limits(), default=None)


def _limits() -> Iterator[int]:
    if not sys.platform.startswith("linux"):
        return
    import resource

    proc, cgroup = Path("/proc"), Path("/sys/fs/cgroup")
    machine = _table(proc / "meminfo")
    if "MemAvailable:" in machine:
        yield 1024 * (machine["MemAvailable:"] + machine.get("SwapFree:", 0))
    for limit, used, statistics in _CGROUPS:
        try:
            files = _table(cgroup / statistics)[
                "inactive_file"
            ]  # files in memory count as used, but are given up when needed
            yield int((cgroup / limit).read_text()) - int((cgroup / used).read_text()) + files
        except (OSError, ValueError, KeyError):  # there is no such control group, or its limit is "max"
            continue
    address_space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if address_space != resource.RLIM_INFINITY:
        pages = int((proc / "self" / "statm").read_text().split()[0])
        yield address_space - pages * resource.getpagesize()


def _table(path: Path) -> dict[str, int]:
    """Read a file whose lines consist of a name and a number."""
    return {name: int(number) for name, number, *_ in map(str.split, path.read_text().splitlines())}


def shortage(reason: BaseException, command: object) -> str:
    """A message about memory that ran out, with the amount that was requested and the options to lower."""
    tried = _TRIED.search(str(reason))
    requested = f" (tried to allocate {tried[1]})" if tried else ""
    flags = [f"--{name.replace('_', '-')}" for name in _LOWER if name in set(_option_names(command))]
    *first, last = flags or ["the size of the input"]
    options = f"{', '.join(first)} or {last}" if first else last
    return f"out of memory{requested}, no results were written; lower {options}, or use a smaller model"


def _option_names(options: Any) -> Iterator[str]:
    """Yield the names of all options of a command, including those in groups."""
    for option in fields(options):
        value = getattr(options, option.name)
        if is_dataclass(value):
            yield from _option_names(value)
        else:
            yield option.name


def gigabytes(size: int) -> str:
    """A number of bytes as gigabytes with one decimal."""
    return f"{size / 1e9:,.1f} GB"


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h


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

"""What a run needs in memory, what there is, and what to lower where it is not enough."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.corpora_loaders import AttentionologyError

if TYPE_CHECKING:
    import torch

    from attentionology.extractors import Encoder

_LOWER = ("batch_cells", "max_length", "max_words", "replicates", "sentences")
"""Options that bound what is in memory at a time, as far as a command has them."""

_TRIED = re.compile(r"(?:tried|unable) to allocate ([\d.]+ \w+)", re.IGNORECASE)
_CGROUPS = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)


class MemoryShortageError(AttentionologyError):
    """A run that would take more memory than there is."""


@dataclass(frozen=True)
class MemoryEstimate:
    """The largest things that a run holds at a time, in bytes.

    What comes on top of them are some 400 MB of Python libraries and the corpus itself.

    Attributes:
        weights: of the model.
        maps: of the largest batch, while it is made and its close decisions are made again in float64.
        states: what is counted: the bootstrap, before all.
    """

    weights: int
    maps: int
    states: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.maps + self.states


def estimate_memory(
    encoder: Encoder, shape: tuple[int, int], *, longest: int, batch_cells: int, states: int
) -> MemoryEstimate:
    """What counting the maps of a corpus needs.

    Args:
        encoder: the model.
        shape: numbers of layers and heads of the maps.
        longest: pieces of the longest sentence.
        batch_cells: see `attentionology.extractors.extract`.
        states: bytes of what is counted, see `attentionology.analyses.shared.outcomes.state_bytes`.
    """
    layers, heads = shape
    longest_cells = longest**2
    cells = max(longest_cells, min(batch_cells, 1024 * longest))
    # All layers of the batch in float32, and of one sentence at a time in float64.
    maps = 4 * layers * heads * (cells + 2 * longest_cells)
    # While a layer is computed: scores, masked scores, weights and what is made of them.
    layer = 4 * heads * max(4 * cells, 2 * 4 * longest_cells)
    weights = sum(p.numel() * p.element_size() for p in encoder.model.parameters())
    return MemoryEstimate(weights=weights, maps=maps + layer, states=states)


def check_memory(estimate: MemoryEstimate, device: torch.device) -> None:
    """Refuse a run that will not fit, before it takes its time. The weights are thought to be loaded.

    Raises:
        MemoryShortageError: so it is.
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
    """Bytes that this process can still take; None where the system does not tell.

    The least of what the machine has left, what the control group (of a container, of a cluster's job) allows, and what
    the limit on the address space (``ulimit -v``) leaves.
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
            files = _table(cgroup / statistics)["inactive_file"]  # counted as used, but given up when needed
            yield int((cgroup / limit).read_text()) - int((cgroup / used).read_text()) + files
        except (OSError, ValueError, KeyError):  # there is no such group, or its limit is "max"
            continue
    address_space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if address_space != resource.RLIM_INFINITY:
        pages = int((proc / "self" / "statm").read_text().split()[0])
        yield address_space - pages * resource.getpagesize()


def _table(path: Path) -> dict[str, int]:
    """Lines of a name and a number."""
    return {name: int(number) for name, number, *_ in map(str.split, path.read_text().splitlines())}


def shortage(reason: BaseException, command: object) -> str:
    """One line about memory that ran out: how much was asked for, and the options of the command to lower."""
    tried = _TRIED.search(str(reason))
    asked = f" (tried to allocate {tried[1]})" if tried else ""
    named = [f"--{name.replace('_', '-')}" for name in _LOWER if name in set(_option_names(command))]
    *first, last = named or ["the size of the input"]
    options = f"{', '.join(first)} or {last}" if first else last
    return f"out of memory{asked}, no results were written; lower {options}, or use a smaller model"


def _option_names(options: Any) -> Iterator[str]:
    """Names of all options of a command, those in groups too."""
    for option in fields(options):
        value = getattr(options, option.name)
        if is_dataclass(value):
            yield from _option_names(value)
        else:
            yield option.name


def gigabytes(size: int) -> str:
    """For people."""
    return f"{size / 1e9:,.1f} GB"

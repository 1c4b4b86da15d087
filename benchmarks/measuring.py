"""What all benchmarks share: contestants that take turns, ratios within a round, peak memory."""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch


def take_turns(
    contestants: Mapping[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Return the seconds of each contestant in each round.

    The contestants take turns within a round, so that a machine that slows down slows all of them. With
    `time.process_time` as the clock, the seconds are those that all threads together computed.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for round_ in range(rounds + 1):  # the first round warms up and is not timed
        for name, run in contestants.items():
            start = clock()
            run()
            wait_for_gpu()
            if round_:
                seconds[name].append(clock() - start)
    return seconds


def wait_for_gpu() -> None:
    """Wait until the GPU has finished its work, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def ratio(seconds: list[float], base: list[float]) -> float:
    """Return the median of the ratios within the rounds, or the ratio of the medians if one of them ran only once."""
    if len(seconds) == len(base):
        return statistics.median(a / b for a, b in zip(seconds, base, strict=True))
    return statistics.median(seconds) / statistics.median(base)


def peak_memory() -> float:
    """Return the peak memory of this process in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would report the parent's peak if that was higher when it forked
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)

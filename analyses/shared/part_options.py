"""The options of reading texts in parts, in several processes or on several machines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from ..option_groups import OptionError, OptionGroup
from .numbers import OptionalNumber

WHAT_IS_KEPT = "With --parts, the parts that were counted are kept, and the same command continues"
"""What messages say when a run ends before all parts are counted."""


@dataclass(frozen=True)
class ShareOptions(OptionGroup):
    """Options of runs that are divided among processes.

    Example:
        >>> ShareOptions(parts=Path("parts"), part="3/16").share
        (3, 16)
    """

    parts: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Keep the counts of each part of the corpus in this folder. The same command continues a run that was interrupted,
    and parts that other processes or machines have counted there are used."""

    part: Annotated[str | None, arg(metavar="K/N")] = None
    """Only count the K-th of N shares of the parts that are missing in the folder of --parts, and make no report. Each
    task of a job array counts one share; then the command without --part makes the report."""

    workers: OptionalNumber = None
    """Count in N processes, each with one thread on a CPU, or with one of the GPUs if --device is cuda. The results do
    not depend on it. By default, there is one process or, with --engine ray, one for each CPU or GPU of the cluster."""

    @property
    def in_this_process(self) -> bool:
        """Whether the process that makes the report counts all parts."""
        return self.workers in (None, 1)

    @property
    def share(self) -> tuple[int, int] | None:
        """K and N of the option ``--part``, None if it was not given."""
        if self.part is None:
            return None
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", self.part)
        share = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= share[0] <= share[1]:
            raise OptionError(f"--part must be K/N with K from 1 to N, for example 3/16, not {self.part!r}")
        return share

    def described(self) -> dict[str, Any]:
        """The options for the run record, by the names that they have on the command line."""
        return {"workers": 1 if self.in_this_process else self.workers}

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        if self.share is not None and self.parts is None:
            raise OptionError("--part needs --parts, the folder in which all shares are collected")
        if self.parts is not None and self.parts.exists() and not self.parts.is_dir():
            raise OptionError(f"--parts {self.parts} is not a folder")


@dataclass(frozen=True)
class PartOptions(ShareOptions):
    """Options of long runs, which may also be counted on a Ray cluster.

    Example:
        >>> PartOptions(parts=Path("parts"), part="3/16").share
        (3, 16)
    """

    engine: Literal["processes", "ray"] = "processes"
    """Count in processes on this machine, or on a Ray cluster, which needs the extra 'ray'. The results do not depend
    on it."""

    address: Annotated[str | None, arg(metavar="ADDRESS")] = None
    """The address of the Ray cluster, for example 10.0.0.1:6379, or auto for the one that runs on this machine. By
    default, the value of the environment variable RAY_ADDRESS; if it is not set, Ray is started on this machine and
    ends with the run."""

    @property
    def in_this_process(self) -> bool:
        """Whether the process that makes the report counts all parts."""
        return self.engine == "processes" and super().in_this_process

    def described(self) -> dict[str, Any]:
        """The options for the run record, by the names that they have on the command line."""
        return {**super().described(), **({"engine": "ray"} if self.engine == "ray" else {})}

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        if self.address is not None and self.engine != "ray":
            raise OptionError("--address is for --engine ray, which is not given")
        if self.engine == "ray" and find_spec("ray") is None:
            raise OptionError("--engine ray needs Ray, which is not installed: pip install 'attentionology[ray]'")

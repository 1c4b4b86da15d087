"""The options of counting a corpus in parts, in several processes or on several machines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from attentionology.analyses.contract import OptionError


@dataclass(frozen=True)
class PartOptions:
    """Options of long runs.

    Example:
        >>> PartOptions(parts=Path("parts"), part="3/16").share
        (3, 16)
    """

    parts: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Keep the counts of each part of the corpus in this folder. The same command continues a run that was interrupted,
    and parts that other processes or machines have counted there are used."""

    part: Annotated[str | None, arg(metavar="K/N")] = None
    """Only count the K-th of N shares of the parts that are missing in the folder of --parts, and make no report. Each
    task of a job array counts one share; then the command without --part makes the report."""

    workers: Annotated[int, arg(metavar="N")] = 1
    """Count in N processes, each with one thread on a CPU, or with one of the GPUs if --device is cuda. The results do
    not depend on it."""

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

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if self.workers < 1:
            raise OptionError(f"--workers must be at least 1, not {self.workers}")
        if self.share is not None and self.parts is None:
            raise OptionError("--part needs --parts, the folder in which all shares are collected")
        if self.parts is not None and self.parts.exists() and not self.parts.is_dir():
            raise OptionError(f"--parts {self.parts} is not a folder")

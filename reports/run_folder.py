"""A results folder that appears complete or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

RUN_RECORD = "run.json"
"""Every finished folder holds this file; only a folder that does may be overwritten."""


class RunFolderError(OSError):
    """The results folder cannot be made."""


class RunFolder:
    """Collects results beside the target and moves them into place at the end.

    Use as a context manager around the whole computation, so that a target that cannot be made is noticed
    before it; inside, `path` is the folder to write to. If the block raises, the collected files are removed
    and the target is as it was.

    Args:
        target: the folder to make. Of a symbolic link, what it points to.
        overwrite: replace an existing folder, if it is the result of an earlier run.

    Raises:
        RunFolderError: the target exists and may not be replaced, or cannot be created.
    """

    def __init__(self, target: str | Path, *, overwrite: bool = False) -> None:
        self.target = Path(target).resolve()
        self.overwrite = overwrite
        self.path = self.target  # until entered
        if obstacle := self._obstacle():
            raise RunFolderError(f"{target} {obstacle}")

    def _obstacle(self) -> str | None:
        if not self.target.exists():
            return None
        if not self.overwrite:
            return "exists; choose another --out or add --overwrite"
        if not (self.target / RUN_RECORD).is_file():
            return f"has no {RUN_RECORD}, so it is not the result of a run; it is left alone"
        return None

    def __enter__(self) -> RunFolder:
        parent = self.target.parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix=f".{self.target.name}.", suffix=".partial", dir=parent))
        except OSError as error:
            raise RunFolderError(f"cannot create {self.target}: {error.strerror or error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        partial, self.path = self.path, self.target
        if kind is not None:
            shutil.rmtree(partial, ignore_errors=True)
            return
        umask = os.umask(0)
        os.umask(umask)
        partial.chmod(0o777 & ~umask)  # mkdtemp makes it private
        if obstacle := self._obstacle():  # somebody made it meanwhile
            raise RunFolderError(f"{self.target} {obstacle}; the finished results are in {partial}")
        if self.target.exists():
            old = partial.with_suffix(".old")
            self.target.rename(old)
            partial.rename(self.target)
            shutil.rmtree(old)
        else:
            partial.rename(self.target)

"""What must be written down so that a number can be traced and computed again."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path

_LIBRARIES = (
    "attentionology",
    "conllu",
    "numpy",
    "pandas",
    "tokenizers",
    "torch",
    "torchmetrics",
    "transformers",
)


def versions() -> dict[str, str]:
    """Versions of Python, of this toolkit and of the libraries its numbers depend on."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found


def git_commit() -> str | None:
    """Commit of the checkout this code runs from, with ``+changes`` if files differ; None if installed."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+changes" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

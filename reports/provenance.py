"""The versions that must be recorded so that a number can be traced and computed again."""

from __future__ import annotations

import functools
import hashlib
import platform
import subprocess
from importlib import metadata
from pathlib import Path

_LIBRARIES = ("attentionology", "conllu", "numpy", "pandas", "tokenizers", "torch", "transformers")

_ROOMS = ("storage", "corpora_loaders", "extractors", "probes", "analyses", "engine")


def versions() -> dict[str, str]:
    """The versions of Python, of this toolkit, and of the libraries on which its numbers depend."""
    by_name = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            by_name[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            by_name[name] = "not installed as a package"
    return by_name


def git_commit() -> str | None:
    """The commit of the checkout that this code is in, with ``+changes`` if files differ; None outside a checkout."""
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
    """Run git in a checkout, and return what it prints."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@functools.cache
def source_digest() -> str:
    """Return a digest of the source code on which counts depend."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((package / room).rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()

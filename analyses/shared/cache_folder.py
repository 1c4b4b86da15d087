"""The folder in which a command keeps what later runs may use."""

from __future__ import annotations

from pathlib import Path

from ...storage.durable import sweep
from ..contract import OptionError


def cache_folder(cache: Path | None, out: Path) -> Path:
    """Create the cache folder of a command, and remove from it what interrupted runs left unfinished."""
    cache = cache or out.parent / "cache"
    if cache.resolve().is_relative_to(out.resolve()):
        raise OptionError(f"the cache {cache} would be in the results folder {out}; choose another --cache or --out")
    if cache.exists() and not cache.is_dir():
        raise OptionError(f"the cache {cache} is not a folder; choose another --cache")
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot create the cache {cache} ({error.strerror}); choose another --cache") from error
    for folder in (cache, *filter(Path.is_dir, cache.iterdir())):
        sweep(folder)
    return cache

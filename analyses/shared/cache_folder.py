"""The folder in which a command keeps what later runs may use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...storage.durable import sweep
from ...storage.paths import check_kept_folder
from ..contract import OptionError


def cache_folder(cache: Path | None, out: Path | None, reads: Iterable[str | Path] = ()) -> Path:
    """Create the cache folder of a command, and remove from it what interrupted runs left unfinished."""
    cache = cache or (out or Path("out")).parent / "cache"
    check_kept_folder(cache, reads=reads, out=out)
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot create the cache {cache} ({error.strerror}); choose another --cache") from error
    for folder in (cache, *filter(Path.is_dir, cache.iterdir())):
        sweep(folder)
    return cache

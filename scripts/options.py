"""What options of several commands have in common."""

from __future__ import annotations

from pathlib import Path

from attentionology.analyses.shared.input_options import check_seed, default_folder, paths_read
from attentionology.analyses.shared.numbers import NUMBERS, OptionalNumber, OptionalReal
from attentionology.scripts.errors import UsageError
from attentionology.storage.partial import sweep

__all__ = ["NUMBERS", "OptionalNumber", "OptionalReal", "cache_folder", "check_seed", "default_folder", "paths_read"]


def cache_folder(cache: Path | None, out: Path) -> Path:
    """Where a command keeps what later runs may use: ``cache`` beside the results folder if nobody says.

    What processes that were killed left unfinished in it is swept.

    Raises:
        UsageError: it would be in the results folder, or cannot be made.
    """
    cache = cache or out.parent / "cache"
    if cache.resolve().is_relative_to(out.resolve()):
        raise UsageError(f"the cache {cache} would be in the results folder {out}; choose another --cache or --out")
    if cache.exists() and not cache.is_dir():
        raise UsageError(f"the cache {cache} is not a folder; choose another --cache")
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create the cache {cache} ({error.strerror}); choose another --cache") from error
    for folder in (cache, *filter(Path.is_dir, cache.iterdir())):
        sweep(folder)
    return cache

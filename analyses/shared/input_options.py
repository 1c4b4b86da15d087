"""Options that commands share: the model, the inputs that are read, and where results go."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from attentionology.analyses.contract import OptionError
from attentionology.analyses.shared.builtin import DEMO, SAMPLE
from attentionology.analyses.shared.numbers import OptionalNumber


def at_least_one(options: Any, *names: str) -> None:
    """Raise `OptionError` where a number is given and below 1."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < 1:
            raise OptionError(f"--{name.replace('_', '-')} must be at least 1, not {value}")


def check_seed(seed: int) -> None:
    """Refuse seeds that not all generators take."""
    if not 0 <= seed < 2**32:
        raise OptionError(f"--seed must be from 0 to {2**32 - 1}, not {seed}")


def default_folder(model: str, corpus: Sequence[str]) -> Path:
    """Where results go if nobody says: ``runs/MODEL-CORPUS``."""
    names = [model.rstrip("/").rsplit("/", 1)[-1], *(Path(c).name.split(".", 1)[0] for c in corpus[:1])]
    return Path("runs") / re.sub(r"[^\w.-]+", "_", "-".join(names))


def paths_read(*given: str | Path | Sequence[str] | None) -> list[Path]:
    """Files and folders among the values of options, which may also be names of other things."""
    named = [name for value in given if value for name in ([value] if isinstance(value, str | Path) else value)]
    return [Path(name) for name in named if name not in (DEMO, SAMPLE)]


@dataclass(frozen=True)
class ModelOptions:
    """Options of the model."""

    model: Annotated[str, arg(metavar="MODEL")] = DEMO
    """Folder with config.json, a tokenizer and *.safetensors; or a Hugging Face Hub id such as
    google-bert/bert-base-uncased; or 'demo', the model of the demo extra."""

    revision: Annotated[str | None, arg(metavar="REVISION")] = None
    """Branch, tag or commit on the Hub."""

    device: Annotated[str, arg(metavar="DEVICE")] = "cpu"
    """Where to compute: cpu, cuda, cuda:1, mps."""


@dataclass(frozen=True)
class LimitOptions:
    """Options of which inputs are read, and how many at once."""

    max_length: OptionalNumber = None
    """Skip sentences of more pieces, [CLS] and [SEP] included, although the model takes them (the paper: 128). For
    coreference: how many pieces of a document to read."""

    too_long: Literal["skip", "error"] = "skip"
    """What to do with sentences that are too long: leave out and report them, or stop."""

    batch_cells: OptionalNumber = None
    """Bound on sentences × pieces² per batch; lower it if memory is short. Results do not depend on it."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        at_least_one(self, "max_length", "batch_cells")


@dataclass(frozen=True)
class OutputOptions:
    """Options of the results."""

    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Results folder. By default it lies below runs/ and is named after the model and the data."""

    overwrite: bool = False
    """Replace the results folder of an earlier run."""

    json: bool = False
    """Print the summary as JSON instead of a table."""

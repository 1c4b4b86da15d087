"""The treebank that comes with the toolkit, by the name ``sample``, and the heads of language models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...corpora_loaders.errors import CorpusError
from ...corpora_loaders.sample import SAMPLE_TREEBANK
from ...extractors.model.named import DEMO
from ...storage.nearest import did_you_mean
from ..contract import OptionError

if TYPE_CHECKING:
    from ...extractors import Encoder

SAMPLE = "sample"


def corpus_path(name: str) -> str:
    """Return the path of a file, or of the sample or a treebank by its name; refuse a misspelled name of the sample."""
    from ...corpora_loaders import releases

    if name != SAMPLE and not Path(name).exists() and (near := did_you_mean(name, (SAMPLE,))):
        raise CorpusError(f"there is no such file{near}", file=name)
    return str(SAMPLE_TREEBANK if name == SAMPLE else releases.corpus_path(name))


def check_revision(model: str, revision: str | None) -> None:
    """Check that a revision is given only for a model on the Hub."""
    if revision is not None and (model == DEMO or Path(model).is_dir()):
        raise OptionError(f"--revision is for models on the Hub, and {model!r} is not one")


def load_head(encoder: Encoder, *, causal: bool = False) -> Any | None:
    """Load the files of an encoder once more, with the masked-LM or causal LM head; None if it has no files."""
    from ...extractors import load_causal_lm, load_masked_lm

    if encoder.files.folder is None:
        return None
    return load_causal_lm(encoder.files) if causal else load_masked_lm(encoder.files)

"""The models and treebanks of a survey, which are loaded when a cell needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...analyses.registry import choose_analyses
from ...analyses.shared.builtin import load_encoder
from ...corpora_loaders import Corpus
from ..corpus import check_analyses, check_files, read_corpus
from .options import ANALYSIS, SurveyedModel, SurveyedTreebank, SurveyOptions

if TYPE_CHECKING:
    from ...extractors import Encoder

MOST_BYTES = 2**31
"""The size of the weights up to which models stay in memory for the next treebank. The latest model always stays."""


class LoadedModels:
    """Loads the models of a survey, and keeps small ones for the next treebank.

    A model that cannot be loaded is not tried again: its error is raised again.

    Args:
        device: the device on which the models run.
        most_bytes: the size of the weights that are kept.
    """

    def __init__(self, device: str, most_bytes: int = MOST_BYTES) -> None:
        self.device, self.most_bytes = device, most_bytes
        self._encoders: dict[str, Encoder] = {}
        self._errors: dict[str, Exception] = {}

    def load(self, model: SurveyedModel) -> Encoder:
        """Load a model, or return it if it has been kept."""
        if model.name in self._errors:
            raise self._errors[model.name]
        encoder = self._encoders.pop(model.name, None)
        if encoder is None:
            self._make_room()
            try:
                encoder = load_encoder(model.model, revision=model.revision, device=self.device)
            except Exception as error:
                self._errors[model.name] = error
                raise
        self._encoders[model.name] = encoder
        return encoder

    def _make_room(self) -> None:
        """Drop the models that were used longest ago until the others are small enough."""
        while sum(map(_bytes, self._encoders.values())) > self.most_bytes:
            del self._encoders[next(iter(self._encoders))]


def _bytes(encoder: Encoder) -> int:
    return sum(weights.numel() * weights.element_size() for weights in encoder.model.parameters())


def read_treebank(options: SurveyOptions, treebank: SurveyedTreebank) -> Corpus:
    """Read a treebank of a survey."""
    files = options.job(SurveyedModel("", ""), treebank, options.grid.maps).files
    chosen = choose_analyses([ANALYSIS])
    check_files(files)
    check_analyses(files, chosen)
    return read_corpus(files, chosen)

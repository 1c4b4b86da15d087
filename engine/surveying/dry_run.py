"""What a survey would do: its cells, sentences and passes, before anything is counted."""

from __future__ import annotations

from dataclasses import dataclass

from attentionology.analyses.shared.options import ControlOptions
from attentionology.engine.surveying.counting import reason_of
from attentionology.engine.surveying.models import read_treebank
from attentionology.engine.surveying.options import SurveyOptions
from attentionology.reports.progress import progress_bar


@dataclass(frozen=True)
class TreebankEstimate:
    """What a treebank costs each model.

    Attributes:
        name: the name of the treebank.
        sentences: the number of sentences.
        words: the number of words.
        obstacle: why the treebank cannot be read; empty if it can.
    """

    name: str
    sentences: int = 0
    words: int = 0
    obstacle: str = ""


@dataclass(frozen=True)
class SurveyEstimate:
    """What a survey costs.

    Attributes:
        models: the names of the models.
        treebanks: what each treebank costs a model.
        maps: the kinds of maps, which share each pass.
        passes: the number of passes over each treebank for each model: one for the model itself, and one for each copy
            with random weights.
    """

    models: tuple[str, ...]
    treebanks: tuple[TreebankEstimate, ...]
    maps: tuple[str, ...]
    passes: int

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.models) * len(self.treebanks)

    @property
    def readable_cells(self) -> int:
        """The number of cells whose treebank can be read."""
        return len(self.models) * sum(not treebank.obstacle for treebank in self.treebanks)

    @property
    def all_passes(self) -> int:
        """The number of passes of the whole survey."""
        return self.passes * self.readable_cells

    @property
    def sentences(self) -> int:
        """The number of sentences that models read, in all passes together."""
        return self.passes * len(self.models) * sum(treebank.sentences for treebank in self.treebanks)


def estimate_survey(options: SurveyOptions) -> SurveyEstimate:
    """Read all treebanks, and return what the survey would cost. No model is loaded.

    Args:
        options: the options of the survey, which have been checked.
    """
    treebanks = options.grid.all_treebanks()
    estimates = []
    with progress_bar("treebanks", len(treebanks), unit="") as advance:
        for treebank in treebanks:
            try:
                corpus = read_treebank(options, treebank)
                words = sum(file.words for file in corpus.files)
                estimates.append(TreebankEstimate(treebank.name, len(corpus), words))
            except Exception as error:
                estimates.append(TreebankEstimate(treebank.name, obstacle=reason_of(error)))
            advance(1)
    return SurveyEstimate(
        models=tuple(model.name for model in options.grid.all_models()),
        treebanks=tuple(estimates),
        maps=options.grid.maps,
        passes=1 + options.groups[ControlOptions].copies(),
    )

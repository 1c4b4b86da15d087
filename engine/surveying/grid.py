"""The grid of a survey: treebank by treebank, each with all models."""

from __future__ import annotations

from ...analyses.comparison.results import Pairing
from ...analyses.contract import OptionError
from ...analyses.dependency.accuracy import words_by_group
from ...analyses.dependency.options import DependencyOptions
from ...analyses.dependency.tables import TOTALS
from ...analyses.shared.options import CountOptions
from ...analyses.survey.contrasts import Contrasts, Measurements
from ...analyses.survey.results import Survey
from ...corpora_loaders import Corpus
from ...reports.progress import Stages, progress_bar
from ...storage.nearest import did_you_mean
from ..pairing import pairing_of
from ..part_options import PartOptions
from .counting import CellCounter, CountedCell, failed_cell
from .models import LoadedModels, read_treebank
from .options import GridOptions, SurveyedModel, SurveyedTreebank, SurveyOptions


def run_grid(options: SurveyOptions, part_options: PartOptions, stages: Stages | None = None) -> Survey:
    """Count all cells, and compare them.

    The statistics of one treebank are compared before the next is read, so the memory does not grow with the number of
    treebanks, apart from the tables.
    """
    _check_relation(options)
    stages = stages or Stages()
    grid, min_count = options.grid, options.groups[CountOptions].min_count
    models, treebanks = grid.all_models(), grid.all_treebanks()
    counter, loaded = CellCounter(options, part_options), LoadedModels(options.cells.device)
    contrasts, results = Contrasts(min_count), []
    with progress_bar("cells", len(models) * len(treebanks), unit="") as advance:
        for treebank in treebanks:
            with stages("count cells"):
                corpus = _corpus(options, treebank)
                counted = []
                for model in models:
                    counted.append(_cell(counter, loaded, model, treebank, corpus))
                    advance(1)
            results += [cell.result for cell in counted]
            with stages("compare"):
                _compare(contrasts, treebank.name, [cell for cell in counted if cell.families])
    with stages("compare"):
        means = contrasts.means()
    return Survey(
        models=tuple(model.name for model in models),
        treebanks=tuple(treebank.name for treebank in treebanks),
        maps=grid.maps,
        results=tuple(results),
        contrasts=tuple(contrasts.within),
        means=tuple(means),
        relation=grid.relation,
        min_count=min_count,
    )


def _check_relation(options: SurveyOptions) -> None:
    """Raise `OptionError` if no treebank that can be read has the relation that the figures show."""
    wanted = options.grid.relation
    if wanted == GridOptions.relation:
        return
    coarse = options.groups[DependencyOptions].coarse
    corpora = (_corpus(options, treebank) for treebank in options.grid.all_treebanks())
    words = [words_by_group(corpus.relations, coarse=coarse) for corpus in corpora if isinstance(corpus, Corpus)]
    known = dict.fromkeys([*TOTALS, *(relation for each in words for relation in each)])
    if words and wanted not in known:
        near = did_you_mean(wanted, known)
        raise OptionError(f"no treebank has the relation {wanted!r}; choose from: {', '.join(known)}{near}")


def _corpus(options: SurveyOptions, treebank: SurveyedTreebank) -> Corpus | Exception:
    try:
        return read_treebank(options, treebank)
    except Exception as error:
        return error


def _cell(
    counter: CellCounter,
    loaded: LoadedModels,
    model: SurveyedModel,
    treebank: SurveyedTreebank,
    corpus: Corpus | Exception,
) -> CountedCell:
    if isinstance(corpus, Exception):
        return failed_cell(model, treebank, corpus)
    try:
        encoder = loaded.load(model) if counter.needs_encoder else None
        return counter.count(model, treebank, encoder, corpus)
    except Exception as error:  # whatever goes wrong in a cell must not stop the grid
        return failed_cell(model, treebank, error)


def _compare(contrasts: Contrasts, treebank: str, cells: list[CountedCell]) -> None:
    records = {cell.result.cell.model: cell.record for cell in cells}

    def pairing(first: str, second: str) -> Pairing:
        return pairing_of(records[first], records[second])[0]

    contrasts.add(treebank, [Measurements(cell.result.cell.model, cell.families) for cell in cells], pairing)

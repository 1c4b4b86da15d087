"""Counting one share of all cells of a survey, without a report: what one task of a job array does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ...analyses.shared.options import ControlOptions
from ...analyses.survey.cells import Cell
from ...corpora_loaders import Corpus
from ...extractors import ExtractionError, ModelError
from ...reports.progress import progress_bar
from ...storage.durable import StorageError
from ..execution import count_share
from ..executors import ShareCounts, share_of
from ..part_options import PartOptions
from ..parts import check_folder, number_of_parts
from .counting import LoadedModels, read_treebank, reason_of
from .options import SurveyedModel, SurveyedTreebank, SurveyOptions


@dataclass(frozen=True)
class CellShare:
    """What one process has counted of a cell.

    Attributes:
        cell: the cell.
        parts: the number of its parts in the share.
        reason: why it, or one of the kinds of maps in it, could not be counted; empty if all could.
        warnings: which of its parts were damaged and have been counted again.
    """

    cell: Cell
    parts: int = 0
    reason: str = ""
    warnings: tuple[str, ...] = ()


def count_grid_share(options: SurveyOptions, part_options: PartOptions) -> list[CellShare]:
    """Count one share of the parts of all cells.

    The parts of all cells are dealt out one after the other, so that shares are equally large even if each cell is one
    part.
    """
    part_options.check()
    if part_options.parts is not None:
        check_folder(part_options.parts)
    with progress_bar("cells", len(options.grid.models) * len(options.grid.treebanks), unit="") as advance:
        shares = []
        for share in _cell_shares(options, part_options):
            shares.append(share)
            advance(1)
    return shares


def share_lines(shares: Sequence[CellShare], part_options: PartOptions) -> list[str]:
    """Return what a terminal shows of a share: the cells that failed, and how many parts were counted."""
    parts, cells = sum(share.parts for share in shares), sum(share.parts > 0 for share in shares)
    return [
        *(f"Warning: {warning}" for share in shares for warning in share.warnings),
        *(f"{share.cell.model} on {share.cell.treebank}: {share.reason}" for share in shares if share.reason),
        f"The share {part_options.part} has {parts:,} parts of {cells:,} cells, which are in {part_options.parts}. "
        "When all shares are counted, the same command without --part makes the report.",
    ]


def _cell_shares(options: SurveyOptions, part_options: PartOptions) -> Iterator[CellShare]:
    models, treebanks = options.grid.all_models(), options.grid.all_treebanks()
    loaded = LoadedModels(options.cells.device)
    before = 0  # the number of parts of all cells before
    for treebank in treebanks:
        try:
            corpus = read_treebank(options, treebank)
        except Exception as error:
            yield from (CellShare(Cell(model.name, treebank.name), reason=reason_of(error)) for model in models)
            continue
        parts = _parts_of_cell(options, corpus)
        for model in models:
            cell = Cell(model.name, treebank.name)
            if share_of(range(parts), part_options.share, before):
                count = partial(_count, options, part_options, loaded, model, treebank, corpus, before)
                yield _counted(cell, options.grid.maps, count)
            else:
                yield CellShare(cell)
            before += parts


def _count(
    options: SurveyOptions,
    part_options: PartOptions,
    loaded: LoadedModels,
    model: SurveyedModel,
    treebank: SurveyedTreebank,
    corpus: Corpus,
    before: int,
    kinds: Sequence[str],
) -> ShareCounts:
    """Count the share of a cell for some kinds of maps."""
    return count_share(
        options.job(model, treebank, kinds),
        part_options,
        model=loaded.load(model) if part_options.in_this_process else None,
        corpus=corpus,
        offset=before,
    )


def _parts_of_cell(options: SurveyOptions, corpus: Corpus) -> int:
    """Return the number of parts of a cell, which is known before its model is loaded."""
    return (1 + options.groups[ControlOptions].copies()) * number_of_parts(len(corpus))


def _counted(cell: Cell, kinds: Sequence[str], count: Callable[[Sequence[str]], ShareCounts]) -> CellShare:
    """Count the share of a cell. Whatever goes wrong is its reason.

    If the model cannot give one of the kinds of maps, each kind is tried alone, as the survey does it.
    """
    reason, parts, warnings = "", 0, list[str]()
    attempts: list[Sequence[str]] = [kinds]
    while attempts:
        tried = attempts.pop()
        try:
            counted = count(tried)
            parts += counted.share
            warnings += counted.warnings
        except StorageError:
            raise
        except Exception as error:
            reason = reason_of(error)
            if len(tried) > 1 and isinstance(error, ModelError | ExtractionError):
                attempts += [(kind,) for kind in tried]
    return CellShare(cell, parts, reason, tuple(warnings))

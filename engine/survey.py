"""`survey`, the Python counterpart of the command ``attentionology survey``: treebank by treebank, all models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..analyses.comparison.results import Pairing
from ..analyses.contract import OptionError, OptionGroup, OptionSet
from ..analyses.dependency.accuracy import words_by_group
from ..analyses.dependency.options import DependencyOptions
from ..analyses.dependency.tables import TOTALS
from ..analyses.option_groups import groups_by_class
from ..analyses.shared.input_options import LimitOptions, ModelOptions, paths_read
from ..analyses.shared.options import ControlOptions, CountOptions, FeedForwardOptions, MapOptions
from ..analyses.shared.record import describe_command
from ..analyses.survey.contrasts import Contrasts, Measurements
from ..analyses.survey.results import Survey
from ..analyses.survey.section import survey_section
from ..corpora_loaders import Corpus
from ..reports.page import write_report
from ..reports.progress import Stages, progress_bar
from ..reports.run_folder import RunFolder
from ..storage.nearest import did_you_mean
from .compared_run import pairing_of
from .corpus import CorpusOptions
from .part_options import PartOptions
from .surveying.counting import CellCounter, CountedCell, LoadedModels, failed_cell, read_treebank
from .surveying.options import CellOptions, GridOptions, SurveyedModel, SurveyedTreebank, SurveyOptions

_GROUPS = (
    DependencyOptions, ControlOptions, CountOptions, FeedForwardOptions, MapOptions, CorpusOptions, LimitOptions,
    ModelOptions, PartOptions,
)  # fmt: skip


def survey(
    models: str | Path | Sequence[str | Path],
    treebanks: str | Path | Sequence[str | Path],
    *,
    maps: str | Sequence[str] | None = None,
    options: Sequence[OptionGroup] = (),
    relation: str = GridOptions.relation,
    out: str | Path | None = None,
    overwrite: bool = False,
    seed: int = 0,
) -> Survey:
    """Find the best heads of every model on every treebank, and compare models and kinds of maps.

    The results are those of ``attentionology survey`` with the same options. Every cell has the numbers that
    `attentionology.analyze` gives for its model and treebank alone. A cell that fails becomes a row of the table with
    the reason.

    Args:
        models: folders, names on the Hugging Face Hub, ``NAME@REVISION``, or ``"demo"``.
        treebanks: one file each, or ``"sample"``.
        maps: the kinds of maps, see `attentionology.list_kinds`. Default: attention weights.
        options: at most one option group of each class, for example ``CountOptions(min_count=20)``,
            ``CorpusOptions(limit=500)`` or ``PartOptions(parts=Path("parts"))`` for a survey that can be continued.
        relation: the relation that the figures show.
        out: the folder for the report, its tables and figures; None to write nothing.
        overwrite: whether to replace the folder of an earlier survey.
        seed: the seed of everything random.

    Returns:
        the tables of all cells and contrasts.

    Raises:
        OptionError: an option cannot be used, or contradicts another one.
        RunFolderError: the folder cannot be written.

    Example:
        >>> from attentionology import CorpusOptions, CountOptions, survey
        >>> options = [CorpusOptions(limit=3), CountOptions(replicates=0)]
        >>> result = survey("demo", ["sample", "absent.conllu"], options=options)
        >>> result.cells_table[["treebank", "status", "reason"]].values.tolist()
        [['sample', 'ok', ''], ['absent', 'failed', 'absent.conllu: there is no such file']]
    """
    groups = groups_by_class(options, _GROUPS, "a survey has no options of the class {}")
    map_options, files = groups.pop(MapOptions, MapOptions()), groups.pop(CorpusOptions, CorpusOptions())
    model_options, part_options = groups.pop(ModelOptions, ModelOptions()), groups.pop(PartOptions, PartOptions())
    if replace(files, tokens="syntactic", limit=None) != CorpusOptions():
        raise OptionError("of CorpusOptions, a survey uses only tokens and limit")
    if replace(model_options, device="cpu") != ModelOptions():
        raise OptionError("of ModelOptions, a survey uses only the device; revisions are given as NAME@REVISION")
    if part_options.part is not None:
        raise OptionError("a share is counted by the command: attentionology survey … --parts FOLDER --part K/N")
    kinds, limits = map_options.map if maps is None else maps, groups.pop(LimitOptions, LimitOptions())
    return execute_survey(
        SurveyOptions(
            grid=GridOptions(_names(models), _names(treebanks), _names(kinds), relation),
            cells=CellOptions(
                map_options.merge, map_options.normalize, files.tokens, files.limit, model_options.device
            ),
            groups=OptionSet(list(groups.values())),
            limits=limits,
            seed=seed,
        ),
        part_options,
        out=None if out is None else Path(out),
        overwrite=overwrite,
        command="attentionology.survey(…)",
    )


def execute_survey(
    options: SurveyOptions,
    part_options: PartOptions,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> Survey:
    """Run a survey, and write its tables, figures and page."""
    options.check()
    options.check_maps()
    part_options.check()
    if out is None:
        return run_grid(options, part_options)
    stages, grid = Stages(), options.grid
    with RunFolder(out, overwrite=overwrite, reads=paths_read(grid.models, grid.treebanks)) as folder:
        results = run_grid(options, part_options, stages)
        with stages("tables and figures"):
            section = survey_section(results)
        shown = {**(shown_options or _flat(options)), "out": str(out)}
        record = {
            **describe_command(command, shown, options.seed, stages),
            "survey": _describe(options, results),
            "warnings": results.warnings,
        }
        write_report(folder.path, run=record, sections=[section], template="survey.html.j2")
    return results


def _names(given: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    return (str(given),) if isinstance(given, str | Path) else tuple(map(str, given))


def _flat(options: SurveyOptions) -> dict[str, Any]:
    groups: list[Any] = [options.grid, options.cells, options.limits, *options.groups]
    return {name: value for group in groups for name, value in asdict(group).items()}


def _describe(options: SurveyOptions, results: Survey) -> dict[str, Any]:
    """Describe the models and treebanks of a survey, and the number of cells that failed."""
    by_model = {result.cell.model: result.facts for result in results.results if result.facts}
    by_treebank = {result.cell.treebank: result.facts for result in results.results if result.facts}
    models, treebanks = [], []
    for model in options.grid.all_models():
        facts = by_model.get(model.name)
        models.append(
            {
                "name": model.name,
                "revision": facts.revision if facts else model.revision,
                "weights_sha256": facts.weights_sha256 if facts else None,
            }
        )
    for treebank in options.grid.all_treebanks():
        facts = by_treebank.get(treebank.name)
        files = [{"path": path, "sha256": sha256} for path, sha256 in facts.files] if facts else []
        treebanks.append({"name": treebank.name, "path": treebank.path, "files": files})
    return {
        "models": models,
        "treebanks": treebanks,
        "maps": list(results.maps),
        "cells": len(results.results),
        "failed": len(results.failures),
        "seconds": [
            {"model": result.cell.model, "treebank": result.cell.treebank, "seconds": result.seconds}
            for result in results.results
        ],
    }


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

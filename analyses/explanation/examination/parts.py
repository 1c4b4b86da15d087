"""Examining texts in parts, which are kept on disk, so that a run can be resumed and shared among processes.

A part is some of the batches into which the model divides *all* texts. Float32 attention depends on the texts of a
batch, so batches that were cut anew within each part would give other last digits; these are the same whoever examines
a part, and however many parts there are.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
import torch

from ....extractors import AttentionModel, TransformerAttention, Words
from ....extractors.model.loaded_model import weights_sha256
from ....extractors.replaceable.attention_model import query_of
from ....reports.provenance import source_digest
from ....storage.cache_log import CacheLog
from ....storage.plugins import name_extension
from ....storage.tensors import read_tensors, write_tensors
from ...contract import OptionError
from ...shared.part_options import WHAT_IS_KEPT, ShareOptions
from ...shared.processes import Processes, results_of_processes
from ..attention.batch import Rows, TextBatch, examine_batch
from ..contract.explanation_test import ExplanationTest
from ..contract.options import ExplanationTestOptions
from ..contract.registry import registered_tests

_FORMAT = 1
_TEXTS = 100
"""How many texts a part has at least, unless it is the last one. Examining them takes seconds."""

Batch = tuple[int, ...]
"""The indices of the texts of a batch."""


@dataclass(frozen=True, eq=False)
class TextExamination:
    """What the tests compute for the texts of one model. It can be sent to another process."""

    model: AttentionModel  # the model whose attention is tested
    ids: Sequence[str]  # the ids of the texts
    texts: Sequence[Words]  # the words of each text
    tests: tuple[str, ...]  # the names of the tests
    options: ExplanationTestOptions
    only: Mapping[str, Sequence[str]]  # of some tests, the columns that are kept
    seed: int  # the seed of everything random

    def functions(self) -> dict[str, Callable[[TextBatch], Rows]]:
        """Return the function that examines a batch, for each test by name."""
        tests = registered_tests()
        return {name: functools.partial(_rows, tests[name], self.options, self.only.get(name)) for name in self.tests}

    def table(self, part: Sequence[Batch]) -> pd.DataFrame:
        """Examine the batches of a part, and return its rows of the per-text table."""
        functions = self.functions()
        batches = [examine_batch(self.model, batch, self.ids, self.texts, functions, self.seed) for batch in part]
        return pd.concat(batches)

    def in_process(self, number: int) -> Callable[[tuple[Batch, ...]], pd.DataFrame]:
        """Prepare a process, and return the function that examines a part there."""
        torch.set_num_threads(1)  # threads of several processes would wait for each other
        return self.table

    def parts(self) -> list[tuple[Batch, ...]]:
        """All parts: neighboring batches of the model, put together until they have at least `_TEXTS` texts."""
        parts: list[tuple[Batch, ...]] = []
        part: list[Batch] = []
        for batch in self.model.batches(self.texts):
            part.append(tuple(batch))
            if sum(map(len, part)) >= _TEXTS:
                parts.append(tuple(part))
                part = []
        return [*parts, tuple(part)] if part else parts


class PartFiles:
    """The files of parts, whose names are digests of everything on which their numbers depend."""

    def __init__(self, folder: Path, examination: TextExamination, cache_log: CacheLog) -> None:
        model, tests = examination.model, registered_tests()
        if not isinstance(model, torch.nn.Module):
            raise OptionError("--parts needs a model that is a PyTorch module, by whose weights parts are recognized")
        sources = [Path(inspect.getfile(tests[name].examine)).read_bytes() for name in examination.tests]
        same_for_all_parts = {
            "format": _FORMAT,
            "torch": torch.__version__,
            "sources": [source_digest(), *(hashlib.sha256(source).hexdigest() for source in sources)],
            "model": [type(model).__name__, weights_sha256(model), repr(getattr(model, "config", ""))],
            "scope": model.describe() if isinstance(model, TransformerAttention) else None,
            "tests": examination.tests,
            "options": {name: value for name, value in asdict(examination.options).items() if name != "tests"},
            "only": dict(examination.only),
            "seed": examination.seed,
        }
        self.folder, self._examination, self._log = folder, examination, cache_log
        self._same_for_all_parts = json.dumps(same_for_all_parts, sort_keys=True, default=str)

    def path(self, part: Sequence[Batch]) -> Path:
        """Return the file of a part, named by a digest of its texts and of all else on which its numbers depend."""
        ids, texts = self._examination.ids, self._examination.texts
        of_part = [[(ids[index], tuple(texts[index]), query_of(texts[index])) for index in batch] for batch in part]
        digest = hashlib.sha256(f"{self._same_for_all_parts}{json.dumps(of_part)}".encode())
        return self.folder / f"texts-{digest.hexdigest()[:40]}.safetensors"

    def read(self, part: Sequence[Batch]) -> pd.DataFrame | None:
        """Read the table of a part; None if it is missing, or was deleted because it was damaged."""
        stored = self._log.read(self.path(part), read_tensors)
        if stored is None:
            return None
        numbers, facts = stored
        columns = {**{name: tensor.numpy() for name, tensor in numbers.items()}, **facts["texts"]}
        rows = [index for batch in part for index in batch]
        return pd.DataFrame({name: columns[name] for name in facts["columns"]}, index=rows)

    def write(self, part: Sequence[Batch], table: pd.DataFrame) -> None:
        """Write the table of a part, numbers as tensors and all else as facts beside them."""
        columns = list(map(str, table.columns))
        texts = {name: table[name].tolist() for name in columns if table[name].dtype.kind not in "biuf"}  # no numbers
        numbers = {name: torch.from_numpy(table[name].to_numpy(copy=True)) for name in columns if name not in texts}
        write_tensors(self.path(part), numbers, {"columns": columns, "texts": texts})


def examine_parts(
    examination: TextExamination, options: ShareOptions, cache_log: CacheLog, advance: Callable[[int], object]
) -> tuple[list[pd.DataFrame], int]:
    """Examine the parts of all texts, or the share of them that the options ask for.

    Parts are read from the files of the options, if they are there, and written to them. Returns the tables of the
    parts, and how many parts of other shares have not been examined yet.
    """
    parts = examination.parts()
    files = None if options.parts is None else PartFiles(options.parts, examination, cache_log)
    share, n_shares = options.share or (1, 1)
    in_share = range(share - 1, len(parts), n_shares)
    tables: dict[int, pd.DataFrame] = {}
    for index in in_share:
        stored = None if files is None else files.read(parts[index])
        if stored is not None:
            tables[index] = stored
            advance(len(stored))
    missing = [index for index in in_share if index not in tables]
    for index, table in _examine_missing(examination, parts, missing, options):
        if files is not None:
            files.write(parts[index], table)
        tables[index] = table
        advance(len(table))
    of_other_shares = [part for index, part in enumerate(parts) if index not in tables]
    unexamined = sum(files is None or not files.path(part).is_file() for part in of_other_shares)
    return [tables[index] for index in sorted(tables)], unexamined


def _examine_missing(
    examination: TextExamination, parts: Sequence[tuple[Batch, ...]], missing: Sequence[int], options: ShareOptions
) -> Iterator[tuple[int, pd.DataFrame]]:
    """Examine the missing parts, here or in other processes, and yield the index and the table of each when done."""
    if options.in_this_process or len(missing) < 2:  # for one part, no process is started
        for index in missing:
            yield index, examination.table(parts[index])
        return
    index_of = {parts[index]: index for index in missing}
    processes = Processes(options.workers or 1, kept=WHAT_IS_KEPT, preloaded=(__name__,))
    for part, table in results_of_processes(processes, examination.in_process, list(index_of)):
        yield index_of[part], table


def _rows(test: ExplanationTest, options: ExplanationTestOptions, only: Sequence[str] | None, batch: TextBatch) -> Rows:
    """Compute the columns of a test for a batch, or those in ``only``."""
    with name_extension("explanation test", test.name, "examine()"):
        rows = test.examine(batch, options)
    test.check_declared(rows)
    return rows if only is None else {name: rows[name] for name in only if name in rows}

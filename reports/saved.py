"""What the results of all commands have in common: the tables, figures and page that the command writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Saved:
    """Results that can be written as their command would write them.

    Attributes:
        written: makes the `attentionology.Run` that is written, given the folder from which the links of its page lead
            to other pages, or None; None for results that are a part of another run.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology import CorpusOptions, CountOptions, survey
        >>> result = survey("demo", "sample", options=[CorpusOptions(limit=5), CountOptions(replicates=20)])
        >>> sorted(result.tables)[:2], result.report()[:15]
        (['survey', 'survey_cells'], '<!doctype html>')
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sorted(path.name for path in result.save(f"{folder}/grid").iterdir())
        ['figures', 'report.html', 'run.json', 'states', 'summary.json', 'tables']
    """

    # The results of analyses cannot make it themselves, because only the engine knows runs.
    written: Callable[[Path | None], Any] | None = field(default=None, kw_only=True, repr=False, compare=False)

    def _run(self, folder: Path | None = None) -> Any:
        if self.written is None:
            raise ValueError(f"this {type(self).__name__} is a part of a run; save the run")
        return self.written(folder)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables that the folder of the command has as ``tables/NAME.csv``, by name."""
        return cast("dict[str, pd.DataFrame]", self._run().tables)

    @property
    def figures(self) -> dict[str, Figure]:
        """The matplotlib figures that the folder of the command has as ``figures/NAME.svg``, by name."""
        return cast("dict[str, Figure]", self._run().figures)

    def report(self) -> str:
        """The page ``report.html`` as text, which can be written to a file or shown by a notebook."""
        return cast(str, self._run().report())

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write what the command would write into its ``--out``, without the reports of the cells of a survey.

        Args:
            folder: the folder to write.
            overwrite: whether to replace the folder of an earlier run.

        Returns:
            the folder.

        Raises:
            RunFolderError: the folder exists, or cannot be written.
        """
        self._run(Path(folder)).save(folder, overwrite=overwrite)
        return Path(folder)

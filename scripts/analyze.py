"""``attentionology analyze``: a treebank and a model in, a report on every head out."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from ..analyses.contract import OptionGroup, OptionSet
from ..analyses.dependency.options import DecisionOptions
from ..analyses.registry import registered_analyses
from ..analyses.shared.builtin import SAMPLE
from ..analyses.shared.input_options import ExampleOptions, LimitOptions, ModelOptions, OutputOptions, default_folder
from ..analyses.shared.numbers import Seed
from ..analyses.shared.option_types import DryRun, Rare
from ..analyses.shared.part_options import PartOptions
from ..engine.corpus import CorpusOptions
from ..reports.help.options import flag
from ..storage.plugins import RegistryError

if TYPE_CHECKING:
    from ..engine.counting.job import Job

_HELP = """Report what the attention heads of a model do on a treebank, a coreference corpus or a plain text.

The analyses are:
{analyses}

The results folder contains a report to read first (report.html), tables with all counts as CSV, figures as SVG,
and a record of everything needed to repeat the run (run.json). Without options, the command runs the demo model on the
sample treebank."""


@dataclass(frozen=True)
class Analyze:
    """The options of every run, to which `analyze_command` adds those of the analyses."""

    model: ModelOptions = field(default_factory=ModelOptions)
    files: CorpusOptions = field(default_factory=CorpusOptions)

    analyses: Annotated[tuple[str, ...] | None, arg(metavar="NAME [NAME ...]")] = None
    """The analyses to run, separated by spaces or commas. By default, these are dependency, surface and clusters for
    CoNLL-U files; surface and clusters for --text; and coreference for CoNLL-2012 and GAP files."""

    limits: LimitOptions = field(default_factory=LimitOptions)
    kept: ExampleOptions = field(default_factory=ExampleOptions)
    decided: DecisionOptions = field(default_factory=DecisionOptions)

    seed: Seed = 0
    """The seed of everything random: the bootstrap, the halves of the corpus, the weights of the control, the masks,
    the segments, and the arrangement of the heads in the figure of clusters."""

    dry_run: DryRun = False
    rare: Rare = False

    output: OutputOptions = field(default_factory=OutputOptions)
    long_run: PartOptions = field(default_factory=PartOptions)

    def run(self, command: str = "") -> int:
        """Run the analyses and return the exit status."""
        from ..reports.table import rare_rows
        from .running import run_job

        job = self._job()
        default = default_folder(self.model.model, self.files.text or self.files.corpus or (SAMPLE,))
        with rare_rows(shown=self.rare):
            run_job(job, default, self.output, self.long_run, dry_run=self.dry_run, command=command)
        return 0

    def check_first(self) -> None:
        """Check everything that can be checked before anything is read."""
        from ..engine.execution import check_job

        check_job(self._job(), self.long_run, None, None)

    def _job(self) -> Job:
        """Return what the options ask for."""
        from ..engine.analyze import AnalyzeJob

        groups = OptionSet(group for group in vars(self).values() if isinstance(group, OptionGroup))
        return AnalyzeJob(groups.without(PartOptions), self.analyses, self.seed)


@functools.cache
def analyze_command() -> type[Analyze]:
    """The command with the options of all registered analyses, those of other packages too."""
    rows = registered_analyses().values()
    # Several analyses may share a group, such as that of the bootstrap, whose options the command has once.
    kinds = list(dict.fromkeys(kind for row in rows for kind in row.options))
    _check_options(kinds)
    groups = [(f"group_{number}", kind, field(default_factory=kind)) for number, kind in enumerate(kinds)]
    command = make_dataclass("Analyze", groups, bases=(Analyze,), frozen=True)
    command.__doc__ = _HELP.format(analyses="\n".join(f"- {row.summary}" for row in rows))
    return command


def _check_options(groups: Sequence[type[Any]]) -> None:
    """Check that no option and no option group of an analysis has the name of another one of the command."""
    of_every_run = (
        *(Analyze, ModelOptions, CorpusOptions, LimitOptions, ExampleOptions, DecisionOptions),
        *(OutputOptions, PartOptions),
    )
    owners = {option.name: "attentionology analyze" for group in of_every_run for option in fields(group)}
    names = {group.__name__ for group in of_every_run}
    for group in groups:
        source = f"{group.__module__}.{group.__qualname__}"
        if group.__name__ in names:  # a run stores its options by the names of their classes
            raise RegistryError(f"the name of the option group {source} is taken; rename the class")
        names.add(group.__name__)
        for option in fields(group):
            if option.name in owners:
                raise RegistryError(
                    f"{source} has an option {flag(option.name)}, which {owners[option.name]} has already"
                )
            owners[option.name] = source

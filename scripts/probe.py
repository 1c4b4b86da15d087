"""``attentionology probe``: what all heads of a model together know about syntax."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated

from tyro.conf import arg

from ..analyses.probing.run_options import ProbingOptions
from ..analyses.shared.builtin import SAMPLE
from ..analyses.shared.input_options import OutputOptions, default_folder

_DRY_RUN = (
    "Check all options, and print the number of trainings, the disk space that word maps and hidden states need, and "
    "an estimate of the time on this machine. The model is loaded and reads a few sentences, and each probe is trained "
    "on them for a few epochs. Nothing is stored or written. The exit status is 1 if the disk is too small."
)


@dataclass(frozen=True)
class ProbeCommand(ProbingOptions):
    """Train probes that predict syntactic heads from the attention maps of all heads together.

    The probes are (Clark et al. 2019, section 5):
    - attention: one learned weight per attention head and direction.
    - attention+words: weights that depend on the vectors of the two words.
    - words+distances: a network that sees the words and their distances but no attention, as a baseline.

    The table also contains baselines without training (always the next word, the best fixed offset, the best offset for
    each relation, and the best single head), the same probes on a network with random weights, and the same probes on a
    control task that is unrelated to language (Hewitt & Liang 2019).

    Without --train, the treebank of --test is cut into folds, and each fold is predicted by probes that are trained on
    the others. The word maps of a treebank are made once and kept in a cache. If a run was interrupted, the same
    command continues where it stopped and gives the same result. Probes are trained on the CPU, whatever the --device
    of the model is.
    """

    dry_run: Annotated[bool, arg(help=_DRY_RUN)] = False
    output: OutputOptions = field(default_factory=OutputOptions)

    def run(self, command: str = "") -> int:
        """Run the command and return its exit status."""
        from ..engine.probe import execute
        from .running import run_command

        default = default_folder(self.model.model, self.treebanks.test or (SAMPLE,), "probe-")
        if self.dry_run:
            from ..engine.probe_estimate import estimate_probing
            from .running import print_results

            estimate = estimate_probing(self, out=self.output.out or default, overwrite=self.output.overwrite)
            print_results(asdict(estimate), [], estimate.lines(), as_json=self.output.json)
            estimate.check_space()
            return 0
        run_command(execute, self, default, self.output, command)
        return 0

    def check_first(self) -> None:
        """Check everything that can be checked before anything is read."""
        self.check()

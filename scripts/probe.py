"""``attentionology probe``: what all heads of a model together know about syntax."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..analyses.probing.run_options import ProbingOptions
from ..analyses.shared.builtin import SAMPLE
from ..analyses.shared.input_options import OutputOptions, default_folder


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

    output: OutputOptions = field(default_factory=OutputOptions)

    def run(self, command: str = "") -> int:
        """Run the command and return its exit status."""
        from ..engine.probe import execute
        from .running import run_command

        default = default_folder(self.model.model, self.treebanks.test or (SAMPLE,), "probe-")
        run_command(execute, self, default, self.output, command)
        return 0

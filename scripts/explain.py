"""``attentionology explain``: whether the attention of a text classifier can be read as an explanation."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..analyses.explanation.examination.options import ExplainOptions
from ..analyses.shared.input_options import OutputOptions, default_folder


@dataclass(frozen=True)
class Explain(ExplainOptions):
    """Test whether the attention of a text classifier can be read as an explanation of its decisions.

    A classifier is trained on labeled texts (--data), and the tests of several papers are applied to its attention.
    They ask:
    - Does attention rank words as gradients and leave-one-out do? Would shuffled or adversarial attention give the same
      output? (Jain & Wallace 2019)
    - Does the task need attention? Do models with other seeds attend to the same words? Can a model learn to give the
      same output and attend elsewhere? (Wiegreffe & Pinter 2019)
    - Do decisions depend on the weights, and how many weights can be removed? (Serrano & Smith 2019)
    - Are the most attended words needed, and are they enough? (DeYoung et al. 2020)
    - How well does a single word predict the decision, and do regularizers help? (Tutek & Šnajder 2020)

    Every test compares a number with a floor, and gives an interval of the difference.

    The tested model is one of the classifiers of the papers (--encoder), a transformer that is fine-tuned first
    (--model MODEL --finetune), or a transformer that is a classifier already (--model MODEL --test FILE).

    In a text file, each line is a label, a space or tab, and a text. CSV, TSV and JSON Lines are read as well, and all
    files may be compressed (.gz, .bz2 or .xz). Trained models are kept in a cache, so the same command resumes a run
    that was interrupted.
    """

    output: OutputOptions = field(default_factory=OutputOptions)

    def run(self, command: str = "") -> int:
        """Run the command and return its exit status."""
        from ..engine.explain import count_share, execute
        from ..reports.streams import say
        from .running import run_command

        texts, model = self.texts.test or self.texts.data or (), self.model.model or self.classifier.encoder
        default = default_folder(model, texts, "explain-")
        if self.shares.share is not None:
            say(*count_share(self, self.output.out or default))
        else:
            run_command(execute, self, default, self.output, command)
        return 0

    def check_first(self) -> None:
        """Check everything that can be checked before anything is read."""
        from ..analyses.explanation.examination.options import Loaded
        from ..analyses.explanation.run import choose

        choose(self, Loaded())

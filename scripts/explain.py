"""``attentionology explain``: may the attention of a text classifier be read as an explanation?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attentionology.analyses.explanation.run_options import ExplainOptions
from attentionology.analyses.shared.input_options import OutputOptions, default_folder


@dataclass(frozen=True)
class Explain(ExplainOptions):
    """Test whether the attention of a text classifier can be read as an explanation of its decisions.

    A classifier is trained on labelled texts (--data), and its attention is put to the tests of the papers. Does it
    rank words as gradients and leaving words out do? Would shuffled or adversarial attention give the same output (Jain
    & Wallace 2019)? Does the task need attention at all, do models with other seeds attend alike, and can a model learn
    to say the same and attend elsewhere (Wiegreffe & Pinter 2019)? Do decisions depend on the weights, and how many of
    them can be removed (Serrano & Smith 2019)? What does a single word say, and do regularizers help (Tutek & Šnajder
    2020)? Every test has a floor to compare with and an interval.

    The classifiers are those of the papers (--encoder lstm, cnn, average, none), or a transformer: one that is
    fine-tuned here (--model MODEL --finetune), or one that is a classifier already (--model MODEL --test FILE).

    Each line of the data is a label, a blank or tab, and a text; CSV, TSV and JSON Lines are read as well, also
    compressed (.gz). Trained models are kept in a cache, so the same command resumes a run that was interrupted.
    """

    output: OutputOptions = field(default_factory=OutputOptions)

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Run the command and return its exit status."""
        from attentionology.analyses.explanation.explain import execute
        from attentionology.analyses.shared.record import command_line
        from attentionology.scripts.closing import print_results

        output = self.output
        named = default_folder(self.model.model or self.classifier.encoder, self.texts.test or self.texts.data or ())
        out = output.out or named.with_name(f"explain-{named.name}")
        explanation = execute(
            self,
            out=out,
            overwrite=output.overwrite,
            command=command_line(arguments),
            shown_options={"overwrite": output.overwrite, "json": output.json},
        )
        shown = [(explanation.section.summary, explanation.show)]
        print_results(dict(explanation.record), shown, out, as_json=output.json)
        return 0

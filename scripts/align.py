"""``attentionology align``: word alignment from the cross-attention of a translation model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attentionology.analyses.alignment.options import AlignmentOptions, BitextOptions, TranslatorOptions
from attentionology.analyses.shared.input_options import OutputOptions, default_folder


@dataclass(frozen=True)
class Align:
    """Align words by the cross-attention of a translation model, and score it against gold links.

    Sentence pairs are read by forced decoding, and each target word is aligned with the source word that it attends to
    most: by attention weight, or by the norm of what attention moves; at the step that reads the word (AWI), or at the
    step that predicts it (AWO); for each head, and for all heads of a layer together (Kobayashi et al. 2020, §5).
    The scores are those of Och & Ney (2003). A target word that attends most to a special token, such as the end of the
    sentence, has no link.

    Models are encoder-decoders: Marian, BART, mBART, M2M100 and NLLB, PLBart, T5, FSMT, Pegasus, Blenderbot. Tokenizers
    with SentencePiece need the extra 'translation' of the package. Without options, a small model of two made-up
    languages is analyzed.
    """

    bitext: BitextOptions = field(default_factory=BitextOptions)
    translator: TranslatorOptions = field(default_factory=TranslatorOptions)
    alignment: AlignmentOptions = field(default_factory=AlignmentOptions)
    output: OutputOptions = field(default_factory=OutputOptions)

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Run the command and return its exit status."""
        from attentionology.analyses.alignment.align import execute
        from attentionology.analyses.shared.record import command_line, flat_options
        from attentionology.scripts.closing import print_results

        named = default_folder(self.translator.model, (self.bitext.source,))
        out = self.output.out or named.with_name(f"align-{named.name}")
        alignment = execute(
            self.bitext,
            self.translator,
            self.alignment,
            out=out,
            overwrite=self.output.overwrite,
            command=command_line(arguments),
            shown_options={**flat_options(self), "out": str(out)},
        )
        parts = [(alignment.section.summary, alignment.show)]
        print_results(dict(alignment.record), parts, out, as_json=self.output.json)
        return 0

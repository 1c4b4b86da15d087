"""``attentionology align``: word alignment from the cross-attention of a translation model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..analyses.alignment.options import (
    AlignmentOptions,
    BitextOptions,
    LanguageOptions,
    LinkOptions,
    TranslatorOptions,
)
from ..analyses.shared.input_options import ExampleOptions, OutputOptions, default_folder
from ..engine.part_options import PartOptions

if TYPE_CHECKING:
    from ..engine.align_options import AlignOptions


@dataclass(frozen=True)
class Align:
    """Align words by the cross-attention of a translation model, and score the links against gold links.

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
    languages: LanguageOptions = field(default_factory=LanguageOptions)
    alignment: AlignmentOptions = field(default_factory=AlignmentOptions)
    links: LinkOptions = field(default_factory=LinkOptions)
    kept: ExampleOptions = field(default_factory=ExampleOptions)
    output: OutputOptions = field(default_factory=OutputOptions)
    long_run: PartOptions = field(default_factory=PartOptions)

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Run the command and return its exit status."""
        from ..analyses.shared.record import command_line
        from ..engine.align_options import AlignOptions
        from ..engine.execution import execute
        from ..reports.streams import say
        from .closing import print_run

        options = AlignOptions(self.bitext, self.translator, self.languages, self.alignment, self.links, self.kept)
        if self.long_run.part is not None:
            return _count_share(options, self.long_run)
        named = default_folder(self.translator.model, (self.bitext.source,))
        out = self.output.out or named.with_name(f"align-{named.name}")
        run = execute(
            options,
            part_options=self.long_run,
            out=out,
            overwrite=self.output.overwrite,
            command=command_line(arguments),
            shown_options={
                "overwrite": self.output.overwrite,
                "json": self.output.json,
                **self.long_run.described(),
            },
        )
        print_run(run, out, as_json=self.output.json)
        if self.links.write is not None and not self.output.json:
            say(f"Links: {self.links.write}")
        return 0


def _count_share(options: AlignOptions, part_options: PartOptions) -> int:
    """Count one share of the parts, say how many there are now, and return the exit status."""
    from ..engine.execution import count_share
    from ..reports.streams import say

    say(count_share(options, part_options).described(part_options.parts))
    return 0

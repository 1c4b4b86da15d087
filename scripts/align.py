"""``attentionology align``: word alignment from the cross-attention of a translation model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from ..analyses.alignment.options import (
    AlignmentOptions,
    BitextOptions,
    LanguageOptions,
    LinkOptions,
    TranslatorOptions,
)
from ..analyses.contract import OptionError, OptionSet
from ..analyses.shared.input_options import ExampleOptions, OutputOptions, default_folder
from ..analyses.shared.option_types import DryRun
from ..analyses.shared.part_options import PartOptions

if TYPE_CHECKING:
    from ..engine.counting.job import Job


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

    With --hypothesis, files of links are scored against --gold, without sentences and without a model.
    """

    hypothesis: Annotated[tuple[str, ...], arg(metavar="[NAME=]FILE")] = ()
    """Score only these files of links, counted from 0, against those of --gold: error rates with intervals, and their
    differences to the first. Nothing else is read."""

    bitext: BitextOptions = field(default_factory=BitextOptions)
    translator: TranslatorOptions = field(default_factory=TranslatorOptions)
    languages: LanguageOptions = field(default_factory=LanguageOptions)
    alignment: AlignmentOptions = field(default_factory=AlignmentOptions)
    links: LinkOptions = field(default_factory=LinkOptions)
    kept: ExampleOptions = field(default_factory=ExampleOptions)
    dry_run: DryRun = False

    output: OutputOptions = field(default_factory=OutputOptions)
    long_run: PartOptions = field(default_factory=PartOptions)

    def run(self, command: str = "") -> int:
        """Run the command and return its exit status."""
        if self.hypothesis:
            return self._score(command)
        from ..reports.streams import say
        from .running import run_job

        default = default_folder(self.translator.model, (self.bitext.source,), "align-")
        ran = run_job(self._job(), default, self.output, self.long_run, dry_run=self.dry_run, command=command)
        if ran and self.links.write is not None and not self.output.json:
            say(f"Links: {self.links.write}")
        return 0

    def check_first(self) -> None:
        """Check everything that can be checked before anything is read."""
        from ..engine.execution import check_job

        if not self.hypothesis:
            check_job(self._job(), self.long_run, None, None)

    def _job(self) -> Job:
        """Return what the options ask for."""
        from ..engine.align import AlignJob

        groups = OptionSet([self.bitext, self.translator, self.languages, self.alignment, self.links, self.kept])
        return AlignJob(groups)

    def _score(self, command: str) -> int:
        """Score files of links, and return the exit status."""
        links_alone = replace(self.bitext, gold=None, one_based=False), self.translator, self.languages, self.links
        if links_alone != (BitextOptions(), TranslatorOptions(), LanguageOptions(), LinkOptions()):
            raise OptionError(
                "--hypothesis scores files of links alone: give --gold, and neither sentences nor a model"
            )
        if self.bitext.gold is None:
            raise OptionError("--hypothesis needs gold links: --gold FILE")
        from ..analyses.alignment.link_files import scores_table
        from ..analyses.shared.record import flat_options
        from ..engine.link_scores import score_link_files
        from .running import print_report

        out = self.output.out or default_folder("links", (self.bitext.gold,), "align-")
        scores, section = score_link_files(
            self.hypothesis,
            self.bitext.gold,
            out,
            one_based=self.bitext.one_based,
            replicates=self.alignment.replicates,
            seed=self.alignment.seed,
            overwrite=self.output.overwrite,
            command=command,
            shown_options=flat_options(self),
        )
        print_report(lambda width: scores_table(scores).terminal(width), section.summary, out, as_json=self.output.json)
        return 0

"""Options of the alignment analysis."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from ...reports.help.options import flag
from ..contract import OptionError, OptionGroup
from ..shared.builtin import SAMPLE, check_revision
from ..shared.input_options import ModelOptions
from ..shared.numbers import Count, OptionalNumber, Seed
from ..shared.option_types import BatchCells, Lenient, PieceMerging, Replicates, TooLongInputs


@dataclass(frozen=True)
class BitextOptions(OptionGroup):
    """Options of the sentence pairs and their links."""

    source: Annotated[str, arg(metavar="FILE")] = SAMPLE
    """The source sentences, one per line, with words separated by white space; or both sides of all pairs, with '|||'
    or a tab between them; or 'sample', pairs of two made-up languages, which come with the toolkit."""

    target: Annotated[str | None, arg(metavar="FILE")] = None
    """The translations, if they are in a separate file."""

    gold: Annotated[str | None, arg(metavar="FILE")] = None
    """The gold links: one line per pair with links such as 3-4 (sure) and 3p4 (possible), source word first; or one
    line per link with the numbers of the pair, the source word and the target word, and S or P (shared tasks of 2003
    and 2005). Without gold links, nothing is scored: the report shows where weights and norms go."""

    one_based: bool = False
    """The gold links count words from 1. Links of the second format are always counted from 1."""

    baseline: Annotated[tuple[str, ...], arg(metavar="NAME=FILE")] = ()
    """Links of other systems, counted from 0, to score beside those of the model."""

    limit: OptionalNumber = None
    """Use only the first N sentence pairs."""

    lenient: Lenient = False

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        if self.source == SAMPLE and (self.target or self.gold):
            raise OptionError(
                "the sample has its own translations and gold links; give --source as well, or --hypothesis to score "
                "files of links alone"
            )
        for option in ("baseline", "one_based", "lenient"):
            if getattr(self, option) and self.gold is None and self.source != SAMPLE:
                raise OptionError(f"{flag(option)} has no effect without gold links: --gold FILE")
        names = set()
        for baseline in self.baseline:
            name, _, path = baseline.partition("=")
            if not name or not path:
                raise OptionError(f"--baseline takes NAME=FILE, not {baseline!r}")
            names.add(name)
        if len(names) < len(self.baseline):
            raise OptionError("two baselines have the same name")


@dataclass(frozen=True)
class TranslatorOptions(ModelOptions):
    """Options of the translation model."""

    model: Annotated[str, arg(metavar="MODEL")] = SAMPLE
    """The translation model: a folder, an id on the Hugging Face Hub such as Helsinki-NLP/opus-mt-de-en, or 'sample', a
    small model of the two made-up languages."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if self.model != SAMPLE:
            check_revision(self.model, self.revision)
        elif self.revision is not None:
            raise OptionError(f"--revision is for models on the Hub, and {self.model!r} is not one")


@dataclass(frozen=True)
class LanguageOptions(OptionGroup):
    """Options of multilingual and multitask models."""

    source_language: Annotated[str | None, arg(metavar="CODE")] = None
    """The source language of a multilingual model, as its tokenizer names it, such as deu_Latn."""

    target_language: Annotated[str | None, arg(metavar="CODE")] = None
    """The target language of a multilingual model."""

    lead: Annotated[str | None, arg(metavar="TEXT")] = None
    """Text before every source sentence, such as 'translate English to German:' for T5."""


@dataclass(frozen=True)
class AlignmentOptions(OptionGroup):
    """Options of the alignment analysis.

    Example:
        >>> from attentionology.analyses import AlignmentOptions
        >>> AlignmentOptions(replicates=-1).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --replicates must be at least 0, not -1
    """

    method: Literal["cross-attention", "similarity", "self-attention"] = "cross-attention"
    """What aligns words: the cross-attention of a translation model; the cosine of word vectors of an encoder, which
    reads each side alone; or the self-attention of an encoder, which reads both sides in one input, from target words
    to source words. Encoders should know both languages."""

    merge: PieceMerging = "norm"

    direction: Literal["forward", "both"] = "forward"
    """With 'forward', each target word is linked to one source word or to none. With 'both', each source word is also
    linked to one target word, for all heads together, and the links of both directions are combined by all methods
    of --symmetrize."""

    symmetrize: Literal["intersection", "union", "grow-diag", "grow-diag-final", "itermax"] | None = None
    """How --write combines the links of both directions. By default, it is grow-diag-final if
    --direction is both, and intersection for --method similarity, which always makes both directions. Itermax is for
    --method similarity: it links similar words in two rounds, so that a word can have several links."""

    controls: Count = 0
    """Compare with N copies of the model that have random weights and the trained embeddings."""

    replicates: Replicates = 1000

    seed: Seed = 0
    """The seed of the bootstrap, of the halves, and of random weights."""

    too_long: TooLongInputs = "skip"
    batch_cells: BatchCells = None

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        if self.symmetrize is not None and not self.both_directions:
            raise OptionError("--symmetrize needs links of both directions: --direction both")
        if self.symmetrize == "itermax" and self.method != "similarity":
            raise OptionError("--symmetrize itermax is for similar words: --method similarity")

    @property
    def written_direction(self) -> str:
        """The direction of the links that are written, or how those of both directions are put together."""
        if not self.both_directions:
            return "forward"
        return self.symmetrize or ("intersection" if self.method == "similarity" else "grow-diag-final")

    @property
    def both_directions(self) -> bool:
        """Whether source words are linked, too. Similar words are usually those which both directions link."""
        return self.direction == "both" or self.method == "similarity"


@dataclass(frozen=True)
class LinkOptions(OptionGroup):
    """Options of the links that are written."""

    write: Annotated[Path | None, arg(metavar="FILE")] = None
    """Write the links of all heads together to a file, counted from 0: those of the setting, measure and layer with the
    lowest error rate; without gold links, those of the layer with the largest mean norm, in the setting AWI. A file
    that exists is replaced with --overwrite, unless it is one that the command reads."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if self.write is not None and not self.write.resolve().parent.is_dir():
            raise OptionError(f"--write {self.write}: there is no folder {self.write.parent}")

"""What an alignment run reads: sentence pairs with their links, and the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...corpora_loaders.alignment import Bitext, load_bitext
from ...corpora_loaders.sample.translation import SAMPLE_GOLD, SAMPLE_PAIRS
from ...extractors.model.named import check_model_name
from ..option_groups import OptionError
from ..shared.builtin import SAMPLE
from .options import BitextOptions, LanguageOptions, TranslatorOptions

if TYPE_CHECKING:
    from ...extractors.translation import PairReader


def read_bitext(options: BitextOptions) -> Bitext:
    """Read the sentence pairs, the gold links, and the links of other systems."""
    options.check()
    is_sample = options.source == SAMPLE
    gold = str(SAMPLE_GOLD) if is_sample else options.gold
    baselines = (baseline.partition("=") for baseline in options.baseline)
    return load_bitext(
        SAMPLE_PAIRS if is_sample else options.source,
        options.target,
        gold=gold,
        one_based=options.one_based,
        hypotheses={name: path for name, _, path in baselines} if gold else None,  # scored by the gold links
        limit=options.limit,
        lenient=options.lenient,
    )


def load_reader(
    options: TranslatorOptions, languages: LanguageOptions | None = None, method: str = "cross-attention"
) -> PairReader:
    """Load the model that a method reads sentence pairs with, and refuse options that it has no use for."""
    from ...extractors.translation import PairEncoder, Translator, load_sample_translator

    options.check()
    languages = languages or LanguageOptions()
    if method in ("similarity", "self-attention"):
        if options.model == SAMPLE:
            raise OptionError(f"--method {method} takes an encoder that knows both languages: --model MODEL")
        if languages != LanguageOptions():
            raise OptionError("--source-language, --target-language and --lead are for translation models")
        return PairEncoder(options.load(), "similarity" if method == "similarity" else "self-attention")
    if options.prepend != TranslatorOptions.prepend:
        raise OptionError("--prepend is for encoders and decoders (--method similarity, self-attention)")
    if options.dtype != TranslatorOptions.dtype:
        raise OptionError("--dtype is for encoders and decoders (--method similarity, self-attention)")
    if options.model == SAMPLE:
        return load_sample_translator()
    check_model_name(options.model, SAMPLE)
    return Translator.from_pretrained(
        options.model,
        revision=options.revision,
        device=options.device,
        source_language=languages.source_language,
        target_language=languages.target_language,
        lead=languages.lead or "",
    )

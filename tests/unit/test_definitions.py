"""The numbers in the definitions are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attentionology.analyses.ablation import relations as ablation
from attentionology.analyses.ablation.options import AblationOptions
from attentionology.analyses.ablation.rows import FEWEST_SENTENCES
from attentionology.analyses.alignment import decisions
from attentionology.analyses.clusters import distances, layers
from attentionology.analyses.clusters.options import ClustersOptions
from attentionology.analyses.counting import exact_sums, outcomes, resampling
from attentionology.analyses.explanation.attention import interventions, measures
from attentionology.analyses.explanation.contract import verdict
from attentionology.analyses.explanation.contract.options import ExplanationTestOptions
from attentionology.analyses.explanation.methods import correlation, eraser
from attentionology.analyses.norms import frequency
from attentionology.analyses.norms.options import NormsOptions
from attentionology.analyses.shared.options import CountOptions
from attentionology.analyses.surface import gradients, statistics
from attentionology.analyses.surface.options import ReadingOptions, SurfaceOptions
from attentionology.corpora_loaders import OFFSETS
from attentionology.extractors import DOCUMENT_LENGTH, FLOAT32_NOISE, LONG_WINDOW, get_kind
from attentionology.extractors.inputs import segments
from attentionology.extractors.layers import verification
from attentionology.extractors.maps import gradients as gradient_maps
from attentionology.extractors.model import conditions
from attentionology.extractors.replaceable import attention_patch
from attentionology.probes import TUNED, recipe, training
from attentionology.probes.classifiers import regularizers
from attentionology.probes.classifiers import training as classifier_training

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "definitions"
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def power(base: int, exponent: int) -> str:
    return f"{base}{str(exponent).translate(SUPERSCRIPTS)}"


def scientific(value: float) -> str:
    """A number as the documentation writes it: 2·10⁻⁵, or 10⁻⁴ for 1e-4."""
    mantissa, exponent = f"{value:.1e}".split("e")
    factor = f"{float(mantissa):g}"
    return ("" if factor == "1" else f"{factor}·") + power(10, int(exponent))


def bits(value: int) -> int:
    assert value == 2 ** (value.bit_length() - 1)
    return value.bit_length() - 1


noise, published, fine_tuning = FLOAT32_NOISE, classifier_training.PUBLISHED, classifier_training.FINE_TUNING
reading, explained = ReadingOptions(), ExplanationTestOptions()
PHRASES = [
    ("alignment", f"a relative difference below about {scientific(round(decisions.SAME * noise, 12))}"),
    ("alignment", f"in {['', 'one', 'two'][decisions.ROUNDS]} rounds"),
    ("alignment", f"a word without one is multiplied by {decisions.DISCOUNT}"),
    ("coreference", f"With `--stride 0`, only the first {DOCUMENT_LENGTH} pieces of each document are read"),
    ("coreference", f"in windows of whole words with up to {LONG_WINDOW} pieces"),
    ("coreference", f"of GAP and WinoBias, whose documents are short, up to {LONG_WINDOW}"),
    ("dependency", f"Values whose relative difference is below {scientific(noise)}"),
    ("dependency", f"o from −{-OFFSETS[0]} to +{OFFSETS[-1]} without 0"),
    ("dependency", f"over {CountOptions().replicates:,} bootstrap replicates"),
    ("dependency", f"limits a relation to {power(2, bits(resampling.MOST_DECISIONS))}"),
    ("dependency", f"in {['', *['?'] * 9, 'ten'][outcomes.SPLITS]} ways"),
    ("explanation", f"learning rate {published.learning_rate:g}, {published.batch_size} texts per step"),
    ("explanation", f"{published.epochs} epochs, and weight decay {scientific(published.weight_decay)}"),
    ("explanation", f"`mlm`: {100 * regularizers.MASK_RATE:g} % of the words are masked"),
    ("explanation", f"{regularizers.STRENGTHS['tying']:g} (`mlm`: {regularizers.STRENGTHS['mlm']:g}; `--strength`)"),
    ("explanation", f"learning rate {scientific(fine_tuning.learning_rate)}, {fine_tuning.epochs} epochs"),
    ("explanation", f"gradients clipped at {fine_tuning.clip:g}"),
    ("explanation", f"its original logits within {scientific(attention_patch.TOLERANCE)}"),
    ("explanation", f"p ≤ {correlation.SIGNIFICANT:g}"),
    ("explanation", f"median over {explained.draws} shuffles of α"),
    ("explanation", f"found by Adam ({explained.steps} steps"),
    ("explanation", f"`--epsilon`, {explained.epsilon:g}"),
    ("explanation", f"mean over those of {interventions.DRAWS} orders"),
    ("explanation", f"the best {', '.join(map(str, eraser.PERCENT[1:]))} % of the words"),
    ("explanation", f"less than {scientific(measures.WEIGHTS.relative)} of the larger"),
    ("explanation", f"{scientific(measures.LEFT_OUT.absolute)} for leave-one-out"),
    ("explanation", f"{scientific(measures.GRADIENTS.absolute)} for gradient × input"),
    ("explanation", f"fewer than {verdict.FEWEST} different texts"),
    ("explanation", f"Differences of up to {scientific(verdict.ROUNDING)} in a text"),
    ("files", f"a multiple of {power(2, -bits(exact_sums.SCALE))}"),
    ("files", f"(mean gradients: {power(2, -bits(exact_sums.SCALE * gradients._GRADIENT_UNITS))})"),
    ("files", f"the sums of stretches of up to {distances._RUN} cells"),
    ("files", f"a sum above {power(2, bits(exact_sums.LIMIT // exact_sums.SCALE))}"),
    ("maps", f"with a tolerance of {scientific(verification.ROW_SUM_TOLERANCE)}"),
    ("maps", f"by more than {scientific(conditions.SAME)}"),
    ("maps", f"values closer than {scientific(noise)} (`alti`, `alti-l2`: {scientific(get_kind('alti').noise)}"),
    ("maps", f"`alti-l2`: {scientific(get_kind('alti-l2').noise)}"),
    ("maps", f"`value-zeroing`: {scientific(get_kind('value-zeroing').noise)}"),
    ("maps", f"`attention-x-gradient`: {scientific(get_kind('attention-x-gradient').noise)}"),
    ("norms", f"`--mask-rate` (default {NormsOptions().mask_rate},"),
    ("norms", f"at most {frequency.MOST_TOKENS:,} tokens"),
    ("norms", f"the first {NormsOptions().ff_sentences} sentences (`--ff-sentences`)"),
    ("probes", f"learning rate {TUNED.learning_rate}"),
    ("probes", f"up to {TUNED.epochs} epochs"),
    ("probes", f"decoupled weight decay {scientific(TUNED.weight_decay)}"),
    ("probes", f"stretches of {training._BLOCK:,} sentences"),
    ("probes", f"at least {recipe.FEWEST_STEPS:,} steps"),
    ("surface", f"of {segments.SEGMENT_LENGTH} pieces (`--max-length`)"),
    ("surface", f"above {reading.position_threshold} (`--position-threshold`)"),
    ("surface", f"above {reading.broad_threshold} (`--broad-threshold`)"),
    ("surface", f"above {reading.target_threshold} (`--target-threshold`)"),
    ("surface", f"from −{SurfaceOptions().reach} to +{SurfaceOptions().reach} (`--reach`)"),
    ("surface", f"mixes {statistics.SMOOTHING} of uniform attention"),
    ("surface", f"and {distances.SMOOTHING} before the distances"),
    ("surface", f"masked with probability {gradient_maps.MASK_RATE}"),
    ("surface", f"the first {SurfaceOptions().gradient_sentences} inputs"),
    ("ablation", f"Nothing is concluded from fewer than {FEWEST_SENTENCES} sentences"),
    ("ablation", f"is compared with that of {ablation.PERMUTATIONS:,} random assignments"),
    ("ablation", f"{gradient_maps.MASK_RATE:.0%} of the pieces of words are masked".replace("%", " %")),
    ("ablation", f"with `--ablate {AblationOptions().ablate}` (the default)"),
    ("surface", f"(`--n-clusters`, default {ClustersOptions().n_clusters};"),
    ("surface", f"among {layers.PERMUTATIONS:,} random ones"),
]


@pytest.mark.parametrize(("page", "phrase"), PHRASES)
def test_numbers_are_those_of_the_code(page, phrase):
    assert phrase in re.sub(r"\s+", " ", (FOLDER / f"{page}.md").read_text("utf-8"))

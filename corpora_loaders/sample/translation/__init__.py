"""The sample of the alignment analysis: sentence pairs of made-up languages, gold links, and a translation model.

``benchmarks/sample_translator.py`` makes it from one seed.
"""

from pathlib import Path

PAIRS, GOLD, MODEL = "pairs.txt", "gold.talp", "model"
"""The names of the sample's files and of its folder with the model."""

SAMPLE_PAIRS = Path(__file__).with_name(PAIRS)
"""Path of the sentence pairs, with ``|||`` between source and target."""

SAMPLE_GOLD = Path(__file__).with_name(GOLD)
"""Path of the gold links, counted from 0."""

SAMPLE_TRANSLATOR = Path(__file__).with_name(MODEL)
"""Path of the folder with the translation model."""

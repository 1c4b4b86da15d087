"""A small treebank of our own that comes with the package; see README.md beside it."""

from pathlib import Path

SAMPLE_TREEBANK = Path(__file__).with_name("en_sample.conllu")
"""Path of the CoNLL-U file."""

"""The sample treebank that comes with the package; README.md in this folder describes it."""

from pathlib import Path

SAMPLE_TREEBANK = Path(__file__).with_name("en_sample.conllu")
"""Path of the sample treebank, a CoNLL-U file."""

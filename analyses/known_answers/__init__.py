"""Results that are known in advance, to compare an installation with.

`sample` has the results of the demo model on the sample treebank, `independent` those of other people for BERT.
"""

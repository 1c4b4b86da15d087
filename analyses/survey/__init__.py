"""A survey: the best heads of many models on many treebanks, and how models and kinds of maps differ."""

"""Comparisons of statistics between runs or kinds of maps, for all analyses alike."""

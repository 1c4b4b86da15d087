"""The layout of tables for a terminal."""

WIDE = 130
"""The least number of columns of a terminal that shows tables with intervals."""

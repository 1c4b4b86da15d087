"""What all tables for a terminal share."""

WIDE = 130
"""Columns of a terminal that a table with intervals needs."""

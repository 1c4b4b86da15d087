"""Surveys: a grid of runs, cell by cell."""

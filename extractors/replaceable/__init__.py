"""Classifiers whose attention can be replaced while they read."""

"""Pieces + model → batches of maps, in memory that does not depend on the corpus."""

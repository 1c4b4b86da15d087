"""Minimal pairs: which sentence a model prefers, where heads attend where the two differ, and which heads it needs."""

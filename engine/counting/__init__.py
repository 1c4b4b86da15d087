"""Counting a corpus: plans, passes and their parts, the processes that count them, and the memory that they take."""

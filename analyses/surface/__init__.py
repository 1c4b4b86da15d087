"""The analysis ``surface``: where heads attend by position and class of token, and how broadly."""

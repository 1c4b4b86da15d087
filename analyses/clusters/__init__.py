"""The analysis ``clusters``: which heads attend alike."""

"""The analysis ``dependency``: how often each attention head picks the syntactic head of a word."""

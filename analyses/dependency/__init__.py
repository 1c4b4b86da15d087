"""How often each head picks the syntactic head of a word (Clark et al. 2019, §4.2)."""

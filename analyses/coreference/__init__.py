"""How often each head picks an antecedent of a mention (Clark et al. 2019, §4.3)."""

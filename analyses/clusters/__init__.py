"""Which heads attend alike (Clark et al. 2019, §6)."""

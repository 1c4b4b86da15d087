"""What trained probes read from the attention of all heads together (Clark et al. 2019, §5)."""

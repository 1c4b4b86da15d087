"""Hidden states of words by layer, made in one forward pass with maps, and kept on disk for probes."""

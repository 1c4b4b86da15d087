"""The trainings of a run of probes: what they read, one training on one split, and all of them."""

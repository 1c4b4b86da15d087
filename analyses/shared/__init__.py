"""Modules that several analyses share: options, controls, ensembles, failures, sampled inputs, published numbers."""

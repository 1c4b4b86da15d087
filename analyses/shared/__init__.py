"""Modules that several analyses share: outcomes, best heads, resampling, published numbers."""

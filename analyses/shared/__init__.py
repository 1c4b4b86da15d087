"""What several analyses stand on: outcomes, best heads, resampling, published numbers."""

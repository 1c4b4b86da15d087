"""The analysis ``norms``: what the norms of vectors show that attention weights do not."""

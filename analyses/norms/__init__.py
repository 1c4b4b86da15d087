"""What norms of vectors show that attention weights do not (Kobayashi et al. 2020, 2021, 2024)."""

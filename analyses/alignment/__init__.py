"""Word alignment from the cross-attention of translation models (Kobayashi et al. 2020, §5)."""

"""Words → pieces, and what pieces are: words, special tokens, punctuation, masks, windows."""

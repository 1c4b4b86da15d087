"""What a model reads at once where it is not one sentence: segments of a text, and windows of a document."""

"""Whether the attention of a text classifier can be read as an explanation."""

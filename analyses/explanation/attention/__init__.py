"""Reading the attention of texts, changing it, and measuring what the change does."""

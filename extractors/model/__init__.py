"""A Hugging Face model, found, checked and ready to give its attention."""

"""The tested model and its texts, how they are read and made, and the examination of all texts."""

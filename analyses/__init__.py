"""Maps → mergeable statistics → tables. No files, no model loading."""

"""The kit of pages, figures, tables and run folders. It knows no analysis."""

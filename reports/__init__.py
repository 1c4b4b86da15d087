"""Pages, figures, tables and run folders. This package knows no analysis."""

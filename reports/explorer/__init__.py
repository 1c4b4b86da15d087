"""The data of the explorer, the interactive part of the report, and their form in the page."""

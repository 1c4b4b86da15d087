"""A run: what its analyses found, the data of its explorer, its states on disk, and the folder that it leaves."""

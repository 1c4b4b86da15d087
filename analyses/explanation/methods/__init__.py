"""The explanation tests, one file each."""

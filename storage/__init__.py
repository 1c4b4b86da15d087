"""Files and folders that appear whole or not at all, and cache files that are checked before they are used."""

"""Files and folders that are written completely or not at all, and cache files that are checked before use."""

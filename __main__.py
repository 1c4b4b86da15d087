"""``python -m attentionology`` is the command ``attentionology``."""

import sys

from .scripts.cli import main

if __name__ == "__main__":
    sys.exit(main())

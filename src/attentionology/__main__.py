"""The command ``attentionology``, for interpreters that are started as ``python -m attentionology``."""

import sys

from attentionology.scripts.cli import main

sys.exit(main())

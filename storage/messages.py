"""What the toolkit says beside its results: the logger ``attentionology``.

Nothing is printed unless the program that uses the toolkit asks for it, by ``logging.basicConfig(level="INFO")`` or a
handler. The command line prints what comes from ``MESSAGES``. What comes from ``RUN_MESSAGES``, it shows as progress
bars and with the results.
"""

from __future__ import annotations

import logging

MESSAGES = logging.getLogger("attentionology")
"""Downloads, files that were damaged, and requests to a served page that failed."""

RUN_MESSAGES = MESSAGES.getChild("run")
"""The stages of a run as they begin (INFO), how long each took (DEBUG), and the warnings of its record (WARNING)."""

MESSAGES.addHandler(logging.NullHandler())  # in place of that of Python, which would print warnings

"""Whether a cell of a notebook shows a live page, and what makes it one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ...storage.plugins import locate_class

_CELL = "attentionology.engine.serving.notebook:live_cell"
"""What makes a cell, by its name: a server shows runs, so a run cannot import it. It also takes long to import."""

_ELSEWHERE = (
    *("JUPYTERHUB_SERVICE_PREFIX", "BINDER_SERVICE_HOST", "COLAB_RELEASE_TAG", "KAGGLE_KERNEL_RUN_TYPE", "CODESPACES"),
    *("DATABRICKS_RUNTIME_VERSION", "SSH_CONNECTION", "KUBERNETES_SERVICE_HOST"),
)
"""Variables of the environment that say that the browser is on another machine."""


def is_local_notebook(environment: Mapping[str, str]) -> bool:
    """Whether this is the kernel of a notebook whose browser is on this machine, as far as a kernel can know."""
    if any(environment.get(name) for name in _ELSEWHERE):
        return False
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def live_cells(live: bool | None, run: Any, **given: Any) -> Callable[[str], str | None] | None:
    """Return what makes the live cells of a run, given the address of a view; None if its cells show what is stored."""
    # given: further arguments of `live_cell`.
    if live is False or (live is None and not is_local_notebook(os.environ)):
        return None

    def cell(address: str) -> str | None:
        html: str | None = partial(locate_class(_CELL), run, **given)(address)
        return html

    return cell

"""The settings of Sphinx for the documentation, which ``make docs`` builds without a network."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS.parent / "src")]
os.environ |= {"HF_HUB_OFFLINE": "1", "CHECK_SHAPES": "0", "PYTHONPATH": str(DOCS.parent / "src")}

from docutils import nodes
from jupyter_client import KernelManager
from myst_nb.core import render
from sphinx.domains.python import PyObject

from docs import generate, references

project = "attentionology"
author = copyright = "The attentionology developers"
version = release = generate.version()
language = "en"

extensions = [
    "myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "sphinx_design"
]  # fmt: skip
exclude_patterns = ["_build", "tutorials/data"]
root_doc = "index"
suppress_warnings = ["misc.highlighting_failure", "toc.empty_glob", "toc.glob"]
nitpicky = True
highlight_language = "text"  # most blocks without a language are commands or what they print
OTHERS = (
    "torch numpy np npt pandas pd jaxtyping transformers matplotlib rich tokenizers tyro safetensors markupsafe",
    "collections contextlib typing pathlib dataclasses types enum abc functools itertools argparse",
    "Tensor Int Float Bool Array Module Metric DataFrame Series Path Any Callable Iterable Iterator Sequence Mapping",
    "RenderableType Figure Markup ndarray random print True False None str int float bool bytes list dict set tuple",
    "object",
)
nitpick_ignore_regex = [
    ("py:.*", rf"({'|'.join(' '.join(OTHERS).split())})\b.*"),
    ("py:.*", r"[A-Z]\w*Error|Exception|'.*'"),
]

# Names in single backticks are references to Python objects.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
autodoc_inherit_docstrings = False
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "tasklist"]
myst_heading_anchors = 3
myst_all_links_external = False

# Tutorials are executed when the site is built, with the demo model.
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
logging.getLogger("traitlets").setLevel(logging.WARNING)
if hasattr(KernelManager, "transport_encryption"):  # since 8.9; without it, kernels warn that others could listen
    KernelManager.transport_encryption.default_value = "auto"

html_theme = "furo"
html_title = f"attentionology {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True


def join_streams(outputs: list[Any]) -> list[Any]:
    """Join what a cell prints, as it was printed.

    A program in a cell prints in pieces of some bytes. MyST-NB puts each of them on a line of its own.
    """
    joined: list[Any] = []
    for output in outputs:
        before = joined[-1] if joined else {}
        if output["output_type"] == "stream" == before.get("output_type") and output["name"] == before["name"]:
            before["text"] += output["text"]
        else:
            joined.append(output)
    return joined


render.coalesce_streams = join_streams

WIDE, WIDER = 80, 132
"""Columns that fit into a column of text in letters of the usual size, and those of the tables of a wide terminal."""


def mark_wide(app: Any, doctree: Any) -> None:
    """Mark tables of a terminal that are wider than the text, so that the style sheet can make them fit."""
    for block in doctree.findall(nodes.literal_block):
        columns = sorted(map(len, block.astext().splitlines()))
        if len(columns) > 3 and columns[-3] > WIDE:  # commands have a long line or two
            block["classes"].append("wider" if columns[-1] > WIDER else "wide")


def setup(app: Any) -> None:
    """Add what is generated from the source code to the pages."""
    for field in PyObject.doc_field_types:
        if field.name == "variable":  # the attributes in a docstring are no references to others of the same names
            field.rolename, field.label = "", "Attributes"
    app.connect("source-read", generate.complete)
    app.connect("doctree-read", mark_wide)
    app.connect("autodoc-process-docstring", references.split_attributes, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", references.skip_of_scikit_learn)
    app.connect("missing-reference", references.resolve)

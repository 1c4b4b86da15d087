"""Makes the notebooks in ``examples`` from tutorials: the same cells, executed, without those that the site hides.

Run it in the environment of the documentation after a change of one of these tutorials::

    python -m docs.notebooks
"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
TUTORIALS = REPOSITORY / "docs" / "tutorials"
EXAMPLES = REPOSITORY / "examples"
NAMES = ("first-run", "one-head", "weights-or-norms")
"""The tutorials that become notebooks."""

HIDDEN = "remove-cell"
"""The tag of cells that prepare the build or check its numbers. They are executed, but they are not in the notebook."""

_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n((?::[^\n]*\n)*)\n?(.*?)^```$", re.MULTILINE | re.DOTALL)
_FRONT = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\(([\w./-]+\.md)\)")


@dataclass(frozen=True)
class Cell:
    """A cell of a tutorial.

    Attributes:
        code: whether it is code; otherwise it is text.
        source: the code or the text.
        hidden: whether the site leaves it out.
    """

    code: bool
    source: str
    hidden: bool = False


def cells_of(text: str) -> list[Cell]:
    """Return the cells of a tutorial in MyST Markdown.

    Example:
        >>> cells_of("# Title\\n\\n```{code-cell} python3\\n1 + 1\\n```\\n")
        [Cell(code=False, source='# Title', hidden=False), Cell(code=True, source='1 + 1', hidden=False)]
    """
    text = _FRONT.sub("", text)
    cells, end = [], 0
    for match in _CELL.finditer(text):
        cells += [Cell(False, text[end : match.start()].strip()), Cell(True, match[2].strip(), HIDDEN in match[1])]
        end = match.end()
    cells.append(Cell(False, text[end:].strip()))
    return [cell for cell in cells if cell.source]


def link_pages(text: str) -> str:
    """Return text with links that work from ``examples``, each with the title of the page if it has no words."""

    def link(match: re.Match[str]) -> str:
        target = (TUTORIALS / match[2]).resolve()
        title = match[1] or target.read_text(encoding="utf-8").partition("\n# ")[2].partition("\n")[0]
        if not title:
            title = target.read_text(encoding="utf-8").partition("# ")[2].partition("\n")[0]
        return f"[{title}](../{target.relative_to(REPOSITORY).as_posix()})"

    return _LINK.sub(link, text)


def execute(cells: list[Cell], folder: Path) -> list[dict[str, Any]]:
    """Execute the code in a folder, and return the cells in the form of notebook files, hidden ones included."""
    # Imported by name because they belong to the extra 'docs', which type checkers need not have.
    nbclient, nbformat = import_module("nbclient"), import_module("nbformat")
    v4 = import_module("nbformat.v4")
    notebook = v4.new_notebook()
    for number, cell in enumerate(cells):
        made = v4.new_code_cell(cell.source) if cell.code else v4.new_markdown_cell(link_pages(cell.source))
        made["id"] = f"cell-{number}"
        notebook.cells.append(made)
    options: dict[str, Any] = {"timeout": 300, "kernel_name": "python3", "record_timing": False}
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}, **options).execute()
    for cell in notebook.cells:
        cell["metadata"] = {}
        if "outputs" in cell:
            cell["outputs"] = merge_outputs(cell["outputs"])
    nbformat.validate(notebook)
    written: list[dict[str, Any]] = json.loads(nbformat.writes(notebook))["cells"]
    return written


def merge_outputs(outputs: list[Any]) -> list[Any]:
    """Outputs in which consecutive pieces of one stream are one output."""
    result: list[Any] = []
    for output in outputs:
        last = result[-1] if result else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            result.append(output)
    return result


def main() -> None:
    """Write all notebooks."""
    for name in NAMES:
        cells = cells_of((TUTORIALS / f"{name}.md").read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            made = execute(cells, Path(folder))
        shown = [written for cell, written in zip(cells, made, strict=True) if not cell.hidden]
        count = 0
        for written in shown:
            if written["cell_type"] == "code":
                count += 1
                written["execution_count"] = count
                for output in written["outputs"]:
                    if "execution_count" in output:
                        output["execution_count"] = count
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        notebook = {"cells": shown, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        (EXAMPLES / f"{name}.ipynb").write_text(text, encoding="utf-8")
        print(EXAMPLES / f"{name}.ipynb", f"{len(text):,} characters")


if __name__ == "__main__":
    main()

"""Links the packages into ``src/attentionology``, where Python finds them under their import names.

The packages are folders at the top level of the repository, and git holds no links. They are made by an editable
installation, which is what ``make`` sets up. In a worktree that is not installed but put on the import path, run::

    python hatch_build.py
"""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LinkPackages(BuildHookInterface):  # type: ignore[type-arg]
    """Links the packages for an editable installation. Other wheels are made of the folders themselves."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the links if the wheel is an editable one."""
        if version == "editable":
            link_packages(Path(self.root))


def link_packages(repository: Path) -> None:
    """Make a link for everything that a wheel is made of, unless it is there.

    One link to the whole repository would be a circle, which programs that follow links would walk around.
    """
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    folder = repository / "src" / "attentionology"
    folder.mkdir(parents=True, exist_ok=True)
    for name in project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]:
        link, target = folder / name, repository / name
        if link.exists() and link.samefile(target):
            continue
        link.unlink(missing_ok=True)
        try:
            link.symlink_to(Path("..", "..", name), target_is_directory=target.is_dir())
        except OSError:
            if sys.platform != "win32":
                raise
            # Few users of Windows may make symbolic links, but everybody may make junctions and hard links.
            if target.is_dir():
                import _winapi

                _winapi.CreateJunction(str(target), str(link))
            else:
                os.link(target, link)


if __name__ == "__main__":
    link_packages(Path(__file__).resolve().parent)

"""Tables by their names of today, which are those of their files, and by those of version 0.2."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class FormerTables(dict[str, "pd.DataFrame"]):
    """Tables by name. Their names of version 0.2, as keys and as attributes, are deprecated until 0.4."""

    def __init__(self, tables: Mapping[str, pd.DataFrame], former: Mapping[str, str]) -> None:
        super().__init__(tables)
        self._former = {old: new for old, new in former.items() if new in tables and old not in tables}

    def __missing__(self, name: str, stacklevel: int = 2) -> pd.DataFrame:
        if name not in self._former:
            raise KeyError(name)
        new = self._former[name]
        warnings.warn(f"the table {name!r} is now called {new!r}", DeprecationWarning, stacklevel=stacklevel)
        return self[new]

    def __getattr__(self, name: str) -> pd.DataFrame:
        if name.startswith("_") or name not in self._former:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.__missing__(name, stacklevel=3)

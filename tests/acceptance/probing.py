"""What the tests of ``attentionology probe`` have in common."""

from __future__ import annotations

import pandas as pd

from attentionology.scripts.cli import main


def run(*arguments):
    return main(["probe", *map(str, arguments)])


def table(folder, name="probe"):
    return pd.read_csv(folder / "tables" / f"{name}.csv")

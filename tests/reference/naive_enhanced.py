"""A recount of enhanced dependencies: the column DEPS, read by a parser of its own, one word and head at a time."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pandas as pd


def recount(
    text: str, maps: list[np.ndarray], *, coarse: bool = False, unions: tuple[tuple[str, tuple[str, ...]], ...] = ()
) -> tuple[Counter[Any], Counter[str], Counter[Any]]:
    """Right words by (row, direction, layer, head), words by row, and right words by (row, offset)."""
    right: Counter[Any] = Counter()
    total: Counter[str] = Counter()
    by_offset: Counter[Any] = Counter()
    for block, of_sentence in zip(text.strip().split("\n\n"), maps, strict=True):
        rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
        cells = [row[8] for row in rows if row[0].isdigit()]
        for place, cell in enumerate(cells):
            gold: dict[str, set[int]] = defaultdict(set)
            for dependency in cell.split("|") if cell != "_" else []:
                head, name = dependency.split(":", 1)
                if "." in head or head == "0":
                    continue
                relation = name.split(":")[0] if coarse else name
                wholes = ["all"] if relation == "punct" else ["all", "all-nopunct", "all-nopunct-noroot"]
                for row in [relation, *wholes, *(union for union, members in unions if relation in members)]:
                    gold[row].add(int(head) - 1)
            total.update(gold.keys())
            for row, heads in gold.items():
                for offset in (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5):
                    by_offset[row, offset] += min(max(place + offset, 0), len(cells) - 1) in heads
                for layer, head in np.ndindex(of_sentence.shape[:2]):
                    words = of_sentence[layer, head, 1:-1, 1:-1]
                    for direction, values in (("dep->head", words[place]), ("head->dep", words[:, place])):
                        others = [(values[other], -other) for other in range(len(cells)) if other != place]
                        right[row, direction, layer + 1, head + 1] += -max(others)[1] in heads
    return right, total, by_offset


def assert_equal(best: pd.DataFrame, cells: pd.DataFrame, expected: tuple[Counter[Any], Counter[str], Counter[Any]]):
    right, total, by_offset = expected
    assert dict(zip(best["relation"], best["total"], strict=True)) == dict(total)
    keys = zip(cells["relation"], cells["direction"], cells["layer"], cells["head"], strict=True)
    assert dict(zip(keys, cells["correct"], strict=True)) == dict(right)
    for row in best.to_dict("records"):
        of_row = {offset: count for (name, offset), count in by_offset.items() if name == row["relation"]}
        assert (row["offset_correct"], row["offset"]) == max((count, offset) for offset, count in of_row.items())

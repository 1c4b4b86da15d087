"""Digests of results: equal for runs that differ in nothing but their times, different for different results."""

from __future__ import annotations

import json

import pytest

from tests.golden import differences, digest

RECORD = {
    "command": "attentionology analyze",
    "started": "10:00",
    "finished": "10:01",
    "seconds": {"count": 1.5},
    "seed": 0,
}
LATER = {**RECORD, "started": "11:00", "finished": "11:02", "seconds": {"count": 2.5}}
FILES = {
    "run.json": lambda record, seal: record,
    "summary.json": lambda record, seal: {"run": record, "dependency_best": []},
    "states/run.json": lambda record, seal: {"seal": seal, "format": 5, "record": record},
}


def digests(folder, record, seal):
    written = {}
    for name, content in FILES.items():
        path = folder / seal / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content(record, seal)), encoding="utf-8")
        written[name] = digest(path)
    return written


def test_runs_that_differ_in_their_times_are_equal(tmp_path):
    assert differences(digests(tmp_path, RECORD, "a"), digests(tmp_path, LATER, "b")) == []


@pytest.mark.parametrize("change", [{"seed": 1}, {"warnings": ["few texts"]}])
def test_every_other_field_counts(tmp_path, change):
    changed = digests(tmp_path, {**LATER, **change}, "b")
    assert differences(digests(tmp_path, RECORD, "a"), changed) == [f"{name}: changed" for name in sorted(FILES)]

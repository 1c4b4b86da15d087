"""Stores of small parts, so that ten sentences take several."""

from __future__ import annotations

import pytest

from attentionology.extractors.maps import store_writer as module


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(module, "WINDOW", 4)
    monkeypatch.setattr(module, "_SHARD_BYTES", 3000)

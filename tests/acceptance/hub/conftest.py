"""One Hub for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.hub.session import Hub


@pytest.fixture(scope="session")
def hub(tmp_path_factory) -> Iterator[Hub]:
    running = Hub(tmp_path_factory.mktemp("home"))
    yield running
    running.mirror.shutdown()

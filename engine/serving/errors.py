"""Why a request is not met: a sentence for the person at the page, and the status of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...storage.errors import AttentionologyError


class RequestError(AttentionologyError):
    """A request that cannot be met; the message says what to do."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class ChangedError(RequestError):
    """A change of something that has changed meanwhile; the answer has what it is now."""

    def __init__(self, message: str, now: Mapping[str, Any]) -> None:
        super().__init__(message, 409)
        self.now = dict(now)


class StaleError(RequestError):
    """A request that a newer one of the same slot has replaced."""

    def __init__(self) -> None:
        super().__init__("A newer request of this slot has replaced this one.", 409)

"""The checks of types and shapes while the tests run: what they refuse is what jaxtyping and beartype refuse."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from jaxtyping import TypeCheckError, jaxtyped

from tests.shapes import check_shapes, checked, checked_by_jaxtyping

MODULE = """
from __future__ import annotations
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from jaxtyping import Float, Int
from torch import Tensor
if TYPE_CHECKING:
    from nowhere import Unknown

Square = Float[Tensor, "n n"]

def product(a: Float[Tensor, "m k"], b: Float[Tensor, "k n"], *, wrong: bool = False) -> Float[Tensor, "m n"]:
    return b.T @ a.T if wrong else a @ b

def first(n: int, square: Square | None = None) -> Float[Tensor, "{n}"]:
    from torch import zeros
    return zeros(n) if square is None else square[0]

def named(text: str, unknown: Unknown = None, *, times: int = 2) -> list[str]:
    return [text] * times if times >= 0 else text

def each(values: list[Float[Tensor, "n"]]) -> Iterator[float]:
    yield from (float(value.sum()) for value in values)

@dataclass(frozen=True)
class Pair:
    left: Float[Tensor, "n"]
    right: Float[Tensor, "n"]
    name: str = ""

    @property
    def both(self) -> Float[Tensor, "2 n"]:
        from torch import stack
        return stack([self.left, self.right])

    @classmethod
    def same(cls, of: Float[Tensor, "n"]) -> Pair:
        return cls(of, of)
"""
ZEROS = torch.zeros
RIGHT: list[Callable[[Any], Any]] = [
    lambda m: m.product(ZEROS(2, 3), ZEROS(3, 4)),
    lambda m: m.product(ZEROS(2, 3), b=ZEROS(3, 2), wrong=True),  # by chance of the same shape
    lambda m: m.first(3),
    lambda m: m.first(3, ZEROS(3, 3)),
    lambda m: m.named("a", unknown=7),
    lambda m: list(m.each([ZEROS(2), ZEROS(2)])),
    lambda m: m.Pair(ZEROS(2), ZEROS(2)).both,
    lambda m: m.Pair.same(ZEROS(3)).both,
]
WRONG: list[Callable[[Any], Any]] = [
    lambda m: m.product(ZEROS(2, 3), ZEROS(2, 3)),
    lambda m: m.product(ZEROS(2, 3), ZEROS(3, 4), wrong=True),
    lambda m: m.product(ZEROS(2, 3), ZEROS(3, 4).int()),
    lambda m: m.product(ZEROS(2, 3), ZEROS(3, 4), wrong=1),
    lambda m: m.first(3, ZEROS(4, 4)),
    lambda m: m.first(4, ZEROS(4, 3)),
    lambda m: m.named(1),
    lambda m: m.named("a", times=-1),
    lambda m: list(m.each([ZEROS(2), ZEROS(3)])),
    lambda m: m.Pair(ZEROS(2), ZEROS(3)),
    lambda m: m.Pair(ZEROS(2), ZEROS(2), name=None),
    lambda m: m.Pair.same([1.0]),
]


@pytest.fixture(params=["tests", "jaxtyping"])
def module(request, tmp_path, monkeypatch):
    """The module above, with these checks, and with those of jaxtyping."""
    (tmp_path / "annotated.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "annotated", raising=False)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr("jaxtyping.jaxtyped", jaxtyped)
    check_shapes(["annotated"])
    if request.param == "jaxtyping":
        monkeypatch.setattr("jaxtyping.jaxtyped", lambda *, typechecker: checked_by_jaxtyping)
    import annotated  # type: ignore[import-not-found]

    return annotated


@pytest.mark.parametrize("call", RIGHT)
def test_what_fits_is_as_it_was(call, module):
    call(module)


@pytest.mark.parametrize("call", WRONG)
def test_what_does_not_fit_is_refused(call, module):
    with pytest.raises(TypeCheckError):
        call(module)


def test_a_function_is_still_what_it_was():
    def function(a: int, *, b: str = "x") -> int:
        """Its docstring."""
        return a + len(b)

    wrapper = checked(function)
    assert (wrapper.__name__, wrapper.__doc__, wrapper.__wrapped__) == ("function", "Its docstring.", function)
    assert wrapper(1) == 2
    assert function.__kwdefaults__ is not None
    function.__kwdefaults__["b"] = "xx"  # as some tests change defaults
    assert wrapper(1) == 3

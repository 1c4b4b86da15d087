"""The list of faults fits the code: every piece occurs once, and every test exists."""

from __future__ import annotations

import re

import pytest

from tests.documentation import REPOSITORY
from tests.faults import FAULTS, Fault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.path}: {fault.old}")
def test_a_fault_fits_the_code(fault):
    source = (REPOSITORY / fault.path).read_text("utf-8")
    assert fault.planted_in(source) != source
    path, _, name = fault.test.partition("::")
    assert re.search(
        rf"^def {re.escape(name.partition('[')[0])}\(", (REPOSITORY / path).read_text("utf-8"), re.MULTILINE
    )


def test_a_piece_that_does_not_occur_once_is_refused():
    fault = Fault("a.py", "b", "c", "tests/x.py::test_y")
    assert fault.planted_in("a b") == "a c"
    for source in ("b b", "a"):
        with pytest.raises(ValueError, match="times"):
            fault.planted_in(source)

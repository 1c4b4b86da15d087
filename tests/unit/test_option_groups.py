"""All option groups that a call can be given fit one protocol."""

from __future__ import annotations

import inspect

import pytest

import attentionology
from attentionology import CorpusOptions, CountOptions, LimitOptions, OptionError, PartOptions
from attentionology.analyses.contract import OptionGroup

GROUPS = [name for name in attentionology.__all__ if name.endswith("Options")]


@pytest.mark.parametrize("name", GROUPS)
def test_groups_are_checked_without_arguments(name):
    kind = getattr(attentionology, name)
    required = [
        parameter.name
        for parameter in inspect.signature(kind().check).parameters.values()
        if parameter.default is inspect.Parameter.empty
    ]
    assert required == []
    kind().check()


def test_the_groups_of_a_call_have_one_type():
    groups: list[OptionGroup] = [CorpusOptions(limit=0), CountOptions(), LimitOptions(), PartOptions()]
    with pytest.raises(OptionError, match="--limit"):
        groups[0].check()

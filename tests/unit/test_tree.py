import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentionology.corpora_loaders.tree import depths


@st.composite
def forests(draw):
    """Heads without cycles: in a random order, each word hangs from an earlier one or has head 0 or None."""
    order = draw(st.permutations(range(1, draw(st.integers(1, 12)) + 1)))
    heads = [0] * len(order)
    for position, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, None, *order[:position]]))
    return heads


def naive_depth(heads, word):
    head = heads[word - 1]
    return 0 if head in (0, None) else 1 + naive_depth(heads, head)


def climb(heads, word):
    """The words met on the way up, at most as many steps as there are words."""
    met = [word]
    for _ in heads:
        head = heads[met[-1] - 1]
        if not head:
            break
        met.append(head)
    return met


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ([2, 0, 2], [1, 0, 1]),
        ([0, 1, 2, 3], [0, 1, 2, 3]),
        ([3, 4, 4, 0], [2, 1, 1, 0]),
        ([None, 1, 0, 3], [0, 1, 0, 1]),
        ([], []),
    ],
)
def test_worked_examples(heads, expected):
    assert depths(heads) == expected


@given(forests())
def test_depths_are_those_of_the_definition(heads):
    assert depths(heads) == [naive_depth(heads, word) for word in range(1, len(heads) + 1)]


def test_a_chain_of_any_length_is_climbed():
    length = 5000
    assert depths([*range(2, length + 1), 0]) == list(reversed(range(length)))


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.none() | st.integers(0, n), min_size=n, max_size=n)))
def test_exactly_the_cycles_are_refused(heads):
    cyclic = any(len(climb(heads, word)) > len(heads) for word in range(1, len(heads) + 1))
    if not cyclic:
        assert len(depths(heads)) == len(heads)
        return
    with pytest.raises(ValueError, match="cycle") as caught:
        depths(heads)
    cycle = [int(number) for number in re.findall(r"\d+", str(caught.value))]
    assert cycle[0] == cycle[-1]
    assert [heads[word - 1] for word in cycle[:-1]] == cycle[1:]
    assert len(set(cycle)) == len(cycle) - 1

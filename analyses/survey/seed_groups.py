"""Which models of a survey differ only by the seed of their training.

The models of a group are named by a pattern with one ``*``, which stands for the seed, such as ``seed_*-step_20k``. The
seed of a model is what the ``*`` stands for, so that models of two groups that have it in common can be paired.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..option_groups import OptionError

_SEED = re.compile(r"seed[-_=]?(\d+)", re.IGNORECASE)


def seed_groups(models: Sequence[str], patterns: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the models of each group by their seeds, in the order of the models.

    Without patterns, models are seeds of one another if their names differ only in the number after ``seed``. Groups of
    one model are left out.

    Args:
        models: the names of the models.
        patterns: the pattern of each group, by the name of the group.

    Example:
        >>> models = ["hub/bert-seed_0", "hub/bert-seed_1", "hub/roberta"]
        >>> seed_groups(models, {})
        {'hub/bert-seed_*': {'0': 'hub/bert-seed_0', '1': 'hub/bert-seed_1'}}
        >>> seed_groups(["runs/a1", "runs/a2"], {"small": "a*"})
        {'small': {'1': 'runs/a1', '2': 'runs/a2'}}
    """
    groups: dict[str, dict[str, str]] = {}
    for model in models:
        for group, seed in _memberships(model, patterns):
            groups.setdefault(group, {}).setdefault(seed, model)
    return {name: by_seed for name, by_seed in groups.items() if len(by_seed) > 1}


def seed_patterns(texts: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """Return the patterns of ``NAME=PATTERN`` by their names.

    Raises:
        OptionError: a text is not of this form, a pattern does not stand for two models or more, a model belongs to two
            groups, or two models of a group have one seed.
    """
    patterns: dict[str, str] = {}
    for text in texts:
        name, _, pattern = text.partition("=")
        if not name or pattern.count("*") != 1 or name in patterns:
            raise OptionError(
                f"--seeds takes different names, each with a pattern that has one * (small=runs/small-*), not {text!r}"
            )
        patterns[name] = pattern
    groups = seed_groups(models, patterns)
    for name, pattern in patterns.items():
        if name not in groups:
            raise OptionError(
                f"--seeds {name}={pattern}: fewer than two of the models have such a name, in which * stands for "
                f"letters and digits: {', '.join(models)}"
            )
    for model in models:
        memberships = _memberships(model, patterns)
        if len(memberships) > 1:
            raise OptionError(f"--seeds: {model} is one of {memberships[0][0]} and one of {memberships[1][0]}")
        for name, seed in memberships:
            if (other := groups[name][seed]) != model:
                raise OptionError(f"--seeds {name}={patterns[name]}: {other} and {model} have the same seed, {seed}")
    return patterns


def _memberships(model: str, patterns: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the groups that a model belongs to, each with its seed."""
    if not patterns:
        *_, last = [None, *_SEED.finditer(model)]
        return [] if last is None else [(f"{model[: last.start(1)]}*{model[last.end(1) :]}", last.group(1))]
    found = []
    for name, pattern in patterns.items():
        before, _, after = pattern.partition("*")
        # A folder may be given by a longer path, as ./runs/a1 is runs/a1.
        if match := re.fullmatch(rf"(?:.*/)?{re.escape(before)}([^\W_]+){re.escape(after)}/?", model):
            found.append((name, match.group(1)))
    return found

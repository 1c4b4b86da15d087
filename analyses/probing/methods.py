"""The methods that one table compares: baselines, probes, and probes on random weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...probes import FixedOffset, HeadPredictor, RelationOffset, SingleHead, registered_probes
from ...probes.registry import BUILTIN

BASELINES: dict[str, Callable[[], HeadPredictor]] = {
    "right-branching": lambda: FixedOffset(1),
    "best offset": FixedOffset,
    "best offset of the gold relation": RelationOffset,
    "best single head": SingleHead,
}
"""The baselines, in the order of the table."""

RANDOM = ", random weights"
"""What is appended to the name of a probe that is trained on copies of the model with random weights."""

_CONTRASTS = (
    ("attention", "best offset"),
    ("attention", "best single head"),
    ("attention", f"attention{RANDOM}"),
    ("attention+words", "attention"),
    ("attention+words", "words+distances"),
    ("attention+words", f"attention+words{RANDOM}"),
)

_MEANINGS = {
    "right-branching": "always the next word",
    "best offset": "always the same number of words to one side; the number is chosen on the training sentences",
    "best offset of the gold relation": "the same, chosen for each relation. This baseline is not a parser, "
    "because it needs the gold relation of every word. No parser that knows only distances can score higher",
    "best single head": "the word that one attention head points to most; head and direction chosen on the training "
    "sentences",
}


def contrasts(methods: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of methods whose difference is worth an interval: what a probe adds to something simpler."""
    # A probe that is not of the toolkit is compared with the attention probe and with itself on random weights.
    names = dict.fromkeys(methods)
    pairs = list(_CONTRASTS)
    for name in names:
        if name in registered_probes() and name not in BUILTIN:
            pairs += [(name, "attention"), (name, f"{name}{RANDOM}")]
    return [(first, second) for first, second in pairs if first in names and second in names]


def meaning(method: str) -> str:
    """Return what a method is, as a phrase for a reader; empty if it is not known."""
    if method.endswith(RANDOM):
        return "the same on a network with random weights and the trained embeddings"
    probe = registered_probes().get(method)
    return _MEANINGS.get(method, "") if probe is None else probe.meaning

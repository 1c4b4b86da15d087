"""Baselines of antecedent selection: simple rules (Clark et al. 2019, Table 2) and chance.

All baselines choose among the same candidates as the heads do under the policy ``preceding``, and are right under the
same condition. If several mentions fit a rule, the nearest is taken. Among candidates before the mention this is the
last one in the text. Among candidates on both sides, as questions have them, it is the one whose head word is the
fewest words away, and of two such candidates the earlier one.
"""

from __future__ import annotations

import hashlib

from ...corpora_loaders.coreference import Document, Mention
from .agreement import Traits, agree
from .choices import Choice

BASELINES = ("nearest", "head match", "rule-based", "random")
"""The names of the baselines. ``nearest`` picks the nearest candidate. ``head match`` picks the nearest one with the
same head word in any case, and is wrong if there is none. ``rule-based`` picks the nearest one that passes the first of
four sieves which any candidate passes: the same words; the same head word; agreement in number, gender and person; no
condition. ``random`` picks a candidate by a hash of the document, the mention and the seed."""


def column_name(method: str) -> str:
    """Return the name of a baseline in the names of columns.

    Example:
        >>> column_name("rule-based")
        'rule_based'
    """
    return method.replace(" ", "_").replace("-", "_")


def baseline_hits(document: Document, choice: Choice, traits: dict[Mention, Traits], seed: int) -> list[bool]:
    """Return whether each of `BASELINES` picks an antecedent."""
    ordered = _nearest_first(document, choice)
    anaphor = choice.mention

    form, head = _form(document, anaphor), _head_form(document, anaphor)
    same_form = [candidate for candidate in ordered if _form(document, candidate) == form]
    same_head = [candidate for candidate in ordered if _head_form(document, candidate) == head]
    agreeing = [candidate for candidate in ordered if agree(traits[candidate], traits[anaphor])]
    key = f"{document.id} {anaphor.start} {anaphor.stop} {anaphor.entity}".encode()
    number = int.from_bytes(hashlib.blake2b(key, digest_size=8, key=seed.to_bytes(8, "little")).digest(), "little")
    in_text_order = choice.before
    picked = (
        ordered[0],
        next(iter(same_head), None),
        (same_form or same_head or agreeing or ordered)[0],
        in_text_order[number % len(in_text_order)],
    )
    return [candidate is not None and candidate.head in choice.gold for candidate in picked]


def _form(document: Document, mention: Mention) -> list[str]:
    return [document.words[word].casefold() for word in mention.words]


def _head_form(document: Document, mention: Mention) -> str:
    assert mention.head is not None  # noqa: S101  # candidates have words
    return document.words[mention.head].casefold()


def _nearest_first(document: Document, choice: Choice) -> list[Mention]:
    if document.questions is None:
        return list(reversed(choice.before))
    return sorted(choice.before, key=lambda candidate: (abs((candidate.head or 0) - choice.head), candidate.start))

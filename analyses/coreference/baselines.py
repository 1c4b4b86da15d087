"""What simple rules pick as antecedent (Clark et al. 2019, Table 2), and what chance does.

All choose among the same candidates as the heads do under the policy ``preceding``, and are right under the same
condition. Of several mentions that fit, the nearest is taken: the last in the text of those before the mention; of
candidates on both sides (questions), the one whose head word is fewest words away, of two the earlier.
"""

from __future__ import annotations

import hashlib

from attentionology.analyses.coreference.agreement import Traits, agree
from attentionology.analyses.coreference.choices import Choice
from attentionology.corpora_loaders.coreference import Document, Mention

BASELINES = ("nearest", "head match", "rule-based", "random")
"""nearest: the nearest candidate. head match: the nearest with the same head word (case aside); if there is none, the
baseline is wrong. rule-based: the nearest of the first of four sieves that lets any through: the same words; the same
head word; agreement in number, gender and person; all. random: any, by a hash of document, mention and seed."""


def column_name(method: str) -> str:
    """What a baseline is called at the head of a column."""
    return method.replace(" ", "_").replace("-", "_")


def baseline_hits(document: Document, choice: Choice, traits: dict[Mention, Traits], seed: int) -> list[bool]:
    """Whether each of `BASELINES` picks an antecedent."""
    ordered = _nearest_first(document, choice)
    mention = choice.mention

    def form(one: Mention) -> list[str]:
        return [document.words[word].casefold() for word in one.words]

    def head(one: Mention) -> str:
        assert one.head is not None  # noqa: S101  # candidates have words
        return document.words[one.head].casefold()

    same_form = [one for one in ordered if form(one) == form(mention)]
    same_head = [one for one in ordered if head(one) == head(mention)]
    agreeing = [one for one in ordered if agree(traits[one], traits[mention])]
    key = f"{document.id} {mention.start} {mention.stop} {mention.entity}".encode()
    drawn = int.from_bytes(hashlib.blake2b(key, digest_size=8, key=seed.to_bytes(8, "little")).digest(), "little")
    in_text_order = choice.before
    picked = (
        ordered[0],
        next(iter(same_head), None),
        (same_form or same_head or agreeing or ordered)[0],
        in_text_order[drawn % len(in_text_order)],
    )
    return [one is not None and one.head in choice.gold for one in picked]


def _nearest_first(document: Document, choice: Choice) -> list[Mention]:
    if document.questions is None:
        return list(reversed(choice.before))
    return sorted(choice.before, key=lambda one: (abs((one.head or 0) - choice.head), one.start))

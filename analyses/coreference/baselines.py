"""Baselines of antecedent selection: simple rules (Clark et al. 2019, Table 2) and chance.

All baselines choose among the same candidates as the heads do under the policy ``preceding``, and are right under the
same condition. If several mentions fit a rule, the nearest is taken. Among candidates before the mention this is the
last one in the text. Among candidates on both sides, as questions have them, it is the one whose head word is the
fewest words away, and of two such candidates the earlier one.

The rules compare number, gender and person. In documents with features these are those of the head word (UD
``Number``, ``Gender``, ``Person``). Documents without features are taken to be English: there they come from a lexicon
of pronouns, from a lexicon of titles before the head (`corpora_loaders.coreference.english`), and from the Penn
Treebank tag (NNS and NNPS are plural, NN and NNP singular). Mentions that are not pronouns are third person. An unknown
value agrees with every value.
"""

from __future__ import annotations

import hashlib

from ...corpora_loaders.coreference import PRONOUNS, TITLES, Document, Mention
from ...corpora_loaders.documents import Documents
from .choices import Choice

BASELINES = ("nearest", "head match", "rule-based", "random")
"""The names of the baselines. ``nearest`` picks the nearest candidate. ``head match`` picks the nearest one with the
same head word in any case, and is wrong if there is none. ``rule-based`` picks the nearest one that passes the first of
four sieves which any candidate passes: the same words; the same head word; agreement in number, gender and person; no
condition. ``random`` picks a candidate by a hash of the document, the mention and the seed."""

Traits = tuple[str, str, str]
"""Number, gender and person of a mention, each empty if it is unknown."""

_NUMBER_BY_TAG = {"NN": "Sing", "NNP": "Sing", "NNS": "Plur", "NNPS": "Plur"}


def column_name(method: str) -> str:
    """Return the name of a baseline in the names of columns, such as ``rule_based``."""
    return method.replace(" ", "_").replace("-", "_")


def baseline_picks(
    document: Document, choice: Choice, by_mention: dict[Mention, Traits], seed: int
) -> tuple[Mention | None, ...]:
    """Return the candidate that each of `BASELINES` picks, None if it picks none."""
    ordered = nearest_first(document, choice)
    anaphor = choice.mention
    form, head = _form(document, anaphor), _head_form(document, anaphor)
    same_form = [candidate for candidate in ordered if _form(document, candidate) == form]
    same_head = [candidate for candidate in ordered if _head_form(document, candidate) == head]
    agreeing = [candidate for candidate in ordered if agree(by_mention[candidate], by_mention[anaphor])]

    # The random candidate depends on nothing but the mention and the seed.
    key = f"{document.id} {anaphor.start} {anaphor.stop} {anaphor.entity}".encode()
    digest = hashlib.blake2b(key, digest_size=8, key=seed.to_bytes(8, "little")).digest()
    random_number = int.from_bytes(digest, "little")
    return (  # in the order of `BASELINES`
        ordered[0],
        next(iter(same_head), None),
        (same_form or same_head or agreeing or ordered)[0],
        choice.before[random_number % len(choice.before)],
    )


def _form(document: Document, mention: Mention) -> list[str]:
    """Return the words of a mention in lower case."""
    return [document.words[word].casefold() for word in mention.words]


def _head_form(document: Document, mention: Mention) -> str:
    assert mention.head is not None  # noqa: S101  # candidates have words
    return document.words[mention.head].casefold()


def nearest_first(document: Document, choice: Choice) -> list[Mention]:
    """Return the candidates of the baselines, the nearest first; those of a question may stand after the mention."""
    if document.questions is None:
        return list(reversed(choice.before))
    return sorted(choice.before, key=lambda candidate: (abs((candidate.head or 0) - choice.head), candidate.start))


def traits(document: Document, start: int = 0, stop: int | None = None) -> dict[Mention, Traits]:
    """Return number, gender and person of the mentions that have words.

    These are the mentions of all questions, and those that start at the words from ``start`` to ``stop``.
    """
    feats = [feats_of_word for sentence in document.sentences for feats_of_word in sentence.feats]
    tags = [tag for sentence in document.sentences for tag in sentence.xpos]
    indices = document.starting(start, len(document.words) + 1 if stop is None else stop)
    mentions = list(document.mentions[indices.start : indices.stop])
    for question in document.questions or ():
        mentions += [question.anaphor, *question.candidates]
    by_mention = {}
    has_features = document.has_features  # takes a look at every word
    for mention in mentions:
        if mention.head is None:
            continue
        if has_features:
            values = dict(pair.split("=", 1) for pair in feats[mention.head].split("|") if "=" in pair)
            number, gender, person = (values.get(name, "") for name in ("Number", "Gender", "Person"))
        else:
            number, gender, person = _from_lexicon(document, mention, tags[mention.head] if tags else "")
        by_mention[mention] = (number, gender, person or ("" if mention.type == "pronoun" else "3"))
    return by_mention


def sources_of_agreement(corpus: Documents) -> list[str]:
    """Return the sources from which number, gender and person of some documents come, as phrases for the notes."""
    n_by_features = corpus.facts.with_features
    n_by_lexicon = len(corpus.documents) - n_by_features
    n_by_source = {"UD features": n_by_features, "a lexicon of English pronouns and titles, and tags": n_by_lexicon}
    return [source for source, n_documents in n_by_source.items() if n_documents]


def agree(first: Traits, second: Traits) -> bool:
    """Return whether two mentions agree in every trait that is known of both."""
    known = ((a, b) for a, b in zip(first, second, strict=True) if a and b)
    # A feature may have several values (``Masc,Fem``), of which one in common is enough.
    return all(set(a.split(",")) & set(b.split(",")) for a, b in known)


def _from_lexicon(document: Document, mention: Mention, tag: str) -> Traits:
    """Return number, gender and person of an English mention, whose head word has this tag."""
    assert mention.head is not None  # noqa: S101
    if mention.type == "pronoun":
        return PRONOUNS.get(document.words[mention.head].casefold(), ("", "", ""))
    forms = []
    for word in reversed([word for word in mention.words if word <= mention.head]):
        form = document.words[word].casefold()
        if form == ".":  # the full stop of "Mrs." may be a word of its own
            continue
        if not form.rstrip(".").isalnum():  # a title before a possessive is not that of the head: "the king 's castle"
            break
        forms.append(form.rstrip("."))
    genders = {TITLES[form] for form in forms if form in TITLES}
    return _NUMBER_BY_TAG.get(tag, ""), genders.pop() if len(genders) == 1 else "", ""

"""Number, gender and person of mentions, for the rule-based baseline.

In documents with features they are those of the head word (UD ``Number``, ``Gender``, ``Person``). Documents without
features are taken to be English: there they come from a lexicon of pronouns, from a lexicon of titles before the head
(`corpora_loaders.coreference.english`), and from the Penn Treebank tag (NNS and NNPS are plural, NN and NNP singular).
Mentions that are not pronouns are third person. An unknown value agrees with every value.
"""

from __future__ import annotations

from ...corpora_loaders.coreference import PRONOUNS, TITLES, Document, Documents, Mention

Traits = tuple[str, str, str]
"""Number, gender and person of a mention, each empty if it is unknown."""

_NUMBER_BY_TAG = {"NN": "Sing", "NNP": "Sing", "NNS": "Plur", "NNPS": "Plur"}
_NAMES = ("Number", "Gender", "Person")


def traits(document: Document, start: int = 0, stop: int | None = None) -> dict[Mention, Traits]:
    """Return number, gender and person of each mention of a document that has words."""
    feats = [feats for sentence in document.sentences for feats in sentence.feats]
    tags = [tag for sentence in document.sentences for tag in sentence.xpos]
    has_features = document.has_features
    asked = [mention for question in document.questions or () for mention in (question.anaphor, *question.candidates)]
    by_mention = {}
    chosen = document.starting(start, len(document.words) + 1 if stop is None else stop)
    for mention in (*document.mentions[chosen.start : chosen.stop], *asked):
        if mention.head is None:
            continue
        if has_features:
            number, gender, person = _from_features(feats[mention.head])
        else:
            number, gender, person = _from_lexicon(document, mention, tags[mention.head] if tags else "")
        by_mention[mention] = (number, gender, person or ("" if mention.type == "pronoun" else "3"))
    return by_mention


def sources_of_agreement(corpus: Documents) -> list[str]:
    """Return the sources from which number, gender and person of some documents come, as phrases for the notes."""
    with_features = corpus.facts.with_features
    by_lexicon = "a lexicon of English pronouns and titles, and tags"
    return ["UD features"] * (with_features > 0) + [by_lexicon] * (with_features < len(corpus.documents))


def agree(first: Traits, second: Traits) -> bool:
    """Return whether two mentions agree in every trait that is known of both.

    Example:
        >>> agree(("Sing", "Fem", "3"), ("Sing", "", "3"))
        True
        >>> agree(("Sing", "Fem", "3"), ("Plur", "Fem", "3"))
        False
    """
    return all(not a or not b or _share(a, b) for a, b in zip(first, second, strict=True))


def _share(a: str, b: str) -> bool:
    """Return whether two features, which may have several values (``Masc,Fem``), have a value in common."""
    return bool(set(a.split(",")) & set(b.split(",")))


def _from_features(feats: str) -> Traits:
    values = {name: value for name, _, value in (pair.partition("=") for pair in feats.split("|"))}
    number, gender, person = (values.get(name, "") for name in _NAMES)
    return number, gender, person


def _from_lexicon(document: Document, mention: Mention, tag: str) -> Traits:
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

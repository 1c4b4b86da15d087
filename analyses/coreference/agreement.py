"""Number, gender and person of mentions, for the rule-based baseline.

From the features of the head word (UD ``Number``, ``Gender``, ``Person``) in documents that have features; else,
which means English, from a lexicon of pronouns and of titles before the head (`corpora_loaders.coreference.english`)
and from the Penn Treebank tag (NNS, NNPS plural; NN, NNP singular). Mentions that are no pronouns are third person.
What is unknown agrees with everything.
"""

from __future__ import annotations

from attentionology.corpora_loaders.coreference import PRONOUNS, TITLES, Document, Mention

Traits = tuple[str, str, str]
"""Number, gender, person; empty where unknown."""

_NUMBER_BY_TAG = {"NN": "Sing", "NNP": "Sing", "NNS": "Plur", "NNPS": "Plur"}
_NAMES = ("Number", "Gender", "Person")


def traits(document: Document) -> dict[Mention, Traits]:
    """Of each mention that has words."""
    feats = [feats for sentence in document.sentences for feats in sentence.feats]
    tags = [tag for sentence in document.sentences for tag in sentence.xpos]
    has_features = _has_features(document)
    asked = [m for question in document.questions or () for m in (question.anaphor, *question.candidates)]
    found = {}
    for mention in (*document.mentions, *asked):
        if mention.head is None:
            continue
        if has_features:
            number, gender, person = _from_features(feats[mention.head])
        else:
            number, gender, person = _from_lexicon(document, mention, tags[mention.head] if tags else "")
        found[mention] = (number, gender, person or ("" if mention.type == "pronoun" else "3"))
    return found


def source_of_agreement(document: Document) -> str:
    """Where number, gender and person come from, in words."""
    return "UD features" if _has_features(document) else "a lexicon of English pronouns and titles, and tags"


def _has_features(document: Document) -> bool:
    return any(one not in ("_", "") for sentence in document.sentences for one in sentence.feats)


def agree(one: Traits, other: Traits) -> bool:
    """Whether nothing that is known of both differs."""
    return all(not a or not b or _share(a, b) for a, b in zip(one, other, strict=True))


def _share(a: str, b: str) -> bool:
    """Features may have several values, ``Masc,Fem``."""
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
        if form == ".":  # of "Mrs", where words are cut there
            continue
        if not form.rstrip(".").isalnum():  # "the king 's castle" is no king
            break
        forms.append(form.rstrip("."))
    genders = {TITLES[form] for form in forms if form in TITLES}
    return _NUMBER_BY_TAG.get(tag, ""), genders.pop() if len(genders) == 1 else "", ""

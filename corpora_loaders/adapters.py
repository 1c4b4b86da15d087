"""Sentences from objects of other libraries: spaCy, Stanza, conllu, udapi, and rows of data sets with columns.

An object is recognized by the module of its class and by its attributes, so that none of these libraries is imported.
Word numbers become those of `Sentence`: 1-based, with 0 for the root and None where there is no head.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .errors import CorpusError
from .sentence import Sentence

UPOS_OF_CLASSES = tuple("NOUN PUNCT ADP NUM SYM SCONJ ADJ PART DET CCONJ PROPN PRON X _ ADV INTJ VERB AUX".split())
"""The parts of speech in the order of the data set ``universal_dependencies``, whose rows have the index of each."""

_EMPTY = (None, "", "_", "None")


def foreign_sentences(thing: object, classes: Sequence[str] = ()) -> Iterator[Sentence] | None:
    """Return the sentences of an object of another library; None if it is of none that is known.

    The id of a sentence is that of the object or, without one, its words.

    Args:
        thing: the object: one sentence, or a document with several.
        classes: the parts of speech that indices in the column ``upos`` of a row stand for.
    """
    if isinstance(thing, Mapping) and not _is_from(thing, "conllu"):
        return _of_columns(thing, classes or UPOS_OF_CLASSES)
    for library, read in _READERS.items():
        if _is_from(thing, library):
            return read(thing)
    return None


def is_foreign(thing: object) -> bool:
    """Whether an object is one that `foreign_sentences` reads."""
    return isinstance(thing, Mapping) or any(_is_from(thing, library) for library in _READERS)


def _is_from(thing: object, library: str) -> bool:
    """Whether the class of an object, or one that it inherits from, is of a library."""
    return any(kind.__module__.partition(".")[0] == library for kind in type(thing).__mro__)


def _of_spacy(thing: Any) -> Iterator[Sentence]:
    """Read a ``Doc``, or a ``Span`` as one sentence. Space tokens are left out; what they govern gets their head."""
    if hasattr(thing, "has_annotation"):  # a document, which may have no boundaries of sentences
        spans = list(thing.sents) if thing.has_annotation("SENT_START") else [thing[:]]
    elif hasattr(thing, "start") and hasattr(thing, "doc"):
        spans = [thing]
    else:
        raise _type_error(thing, "a Doc or a Span")
    for span in spans:
        tokens = [token for token in span if not token.is_space]
        numbers = {token.i: number for number, token in enumerate(tokens, start=1)}
        has_tree = any(token.dep_ for token in span)

        def head_of(token: Any, numbers: Mapping[int, int] = numbers) -> int | None:
            head = token.head
            while head.is_space and head.head.i != head.i:
                head = head.head
            if head.i == token.i or head.is_space:
                return 0
            return numbers.get(head.i)  # None if it is outside of the span

        if tokens:
            yield _sentence(
                [token.text for token in tokens],
                heads=tuple(map(head_of, tokens)) if has_tree else (),
                relations=_column(token.dep_ for token in tokens) if has_tree else (),
                tags=_column(token.pos_ for token in tokens),
                lemmas=_column(token.lemma_ for token in tokens),
                xpos=_column(token.tag_ for token in tokens),
                feats=_column(str(token.morph) for token in tokens),
                text=span.text,
                predicted_by="spaCy" if has_tree or any(token.pos_ for token in tokens) else None,
            )


def _of_stanza(thing: Any) -> Iterator[Sentence]:
    """Read a ``Document`` or a ``Sentence``."""
    sentences = thing.sentences if hasattr(thing, "sentences") else [thing]
    for each in sentences:
        if not hasattr(each, "words"):
            raise _type_error(thing, "a Document or a Sentence")
        words = each.words
        is_annotated = any(word.head is not None or word.upos for word in words)
        parts = [(token.words, token.text) for token in each.tokens if len(token.words) > 1]
        yield _sentence(
            [word.text for word in words],
            id=_text(getattr(each, "sent_id", None)),
            heads=_heads(word.head for word in words),
            relations=_column(word.deprel for word in words),
            tags=_column(word.upos for word in words),
            lemmas=_column(word.lemma for word in words),
            xpos=_column(word.xpos for word in words),
            feats=_column(word.feats for word in words),
            multiword=tuple((int(of[0].id), int(of[-1].id), text) for of, text in parts),
            text=getattr(each, "text", None),
            predicted_by="Stanza" if is_annotated else None,
        )


def _of_conllu(thing: Any) -> Iterator[Sentence]:
    """Read a ``TokenList``, or a list or generator of them."""
    if not isinstance(thing, Iterable) or isinstance(thing, Mapping):
        raise _type_error(thing, "a TokenList")
    is_one = isinstance(thing, list) and all(isinstance(token, Mapping) for token in thing)
    if not is_one:  # several of them
        for token_list in thing:
            yield from _of_conllu(token_list)
        return
    words = [token for token in thing if isinstance(token["id"], int)]
    ranges = [token for token in thing if isinstance(token["id"], tuple) and "-" in token["id"]]
    empty = [token for token in thing if isinstance(token["id"], tuple) and "." in token["id"]]
    comments: dict[str, Any] = dict(getattr(thing, "metadata", None) or {})
    yield _sentence(
        [token["form"] for token in words],
        id=_text(comments.get("sent_id")),
        heads=_heads(token.get("head") for token in words),
        relations=_column(token.get("deprel") for token in words),
        tags=_column(token.get("upos", token.get("upostag")) for token in words),
        lemmas=_column(token.get("lemma") for token in words),
        xpos=_column(token.get("xpos", token.get("xpostag")) for token in words),
        feats=_column(token.get("feats") for token in words),
        deps=_column(_dependencies(token.get("deps")) for token in words),
        misc=_column(token.get("misc") for token in words),
        multiword=tuple((token["id"][0], token["id"][2], token["form"]) for token in ranges),
        empty_nodes=tuple("".join(map(str, token["id"])) for token in empty),
        empty_misc=tuple(_cell(token.get("misc")) for token in empty),
        comments=comments,
        text=comments.get("text"),
    )


def _of_udapi(thing: Any) -> Iterator[Sentence]:
    """Read a ``Root``, a ``Bundle`` or a ``Document``."""
    if hasattr(thing, "bundles"):
        roots = [root for bundle in thing.bundles for root in bundle.trees]
    else:
        roots = thing.trees if hasattr(thing, "trees") else [thing]
    for root in roots:
        if not hasattr(root, "multiword_tokens"):  # a node, for example
            raise _type_error(thing, "a tree, a Bundle or a Document")
        nodes, empty = list(root.descendants), list(getattr(root, "empty_nodes", ()))
        yield _sentence(
            [node.form for node in nodes],
            id=_text(root.sent_id),
            heads=tuple(node.parent.ord for node in nodes),
            relations=_column(node.deprel for node in nodes),
            tags=_column(node.upos for node in nodes),
            lemmas=_column(node.lemma for node in nodes),
            xpos=_column(node.xpos for node in nodes),
            feats=_column(str(node.feats) for node in nodes),
            deps=_column(node.raw_deps for node in nodes),
            misc=_column(str(node.misc) for node in nodes),
            multiword=tuple((token.words[0].ord, token.words[-1].ord, token.form) for token in root.multiword_tokens),
            empty_nodes=tuple(str(node.ord) for node in empty),
            empty_misc=tuple(_cell(str(node.misc)) for node in empty),
            comments=_beginning(getattr(root, "newdoc", None)),
            text=getattr(root, "text", None),
        )


def _of_datasets(thing: Any) -> Iterator[Sentence]:
    """Read the rows of a ``Dataset``, whose features name the parts of speech."""
    if not hasattr(thing, "features"):
        raise _type_error(thing, "a Dataset, such as dataset['train']")
    feature = (thing.features or {}).get("upos")
    classes = getattr(getattr(feature, "feature", feature), "names", None) or ()
    for row in thing:
        yield from _of_columns(row, classes or UPOS_OF_CLASSES)


def _of_columns(row: Mapping[str, Any], classes: Sequence[str]) -> Iterator[Sentence]:
    """Read a row with ``tokens`` or ``text``, or the columns of several rows, as a slice of a data set gives them."""
    tokens = row.get("tokens")
    if tokens is None and isinstance(row.get("text"), str):
        yield Sentence.from_text(row["text"])
        return
    if not isinstance(tokens, Sequence) or isinstance(tokens, str):
        names = ", ".join(map(str, row))
        raise TypeError(f"expected a row with the column tokens or text, found the columns {names:.200}")
    if tokens and not isinstance(tokens[0], str) and isinstance(tokens[0], Sequence):
        for index in range(len(tokens)):
            yield from _of_columns({name: column[index] for name, column in row.items()}, classes)
        return
    name = _text(row.get("sent_id", row.get("idx", row.get("id"))))
    tags = [_class(tag, classes, name) if isinstance(tag, int) else tag for tag in row.get("upos") or ()]
    columns = {"lemmas": "lemmas", "xpos": "xpos", "feats": "feats", "deps": "deps", "misc": "misc"}
    yield _sentence(
        tokens,
        id=name,
        heads=_integers(row.get("head") or (), tokens, name),
        relations=_column(row.get("deprel") or ()),
        tags=_column(tags),
        **{field: _column(row.get(column) or ()) for field, column in columns.items()},
        multiword=tuple((*map(int, each["id"].split("-")), each["form"]) for each in row.get("mwt") or ()),
        text=row.get("text"),
    )


_READERS: dict[str, Callable[[Any], Iterator[Sentence]]] = {
    "spacy": _of_spacy,
    "stanza": _of_stanza,
    "conllu": _of_conllu,
    "udapi": _of_udapi,
    "datasets": _of_datasets,
}


def _class(index: int, classes: Sequence[str], name: str | None) -> str:
    """Return the part of speech of an index."""
    if not 0 <= index < len(classes):
        raise CorpusError(f"upos has the index {index}, and there are {len(classes)} parts of speech", sentence=name)
    return classes[index]


def _integers(heads: Sequence[Any], tokens: Sequence[str], name: str | None) -> tuple[int | None, ...]:
    """Return the heads of a row. Rows of which multiword tokens have remained among the words are refused."""
    if all(head in _EMPTY for head in heads):
        return ()
    lacking = [number for number, head in enumerate(heads) if head in _EMPTY]
    if lacking:
        word = tokens[lacking[0]]
        raise CorpusError(
            f"{len(tokens)} tokens but {len(heads) - len(lacking)} heads: token {lacking[0] + 1} {word!r:.80} has "
            "none; it may be a multiword token that is left among its words; leave such tokens out first",
            sentence=name,
        )
    try:
        return tuple(map(int, heads))
    except (TypeError, ValueError):
        raise CorpusError(f"the heads are not numbers: {list(heads)!r:.80}", sentence=name) from None


def _heads(heads: Iterable[int | None]) -> tuple[int | None, ...]:
    """Return heads, and none if no word has one."""
    found = tuple(heads)
    return () if all(head is None for head in found) else found


def _column(values: Iterable[Any]) -> tuple[str, ...]:
    """Return a column as in CoNLL-U, with ``_`` for what is empty; none if all of it is."""
    cells = tuple(map(_cell, values))
    return () if all(cell == "_" for cell in cells) else cells


def _cell(value: Any) -> str:
    """Return a cell as in CoNLL-U: ``A=B|C=D`` for a dictionary, which may be written as Python, ``_`` for nothing."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return str(value)
    if isinstance(value, Mapping):
        value = "|".join(key if item is None else f"{key}={item}" for key, item in value.items())
    return "_" if value in _EMPTY else str(value)


def _beginning(newdoc: Any) -> dict[str, str | None]:
    """Return the comment that begins a document, given its id, or True for one without an id."""
    return {"newdoc": None} if newdoc is True else {"newdoc id": str(newdoc)} if newdoc else {}


def _dependencies(deps: Any) -> Any:
    """Return enhanced dependencies, pairs of a relation and a head, as in CoNLL-U."""
    if not isinstance(deps, list | tuple):
        return deps
    ids = [("".join(map(str, head)) if isinstance(head, tuple) else head, relation) for relation, head in deps]
    return "|".join(f"{head}:{relation}" for head, relation in ids)


def _text(value: Any) -> str | None:
    return None if value in _EMPTY else str(value)


def _sentence(words: Iterable[str], *, id: str | None = None, **fields: Any) -> Sentence:  # noqa: A002
    """Return a sentence; its id is its words if it has none."""
    forms = tuple(words)
    if not forms:
        raise CorpusError("the sentence has no words", sentence=id)
    return Sentence(id or " ".join(forms), forms, **fields)


def _type_error(thing: object, expected: str) -> TypeError:
    """Return the error about an object of a library that is no sentence."""
    kind = type(thing)
    return TypeError(f"expected {expected} of {kind.__module__.partition('.')[0]}, not {kind.__name__}")

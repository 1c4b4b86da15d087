"""Every use of a head in sentences: for each word, what the head picks for it, with the words around both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from ...analyses.dependency.accuracy import ALL, ALL_NO_PUNCT, ALL_NO_PUNCT_ROOT
from ...analyses.dependency.decisions import head_guesses, word_positions
from ...analyses.dependency.picks import PICKS, relationships
from ...analyses.shared.picks import READINGS
from ...corpora_loaders import Sentence
from ...corpora_loaders.tree import is_punct
from ...extractors import MapBatch, MapMaker, SharedBatch, shared_batches
from ...extractors.maps.map_maker import map_batch_of
from ...extractors.replaceable.heads_off import Head
from ...storage.writing import running_text
from ..decisions import read_as, select_heads
from .live_model import LiveModel

LEFT_OUT: dict[str, Collection[str]] = {
    ALL: (),
    ALL_NO_PUNCT: ("punctuation",),
    ALL_NO_PUNCT_ROOT: ("punctuation", "root"),
}
"""What is left out of each row over several relations."""


@dataclass(frozen=True)
class Question:
    """Which uses of a head are asked for."""

    head: Head  # both numbers from 0
    kind: str
    relation: str | None  # None for all words
    direction: str  # one of `READINGS`, or for mentions of the `DIRECTIONS` of coreference


@dataclass(frozen=True)
class Use:
    """What a head picks for one word, or for one mention, which is as its head word. Words are counted from 0."""

    sentence: str  # the id of the sentence
    word: int
    row: int  # its row in the maps, which also have rows of special tokens
    left: str  # the sentence before the word
    form: str
    right: str  # the sentence after the word
    picked: str
    picked_index: int
    gold: str | None  # the syntactic head, or the nearest antecedent; None if it is not known, or the word is the root
    gold_index: int | None
    weight: float  # the value of the map, in the direction in which it is read
    gold_weight: float | None
    distance: int  # from the word to what is picked; +1 is the next word
    tag: str | None  # the part of speech, or the type of a mention
    relation: str | None
    verdict: str | None  # right, wrong, or None where nothing can be said
    mistake: str  # what a wrong pick is to the word or mention, one of their `PICKS`; empty if it is not wrong


def uses(model: LiveModel, sentences: Iterable[Sentence], question: Question) -> Iterator[tuple[int, list[Use]]]:
    """Yield the uses of a head in some sentences, batch by batch, each with the number of sentences read so far."""
    maker, n_read = model.maker(question.kind), 0
    for batch in shared_batches(model.encoder, sentences, max_length=model.most_pieces):
        of_head = of_one_head(maker, batch, question.head)
        guesses = head_guesses(of_head, len(READINGS))[:, READINGS.index(question.direction), 0, 0]
        position = word_positions(of_head)
        n_read += len(batch)
        found: list[Use] = []
        for index, sentence in enumerate(batch.sentences):
            words = {place: word for word, place in enumerate(position[index, : len(sentence)].tolist())}
            picked = [words.get(int(guesses[index, place])) for place in words]
            values = of_head.maps[index, 0, 0].cpu()[list(words)][:, list(words)]
            read = read_as(values, question.direction)
            found += _in_sentence(sentence, picked, list(words), read, question, model.encoder.causal)
        yield n_read, found


def of_one_head(maker: MapMaker, batch: SharedBatch, head: Head) -> MapBatch:
    """Return the maps of one head, or of the layer if all of its heads share one."""
    layer, _ = head
    return select_heads(map_batch_of(maker, *maker(batch.encoder, batch.pieces, layer + 1), batch), [head])


def _in_sentence(
    sentence: Sentence,
    picked: Sequence[int | None],
    rows: Sequence[int],
    values: Tensor,
    question: Question,
    causal: bool,
) -> Iterator[Use]:
    """Yield the uses in a sentence, given what the head picks for each word, and the row of the word in the maps."""
    words = sentence.words
    has_tree = any(head is not None for head in sentence.heads)
    related = relationships(sentence) if has_tree else None
    for word, guess in enumerate(picked):
        head = sentence.heads[word] if sentence.heads else None
        if guess is None or (has_tree and head is None) or not _is_asked(sentence, word, question.relation):
            continue
        gold = head - 1 if head else None
        is_seen = not causal or question.direction == "both" or gold is None
        is_seen = is_seen or (gold is not None and (gold > word) == (question.direction == "head->dep"))
        verdict = None if head is None or not is_seen else "right" if guess == gold else "wrong"
        yield Use(
            sentence.id,
            word,
            rows[word],
            running_text(words[:word]),
            words[word],
            running_text(words[word + 1 :]),
            words[guess],
            guess,
            None if gold is None else words[gold],
            gold,
            float(values[word, guess]),
            None if gold is None else float(values[word, gold]),
            guess - word,
            sentence.tags[word] if sentence.tags else None,
            sentence.relations[word] if has_tree else None,
            verdict,
            PICKS[related[word, guess]] if verdict == "wrong" and related is not None else "",
        )


def _is_asked(sentence: Sentence, word: int, relation: str | None) -> bool:
    """Whether the uses of a relation, or of several together, have a word."""
    if relation is None:
        return True
    if not sentence.relations:
        return False
    own = sentence.relations[word]
    if relation not in LEFT_OUT:
        return own == relation
    is_punctuation = sentence.punctuation[word] if sentence.punctuation else is_punct(own)
    kinds = {"punctuation"} if is_punctuation else {"root"} if sentence.heads[word] == 0 else set()
    return not kinds.intersection(LEFT_OUT[relation])

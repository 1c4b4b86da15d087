"""The data of the explorer: measures of heads, cards of heads, findings, and sampled inputs with their maps.

The page reads these objects as JSON with the same names, and arrays as compressed bytes; see `deflate`. All numbers
are in raw units, shares from 0 to 1; None stands for a value that is not defined. Values of heads are flat: the value
of layer l and head h, both 0-based, has the index l · heads + h. Names of heads are 1-based, such as ``3-9``.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...storage.writing import is_right_to_left, joined_words
from ..finding import Finding
from .references import Reference, Values

_ESCAPED = {character: f"\\u{ord(character):04x}" for character in "<>&"}


@dataclass(frozen=True)
class Measure:
    """One value for every head, for example the accuracy for one relation and direction.

    Attributes:
        id: the id, which is unique in a report and is used in addresses.
        group: the heading of the measure in the selector.
        label: the name of the measure below this heading.
        kind: the kind of map; None if the measure does not depend on it.
        unit: ``"%"`` for shares, which are shown in percent, ``"nats"``, or ``""``.
        values: the values of all heads, layer by layer: layer 1 with its heads in order, then layer 2.
        low, high: the bounds of 95 % intervals in the same order; None if there are none.
        n: the number of decisions or inputs behind each value; None if it is not known.
        baseline: a value to compare with, for example the accuracy of the best fixed offset.
        center: the middle of a diverging scale, for example 0 for gains; None for a scale from low to high.
        categories: the names of categories, if the values are indices into them.
        relation: the dependency relation, or the `attentionology.analyses.Guesses.cases`, that the measure is about.
        direction: the direction of attention that the measure is about.
        note: the definition in one sentence.
        low_is_best: whether the head with the smallest value is the best one, as with error rates.
        reference: the id of what the values are read beside; empty for nothing.
        tag: the type of mention that the measure is about; None for all of them, and for everything else.

    Example:
        >>> from attentionology.reports import Measure
        >>> Measure("obj/accuracy", "dependency", "obj", "weight", "%", values=(0.5, 0.25), n=20).low_is_best
        False
    """

    id: str
    group: str
    label: str
    kind: str | None
    unit: str
    values: Values
    low: Values | None = None
    high: Values | None = None
    n: int | None = None
    baseline: float | None = None
    center: float | None = None
    categories: tuple[str, ...] | None = None
    relation: str | None = None
    direction: str | None = None
    note: str = ""
    low_is_best: bool = False
    reference: str = ""
    tag: str | None = None


@dataclass(frozen=True)
class Fact:
    """One line of a head's card.

    Example:
        >>> from attentionology.reports import Fact
        >>> Fact("obj", "finds 12 of 20 objects", measure="obj/accuracy").text
        'finds 12 of 20 objects'
    """

    label: str
    text: str
    measure: str | None = None  # the id of the measure to open; None if there is none


@dataclass(frozen=True)
class Profile:
    """The attention of a head by offset."""

    offsets: tuple[int, ...]  # the offsets; +1 is the next token
    values: tuple[float, ...]  # the mean attention to the token at each offset


@dataclass(frozen=True)
class Card:
    """The facts about one head."""

    head: str  # the name of the head, such as `3-9`
    summary: str = ""  # one or two sentences that are made of the numbers
    facts: tuple[Fact, ...] = ()
    nearest: tuple[str, ...] = ()  # the names of the most similar heads, the most similar first
    profile: Profile | None = None  # its attention by offset; None if it was not counted


@dataclass(frozen=True)
class ReadHead:
    """A head, and the direction in which its map is read."""

    head: str
    direction: str  # `dep->head`, `head->dep`, whose map is transposed, or `both`, where the two are added up


@dataclass(frozen=True)
class Ensemble:
    """Heads that find a relation together if their maps are averaged."""

    relation: str
    kind: str  # the kind of map
    heads: tuple[ReadHead, ...]
    divided: bool = False  # whether each row of a map is divided by its sum over words before


@dataclass(frozen=True)
class Predicted:
    """What a model predicts for the words of a sampled input, with all of its heads or without one."""

    sentence: str  # the id of the input
    head: str  # the head that is switched off; empty for the model as it is
    # for each word, the natural logarithm of its probability, None where nothing predicts it
    log_p: tuple[float | None, ...]
    # the likeliest pieces in the place of the first piece of each word, with their probabilities
    likeliest: tuple[tuple[tuple[str, float], ...], ...]


@dataclass(frozen=True)
class ShownMention:
    """A mention of an entity in a sampled input."""

    start: int  # the indices of its first and last row
    end: int
    entity: str
    type: str  # the type of the mention, such as `"pronoun"`
    head: int  # the index of the row of its head word, to which decisions are reduced


@dataclass(frozen=True)
class Link:
    """A link of a word alignment."""

    row: int  # the indices of the two words
    column: int
    sure: bool  # whether the annotators are sure of it


@dataclass(frozen=True)
class ShownCase:
    """A word of which an analysis says which words heads should pick for it."""

    row: int
    right: tuple[int, ...]  # the rows that are right
    name: str  # what the case is about, which is listed beside the relations
    guesses: tuple[str, ...]  # the names of the guesses that it judges


@dataclass(frozen=True)
class EncodedMap:
    """The maps of one kind of one input."""

    data: str  # the base64 code of the raw deflate stream of unsigned bytes of shape (layers, heads, rows, columns)
    scales: tuple[float, ...]  # for each head, the value for which the byte 255 stands
    # the flat indices of the heads that are stored, which replace (layers, heads) in the shape; None for all
    heads: tuple[int, ...] | None = None


@dataclass(frozen=True)
class AnnotatedInput:
    """What the corpus says about an input. Rows and columns are those of its maps."""

    id: str
    document: str | None  # the id of its document; None if it is not known
    # the file, and the line where the input starts. A file that is not known is None, or empty on a page
    file: str | None
    line: int | None
    rows: tuple[str, ...]  # the words and special tokens
    special: tuple[bool, ...]  # which rows are special tokens
    # the row of each word's syntactic head, −1 for the root, None where there is none
    heads: tuple[int | None, ...] = ()
    relations: tuple[str | None, ...] = ()  # the relation of each word to its head
    tags: tuple[str | None, ...] = ()  # the universal part of speech of each word
    punctuation: tuple[bool, ...] = ()  # which rows are punctuation, where the relations do not say it
    mentions: tuple[ShownMention, ...] = ()
    # the source words and special tokens of a sentence pair, whose rows are the target words; None if the columns are
    # the rows
    columns: tuple[str, ...] | None = None
    special_columns: tuple[bool, ...] | None = None  # which columns are special tokens; None if `columns` is None
    links: tuple[Link, ...] = ()  # the gold links of a sentence pair. A pair without gold links has none
    cases: tuple[ShownCase, ...] = ()  # what analyses judge by gold of their own
    start: int | None = None  # how many words of its document come before a window; None if it is no window


@dataclass(frozen=True)
class Writing:
    """How the words of an input, or of one side of a pair, are written."""

    direction: str  # `"ltr"`, or `"rtl"` if they are read from right to left
    joined: tuple[int, ...]  # the indices of the words that have no space before the next one

    @classmethod
    def of(cls, words: Sequence[str], special: Sequence[bool]) -> Writing:
        """Return how words are written, among which there may be special tokens."""
        own = [index for index, is_special in enumerate(special) if not is_special]
        plain = [words[index] for index in own]
        direction = "rtl" if is_right_to_left(plain) else "ltr"
        return cls(direction, tuple(own[index] for index in joined_words(plain)))


@dataclass(frozen=True)
class SampledSentence(AnnotatedInput):
    """An input of the sample, with its maps. An input that is too long for them has none, but all guesses."""

    writing: tuple[Writing, ...] = ()  # that of the rows, and of the columns of a pair

    maps: Mapping[str, EncodedMap] = field(default_factory=dict)
    # the guesses of analyses by key, for example `weight/dep->head`: base64 codes of raw deflate streams of unsigned
    # 16-bit numbers of shape (layers, heads, rows), little-endian. A guess is the index of a row, or of a column if
    # the columns are not the rows, or 65535 where there is none. The heads are those of the map of the same kind.
    # Guesses are exact: they do not depend on the quantization of the maps
    guesses: Mapping[str, str] = field(default_factory=dict)


CAUSAL_NOTE = (
    "In this causal model, words see only the words before them. Where a direction cannot see the right word, a guess "
    "is neither right nor wrong."
)
"""The note on samples of causal models."""


@dataclass(frozen=True)
class Sample:
    """The sampled inputs."""

    kinds: tuple[str, ...]
    note: str  # how the inputs were sampled, and what was left out
    sentences: tuple[SampledSentence, ...]  # the inputs, in the order in which they were drawn
    # the kinds of maps that all heads of a layer share, which are stored as those of its first head
    layer_kinds: tuple[str, ...] = ()
    # the kinds of maps whose values are shares of attention, which are shown in percent
    share_kinds: tuple[str, ...] = ("weight",)


@dataclass(frozen=True)
class HeadName:
    """What somebody calls a head."""

    head: str  # the head, such as `3-9`
    name: str
    note: str = ""


@dataclass(frozen=True)
class Explorer:
    """Everything that the explorer shows."""

    model: str
    corpus: str
    unit: str  # what the inputs are, for example `"sentences"`
    layers: int  # the shape of the model's attention
    heads: int
    causal: bool = False  # whether words see only the words before them
    measures: tuple[Measure, ...] = ()
    references: tuple[Reference, ...] = ()  # what measures are read beside
    cards: tuple[Card, ...] = ()
    findings: tuple[Finding, ...] = ()  # the most important findings
    ensembles: tuple[Ensemble, ...] = ()
    predictions: tuple[Predicted, ...] = ()  # for some of the sampled inputs
    sample: Sample | None = None  # the sampled inputs; None if there are none
    undrawn: str = ""  # why there are none, where a reader expects some
    label: str = ""  # what tells the run from others on the same page
    names: tuple[HeadName, ...] = ()  # the names of heads that are kept with the run


def deflate(content: bytes) -> str:
    """Return the base64 code of the raw deflate stream of some bytes."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)  # a raw stream, which browsers inflate as `deflate-raw`
    return base64.b64encode(compressor.compress(content) + compressor.flush()).decode("ascii")


@dataclass(frozen=True)
class LiveModel:
    """A model that a server has loaded, which draws sentences that are typed."""

    name: str
    layers: int
    heads: int
    causal: bool
    kinds: tuple[str, ...]  # the kinds of maps that it can draw
    predicts: bool  # whether it has a language-model head
    run: int | None = None  # the position, among the runs of the page, of the one that was made with it


@dataclass(frozen=True)
class Live:
    """What a server can do that a file cannot."""

    models: tuple[LiveModel, ...]
    most_pieces: int  # the number of pieces of the longest text that every model draws


@dataclass(frozen=True)
class DrawnSentence:
    """What a server answers for a sentence: its maps, and what the model predicts for masked words."""

    sentence: SampledSentence
    predictions: Predicted | None  # None if the model predicts nothing of it
    masked: tuple[int, ...] = ()  # the rows of the words that the model did not see


@dataclass(frozen=True)
class Bench:
    """Everything that a page shows: a run, or several that are compared."""

    runs: tuple[Explorer, ...]
    live: Live | None = None  # what a server draws with models that it has loaded; a page that is a file has none


def plain_json(data: object) -> str:
    """Return dataclasses as JSON, in ASCII."""
    return json.dumps(data, default=vars, separators=(",", ":"), allow_nan=False)


def script_json(bench: Bench) -> str:
    r"""Return the data as JSON for a script element."""
    # All characters beyond ASCII are escaped, and so are those that have a meaning in HTML. The text of a corpus can
    # therefore neither end the element nor begin a comment.
    text = plain_json(bench)
    for character, escaped in _ESCAPED.items():
        text = text.replace(character, escaped)
    return text

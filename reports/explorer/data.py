"""The data of the explorer: measures of heads, cards of heads, findings, and sampled inputs with their maps.

The page reads these objects as JSON with the same names (`attentionology.reports.explorer.encoding`). All numbers are
in raw units, shares from 0 to 1; None stands for a value that is not defined. Values of heads are flat: the value of
layer l and head h, both 0-based, has the index l · heads + h. Names of heads are 1-based, such as ``3-9``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Values = tuple[float | int | None, ...]


@dataclass(frozen=True)
class Measure:
    """One value for every head, for example the accuracy for one relation and direction.

    Attributes:
        id: the id, which is unique in a report and is used in addresses.
        group: the heading of the measure in the selector.
        label: the name of the measure below this heading.
        kind: the kind of map; None if the measure does not depend on it.
        unit: ``"%"`` for shares, which are shown in percent, ``"nats"``, or ``""``.
        values: the value of each head.
        low, high: the bounds of 95 % intervals; None if there are none.
        n: the number of decisions or inputs behind each value; None if it is not known.
        baseline: a value to compare with, for example the accuracy of the best fixed offset.
        center: the middle of a diverging scale, for example 0 for gains; None for a scale from low to high.
        categories: the names of categories, if the values are indices into them.
        relation: the dependency relation that the measure is about.
        direction: the direction of attention that the measure is about.
        note: the definition in one sentence.
        low_is_best: whether the head with the smallest value is the best one, as with error rates.

    Example:
        >>> Measure("surface/entropy/weight", "Surface", "entropy", kind="weight", unit="nats", values=(0.5, 1.5)).n
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


@dataclass(frozen=True)
class Fact:
    """One line of a head's card.

    Attributes:
        label: what the line is about.
        text: the line.
        measure: the id of the measure to open; None if there is none.
    """

    label: str
    text: str
    measure: str | None = None


@dataclass(frozen=True)
class Profile:
    """The attention of a head by offset.

    Attributes:
        offsets: the offsets; +1 is the next token.
        values: the mean attention to the token at each offset.
    """

    offsets: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Card:
    """The facts about one head.

    Attributes:
        head: the name of the head, such as ``3-9``.
        summary: one or two sentences that are made of the numbers.
        facts: the lines of the card.
        nearest: the names of the most similar heads, the most similar first.
        profile: its attention by offset; None if it was not counted.
    """

    head: str
    summary: str = ""
    facts: tuple[Fact, ...] = ()
    nearest: tuple[str, ...] = ()
    profile: Profile | None = None


@dataclass(frozen=True)
class Finding:
    """A sentence about what was found, or was not.

    Attributes:
        text: the sentence.
        address: the address of the view that shows it, such as ``#head=3-9&relation=obj&direction=dep->head``.
    """

    text: str
    address: str


@dataclass(frozen=True)
class ShownMention:
    """A mention of an entity in a sampled input.

    Attributes:
        start, end: the indices of its first and last row.
        entity: the name of its entity.
        type: the type of the mention, such as ``"pronoun"``.
        head: the index of the row of its head word, to which decisions are reduced.
    """

    start: int
    end: int
    entity: str
    type: str
    head: int


@dataclass(frozen=True)
class Link:
    """A link of a word alignment.

    Attributes:
        row, column: the indices of the two words.
        sure: whether the annotators are sure of it.
    """

    row: int
    column: int
    sure: bool


@dataclass(frozen=True)
class EncodedMap:
    """The maps of one kind of one input.

    Attributes:
        data: the base64 code of the raw deflate stream of unsigned bytes of shape (layers, heads, rows, columns).
        scales: for each head, the value for which the byte 255 stands.
        heads: the flat indices of the heads that are stored, which replace (layers, heads) in the shape; None for all.
    """

    data: str
    scales: tuple[float, ...]
    heads: tuple[int, ...] | None = None


@dataclass(frozen=True)
class AnnotatedInput:
    """What the corpus says about an input. Rows and columns are those of its maps.

    Attributes:
        id: the id of the input.
        document: the id of its document; None if it is not known.
        file, line: the file, and the line where the input starts. A file that is not known is None, or empty on a page.
        rows: the words and special tokens.
        special: which rows are special tokens.
        heads: the row of each word's syntactic head, −1 for the root, None where there is none.
        relations: the relation of each word to its head.
        mentions: the mentions of entities.
        columns: the source words and special tokens of a sentence pair, whose rows are the target words; None if the
            columns are the rows.
        special_columns: which columns are special tokens; None if ``columns`` is None.
        links: the gold links of a sentence pair. A pair without gold links has none.
    """

    id: str
    document: str | None
    file: str | None
    line: int | None
    rows: tuple[str, ...]
    special: tuple[bool, ...]
    heads: tuple[int | None, ...] = ()
    relations: tuple[str | None, ...] = ()
    mentions: tuple[ShownMention, ...] = ()
    columns: tuple[str, ...] | None = None
    special_columns: tuple[bool, ...] | None = None
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class SampledSentence(AnnotatedInput):
    """An input of the sample, with its maps.

    Attributes:
        maps: the maps by kind.
        guesses: the guesses of analyses by key, for example ``weight/dep->head``: base64 codes of raw deflate streams
            of unsigned 16-bit numbers of shape (layers, heads, rows), little-endian. A guess is the index of a row, or
            of a column if the columns are not the rows, or 65535 where there is none. The heads are those of the map of
            the same kind. Guesses are exact: they do not depend on the quantization of the maps.
    """

    maps: Mapping[str, EncodedMap] = field(default_factory=dict)
    guesses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """The sampled inputs.

    Attributes:
        kinds: the kinds of maps.
        note: how the inputs were sampled, and what was left out.
        sentences: the inputs, in the order in which they were drawn.
        layer_kinds: the kinds of maps that all heads of a layer share, which are stored as those of its first head.
        share_kinds: the kinds of maps whose values are shares of attention, which are shown in percent.
    """

    kinds: tuple[str, ...]
    note: str
    sentences: tuple[SampledSentence, ...]
    layer_kinds: tuple[str, ...] = ()
    share_kinds: tuple[str, ...] = ("weight",)


@dataclass(frozen=True)
class Explorer:
    """Everything that the explorer shows.

    Attributes:
        model: the name of the model.
        corpus: the name of the corpus.
        unit: what the inputs are, for example ``"sentences"``.
        layers, heads: the shape of the model's attention.
        measures: the measures.
        cards: one card for each head.
        findings: the most important findings.
        sample: the sampled inputs; None if there are none.
    """

    model: str
    corpus: str
    unit: str
    layers: int
    heads: int
    measures: tuple[Measure, ...] = ()
    cards: tuple[Card, ...] = ()
    findings: tuple[Finding, ...] = ()
    sample: Sample | None = None

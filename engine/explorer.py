"""The explorer of a run: what all analyses contribute, and the sampled inputs with their maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from ..analyses.comparison.findings import kinds_findings
from ..analyses.comparison.results import Comparison
from ..analyses.contract import OptionSet, Titles
from ..analyses.shared.input_sample import MOST_ROWS, InputSample
from ..analyses.shared.sampled_input import SampledInput
from ..reports.explorer.contribution import Contribution
from ..reports.explorer.data import (
    CAUSAL_NOTE,
    Card,
    EncodedMap,
    Explorer,
    Finding,
    Measure,
    Sample,
    SampledSentence,
    Values,
    Writing,
)
from ..reports.explorer.encoding import deflated
from ..reports.format import head_name
from .results import Part

MOST_FINDINGS = 8
"""The number of findings at the top of the page."""

_USUAL_HEADS = 144
_MOST_BYTES = {True: 5_000_000, False: 12_000_000}
"""The bytes that maps and guesses may take in the page, for models of at most 144 heads and for larger ones."""

_COMPRESSED = 0.75
"""The bytes in the page of one cell of a map, with its share of the guesses; for the demo, they are 0.79. A little more
is kept than fits, so that little space stays empty."""

SPREAD = 60
"""The number of inputs that are kept from as many documents as possible, whatever their length, unless a number is
asked for."""


_ByKind = dict[str, tuple[InputSample, SampledInput]]
_Contributions = Sequence[tuple[Part, Contribution]]


def explorer_of(
    parts: Sequence[Part],
    titles: Titles,
    record: Mapping[str, Any],
    options: OptionSet,
    samples: Mapping[str, InputSample],
    contrasts: Comparison | None = None,
) -> Explorer:
    """Make the explorer of a run, from its counts alone."""
    contributions = []
    for part in parts:
        with part.running("explored()"):
            contributions.append((part, part.analysis.explored(options, part.counted, part.results, part.kind)))
    contributed = [(part, each) for part, each in contributions if each is not None]
    of_kinds = tuple(kinds_findings(contrasts)) if contrasts else ()
    # Findings and summaries are about the first kind of map of each analysis, all else is about all kinds.
    first_kinds = {part.analysis.name: part.kind for part, _ in reversed(contributed)}
    first = [(part, each) for part, each in contributed if first_kinds[part.analysis.name] == part.kind]
    measures = [measure for _, each in contributed for measure in each.measures]
    layers = int(record["model"]["layers"])
    causal = bool(record["model"].get("causal"))  # runs of earlier versions do not say it
    heads = max((len(measure.values) // layers for measure in measures), default=int(record["model"]["heads"]))
    sample = _sample(samples, layers, heads, causal=causal)
    shown = {sentence.id for sentence in sample.sentences} if sample else set()
    return Explorer(
        model=titles.model,
        corpus=titles.corpus,
        unit=str(record["corpus"]["unit"]),
        layers=layers,
        heads=heads,
        causal=causal,
        measures=tuple(_for_all_heads(measure, layers, heads) for measure in measures),
        cards=_cards(contributed, first, layers, heads),
        findings=_findings([*(each.findings for _, each in first), of_kinds]),
        ensembles=tuple(ensemble for _, each in contributed for ensemble in each.ensembles),
        predictions=tuple(each for _, of in contributed for each in of.predictions if each.sentence in shown),
        sample=sample,
    )


def cells_to_fill(layers: int, heads: int, kinds: int) -> int:
    """Return the number of cells of one head's map of one kind that fill the page, all inputs together."""
    return round(_MOST_BYTES[layers * heads <= _USUAL_HEADS] / _COMPRESSED / (layers * heads * kinds))


def _for_all_heads(measure: Measure, layers: int, heads: int) -> Measure:
    """Repeat the values of a map that all heads of a layer share."""
    if len(measure.values) == layers * heads:  # no table
        return measure

    def repeated(values: Values | None) -> Values | None:
        return None if values is None else tuple(value for value in values for _ in range(heads))

    values = repeated(measure.values) or ()
    note = f"{measure.note} All heads of a layer share one map."
    return replace(measure, values=values, low=repeated(measure.low), high=repeated(measure.high), note=note)


def _findings(of_analyses: Sequence[Sequence[Finding]]) -> tuple[Finding, ...]:
    """Return the most important findings of each analysis. Each gives its first before any gives its second."""
    in_turn = [finding for findings in zip_longest(*of_analyses) for finding in findings if finding is not None]
    kept = {id(finding) for finding in in_turn[:MOST_FINDINGS]}
    return tuple(finding for findings in of_analyses for finding in findings if id(finding) in kept)


def _cards(contributed: _Contributions, first: _Contributions, layers: int, heads: int) -> tuple[Card, ...]:
    """Return a card for each head, with what all analyses say about it."""
    contributions = [each for _, each in contributed]
    several = len({part.kind for part, _ in contributed if part.kind is not None}) > 1
    summarized = [(each, f" (map {part.kind})" if part.kind is not None and several else "") for part, each in first]
    cards = []
    for layer in range(1, layers + 1):
        for head in range(1, heads + 1):
            name = head_name(layer, head)
            phrases = [phrase + note for each, note in summarized for phrase in each.phrases.get(name, ())]
            facts = [fact for each in contributions for fact in each.facts.get(name, ())]
            nearest = next((each.nearest[name] for each in contributions if name in each.nearest), ())
            profile = next((each.profiles[name] for each in contributions if name in each.profiles), None)
            summary = f"Head {name} {'; it '.join(phrases)}." if phrases else f"No analysis singles out head {name}."
            cards.append(Card(name, summary, tuple(facts), nearest, profile))
    return tuple(cards)


def _sample(samples: Mapping[str, InputSample], layers: int, heads: int, *, causal: bool) -> Sample | None:
    """Return the sampled inputs, as many as the page has room for; None if none were kept."""
    fitting = {name: each for name, each in samples.items() if each.n_layers == layers and each.n_heads in (1, heads)}
    sets: dict[str, dict[str, InputSample]] = {}
    for name, metric in fitting.items():
        prefix, _, kind = name.partition("/")
        sets.setdefault(prefix, {})[kind] = metric
    if not any(metric.compute() for metric in fitting.values()):
        return None
    drawn = list(chain.from_iterable(zip_longest(*(_joined(by_kind) for by_kind in sets.values()))))
    inputs = [each for each in drawn if each is not None]
    most, used = _MOST_BYTES[layers * heads <= _USUAL_HEADS], 0
    sentences: list[SampledSentence] = []
    for by_kind in inputs:
        sentence = _sentence(by_kind, heads)
        size = sum(map(len, [*(encoded.data for encoded in sentence.maps.values()), *sentence.guesses.values()]))
        if sentences and used + size > most:
            continue  # a shorter input may still fit
        used += size
        sentences.append(sentence)
    first = [next(iter(by_kind.values())) for by_kind in sets.values()]
    notes = [*_notes(first, sentences, len(inputs)), *([CAUSAL_NOTE] if causal else [])]
    kinds = {kind: metric for by_kind in sets.values() for kind, metric in by_kind.items()}
    return Sample(
        kinds=tuple(kinds),
        note=" ".join(notes),
        sentences=tuple(sentences),
        layer_kinds=tuple(kind for kind, metric in kinds.items() if metric.n_heads < heads),
        share_kinds=tuple(kind for kind, metric in kinds.items() if metric.unit),
    )


def _notes(samples: Sequence[InputSample], shown: Sequence[SampledSentence], stored: int) -> Iterator[str]:
    """Say which inputs are shown of those that were read and stored, given the samples of one kind of map."""
    read = sum(int(metric.inputs) for metric in samples)
    spread = sum(metric.size for metric in samples)
    if read == len(shown):
        yield f"All {read:,} inputs."
    else:
        of_documents = "from as many documents as possible"
        if spread < sum(metric.compute() for metric in samples):
            of_documents += f" ({spread:,} of them) and then by these hashes alone"
        yield f"{len(shown):,} of {read:,} inputs, sampled by a hash of their ids {of_documents}."
        if names := sorted({case.name for each in shown for case in each.cases}):
            yield f"Inputs with a case of {' or '.join(names)} come first."
    yield "Values are rounded to 255 levels; guesses are stored exactly."
    if too_long := sum(int(metric.too_long) for metric in samples):
        yield f"Inputs of more than {MOST_ROWS} words are not stored: {too_long:,}."
    if left_out := stored - len(shown):
        yield f"The page has no space for {left_out:,} further inputs that were stored."


def _joined(by_kind: Mapping[str, InputSample]) -> Iterator[_ByKind]:
    """Yield each input with its maps of all kinds. All kinds have drawn the same inputs."""
    inputs: dict[bytes, _ByKind] = {}
    for kind, metric in by_kind.items():
        for each in metric.sampled():
            inputs.setdefault(each.annotation.encoded(), {})[kind] = metric, each
    yield from (each for each in inputs.values() if len(each) == len(by_kind))


def _sentence(by_kind: _ByKind, heads: int) -> SampledSentence:
    """Return an input for the page, given its maps of each kind and the number of heads of the model."""
    annotation = next(iter(by_kind.values()))[1].annotation
    annotated = {each.name: getattr(annotation, each.name) for each in fields(annotation)}
    maps, guesses = {}, {}
    for kind, (metric, each) in by_kind.items():
        # Maps that all heads of a layer share are stored as those of its first head.
        stored = tuple(range(0, metric.n_layers * heads, heads)) if metric.n_heads < heads else None
        maps[kind] = EncodedMap(deflated(each.maps), each.scales, stored)
        for index, name in enumerate(metric.guesses):
            guesses[f"{kind}/{name}"] = deflated(each.guesses(index))
    writing = [Writing.of(annotation.rows, annotation.special)]
    if annotation.columns is not None:
        writing.append(Writing.of(annotation.columns, annotation.special_columns or ()))
    named = {**annotated, "file": Path(annotation.file or "").name}
    return SampledSentence(**named, writing=tuple(writing), maps=maps, guesses=guesses)

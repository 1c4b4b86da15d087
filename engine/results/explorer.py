"""The explorer of a run: what all analyses contribute, and the sampled inputs with their maps."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from ...analyses.comparison.findings import kinds_findings
from ...analyses.comparison.results import Comparison
from ...analyses.contract import OptionSet, Titles
from ...analyses.shared.input_sample import MOST_ROWS, InputSample
from ...analyses.shared.sampled_input import SampledInput
from ...corpora_loaders.describing import amount
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import (
    CAUSAL_NOTE,
    Card,
    EncodedMap,
    Explorer,
    Measure,
    Sample,
    SampledSentence,
    Writing,
    deflate,
)
from ...reports.explorer.references import Values
from ...reports.finding import Finding
from ...reports.format import head_name
from .part import Part

MOST_FINDINGS = 10
"""The number of findings at the top of the page."""

_BYTES_PER_CELL = 0.75
"""The bytes in the page of one cell of a map, with its share of the guesses; for the demo, they are 0.79. A little more
is kept than fits, so that little space stays empty."""

SPREAD = 60
"""The number of inputs that are kept from as many documents as possible, whatever their length, unless a number is
asked for."""


_ByKind = dict[str, tuple[InputSample, SampledInput]]
Contributions = Sequence[tuple[Part, Contribution]]
"""What each part of a run adds to the explorer, for the parts that add anything."""


def contributions_of(parts: Sequence[Part], options: OptionSet) -> Contributions:
    """Return what the analyses add to the explorer, from their counts alone."""
    contributed: list[tuple[Part, Contribution]] = []
    for part in parts:
        with part.name_analysis("explored()"):
            contribution = part.analysis.explored(options, part.counts, part.results, part.kind)
        if contribution is not None:
            contributed.append((part, contribution))
    return contributed


def findings_of(contributed: Contributions, contrasts: Comparison | None, most: int) -> tuple[Finding, ...]:
    """Return the most important findings of a run, those about its kinds of maps first."""
    findings = [tuple(kinds_findings(contrasts))] if contrasts else []  # a run of several kinds was made for these
    return _findings([*findings, *(contribution.findings for _, contribution in _of_first_kinds(contributed))], most)


def _of_first_kinds(contributed: Contributions) -> Contributions:
    """Return what is about the first kind of map of each analysis, as findings and summaries are."""
    by_analysis: dict[str, tuple[Part, Contribution]] = {}
    for part, contribution in contributed:
        by_analysis.setdefault(part.analysis.name, (part, contribution))
    return list(by_analysis.values())


def explorer_of(
    contributed: Contributions,
    titles: Titles,
    record: Mapping[str, Any],
    samples: Mapping[str, InputSample],
    contrasts: Comparison | None = None,
) -> Explorer:
    """Make the explorer of a run, from its counts alone."""
    contributions = [contribution for _, contribution in contributed]
    measures = [measure for contribution in contributions for measure in contribution.measures]
    predictions = [prediction for contribution in contributions for prediction in contribution.predictions]
    n_layers = int(record["model"]["layers"])
    causal = bool(record["model"].get("causal"))  # runs that 0.2 counted, and 0.3 stored again, do not say it
    n_heads = max((len(measure.values) // n_layers for measure in measures), default=int(record["model"]["heads"]))
    sample = _sample(samples, n_layers, n_heads, causal=causal)
    shown_ids = {sentence.id for sentence in sample.sentences} if sample else set()
    return Explorer(
        model=titles.model,
        corpus=titles.corpus,
        unit=str(record["corpus"]["unit"]),
        layers=n_layers,
        heads=n_heads,
        causal=causal,
        measures=tuple(_for_all_heads(measure, n_layers, n_heads) for measure in measures),
        references=tuple(reference for contribution in contributions for reference in contribution.references),
        cards=_cards(contributed, _of_first_kinds(contributed), n_layers, n_heads),
        findings=findings_of(contributed, contrasts, MOST_FINDINGS),
        ensembles=tuple(ensemble for contribution in contributions for ensemble in contribution.ensembles),
        predictions=tuple(prediction for prediction in predictions if prediction.sentence in shown_ids),
        sample=sample,
        undrawn=_explain_absence(list(samples.values()), str(record["corpus"]["unit"])),
    )


def cells_to_fill(n_layers: int, n_heads: int, n_kinds: int) -> int:
    """Return the number of cells of one head's map of one kind that fill the page, all inputs together."""
    return round(most_bytes(n_layers, n_heads) / _BYTES_PER_CELL / (n_layers * n_heads * n_kinds))


def most_bytes(n_layers: int, n_heads: int) -> int:
    """Return the number of bytes that the maps and guesses of all sampled inputs may take in the page."""
    # A model of the usual size, such as BERT-base, has 144 heads. The page of a larger model may be larger.
    return 5_000_000 if n_layers * n_heads <= 144 else 12_000_000


def _for_all_heads(measure: Measure, n_layers: int, n_heads: int) -> Measure:
    """Return a measure with a value for each head; those of a map that all heads of a layer share are repeated."""
    if len(measure.values) == n_layers * n_heads:
        return measure
    values = _repeat(measure.values, n_heads) or ()
    low, high = _repeat(measure.low, n_heads), _repeat(measure.high, n_heads)
    note = f"{measure.note} All heads of a layer share one map."
    return replace(measure, values=values, low=low, high=high, note=note)


def _repeat(values: Values | None, times: int) -> Values | None:
    """Return the values, each a number of times in sequence; None if there are none."""
    return None if values is None else tuple(value for value in values for _ in range(times))


def _findings(of_analyses: Sequence[Sequence[Finding]], most: int) -> tuple[Finding, ...]:
    """Return the most important findings of each analysis. Each gives its first before any gives its second."""
    in_turn = [finding for findings in zip_longest(*of_analyses) for finding in findings if finding is not None]
    kept = {id(finding) for finding in in_turn[:most]}  # by identity, as findings may be equal
    return tuple(finding for findings in of_analyses for finding in findings if id(finding) in kept)


def _cards(contributed: Contributions, first_kinds: Contributions, n_layers: int, n_heads: int) -> tuple[Card, ...]:
    """Return a card for each head, with what all analyses say about it, and a summary of the first kinds of maps."""
    contributions = [contribution for _, contribution in contributed]
    several_kinds = len({part.kind for part, _ in contributed if part.kind is not None}) > 1
    cards = []
    for name in (head_name(layer, head) for layer in range(1, n_layers + 1) for head in range(1, n_heads + 1)):
        phrases = []
        for part, contribution in first_kinds:
            # With one kind of map, its name in every phrase would tell nothing.
            note = f" (map {part.kind})" if several_kinds and part.kind is not None else ""
            phrases += [phrase + note for phrase in contribution.phrases.get(name, ())]
        facts = [fact for contribution in contributions for fact in contribution.facts.get(name, ())]
        nearest = next((each.nearest[name] for each in contributions if name in each.nearest), ())
        profile = next((each.profiles[name] for each in contributions if name in each.profiles), None)
        summary = f"Head {name} {'; it '.join(phrases)}." if phrases else f"No analysis singles out head {name}."
        cards.append(Card(name, summary, tuple(facts), nearest, profile))
    return tuple(cards)


def _sample(samples: Mapping[str, InputSample], n_layers: int, n_heads: int, *, causal: bool) -> Sample | None:
    """Return the sampled inputs, as many as the page has room for; None if none were kept.

    The names of the samples have the set of inputs and the kind of map, with a slash between them.
    """
    sets: dict[str, dict[str, InputSample]] = {}  # for each set of inputs: the samples by the kind of map
    for name, metric in samples.items():
        if metric.n_layers == n_layers and metric.n_heads in (1, n_heads):
            name_of_set, _, kind = name.partition("/")
            sets.setdefault(name_of_set, {})[kind] = metric
    kinds = {kind: metric for samples_of_set in sets.values() for kind, metric in samples_of_set.items()}
    of_all_sets = [metric for samples_of_set in sets.values() for metric in samples_of_set.values()]
    if not any(metric.compute() or metric.texts() for metric in of_all_sets):
        return None
    # The first input of each set comes before the second of any, so that all sets have their share of the page.
    in_turn = chain.from_iterable(zip_longest(*map(_inputs_with_all_maps, sets.values())))
    inputs = [maps_by_kind for maps_by_kind in in_turn if maps_by_kind is not None]
    used_bytes = 0
    sentences: list[SampledSentence] = []
    for maps_by_kind in inputs:
        named = {kind: (metric.guesses, sampled) for kind, (metric, sampled) in maps_by_kind.items()}
        sentence = sampled_sentence(named, n_heads)
        size = sum(map(len, [*(encoded.data for encoded in sentence.maps.values()), *sentence.guesses.values()]))
        if sentences and used_bytes + size > most_bytes(n_layers, n_heads):
            continue  # a shorter input may still fit
        used_bytes += size
        sentences.append(sentence)
    texts = _texts(sets.values(), {(sentence.document, sentence.id) for sentence in sentences}, n_heads)
    of_first_kind = [next(iter(samples_of_set.values())) for samples_of_set in sets.values()]
    notes = [*_notes(of_first_kind, sentences, len(inputs), len(texts)), *([CAUSAL_NOTE] if causal else [])]
    return Sample(
        kinds=tuple(kinds),
        note=" ".join(notes),
        sentences=(*sentences, *texts),
        layer_kinds=tuple(kind for kind, metric in kinds.items() if metric.n_heads < n_heads),
        share_kinds=tuple(kind for kind, metric in kinds.items() if metric.unit),
    )


def _texts(
    sets: Iterable[Mapping[str, InputSample]], shown: Container[tuple[str | None, str]], n_heads: int
) -> list[SampledSentence]:
    """Return the inputs without maps that are not shown with their maps."""
    texts = []
    for samples in sets:
        for by_kind in _inputs_of_all_kinds(samples, InputSample.texts):
            named = {kind: (metric.guesses, sampled) for kind, (metric, sampled) in by_kind.items()}
            text = sampled_sentence(named, n_heads)
            if (text.document, text.id) not in shown:
                texts.append(text)
    return texts


def _notes(
    samples: Sequence[InputSample], shown: Sequence[SampledSentence], stored: int, n_texts: int = 0
) -> Iterator[str]:
    """Yield sentences on which inputs are shown, given the samples of one kind of map and how many are stored.

    Args:
        samples: the samples of one kind of map.
        shown: the inputs that are shown with their maps.
        stored: how many inputs are stored with their maps.
        n_texts: how many inputs are shown without maps.
    """
    read = sum(int(metric.inputs) for metric in samples)
    spread = sum(metric.size for metric in samples)  # how many are from as many documents as possible
    if read == len(shown):
        yield f"All {read:,} inputs." if read > 1 else "The only input."
    elif shown or not n_texts:
        of_documents = "from as many documents as possible"
        if spread < sum(metric.compute() for metric in samples):
            of_documents += f" ({spread:,} of them) and then by these hashes alone"
        yield f"{len(shown):,} of {read:,} inputs, sampled by a hash of their ids {of_documents}."
        if names := sorted({case.name for sentence in shown for case in sentence.cases}):
            yield f"Inputs with a case of {' or '.join(names)} come first."
    yield "Values are rounded to 255 levels; guesses are stored exactly."
    if too_long := sum(int(metric.too_long) for metric in samples):
        how = " with their maps" if n_texts else ""
        yield f"Inputs of more than {MOST_ROWS} words are not stored{how}: {too_long:,}."
    if n_texts:
        inputs = amount(n_texts, "inputs are", "input is")
        yield f"{inputs} shown as running text, without maps, from documents that are sampled by a hash of their ids."
    if left_out := stored - len(shown):
        inputs = amount(left_out, "further inputs that were", "further input that was")
        yield f"The page has no space for {inputs} stored."


def _explain_absence(samples: Sequence[InputSample], unit: str) -> str:
    """Say why no input is drawn if all have too many words, as whole documents have."""
    if any(metric.texts() for metric in samples):
        return ""
    if samples and all(int(metric.too_long) == int(metric.inputs) > 0 for metric in samples):
        return f"No example is drawn, because all {unit} have more than {MOST_ROWS} words."
    return ""


def _inputs_with_all_maps(samples: Mapping[str, InputSample]) -> Iterator[_ByKind]:
    """Yield each input with its maps of all kinds, given the sample of each kind. All have drawn the same inputs."""
    return _inputs_of_all_kinds(samples, InputSample.sort_inputs)


def _inputs_of_all_kinds(
    samples: Mapping[str, InputSample], inputs_of: Callable[[InputSample], list[SampledInput]]
) -> Iterator[_ByKind]:
    """Yield each input with what is kept of it for all kinds of maps."""
    inputs: dict[bytes, _ByKind] = {}  # by the text and annotation of the input
    for kind, metric in samples.items():
        for sampled in inputs_of(metric):
            inputs.setdefault(sampled.annotation.encode(), {})[kind] = metric, sampled
    yield from (by_kind for by_kind in inputs.values() if len(by_kind) == len(samples))


def sampled_sentence(by_kind: Mapping[str, tuple[Sequence[str], SampledInput]], n_heads: int) -> SampledSentence:
    """Return an input for the page.

    Args:
        by_kind: for each kind of map, the names of the guesses and the input with its maps.
        n_heads: the number of heads of each layer of the model.
    """
    _, of_first_kind = next(iter(by_kind.values()))
    annotation = of_first_kind.annotation  # that of all kinds
    annotated = {field.name: getattr(annotation, field.name) for field in fields(annotation)}
    annotated["file"] = Path(annotation.file or "").name
    maps, guesses = {}, {}
    for kind, (names, sampled) in by_kind.items():
        n_layers, n_stored, *_ = sampled.shape
        for index, name in enumerate(names):
            times = 1 if sampled.has_maps else n_heads // n_stored  # without maps, guesses are those of all heads
            guesses[f"{kind}/{name}"] = deflate(sampled.guesses(index, times))
        if not sampled.has_maps:
            continue
        # Maps that all heads of a layer share are stored as those of its first head.
        heads_stored = tuple(range(0, n_layers * n_heads, n_heads)) if n_stored < n_heads else None
        maps[kind] = EncodedMap(deflate(sampled.maps), sampled.scales, heads_stored)
    writing = [Writing.of(annotation.rows, annotation.special)]
    if annotation.columns is not None:
        writing.append(Writing.of(annotation.columns, annotation.special_columns or ()))
    return SampledSentence(**annotated, writing=tuple(writing), maps=maps, guesses=guesses)

"""What a page shows of runs that stand beside each other: the heads of each, on the same sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..reports.explorer.data import Explorer, Sample, SampledSentence
from .compared_run import ComparedRun
from .results.explorer import most_bytes


def explorers_of(runs: Mapping[str, ComparedRun]) -> tuple[Explorer, ...]:
    """Return the data of the slots of a page, one for each run that has heads, if there are at least two of them.

    The page says what was found by comparing the runs, and not what was found in each of them.
    """
    made = {name: run.explorer() for name, run in runs.items() if run.explorer is not None}
    shown = {name: explorer for name, explorer in made.items() if explorer.measures or explorer.sample}
    explorers = [replace(explorer, label=name, findings=()) for name, explorer in shown.items()]
    return _on_the_same_sentences(explorers) if len(explorers) > 1 else ()


def _on_the_same_sentences(explorers: Sequence[Explorer]) -> tuple[Explorer, ...]:
    """Return runs with the sentences that the samples of all have, as many as the page of one run has space for.

    Samples that have no sentence in common keep their own ones, and share the space.
    """
    samples = [explorer.sample for explorer in explorers if explorer.sample is not None]
    by_id = [{sentence.id: sentence for sentence in sample.sentences} for sample in samples]
    common = [name for name in by_id[0] if all(name in sentences for sentences in by_id)] if by_id else []
    space = max(most_bytes(explorer.layers, explorer.heads) for explorer in explorers)
    if common and len(samples) == len(explorers):
        n_fitting = _fitting([sum(_size(sentences[name]) for sentences in by_id) for name in common], space)
        chosen = [set(common[:n_fitting])] * len(explorers)
    else:
        chosen = []
        for explorer in explorers:
            own = explorer.sample.sentences if explorer.sample else ()
            n_fitting = _fitting([_size(sentence) for sentence in own], space // len(explorers))
            chosen.append({sentence.id for sentence in own[:n_fitting]})
    return tuple(_restrict(explorer, names) for explorer, names in zip(explorers, chosen, strict=True))


def _size(sentence: SampledSentence) -> int:
    """Return the number of characters that the maps and guesses of a sentence take in the page."""
    return sum(len(stored.data) for stored in sentence.maps.values()) + sum(map(len, sentence.guesses.values()))


def _fitting(sizes: Sequence[int], space: int) -> int:
    """Return how many of the first sentences fit, at least one."""
    total = 0
    for n_before, size in enumerate(sizes):
        total += size
        if total > space:
            return max(1, n_before)
    return len(sizes)


def _restrict(explorer: Explorer, names: set[str]) -> Explorer:
    """Return a run with these sentences alone."""
    sample = explorer.sample
    if sample is None or len(names) == len(sample.sentences):
        return explorer
    sentences = tuple(sentence for sentence in sample.sentences if sentence.id in names)
    note = f"{sample.note} Here are {len(sentences)} of them, as this page has more than one run."
    predictions = tuple(each for each in explorer.predictions if each.sentence in names)
    restricted = Sample(sample.kinds, note, sentences, sample.layer_kinds, sample.share_kinds)
    return replace(explorer, sample=restricted, predictions=predictions)

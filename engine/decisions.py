"""What heads decide, word by word: the rows of ``--decisions``, whose sums are the counts of the tables.

The words, the gold heads and the verdicts are those that are counted (`head_guesses`), so a sum of ``right`` over the
words of a relation is the number in ``dependency.csv``. The concordance of a page reads maps in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from torch import Tensor

from ..analyses.contract import OptionError
from ..analyses.dependency.analysis import Dependency
from ..analyses.dependency.decisions import head_guesses, word_positions
from ..analyses.dependency.options import DecisionOptions, DependencyOptions
from ..analyses.dependency.picks import PICKS, relationships
from ..analyses.dependency.rows import DependencyResults
from ..analyses.shared.options import FeedForwardOptions, MapOptions, map_makers
from ..analyses.shared.picks import READINGS
from ..corpora_loaders import AttentionologyError, Corpus, Sentence, coarse_relation, treebank_of
from ..corpora_loaders.tree import counted_relations, plain_relation
from ..extractors import DIRECTIONS, AnyModel, Encoder, MapBatch, MapMaker
from ..storage.writing import amount
from .counting.passes import Limits, reader_of
from .read_again import corpus_of, model_of, rows_of
from .results.run import Run

DECISIONS = "decisions"
"""The name of the table."""

MOST_ROWS = 2_000_000
"""The largest number of decisions that are put into one table, about 2 GB of memory."""

COLUMNS = {
    "map": "the kind of map",
    "layer": "the layer of the head, from 1",
    "head": "its number in the layer, from 1",
    "direction": "the direction in which attention is read",
    "file": "the file of the sentence",
    "sentence": "the id of the sentence",
    "document": "the id of the document",
    "length": "the number of words of the sentence",
    "word": "the number of the word, from 1",
    "form": "the word",
    "lemma": "its lemma",
    "upos": "its part of speech (UPOS)",
    "feats": "its morphological features",
    "relation": "its relation, as it is counted",
    "gold": "the number of its syntactic head, 0 for the root",
    "gold_form": "the syntactic head",
    "gold_upos": "the part of speech of the head",
    "picked": "the number of the word that is picked; empty in a sentence of one word",
    "picked_form": "the word that is picked",
    "picked_upos": "its part of speech",
    "right": "1 if the syntactic head is picked, otherwise 0",
    "weight_picked": "the value of the map for the word that is picked",
    "weight_gold": "the value for the syntactic head",
    "margin": "the difference between the value of the picked word and the next largest one",
    "rank_gold": "how many words have a larger value than the syntactic head, plus 1",
    "distance_gold": "the distance from the word to its head; +1 is the next word",
    "distance_picked": "the distance to the word that is picked",
    "rule": "the number of the word that the best fixed distance of the relation picks",
    "rule_right": "1 if that is the syntactic head, otherwise 0",
    "mistake": "what a wrong pick is to the word, as in dependency_picks.csv; empty if it is right",
}
"""The columns of a table of decisions, each with what it holds."""

_NO_DEPENDENCY = "decisions are those of the analysis dependency, which this run does not have"
_GIVE = "give what the run has read: run.decisions(…, model=…, corpus=…)"

HeadRead = tuple[int, int, str]
"""A head, both numbers from 1, and the direction in which it is read."""


def select_heads(batch: MapBatch, heads: Sequence[tuple[int, int]]) -> MapBatch:
    """Return the maps of some heads, layer and number from 0, as those of one layer.

    If all heads of a layer share a map, that map stands for each of them.
    """
    layers, numbers = zip(*[(layer, min(head, batch.maps.shape[2] - 1)) for layer, head in heads], strict=True)
    last = max(layers) + 1

    def recompute(indices: Sequence[int], _first_layers: int | None = None) -> list[Tensor]:
        """Return the same heads in float64, of which there is always one layer, whatever the first layers."""
        return [exact[list(layers), list(numbers)][None] for exact in batch.exact(indices, last)]

    return replace(batch, maps=batch.maps[:, list(layers), list(numbers)][:, None], recompute=recompute)


def read_as(values: Any, direction: str) -> Any:
    """Return a map of words as it is read: each row has the values of all words for one word."""
    return {"dep->head": values, "head->dep": values.T, "both": values + values.T}[direction]


def decisions_of(
    run: Run, names: Sequence[str], model: Encoder, corpus: Corpus, maps: Sequence[MapMaker], limits: Limits
) -> pd.DataFrame:
    """Return one row for each word, head, direction and kind of map, in the order of the corpus; see `COLUMNS`.

    Args:
        run: the run, whose results say which heads are best.
        names: heads such as ``8-10``, in all directions that were counted, or ``best``, the best head of each row of
            ``dependency_best.csv``, in the direction in which it is best.
        model, corpus, maps, limits: with which the run was made.

    Raises:
        OptionError: the run has not counted dependencies of basic trees, the model has no such head, or there would be
            too many rows.
    """
    options = DecisionOptions(tuple(names))
    options.check()
    options.check_heads(model.n_layers, model.n_heads)
    parts = {part.kind: part.results for part in run.parts if isinstance(part.results, DependencyResults)}
    makers = [maker for maker in maps if str(maker.kind) in parts]
    if not makers:
        raise OptionError(_NO_DEPENDENCY)
    chosen = {str(maker.kind): _choose_heads(parts[str(maker.kind)], names) for maker in makers}
    _check_size(corpus, chosen)
    coarse = run.options[DependencyOptions].coarse
    tables = []
    for maker in makers:
        kind = str(maker.kind)
        offsets: dict[str, int] = dict(parts[kind].best[["relation", "offset"]].itertuples(index=False))
        tables += _of_map(reader_of(model, limits)(corpus, maker), kind, chosen[kind], offsets, coarse=coarse)
    if not tables:
        return pd.DataFrame(columns=list(COLUMNS))
    table = pd.concat(tables, ignore_index=True)
    whole = dict.fromkeys(("gold", "picked", "rank_gold", "distance_gold", "distance_picked", "rule"), "Int64")
    return table.astype(whole)[list(COLUMNS)]


def decisions_again(
    run: Run, names: Sequence[str], *, model: AnyModel | None = None, corpus: Iterable[Sentence] | None = None
) -> pd.DataFrame:
    """Return the decisions of a stored run, see `decisions_of`, which reads its files and loads its model again.

    Args:
        run, names: the run and the names of heads.
        model, corpus: what the run has read, in place of what its record names.

    Raises:
        OptionError: as `decisions_of`, or what is read is not what the run has read.
    """
    record, chosen = run.record, [part.analysis.name for part in run.parts]
    if Dependency.name not in chosen:
        raise OptionError(_NO_DEPENDENCY)
    try:
        read = corpus_of(record, rows_of(chosen)) if corpus is None else as_corpus(corpus)
        encoder = model_of(record, model)
    except (AttentionologyError, OSError) as error:
        raise OptionError(f"{error}; {_GIVE}") from error
    counts, expected = read.counts(), record["corpus"]["counts"]
    for unit in ("sentences", "words"):
        if counts[unit] != expected[unit]:
            raise OptionError(
                f"the corpus has {amount(counts[unit], unit)}, and this run has read {expected[unit]:,}; {_GIVE}"
            )
    kinds, options = run.options[MapOptions], record["options"]
    ff_bias = run.options[FeedForwardOptions].ff_bias
    makers = map_makers(kinds.map, kinds.merge, kinds.normalize, ff_bias)
    limits = Limits.of(encoder, options.get("batch_cells"), options.get("too_long", "skip"), options.get("max_length"))
    return decisions_of(run, names, encoder, read, makers, limits)


def as_corpus(corpus: Iterable[Sentence]) -> Corpus:
    """Return a corpus as it is, and sentences as a treebank."""
    return corpus if isinstance(corpus, Corpus) else treebank_of(corpus)


def _choose_heads(results: DependencyResults, names: Sequence[str]) -> list[HeadRead]:
    """Return the heads that names stand for, each with its directions, in the order of heads."""
    if results.trees != "basic":
        raise OptionError("--decisions needs basic trees, with one head each; leave out --trees and --pairs")
    found: set[HeadRead] = set()
    for name in names:
        if name == "best":
            best = results.best[results.best["total"] > 0]
            found |= set(best[["layer", "head", "direction"]].itertuples(index=False, name=None))
        else:
            layer, head = map(int, name.split("-"))
            found |= {(layer, head, direction) for direction in results.cells["direction"].unique()}
    return sorted((int(layer), int(head), str(direction)) for layer, head, direction in found)


def _check_size(corpus: Corpus, chosen: Mapping[str, Sequence[HeadRead]]) -> None:
    """Raise `OptionError` if the table would be too large, before the model reads anything."""
    heads, words = sum(map(len, chosen.values())), corpus.counts()["words"]
    if words * heads > MOST_ROWS:
        raise OptionError(
            f"--decisions: {heads:,} heads in their directions and {words:,} words are {words * heads:,} rows, and at "
            f"most {amount(MOST_ROWS, 'rows')} are written; name fewer heads, or read part of the corpus (--limit)"
        )


def _of_map(
    batches: Iterable[MapBatch], kind: str, chosen: Sequence[HeadRead], offsets: Mapping[str, int], *, coarse: bool
) -> list[pd.DataFrame]:
    """Return the decisions of one kind of map: a table for each head, in the order of the corpus."""
    heads = list(dict.fromkeys((layer - 1, head - 1) for layer, head, _ in chosen))
    n_readings = len(READINGS) if any(direction == "both" for _, _, direction in chosen) else len(DIRECTIONS)
    of_sentences: list[tuple[int, list[dict[str, list[Any]]]]] = []  # the index of each, and the columns of each head
    name_of: Callable[[str], str] = coarse_relation if coarse else str
    for batch in batches:
        of_heads = select_heads(batch, heads)
        guesses = head_guesses(of_heads, n_readings)[:, :, 0].numpy()  # sentence, reading, head, place
        position = word_positions(of_heads).numpy()
        for row, sentence in enumerate(batch.sentences):
            places = position[row, : len(sentence)]
            values = of_heads.maps[row, 0].cpu().numpy().astype(np.float64)[:, places[:, None], places]
            common = _of_words(sentence, offsets, name_of)
            if not common["word"]:
                continue
            word_at = {int(place): word for word, place in enumerate(places)}
            by_head = []
            for layer, head, direction in chosen:
                index = heads.index((layer - 1, head - 1))
                at_places = guesses[row, READINGS.index(direction), index, places]
                picked = np.array([word_at.get(int(place), -1) for place in at_places])
                by_head.append(common | _of_head(sentence, common, picked, read_as(values[index], direction)))
            of_sentences.append((batch.indices[row], by_head))
    of_sentences.sort(key=lambda each: each[0])
    tables = []
    for number, (layer, head, direction) in enumerate(chosen):
        named: dict[str, Any] = {"map": kind, "layer": layer, "head": head, "direction": direction}
        columns = [by_head[number] for _, by_head in of_sentences]
        if columns:
            joined = {name: [cell for of_one in columns for cell in of_one[name]] for name in columns[0]}
            tables.append(pd.DataFrame(joined).assign(**named))
    return tables


def _of_words(sentence: Sentence, offsets: Mapping[str, int], name_of: Callable[[str], str]) -> dict[str, list[Any]]:
    """Return the columns that do not depend on the head, of all words that have a syntactic head."""
    scored = [index for index, head in enumerate(sentence.heads) if head is not None]
    n = len(scored)
    relations = counted_relations(sentence)
    counted = [plain_relation(name_of(relations[index])) for index in scored]
    gold = [int(sentence.heads[index] or 0) for index in scored]
    by_distance = [offsets.get(relation, offsets.get("all")) for relation in counted]
    rule = [
        None if offset is None else min(max(index + 1 + int(offset), 1), len(sentence))
        for index, offset in zip(scored, by_distance, strict=True)
    ]

    def column(values: Sequence[str]) -> list[str | None]:
        return [values[index] if values and values[index] != "_" else None for index in scored]

    return {
        "file": [Path(sentence.file).name if sentence.file else None] * n,
        "sentence": [sentence.id] * n,
        "document": [sentence.document] * n,
        "length": [len(sentence)] * n,
        "word": [index + 1 for index in scored],
        "form": [sentence.words[index] for index in scored],
        "lemma": column(sentence.lemmas),
        "upos": column(sentence.tags),
        "feats": column(sentence.feats),
        "relation": counted,
        "gold": gold,
        "gold_form": [sentence.words[head - 1] if head else None for head in gold],
        "gold_upos": [sentence.tags[head - 1] if head and sentence.tags else None for head in gold],
        "distance_gold": [head - index - 1 if head else None for index, head in zip(scored, gold, strict=True)],
        "rule": rule,
        "rule_right": [int(guess == head) for guess, head in zip(rule, gold, strict=True)],
    }


def _of_head(
    sentence: Sentence, common: Mapping[str, list[Any]], picks: npt.NDArray[Any], values: npt.NDArray[np.float64]
) -> dict[str, list[Any]]:
    """Return the columns of what a head picks, given its pick for each word of the sentence, −1 if there is none."""
    related = relationships(sentence)
    others = values.copy()
    np.fill_diagonal(others, -np.inf)
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS if name not in common and name not in _OF_HEAD}
    for number, gold in zip(common["word"], common["gold"], strict=True):
        word, pick = number - 1, int(picks[number - 1])
        weight_gold = float(values[word, gold - 1]) if gold else None
        is_right = gold > 0 and pick == gold - 1
        is_there = pick >= 0
        best_other = max((float(v) for c, v in enumerate(others[word]) if c not in (word, pick)), default=None)
        columns["picked"].append(pick + 1 if is_there else None)
        columns["picked_form"].append(sentence.words[pick] if is_there else None)
        columns["picked_upos"].append(sentence.tags[pick] if is_there and sentence.tags else None)
        columns["right"].append(int(is_right))
        columns["weight_picked"].append(_digits(values[word, pick]) if is_there else None)
        columns["weight_gold"].append(None if weight_gold is None else _digits(weight_gold))
        has_margin = is_there and best_other is not None
        columns["margin"].append(_digits(values[word, pick] - best_other) if has_margin else None)
        columns["rank_gold"].append(None if weight_gold is None else 1 + int((others[word] > weight_gold).sum()))
        columns["distance_picked"].append(pick - word if is_there else None)
        kind = "none" if not is_there else "out of reach" if weight_gold == 0 else PICKS[related[word, pick]]
        columns["mistake"].append(None if is_right else kind)
    return columns


_OF_HEAD = ("map", "layer", "head", "direction")


def _digits(value: float) -> float:
    """Return a number with six digits, as many as float32 has."""
    return float(f"{value:.6g}")

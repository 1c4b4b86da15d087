"""The run: sentence pairs and gold links → maps of cross-attention → counts → tables.

One pass of forced decoding serves all series: weights and norms, in both settings, of single heads and of all heads of
a layer together. For all heads together, the weight is the mean over heads, and the norm is that of the sum of the
heads' vectors (Kobayashi et al. 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attentionology.analyses.alignment.accuracy import AlignmentAccuracy, AlignmentCounts, Array
from attentionology.analyses.alignment.baselines import BASELINES
from attentionology.analyses.alignment.decisions import aligned_words, averaged_heads, best_columns
from attentionology.analyses.alignment.options import AlignmentOptions, BitextOptions
from attentionology.analyses.alignment.scores import score_links
from attentionology.analyses.alignment.tables import TOGETHER, AlignmentTables, Series, tables
from attentionology.analyses.shared.builtin import SAMPLE
from attentionology.corpora_loaders.alignment import Bitext, Link, LinkFile, load_bitext, load_links
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.sample.translation import SAMPLE_GOLD, SAMPLE_PAIRS
from attentionology.extractors import DEFAULT_BATCH_CELLS, ExtractionLog, MapBatch
from attentionology.extractors.translation import CrossMapMaker, Translator, extract_cross
from attentionology.extractors.translation.merging import AlignmentSetting

SETTINGS: tuple[AlignmentSetting, ...] = ("AWI", "AWO")
SINGLE = "single"


@dataclass(frozen=True)
class AlignmentInputs:
    """What is read before a model runs.

    Attributes:
        bitext: the sentence pairs.
        gold: their gold links.
        hypotheses: the links of other systems, by name.
    """

    bitext: Bitext
    gold: LinkFile
    hypotheses: Mapping[str, LinkFile]


@dataclass(frozen=True, eq=False)
class AlignmentResults:
    """What the analysis found.

    Attributes:
        tables: all tables.
        controls: the table of best layers and heads of each copy with random weights.
        links: for all heads together, the links of each pair in the layer with the lowest error rate.
        chosen: the series and the layer (0-based) that ``links`` are of.
        log: what the model read, and what it skipped.
    """

    tables: AlignmentTables
    controls: Sequence[AlignmentTables]
    links: Mapping[str, tuple[Link, ...]]
    chosen: tuple[Series, int]
    log: ExtractionLog


def read_inputs(options: BitextOptions) -> AlignmentInputs:
    """Read the sentence pairs, the gold links, and the links of other systems.

    Raises:
        OptionError: an option cannot be used.
        CorpusError: a file cannot be read, or does not belong to the sentence pairs.
    """
    options.check()
    is_sample = options.source == SAMPLE
    bitext = load_bitext(SAMPLE_PAIRS if is_sample else options.source, options.target, limit=options.limit)
    gold = load_links(SAMPLE_GOLD if is_sample else str(options.gold), bitext, one_based=options.one_based)
    if not any(pair.sure for pair in gold.links):
        raise CorpusError("the gold links have no sure link", file=gold.path)
    named = (given.partition("=")[::2] for given in options.baseline)
    return AlignmentInputs(bitext, gold, {name: load_links(path, bitext) for name, path in named})


def align(inputs: AlignmentInputs, translator: Translator, options: AlignmentOptions) -> AlignmentResults:
    """Score the alignments of a translation model.

    Args:
        inputs: the sentence pairs with their links.
        translator: the model.
        options: the options of the analysis.

    Raises:
        OptionError: an option cannot be used.
        CorpusError: no pair could be read.
        ModelError: the model gives no cross-attention, or not one that its weights explain.

    Example:
        >>> from attentionology.analyses.alignment.options import AlignmentOptions, BitextOptions
        >>> from attentionology.extractors.translation import load_sample_translator
        >>> inputs = read_inputs(BitextOptions(limit=20))
        >>> results = align(inputs, load_sample_translator(), AlignmentOptions(replicates=0))
        >>> best = results.tables.best.set_index(["setting", "measure", "heads"])["error_rate"]
        >>> bool(best["AWI", "norm", "all"] < 0.15)
        True
    """
    options.check()
    log = ExtractionLog()
    counts, words = _count(inputs, translator, options, log)
    if not log.read:
        raise CorpusError(f"no sentence pair could be read ({log.reasons()})", file=inputs.bitext.files[0].path)
    gold = [pair for pair, known in zip(inputs.gold.links, inputs.bitext.pairs, strict=True) if known.id in words]
    read = [pair for pair in inputs.bitext.pairs if pair.id in words]
    baselines = {name: score_links([link(pair) for pair in read], gold) for name, link in BASELINES.items()}
    for name, file in inputs.hypotheses.items():
        links = [
            pair.possible for pair, known in zip(file.links, inputs.bitext.pairs, strict=True) if known.id in words
        ]
        baselines[name] = score_links(links, gold)
    controls = []
    for copy in range(options.controls):
        random = translator.random_init(options.seed + copy)
        controls.append(tables(_count(inputs, random, options, ExtractionLog())[0], {}))
    together = {series: counted for series, counted in counts.items() if series.heads == TOGETHER}
    chosen = min(
        ((series, layer) for series, counted in together.items() for layer in range(counted.links.shape[1])),
        key=lambda place: float(np.nan_to_num(together[place[0]].error_rates()[0, place[1], 0], nan=np.inf)),
    )
    return AlignmentResults(
        tables=tables(counts, baselines),
        controls=tuple(controls),
        links={name: _links(of_series[chosen[0]][chosen[1]]) for name, of_series in words.items()},
        chosen=chosen,
        log=log,
    )


def _count(
    inputs: AlignmentInputs, translator: Translator, options: AlignmentOptions, log: ExtractionLog
) -> tuple[dict[Series, AlignmentCounts], dict[str, dict[Series, Array]]]:
    """Count all series in one pass, and keep the links of all heads together, for each pair: (layers, target words)."""
    makers = [
        CrossMapMaker(kind, setting, merge="norm" if kind == "weight" else options.merge)
        for setting in SETTINGS
        for kind in ("weight", "norm", "attn")
    ]
    gold = {pair.id: links for pair, links in zip(inputs.bitext.pairs, inputs.gold.links, strict=True)}
    metrics: dict[Series, AlignmentAccuracy] = {}
    words: dict[str, dict[Series, Array]] = {}
    batches = extract_cross(
        translator,
        inputs.bitext.pairs,
        makers,
        batch_cells=options.batch_cells or DEFAULT_BATCH_CELLS,
        too_long=options.too_long,
        log=log,
    )
    for of_makers in batches:
        for series, batch in _series(makers, of_makers):
            if series not in metrics:
                shape = tuple(batch.maps.shape[1:3])
                metrics[series] = AlignmentAccuracy(gold, *shape, replicates=options.replicates, seed=options.seed)
            best = best_columns(batch)
            metrics[series].update(batch, best)
            if series.heads == TOGETHER:
                for pair, linked in zip(batch.sentences, aligned_words(batch, best), strict=True):
                    words.setdefault(pair.id, {})[series] = linked[:, 0, : len(pair)].numpy().astype(np.int16)
    return {series: metric.compute() for series, metric in sorted(metrics.items())}, words


def _series(makers: Sequence[CrossMapMaker], batches: Sequence[MapBatch]) -> list[tuple[Series, MapBatch]]:
    series = []
    for maker, batch in zip(makers, batches, strict=True):
        if maker.kind == "weight":
            series.append((Series(maker.setting, "weight", TOGETHER), averaged_heads(batch)))
            series.append((Series(maker.setting, "weight", SINGLE), batch))
        else:
            series.append((Series(maker.setting, "norm", TOGETHER if maker.kind == "attn" else SINGLE), batch))
    return series


def _links(linked: Array) -> tuple[Link, ...]:
    return tuple((int(source), target) for target, source in enumerate(linked) if source >= 0)

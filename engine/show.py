"""`show` and `explore`: heads on sentences of one's own, drawn, or in the explorer of the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from ..analyses.contract import OptionError
from ..analyses.dependency.decisions import head_guesses
from ..analyses.shared.input_options import ExampleOptions, LimitOptions
from ..analyses.shared.options import MapOptions
from ..analyses.shared.picks import READINGS
from ..corpora_loaders import Corpus, CorpusError, Sentence, Texts, as_sentences
from ..corpora_loaders.treebank import with_unique_ids
from ..extractors import AnyModel, Encoder, MapBatch, MapMaker, as_encoder, extract_many, get_kind
from ..reports.explorer.view import ExplorerView
from ..reports.heads.figure import LAYOUTS, Layout
from ..reports.heads.view import HeadView, on_one_scale
from ..storage.nearest import did_you_mean
from ..storage.writing import amount
from .analyze import analyze
from .results.live import live_cells
from .shown_heads import Shown

Head = str | tuple[int, int]
"""A head: ``"3-9"`` or ``(3, 9)``, counted from 1."""

_HEAD = re.compile(r"([1-9][0-9]{0,3})-([1-9][0-9]{0,3})")


def show(
    model: AnyModel,
    text: Texts,
    *,
    head: Head | Sequence[Head] = (),
    maps: str | Sequence[str] | MapOptions = "weight",
    layout: Layout = "lines",
    special: bool = True,
    direction: str = "auto",
) -> Shown:
    """Draw heads on sentences, in the style of Clark et al. (2019), Figures 1 and 5.

    Args:
        model: a name, a folder, an encoder, or a model of transformers, see `attentionology.extractors.as_encoder`.
        text: one input or several, see `attentionology.corpora_loaders.as_sentences`: texts, lists of words, sentences,
            pairs of texts, or objects of other libraries. The gold heads of sentences with a tree are drawn, too.
        head: one head or several, as ``"3-9"`` or ``(3, 9)``, counted from 1. `explore` shows all heads.
        maps: the kinds of maps, see `attentionology.list_kinds`; each is drawn beside the others.
        layout: ``"lines"`` between two columns of words, or ``"arcs"`` over the words.
        special: whether special tokens are drawn.
        direction: how guesses are read: ``dep->head``, the other word that a word attends to most; ``head->dep``, the
            one that attends most to it; ``both``, the one with the largest sum; ``auto``, ``both`` for causal models,
            whose words attend to no later ones, and ``dep->head`` for all others.

    Returns:
        the drawing, which a notebook shows, `print` writes as text, and `Shown.save` writes to a file.

    Raises:
        OptionError: the model has no such head, or an option has an unknown value.
        CorpusError: a text has no words.
        ExtractionError: a text is longer than the model can read.
        ModelError: the model cannot be loaded, or cannot give maps of this kind.

    Example:
        >>> from attentionology import show
        >>> print(show("demo", "Cats sleep.", head=(3, 9), special=False))
        Head 3-9: Cats sleep.
          Cats   █           sleep 15%, Cats 12%, . 3%
          sleep  █           . 13%, sleep 3%, Cats 2%
          .      █           Cats 7%, sleep 5%, . 5%
    """
    if layout not in LAYOUTS:
        raise OptionError(f"the layout must be one of {', '.join(LAYOUTS)}, not {layout!r}")
    if direction not in ("auto", *READINGS):
        raise OptionError(f"the direction must be one of auto, {', '.join(READINGS)}, not {direction!r}")
    options = MapOptions.of(maps)
    options.check()
    sentences = list(as_sentences(text))
    if not sentences:
        raise OptionError("there is no sentence to show")
    encoder = as_encoder(model)
    heads = _pairs_of(encoder, head)
    if direction == "auto":
        direction = "both" if encoder.causal else "dep->head"
    views = tuple(on_one_scale(list(_views(encoder, sentence, heads, options, direction))) for sentence in sentences)
    return Shown(views, layout, encoder.name, special, encoder.causal)


def explore(
    text: Texts,
    *,
    model: AnyModel = "demo",
    maps: str | Sequence[str] | MapOptions = "weight",
    live: bool | None = None,
) -> ExplorerView:
    """Show what all heads of a model do on sentences, without a treebank.

    Args:
        text: one input or several, as in `show`.
        model: the model, as in `show`.
        maps: the kinds of maps, see `attentionology.list_kinds`.
        live: whether a cell of a notebook is a live page, on which you type further sentences. The kernel serves it on
            a free port of this machine, to pages of this machine alone, and the cell is a frame of it, which ends with
            the kernel. With False, the cell has what is stored, so that it is there when the notebook is opened again
            or converted, and takes megabytes. By default, it is live where the browser seems to be on the machine of
            the kernel.

    Returns:
        the explorer, which a notebook shows and `ExplorerView.save` writes to a page. Its sentences have the maps of
        all heads, in the order in which the sentences were given. Its measures say where heads attend in these
        sentences, see `attentionology.analyses.SurfaceStatistics`. It has no findings: they would be about a few
        sentences.

    Raises:
        OptionError: there is no sentence, all of them are longer than the explorer can draw, or an option has an
            unknown value.
        CorpusError: a text has no words.
        ExtractionError: a text is longer than the model can read.
        ModelError: the model cannot be loaded, or cannot give maps of this kind.

    Example:
        >>> from attentionology import explore
        >>> explore("The keys to the cabinet are on the table.")
        ExplorerView(all-MiniLM-L6-v2 on 1 sentence, 9 measures of 72 heads)
    """
    options = MapOptions.of(maps)
    sentences = with_unique_ids(as_sentences(text))
    if not sentences:
        raise OptionError("there is no sentence to explore")
    encoder = as_encoder(model)
    run = analyze(
        encoder,
        sentences,
        analyses="surface",
        options=[options, LimitOptions(too_long="error"), ExampleOptions(len(sentences))],
    )
    explorer = run.explorer()
    if explorer.sample is None:
        raise OptionError("none of the sentences is short enough to be drawn")
    # The sample has the sentences in the order of their hashes.
    order = {sentence.id: position for position, sentence in enumerate(sentences)}
    in_order = sorted(explorer.sample.sentences, key=lambda sentence: order[sentence.id])
    sample = replace(explorer.sample, sentences=tuple(in_order))
    explorer = replace(explorer, findings=(), sample=sample)
    cells = live_cells(live, run, encoder=encoder, explorer=explorer, corpus=Corpus(tuple(sentences)))
    return ExplorerView(explorer, "#special=on", cells)


def _pairs_of(encoder: Encoder, head: Head | Sequence[Head]) -> list[tuple[int, int]]:
    """Return one or several heads as pairs of layer and head that count from 1. The encoder must have them."""
    heads: Sequence[Any] = [head] if isinstance(head, str) or _is_pair(head) else head
    pairs = [_pair(each) for each in heads]
    if not pairs:
        raise OptionError('give at least one head, for example head="3-9"; explore(…) shows all heads')
    for layer, number in pairs:
        if layer > encoder.n_layers or number > encoder.n_heads:
            raise OptionError(
                f"there is no head {layer}-{number}: {encoder.name} has {amount(encoder.n_layers, 'layers')} with "
                f"{amount(encoder.n_heads, 'heads')} each"
            )
    if len(set(pairs)) < len(pairs):
        raise OptionError("a head is given twice")
    return pairs


def _is_pair(head: object) -> bool:
    """Whether a head is given as two numbers, such as (3, 9), not as text."""
    return isinstance(head, tuple) and len(head) == 2 and all(isinstance(number, int) for number in head)


def _pair(head: Any) -> tuple[int, int]:
    """Return layer and head of one head, counted from 1."""
    if isinstance(head, str) and (match := _HEAD.fullmatch(head)):
        return int(match[1]), int(match[2])
    if _is_pair(head) and min(head) >= 1:
        return head[0], head[1]
    raise OptionError(f"a head must be LAYER-HEAD, counted from 1, for example 3-9 or (3, 9), not {head!r}")


def find_sentences(corpus: Corpus, ids: Sequence[str]) -> list[Sentence]:
    """Return the sentences of a corpus with these ids, in the order of the ids."""
    wanted = set(ids)
    found = ((sentence.id, sentence) for sentence in corpus if sentence.id in wanted)
    by_id = dict(islice(found, len(wanted)))  # the rest of the corpus need not be read
    for name in ids:
        if name not in by_id:
            hint = did_you_mean(name, (sentence.id for sentence in islice(corpus, 10_000)), most=3)
            raise CorpusError(f"there is no sentence with the id {name!r}{hint}", file=corpus.files[0].path)
    return [by_id[name] for name in ids]


def _views(
    encoder: Encoder, sentence: Sentence, heads: Sequence[tuple[int, int]], options: MapOptions, direction: str
) -> Iterator[HeadView]:
    """Yield the heads on a sentence, each kind of map beside the others."""
    try:
        makers = [MapMaker(get_kind(kind), "word", options.merge, options.normalize) for kind in options.map]
    except ValueError as error:
        raise OptionError(str(error)) from None
    [batches] = extract_many(encoder, [replace(sentence, id="shown")], makers, too_long="error")  # one for each kind
    reading = READINGS.index(direction)
    guesses = [head_guesses(batch, len(READINGS))[0, reading].numpy() for batch in batches]
    first_heads = dict(reversed(heads))  # by layer; a map that all heads of a layer share is drawn for the first one
    for layer, head in heads:
        for batch, guessed in zip(batches, guesses, strict=True):
            if batch.maps.shape[2] > 1 or head == first_heads[layer]:
                yield replace(_view(batch, guessed, sentence, layer, head), direction=direction)


def _view(batch: MapBatch, guesses: npt.NDArray[np.int64], sentence: Sentence, layer: int, head: int) -> HeadView:
    """Return one head on a sentence; ``guesses`` has shape (layers, heads, words), −1 where there is none."""
    [(_, maps)] = batch.unpadded()  # of shape (layers, heads, words, words)
    n_words = maps.shape[-1]
    special = batch.special[0].tolist()[:n_words]
    has_heads = maps.shape[1] > 1
    place = layer - 1, head - 1 if has_heads else 0
    values: npt.NDArray[np.float64] = maps[place].astype("float64")
    guesses_of_head = guesses[place][:n_words].tolist()
    # The bound is far above what rounding does to the sums of weights, and far below what distinguishes norms.
    sums_to_one = bool((abs(values.sum(1) - 1) < 1e-3).all())

    # Heads in the sentence count its words from 1; those in the view are positions that count special tokens, too.
    gold: list[int | None] = []
    relations: list[str | None] = []
    if any(governor is not None for governor in sentence.heads):
        gold, relations = [None] * len(special), [None] * len(special)
        positions = [position for position, is_special in enumerate(special) if not is_special]
        for position, governor, relation in zip(positions, sentence.heads, sentence.relations, strict=True):
            if governor is not None:
                gold[position] = -1 if governor == 0 else positions[governor - 1]
            relations[position] = relation
    return HeadView(
        sentence.id,
        batch.forms[0] if batch.forms else batch.labels[0],
        tuple(special),
        values,
        layer,
        head if has_heads else None,
        batch.kind,
        None if sums_to_one else float(values.max()),
        tuple(None if guess < 0 else guess for guess in guesses_of_head),
        tuple(gold),
        tuple(relations),
    )

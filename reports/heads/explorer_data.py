"""Heads on sentences as data of the explorer, so that a page or a notebook can draw them interactively."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from ..explorer.data import CAUSAL_NOTE, EncodedMap, Explorer, Sample, SampledSentence, Writing, deflate
from .figure import Layout
from .view import HeadView

_LEVELS = 255
_NO_GUESS = 65535


def as_explorer(views: Sequence[Sequence[HeadView]], *, model: str, causal: bool = False) -> Explorer:
    """Return the data of an explorer that has no measures, but the maps of some heads on some sentences."""
    all_views = [view for views_of_sentence in views for view in views_of_sentence]
    n_heads = max((view.head for view in all_views if view.head is not None), default=1)
    kinds = tuple(dict.fromkeys(view.kind for view in all_views))
    without_heads = {view.kind for view in all_views if view.head is None}
    not_shares = {view.kind for view in all_views if view.scale is not None}
    occurrences: Counter[str] = Counter()
    sentences = []
    for views_of_sentence in views:
        name = views_of_sentence[0].sentence
        occurrences[name] += 1
        unique_name = name if occurrences[name] == 1 else f"{name} ({occurrences[name]})"
        sentences.append(_sampled_sentence(views_of_sentence, unique_name, kinds, n_heads))
    return Explorer(
        model=model,
        corpus="",
        unit="sentences",
        layers=max(view.layer for view in all_views),
        heads=n_heads,
        causal=causal,
        sample=Sample(
            kinds,
            f"Values are rounded to 255 levels; guesses are exact.{f' {CAUSAL_NOTE}' if causal else ''}",
            tuple(sentences),
            layer_kinds=tuple(kind for kind in kinds if kind in without_heads),
            share_kinds=tuple(kind for kind in kinds if kind not in not_shares),
        ),
    )


def opening(views: Sequence[Sequence[HeadView]], *, layout: Layout, special: bool) -> str:
    """Return the address of the view that draws the same as a figure."""
    of_heads = [view for view in views[0] if view.head is not None] or views[0]
    names = dict.fromkeys(f"{view.layer}-{view.head or 1}" for view in of_heads)
    kinds = dict.fromkeys(quote(view.kind) for view in views[0])
    special_tokens = "on" if special else "off"
    direction = views[0][0].direction
    read_as = "" if direction == "dep->head" else f"&direction={quote(direction)}"
    return f"#head={','.join(names)}&kind={','.join(kinds)}{read_as}&view={layout}&special={special_tokens}"


def _sampled_sentence(views: Sequence[HeadView], name: str, kinds: Iterable[str], n_heads: int) -> SampledSentence:
    """Return a sentence with the maps of the heads that are drawn on it, and their guesses."""
    first = views[0]  # what is not about a head is the same in all views
    maps, guesses = {}, {}
    for kind in kinds:
        of_kind = [view for view in views if view.kind == kind]
        heads = tuple((view.layer - 1) * n_heads + (view.head or 1) - 1 for view in of_kind)
        maps[kind] = EncodedMap(
            deflate(b"".join(_quantize(view).tobytes() for view in of_kind)),
            tuple(1.0 if view.scale is None else view.scale for view in of_kind),
            heads,
        )
        by_head = [[_NO_GUESS if guess is None else guess for guess in view.guesses] for view in of_kind]
        guesses[f"{kind}/{first.direction}"] = deflate(np.array(by_head, "<u2").tobytes())
    return SampledSentence(
        id=name,
        document=None,
        file="",
        line=None,
        rows=first.words,
        special=first.special,
        heads=first.gold,
        relations=first.relations,
        writing=(Writing.of(first.words, first.special),),
        maps=maps,
        guesses=guesses,
    )


def _quantize(view: HeadView) -> npt.NDArray[np.uint8]:
    """Return the values of a map as shares of its scale, from 0 to 255."""
    scale = 1.0 if view.scale is None else view.scale
    shares = view.values / scale if scale > 0 else np.zeros_like(view.values)
    return np.rint(shares * _LEVELS).clip(0, _LEVELS).astype(np.uint8)

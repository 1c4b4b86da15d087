"""Numbers of the papers, which the report shows beside the results if the model is the same."""

from __future__ import annotations

from typing import NamedTuple


class PublishedNumbers(NamedTuple):
    """The published numbers of one model, in the papers' order."""

    # the mean, largest and smallest ratio in percent by variant (Kobayashi et al. 2021, Table 1)
    mixing: dict[str, tuple[float, float, float]]
    expansion_by_layer: tuple[float, ...] = ()  # the expansion rate of f, layer by layer
    # Spearman's ρ with frequency rank by measure, over all tokens and without special ones (Table 2)
    frequency: dict[str, tuple[float, float]] = {}  # noqa: RUF012
    # attnresln-n in percent by class of tokens, layer by layer (Figure 3)
    mixing_by_layer: dict[str, tuple[int, ...]] = {}  # noqa: RUF012


PUBLISHED = {
    "bert-base-uncased": PublishedNumbers(
        mixing={
            "attn-w": (96.41, 99.99, 45.04),
            "attn-n": (85.28, 99.96, 4.89),
            "attnres-w": (48.21, 49.99, 22.52),
            "attnres-n": (22.25, 65.7, 2.04),
            "attnresln-n": (18.75, 61.25, 1.27),
        },
        expansion_by_layer=(0.901, 0.740, 0.632, 0.679, 0.911, 0.989, 0.919, 0.905, 0.948, 0.913, 0.932, 1.051),
        frequency={
            "attn-w": (0.159, 0.144),
            "attn-n": (-0.387, -0.413),
            "attnres-n": (-0.839, -0.860),
            "attnresln-n": (-0.544, -0.577),
        },
        mixing_by_layer={
            "all": (24, 20, 19, 21, 19, 20, 20, 20, 17, 19, 15, 11),
            "[MASK]": (15, 17, 16, 21, 21, 25, 25, 30, 25, 22, 19, 10),
            "[CLS]": (15, 5, 8, 16, 18, 20, 20, 11, 15, 21, 17, 39),
            "[SEP]": (15, 12, 12, 3, 2, 2, 2, 2, 3, 18, 15, 21),
        },
    ),
    "roberta-base": PublishedNumbers(
        mixing={
            "attn-w": (95.81, 100.0, 3.82),
            "attn-n": (84.42, 99.93, 13.84),
            "attnres-w": (47.91, 50.0, 1.91),
            "attnres-n": (19.55, 69.9, 1.82),
            "attnresln-n": (16.24, 73.39, 1.48),
        },
    ),
}
"""The published numbers by the last part of the model's name, from the notebooks of Kobayashi et al. (2021). They were
measured on 992 pairs of Wikipedia paragraphs with 12 % of the tokens masked, for the frequency with none masked."""


def published_numbers(model: str) -> PublishedNumbers | None:
    """Return the published numbers of a model by its name, with or without its owner's name; None if there are none."""
    return PUBLISHED.get(model.rstrip("/").rsplit("/", 1)[-1])

"""What each attention head picks for a mention instead of an antecedent, by how the picked word relates to the mention.

A wrong pick may be another mention that would fit, one that does not even agree, or no mention at all. `picks` names
one relationship of the picked word for every mention, direction and head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Int

from ...corpora_loaders.coreference import Mention
from ...extractors import MapBatch, Window
from ..dependency.decisions import word_positions
from ..shared.picks import picked_kinds, read_in
from .decisions import DIRECTIONS, Choice, Traits, agree, antecedent_hits, nearest_first

PICKS = (
    "antecedent",
    "same entity",
    "inside an antecedent",
    "inside the mention",
    "same head word",
    "nearest mention",
    "agreeing mention",
    "other mention",
    "other word",
    "out of reach",
    "none",
)
"""What is picked for a mention. The first one that applies is counted: the head word of an antecedent; the head word of
another mention of its entity, which comes later; another word of an antecedent, or of the mention itself; the head word
of a mention of another entity, namely one whose head word has the same form, the mention that the baseline ``nearest``
picks, one that agrees in number, gender and person, or any other; a word that is the head word of no mention. *Out of
reach* is every wrong pick where the values of all antecedents are exactly 0, as in models that see only the words
before. *None* is what the baseline ``head match`` picks if no candidate has the same head word."""

ANTECEDENT, REACH, NONE = (PICKS.index(name) for name in ("antecedent", "out of reach", "none"))


def relationships(
    window: Window, choices: Sequence[Choice], by_mention: Mapping[Mention, Traits]
) -> Int[np.ndarray, "choices words"]:
    """Return what each word of a window is to the mention of each choice, as an index of `PICKS`."""
    # All mentions of the window count, also those that are no candidates. Words are counted from its start.
    document, start = window.source, window.start
    mentions = [m for m in by_mention if m.head is not None and start <= m.start and m.stop <= window.stop]
    heads = np.array([m.head for m in mentions]) - start
    entities = np.array([m.entity for m in mentions])
    forms = np.array([document.words[head + start].casefold() for head in heads])
    # Only a few combinations of traits occur, so each pair of them is compared once for all mentions.
    combinations = list(dict.fromkeys(by_mention.values()))
    do_agree = np.array([[agree(one, other) for other in combinations] for one in combinations])
    index_of_traits = {combination: index for index, combination in enumerate(combinations)}
    traits_of_mentions = np.array([index_of_traits[by_mention[m]] for m in mentions])
    result = np.full((len(choices), len(window)), PICKS.index("other word"), dtype=np.int8)
    for row, choice in zip(result, choices, strict=True):
        mention = choice.mention
        is_same_entity = entities == mention.entity
        does_agree = do_agree[index_of_traits[by_mention[mention]], traits_of_mentions]
        has_same_form = forms == document.words[choice.head].casefold()
        nearest = nearest_first(document, choice)[0].head
        antecedents = [m for m in choice.before if m.entity == mention.entity]
        words_of_kinds = {
            "other mention": heads[~is_same_entity],
            "agreeing mention": heads[~is_same_entity & does_agree],
            "nearest mention": [] if nearest is None else [nearest - start],
            "same head word": heads[~is_same_entity & has_same_form],
            "inside the mention": np.array(mention.words) - start,
            "inside an antecedent": [word - start for m in antecedents for word in m.words],
            "same entity": heads[is_same_entity],
            "antecedent": [word - start for word in choice.gold],
        }
        for kind, words in words_of_kinds.items():  # from the weakest to the strongest claim, which replaces it
            row[words] = PICKS.index(kind)
    return result


def picks(
    batch: MapBatch, choices: Sequence[tuple[int, Choice]], related: Mapping[int, npt.NDArray[np.int8]], policy: str
) -> Int[np.ndarray, "choices 2 layers heads"]:
    """Return what each head picks for each mention in both `DIRECTIONS`, as an index of `PICKS`."""
    # related: the `relationships` of each window that has choices, by its index.
    hits = antecedent_hits(batch, choices, (policy,))[:, 0].numpy()
    kinds = np.empty(hits.shape, dtype=np.int8)
    positions = word_positions(batch).numpy()
    for index, related_in_window in related.items():
        rows = [row for row, (index_of_choice, _) in enumerate(choices) if index_of_choice == index]
        in_window = [choices[row][1] for row in rows]
        window = in_window[0].window
        places = positions[index, : len(window)]  # the row and column of each word of the window
        words = np.array([choice.head for choice in in_window]) - window.start
        is_gold = related_in_window == ANTECEDENT
        out_of_reach = _out_of_reach(batch.maps[index].cpu().numpy(), places, words, is_gold)
        barred = _barred_words(in_window, policy, window)
        picked = picked_kinds(batch, index, places, words, related_in_window, barred, hits[rows] | out_of_reach)
        picked[out_of_reach] = REACH
        picked[hits[rows]] = ANTECEDENT
        kinds[rows] = picked
    return kinds


def _barred_words(choices: Sequence[Choice], policy: str, window: Window) -> Bool[np.ndarray, "choices words"]:
    """Return which words cannot be wrong picks: antecedents, and all words that are no candidates."""
    barred = np.ones((len(choices), len(window)), dtype=bool)
    for row, choice in zip(barred, choices, strict=True):
        row[[word - window.start for word in choice.candidates(policy) - choice.gold]] = False
    # If all candidates are antecedents, every head is right, so nothing needs to be barred: what is found among the
    # words is of no use, but the largest of no values is not defined.
    barred[barred.all(1)] = False
    return barred


def _out_of_reach(
    maps: npt.NDArray[np.floating],
    places: npt.NDArray[np.int64],
    mentions: npt.NDArray[np.int64],
    gold: npt.NDArray[np.bool_],
) -> Bool[np.ndarray, "choices 2 layers heads"]:
    """Return where all antecedents have the value 0 in float32, even if float64 decides between the candidates."""
    # places: the position of each word in the maps. mentions: the head word of each mention. gold: (choices, words).
    # The antecedents of each mention come first, and the first one stands again where it has fewer than others.
    antecedents = np.argsort(~gold, axis=1, kind="stable")[:, : int(gold.sum(1).max())]
    antecedents = np.where(np.take_along_axis(gold, antecedents, 1), antecedents, antecedents[:, :1])
    rows, columns = places[mentions][:, None], places[antecedents]
    by_direction = [view[..., rows, columns] for view in read_in(maps, len(DIRECTIONS))]
    values = np.stack(by_direction)  # direction, layer, head, choice, antecedent
    is_zero: npt.NDArray[np.bool_] = (values == 0).all(-1)
    return is_zero.transpose(3, 0, 1, 2)

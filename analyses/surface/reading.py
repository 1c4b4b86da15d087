"""The reading that the analyses ``surface`` and ``clusters`` share: the same maps, notes, names and labels of heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ...corpora_loaders import PlainText
from ...extractors import MapMaker, Segments
from ...extractors.tokens.pieces import Pieces
from ..contract import Counted, OptionError, OptionSet, Request, Setting
from ..counting.counting import CountMaps
from ..dependency.accuracy import TOTALS
from ..shared.merged_facts import merges_by
from ..shared.options import CountOptions
from ..shared.record import MapFacts, map_facts
from . import statistics
from .distributions import DISTANCE_SMOOTHING
from .labels import Thresholds, best_relations, label_heads
from .options import ReadingOptions, SurfaceOptions
from .statistics import SurfaceStatistics
from .tables import SurfaceTables

_CAUSAL = (
    "The model is causal: a token sees itself and those before it. So nothing goes to the next token or to other "
    "offsets to the right, and the uniform attention with which entropy is compared is that to what a token sees."
)
_SINKS = (
    "Heads of this model have learned sinks, which take a share of every row and are no token: it is the class "
    "“learned sink”. Entropies and distances between heads are those of what goes to tokens."
)
_FIRST_WORD = (
    "Inputs begin with no special token, so attention that rests on the first position counts as attention to a word; "
    "see --prepend."
)


@dataclass(frozen=True)
class ReadingFacts:
    """What the results of both analyses need to know about how the maps are read."""

    request: str  # the name of the request for the surface statistics
    level: str  # `"token"` or `"word"`
    specials: Mapping[str, str]  # the model's names of its first and last special tokens
    maps: MapFacts
    seed: int
    notes: tuple[str, ...] = merges_by("union")  # sentences about how the maps were treated


def plan_reading(options: OptionSet, setting: Setting) -> tuple[Request, MapMaker, ReadingFacts]:
    """Return the request that both analyses share, the maker of its maps, and what the results need to know of it."""
    reading = options[ReadingOptions]
    maker = replace(setting.maps, level=reading.level)
    if maker.merge != "norm" and reading.level == "token" and not {"dependency", "coreference"} & set(setting.chosen):
        raise OptionError("--merge is for words; choose --level word")
    if reading.level == "word" and isinstance(setting.corpus, PlainText | Segments):
        raise OptionError("--level word is for treebanks; the words of plain text include its punctuation")
    notes = []
    if not maker.kind.rows_sum_to_one:
        maker = replace(maker, normalize="row")
        notes.append("Every row of the map was divided by its sum: so shares and entropies are well defined.")
    smoothing = 0.0
    if reading.smoothing == "release":
        smoothing = statistics.SMOOTHING
        notes.append(
            f"As in the published code, {smoothing:g} of uniform attention was mixed into rows for the "
            f"entropy, and {DISTANCE_SMOOTHING:g} for the distances between heads."
        )
    specials = special_names(setting)
    if setting.encoder.causal:
        notes.append(_CAUSAL if "first_special" in specials else f"{_CAUSAL} {_FIRST_WORD}")
    arguments: dict[str, Any] = {
        "reach": options[SurfaceOptions].reach,
        "smoothing": smoothing,
        # Only the analysis surface has statistics that are compared.
        "replicates": options[CountOptions].replicates if "surface" in setting.chosen else 0,
        "seed": setting.seed,
    }
    # States of other models, which have neither of these arguments, are those of former versions.
    if setting.encoder.causal:
        arguments["causal"] = True
    if setting.encoder.has_sinks and maker.kind.name == "weight" and maker.normalize == "none":
        arguments["sinks"] = True
        notes.append(_SINKS)
    counting = CountMaps(SurfaceStatistics, tuple(arguments.items()))
    request = Request(f"surface/{maker.kind}", "surface", setting.corpus, maker, counting)
    facts = ReadingFacts(
        request=request.name,
        level=reading.level,
        specials=specials,
        maps=map_facts(replace(maker, normalize=setting.maps.normalize), setting.encoder.n_heads),
        notes=tuple(notes),
        seed=setting.seed,
    )
    return request, maker, facts


def read_tables(
    options: OptionSet, counted: Counted[Any], reading: ReadingFacts, needed: Mapping[str, Any]
) -> tuple[SurfaceTables, tuple[str, ...]]:
    """Return the surface tables, with labels of the heads, and all notes."""
    tables = counted.metric(reading.request, SurfaceStatistics).compute()
    relations = None
    if "dependency" in needed:
        dependency = needed["dependency"]
        is_relation = ~dependency.best["relation"].isin([*TOTALS, "root"])
        relations = best_relations(dependency.best[is_relation], dependency.min_count)
    limits = options[ReadingOptions]
    thresholds = Thresholds(limits.position_threshold, limits.target_threshold, limits.broad_threshold)
    facts = reading.maps.phrases(int(tables.heads["head"].max()))
    positions = "pieces" if reading.level == "token" else "words"
    notes = (f"Positions are {positions}; {'; '.join(facts)}.", *reading.notes)
    return tables._replace(heads=label_heads(tables.heads, thresholds, relations)), notes


def special_names(setting: Setting) -> dict[str, str]:
    """Return what the tokenizer writes for the special token before the first word and for the last special token."""
    # The names are those of the first of 16 inputs that can be aligned. A model without such tokens has no entries.
    aligned = setting.encoder.align(list(islice(setting.corpus, 16)))
    pieces = next((result for result in aligned if isinstance(result, Pieces)), None)
    if pieces is None:
        return {}
    specials = [index for index, position in enumerate(pieces.positions) if pieces.special[position]]
    names = {}
    if 0 in specials:
        names["first_special"] = pieces.tokens[0]
    if any(index > 0 for index in specials):
        names["last_special"] = pieces.tokens[specials[-1]]
    return names

"""`explore`: the explorer of the report on sentences of one's own, also as the command ``attentionology explore``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..analyses.contract import OptionError
from ..analyses.shared.input_options import ExampleOptions, LimitOptions
from ..analyses.shared.options import MapOptions
from ..corpora_loaders import Sentence
from ..corpora_loaders.treebank import with_id
from ..corpora_loaders.unique_names import UniqueNames
from ..extractors import Encoder
from ..reports.explorer.view import ExplorerView
from .analyze import analyze


def explore(
    text: str | Sentence | Sequence[str | Sentence],
    *,
    model: str | Path | Encoder = "demo",
    maps: str | Sequence[str] | MapOptions = "weight",
) -> ExplorerView:
    """Show what all heads of a model do on sentences, without a treebank.

    Args:
        text: a sentence, or several of them, as text or with their words.
        model: a folder, a name on the Hugging Face Hub, ``"demo"``, or an encoder.
        maps: the kinds of maps, see `attentionology.list_kinds`.

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
    given = [text] if isinstance(text, str | Sentence) else list(text)
    if not given:
        raise OptionError("there is no sentence to explore")
    unique = UniqueNames()
    sentences = [Sentence.from_text(each) if isinstance(each, str) else each for each in given]
    sentences = [with_id(each, unique(each.id)) for each in sentences]
    run = analyze(
        model,
        sentences,
        analyses="surface",
        options=[options, LimitOptions(too_long="error"), ExampleOptions(len(sentences))],
    )
    explorer = run.explorer()
    if explorer.sample is None:
        raise OptionError("none of the sentences is short enough to be drawn")
    order = {sentence.id: position for position, sentence in enumerate(sentences)}
    in_order = sorted(explorer.sample.sentences, key=lambda each: order[each.id])
    sample = replace(explorer.sample, sentences=tuple(in_order))
    return ExplorerView(replace(explorer, findings=(), sample=sample), "#special=on")

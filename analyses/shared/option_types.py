"""Options that several groups have, each with its values and its help in one place.

Commands share whole groups of options where they can. These options are in groups that otherwise differ: a survey, for
example, has the kinds of maps of its cells in one group and the options of each cell in another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from tyro.conf import arg

from ...corpora_loaders.formats import NAMES
from ..contract import OptionError
from .numbers import Count, OptionalNumber

PieceMerging = Annotated[
    Literal["norm", "vector"],
    arg(
        help="How the pieces of a word are merged in maps of norms: by adding their norms, or by adding their vectors "
        "before the norm is taken."
    ),
]

RowScaling = Annotated[
    Literal["none", "row"],
    arg(
        help="Whether each row of a map is divided by its sum. The rows of weight, rollout, alti and value-zeroing sum "
        "to 1 anyway."
    ),
]

TreebankWords = Annotated[
    Literal["syntactic", "surface"],
    arg(
        help="The words that the model reads: the syntactic words of the trees (French 'de le'), or the surface tokens "
        "('du'). For surface tokens, the words of a multiword token are merged into one node of the tree."
    ),
]

FormatName = Annotated[
    str | None,
    arg(
        metavar="NAME",
        help=f"The format of the corpus: {NAMES}, or one that an installed package adds. By default, it is detected, "
        "which is not possible for formats of packages.",
    ),
]

SentenceLimit = Annotated[OptionalNumber, arg(help="Read only the first N sentences of each treebank.")]

BatchCells = Annotated[
    OptionalNumber,
    arg(
        help="The largest number of inputs × pieces² in a batch of the model. A lower number needs less memory. The "
        "results do not depend on it."
    ),
]

TooLongInputs = Annotated[
    Literal["skip", "error"],
    arg(
        help="What happens to inputs that are too long: they are skipped and reported, or the first of them is an "
        "error."
    ),
]

Rare = Annotated[
    bool, arg(help="Print the rows with fewer than --min-count decisions, too. The tables have them in any case.")
]

Lenient = Annotated[
    bool,
    arg(
        help="Leave out and count sentences of treebanks that have mistakes, malformed brackets of mentions and "
        "parses, and links outside their sentence pairs, instead of stopping at the first of them."
    ),
]

PunctuationNames = Annotated[
    tuple[str, ...],
    arg(
        metavar="NAME [NAME ...]",
        help="The relations and parts of speech (columns 4 and 5) that mark punctuation, such as AuxX AuxG AuxK. By "
        "default, punctuation has the relation punct; in a treebank without it, the part of speech PUNCT; and without "
        "that, too, punctuation is words of punctuation characters.",
    ),
]

Device = Annotated[str, arg(metavar="DEVICE", help="The device on which models run: cpu, cuda, cuda:1, mps, ….")]

Replicates = Annotated[
    Count,
    arg(metavar="N", help="The number of bootstrap replicates for the intervals. With 0, there are no intervals."),
]

DryRun = Annotated[
    bool,
    arg(
        help="Check all options, and print what each pass reads, the number of parts, and an estimate of the memory "
        "and disk space that are needed. The model is loaded and reads a few inputs. Nothing is counted or written."
    ),
]


def check_format(name: str | None) -> None:
    """Raise `OptionError` if there is no format of this name."""
    if name is None:
        return
    from ...corpora_loaders import get_format  # which reads entry points

    try:
        get_format(name)
    except ValueError as error:
        raise OptionError(f"--format: {error}") from None


def split_names(given: Sequence[str]) -> list[str]:
    """Return names that are separated by spaces or commas."""
    return [name for part in given for name in part.split(",") if name]

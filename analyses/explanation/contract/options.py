"""Options of the explanation tests, in groups that validate themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from ....reports.help.options import flag
from ....storage.nearest import describe_unknown
from ....storage.plugins import GROUPS, Plugins
from ...contract import OptionError, OptionGroup
from ...option_groups import Bounds
from ...shared.numbers import Count, Number, OptionalNumber

ENTRY_POINTS = GROUPS["explanation test"]
"""The group of entry points under which another package names its `ExplanationTest`. An entry point has the name of its
test, so that the command knows the name without loading the package."""

TESTS = (
    *("correlation", "permutation", "adversarial", "uniform", "seeds", "guided", "imitation", "erasure", "removal"),
    *("single-token", "eraser", "regularizers"),
)
"""The tests of the toolkit in the order in which they run and are reported. Each is ``TEST`` in its module."""

REGULARIZERS = ("concat", "residual", "tying", "mlm", "conicity")
_STRUCTURED = {".csv", ".tsv", ".json", ".jsonl", ".zip"}

PLUGINS = Plugins("explanation test", lambda: TESTS)


def names_of_tests() -> tuple[str, ...]:
    """Return the names of tests that ``--tests`` takes, those of other packages included."""
    return tuple(PLUGINS.names())


@dataclass(frozen=True)
class TextOptions(OptionGroup):
    """Options of the labeled texts.

    Example:
        >>> from attentionology.analyses import TextOptions
        >>> TextOptions(data=("reviews.txt",), min_words=9, max_words=3).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --min-words 9 is above --max-words 3
    """

    data: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Labeled texts to train on. Each line is a label, a space or tab, and a text; or the file is a table, JSON Lines,
    SNLI or bAbI."""

    test: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Labeled texts to run the tests on. By default, a fifth of the texts of --data is held out."""

    dev: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Labeled texts on which the best epoch is chosen. By default, a tenth of the remaining texts of --data is held
    out."""

    text_column: Annotated[str, arg(metavar="NAME")] = "text"
    """The column (or key) that holds the text in CSV, TSV and JSON Lines. For CSV and TSV without a header, give the
    number of the column, counted from 1, here and in --label-column. If both numbers occur as names in the first line,
    that line is a header."""

    label_column: Annotated[str, arg(metavar="NAME")] = "label"
    """The column that holds the label: its name, or its number."""

    query_column: Annotated[str | None, arg(metavar="NAME")] = None
    """The column that holds the query of each text, such as a question or a hypothesis. Attention is then tested for
    the words of the text, given the query. SNLI's JSON Lines and bAbI's stories have queries without this."""

    min_words: OptionalNumber = None
    """Leave out texts with fewer words. (Jain & Wallace use 6.)"""

    max_words: OptionalNumber = None
    """Leave out texts with more words. The time and memory of some tests grow with the square of the length."""

    limit: OptionalNumber = None
    """Test on at most N texts, which are sampled deterministically by a hash of their words, several pairs of one text
    only if all texts are sampled. This does not limit the training texts."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        from ....corpora_loaders.lines import WHOLE_NUMBER

        super().check()
        for name in ("data", "test", "dev"):
            if getattr(self, name) == ():
                raise OptionError(f"--{name} needs at least one file")
        if self.min_words and self.max_words and self.min_words > self.max_words:
            raise OptionError(f"--min-words {self.min_words} is above --max-words {self.max_words}")
        names = [name for name in (self.text_column, self.label_column, self.query_column) if name is not None]
        distinct = {int(name) if WHOLE_NUMBER.fullmatch(name) else name for name in names}  # 1 and 01 are one column
        if len(distinct) < len(names):
            raise OptionError("--text-column, --label-column and --query-column cannot be the same")
        if not any(_STRUCTURED & set(file.suffixes) for file in self.files()):
            for name in ("text_column", "label_column", "query_column"):
                if name in changed_options(self):
                    raise OptionError(f"{flag(name)} is for .csv, .tsv and .jsonl")

    def files(self) -> list[Path]:
        """Return the paths of all files of texts that were given, for whatever role."""
        return [Path(name) for names in (self.data, self.test, self.dev) for name in names or ()]


@dataclass(frozen=True)
class ExplanationTestOptions(OptionGroup):
    """Options of the explanation tests.

    Example:
        >>> from attentionology.analyses import ExplanationTestOptions
        >>> ExplanationTestOptions(epsilon=2.0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --epsilon must be between 0 and 1, not 2.0
    """

    tests: Annotated[
        tuple[str, ...] | None,
        arg(
            metavar="NAME [NAME ...]",
            help=f"The tests to run, separated by spaces or commas: {', '.join(names_of_tests())}; or all. By default, "
            "all tests run except imitation, which trains adversaries and takes long.",
        ),
    ] = None
    """The names of the tests to run. By default, all tests run except imitation."""

    epsilon: Annotated[float, arg(metavar="X"), Bounds(0, 1, strict=True)] = 0.05
    """The tolerance: changes of the output (TVD) up to this value count as no change. (Jain & Wallace write 0.01, but
    their figures are made with 0.05.)"""

    draws: Number = 100
    """The number of shuffles per text."""

    steps: Count = 500
    """The number of Adam steps in the search by gradient for adversarial attention. With 0, there is no such search,
    and only the exact solution, or that on two words, is computed."""

    seeds: OptionalNumber = None
    """The number of models with other random seeds to compare with. The default is 8, or 2 for fine-tuned
    transformers."""

    lambdas: Annotated[tuple[float, ...] | None, arg(metavar="X [X ...]")] = None
    """The weights λ of the divergence in the loss of the trained adversaries. The weight 0 is always added. The default
    is 0.0001 0.0005 0.001 0.005 0.01."""

    divergence: Literal["kl", "jsd"] = "kl"
    """The divergence of attention in the loss of the trained adversaries: kl as published, or jsd, which is bounded."""

    adversary_epochs: OptionalNumber = None
    """The largest number of epochs for trained adversaries. The default is 80, or 2 for fine-tuned transformers. The
    training of small classifiers stops earlier after 10 epochs without progress."""

    replicates: Count = 1000
    """The number of bootstrap replicates for the intervals. With 0, there are no intervals, so no question is
    decided."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if self.tests is not None:
            self.named()
        super().check()
        if any(not 0 <= strength < math.inf for strength in self.lambdas or ()):
            raise OptionError("--lambdas must be finite and at least 0")

    def named(self) -> list[str] | None:
        """Return the names that were given; None for the default.

        Raises:
            OptionError: a name is unknown, or there is none.
        """
        if self.tests is None:
            return None
        names = [name for part in self.tests for name in part.split(",") if name]
        if not names:
            raise OptionError("--tests needs at least one name")
        known = names_of_tests()
        if wrong := next((name for name in names if name not in (*known, "all")), None):
            raise OptionError(describe_unknown("test", wrong, (*known, "all")))
        return names


def changed_options(options: Any) -> list[str]:
    """Return the names of the options of a group that do not have their default values."""
    return [option.name for option in fields(options) if getattr(options, option.name) != option.default]

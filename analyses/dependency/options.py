"""The options of the dependency analysis."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, get_args

from tyro.conf import arg

from ..contract import AnalysisRow, OptionError, OptionGroup
from ..shared.options import (
    ControlOptions,
    CountOptions,
    EnsembleOptions,
    FailureOptions,
    FeedForwardOptions,
    MapOptions,
    check_heads,
    check_names,
)  # fmt: skip

Trees = Literal["basic", "enhanced"]
Gold = Literal["basic", "enhanced", "pairs"]


@dataclass(frozen=True)
class DependencyOptions(OptionGroup):
    """Options of the dependency analysis.

    Example:
        >>> from attentionology.analyses import DependencyOptions
        >>> DependencyOptions(group=("core=nsubj,obj",)).unions()
        (('core', ('nsubj', 'obj')),)
    """

    coarse: bool = False
    """Count universal relations (nsubj) instead of the subtypes that the treebank has (nsubj:pass)."""

    both: bool = False
    """Also read each head in both directions at once: the word with the largest sum of the attention to it and from it.
    This is always done for causal models, whose heads see a pair of words from one side only."""

    relations: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ()
    """The relations that are asked about: only these have rows in tables, are compared with other runs, and are counted
    when p values are adjusted. The totals 'all', 'all-nopunct' and 'all-nopunct-noroot' can be named, too. By default,
    all relations and totals are."""

    group: Annotated[tuple[str, ...], arg(metavar="NAME=VALUES [NAME=VALUES ...]")] = ()
    """Groups of relations, each a row like any other: core=nsubj,obj,iobj."""

    spanning_trees: bool = False
    """Build trees from the maps of each head, and of all ensembles together, for the first 1,000 sentences, and score
    them beside chains of neighbors (UAS and UUAS). This needs the extra attentionology[tree]."""

    trees: Trees = "basic"
    """The gold: the basic trees, in which every word has one head, or the enhanced dependencies (column DEPS), in which
    a word may have several heads, of which one has to be found. The latter have relations such as nmod:of, which
    --coarse counts as nmod."""

    pairs: Annotated[Path | None, arg(metavar="FILE")] = None
    """The gold in place of trees: any pairs of words, such as contacts, multiword expressions or roles. Each line of
    the file has the id of a sentence, the number of a word, the number of the word that is to be found for it, and a
    label, separated by tabs. A word may have several partners, of which one has to be found."""

    @property
    def gold(self) -> Gold:
        """What is to be found: the heads of trees, or partners in pairs."""
        return self.trees if self.pairs is None else "pairs"

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        self.unions()
        if self.trees not in get_args(Trees):
            raise OptionError(f"--trees is basic or enhanced, not {self.trees!r}")
        if self.pairs is not None and self.trees != "basic":
            raise OptionError("--pairs is a gold of its own; leave out --trees")
        if self.spanning_trees and find_spec("ufal") is None:
            raise OptionError(
                "--spanning-trees needs the library ufal.chu_liu_edmonds: pip install 'attentionology[tree]'"
            )
        if repeated := next((name for name in self.relations if self.relations.count(name) > 1), None):
            raise OptionError(f"--relations names {repeated} twice")

    def unions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The names of the groups, each with its relations.

        Raises:
            OptionError: a group has no name or no relations, or two have one name.

        Example:
            >>> DependencyOptions(group=("core=nsubj,obj",)).unions()
            (('core', ('nsubj', 'obj')),)
        """
        unions: dict[str, tuple[str, ...]] = {}
        for group in self.group:
            name, _, values = group.partition("=")
            relations = tuple(values.split(","))
            if not name or not all(relations) or name in unions or len(set(relations)) < len(relations):
                raise OptionError(f"--group takes different names with relations (core=nsubj,obj), not {group!r}")
            unions[name] = relations
        return tuple(unions.items())


@dataclass(frozen=True)
class DecisionOptions(OptionGroup):
    """Options of the table of decisions.

    Example:
        >>> from attentionology.analyses import DecisionOptions
        >>> DecisionOptions(decisions=("8",)).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --decisions takes 'best' or heads such as 8-10, not '8'
    """

    decisions: Annotated[tuple[str, ...], arg(metavar="HEAD [HEAD ...]")] = ()
    """Write what these heads pick for each word to decisions.csv in the results folder: 'best' for the best head of
    each relation, or heads such as 8-10. The corpus is read once more for this."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        check_names(self.decisions, "--decisions")

    def check_heads(self, n_layers: int, n_heads: int) -> None:
        """Raise `OptionError` where a model of this many layers, with this many heads each, lacks a head."""
        check_heads(self.decisions, n_layers, n_heads, "--decisions")


DEPENDENCY = AnalysisRow(
    name="dependency",
    location="attentionology.analyses.dependency.analysis:Dependency",
    options=(
        DependencyOptions,
        EnsembleOptions,
        FailureOptions,
        ControlOptions,
        CountOptions,
        MapOptions,
        FeedForwardOptions,
    ),
    of_trees=True,
    by_default=True,
    summary=(
        "dependency: for every word the most attended other word is taken as a guess at its syntactic head (Clark et "
        "al. 2019, section 4.2)."
    ),
)

"""Trees from heads: maximum spanning trees of maps, scored beside chains of neighbors.

The word map of a head gives a score to each pair of words. Its maximum spanning tree (Chu & Liu 1965; Edmonds 1967)
gives each word one syntactic head, so that all of them together form a tree. It starts at the root of the treebank, as
in Raganato & Tiedemann (2018) and Ravishankar et al. (2021), because no map says which word is the root. What a tree
gets for nothing is what chains get in which each word depends on the next one, or on the one before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...corpora_loaders import is_punct
from ...reports.columns import Row, Schema, TableColumn, bounds
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..contract import Request
from ..counting.best_head import best_head, heldout, interval, rate, rates, score_choices
from ..counting.held_out import heldout_gain, interval_of_halves, side_of_zero
from ..counting.outcomes import SPLITS, Counts
from ..counting.resampling import FEWEST_UNITS, effective_number, halves, poisson_weights
from ..shared.best_heads import accuracy_column, heldout_columns
from ..shared.ensembles import name_reading
from ..shared.measures import address, points, share
from ..shared.options import EnsembleOptions
from ..shared.picks import READINGS
from .rows import DependencyQuestion, DependencyResults, LookupContext, PlanContext, Read, Words

Array = npt.NDArray[Any]

SCORES = ("UAS", "UUAS")
"""The unlabeled attachment score, and the undirected one."""
CHAINS = ("next", "previous")
"""Each word depends on the next one, or on the one before."""
_MAX_NAMED = 8
"""The largest number of heads that a table for people names one by one."""


def _few_heads(row: Row) -> str:
    """Return the names of a few heads, or how many there are."""
    names = row["heads"].split(" + ")
    return str(row["heads"]) if len(names) <= _MAX_NAMED else f"{len(names)} heads"


TREES = Schema(
    "dependency_trees",
    "With `--spanning-trees`. One row per head and direction: the scores of its trees in the first 1,000 sentences.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("direction", "text", "the direction in which attention is read"),
        TableColumn("total", "count", "scored words: all but punctuation and roots"),
        TableColumn("correct", "count", "words whose syntactic head the tree has"),
        TableColumn("undirected_correct", "count", "words that the tree links with their syntactic head"),
        TableColumn("uas", "share", "`correct` / `total`"),
        TableColumn("uuas", "share", "`undirected_correct` / `total`"),
    ),
)


def _gain(other: str, subtracted: str, heading: str, meaning: str) -> TableColumn:
    """Return the column of the held-out accuracy minus that of something other."""
    return TableColumn(
        f"{other}_gain {other}_gain_low {other}_gain_high",
        "points",
        f"`heldout_accuracy` − {subtracted}",
        heading,
        beside=bounds(f"{other}_gain"),
        optional=other == "head",
        help=f"The held-out accuracy minus {meaning}, with its 95 % interval for other sentences, which would also "
        "choose other heads.",
    )


TREES_BEST = Schema(
    "dependency_trees_best",
    "With `--spanning-trees`. For each score, a row of the best head, and with `--ensembles` one of the average of all "
    "heads in the ensembles of relations but punctuation.",
    (
        TableColumn(
            "score",
            "text",
            "`UAS` or `UUAS`",
            "score",
            help="<b>UAS</b>: the share of words whose syntactic head the tree has. <b>UUAS</b>: the share that it "
            "links with their syntactic head, whichever of the two depends on the other. Punctuation and roots are "
            "not scored.",
        ),
        TableColumn("maps", "text", "`best head` or `ensemble`", "maps"),
        TableColumn(
            "heads",
            "text",
            "the heads, chosen on all of these sentences; ← is `head->dep`, ↔ is `both`",
            "heads",
            cell=_few_heads,
            wraps=True,
            help="An arrow ← marks heads whose map is transposed (head→dep), and ↔ those whose map and its transpose "
            "are added up (both). An ensemble is the average of all heads in the ensembles of relations, which "
            "<code>tables/dependency_trees_best.csv</code> names.",
        ),
        TableColumn("total", "count", "scored words: all but punctuation and roots", "n"),
        TableColumn("correct", "count", "right words among them"),
        accuracy_column(
            "The score on the sentences that chose the heads, with its 95 % bootstrap interval over sentences."
        ),
        *heldout_columns(
            "right and scored words over all halves of all splits", "sentences", begins="The score if heads are"
        ),
        *(
            column
            for chain, word in (("next", "next word"), ("previous", "word before"))
            for column in (
                TableColumn(
                    f"{chain}_accuracy",
                    "share",
                    f"the accuracy of the chain in which each word depends on the {word}",
                    word,
                    help=f"The score of the chain in which each word depends on the {word}. Without directions, both "
                    "chains are the same.",
                ),
                _gain(chain, f"`{chain}_accuracy`", f"gain over {word}", "that of the chain"),
            )
        ),
        _gain("head", "the same for the best head", "gain over best head", "that of the best head"),
    ),
)


class SpanningTrees(NamedTuple):
    """The scores of trees that are made of maps."""

    heads: pd.DataFrame  # one row per head and direction
    best: pd.DataFrame  # the best head, and the ensemble if there is one, beside chains of neighbors
    sentences: int  # the number of sentences that were scored
    # the number of sentences that were left out, because they do not have one root and a head for each other word
    left_out: int


class Trees(DependencyQuestion):
    """Do the maps of heads make trees?"""

    name = "spanning_trees"
    tables = (TREES, TREES_BEST)
    needs = ("ensembles",)
    template = Path(__file__).with_name("spanning.html.j2")

    def requests(self, plan_context: PlanContext) -> Sequence[Request]:
        """Check that words have one head. The maps are read after counting."""
        if plan_context.chosen.spanning_trees:
            plan_context.check_basic_trees()
        return ()

    def look(self, lookup_context: LookupContext) -> dict[str, Any] | None:
        """Build trees of heads, chains and ensembles, and count what they have right."""
        if not lookup_context.chosen_options.spanning_trees:
            return None
        # Trees are scored without punctuation, so heads that find it are of no use to them.
        relations = lookup_context.words.relations
        of_words = [heads for name, heads in lookup_context.chosen.items() if not all(map(is_punct, relations[name]))]
        seed = lookup_context.words.facts.seed
        divided = lookup_context.options[EnsembleOptions].ensemble_method != "raw"
        return tree_counts(
            lookup_context.read,
            lookup_context.shape,
            unite_ensembles(of_words),
            lookup_context.replicates,
            seed,
            divided=divided,
        )

    def find(self, counts: Words, lookups: Any, earlier: Mapping[str, Any]) -> SpanningTrees | None:
        """Return the tables of what was looked up."""
        return None if lookups is None else spanning_trees(lookups)

    def frames(self, answer: SpanningTrees, results: DependencyResults) -> Mapping[str, pd.DataFrame]:
        """Return both tables."""
        return {TREES.name: answer.heads, TREES_BEST.name: answer.best}

    def show(self, answer: SpanningTrees, results: DependencyResults) -> Sequence[ShownTable]:
        """Return the table of the best head and the ensembles."""
        return (shown_trees(answer),)

    def values(self, answer: SpanningTrees, results: DependencyResults) -> Mapping[str, Any]:
        """Return how many sentences were scored."""
        return {"spanning_trees": answer}

    def explore(
        self, answer: SpanningTrees, counts: Words, results: DependencyResults, kind: str
    ) -> Contribution | None:
        """Say whether trees of heads are better than chains of neighbors."""
        if not results.frequent:
            return None
        found = tree_findings(answer)
        return Contribution(findings=tuple(Finding(text, address(head=head, kind=kind)) for text, head in found))


def spanning_trees(counts: Mapping[str, Any]) -> SpanningTrees:
    """Return the tables of the counts of `tree_counts`."""
    shape, total = tuple(counts["shape"]), counts["total"]
    # The right words of each direction, layer and head, by the two scores.
    directed, undirected = (np.moveaxis(np.reshape(by_head, shape), -1, 0) for by_head in counts["correct"])
    direction, layer, head = (axis.ravel() for axis in np.indices(directed.shape))
    heads = pd.DataFrame(
        {
            "layer": layer + 1,
            "head": head + 1,
            "direction": np.array(READINGS)[direction],
            "total": total,
            "correct": directed.ravel(),
            "undirected_correct": undirected.ravel(),
            "uas": [rate(right, total) for right in directed.ravel().tolist()],
            "uuas": [rate(right, total) for right in undirected.ravel().tolist()],
        }
    )
    rows = [{**row, "accuracy": rate(row["correct"], row["total"])} for row in counts["best"]]
    best = pd.DataFrame(rows, columns=TREES_BEST.names)
    best["heads"] = [" + ".join(names) for names in best["heads"]]
    # Where all values of a column are missing, as without a bootstrap, they are None and no numbers.
    endings = ("accuracy", "_low", "_high", "_min", "_max", "_gain")
    best = best.astype({name: float for name in TREES_BEST.names if name.endswith(endings)})
    return SpanningTrees(heads, best, counts["sentences"], counts["left_out"])


def shown_trees(trees: SpanningTrees) -> ShownTable:
    """Return the table for the page and LaTeX."""
    title = "Trees from heads (words whose syntactic head the tree has, in %)"
    return ShownTable(TREES_BEST.name, title, TREES_BEST.columns, rows_of(trees.best))


def tree_findings(trees: SpanningTrees) -> Iterator[tuple[str, str]]:
    """Yield whether trees of heads are better than chains of neighbors, each with the name of a head."""
    rows = {(row["score"], row["maps"]): row for row in rows_of(trees.best)}

    def gain(row: Row, over: str) -> str:
        return points(row[f"{over}_gain"], row[f"{over}_gain_low"], row[f"{over}_gain_high"])

    for score in SCORES:
        if (row := rows.get((score, "best head"))) is None:
            return
        chains = (
            f"{share(row['next_accuracy'])} if each word depends on the next one, {gain(row, 'next')}, "
            f"{share(row['previous_accuracy'])} if each word depends on the one before, {gain(row, 'previous')}"
        )
        has_enough = trees.sentences >= FEWEST_UNITS
        sides = [side_of_zero(row, f"{chain}_gain") if has_enough else 0 for chain in CHAINS]
        text = (
            f"{share(row['heldout_accuracy'])} {score} of {row['total']:,} words is what trees of single heads reach "
            f"held out, {_verdict(sides)} of neighbors "
            f"({chains}); the best head on all sentences is {row['heads']}."
        )
        together = rows.get((score, "ensemble"))
        if together and side_of_zero(together, "head_gain") > 0:
            more = gain(together, "head")
            text += f" {share(together['heldout_accuracy'])} by the ensembles together, {more} over single heads."
        yield text, row["heads"].rstrip("←↔")


def _verdict(sides: Sequence[int]) -> str:
    """Say how trees are beside chains, given on which side of each they are."""
    if min(sides) > 0:
        return "better than both chains"
    if min(sides) == 0:
        return "not clearly better than both chains"
    return "worse than both chains" if max(sides) < 0 else "worse than one of the chains"


def unite_ensembles(chosen: Sequence[Sequence[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """Return all heads of the ensembles of relations together, for each set of sentences that chose them."""
    return [tuple(sorted(set().union(*of_sentences))) for of_sentences in zip(*chosen, strict=True)]


def tree_of(values: npt.NDArray[np.floating], number: Array) -> Array:
    """Return the head of each word, from 0, in the maximum spanning tree; −1 for the root, the word without a row."""
    # values: the value of each word as the head of each word but the root, shape (words but the root, words).
    # number: the index of the word of each row.
    from ...probes.predictor import maximum_tree  # probes take time to import, and few runs build trees

    n_words = values.shape[1]
    root = np.setdiff1d(np.arange(n_words), number)
    word_of_node = np.concatenate([root, number])  # a tree starts at node 0: the root
    scores = np.full((n_words, n_words), np.nan)
    scores[1:] = values[:, word_of_node]
    np.fill_diagonal(scores, np.nan)
    heads = np.full(n_words, -1)
    heads[number] = word_of_node[maximum_tree(scores)[1:]]
    return heads


def right_words(heads: Array, number: Array, gold: Array) -> npt.NDArray[np.bool_]:
    """Return for words with gold heads whether a tree has their heads, and whether it links them: (scores, words)."""
    # heads: the head of each word in the tree. number, gold: the words with gold heads, and these heads.
    directed = heads[number] == gold
    return np.stack([directed, directed | (heads[gold] == number)])


def tree_counts(
    read: Read,
    shape: tuple[int, int, int],
    ensembles: Sequence[tuple[int, ...]],
    replicates: int,
    seed: int,
    *,
    divided: bool,
) -> dict[str, Any]:
    """Return how many words the trees of heads, chains and ensembles have right, as plain data for JSON."""
    # ensembles: the heads of that which was chosen on all sentences, then of those of both halves of each split;
    # nothing if there are none. divided: whether rows of maps are divided by their sums before they are averaged.
    sentences = [index for index, is_tree in enumerate(read.is_tree) if is_tree]
    ids = [read.ids[index] for index in sentences]
    in_first_half = halves(ids, SPLITS, seed)  # split, sentence
    # The sentences that each ensemble is scored on: all of them, or the half that did not choose it.
    other_halves = np.stack([~in_first_half, in_first_half], 1).reshape(2 * SPLITS, len(sentences))
    scored = np.concatenate([np.ones((1, len(sentences)), dtype=bool), other_halves])
    by_head, by_chain, by_ensemble, total = _right_by_sentence(
        read, sentences, math.prod(shape), ensembles, divided=divided
    )
    draws = poisson_weights(ids, replicates, seed)
    subsets = _counts(np.concatenate([scored[:1], in_first_half]), by_head, by_chain, total, shape)
    drawn = _counts(draws, by_head, by_chain, total, shape)
    rows: list[dict[str, Any]] = []
    for score, score_name in enumerate(SCORES) if total.any() else ():
        rows.append(_head_row(score, subsets, drawn, shape))
        if ensembles and ensembles[0]:
            is_scored = scored & np.array([bool(heads) for heads in ensembles])[:, None]  # ensemble, sentence
            compared_with = {name: by_chain[:, score, [chain]] for chain, name in enumerate(CHAINS)}
            chosen, _, _ = score_choices(subsets.correct[score], subsets.total[score])
            heads = [np.ravel_multi_index((layer, head, direction), shape) for direction, layer, head in chosen]
            # The first ensemble, of all sentences, is not compared with a head; head 0 only keeps the columns aligned.
            compared_with["head"] = by_head[:, score, [0, *map(int, heads)]]
            counts = _ensemble_row(by_ensemble[:, score], compared_with, total, is_scored.T, draws.astype(np.float64))
            names = [name_reading(head, shape) for head in ensembles[0]]
            rows.append({"score": score_name, "maps": "ensemble", "heads": names, **counts})
    return {
        "sentences": len(sentences),
        "left_out": len(read.ids) - len(sentences),
        "shape": list(shape),
        "total": int(total.sum()),
        "correct": by_head.sum(0).tolist(),
        # JSON has no NaN, the only value that differs from itself.
        "best": [{name: None if value != value else value for name, value in row.items()} for row in rows],
    }


def _right_by_sentence(
    read: Read, trees: Sequence[int], n_heads: int, ensembles: Sequence[tuple[int, ...]], *, divided: bool
) -> tuple[Array, Array, Array, Array]:
    """Return how many words of each sentence the trees of heads, chains and ensembles have right, and all words."""
    # trees: the indices in ``read`` of the sentences. ensembles: the heads of each.
    by_head = np.zeros((len(trees), 2, n_heads), dtype=np.int64)  # sentence, score, head
    by_chain = np.zeros((len(trees), 2, 2), dtype=np.int64)  # sentence, score, chain
    by_ensemble = np.zeros((len(trees), 2, len(ensembles)), dtype=np.int64)  # sentence, score, ensemble
    total = np.zeros(len(trees), dtype=np.int64)
    for sentence, index in enumerate(trees):
        # The values of candidates, shape (words, heads, candidates), the indices of these words, and their gold heads.
        values, words, gold = read.candidates[index], read.numbers[index], read.gold[index]
        no_punct = np.array([not is_punct(relation) for relation in read.relations[index]])
        total[sentence] = no_punct.sum()
        for head in range(n_heads):
            tree = tree_of(values[:, head], words)
            by_head[sentence, :, head] = right_words(tree, words, gold)[:, no_punct].sum(1)
        for chain, step in enumerate((1, -1)):  # in the order of `CHAINS`
            # The root has a neighbor, too. So without directions, either chain links all neighbors.
            neighbors = np.arange(len(words) + 1) + step
            by_chain[sentence, :, chain] = right_words(neighbors, words, gold)[:, no_punct].sum(1)
        averaged = read.divide(index) if divided and any(ensembles) else values
        for ensemble, heads in enumerate(ensembles):
            if heads:
                tree = tree_of(averaged[:, list(heads)].mean(1, dtype=np.float64), words)
                by_ensemble[sentence, :, ensemble] = right_words(tree, words, gold)[:, no_punct].sum(1)
    return by_head, by_chain, by_ensemble, total


def _counts(weights: Array, by_head: Array, by_chain: Array, total: Array, shape: tuple[int, int, int]) -> Counts:
    """Add up the counts of sentences, with the two scores as groups and the chains as baselines."""
    weights = weights.astype(np.float64)  # sums of whole numbers are exact
    correct, baselines = (
        np.moveaxis(np.tensordot(weights, counts, 1), 1, 0).astype(np.int64) for counts in (by_head, by_chain)
    )
    correct = np.moveaxis(correct.reshape(*correct.shape[:2], *shape), -1, 2)
    return Counts(correct, baselines, np.stack([(weights @ total).astype(np.int64)] * 2))  # the same for both scores


def _head_row(score: int, subsets: Counts, drawn: Counts, shape: tuple[int, int, int]) -> dict[str, Any]:
    """Return the counts of the best head for a score."""
    correct, total = subsets.correct[score], subsets.total[score]
    n = int(total[0])
    (direction, layer, head), columns = best_head(correct[0], n, READINGS)
    low, high = interval(rates(drawn.correct[score, :, direction, layer, head], drawn.total[score]))
    row = {
        "score": SCORES[score],
        "maps": "best head",
        "heads": [name_reading(int(np.ravel_multi_index((layer, head, direction), shape)), shape)],
        "total": n,
        "correct": columns["correct"],
        "accuracy_low": low,
        "accuracy_high": high,
        **heldout(correct, total),
    }
    for chain, name in enumerate(CHAINS):
        row[f"{name}_accuracy"] = rate(int(subsets.baselines[score, 0, chain]), n)
        gain = heldout_gain([score], subsets, drawn, [chain])
        row |= {column.replace("heldout", name): value for column, value in gain.items()}
    return row


def _ensemble_row(
    by_choice: Array, compared_with: Mapping[str, Array], total: Array, is_scored: Array, draws: Array
) -> dict[str, Any]:
    """Return the counts of the ensemble for a score."""
    # by_choice: the right words of each sentence, shape (sentences, choices): of the ensemble that was chosen on all
    # sentences, then of those of both halves of each split. compared_with: the same of the heads that were chosen
    # beside them; and of each chain, which nothing chooses, so that it has one column. total: all words of a sentence.
    # is_scored: which sentences each choice is scored on, shape (sentences, choices). draws: (replicates, sentences).
    chosen_on_all = by_choice[:, 0]
    # What was chosen on a half is scored on the other. The axes are sentences, and both halves of each split in turn.
    is_scored_half = is_scored[:, 1:]
    right, words = by_choice[:, 1:] * is_scored_half, total[:, None] * is_scored_half
    right_by_split, words_by_split = (counts.sum(0).reshape(-1, 2).sum(1) for counts in (right, words))
    by_split = rates(right_by_split, words_by_split)
    drawn_words = draws @ words.sum(1)
    low, high = interval(rates(draws @ chosen_on_all, draws @ total))
    row = {
        "total": int(total.sum()),
        "correct": int(chosen_on_all.sum()),
        "accuracy_low": low,
        "accuracy_high": high,
        "heldout_correct": int(right.sum()),
        "heldout_total": int(words.sum()),
        "heldout_accuracy": rate(int(right.sum()), int(words.sum())),
        "heldout_min": float(by_split.min()) if by_split.size else math.nan,
        "heldout_max": float(by_split.max()) if by_split.size else math.nan,
    }
    can_choose = is_scored_half.any(0)  # each half
    has_enough = effective_number(total) >= FEWEST_UNITS
    for name, right_of_other in compared_with.items():
        if name in CHAINS:
            row[f"{name}_accuracy"] = rate(int(right_of_other.sum()), int(total.sum()))
        gains_of_choices = (by_choice - right_of_other)[:, 1:]  # on all sentences
        gains = gains_of_choices * is_scored_half
        gain = rate(int(gains.sum()), int(words.sum()))
        low, high = interval_of_halves(
            gain,
            rates(draws @ gains.sum(1), drawn_words),
            gains_of_choices.sum(0)[can_choose] / total.sum(),
            rates(gains.sum(0).reshape(-1, 2).sum(1), words_by_split),
        )
        row |= {f"{name}_gain": gain, f"{name}_gain_low": low, f"{name}_gain_high": high}
        if not has_enough:
            row |= {f"{name}_gain_low": math.nan, f"{name}_gain_high": math.nan}
    return row

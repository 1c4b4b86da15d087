"""The columns of all tables of surveys."""

from __future__ import annotations

from ...extractors.tokens.text_fit import HARDLY_PIECES, MOST_PIECES, MOST_UNKNOWN
from ...reports.columns import Schema, TableColumn

_VERDICTS = {"yes": "fits", "poorly": "fits poorly", "no": "hardly made for this language"}

SURVEY = Schema(
    "survey",
    "One row per model, treebank, kind of map and relation.",
    (
        TableColumn("model revision treebank map", "text", "what was read"),
        TableColumn("relation direction", "text", "the relation, and the direction of its best head"),
        TableColumn("layer head", "number from 1", "the best head"),
        TableColumn("n correct", "count", "words of the relation, and those whose syntactic head is found"),
        TableColumn("accuracy low high", "share", "`correct` / `n`"),
        TableColumn("offset", "number, words", "the best fixed distance"),
        TableColumn("offset_accuracy", "share", "its accuracy"),
        TableColumn("gain gain_low gain_high", "points", "`accuracy` − `offset_accuracy`"),
        TableColumn("heldout", "share", "the held-out accuracy"),
        TableColumn(
            "random", "share", "with `--control`: the mean accuracy of the best heads of models with random weights"
        ),
        TableColumn("status reason", "text", "`ok`; or `failed`, and why"),
    ),
)

SURVEY_CELLS = Schema(
    "survey_cells",
    "One row per model, treebank and kind of map.",
    (
        TableColumn("model revision treebank map", "text", "what was read"),
        TableColumn("status reason", "text", "as in `survey.csv`"),
        TableColumn("sentences skipped words", "count", "what was read, and sentences that were skipped"),
        TableColumn("layers heads", "count", "layers of the model, and heads in each"),
        TableColumn("weights_sha256", "text", "the SHA-256 of the weights"),
        TableColumn(
            "pieces_per_word",
            "number",
            "the mean number of pieces of the words with a letter, in which an ideograph counts as a word",
            "pieces per word",
            digits=2,
        ),
        TableColumn("split_words", "share", "words that are cut into several pieces", "split words"),
        TableColumn("unknown_words", "share", "words with a piece that is the unknown token", "unknown words"),
        TableColumn("unknown_pieces", "share", "pieces of words that are the unknown token", "unknown pieces"),
        TableColumn(
            "lost_characters",
            "share",
            "characters of words, without white space, that are in unknown pieces or in none",
            "lost characters",
        ),
        TableColumn(
            "fits",
            "text",
            f"`no` if more than {100 * MOST_UNKNOWN:.0f} % of the words are unknown or words have more than "
            f"{HARDLY_PIECES:g} pieces: the model was hardly made for this language; `poorly` if they have more than "
            f"{MOST_PIECES:g}; otherwise `yes`",
            "verdict",
            cell=lambda row: _VERDICTS.get(row["fits"], "–"),
            look=lambda row: "strong" if row["fits"] == "no" else "",
            wraps=True,
        ),
    ),
)

SURVEY_CONTRASTS = Schema(
    "survey_contrasts",
    "One row per treebank, relation and pair of kinds of maps or models.",
    (
        TableColumn("about", "text", "`maps` or `models`: in what the sides differ"),
        TableColumn("treebank relation", "text", "the treebank and the relation"),
        TableColumn(
            "model_a map_a model_b map_b",
            "text",
            "the two sides: the first model or kind of the command, and another one",
        ),
        TableColumn("n_a n_b", "count", "words of the relation"),
        TableColumn("value_a value_b", "share", "the held-out accuracies"),
        TableColumn("difference low high", "points", "`value_a` − `value_b`; as everywhere, the first minus the other"),
        TableColumn("p p_holm", "p", "the p value, and the adjusted one"),
        TableColumn("choice_a choice_b", "text", "the best heads"),
        TableColumn("paired reason", "text", "as in `comparison.csv`"),
    ),
)

SURVEY_MEANS = Schema(
    "survey_means",
    "The same over all treebanks together.",
    (
        TableColumn("about relation", "text", "as in `survey_contrasts.csv`"),
        TableColumn("model_a map_a model_b map_b", "text", "the two sides"),
        TableColumn("n_a n_b", "count", "words of the relation on all treebanks"),
        TableColumn("value_a value_b", "share", "the means over treebanks"),
        TableColumn("difference low high", "points", "`value_a` − `value_b`"),
        TableColumn("p p_holm", "p", "the p value, and the adjusted one"),
        TableColumn("paired reason", "text", "as in `comparison.csv`"),
        TableColumn("treebanks", "count", "treebanks in the means"),
    ),
)

SURVEY_TRANSFER = Schema(
    "survey_transfer",
    "One row per model, kind of map, treebank that chooses, other treebank that scores, and relation that both have. "
    "It is written if a model was counted on at least two treebanks.",
    (
        TableColumn("model map", "text", "what was read"),
        TableColumn("chosen_on scored_on", "text", "the treebank that chooses the head, and the one that scores it"),
        TableColumn("relation direction", "text", "the relation, and the direction of the head"),
        TableColumn("layer head", "number from 1", "the best head on `chosen_on`, as in `survey.csv`"),
        TableColumn("n_chosen n", "count", "words of the relation in `chosen_on` and in `scored_on`"),
        TableColumn("correct", "count", "words of `scored_on` whose syntactic head it finds"),
        TableColumn("accuracy low high", "share", "`correct` / `n`"),
        TableColumn("heldout", "share", "the held-out accuracy of the heads that `scored_on` chooses itself"),
        TableColumn(
            "loss loss_low loss_high", "points", "`accuracy` − `heldout`; below 0, the head of `chosen_on` loses"
        ),
    ),
)

SURVEY_TRANSFER_MEANS = Schema(
    "survey_transfer_means",
    "The means of `survey_transfer.csv` over relations with at least `--min-count` words in both treebanks, without "
    "totals, groups of relations, and roots.",
    (
        TableColumn("model map", "text", "what was read"),
        TableColumn("chosen_on", "text", "the treebank that chooses the heads"),
        TableColumn("scored_on", "text", "the treebank that scores them; empty for the mean over all other treebanks"),
        TableColumn("treebanks relations", "count", "treebanks that score, and relations in the mean"),
        TableColumn("n", "count", "words of these relations in the treebanks that score"),
        TableColumn("accuracy heldout", "share", "the means over relations, and then over treebanks"),
        TableColumn("loss loss_low loss_high", "points", "`accuracy` − `heldout`"),
        TableColumn("only_chosen only_scored", "text", "relations that only one of the two treebanks has"),
    ),
)

SURVEY_TRAINING = Schema(
    "survey_training",
    "One row per model, treebank, kind of map, relation or layer, and checkpoint of the model. It is written if at "
    "least three models of the survey are revisions or checkpoints of one model.",
    (
        TableColumn("model checkpoint", "text", "the name without the step, and the whole name of the model"),
        TableColumn("step", "number", "the number in the name of the revision or folder"),
        TableColumn("treebank map", "text", "what was read"),
        TableColumn("about", "text", "`relation`, or `layer`: the mean over relations for one layer"),
        TableColumn("relation", "text", "the relation; empty for layers"),
        TableColumn("layer", "number from 1", "the layer, whose best head is chosen and scored; empty for relations"),
        TableColumn("relations n", "count", "relations in the mean, and their words"),
        TableColumn("heldout low high", "share", "the held-out accuracy"),
    ),
)

SCHEMAS = (
    SURVEY, SURVEY_CELLS, SURVEY_CONTRASTS, SURVEY_MEANS, SURVEY_TRANSFER, SURVEY_TRANSFER_MEANS, SURVEY_TRAINING,
)  # fmt: skip
"""The tables that a survey writes."""

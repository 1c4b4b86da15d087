"""What the sections of pages show if there is something to say of everything, in the order of the page."""

from __future__ import annotations

import math
from typing import Any

from markupsafe import Markup

NAN = math.nan
HEAD: dict[str, Any] = {"layer": 3, "head": 4, "correct": 7, "direction": "mention->antecedent", "offset": -2}

COREFERENCE: dict[str, Any] = {
    "map_facts": ["fact a", "fact b"],
    "account": {"scored": 1200, "anaphors": 1500, "documents": 1030, "forced": 1002},
    "candidates": {"all": "ALL", "preceding": "EARLIER"},
    "policy": "all",
    "asked": [],
    "singletons": "keep",
    "scored": True,
    "min_count": 11,
    "fewest": 40,
    "published": True,
    "contrasts": True,
    "largest": [
        {
            "first": "she",
            "second": "he",
            "first_total": 1300,
            "second_total": 1400,
            "has_intervals": True,
            "above": 5,
            "below": 6,
            "choices": 144,
        }
    ],
    "choices": 288,
    "best": HEAD,
    "reasons": [("no answer", 1100)],
    "examples": {
        right: [
            (
                {"before": f"{name} before", "mention": name, "after": "after", "document": "doc", "type": "pronoun"},
                f"[candidates of {name}]",
                Markup(' dir="rtl"'),
            )
        ]
        for right, name in ((True, "SHE"), (False, "HE"))
    },
}
DEPENDENCY: dict[str, Any] = {
    "map_facts": ["fact a", "fact b"],
    "min_count": 11,
    "is_enhanced": False,
    "example": {
        **HEAD,
        "relation": "obj",
        "total": 1234,
        "accuracy": 0.5,
        "offset_correct": 9,
        "offset_accuracy": 0.25,
    },
    "spanning_trees": {"sentences": 1500, "left_out": 1003},
}
EXPLANATION: dict[str, Any] = {
    "facts": ["fact a", "fact b"],
    "verdicts": True,
    "gate": "fails",
    "item": "SENTENCE",
    "not_run": True,
    "models": True,
    "n_texts": 1500,
    "has_f1": True,
    "has_auc": True,
    "by_class": True,
    "parts": [
        {
            "heading": "PART",
            "captions": {"explain_a": "CAPTION"},
            "whole": "[whole]",
            "by_class": "[by class]",
            "html": "[rest]",
        }
    ],
    "examples": [
        {
            "label": "good",
            "predicted": "bad",
            "probability": 0.75,
            "query": "WHO?",
            "is_right_to_left": True,
            "panels": [
                {
                    "name": "attention",
                    "note": "NOTE",
                    "words": [
                        {"weight": -0.5, "shade": 1.0, "word": "one", "after": ", "},
                        {"weight": 0.25, "shade": 0.5, "word": "two", "after": "."},
                    ],
                }
            ],
        }
    ],
}
NORMS = {"has_changes": True, "changed_sentences": 1500, "mixed_tokens": 1600, "points": 70}
PROBING: dict[str, Any] = {
    "facts": ["fact a", "fact b"],
    "rows": [{"total": 1500, "method": "attention"}, {"total": 1500, "method": "offset"}],
    "has_control": True,
    "has_published": True,
    "contrasts": True,
    "read": "READ MAPS",
    "state_meanings": {"arcs": "ARCS"},
    "state_recipes": ["RECIPE", "RECIPES"],
    "state_parameters": ["arcs 1,234", "depth 5"],
    "layer_contrasts": 2,
    "edge_scores": ["uuas", "uas"],
    "tree_of": "TREE OF",
    "least_edges": 13,
    "coded_words": ["1,500 words (arcs)", "1,600 words (label:upos)"],
    "uncoded": ["distance", "depth"],
    "has_intervals": True,
    "tree": True,
    "runs": 3,
    "meanings": {"attention": "MEANING", "offset": ""},
    "min_count": 11,
    "fixed": ["attention"],
    "weights": {
        "attention": [
            {"of": "weight", "spearman": 0.5, "pearson": 0.25, "heads": 144},
            {"of": "other", "spearman": 0.9, "pearson": 0.8, "heads": 145},
        ],
        "attention+words": [{"of": "weight", "spearman": NAN, "pearson": 0.75, "heads": 146}],
    },
    "run": {"probes": {"splits": [1, 2]}},
}
SURFACE: dict[str, Any] = {
    "sink": [
        {"name": "[SEP]", "layers": "1–2", "low": 0.5, "high": 0.75},
        {"name": "[CLS]", "layers": "3", "low": 0.25, "high": 0.25},
    ],
    "run": {"options": {"position_threshold": 0.41, "target_threshold": 0.52, "broad_threshold": 0.83}},
    "gradients": {"inputs": 1500, "loss": 2.5},
    "detectors": {"causal": False},
}
SURVEY: dict[str, Any] = {
    "suffix": "-norm",
    "has_failures": True,
    "has_fit": True,
    "min_count": 11,
    "has_reports": True,
    "left_out_heads": [
        {"model": "m1", "treebank": "t1", "roots": "5", "empty_nodes": "6"},
        {"model": "m2", "treebank": "t2", "roots": "7", "empty_nodes": "8"},
    ],
    "matrices": [{"relation": "obj", "accuracies": "[accuracies]", "differences": "[differences]"}],
    "left_out": ["a", "b"],
    "has_contrasts": True,
    "has_means": True,
    "transfer_findings": ["FOUND 1.", "FOUND 2."],
    "transfer_relation": "nsubj",
    "only_in_one": {f"pair {n}": f"names {n}" for n in range(1, 14)},
    "training": ["survey_training_1", "survey_training_2"],
    "curves_left_out": ["c1", "c2"],
    "first": "obj",
}
ALIGNMENT: dict[str, Any] = {
    "method": "cross-attention",
    "has_gold": True,
    "both": True,
    "correlations": True,
    "fewest_points": 4,
    "example": {"id": "p1", "layer": 3},
    "chosen": {"layer": 5, "setting": "AWO", "measure": "norm", "reason": "REASON"},
}
ABLATION = {"has_relations": True, "conclusion": "CONCLUSION.", "too_few": "TOO FEW WORDS", "pruning_total": 1500}
CLUSTERS = {
    "rows": 1500,
    "has_relations": True,
    "clusters": 4,
    "silhouette": 0.255,
    "neighbors": {1: {"within": 0.1234, "across": 0.4321}},
}
COMPARISON: dict[str, Any] = {
    "parts": [
        {
            "id": "ID",
            "short": "SHORT",
            "heading": "LONG",
            "table": "[table]",
            "significant": 2,
            "figure": "drawn",
            "contrast": {"statement": "STATEMENT.", "tested": [1, 2, 3]},
        }
    ],
    "together": {"both": "CAPTION"},
    "min_count": 11,
}

# For each section: the context in which all is shown, and what is shown then, in this order.
SHOWN: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "coreference": (
        COREFERENCE,
        (
            "fact a · fact b 1,200 of the 1,500 mentions that have an antecedent are scored. First. Second.",
            "Candidates are ALL. Entities that are mentioned only once are candidates, too.",
            "[coreference_best] 1,200 mentions in 1,030 documents. Gray rows have fewer than 11 mentions.",
            "choose among EARLIER, which is easier",
            "[coreference_published]",
            "[figure coreference_best]",
            "[legend of coreference_best]",
            "[coreference_others]",
            "[figure coreference_heads]",
            "[figure coreference_distances]",
            "[coreference_contrasts]",
            "she (n = 1,300) minus he (n = 1,400): above 0 in 5, below 0 in 6 of 144 heads",
            "[coreference_largest_contrasts_1] The largest of 288 differences",
            "[figure coreference_contrasts] The figure shows",
            "[coreference_picks]",
            "[coreference_failures]",
            "among ALL.",
            "[coreference_ensembles] [legend of coreference_ensembles]",
            "Where the best head is right The weights are those of head 3-4, m→ante, from the mention to each",
            "SHE before [SHE] after doc, pronoun [candidates of SHE]",
            "Where the best head is wrong",
            "HE before [HE] after doc, pronoun [candidates of HE]",
            "1,500 mentions have an antecedent in the corpus, of which 1,200 could be scored. 1,002 of the scored",
            "have no wrong candidate among EARLIER.",
            "no answer: 1,100",
        ),
    ),
    "dependency": (
        DEPENDENCY,
        (
            "fact a · fact b [dependency_best]",
            "Gray rows have fewer than 11 words. root is not shown",
            "For example: 1,234 words are obj of another word. Attention head 3-4 finds that other word for 7 of them "
            "(50.0 %). Always guessing the word 2 places to the left finds it for 9 (25.0 %).",
            "[legend of dependency_best]",
            "[figure dependency_best]",
            "[figure dependency_heads]",
            "[dependency_tags] [legend of dependency_tags]",
            "[dependency_ensembles] [legend of dependency_ensembles]",
            "1,500 of the first sentences are scored; 1,003 are left out",
            "[dependency_trees_best] [legend of dependency_trees_best]",
            "obj [dependency_picks of obj] [dependency_failures of obj] nsubj [dependency_picks of nsubj]",
        ),
    ),
    "explanation": (
        EXPLANATION,
        (
            "fact a · fact b First. Second. Verdicts [explain_verdicts]",
            "with uniform attention does better here.",
            "a random SENTENCE,",
            "Tests left out [explain_left_out]",
            "The models [explain_models] On the 1,500 tested texts. F1 is that of the second class.",
            "AUC: area under the ROC curve. PART",
            "PART [figure explain_a] CAPTION [whole] By predicted class [by class] [rest]",
            "the more weight a SENTENCE has",
            "Point at a SENTENCE to see",
            "label: good · predicted: bad (75.0 %) Query: WHO? attention NOTE one, two.",
            "[figure explain_training]",
        ),
    ),
    "norms": (
        NORMS,
        (
            "First. Second. Where attention goes, by weight and by norm [norms_classes]",
            "[figure norms_shares] [norms_layers]",
            "FF and FFB are the change",
            "Weight against norm [figure norms_grid] [norms_correlation]",
            "[norms_dispersion]",
            "Context mixing [norms_mixing]",
            "over all layers and 1,600 tokens. [figure norms_mixing] [norms_mixing_layers]",
            "Frequency [norms_frequency]",
            "[figure norms_frequency] The figure shows 70 tokens",
            "changes [figure norms_change] [norms_change]",
            "the mean over 1,500 sentences.",
            "amplifies most [norms_amplified]",
            "it amplifies [figure norms_pairs] [norms_pairs] [norms_relations]",
            "shrinks [figure norms_block] [norms_overwriting]",
            "[norms_dimensions] [norms_left_out]",
        ),
    ),
    "probing": (
        PROBING,
        (
            "All methods fact a · fact b [probe] n = 1,500 words. Orange mark: control task. The numbers of the paper",
            "First. Second. [figure probe] How to read it",
            "as a tree: the best set of heads that is a tree with one root. Mean over 3 training runs; in brackets",
            "attention MEANING. control task, selectivity",
            "What each adds [probe_contrasts]",
            "with 95 % bootstrap intervals over sentences. If",
            "Hidden states by layer [figure probe_layers]",
            "[probe_states] arcs ARCS. RECIPE; RECIPES. Learned parameters: arcs 1,234, depth 5.",
            "[probe_state_contrasts]",
            "Which layers a mix weighs [probe_mix] A mix of all layers",
            "Which arcs are found [probe_edges] The share of the edges",
            "Gray rows have fewer than 13 edges. [probe_directions] The share of words",
            "One sentence [figure probe_tree] The distances of the words",
            "in its tree, and as TREE OF predicts them",
            "[probe_codelength] The online code of the labels or heads of 1,500 words (arcs), 1,600 words (label:upos)",
            "in the training sentences of the first fold",
            "distance and depth predict no probabilities and have no code.",
            "[figure probe_lengths]",
            "[probe_relations] Bold: the best of the row. Gray rows have fewer than 11 words.",
            "[figure probe_weights]",
            "attention Over 144 heads and directions,",
            "rank correlation of 0.50 (Pearson 0.25).",
            "[probe_weights_1]",
            "[probe_weights_by_relation_1] Mean over the arcs",
            "and over runs. Here the weight of a head is the same",
            "attention+words [probe_weights_2]",
            "[probe_weights_by_relation_2]",
            "[figure probe_training] One line per run, of the first fold.",
        ),
    ),
    "surface": (
        SURFACE,
        (
            "First. Second. Where attention goes [surface_layers]",
            "[SEP] in layers 1–2 (50.0 to 75.0 %), [CLS] in layers 3 (25.0 %).",
            "[figure surface_statistics] [surface_strongest]",
            "[figure surface_special]",
            "[figure surface_offsets]",
            "Heads that find copies of a piece [detectors_best]",
            "or mask-copy if it exceeds both",
            "is called duplicate and never induction",
            "[surface_labels]",
            "more than 41 % of its attention",
            "more than 52 % goes there",
            "more than 83 % of that of uniform",
            "[figure surface_entropy]",
            "[figure surface_gradients] [surface_gradients]",
            "1,500 inputs (the mean loss is 2.500)",
        ),
    ),
    "pairs": (
        {"notes": ["First.", "Second."]},
        (
            "First. Second. Attention at the words that differ [pairs_critical]",
            "the intervals are not widened for that",
            "Which sentence does the model prefer? [pairs_accuracy]",
            "that the model knows a construction does not follow",
            "[legend of pairs_accuracy]",
            "Which heads does the preference need? [pairs_heads]",
            "and not only to what these pairs are about",
            "[legend of pairs_heads]",
        ),
    ),
    "survey": (
        SURVEY,
        (
            "What failed [survey_failures]",
            "fit the treebanks [survey_fit]",
            '<p id="choose-norm" hidden><label>relation <select id="relation-norm">',
            "Gray entries have fewer than 11 words. An entry leads to its head in the report",
            "m1 on t1, 5 (root) and 6 (empty node); m2 on t2, 7 (root) and 8 (empty node). obj [accuracies]",
            "[differences]",
            '<section class="relation-norm" data-name="obj" data-first>',
            "2 rarer relations",
            "[figure survey_accuracy] Held-out accuracies",
            "Contrasts [survey_significant]",
            "tables/survey_contrasts.csv and tables/survey_means.csv.",
            "[figure survey_differences] Differences of one",
            "in which both sides have at least 11 words of",
            '<h2 id="transfer-norm">',
            "Transfer between treebanks FOUND 1. FOUND 2. Each entry",
            "with at least 11 words in both treebanks, without totals and roots: [survey_transfer]",
            "The same for nsubj, with the head that the treebank of the row chose: [survey_transfer_relation]",
            "pair 1: names 1; pair 2: names 2;",
            "pair 12: names 12. The columns",
            "[figure survey_transfer]",
            '<h2 id="training-norm">',
            "[figure survey_training_1]",
            "[figure survey_training_2]",
            "as means over the relations with at least 11 words.",
            "tables/survey_training.csv, and so are the curves of c1, c2.",
            'document.querySelectorAll(".relation" + "-norm")];',
            'document.getElementById("relation" + "-norm");',
            'document.getElementById("choose" + "-norm").hidden = false;',
        ),
    ),
    "alignment": (
        ALIGNMENT,
        (
            "that reads the word (AWI) or predicts it (AWO).",
            "or norms of the vectors that attention moves",
            "0 for a perfect alignment",
            "[alignment_layers]",
            "[figure alignment_layers]",
            "[figure alignment_example] The sentence pair p1 in layer 3, all heads",
            "Squares are gold links",
            "[alignment_best]",
            "Links are those of target words (forward)",
            "[figure alignment_heads]",
            "[alignment_contrasts]",
            "[alignment_correlations]",
            "There is none over fewer than 4 layers or heads.",
            "[alignment_baselines]",
        ),
    ),
    "ablation": (
        ABLATION,
        (
            "First. Second. The heads that matter most [ablation_heads] [figure ablation_heads]",
            "Does the head that finds a relation matter for its words? CONCLUSION. [ablation_relations]",
            "[ablation_relations] Gray rows have TOO FEW WORDS. They are not tested.",
            "at once [figure ablation_pruning]",
            "on 1,500 words or masked pieces",
        ),
    ),
    "clusters": (
        CLUSTERS,
        (
            "First. Second. [figure head_distances]",
            "over 1,500 rows",
            "Words name the relation",
            "[head_neighbors] The mean distance is 0.123 nats within layers and 0.432 nats across layers.",
            "[head_clusters]",
            "into 4 clusters. Their mean silhouette is 0.26",
        ),
    ),
    "comparison": (
        COMPARISON,
        (
            "First. Second. SHORT STATEMENT. [table] Of 3 tested groups, 2 differ significantly",
            "[figure drawn] Each dot",
            "Dots are filled if the difference is significant.",
            "Drawn together [figure both] CAPTION",
            "Groups with fewer than 11 decisions",
        ),
    ),
}

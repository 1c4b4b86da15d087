"""Small faults in what is computed and in what is shown, each with the test that must notice it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A small fault.

    Attributes:
        path: the file, below the root of the repository.
        old: a piece of its code, which occurs once.
        new: what takes its place.
        test: the test that must fail.
    """

    path: str
    old: str
    new: str
    test: str

    def planted_in(self, source: str) -> str:
        """Return a source with the fault.

        Raises:
            ValueError: the piece does not occur once.
        """
        if source.count(self.old) != 1:
            raise ValueError(f"{self.path}: {self.old!r} occurs {source.count(self.old)} times")
        return source.replace(self.old, self.new)


_APPROVED = "tests/acceptance/test_approved.py::test_a_stored_run_shows_what_was_approved"
_DEPENDENCY = "tests/unit/test_shown_dependency.py::"
_COREFERENCE = "tests/unit/coreference/test_shown_coreference.py::"
_NORMS = "tests/unit/test_shown_norms.py::"
_COMPARISON = "tests/unit/test_shown_comparison.py::"
_SURVEY = "tests/unit/test_survey_reading.py::"
_TRANSFER = "tests/unit/test_transfer.py::"
_PROBES = "tests/unit/test_probe_reports.py::"
_FINDINGS = "tests/unit/test_findings.py::"
_ABLATION = "tests/unit/test_ablation.py::"
_ENHANCED = "tests/reference/test_enhanced.py::"

_GATE = "tests/unit/test_gate.py::"
_PUNCTUATION = "tests/unit/test_punctuation.py::"

_COMPUTED = (  # faults in what is computed
    Fault(
        "extractors/layers/contributions.py",
        "given[keys] = True",
        "given[0] = True",
        "tests/reference/test_norm_maps.py::test_vectors_are_computed_only_where_something_is_attended_to[none-0.25]",
    ),
    Fault(
        "extractors/layers/activations.py",
        'partial(functional.gelu, approximate="tanh")',
        "functional.gelu",
        "tests/unit/test_kinds.py::test_activations_in_one_pass_have_the_same_values[gelu_new]",
    ),
    Fault(
        "extractors/layers/gradients.py",
        "if bool(wrong.any()):",
        "if False:",
        "tests/reference/test_gradient_maps.py::"
        "test_weights_that_are_changed_before_values_are_summed_up_are_noticed[bert]",
    ),
    Fault(
        "extractors/kinds/attention_gradient.py",
        "/ inside.sum(1)",
        "/ inside.shape[1]",
        "tests/reference/test_gradient_maps.py::test_against_autograd_on_a_plain_model[bert-token]",
    ),
    Fault(
        "analyses/ablation/predictions.py",
        "log_p[range(len(ids)), ids].sum()",
        "log_p[0, ids[0]]",
        "tests/unit/test_predictions.py::test_predictions_are_those_of_edited_weights",
    ),
    Fault(
        "analyses/ablation/relations.py",
        '"others": value - row[difference]',
        '"others": row[difference]',
        f"{_ABLATION}test_relations_compare_the_best_head_with_its_layer",
    ),
    Fault(
        "analyses/coreference/decisions.py",
        "return list(reversed(choice.before))",
        "return list(choice.before)",
        "tests/reference/test_coreference.py::test_nearest_and_head_match_on_random_documents",
    ),
    Fault(
        "analyses/coreference/contrasts.py",
        'row["difference"] = first - second',
        'row["difference"] = second - first',
        f"{_FINDINGS}test_differences_between_groups_of_documents",
    ),
    Fault(
        "analyses/dependency/decisions.py",
        "    if counts.max() == 1:",
        "    if counts.max() >= 1:",
        f"{_ENHANCED}test_counts_are_those_of_a_recount_of_the_column",
    ),
    Fault(
        "analyses/dependency/spanning.py",
        "np.stack([~in_first_half, in_first_half], 1)",
        "np.stack([in_first_half, ~in_first_half], 1)",
        "tests/reference/test_spanning_trees.py::test_best_head_and_ensemble_are_chosen_on_the_other_half",
    ),
    Fault(
        "analyses/dependency/accuracy.py",
        "(by_offset[index], offsets[index])",
        "(by_offset[index], -offsets[index])",
        "tests/reference/test_dependency.py::test_best_offset_against_a_loop",
    ),
    Fault(
        "analyses/dependency/accuracy.py",
        '"gain": rate(right - right_by_offset, n)',
        '"gain": rate(right_by_offset - right, n)',
        f"{_FINDINGS}test_gain_over_the_best_offset",
    ),
    Fault(
        "analyses/dependency/accuracy.py",
        "zip(READINGS, (before, after, together), strict=True)",
        "zip(READINGS, (after, before, together), strict=True)",
        "tests/reference/test_causal_heads.py::test_reach_is_the_share_of_words_on_the_right_side",
    ),
    Fault(
        "analyses/counting/best_head.py",
        "scores = choosing[split, 1 - half,",
        "scores = choosing[split, half,",
        "tests/reference/test_dependency.py::test_heldout_accuracy",
    ),
    Fault(
        "analyses/counting/best_head.py",
        "np.quantile(values, [0.025, 0.975]",
        "np.quantile(values, [0.05, 0.95]",
        "tests/reference/test_dependency.py::test_intervals_are_those_of_the_weighted_recounts",
    ),
    Fault(
        "analyses/shared/ensembles.py",
        "ensemble_is_right[split] |= search.right(heads) & ~is_choosing",
        "ensemble_is_right[split] |= search.right(heads) & is_choosing",
        "tests/reference/test_ensembles.py::test_ensembles_are_those_of_a_naive_search",
    ),
    Fault(
        "analyses/shared/ensembles.py",
        "            if max(right) > best:",
        "            if max(right) >= best:",
        "tests/reference/test_ensembles.py::test_ensembles_are_those_of_a_naive_search",
    ),
    Fault(
        "analyses/shared/ensembles.py",
        "by_reading[:, :, 1] / columns]",
        "by_reading[:, :, 1] / rows.T[..., None]]",
        "tests/reference/test_coreference_ensembles.py::test_published_ensembles_average_divided_rows",
    ),
    Fault(
        "extractors/kinds/rollout.py",
        "below.mean(layer_map.clamp(min=0))",
        "below.mean(layer_map).clamp(min=0)",
        "tests/unit/test_kinds.py::test_relevance_is_that_of_chefer",
    ),
    Fault(
        "analyses/surface/detectors.py",
        "total = total + count * alpha",
        "total = total + alpha",
        "tests/reference/test_detectors.py::test_scores_of_any_text_are_those_of_loops",
    ),
    Fault(
        "analyses/surface/detectors.py",
        "INDUCTION if causal and pattern",
        "INDUCTION if pattern",
        "tests/reference/test_detectors.py::test_labels_need_more_than_random_weights_and_than_the_control",
    ),
    Fault(
        "analyses/pairs/scores.py",
        "words[other] == words[piece]",
        "words[other] != words[piece]",
        "tests/reference/test_pairs.py::test_masked_scores_are_those_of_a_loop",
    ),
    Fault(
        "analyses/pairs/scores.py",
        "row = ids if ids[:1] == [begin] else [begin, *ids]",
        "row = [begin, *ids]",
        "tests/reference/test_pairs.py::test_a_causal_model_begins_with_bos_or_eos_and_the_sentence_as_it_is_written",
    ),
    Fault(
        "analyses/pairs/accuracy.py",
        "int((known > 0).sum()), int((known == 0)",
        "int((known >= 0).sum()), int((known == 0)",
        "tests/reference/test_pairs.py::test_ties_are_not_correct_and_counted_apart",
    ),
    Fault(
        "analyses/pairs/attractors.py",
        "keys].mean(-2)",
        "keys].sum(-2)",
        "tests/reference/test_pair_words.py::test_attention_to_the_words_that_pairs_name_is_that_of_loops",
    ),
    Fault(
        "analyses/pairs/positions.py",
        "max(0, word - stop + 1)",
        "max(0, word - stop)",
        "tests/reference/test_pair_words.py::test_attention_by_position_is_that_of_loops_and_adds_up",
    ),
    Fault(
        "analyses/pairs/contributions.py",
        ".sum((0, 2))",
        ".sum((0, 3))",
        "tests/reference/test_pair_contributions.py::test_a_linear_model_by_hand",
    ),
    Fault(
        "corpora_loaders/minimal_pairs.py",
        "if one != other:",
        "if not one:",
        "tests/reference/test_pairs.py::test_words_that_a_pair_does_not_have",
    ),
    Fault(
        "analyses/norms/copying.py",
        "copies[:, 1:].sum(1)",
        "copies.sum(1)",
        "tests/reference/test_copying.py::test_shares_are_those_of_a_loop_over_positions",
    ),
    Fault(
        "analyses/survey/seed_matches.py",
        "np.hstack([profiles_of(rates), *columns])",
        "profiles_of(rates)",
        "tests/unit/test_seeds.py::test_scores_of_detectors_tell_heads_apart_that_find_the_same_relations",
    ),
    Fault(
        "analyses/norms/copying.py",
        "written = weights.norm_in.linear(written)",
        "pass",
        "tests/reference/test_copying.py::test_scores_are_those_of_the_whole_matrix",
    ),
    Fault(
        "analyses/shared/failures.py",
        "2 * x * products * n",
        "x * products * n",
        "tests/reference/test_failures.py::test_intervals_are_those_of_the_residuals_of_sentences",
    ),
    Fault(
        "analyses/shared/input_sample.py",
        "if filled >= most:",
        "if filled + spaces[index] > most:",
        "tests/unit/test_input_sample.py::test_any_split_order_and_nesting_gives_the_same_bytes",
    ),
    Fault(
        "analyses/surface/statistics.py",
        "sinks = [lengths[:, None] - to_tokens]",
        "sinks = [from_all[4]]",
        "tests/reference/test_surface.py::test_learned_sinks_are_a_class_of_their_own",
    ),
    Fault(
        "analyses/survey/transfer.py",
        "head = argbest(choice.correct[relation])",
        "head = argbest(score.correct[relation])",
        f"{_TRANSFER}test_transfer_is_a_recount_of_two_runs",
    ),
    Fault(
        "analyses/survey/transfer.py",
        "of_choice[orders[chosen_on]]",
        "of_choice[orders[scored_on]]",
        f"{_TRANSFER}test_intervals_are_those_of_a_loop_over_replicates",
    ),
    Fault(
        "engine/compare.py",
        "if row.group in relations))",
        "if row.group))",
        "tests/unit/test_dependency.py::test_p_values_are_adjusted_for_the_questions_alone",
    ),
    Fault(
        "extractors/replaceable/heads_off.py",
        "by_head[repetition, :, :, head] = 0 if fill is None",
        "by_head[repetition, :, head] = 0 if fill is None",
        "tests/reference/test_heads_off.py::test_switching_off_is_zeroing_the_values",
    ),
    Fault(
        "extractors/tokens/pieces.py",
        "if piece_id != unk and token != _SPACE:",
        "if piece_id != unk:",
        "tests/unit/test_text_fit.py::test_counts_are_those_of_the_tokenizer_word_by_word",
    ),
    Fault(
        "analyses/dependency/accuracy.py",
        "no_punct_root = [index for index in no_punct if not is_root(relations[index])]",
        "no_punct_root = no_punct",
        f"{_PUNCTUATION}test_totals_are_those_of_a_treebank_whose_relations_say_what_words_are",
    ),
    Fault(
        "corpora_loaders/corpus.py",
        'or not numbers["words_beside_others"]',
        "",
        f"{_GATE}test_sentences_of_roots_alone_are_read_beside_others_and_so_are_single_words",
    ),
    Fault(
        "corpora_loaders/gate.py",
        "return self.share > MOST_BLANK and self._among_words",
        "return self.share > MOST_BLANK",
        "tests/unit/test_treebank.py::test_a_lone_underscore_among_words_is_a_word",
    ),
    Fault(
        "corpora_loaders/gate.py",
        "not (sentence.tags and sentence.tags[index] in _SIGNS)",
        "sentence.words",
        f"{_GATE}test_an_underscore_is_a_word_where_the_treebank_says_so",
    ),
    Fault(
        "corpora_loaders/labeled_reading.py",
        "max(map(int, labels), default=0) >= 2",
        "max(map(int, labels), default=0) >= 1",
        "tests/unit/test_labeled.py::test_minus_one_is_a_class_beside_others_that_are_not_counted_from_zero",
    ),
    Fault(
        "corpora_loaders/lines.py",
        "if len(raw) > LONGEST_LINE:",
        "if len(raw) >= LONGEST_LINE:",
        "tests/unit/test_lines.py::test_the_limit_counts_the_bytes_of_one_line",
    ),
    Fault(
        "corpora_loaders/punctuation.py",
        'by_rule = {"tag": tag == _TAG, "form": is_sign, "none": False}.get(rule, is_punct(relation))',
        "by_rule = is_punct(relation)",
        f"{_PUNCTUATION}test_the_first_rule_that_finds_a_word_decides",
    ),
    Fault(
        "extractors/tokens/text_fit.py",
        "self.pieces_per_word <= WARNED_PIECES",
        "self.pieces_per_word <= HARDLY_PIECES",
        "tests/unit/test_text_fit.py::test_a_warning_has_one_rule",
    ),
)

_SHOWN = (  # faults in what people see
    Fault(
        "analyses/ablation/relations.py",
        'if is_significant(row["p"]) else',
        'if row["above"] > 0 else',
        f"{_ABLATION}test_the_conclusion_hangs_on_the_joint_test",
    ),
    Fault(
        "analyses/alignment/best.py",
        'TableColumn("heldout_error_rate", "share"',
        'TableColumn("error_rate", "share"',
        f"{_APPROVED}[alignment]",
    ),
    Fault(
        "analyses/alignment/best.py",
        '(rows["high"] < baseline["error_rate"])',
        '(rows["error_rate"] < baseline["error_rate"])',
        f"{_FINDINGS}test_the_lowest_error_rates_and_how_many_heads_are_below_the_baseline",
    ),
    Fault(
        "analyses/alignment/best.py",
        "colors=REVERSED",
        "colors=REVERSED.reversed()",
        f"{_APPROVED}[alignment]",
    ),
    Fault(
        "analyses/clusters/layers.py",
        'TableColumn("found", "number"',
        'TableColumn("within", "number"',
        f"{_APPROVED}[surface]",
    ),
    Fault(
        "analyses/clusters/distances.py",
        "[order][:, order]",
        "[order]",
        "tests/unit/test_surface_reports.py::test_heads_are_in_the_order_of_their_tree",
    ),
    Fault(
        "analyses/comparison/figures.py",
        "scale * row.difference, y,",
        "scale * row.low, y,",
        "tests/unit/test_compare.py::test_the_figure_sorts_differences_and_fills_significant_dots",
    ),
    Fault(
        "analyses/comparison/findings.py",
        "if not clear or not clear[0].significant:",
        "if not clear or clear[0].p >= 0.06:",
        f"{_COMPARISON}test_the_headline_of_a_comparison_says_what_its_table_says",
    ),
    Fault(
        "analyses/comparison/section.py",
        'zip(("value_a", "value_b"), names',
        'zip(("value_b", "value_a"), names',
        f"{_COMPARISON}test_page_and_latex_say_what_the_csv_file_says",
    ),
    Fault(
        "analyses/comparison/section.py",
        'p_value(row["p_holm"])',
        'p_value(row["p"])',
        f"{_COMPARISON}test_page_and_latex_say_what_the_csv_file_says",
    ),
    Fault(
        "analyses/coreference/best_heads.py",
        '"rule_based_accuracy",\n            "share",',
        '"head_match_accuracy",\n            "share",',
        f"{_COREFERENCE}test_best_heads_on_the_page_and_in_latex",
    ),
    Fault(
        "analyses/coreference/best_heads.py",
        'if row["total"] >= results.min_count:',
        'if row["total"] < results.min_count:',
        f"{_FINDINGS}test_heads_beat_the_rules_only_if_they_do_held_out",
    ),
    Fault(
        "analyses/coreference/figures.py",
        'by_distance["candidates"] == policy',
        'by_distance["candidates"] != policy',
        f"{_APPROVED}[documents]",
    ),
    Fault(
        "analyses/coreference/contrasts.py",
        "f\"{row['heldout_same']} of {row['heldout_choices']}\"",
        "f\"{row['heldout_choices']} of {row['heldout_same']}\"",
        f"{_COREFERENCE}test_largest_differences",
    ),
    Fault(
        "analyses/shared/best_heads.py",
        '"heldout_accuracy",\n            "share",',
        '"accuracy",\n            "share",',
        f"{_APPROVED}[dependency]",
    ),
    Fault(
        "analyses/shared/best_heads.py",
        "beside=bounds(name)",
        'beside=bounds("gain")',
        f"{_APPROVED}[dependency]",
    ),
    Fault(
        "analyses/dependency/columns.py",
        'bar("accuracy", "offset_accuracy")',
        'bar("offset_accuracy", "accuracy")',
        f"{_APPROVED}[dependency]",
    ),
    Fault(
        "analyses/dependency/rows.py",
        "[row for row in self.frequent if side_of_baseline(row) > 0]",
        "[row for row in self.frequent if row['gain_low'] > 0]",
        f"{_FINDINGS}test_heads_beat_position_only_if_they_do_held_out",
    ),
    Fault(
        "analyses/dependency/figures.py",
        'Mark("heldout_accuracy"',
        'Mark("accuracy"',
        f"{_APPROVED}[dependency]",
    ),
    Fault(
        "analyses/dependency/figures.py",
        'mark_head(axes, row["layer"], row["head"])',
        'mark_head(axes, row["head"], row["layer"])',
        f"{_APPROVED}[dependency]",
    ),
    Fault(
        "analyses/dependency/rows.py",
        'sorted(self.certain, key=lambda row: -row["heldout_gain"])',
        'sorted(self.certain, key=lambda row: row["heldout_gain"])',
        f"{_FINDINGS}test_heads_beat_position_only_if_they_do_held_out",
    ),
    Fault(
        "analyses/dependency/rows.py",
        "'' if row['is_frequent'] else 'rare'",
        "'rare' if row['is_frequent'] else ''",
        f"{_DEPENDENCY}test_rows_of_few_words_are_gray_and_totals_are_marked",
    ),
    Fault(
        "analyses/explanation/showing/plots.py",
        'results.classes[int(texts["predicted"].iloc[0])]',
        "results.classes[0]",
        f"{_APPROVED}[explanation]",
    ),
    Fault(
        "analyses/explanation/showing/section.py",
        'if question and question.floor_is_larger else ["larger", "smaller"]',
        'if question and question.floor_is_larger else ["smaller", "larger"]',
        f"{_APPROVED}[explanation]",
    ),
    Fault(
        "analyses/explanation/methods/removal.py",
        "(1 - never[tested]).groupby",
        "(never[tested]).groupby",
        f"{_APPROVED}[explanation]",
    ),
    Fault(
        "analyses/norms/overwriting.py",
        'rows["low"], rows["high"]',
        'rows["low"], rows["median"]',
        f"{_APPROVED}[surface]",
    ),
    Fault(
        "analyses/norms/shares.py",
        '"less" if row["norm_share"] < row["weight"]',
        '"less" if row["norm_share"] > row["weight"]',
        f"{_FINDINGS}test_the_class_whose_weight_and_norm_differ_most",
    ),
    Fault(
        "analyses/norms/frequency.py",
        '"rho_words": "ρ, words only"',
        '"rho_all": "ρ, words only"',
        f"{_NORMS}test_correlations_with_frequency",
    ),
    Fault(
        "analyses/probing/scores.py",
        'TableColumn("uas_noroot", "share"',
        'TableColumn("uas_all", "share"',
        f"{_APPROVED}[probe]",
    ),
    Fault(
        "analyses/probing/scores.py",
        'int(row["low"] > 0)',
        'int(row["high"] > 0)',
        f"{_PROBES}test_a_probe_is_on_a_side_only_with_the_whole_interval",
    ),
    Fault(
        "analyses/shared/ensembles.py",
        'ensemble["gain_low"] > 0',
        'ensemble["gain_low"] >= 0',
        f"{_FINDINGS}test_heads_find_more_together_only_with_the_whole_interval",
    ),
    Fault(
        "analyses/shared/measures.py",
        '"low_is_best": shown.low_is_best',
        '"low_is_best": False',
        "tests/unit/test_tables.py::test_the_explorer_shows_columns_of_heads",
    ),
    Fault(
        "analyses/surface/figures.py",
        '("next", "to the next token (%)")',
        '("previous", "to the next token (%)")',
        f"{_APPROVED}[surface]",
    ),
    Fault(
        "analyses/surface/labels.py",
        "label = max(counts, key",
        "label = min(counts, key",
        f"{_FINDINGS}test_heads_of_neighbors_are_counted_by_their_labels",
    ),
    Fault(
        "analyses/surface/shares.py",
        "values.argmax()",
        "values.argmin()",
        f"{_APPROVED}[surface]",
    ),
    Fault(
        "analyses/surface/rows.py",
        '"first_special": first,',
        '"first_special": last,',
        f"{_APPROVED}[surface]",
    ),
    Fault(
        "analyses/survey/accuracy.py",
        'percent(row["heldout_accuracy"])',
        'percent(row["offset_accuracy"])',
        f"{_SURVEY}test_the_page_and_the_terminal_show_the_held_out_accuracies",
    ),
    Fault(
        "analyses/survey/choosers.py",
        "if one.difference.significant]",
        "if one.difference.p < 0.05]",
        "tests/unit/test_choosers.py::test_findings_name_pairs_that_differ_clearly",
    ),
    Fault(
        "engine/results/explorer.py",
        "if spread < sum(metric.compute() for metric in samples):",
        "if spread > sum(metric.compute() for metric in samples):",
        "tests/acceptance/test_examples.py::test_the_page_holds_what_the_states_hold",
    ),
    Fault(
        "engine/results/part.py",
        "combined.append(replace(section, title=title, map=kind,",
        "combined.append(replace(section, title=title, map=sections[0][0],",
        "tests/unit/test_compare.py::test_kinds_of_one_run_are_compared_as_two_runs_are",
    ),
    Fault(
        "reports/format.py",
        'f"{row[\'total\']:,}" if row["is_frequent"] else',
        'f"{row[\'correct\']:,}" if row["is_frequent"] else',
        f"{_APPROVED}[dependency]",
    ),
    Fault(
        "reports/format.py",
        "return f\"({row['offset']:+d})\"",
        "return f\"({-row['offset']:+d})\"",
        f"{_APPROVED}[dependency]",
    ),
    Fault(
        "reports/heads/figure.py",
        "step = -1 if view.is_right_to_left else 1",
        "step = 1",
        "tests/unit/test_writing.py::test_figures_begin_where_reading_begins",
    ),
    Fault(
        "reports/page/svg.py",
        "to_hex(dark(level))",
        "to_hex(scale(level))",
        "tests/unit/test_reports.py::test_a_page_gives_figures_the_colors_of_its_scheme_and_links_to_itself",
    ),
)

FAULTS = (*_COMPUTED, *_SHOWN)

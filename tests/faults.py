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


_DEPENDENCY = "tests/unit/test_shown_dependency.py::"
_COREFERENCE = "tests/unit/coreference/test_shown_coreference.py::"
_SURFACE = "tests/unit/test_surface_reports.py::"
_NORMS = "tests/unit/test_shown_norms.py::"
_ALIGNMENT = "tests/unit/test_shown_alignment.py::"
_COMPARISON = "tests/unit/test_shown_comparison.py::"
_SURVEY = "tests/unit/test_survey_reading.py::"
_TRANSFER = "tests/unit/test_transfer.py::"
_PROBES = "tests/unit/test_probe_reports.py::"
_EXPLANATION = "tests/unit/test_shown_explanation.py::"
_TOGETHER = "tests/unit/test_together.py::"
_FIGURES = "tests/unit/test_figure_data.py::"
_FINDINGS = "tests/unit/test_findings.py::"
_ABLATION = "tests/unit/test_ablation.py::"
_ENHANCED = "tests/reference/test_enhanced.py::"
_CLAIMS = "tests/unit/test_findings.py::"
_EXPLORE = "tests/acceptance/test_explore.py::"
_CAUSAL = "tests/reference/test_causal_heads.py::"

_COLUMNS = (
    Fault(
        "engine/explain.py",
        "if tested.source is not None:",
        "if tested.source is None:",
        "tests/acceptance/test_saved.py::test_explanations",
    ),
    Fault(
        "analyses/survey/matrices.py",
        'direction=row["direction"], kind=kind)',
        'direction=row["direction"], kind=None)',
        f"{_SURVEY}test_entries_lead_to_their_heads_in_the_reports_of_the_cells",
    ),
    Fault(
        "engine/compare.py",
        "replace(comparison, written=cache(written))",
        "replace(comparison, written=lambda folder: written(None))",
        "tests/acceptance/test_saved.py::test_survey_and_comparison",
    ),
    Fault(
        "reports/heads/view.py",
        "return None if head is None or self.is_out_of_reach(row) else",
        "return None if head is None else",
        f"{_CAUSAL}test_what_is_drawn_of_causal_heads_is_what_the_tables_count",
    ),
    Fault(
        "engine/showing.py",
        'direction = "both" if encoder.causal else "dep->head"',
        'direction = "dep->head"',
        f"{_CAUSAL}test_what_is_drawn_of_causal_heads_is_what_the_tables_count",
    ),
    Fault(
        "engine/showing.py",
        "key=lambda sentence: order[sentence.id])",
        "key=lambda each: each.id)",
        f"{_EXPLORE}test_a_notebook_shows_what_the_page_shows",
    ),
    Fault(
        "analyses/explanation/section.py",
        'if question and question.floor_is_larger else ["larger", "smaller"]',
        'if question and question.floor_is_larger else ["smaller", "larger"]',
        f"{_EXPLANATION}test_the_page_has_the_verdicts_and_what_they_mean",
    ),
    Fault(
        "analyses/explanation/columns.py",
        'below=lambda row: str(row["compared"])',
        'below=lambda row: str(row["meaning"])',
        f"{_EXPLANATION}test_the_page_has_the_verdicts_and_what_they_mean",
    ),
    Fault(
        "analyses/explanation/columns.py",
        "        return percent(value, sign=sign)",
        "        return percent(value)",
        f"{_EXPLANATION}test_latex_and_a_wide_terminal_have_the_verdicts",
    ),
    Fault(
        "analyses/explanation/tests/erasure.py",
        '_share("only_top", "by the best word alone")',
        '_share("only_random", "by the best word alone")',
        f"{_EXPLANATION}test_flips_are_shares_of_the_texts",
    ),
    Fault(
        "analyses/coreference/baselines.py",
        "(same_form or same_head or agreeing or ordered)",
        "(same_head or same_form or agreeing or ordered)",
        "tests/reference/test_coreference.py::test_the_sieves_of_the_rules_come_in_order",
    ),
    Fault(
        "engine/run.py",
        "if not name.startswith(made_of_states)",
        "if name.startswith(made_of_states)",
        "tests/acceptance/test_probe_stored.py::test_a_run_is_rendered_again_without_its_model_and_treebanks",
    ),
    Fault(
        "analyses/dependency/columns.py",
        '"heldout_accuracy",\n            "share",',
        '"accuracy",\n            "share",',
        f"{_DEPENDENCY}test_a_wide_terminal_says_what_the_csv_file_says",
    ),
    Fault(
        "analyses/dependency/columns.py",
        '"offset_accuracy",\n            "share",',
        '"gain",\n            "share",',
        f"{_DEPENDENCY}test_page_and_latex_say_what_the_csv_file_says",
    ),
    Fault(
        "analyses/dependency/columns.py",
        'beside=bounds("heldout_gain")',
        'beside=bounds("gain")',
        f"{_DEPENDENCY}test_a_wide_terminal_says_what_the_csv_file_says",
    ),
    Fault(
        "analyses/dependency/columns.py",
        'bar("accuracy", "offset_accuracy")',
        'bar("offset_accuracy", "accuracy")',
        f"{_DEPENDENCY}test_bars_are_as_long_as_the_accuracy_and_marked_at_the_offset",
    ),
    Fault(
        "analyses/dependency/section.py",
        "'' if row['is_frequent'] else 'rare'",
        "'rare' if row['is_frequent'] else ''",
        f"{_DEPENDENCY}test_rows_of_few_words_are_gray_and_totals_are_marked",
    ),
    Fault(
        "reports/format.py",
        'f"{row[\'total\']:,}" if row["is_frequent"] else',
        'f"{row[\'correct\']:,}" if row["is_frequent"] else',
        f"{_DEPENDENCY}test_page_and_latex_say_what_the_csv_file_says",
    ),
    Fault(
        "reports/format.py",
        "return f\"({row['offset']:+d})\"",
        "return f\"({-row['offset']:+d})\"",
        f"{_DEPENDENCY}test_page_and_latex_say_what_the_csv_file_says",
    ),
    Fault(
        "reports/format.py",
        '"dep->head": "dep→head"',
        '"dep->head": "head→dep"',
        f"{_DEPENDENCY}test_page_and_latex_say_what_the_csv_file_says",
    ),
    Fault(
        "analyses/coreference/columns.py",
        '"nearest_accuracy",\n            "share",',
        '"random_accuracy",\n            "share",',
        f"{_COREFERENCE}test_best_heads_in_a_wide_terminal",
    ),
    Fault(
        "analyses/coreference/columns.py",
        '"rule_based_accuracy",\n            "share",',
        '"head_match_accuracy",\n            "share",',
        f"{_COREFERENCE}test_best_heads_on_the_page_and_in_latex",
    ),
    Fault(
        "analyses/coreference/group_columns.py",
        'cell=bounds("simultaneous")',
        'cell=bounds("difference")',
        f"{_COREFERENCE}test_largest_differences",
    ),
    Fault(
        "analyses/coreference/group_columns.py",
        "f\"{row['heldout_same']} of {row['heldout_choices']}\"",
        "f\"{row['heldout_choices']} of {row['heldout_same']}\"",
        f"{_COREFERENCE}test_largest_differences",
    ),
    Fault(
        "analyses/coreference/group_columns.py",
        'beside=_number_of("second")',
        'beside=_number_of("first")',
        f"{_COREFERENCE}test_groups_of_documents",
    ),
    Fault(
        "analyses/coreference/shown_tables.py",
        'best["candidates"] != results.candidates',
        'best["candidates"] == results.candidates',
        f"{_COREFERENCE}test_other_candidates",
    ),
    Fault(
        "analyses/surface/statistics.py",
        "sinks = [lengths[:, None] - to_tokens]",
        "sinks = [from_all[4]]",
        "tests/reference/test_surface.py::test_learned_sinks_are_a_class_of_their_own",
    ),
    Fault(
        "analyses/surface/shown_tables.py",
        'TableColumn("entropy_relative", "share"',
        'TableColumn("entropy_first_relative", "share"',
        f"{_SURFACE}test_layers",
    ),
    Fault(
        "analyses/surface/shown_tables.py",
        "values.argmax()",
        "values.argmin()",
        f"{_SURFACE}test_the_head_with_the_largest_value_of_each_statistic",
    ),
    Fault(
        "analyses/surface/shown_tables.py",
        '"first_special": first,',
        '"first_special": last,',
        f"{_SURFACE}test_layers",
    ),
    Fault(
        "analyses/surface/shown_tables.py",
        "cell=lambda row: f\"{row[f'gradient:{name}']:.1e}\"",
        "cell=lambda row: f\"{row[f'attention:{name}']:.1e}\"",
        f"{_SURFACE}test_gradients",
    ),
    Fault(
        "analyses/clusters/columns.py",
        'TableColumn("found", "number"',
        'TableColumn("within", "number"',
        f"{_SURFACE}test_neighbors",
    ),
    Fault(
        "analyses/clusters/report.py",
        "() if results.notes_shown else results.notes",
        "results.notes if results.notes_shown else ()",
        f"{_SURFACE}test_notes_of_the_clusters_are_shown_once",
    ),
    Fault(
        "analyses/norms/columns.py",
        '"norm_share",\n            "share"',
        '"weight",\n            "share"',
        f"{_NORMS}test_classes_of_tokens_are_means_over_layers_and_heads",
    ),
    Fault(
        "analyses/norms/columns.py",
        'TableColumn("max", "share"',
        'TableColumn("min", "share"',
        f"{_NORMS}test_mixing_ratios_beside_the_paper",
    ),
    Fault(
        "analyses/norms/shown_tables.py",
        '_BY_CLASS = "attnresln-n"',
        '_BY_CLASS = "attnres-n"',
        f"{_NORMS}test_mixing_ratios_by_layer_and_class",
    ),
    Fault(
        "analyses/norms/shown_tables.py",
        '"rho_words": "ρ, words only"',
        '"rho_all": "ρ, words only"',
        f"{_NORMS}test_correlations_with_frequency",
    ),
    Fault(
        "analyses/norms/columns.py",
        'TableColumn("sd", "number", "the standard deviation", "SD")',
        'TableColumn("max", "number", "the standard deviation", "SD")',
        f"{_NORMS}test_dispersion",
    ),
    Fault(
        "analyses/norms/shown_tables.py",
        'correlation[correlation["head"] == 0]',
        'correlation[correlation["head"] == 1]',
        f"{_NORMS}test_correlations_of_weight_and_norm",
    ),
    Fault(
        "analyses/norms/shown_tables.py",
        'column("residual", "‖residual‖", 2)',
        'column("FF", "‖residual‖", 2)',
        f"{_NORMS}test_what_the_network_adds",
    ),
    Fault(
        "analyses/norms/figures.py",
        '_AGAINST_RANK = (\n    ("value_norm"',
        '_AGAINST_RANK = (\n    ("norm"',
        f"{_NORMS}test_figure_of_frequency",
    ),
    Fault(
        "analyses/norms/figures.py",
        'rows["low"], rows["high"]',
        'rows["low"], rows["median"]',
        f"{_NORMS}test_figure_of_the_block",
    ),
    Fault(
        "analyses/norms/figures.py",
        'values="share_of_all"',
        'values="share"',
        f"{_NORMS}test_figure_of_pairs",
    ),
    Fault(
        "analyses/alignment/columns.py",
        '"on_special",\n            "share",',
        '"on_word",\n            "share",',
        f"{_ALIGNMENT}test_layers",
    ),
    Fault(
        "analyses/alignment/columns.py",
        'TableColumn("heldout_error_rate", "share"',
        'TableColumn("error_rate", "share"',
        f"{_ALIGNMENT}test_best_layers_and_heads",
    ),
    Fault(
        "analyses/alignment/section.py",
        'best["error_rate"].min()',
        'best["error_rate"].max()',
        f"{_ALIGNMENT}test_baselines_and_copies_with_random_weights",
    ),
    Fault(
        "analyses/comparison/section.py",
        'zip(("value_a", "value_b"), names',
        'zip(("value_b", "value_a"), names',
        f"{_COMPARISON}test_page_and_latex_say_what_the_csv_file_says",
    ),
    Fault(
        "analyses/comparison/section.py",
        'cell=lambda row: group_name(contrast, row["group"])',
        "",
        f"{_COMPARISON}test_statistics_have_readable_names_wherever_they_are_shown",
    ),
    Fault(
        "analyses/comparison/findings.py",
        "{group_name(contrast, row.group)}",
        "{row.group}",
        f"{_COMPARISON}test_statistics_have_readable_names_wherever_they_are_shown",
    ),
    Fault(
        "analyses/comparison/section.py",
        "{name[1 - half :]}",
        "{name[half :]}",
        f"{_COMPARISON}test_long_names_of_runs_are_shortened_in_headings_unless_they_then_are_the_same",
    ),
    Fault(
        "analyses/comparison/section.py",
        '_p_value(row["p_holm"])',
        '_p_value(row["p"])',
        f"{_COMPARISON}test_page_and_latex_say_what_the_csv_file_says",
    ),
    Fault(
        "analyses/comparison/section.py",
        '"strong" if row["significant"] else ""',
        '"" if row["significant"] else "strong"',
        f"{_COMPARISON}test_significant_rows_are_bold_and_untested_ones_gray",
    ),
    Fault(
        "analyses/comparison/findings.py",
        "above = sum(row.difference > 0",
        "above = sum(row.difference < 0",
        f"{_COMPARISON}test_the_headline_of_a_comparison_says_what_its_table_says",
    ),
    Fault(
        "analyses/comparison/findings.py",
        "if not clear[0].significant:",
        "if clear[0].p >= 0.06:",
        f"{_COMPARISON}test_the_headline_of_a_comparison_says_what_its_table_says",
    ),
    Fault(
        "analyses/comparison/section.py",
        "side, row[key])}",
        "contrast.second, row[key])}",
        f"{_COMPARISON}test_heads_lead_to_the_report_of_their_run_where_there_is_one",
    ),
    Fault(
        "analyses/survey/section.py",
        "for row in contrast.tested if row",
        "for row in contrast.differences if row",
        f"{_SURVEY}test_the_headline_says_which_model_finds_more_and_where_most",
    ),
    Fault(
        "analyses/probing/findings.py",
        'if math.isnan(row["low"]) else row["low"]',
        'if math.isnan(row["low"]) else row["high"]',
        f"{_PROBES}test_a_probe_is_clearly_better_only_with_the_whole_interval",
    ),
    Fault(
        "analyses/probing/findings.py",
        "points(row['selectivity'])",
        "points(row['uas'])",
        f"{_PROBES}test_the_headline_of_a_probe_says_what_the_tables_say",
    ),
    Fault(
        "analyses/survey/matrices.py",
        'percent(row["heldout_accuracy"])',
        'percent(row["offset_accuracy"])',
        f"{_SURVEY}test_the_page_and_the_terminal_show_the_held_out_accuracies",
    ),
    Fault(
        "analyses/survey/shown_tables.py",
        '"above": sum(row.significant and row.difference > 0',
        '"above": sum(row.difference > 0',
        f"{_SURVEY}test_differences_and_what_failed_are_shown",
    ),
    Fault(
        "analyses/probing/columns.py",
        'TableColumn("uas_noroot", "share"',
        'TableColumn("uas_all", "share"',
        f"{_PROBES}test_page_says_what_the_tables_say",
    ),
    Fault(
        "analyses/probing/report.py",
        '"best": max(scores.values())',
        '"best": min(scores.values())',
        f"{_PROBES}test_relations_are_a_row_each_with_the_best_in_bold",
    ),
)

_DRAWN = (
    Fault(
        "analyses/dependency/figures.py",
        'mark("heldout_accuracy"',
        'mark("accuracy"',
        f"{_FIGURES}test_best_heads_of_relations",
    ),
    Fault(
        "analyses/dependency/figures.py",
        'mark_head(axes, row["layer"], row["head"])',
        'mark_head(axes, row["head"], row["layer"])',
        f"{_FIGURES}test_maps_of_relations_show_the_better_direction_and_mark_the_best_head",
    ),
    Fault(
        "analyses/dependency/figures.py",
        '["accuracy"].idxmax()',
        '["accuracy"].idxmin()',
        f"{_FIGURES}test_maps_of_relations_show_the_better_direction_and_mark_the_best_head",
    ),
    Fault(
        "analyses/coreference/figures.py",
        '"rule-based": "rules"',
        '"random": "rules"',
        f"{_FIGURES}test_best_heads_of_types_of_mentions",
    ),
    Fault(
        "analyses/coreference/figures.py",
        'by_distance["candidates"] == policy',
        'by_distance["candidates"] != policy',
        f"{_FIGURES}test_accuracies_by_distance",
    ),
    Fault(
        "analyses/surface/figures.py",
        '("next", "to the next token (%)")',
        '("previous", "to the next token (%)")',
        f"{_FIGURES}test_where_attention_goes",
    ),
    Fault(
        "analyses/surface/figures.py",
        '"head with most": by_head.groupby("layer").max()',
        '"head with most": by_head.groupby("layer").min()',
        f"{_FIGURES}test_attention_by_offset",
    ),
    Fault(
        "analyses/surface/figures.py",
        '(f"{end}_to_{end}", "themselves',
        '(f"rest_to_{end}", "themselves',
        f"{_FIGURES}test_attention_to_special_tokens_from_themselves_and_others",
    ),
    Fault(
        "analyses/explanation/together.py",
        "axes.plot(of_model.from_word,",
        "axes.plot(of_models[0].from_word,",
        f"{_TOGETHER}test_words_have_the_predictions_of_their_model",
    ),
    Fault(
        "analyses/explanation/tests/imitation.py",
        'max_attention_figure("imitation_jsd"',
        'max_attention_figure("imitation_tvd"',
        f"{_EXPLANATION}test_violins_have_the_medians_of_their_column_by_class_and_weight",
    ),
    Fault(
        "analyses/norms/figures.py",
        '("norm_share", "share of norms',
        '("norm", "share of norms',
        f"{_FIGURES}test_weights_and_norms_by_layer",
    ),
    Fault(
        "analyses/dependency/figures.py",
        "relation=relation, direction=direction)",
        "relation=relation)",
        f"{_FIGURES}test_maps_of_relations_show_the_better_direction_and_mark_the_best_head",
    ),
    Fault(
        "reports/shapes.py",
        "np.asarray(totals) >= MIN_DECISIONS",
        "np.asarray(totals) >= 0",
        f"{_FIGURES}test_a_line_joins_only_neighbors_with_enough_decisions",
    ),
    Fault(
        "reports/shapes.py",
        "axes.set_ylim(matrix.shape[0] - 0.5, -0.5)",
        "axes.set_ylim(-0.5, matrix.shape[0] - 0.5)",
        f"{_FIGURES}test_maps_of_relations_show_the_better_direction_and_mark_the_best_head",
    ),
    Fault(
        "analyses/coreference/figures.py",
        'binomtest(row["correct"], row["total"])',
        'binomtest(row["total"], row["total"])',
        f"{_FIGURES}test_accuracies_by_distance",
    ),
    Fault(
        "analyses/alignment/figures.py",
        "colors=REVERSED",
        "colors=SCALE",
        f"{_FIGURES}test_error_rates_of_heads",
    ),
    Fault(
        "analyses/norms/figures.py",
        "labels_of_variants.append((float(values.iloc[-1]), name, color))",
        "labels_of_variants.append((float(values.iloc[0]), name, color))",
        f"{_FIGURES}test_mixing_ratios",
    ),
    Fault(
        "analyses/comparison/figures.py",
        "scale * row.difference, y,",
        "scale * row.low, y,",
        "tests/unit/test_compare.py::test_the_figure_sorts_differences_and_fills_significant_dots",
    ),
    Fault(
        "analyses/clusters/report.py",
        "[order][:, order]",
        "[order]",
        "tests/unit/test_surface_reports.py::test_heads_are_in_the_order_of_their_tree",
    ),
    Fault(
        "analyses/clusters/report.py",
        'int(points["layer"].max())',
        'int(points["head"].max())',
        "tests/unit/test_surface_reports.py::test_heads_are_in_the_order_of_their_tree",
    ),
    Fault(
        "analyses/comparison/figures.py",
        '"p (Holm) below 0.05", any(',
        '"p (Holm) below 0.05", all(',
        "tests/unit/test_shown_comparison.py::test_the_legend_says_why_dots_are_hollow",
    ),
    Fault(
        "reports/format.py",
        'if row["correct"] and row["tied"] > 1',
        'if row["tied"] > 1',
        "tests/unit/test_format.py::test_best_heads_and_offsets_are_named_if_they_are_right",
    ),
    Fault(
        "analyses/explanation/tests/removal.py",
        "(1 - never[tested]).groupby",
        "(never[tested]).groupby",
        f"{_EXPLANATION}test_lines_of_removal_are_the_texts_that_keep_their_decision",
    ),
    Fault(
        "analyses/explanation/tests/erasure.py",
        'for name in ("mean", "low", "high"))',
        'for name in ("median", "low", "high"))',
        f"{_EXPLANATION}test_rows_of_single_words_are_the_means_of_the_table",
    ),
    Fault(
        "analyses/explanation/plots.py",
        'results.classes[int(texts["predicted"].iloc[0])]',
        "results.classes[0]",
        f"{_EXPLANATION}test_lines_of_tau_are_the_shares_of_texts_with_at_most_this_tau",
    ),
    Fault(
        "reports/page/svg.py",
        "to_hex(dark(level))",
        "to_hex(scale(level))",
        "tests/unit/test_reports.py::test_a_page_gives_figures_the_colors_of_its_scheme_and_links_to_itself",
    ),
    Fault(
        "analyses/alignment/figures.py",
        '100 * rows["on_special"], **style',
        '100 * rows["on_word"], **style',
        f"{_FIGURES}test_error_rates_by_layer",
    ),
    Fault(
        "analyses/coreference/figures.py",
        'if best_row["direction"] == direction and',
        'if best_row["direction"] != direction and',
        "tests/unit/coreference/test_groups_figure.py::"
        "test_the_best_head_is_marked_in_its_direction_if_it_finds_anything",
    ),
)

_FOUND = (
    Fault(
        "analyses/shared/ensembles.py",
        'ensemble["gain_low"] > 0',
        'ensemble["gain_low"] >= 0',
        "tests/unit/test_findings.py::test_heads_find_more_together_only_with_the_whole_interval",
    ),
    Fault(
        "analyses/shared/explored.py",
        'ordered = table.sort_values(["layer", "head"])',
        "ordered = table",
        "tests/unit/test_tables.py::test_the_explorer_shows_columns_of_heads",
    ),
    Fault(
        "analyses/shared/explored.py",
        '"low_is_best": shown.low_is_best',
        '"low_is_best": False',
        "tests/unit/test_tables.py::test_the_explorer_shows_columns_of_heads",
    ),
    Fault(
        "analyses/dependency/explored.py",
        "certain = [row for row in frequent if side_of_baseline(row) > 0]",
        "certain = [row for row in frequent if row['gain_low'] > 0]",
        f"{_CLAIMS}test_heads_beat_position_only_if_they_do_held_out",
    ),
    Fault(
        "analyses/dependency/findings.py",
        'by_gain = sorted(certain, key=lambda row: -row["heldout_gain"])',
        'by_gain = sorted(certain, key=lambda row: row["heldout_gain"])',
        f"{_CLAIMS}test_heads_beat_position_only_if_they_do_held_out",
    ),
    Fault(
        "analyses/shared/held_out.py",
        "return sides.pop() if len(sides) == 1 else 0",
        "return max(sides)",
        f"{_CLAIMS}test_a_claim_needs_both_gains_on_its_side",
    ),
    Fault(
        "analyses/coreference/explored.py",
        'row["total"] >= min_count and',
        'row["total"] < min_count and',
        f"{_CLAIMS}test_heads_beat_the_rules_only_if_they_do_held_out",
    ),
    Fault(
        "analyses/coreference/explored.py",
        "points(row['heldout_gain'], row['heldout_gain_low']",
        "points(row['gain'], row['gain_low']",
        f"{_CLAIMS}test_heads_beat_the_rules_only_if_they_do_held_out",
    ),
    Fault(
        "analyses/surface/report.py",
        "return max(rows_of(heads[heads[column].notna()])",
        "return min(rows_of(heads[heads[column].notna()])",
        f"{_FINDINGS}test_the_sink_and_the_head_with_most_of_it",
    ),
    Fault(
        "analyses/surface/report.py",
        "label = max(counts, key",
        "label = min(counts, key",
        f"{_FINDINGS}test_heads_of_neighbors_are_counted_by_their_labels",
    ),
    Fault(
        "analyses/comparison/differences.py",
        "return p < LEVEL",
        "return p <= LEVEL",
        f"{_FINDINGS}test_heads_of_a_layer_are_alike_only_below_five_percent",
    ),
    Fault(
        "analyses/norms/report.py",
        '"less" if row["norm_share"] < row["weight"]',
        '"less" if row["norm_share"] > row["weight"]',
        f"{_FINDINGS}test_the_class_whose_weight_and_norm_differ_most",
    ),
    Fault(
        "analyses/alignment/explored.py",
        '(rows["high"] < baseline["error_rate"])',
        '(rows["error_rate"] < baseline["error_rate"])',
        f"{_FINDINGS}test_the_lowest_error_rates_and_how_many_heads_are_below_the_baseline",
    ),
    Fault(
        "analyses/shared/held_out.py",
        "(table[high] < 0)",
        "(table[low] < 0)",
        f"{_FINDINGS}test_norms_are_better_only_where_the_interval_lies_below_0",
    ),
    Fault(
        "analyses/alignment/explored.py",
        'weights.nlargest(1, "on_special")',
        'weights.nsmallest(1, "on_special")',
        f"{_FINDINGS}test_words_that_rest_on_special_tokens",
    ),
    Fault(
        "analyses/dependency/explored.py",
        'int(results.cells["head"].max())',
        'int(results.cells["head"].min())',
        f"{_CLAIMS}test_cards_and_summaries_of_heads_name_the_relations_with_the_largest_gains",
    ),
    Fault(
        "analyses/alignment/explored.py",
        'heads[(heads["setting"] == head["setting"])',
        'heads[(heads["setting"] != head["setting"])',
        f"{_ALIGNMENT}test_findings_name_the_series_with_the_fewest_errors_and_lead_there",
    ),
)

_COUNTED = (
    Fault(
        "analyses/shared/best_head.py",
        "scores = choosing[split, 1 - half,",
        "scores = choosing[split, half,",
        "tests/reference/test_dependency.py::test_heldout_accuracy",
    ),
    Fault(
        "analyses/shared/best_head.py",
        "last = n_cells - 1 - by_head.reshape(-1, n_cells)[:, ::-1].argmax(1)",
        "last = by_head.reshape(-1, n_cells).argmax(1)",
        "tests/unit/test_best_head.py::test_choices_on_halves_against_a_loop",
    ),
    Fault(
        "analyses/shared/best_head.py",
        "np.quantile(values, [0.025, 0.975]",
        "np.quantile(values, [0.05, 0.95]",
        "tests/reference/test_dependency.py::test_intervals_are_those_of_the_weighted_recounts",
    ),
    Fault(
        "analyses/dependency/tables.py",
        "(by_offset[index], offsets[index])",
        "(by_offset[index], -offsets[index])",
        "tests/reference/test_dependency.py::test_best_offset_against_a_loop",
    ),
    Fault(
        "engine/compare.py",
        "if row.group in relations))",
        "if row.group))",
        "tests/unit/test_dependency.py::test_p_values_are_adjusted_for_the_questions_alone",
    ),
    Fault(
        "analyses/dependency/spanning.py",
        "(heads[gold] == number)",
        "(heads[gold] == gold)",
        "tests/reference/test_spanning_trees.py::test_without_directions_both_chains_are_the_neighbors",
    ),
    Fault(
        "analyses/dependency/spanning.py",
        "np.stack([~in_first_half, in_first_half], 1)",
        "np.stack([in_first_half, ~in_first_half], 1)",
        "tests/reference/test_spanning_trees.py::test_best_head_and_ensemble_are_chosen_on_the_other_half",
    ),
    Fault(
        "analyses/dependency/spanning_tables.py",
        "for chain in CHAINS)\n        text",
        "for chain in CHAINS[:1])\n        text",
        "tests/reference/test_spanning_trees.py::test_the_finding_says_better_only_with_both_whole_intervals",
    ),
    Fault(
        "analyses/coreference/ensembles.py",
        "np.isin(words, sorted(choice.gold))",
        "np.isin(words, sorted(choice.gold)[:1])",
        "tests/reference/test_coreference_ensembles.py::test_ensembles_are_those_of_a_naive_greedy_search",
    ),
    Fault(
        "analyses/shared/ensembles.py",
        "ensemble_is_right[split] |= search.right(heads) & ~is_choosing",
        "ensemble_is_right[split] |= search.right(heads) & is_choosing",
        "tests/reference/test_ensembles.py::test_ensembles_are_those_of_a_naive_greedy_search",
    ),
    Fault(
        "engine/citing.py",
        "if used & set(names.split())",
        "if names",
        "tests/unit/test_cite.py::test_bibtex_has_what_was_used",
    ),
    Fault(
        "analyses/dependency/picks.py",
        'argument": sibling & is_core &',
        'argument": sibling | is_core &',
        "tests/reference/test_failures.py::test_failures_and_picks_are_those_of_a_loop",
    ),
    Fault(
        "analyses/shared/failures.py",
        "2 * x * products * n",
        "x * products * n",
        "tests/reference/test_failures.py::test_intervals_are_those_of_the_residuals_of_sentences",
    ),
    Fault(
        "analyses/coreference/picks.py",
        "heads[~is_same_entity & has_same_form]",
        "heads[is_same_entity & has_same_form]",
        "tests/reference/test_coreference_failures.py::test_failures_and_picks_are_those_of_a_loop",
    ),
    Fault(
        "analyses/coreference/failures.py",
        "families.append(document.family or document.id)",
        "families.append(window.id)",
        "tests/reference/test_coreference_failures.py::test_intervals_are_those_of_groups_of_whole_documents",
    ),
    Fault(
        "analyses/coreference/failure_tables.py",
        'beside=bounds("accuracy")',
        'beside=bounds("nearest")',
        "tests/unit/coreference/test_shown_coreference.py::test_tables_say_what_the_csv_files_say",
    ),
    Fault(
        "analyses/dependency/failure_tables.py",
        'beside=bounds("share")',
        'beside=bounds("offset")',
        "tests/unit/test_shown_dependency.py::test_tables_say_what_the_csv_files_say",
    ),
    Fault(
        "analyses/dependency/tables.py",
        '"gain": rate(right - right_by_offset, n)',
        '"gain": rate(right_by_offset - right, n)',
        "tests/unit/test_findings.py::test_gain_over_the_best_offset",
    ),
    Fault(
        "analyses/dependency/tables.py",
        "zip(READINGS, (before, after, together), strict=True)",
        "zip(READINGS, (after, before, together), strict=True)",
        "tests/reference/test_causal_heads.py::test_reach_is_the_share_of_words_on_the_right_side",
    ),
    Fault(
        "analyses/dependency/accuracy.py",
        "self.left_out += torch.tensor(left_out).sum(0)",
        "self.left_out += torch.tensor(left_out)[0]",
        f"{_ENHANCED}test_a_run_counts_what_a_recount_does_and_says_what_was_left_out",
    ),
    Fault(
        "analyses/dependency/decisions.py",
        "    if counts.max() == 1:",
        "    if counts.max() >= 1:",
        f"{_ENHANCED}test_counts_are_those_of_a_recount_of_the_column",
    ),
    Fault(
        "analyses/dependency/tables.py",
        "    totals |= {name: counted_apart[name] for name in TOTALS if name in counted_apart}\n",
        "",
        f"{_ENHANCED}test_counts_are_those_of_a_recount_of_the_column",
    ),
    Fault(
        "corpora_loaders/enhanced.py",
        "empty_nodes += 1",
        "roots += 1",
        f"{_ENHANCED}test_what_is_left_out_and_what_is_counted_make_up_the_whole_column",
    ),
    Fault(
        "analyses/comparison/differences.py",
        "LEVEL = 0.05",
        "LEVEL = 0.5",
        f"{_COMPARISON}test_significant_rows_are_bold_and_untested_ones_gray",
    ),
    Fault(
        "analyses/shared/best_head.py",
        "STANDARD_ERRORS = 1.959963984540054",
        "STANDARD_ERRORS = 1.6",
        "tests/reference/test_comparisons.py::test_differences_are_those_of_naive_counts",
    ),
    Fault(
        "analyses/coreference/baselines.py",
        "(same_form or same_head or agreeing or ordered)[0]",
        "(same_form or same_head or ordered)[0]",
        "tests/reference/test_coreference.py::test_baselines_counted_by_hand",
    ),
    Fault(
        "analyses/coreference/baselines.py",
        "return list(reversed(choice.before))",
        "return list(choice.before)",
        "tests/reference/test_coreference.py::test_nearest_and_head_match_on_random_documents",
    ),
    Fault(
        "analyses/coreference/contrasts.py",
        'row["difference"] = first - second',
        'row["difference"] = second - first',
        "tests/unit/test_findings.py::test_differences_between_groups_of_documents",
    ),
)

_RULES = "tests/reference/test_tag_rules.py::"
_TAGGED = (
    Fault(
        "analyses/dependency/rules.py",
        "side, nearest_tag = NEAREST[nearest - len(_OFFSETS)]",
        "side, nearest_tag = NEAREST[nearest - 1]",
        f"{_RULES}test_the_best_rules_are_named",
    ),
    Fault(
        "analyses/dependency/findings.py",
        "return -1 if -1 in sides else min(sides)",
        "return max(sides)",
        f"{_RULES}test_a_head_knows_more_only_if_both_intervals_say_so",
    ),
    Fault(
        "analyses/dependency/columns.py",
        'beside=bounds("tag_rule_gain"),',
        'beside=bounds("heldout_gain"),',
        f"{_RULES}test_what_is_shown_is_what_the_table_says",
    ),
    Fault(
        "analyses/dependency/figures.py",
        'mark("tag_rule_heldout"',
        'mark("tag_offset_heldout"',
        f"{_RULES}test_what_is_shown_is_what_the_table_says",
    ),
)

_ABLATED = (
    Fault(
        "analyses/ablation/report.py",
        'heads.sort_values(effect, ascending=False, kind="stable")',
        'heads.sort_values(effect, kind="stable")',
        f"{_ABLATION}test_what_is_shown_is_what_the_tables_say",
    ),
    Fault(
        "analyses/ablation/report.py",
        'if is_significant(row["p"]) else',
        'if row["above"] > 0 else',
        f"{_ABLATION}test_the_conclusion_hangs_on_the_joint_test",
    ),
    Fault(
        "analyses/ablation/tables.py",
        '"others": value - row[difference]',
        '"others": row[difference]',
        f"{_ABLATION}test_relations_compare_the_best_head_with_its_layer",
    ),
    Fault(
        "analyses/ablation/report.py",
        'line = rows[rows["order"] == order]',
        'line = rows[rows["order"] != order]',
        f"{_ABLATION}test_curves_are_those_of_heads_that_are_off_together",
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
        "analyses/survey/columns.py",
        '"unknown_pieces", "share", "pieces of words that are the unknown token", "unknown pieces"',
        '"unknown_pieces", "share", "pieces of words that are the unknown token", "unknown words"',
        "tests/unit/test_text_fit.py::test_a_survey_has_the_numbers_of_single_runs_and_shows_them",
    ),
    Fault(
        "corpora_loaders/releases/files.py",
        "fnmatchcase(code, parsed.code)",
        "fnmatchcase(code[:3], parsed.code)",
        "tests/unit/test_releases.py::test_the_pattern_is_compared_with_whole_codes",
    ),
    Fault(
        "reports/heads/figure.py",
        "step = -1 if view.is_right_to_left else 1",
        "step = 1",
        "tests/unit/test_writing.py::test_figures_begin_where_reading_begins",
    ),
    Fault(
        "storage/writing.py",
        "return any(map(_UNSPACED.match, at_border))",
        "return all(map(_UNSPACED.match, at_border))",
        "tests/unit/test_writing.py::test_words_are_joined_where_their_script_has_no_spaces",
    ),
)

_TRANSFERRED = (
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
        "analyses/survey/transfer.py",
        'worst["loss_high"] < best["loss_low"]',
        'worst["loss"] < best["loss_low"]',
        f"{_TRANSFER}test_a_finding_needs_intervals_that_are_apart",
    ),
    Fault(
        "analyses/survey/shown_tables.py",
        'percent(row["loss"], sign=True) if row',
        'percent(row["accuracy"], sign=True) if row',
        f"{_TRANSFER}test_page_and_latex_say_what_the_tables_say",
    ),
    Fault(
        "analyses/survey/training.py",
        "key=lambda checkpoint: checkpoint.step)",
        "key=lambda checkpoint: checkpoint.name)",
        f"{_TRANSFER}test_checkpoints_are_sorted_by_number",
    ),
)

_EXPLORED = (
    Fault(
        "reports/page/svg.py",
        ":3] = to_rgb(color)",
        ":3] = to_rgb(light)",
        "tests/unit/test_reports.py::test_pixels_have_the_colors_of_a_dark_page_too",
    ),
    Fault(
        "analyses/coreference/figures.py",
        "partial(_link, direction)",
        "partial(_link, DIRECTIONS[0])",
        f"{_FIGURES}test_maps_of_mentions_show_each_direction",
    ),
    Fault(
        "engine/results.py",
        "combined.append(replace(section, title=title, map=kind,",
        "combined.append(replace(section, title=title, map=sections[0][0],",
        "tests/unit/test_compare.py::test_kinds_of_one_run_are_compared_as_two_runs_are",
    ),
    Fault(
        "analyses/surface/report.py",
        'set_index("statistic")["inputs"]',
        'set_index("statistic")["rows"]',
        f"{_FINDINGS}test_the_shares_of_the_surface_say_how_many_inputs_they_are_means_of",
    ),
    Fault(
        "reports/heads/view.py",
        "largest[view.kind] = max(largest.get(view.kind, 0.0), float(view.values.max()))",
        "largest[view.kind] = float(view.values.max())",
        "tests/acceptance/page/test_shown.py::test_a_page_draws_what_the_figure_draws",
    ),
    Fault(
        "analyses/dependency/explored.py",
        "directions[reading]) for head, reading in heads",
        "directions[0]) for head, reading in heads",
        "tests/reference/test_ensembles.py::test_a_run_keeps_its_ensembles",
    ),
    Fault(
        "analyses/shared/input_sample.py",
        "ranked.append((document >= 0, seen",
        "ranked.append((True, seen",
        "tests/unit/test_cases.py::test_cases_come_first_and_are_judged_by_the_analysis",
    ),
    Fault(
        "analyses/shared/input_sample.py",
        "if filled >= most:",
        "if filled + spaces[index] > most:",
        "tests/unit/test_input_sample.py::test_any_split_order_and_nesting_gives_the_same_bytes",
    ),
    Fault(
        "engine/explorer.py",
        "if spread < sum(metric.compute() for metric in samples):",
        "if spread > sum(metric.compute() for metric in samples):",
        "tests/acceptance/test_examples.py::test_the_page_holds_what_the_states_hold",
    ),
    Fault(
        "analyses/shared/annotation.py",
        "tuple(row_of_word[other] for other in right)",
        "tuple(right)",
        "tests/unit/test_cases.py::test_cases_come_first_and_are_judged_by_the_analysis",
    ),
    Fault(
        "analyses/ablation/predictions.py",
        "log_p[range(len(gold)), gold].sum()",
        "log_p[0, gold[0]]",
        "tests/unit/test_predictions.py::test_predictions_are_those_of_edited_weights",
    ),
)

FAULTS = (*_EXPLORED, *_TRANSFERRED, *_TAGGED, *_ABLATED, *_COLUMNS, *_DRAWN, *_FOUND, *_COUNTED)
"""All faults."""

"""The run record of the alignment analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attentionology.analyses.alignment.run import AlignmentInputs, AlignmentResults
from attentionology.analyses.shared.record import describe_command, describe_corpus, describe_model
from attentionology.corpora_loaders.alignment import LinkFile
from attentionology.extractors.translation import Translator
from attentionology.reports.progress import Stages

_MANY_UNKNOWN = 0.05


def describe(
    inputs: AlignmentInputs,
    translator: Translator,
    results: AlignmentResults,
    stages: Stages,
    *,
    command: str,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the run record.

    Args:
        inputs: what was read.
        translator: the model.
        results: the results.
        stages: the stages of the run.
        command: the command line or call.
        options: all options.
    """
    log = results.log
    corpus = describe_corpus(inputs.bitext)
    unknown = log.unknown_words / max(1, log.words)
    share = f"{unknown:.0%} of the words contain pieces that the model's tokenizer does not know."
    series, layer = results.chosen
    return {
        **describe_command(command, options, int(options["seed"]), stages),
        "model": describe_translator(translator),
        "corpus": {**corpus, "counts": {**corpus["counts"], "sentences": len(inputs.bitext)}},
        "sentences": {
            "read": log.read,
            "words": log.words,
            "words_without_head": 0,
            "unknown_words": log.unknown_words,
            "substituted_words": log.substituted_words,
            "skipped": [
                {"id": skip.sentence.id, "file": skip.sentence.file, "line": skip.sentence.line, "reason": skip.reason}
                for skip in log.skipped
            ],
        },
        "alignment": {
            "gold": describe_links(inputs.gold),
            "baselines": {name: describe_links(file) for name, file in inputs.hypotheses.items()},
            "lowest_error_rate": {"setting": series.setting, "measure": series.measure, "layer": layer + 1},
        },
        "warnings": [*translator.warnings, *([share] if unknown > _MANY_UNKNOWN else [])],
    }


def describe_translator(translator: Translator) -> dict[str, Any]:
    """Describe the model: its name, its shape, and the checksums that identify it."""
    facts = describe_model(translator)
    return {**facts, "shape": f"{facts['shape']} of cross-attention"}


def describe_links(file: LinkFile) -> dict[str, Any]:
    """Describe a file of links."""
    facts = {"path": file.path, "sha256": file.sha256, "format": file.format, "one_based": file.one_based}
    return {**facts, **file.counts()}

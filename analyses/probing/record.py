"""The run record of probing: everything it takes to trace a number and to compute it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..shared.record import (
    describe_command,
    describe_corpus,
    describe_model,
    describe_reading,
    warnings_of,
)
from .inputs import ProbingInputs, Workspace
from .notes import unknown_words, warnings
from .run_options import ProbingOptions
from .training import TrainedProbes

_EXAMPLES = 10  # frequent words without a vector


def describe(
    options: ProbingOptions,
    inputs: ProbingInputs,
    trained: TrainedProbes,
    workspace: Workspace,
    *,
    command: str,
    shown_options: Mapping[str, Any],
) -> dict[str, Any]:
    """The run record; ``corpus`` and ``sentences`` are those of the tested treebank."""
    treebanks = {
        role: {
            "corpus": describe_corpus(treebank),
            "sentences": describe_reading(treebank, inputs.stores[role].log),
        }
        for role, treebank in inputs.treebanks.items()
    }
    reading = treebanks["test"]["sentences"]
    resolved = {
        "probe": options.probes.chosen(has_vectors=inputs.vectors is not None),
        "recipe": inputs.choice.name,
        **shown_options,
    }
    return {
        **describe_command(command, {**options.flat(), **resolved}, options.seed, workspace.stages),
        "model": describe_model(inputs.encoder),
        **treebanks.pop("test"),
        "treebanks": treebanks,
        "vectors": _describe_vectors(inputs),
        "probes": {
            "recipe": asdict(inputs.choice.recipe),
            "recipe_name": inputs.choice.name,
            "recipe_reason": inputs.choice.reason,
            "seeds": list(options.seeds),
            "splits": [
                {name: maps and len(maps) for name, maps in (("train", s.train), ("dev", s.dev), ("test", s.test))}
                for s in inputs.splits
            ],
            "continued_after_interruption": trained.resumed,
        },
        "cache": {
            "type": options.store.cache_type,
            "bytes": {role: store.bytes for role, store in inputs.stores.items()},
            "sentences_made": {role: store.made for role, store in inputs.stores.items()},
            **workspace.cache_log.describe(),
        },
        "warnings": [*inputs.encoder.warnings, *warnings_of(reading), *warnings(options, inputs, workspace)],
    }


def _describe_vectors(inputs: ProbingInputs) -> dict[str, Any] | None:
    vectors = inputs.vectors
    if vectors is None:
        return None
    unknown = {role: unknown_words(vectors, store.sentences) for role, store in inputs.stores.items()}
    return {
        "path": vectors.path,
        "sha256": vectors.sha256,
        "dimensions": vectors.dimensions,
        "in_file": vectors.in_file,
        "used": len(vectors.array),
        "unknown_words": {
            role: {
                "unknown": count,
                "words": words,
                "share": count / words,
                "types": len(by_word),
                "frequent": by_word.most_common(_EXAMPLES),
            }
            for role, (count, words, by_word) in unknown.items()
        },
    }

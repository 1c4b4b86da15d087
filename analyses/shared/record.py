"""The run record: everything it takes to trace a number and to compute it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.shared.builtin import DEMO

if TYPE_CHECKING:
    from attentionology.corpora_loaders import Corpus
    from attentionology.extractors import Encoder, ExtractionLog
    from attentionology.extractors.model.loading import LoadedFiles
    from attentionology.reports.progress import Stages

_MANY_UNKNOWN = 0.05
_COMMIT_DIGITS = 12


def describe_command(command: str, options: Mapping[str, Any], seed: int, stages: Stages) -> dict[str, Any]:
    """The command line, its options as resolved, versions, and seconds per stage."""
    from attentionology.reports.provenance import git_commit, versions

    return {
        "command": command,
        "started": stages.started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": dict(options),
        "seed": seed,
        "versions": versions(),
        "git_commit": git_commit(),
        "seconds": stages.seconds,
    }


def command_line(arguments: Sequence[str]) -> str:
    """The command line as one types it."""
    return shlex.join(["attentionology", *arguments])


def flat_options(command: Any) -> dict[str, Any]:
    """The options of a command's dataclass, those of groups beside all others, as on the command line."""
    flat: dict[str, Any] = {}
    for name, given in asdict(command).items():
        flat |= given if isinstance(given, dict) else {name: given}
    return flat


def describe_model(encoder: Encoder) -> dict[str, Any]:
    """What the model is, and the checksums that identify it."""
    return {
        "name": encoder.name,
        "family": encoder.family,
        **describe_files(encoder.files),
        "batching": encoder.batching,
        "weights_sha256": encoder.weights_sha256(),
        "shape": f"{encoder.n_layers} layers × {encoder.n_heads} heads",
        "layers": encoder.n_layers,
        "heads": encoder.n_heads,
        "max_length": encoder.max_length,
        "dtype": str(encoder.dtype).removeprefix("torch."),
        "device": str(encoder.device),
        "tokenizer": {"class": type(encoder.tokenizer).__name__, "vocabulary": len(encoder.tokenizer)},
    }


def describe_files(files: LoadedFiles) -> dict[str, Any]:
    """Where a model comes from: of the Hub the commit, so that the same one can be asked for again."""
    return {
        "revision": files.revision,
        "requested_revision": files.requested,
        "endpoint": files.endpoint,
        "offline": files.offline,
        "files": files.sha256,
        "unused_weights": asdict(files.unused),
    }


def model_label(name: str, revision: str | None, *, offline: bool | None = None) -> str:
    """What a model is called: its name, and of the Hub the beginning of the commit."""
    if revision is None:
        return name
    return f"{name} @ {revision[:_COMMIT_DIGITS]}{' (from the cache, without the Hub)' if offline else ''}"


def describe_corpus(corpus: Corpus) -> dict[str, Any]:
    """Files, counts and relation inventory."""
    return {
        "unit": corpus.unit,
        "limit_unit": corpus.limit_unit,
        "tokens": getattr(corpus, "tokens", None),
        "files": [{"name": Path(file.path).name, **asdict(file)} for file in corpus.files],
        "counts": corpus.counts(),
        "remarks": corpus.remarks(),
        "relations": dict(corpus.relations),
    }


def closing_lines(run: dict[str, Any], out: Path) -> list[str]:
    """What a command says at its end: the model, what was read and what not, and where the results are."""
    model, sentences = run["model"], run["sentences"]
    skipped = len(sentences["skipped"])
    return [
        "",
        f"{model_label(model['name'], model['revision'], offline=model.get('offline'))}, {model['shape']}",
        *(["The demo model's weights were verified by sha256."] if run["options"]["model"] == DEMO else []),
        f"{run['corpus']['unit'].capitalize()} read: {sentences['read']:,}, skipped: {skipped:,}"
        + (" (see the report)" if skipped else ""),
        *(f"Careful: {warning}" for warning in run["warnings"]),
        f"Report: {out / 'report.html'}",
        f"Tables: {out / 'tables'}",
    ]


def warnings_of(reading: dict[str, Any]) -> list[str]:
    """What a reader must be told before the numbers."""
    share = reading["unknown_words"] / reading["words"]
    if share <= _MANY_UNKNOWN:
        return []
    return [
        f"{share:.0%} of the words contain pieces that the model's tokenizer does not know. What the model cannot "
        "read, its attention says little about."
    ]


def describe_reading(corpus: Corpus, log: ExtractionLog) -> dict[str, Any]:
    """What the model read, and what it did not."""
    skipped = {one.sentence.id for one in log.skipped}
    return {
        "read": log.read,
        "words": log.words,
        "words_without_head": sum(s.heads.count(None) for s in corpus if s.id not in skipped),
        "unknown_words": log.unknown_words,
        "substituted_words": log.substituted_words,
        "skipped": [
            {"id": one.sentence.id, "file": one.sentence.file, "line": one.sentence.line, "reason": one.reason}
            for one in log.skipped
        ],
    }

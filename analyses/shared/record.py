"""The run record, which has what is needed to trace a number and to compute it again; phrases that describe maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...extractors.model.named import DEMO

if TYPE_CHECKING:
    from ...corpora_loaders import Corpus
    from ...extractors import ExtractionLog, MapMaker
    from ...extractors.model.files import LoadedFiles
    from ...extractors.model.loaded_model import LoadedModel
    from ...extractors.tokens.text_fit import TextFit
    from ...reports.progress import Stages

_MANY_UNKNOWN = 0.05
_COMMIT_DIGITS = 12


def describe_command(command: str, options: Mapping[str, Any], seed: int, stages: Stages) -> dict[str, Any]:
    """Describe the command line, its options as resolved, the versions of libraries, and the seconds per stage."""
    from ...reports.provenance import git_commit, versions

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


def flat_options(command: Any) -> dict[str, Any]:
    """Return the options of a command's dataclass, those of its groups on the same level as all others."""
    flat: dict[str, Any] = {}
    for name, value in asdict(command).items():
        flat |= value if isinstance(value, dict) else {name: value}
    return {name: str(value) if isinstance(value, Path) else value for name, value in flat.items()}


def describe_model(model: LoadedModel) -> dict[str, Any]:
    """Describe the model: its name, its shape, and the checksums that identify it."""
    return {
        "name": model.name,
        "family": model.family,
        **describe_files(model.files),
        "batching": model.batching,
        "weights_sha256": model.weights_sha256(),
        "shape": model.shape,
        "layers": model.n_layers,
        "heads": model.n_heads,
        "causal": model.causal,
        "max_length": model.max_length,
        "dtype": str(model.held_dtype).removeprefix("torch."),
        "device": str(model.device),
        "tokenizer": {"class": type(model.tokenizer).__name__, "vocabulary": len(model.tokenizer)},
    }


def describe_files(files: LoadedFiles) -> dict[str, Any]:
    """Describe where a model comes from; for a model of the Hub this includes the commit, which identifies it."""
    return {
        "revision": files.revision,
        "requested_revision": files.requested,
        "endpoint": files.endpoint,
        "offline": files.offline,
        "files": files.sha256,
        "unused_weights": asdict(files.unused),
    }


def model_label(name: str, revision: str | None, *, offline: bool | None = None) -> str:
    """Return the name of a model, for a model of the Hub with the beginning of its commit."""
    if revision is None:
        return name
    source = " (from the cache, without the Hub)" if offline else ""
    return f"{name} @ {revision[:_COMMIT_DIGITS]}{source}"


def describe_corpus(corpus: Corpus) -> dict[str, Any]:
    """Describe the corpus: its files, its counts and its inventory of relations."""
    counts = dict(corpus.counts())
    counts.setdefault("sentences", len(corpus))  # the inputs of a bitext have another name
    left_out = getattr(corpus, "left_out", None)  # of a treebank
    return {
        "unit": corpus.unit,
        "limit_unit": corpus.limit_unit,
        "tokens": getattr(corpus, "tokens", None),
        "files": [{"name": Path(file.path).name, **asdict(file)} for file in corpus.files],
        "counts": counts,
        "remarks": corpus.remarks(),
        "checked": corpus.checks(),
        **({} if left_out is None else {"left_out": [asdict(sentence) for sentence in left_out]}),
        "relations": dict(corpus.relations),
    }


def closing_lines(run: dict[str, Any], out: Path) -> list[str]:
    """Return the last lines of a command: the model, how much was read and skipped, and where the results are."""
    model, sentences = run["model"], run["sentences"]
    skipped, left_out = len(sentences["skipped"]), len(run["corpus"].get("left_out", ()))
    shape = f"{model['shape']}{', causal' if model.get('causal') else ''}"
    return [
        "",
        f"{model_label(model['name'], model['revision'], offline=model.get('offline'))}, {shape}",
        *([run["text_fit"]["summary"]] if "text_fit" in run else []),
        *(["The demo model's weights were verified by sha256."] if run["options"]["model"] == DEMO else []),
        f"{run['corpus']['unit'].capitalize()} read: {sentences['read']:,}, skipped: {skipped:,}"
        + (f", with mistakes and left out: {left_out:,}" if left_out else "")
        + (" (see the report)" if skipped or left_out else ""),
        *(f"Warning: {warning}" for warning in run["warnings"]),
        f"Report: {out / 'report.html'}",
        f"Tables: {out / 'tables'}",
    ]


def fit_warnings(fit: TextFit) -> list[str]:
    """Return the warning about a text whose words go to pieces; none for a text that the model can read."""
    return [fit.warning] if fit.warning else []


def warnings_of(reading: dict[str, Any]) -> list[str]:
    """Return the warnings about how the model read the corpus."""
    if "substituted_words" not in reading:  # classifiers warn with a limit of their own
        return []
    share = reading["unknown_words"] / reading["words"]
    if share <= _MANY_UNKNOWN:
        return []
    return [
        f"{100 * share:.0f} % of the words contain pieces that the model's tokenizer does not know. Attention "
        "to such words shows little about them."
    ]


def describe_reading(corpus: Corpus, log: ExtractionLog) -> dict[str, Any]:
    """Describe what the model read, and what was skipped."""
    return {
        "read": log.read,
        "words": log.words,
        "words_without_head": _words_without_head(corpus, log),
        "unknown_words": log.unknown_words,
        "substituted_words": log.substituted_words,
        "skipped": [
            {"id": skip.sentence.id, "file": skip.sentence.file, "line": skip.sentence.line, "reason": skip.reason}
            for skip in log.skipped
        ],
    }


def _words_without_head(corpus: Corpus, log: ExtractionLog) -> int:
    """The number of words without a head in the sentences that were not skipped."""
    if not corpus.has_heads:
        return 0
    counts, skipped = corpus.counts(), {skip.sentence.id for skip in log.skipped}
    if "words_without_head" in counts and not skipped:
        return counts["words_without_head"]  # without reading the corpus once more
    return sum(sentence.heads.count(None) for sentence in corpus if sentence.id not in skipped)


@dataclass(frozen=True)
class MapFacts:
    """A description of the maps of a run, made before they are counted."""

    description: str  # the kind of map in words
    treatment: tuple[str, ...]  # one phrase for each choice of how maps are made that is not the usual one
    n_heads: int  # the number of heads of the model

    def phrases(self, n_heads: int) -> tuple[str, ...]:
        """Describe the maps, one phrase for each choice that is not the usual one."""
        shared = () if n_heads == self.n_heads else ("one map for all heads of a layer, shown as head 1",)
        return (self.description, *shared, *self.treatment)


def map_facts(maker: MapMaker, n_heads: int) -> MapFacts:
    """Describe maps of a maker before they are counted, for a model of this many heads."""
    kind, treatment = maker.kind, []
    if kind.vectors and maker.level == "word":
        treatment.append(
            "pieces merged into words by " + {"norm": "adding norms", "vector": "adding vectors"}[maker.merge]
        )
    if maker.normalize == "row":
        treatment.append("rows divided by their sums")
    if kind.base.startswith("atbff"):
        treatment.append(f"feed-forward bias: {maker.ff_bias}")
    return MapFacts(f"map “{kind}”: {kind.description}", tuple(treatment), n_heads)

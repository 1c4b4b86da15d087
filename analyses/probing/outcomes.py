"""The outcomes of probes by sentence: stored with a run, so that two runs over the same sentences can be compared.

A run that knows only its scores can be compared with another one only by two intervals, although both have parsed the
same sentences. With the number of right heads in each sentence, a bootstrap replicate draws the same sentences for both
runs, whatever was probed: another kind of map, another model, or other features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray

from attentionology.analyses.probing.attachment import Attempt
from attentionology.analyses.shared.best_head import rate
from attentionology.analyses.shared.comparable import Comparable, Measured
from attentionology.analyses.shared.metric_states import StateError
from attentionology.analyses.shared.resampling import poisson_weights
from attentionology.corpora_loaders import Sentence, is_punct
from attentionology.storage.sealed import DamagedError, cache_name
from attentionology.storage.tensors import read_tensors, write_tensors

_FILE = Path("states") / "probe.safetensors"
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class MethodOutcomes:
    """What one method got right, sentence by sentence.

    Attributes:
        method: the name of the method.
        decoding: ``"argmax"`` or ``"tree"``.
        runs: the number of its runs, one for each seed.
        right: the number of right heads in each sentence, added up over the runs.
    """

    method: str
    decoding: str
    runs: int
    right: Int[ndarray, " sentences"]


@dataclass(frozen=True, eq=False)
class AttachmentOutcomes:
    """What all methods of a run got right, sentence by sentence.

    Attributes:
        ids: the ids of the tested sentences.
        words: the number of words in each sentence that are scored: those with a head, without punctuation.
        methods: the outcomes of each method and decoding.
        replicates: the number of bootstrap replicates.
        seed: the seed of the bootstrap.
    """

    ids: tuple[str, ...]
    words: Int[ndarray, " sentences"]
    methods: tuple[MethodOutcomes, ...]
    replicates: int
    seed: int

    @classmethod
    def of(
        cls, sentences: Sequence[Sentence], attempts: Sequence[Attempt], *, replicates: int, seed: int
    ) -> AttachmentOutcomes:
        """Count by sentence what methods got right. Attempts at the control task are left out.

        Args:
            sentences: the tested sentences.
            attempts: what the methods got right.
            replicates: the number of bootstrap replicates.
            seed: the seed of the bootstrap.
        """
        scored = np.array(
            [
                head is not None and not is_punct(relation)
                for sentence in sentences
                for head, relation in zip(sentence.heads, sentence.relations, strict=True)
            ],
            dtype=bool,
        )
        sentence_of_word = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])

        def by_sentence(words: ndarray) -> Int[ndarray, " sentences"]:
            return np.bincount(sentence_of_word[words], minlength=len(sentences)).astype(np.int64)

        groups: dict[tuple[str, str], list[Attempt]] = {}
        for attempt in attempts:
            if attempt.task == "dependencies":
                groups.setdefault((attempt.method, attempt.decoding), []).append(attempt)
        methods = [
            MethodOutcomes(
                method,
                decoding,
                len(tried),
                np.stack([by_sentence(np.asarray(attempt.right) & scored) for attempt in tried]).sum(0),
            )
            for (method, decoding), tried in groups.items()
        ]
        ids = tuple(sentence.id for sentence in sentences)
        return cls(ids, by_sentence(scored), tuple(methods), replicates, seed)

    def comparable(self) -> tuple[Comparable, ...]:
        """Return the attachment scores of all methods, one family for each decoding."""
        drawn = poisson_weights(self.ids, self.replicates, self.seed).astype(np.int64)
        total, words = drawn @ self.words, int(self.words.sum())
        families: dict[str, list[Measured]] = {}
        for outcomes in self.methods:
            value = rate(int(outcomes.right.sum()), words * outcomes.runs)
            right = (drawn @ outcomes.right) / outcomes.runs
            deviations = np.where(total > 0, right / np.maximum(total, 1), np.nan) - value
            families.setdefault(outcomes.decoding, []).append(Measured(outcomes.method, value, words, deviations))
        return tuple(
            Comparable(
                f"attachment score ({decoding})", tuple(measured), "words whose head is found", "words", self.seed
            )
            for decoding, measured in families.items()
        )


def write_outcomes(folder: Path, outcomes: AttachmentOutcomes) -> None:
    """Write the outcomes of a run to its folder.

    Raises:
        StorageError: the file cannot be written.
    """
    facts = {
        "format": _FORMAT,
        "ids": list(outcomes.ids),
        "methods": [[one.method, one.decoding, one.runs] for one in outcomes.methods],
        "replicates": outcomes.replicates,
        "seed": outcomes.seed,
    }
    right = np.stack([one.right for one in outcomes.methods]) if outcomes.methods else np.zeros((0, len(outcomes.ids)))
    tensors = {"right": torch.from_numpy(right).int(), "words": torch.from_numpy(outcomes.words).int()}
    write_tensors(folder / _FILE, tensors, facts, cache_name(folder / _FILE))


def read_outcomes(folder: Path) -> AttachmentOutcomes | None:
    """Read the outcomes of a run from its folder; return None if the folder is not that of a probing run.

    Raises:
        StateError: the file is damaged, or of another version.
        StorageError: the file cannot be read.
    """
    path = folder / _FILE
    try:
        tensors, facts = read_tensors(path, cache_name(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except DamagedError as error:
        raise StateError(f"{path} is damaged: {error}") from None
    if facts["format"] != _FORMAT:
        raise StateError(f"{path} has format {facts['format']}, and this version reads format {_FORMAT}; probe again")
    right = tensors["right"].long().numpy()
    methods = [
        MethodOutcomes(method, decoding, runs, row)
        for (method, decoding, runs), row in zip(facts["methods"], right, strict=True)
    ]
    words = tensors["words"].long().numpy()
    return AttachmentOutcomes(tuple(facts["ids"]), words, tuple(methods), facts["replicates"], facts["seed"])

"""Probes that were saved, and checkpoints of trainings, which are named after everything that the weights depend on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from ..corpora_loaders import WordVectors
from ..storage.cache_log import CacheLog
from ..storage.durable import StorageError
from ..storage.sealed import ANYWHERE, DamagedError, check, digest_in, read_json
from .checkpoint import Checkpoint
from .probe import DESCRIPTION_FILE, WEIGHTS_FILE, Probe
from .recipe import Recipe
from .registry import make_probe, make_state_probe
from .splits import Split
from .states.mixing import LayerMix
from .states.probe import MIX_PREFIX, StateProbe
from .states.training import StateRecipe

if TYPE_CHECKING:
    from ..extractors import StoredMaps


def load_probe(folder: str | Path, vectors: WordVectors | None = None) -> Probe:
    """Load a probe of maps that `Probe.save` wrote.

    Args:
        folder: the folder of the probe.
        vectors: vectors from the same file as in training, if the probe reads words.

    Raises:
        ValueError: the vectors are not those of the training, the files are broken, or the weights do not fit.
        OSError: there is nothing to read.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import AttentionProbe, batch_from_array, load_probe
        >>> sentence = Sentence("s1", ("dog", "barks"), (2, 0), ("nsubj", "root"))
        >>> batch = batch_from_array(sentence, np.full((1, 2, 2, 2), 0.5, dtype=np.float32))
        >>> probe = AttentionProbe().fit([batch])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     probe.save(folder)
        ...     loaded = load_probe(folder)
        >>> bool((loaded.coef_ == probe.coef_).all())
        True
    """
    folder = Path(folder)
    described, weights = _read_saved(folder)
    try:
        vectors_in_training = described["vectors"]
        arguments = described["options"]
        arguments |= {"recipe": Recipe(**described["recipe"]), "random_state": described["random_state"]}
        shape = (described["layers"], described["heads"])
        kind, history, name = described["kind"], described["history"], described["probe"]
    except (KeyError, TypeError, ValueError) as error:
        what = "a probe of hidden states: load_state_probe" if "states" in described else f"damaged: {error!r}"
        raise ValueError(f"{folder} is not a saved probe of maps, or it is {what}") from error
    given_vectors = vectors and {"dimensions": vectors.dimensions, "sha256": vectors.sha256}
    if vectors_in_training and given_vectors and vectors_in_training != given_vectors:
        raise ValueError(f"the probe was trained with other vectors: sha256 {vectors_in_training['sha256']}")
    probe = make_probe(name, vectors, **arguments)
    probe.shape_, probe.kind_, probe.history_ = shape, kind, history
    probe.scorer_ = probe.make_scorer(shape)
    try:
        probe.scorer_.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{folder}: the weights do not fit the description: {error}") from error
    return probe


def load_state_probe(folder: str | Path) -> StateProbe:
    """Load a probe of hidden states that `StateProbe.save` wrote.

    Args:
        folder: the folder of the probe.

    Raises:
        ValueError: the files are broken, are those of another probe, or the weights do not fit.
        OSError: there is nothing to read.

    Example:
        >>> from attentionology import load_encoder, load_treebank, store_states
        >>> from attentionology.probes import LabelProbe, StateRecipe, load_state_probe
        >>> sentences = load_treebank("sample").sentences[:5]
        >>> states = store_states(load_encoder("demo"), sentences, "cache", layers=[2]).layer(2)
        >>> LabelProbe("upos", recipe=StateRecipe(epochs=2)).fit(states).save("probe")
        >>> load_state_probe("probe").classes_[:2]
        ('ADJ', 'ADP')
    """
    folder = Path(folder)
    described, weights = _read_saved(folder)
    try:
        arguments = described["options"]
        arguments |= {"recipe": StateRecipe(**described["recipe"]), "random_state": described["random_state"]}
        probe = make_state_probe(described["probe"], **arguments)
        probe.history_, probe.dim_, probe.heads_ = described["history"], described["states"], described["heads"]
        for name in probe.learned:
            setattr(probe, name, tuple(described["learned"][name]))
        if mixed := described.get("mixed_layers"):  # of one layer, and in earlier versions, there are none
            probe.mix_ = LayerMix(mixed)
            of_mix = {name: weights.pop(name) for name in [*weights] if name.startswith(MIX_PREFIX)}
            probe.mix_.load_state_dict({name.removeprefix(MIX_PREFIX): weight for name, weight in of_mix.items()})
        probe.module_ = probe.make_module(probe.dim_)
        probe.module_.load_state_dict(weights)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{folder} is not a saved probe of hidden states, or it is damaged: {error!r}") from error
    return probe


def _read_saved(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the description and the weights of a saved probe."""
    try:
        described = _read_description(folder / DESCRIPTION_FILE)
        if "weights" in described and check(folder / WEIGHTS_FILE, ANYWHERE) != described["weights"]:
            raise DamagedError(f"{WEIGHTS_FILE} does not belong to {DESCRIPTION_FILE}")
        return described, load_file(folder / WEIGHTS_FILE)
    except StorageError as error:
        raise ValueError(f"{folder} is damaged: {error}") from error
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        raise ValueError(f"{folder} is not a saved probe, or it is damaged: {error!r}") from error


def _read_description(path: Path) -> dict[str, Any]:
    """Return the content of ``probe.json``; the first versions of the toolkit wrote no digest into it."""
    if digest_in(path):
        return read_json(path, ANYWHERE)
    described: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if "seal" in described:
        raise DamagedError(f"the digest in {path.name} is malformed")
    return described


def cached_checkpoint(cache: Path, probe: Probe, split: Split, cache_log: CacheLog) -> Checkpoint:
    """Return the checkpoint of a training in a cache folder."""
    return Checkpoint(cache / "training" / f"{training_key(probe, split)}.safetensors", cache_log=cache_log)


def training_key(probe: Probe, split: Split) -> str:
    """Return a digest of all that the weights of a trained probe depend on; the tested sentences are no part of it."""
    depends_on = {
        "format": 2,
        "probe": probe.name,
        "arguments": probe.arguments(),
        "recipe": asdict(probe.recipe),
        "seed": probe.random_state,
        "vectors": probe.vectors and _vectors_key(probe.vectors),
        "maps": [None if maps is None else _maps_key(maps) for maps in (split.train, split.dev)],
    }
    return hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:24]


def _vectors_key(vectors: WordVectors) -> str:
    """Return the digest of the file of word vectors, or of the vectors themselves if they do not come from a file."""
    if vectors.sha256:
        return vectors.sha256
    digest = hashlib.sha256(json.dumps(sorted(vectors.index.items())).encode())
    digest.update(vectors.array.tobytes())
    return digest.hexdigest()


def _maps_key(maps: StoredMaps) -> tuple[str, str]:
    """Return the name of the store, and a digest of the annotation that training depends on."""
    digest = hashlib.sha256()
    for sentence in maps.sentences:
        digest.update(json.dumps([sentence.words, sentence.heads, sentence.relations]).encode())
    return maps.folder.name, digest.hexdigest()

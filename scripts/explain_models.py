"""Which classifiers ``attentionology explain`` tests: small ones that are trained, or transformers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError

from attentionology.analyses.explanation.tests.states import conicity, null_space
from attentionology.analyses.shared.builtin import DEMO, DEMO_NAME, check_demo, model_location
from attentionology.analyses.shared.record import describe_files
from attentionology.corpora_loaders import CorpusError, load_vectors
from attentionology.extractors import ModelError, TransformerAttention, load_classifier
from attentionology.extractors.model.loading import LoadedFiles, find_model, load_tokenizer
from attentionology.probes.classifiers import (
    FINE_TUNING,
    IMITATION,
    PUBLISHED,
    AttentionClassifier,
    ClassifierRecipe,
    Vocabulary,
)
from attentionology.scripts.errors import UsageError
from attentionology.scripts.labelled_data import Data, words_of
from attentionology.storage.sealed import DamagedError

if TYPE_CHECKING:
    from attentionology.analyses.explanation.batch import Test
    from attentionology.corpora_loaders import LabelledTexts
    from attentionology.extractors import AttentionModel
    from attentionology.scripts.explain import Explain


class Classifiers:
    """The classifiers of the papers.

    Args:
        options: the command.
        data: what they are trained on and tested with; their words decide which vectors are read.

    Attributes:
        recipe, imitation: how they and their imitators are trained.
        small: whether one is best trained by one thread.
        seeds: how many of other seeds to compare with, if nobody says.
    """

    small = True
    seeds = 8

    def __init__(self, options: Explain, data: Data) -> None:
        self.options = options
        self.recipe = _changed(PUBLISHED, options.epochs, options.learning_rate)
        self.imitation = _changed(IMITATION, options.adversary_epochs, options.learning_rate)
        assert data.train is not None  # noqa: S101 the command takes care of it
        self.classes = data.train.classes
        words = (word for texts in data.roles().values() for text in texts for word in text.words)
        self.vectors = None if options.vectors is None else load_vectors(options.vectors, words)
        if self.vectors is not None and not len(self.vectors.array):
            raise CorpusError("not one word of the texts has a vector in it", file=options.vectors)
        self.vocabulary = Vocabulary.of(words_of(data.train), min_count=options.min_count, vectors=self.vectors)

    def make(self, seed: int, *, encoder: str | None = None, regularizer: str | None = "base") -> AttentionClassifier:
        """An untrained classifier; with another encoder or regulariser, if given.

        Raises:
            ValueError: states of the size that it needs are not possible.
        """
        own = self.options
        chosen = None if own.regularizer == "none" else own.regularizer
        classifier = AttentionClassifier(
            encoder or own.encoder,  # type: ignore[arg-type]
            own.attention,
            chosen if regularizer == "base" else regularizer,  # type: ignore[arg-type]
            dimensions=own.dimensions,
            strength=own.strength if regularizer == "base" else None,
            random_state=seed,
        )
        return classifier.build(self.vocabulary, self.classes, self.vectors)

    def identity(self, model: AttentionClassifier) -> dict[str, Any]:
        """What the untrained model is made of."""
        return {
            "config": model.config,
            "words": hashlib.sha256("\n".join(self.vocabulary.words).encode()).hexdigest(),
            "vectors": self.vectors and self.vectors.sha256,
        }


class Transformers:
    """A transformer with a new classification head, to be fine-tuned, or one that classifies already.

    Args:
        options: the command.
        data: of which the classes are taken, if it is trained.
    """

    small = False
    seeds = 2
    vectors = None

    def __init__(self, options: Explain, data: Data) -> None:
        self.options = options
        self.recipe = _changed(FINE_TUNING, options.epochs, options.learning_rate)
        self.imitation = _changed(FINE_TUNING, options.adversary_epochs, options.learning_rate)
        self.classes = None if data.train is None else data.train.classes

    @cached_property
    def files(self) -> LoadedFiles:
        """Where the model comes from, found once for all that are trained."""
        files = find_model(model_location(self.options.model or ""), self.options.revision)
        if self.options.model == DEMO:
            check_demo(files)
        return files

    def make(self, seed: int) -> TransformerAttention:
        """The model, its head drawn with the seed if it is new."""
        own = self.options
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model, files = load_classifier(self.files, labels=self.classes)
            if own.finetune:  # also where the checkpoint has a head of this size
                for child in model.children():
                    if child is not model.base_model:
                        child.apply(model._init_weights)
        name = self._name()
        heads = own.chosen_heads()
        n_layers, n_heads = (getattr(model.config, f"num_{what}", 0) for what in ("hidden_layers", "attention_heads"))
        if own.layer is not None and own.layer > n_layers > 0:
            raise UsageError(f"{name} has the layers 1 to {n_layers}, not {own.layer}")
        if heads != "all" and max(heads) >= n_heads > 0:
            raise UsageError(f"{name} has the heads 1 to {n_heads}, not {max(heads) + 1}")
        try:
            return TransformerAttention(
                model,
                load_tokenizer(files),
                layer=-1 if own.layer is None else own.layer - 1,
                query=own.query,
                heads=heads,
                special=own.special,
                score=own.score,
                name=name,
                files=files,
            )
        except ModelError as error:
            raise ModelError(str(error).replace("query='all'", "--query all")) from error
        except ValueError as error:
            raise UsageError(str(error)) from error

    def _name(self) -> str:
        if self.options.model == DEMO:
            return DEMO_NAME
        name = self.files.name
        return name if self.files.endpoint else Path(name).name or name

    def identity(self, model: TransformerAttention) -> dict[str, Any]:
        """What the untrained model is made of."""
        scope = {name: value for name, value in model.describe().items() if name not in ("score", "fast")}
        return {"files": model.files.sha256, "revision": model.files.revision, **scope}


def load_saved(path: str) -> AttentionClassifier:
    """A classifier that an earlier run saved.

    Raises:
        ModelError: the file is another, or damaged.
    """
    try:
        return AttentionClassifier.load(Path(path))
    except DamagedError as error:
        raise ModelError(f"{path} is damaged: {error}") from error
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise ModelError(f"{path} is not a classifier saved by attentionology explain") from error


def describe_model(model: AttentionModel) -> dict[str, Any]:
    """What the model is, for the run record."""
    digest = hashlib.sha256()
    assert isinstance(model, torch.nn.Module)  # noqa: S101 both kinds are
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy())
    known: dict[str, Any] = {"weights_sha256": digest.hexdigest(), "classes": list(model.classes)}
    if isinstance(model, TransformerAttention):
        scope, shape = model.describe(), shape_of(model)
        family = str(model.model.config.model_type)
        source = describe_files(model.files)
        return {"name": model.name, "family": family, "shape": shape, "scope": scope, **source, **known}
    assert isinstance(model, AttentionClassifier)  # noqa: S101 there is no other
    config = model.config
    regularizer = f", {config['regularizer']}" if config["regularizer"] else ""
    return {
        "name": f"{config['encoder']} classifier",
        "family": config["encoder"],
        "shape": f"{config['attention']} attention, {config['size']} dimensions{regularizer}",
        "config": config,
        "vocabulary": len(model.vocabulary),
        **describe_files(LoadedFiles()),
        **known,
    }


def shape_of(model: TransformerAttention) -> str:
    """Where attention is replaced."""
    scope = model.describe()
    heads = "all heads" if scope["heads"] == "all" else f"heads {', '.join(map(str, scope['heads']))}"
    rows = "the row of the first position" if scope["query"] == "cls" else "all rows"
    return f"layer {scope['layer']}, {heads}, {rows}; special tokens: {scope['special']}"


def readable(model: AttentionModel, texts: LabelledTexts) -> list[str | None]:
    """Why a text cannot be read, None if it can.

    Raises:
        CorpusError: none can.
    """
    if not isinstance(model, TransformerAttention):
        return [None] * len(texts)
    reasons = model.readable(words_of(texts))
    if texts and all(reasons):
        raise CorpusError(f"the model can read none of the texts: {reasons[0]}", file=texts[0].file, line=texts[0].line)
    return reasons


def without_reasons(texts: LabelledTexts, reasons: Sequence[str | None]) -> LabelledTexts:
    """The texts that can be read."""
    return texts.subset([place for place, reason in enumerate(reasons) if reason is None])


def _changed(recipe: ClassifierRecipe, epochs: int | None, learning_rate: float | None) -> ClassifierRecipe:
    return replace(
        recipe,
        epochs=recipe.epochs if epochs is None else epochs,
        learning_rate=recipe.learning_rate if learning_rate is None else learning_rate,
    )


def states_test(model: AttentionModel) -> Test:
    """What there is to know of the states that a kind of model attends to."""
    return null_space if isinstance(model, TransformerAttention) else conicity

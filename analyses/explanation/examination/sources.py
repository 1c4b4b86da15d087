"""How classifiers are made: small ones that are trained from scratch, or transformers."""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from ....corpora_loaders import CorpusError, load_vectors
from ....extractors import AttentionModel, ModelError, TransformerAttention, load_classifier
from ....extractors.model.files import LoadedFiles
from ....extractors.model.loading import find_model, load_tokenizer
from ....extractors.model.named import DEMO, DEMO_NAME, check_demo, model_location
from ....extractors.threads import one_thread
from ....probes.classifiers import (
    FINE_TUNING,
    IMITATION,
    PUBLISHED,
    AttentionClassifier,
    ClassifierRecipe,
    HierarchicalClassifier,
    QueryClassifier,
    Vocabulary,
)
from ....storage.sealed import DamagedError
from ...contract import OptionError
from ..contract.options import ExplanationTestOptions
from .options import ExplainOptions
from .texts import ExplainTexts, words_of


class Classifiers:
    """Makes the classifiers of the papers. The words of all texts decide which vectors are read."""

    seeds = 8  # the default number of models with other seeds to compare with

    def __init__(self, options: ExplainOptions, texts: ExplainTexts) -> None:
        self.options = options.classifier
        training = options.training
        self.recipe = _change_recipe(PUBLISHED, training.epochs, training.learning_rate)
        self.imitation = _change_recipe(IMITATION, options.tests.adversary_epochs, training.learning_rate)
        assert texts.train is not None  # noqa: S101 the options are checked
        self.classes = texts.train.classes
        self.kind: type[AttentionClassifier] = AttentionClassifier
        if texts.train.of_sentences:
            self.kind = HierarchicalClassifier
        elif texts.train.queries:
            self.kind = QueryClassifier
        roles = texts.roles().values()
        words = (word for part in roles for text in words_of(part) for word in self.kind.words_read(text))
        self.vectors = None if self.options.vectors is None else load_vectors(self.options.vectors, words)
        if self.vectors is not None and not len(self.vectors.array):
            raise CorpusError("no word of the texts has a vector in it", file=self.options.vectors)
        self.vocabulary = Vocabulary.of(
            [self.kind.words_read(text) for text in words_of(texts.train)],
            min_count=self.options.min_count,
            vectors=self.vectors,
        )

    def make(self, seed: int, *, encoder: str | None = None, regularizer: str | None = "base") -> AttentionClassifier:
        """Make an untrained classifier, with the encoder and the regularizer of the tested one (``base``) or others."""
        options = self.options
        tested_regularizer = None if options.regularizer == "none" else options.regularizer
        classifier = self.kind(
            encoder or options.encoder,  # type: ignore[arg-type]
            options.attention,
            tested_regularizer if regularizer == "base" else regularizer,  # type: ignore[arg-type]
            dimensions=options.dimensions,
            strength=options.strength if regularizer == "base" else None,
            random_state=seed,
        )
        return classifier.build(self.vocabulary, self.classes, self.vectors)

    def identity(self, model: AttentionClassifier) -> dict[str, Any]:
        """Return what identifies the untrained model in the cache."""
        return {
            **({} if model.reads == "words" else {"reads": model.reads}),  # so that older keys of words stay valid
            "config": model.config,
            "words": hashlib.sha256("\n".join(self.vocabulary.words).encode()).hexdigest(),
            "vectors": self.vectors and self.vectors.sha256,
        }


class Transformers:
    """Makes transformers. If they are fine-tuned, they get a new head, whose classes the training texts decide."""

    seeds = 2
    vectors = None  # transformers have no word vectors

    def __init__(self, options: ExplainOptions, texts: ExplainTexts) -> None:
        training, self.model, self.options = options.training, options.model, options.transformer
        self.recipe = _change_recipe(FINE_TUNING, training.epochs, training.learning_rate)
        self.imitation = _change_recipe(FINE_TUNING, options.tests.adversary_epochs, training.learning_rate)
        self.classes = None if texts.train is None else texts.train.classes

    @cached_property
    def files(self) -> LoadedFiles:
        """The files of the model, which are looked up once for all models that are trained."""
        files = find_model(model_location(self.model.model or ""), self.model.revision)
        if self.model.model == DEMO:
            check_demo(files)
        return files

    def make(self, seed: int) -> TransformerAttention:
        """Load the transformer. If its head is new, its weights are drawn with the seed."""
        options = self.options
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model, files = load_classifier(self.files, labels=self.classes)
            if options.finetune:  # the head is new even if the checkpoint has a head of this size
                for child in model.children():
                    if child is not model.base_model:
                        child.apply(model._init_weights)
        name = self.files.name
        if self.model.model == DEMO:
            name = DEMO_NAME
        elif not self.files.endpoint:  # a folder
            name = Path(name).name or name
        heads = options.chosen_heads()
        n_layers = getattr(model.config, "num_hidden_layers", 0)  # 0 if unknown
        n_heads = getattr(model.config, "num_attention_heads", 0)
        if options.layer is not None and options.layer > n_layers > 0:
            raise OptionError(f"{name} has the layers 1 to {n_layers}, not {options.layer}")
        if heads != "all" and max(heads) >= n_heads > 0:
            raise OptionError(f"{name} has the heads 1 to {n_heads}, not {max(heads) + 1}")
        try:
            return TransformerAttention(
                model,
                load_tokenizer(files),
                layer=-1 if options.layer is None else options.layer - 1,
                query=options.query,
                heads=heads,
                special=options.special,
                score=options.score,
                name=name,
                files=files,
            )
        except ModelError as error:
            raise ModelError(str(error).replace("query='all'", "--query all")) from error
        except ValueError as error:
            raise OptionError(str(error)) from error

    def identity(self, model: TransformerAttention) -> dict[str, Any]:
        """Return what identifies the untrained model in the cache."""
        # Neither the maps that rank words nor the way of computing changes what is trained.
        scope = {name: value for name, value in model.describe().items() if name not in ("score", "fast")}
        return {"files": model.files.sha256, "revision": model.files.revision, **scope}


def load_saved(path: str) -> AttentionClassifier:
    """Load a classifier that an earlier run saved."""
    try:
        return AttentionClassifier.load(Path(path))
    except DamagedError as error:
        raise ModelError(f"{path} is damaged: {error}") from error
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise ModelError(f"{path} is not a classifier saved by attentionology explain") from error


def _change_recipe(recipe: ClassifierRecipe, epochs: int | None, learning_rate: float | None) -> ClassifierRecipe:
    """Return the recipe with the number of epochs and the learning rate that were given."""
    return replace(recipe, epochs=epochs or recipe.epochs, learning_rate=learning_rate or recipe.learning_rate)


ModelSource = Classifiers | Transformers
"""How the models of a run are made."""


def words_only(model: AttentionModel, options: ExplanationTestOptions) -> str | None:
    """Say why a test that trains classifiers of words cannot be run with a model that attends to sentences."""
    of_sentences = isinstance(model, AttentionClassifier) and model.reads == "sentences"
    return "it trains classifiers of words, and this one attends to sentences" if of_sentences else None


def threads_for(model: AttentionModel) -> AbstractContextManager[Any]:
    """Limit small models to one thread, so that results do not depend on the number of cores."""
    return one_thread() if isinstance(model, AttentionClassifier) else nullcontext()


def workers_for(model: AttentionModel) -> int:
    """Return how many models to train, and batches to examine, at once. Call this before `threads_for`."""
    return torch.get_num_threads() if isinstance(model, AttentionClassifier) else 1


def save_model(model: Any, folder: Path, *, finetuned: bool) -> None:
    """Write a classifier, or a transformer if it was fine-tuned, into the folder of its results."""
    if isinstance(model, AttentionClassifier):
        model.save(folder / "classifier.safetensors")
    elif finetuned:
        model.save(folder / "model")

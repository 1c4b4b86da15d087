"""What ``attentionology explain`` can and cannot do with the options it was given."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from attentionology.analyses.shared.builtin import check_revision
from attentionology.corpora_loaders import CorpusError
from attentionology.corpora_loaders.lines import WHOLE_NUMBER
from attentionology.scripts.errors import UsageError
from attentionology.scripts.options import check_seed

if TYPE_CHECKING:
    from attentionology.scripts.explain import Explain

TESTS = (
    "correlation", "permutation", "adversarial", "uniform", "seeds", "guided", "imitation", "erasure", "removal",
    "single-token", "eraser", "regularizers",
)  # fmt: skip
TRAINING_TESTS = ("seeds", "guided", "imitation", "regularizers")
"""They train models; of ``uniform`` a part does."""

CLASSIFIER_TESTS = ("guided", "regularizers")
"""For the small classifiers trained here, not for transformers."""

_USED_BY = {
    "seeds": ("seeds",),
    "lambdas": ("imitation",),
    "divergence": ("imitation",),
    "adversary_epochs": ("imitation",),
    "draws": ("permutation", "adversarial", "seeds", "imitation", "regularizers"),
    "steps": ("adversarial",),
}
"""Options that are about some tests only."""

REGULARIZERS = ("concat", "residual", "tying", "mlm", "conicity")


def check(options: Explain) -> None:
    """Refuse impossible options before anything slow happens.

    Raises:
        UsageError, CorpusError: so it is.
    """
    for name in ("data", "test", "dev"):
        if getattr(options, name) == ():
            raise UsageError(f"--{name} needs at least one file")
    if options.trains() and not options.data:
        raise UsageError(
            "--data FILE is missing: labelled texts to train on, a line each: label, blank or tab, text; or .csv, .tsv "
            "with columns 'label' and 'text', or .jsonl"
        )
    if not options.trains():
        if not options.test:
            raise UsageError("--test FILE is missing; or --finetune, to train the model on --data first")
        if options.data or options.dev:
            again = "" if is_saved(options.model or "") else "add --finetune, or "
            raise UsageError(f"--data and --dev are for training; {again}give --test alone")
    if options.finetune and options.model is None:
        raise UsageError("--finetune is for a transformer: --model MODEL")
    _check_kind(options)
    impossible = left_out(options)
    if impossible and options.tests is not None and "all" not in options.tests:
        raise UsageError(f"--tests {impossible[0][0]}: {impossible[0][1]}")
    if len(impossible) == len(options.chosen()):
        raise UsageError("none of the tests can be run here")
    _check_effect(options, {*options.chosen()} - {name for name, _ in impossible})
    options.chosen_heads()
    for name in ("min_words", "max_words", "limit", "dimensions", "min_count", "layer", "epochs", "seeds", "draws",
                 "adversary_epochs"):  # fmt: skip
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
    if options.min_words and options.max_words and options.min_words > options.max_words:
        raise UsageError(f"--min-words {options.min_words} is above --max-words {options.max_words}")
    for name, value in (("learning-rate", options.learning_rate), ("strength", options.strength)):
        if value is not None and not 0 < value < math.inf:
            raise UsageError(f"--{name} must be finite and above 0, not {value}")
    if not 0 < options.epsilon < 1:
        raise UsageError(f"--epsilon must be between 0 and 1, not {options.epsilon}")
    if any(not 0 <= strength < math.inf for strength in options.lambdas or ()):
        raise UsageError("--lambdas must be finite and at least 0")
    for name in ("replicates", "steps"):
        if getattr(options, name) < 0:
            raise UsageError(f"--{name} must not be negative, not {getattr(options, name)}")
    check_seed(options.seed)
    _check_files(options)


def _check_kind(options: Explain) -> None:
    """Refuse options of a transformer for a small classifier, and the other way round."""
    transformer = ("revision", "layer", "query", "heads", "special", "score")
    classifier = ("encoder", "attention", "regularizer", "strength", "vectors", "dimensions", "min_count")
    saved = options.model is not None and is_saved(options.model)
    if options.model is not None and (Path(options.model) / "run.json").exists():
        folder = options.model
        raise UsageError(
            f"{folder} is a results folder; its model is {folder}/classifier.safetensors or {folder}/model"
        )
    if options.model is not None:
        check_revision(options.model, options.revision)
    if saved and options.finetune:
        raise UsageError("--finetune is for transformers, not for a saved classifier")
    for name in transformer if options.model is None or saved else ():
        if getattr(options, name) != getattr(type(options), name):
            raise UsageError(f"--{name} is for transformers: --model MODEL")
    for name in classifier if options.model is not None else ():
        if getattr(options, name) != getattr(type(options), name):
            raise UsageError(
                f"--{name.replace('_', '-')} is for the classifiers that are trained here, not for --model"
            )
    if options.vectors and options.dimensions != type(options).dimensions:
        raise UsageError("--dimensions is for random embeddings; with --vectors it is theirs")
    if options.strength is not None and options.regularizer not in ("tying", "mlm", "conicity"):
        raise UsageError("--strength is for --regularizer tying, mlm or conicity")


def _check_effect(options: Explain, tests: set[str]) -> None:
    """Refuse options that would change nothing."""
    for name, needed in _USED_BY.items():
        if getattr(options, name) != getattr(type(options), name) and not tests & set(needed):
            raise UsageError(f"--{name.replace('_', '-')} is for --tests {' or '.join(needed)}")
    for name in ("epochs", "learning_rate"):
        if getattr(options, name) is not None and not options.trains():
            raise UsageError(f"--{name.replace('_', '-')} is for training, and nothing is trained in this run")
    if _same(options.text_column, options.label_column):
        raise UsageError("--text-column and --label-column cannot be the same")
    files = [Path(name) for given in (options.data, options.test, options.dev) for name in given or ()]
    if not any({".csv", ".tsv", ".json", ".jsonl", ".zip"} & set(file.suffixes) for file in files):
        for name in ("text_column", "label_column"):
            if getattr(options, name) != getattr(type(options), name):
                raise UsageError(f"--{name.replace('_', '-')} is for .csv, .tsv and .jsonl")


def _same(one: str, other: str) -> bool:
    """Whether two columns are the same, by name or by number."""
    numbers = all(map(WHOLE_NUMBER.fullmatch, (one, other)))
    return one == other or (numbers and int(one) == int(other))


def left_out(options: Explain) -> list[tuple[str, str]]:
    """Tests that cannot be run, with the reason."""
    found = []
    for name in options.chosen():
        if not options.trains() and name in TRAINING_TESTS:
            found.append((name, "it trains models, and nothing is trained in this run"))
        elif options.model is not None and name in CLASSIFIER_TESTS:
            found.append((name, "it is for the classifiers that are trained here (--encoder)"))
    return found


def is_saved(model: str) -> bool:
    """Whether a model is a classifier that an earlier run saved."""
    return model.endswith(".safetensors")


def _check_files(options: Explain) -> None:
    """Refuse files that are not there.

    Raises:
        CorpusError: one is not.
    """
    from attentionology.corpora_loaders.lines import archive_of

    files = [Path(name) for given in (options.data, options.test, options.dev) for name in given or ()]
    files += [options.vectors] if options.vectors else []
    files += [Path(options.model)] if options.model and is_saved(options.model) else []
    for file in files:
        if not archive_of(file).exists():
            raise CorpusError("there is no such file", file=file)

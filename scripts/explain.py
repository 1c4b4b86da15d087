"""``attentionology explain``: may the attention of a text classifier be read as an explanation?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from attentionology.corpora_loaders.lines import WHOLE_NUMBER
from attentionology.reports.progress import Stages
from attentionology.scripts.closing import print_results
from attentionology.scripts.errors import UsageError
from attentionology.scripts.explain_checks import TESTS, check
from attentionology.scripts.options import OptionalNumber, OptionalReal, cache_folder, default_folder, paths_read

Encoder = Literal["lstm", "cnn", "average", "none"]
Regularizer = Literal["none", "concat", "residual", "tying", "mlm", "conicity"]


@dataclass(frozen=True)
class Explain:
    """Test whether the attention of a text classifier may be read as an explanation of what it says.

    A classifier is trained on labelled texts (--data) and its attention put to the tests of the papers: does it rank
    words as gradients and leaving words out do; would shuffled or adversarial attention give the same answer (Jain &
    Wallace 2019); does the task need attention at all, do other seeds attend alike, can a model learn to say the same
    and attend elsewhere (Wiegreffe & Pinter 2019); do decisions hang on the weights, and how many can go (Serrano &
    Smith 2019); what does a single word say, and do regularisers help (Tutek & Šnajder 2020). Each with a floor to
    compare it with and an interval.

    Classifiers are those of the papers (--encoder lstm, cnn, average, none), or a transformer: one that is fine-tuned
    here (--model MODEL --finetune), or one that classifies already (--model MODEL --test FILE).

    Data are lines of label, blank or tab, text; or .csv and .tsv, or .jsonl; .gz is fine. What was
    trained is kept in a cache: a run that was interrupted goes on with the same command.
    """

    data: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Labelled texts to train on."""

    test: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Labelled texts to run the tests on. Default: a fifth of --data, held out."""

    dev: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Labelled texts to choose the epoch by. Default: a tenth of the rest of --data, held out."""

    text_column: Annotated[str, arg(metavar="NAME")] = "text"
    """Column (or key) of the text in CSV, TSV and JSON Lines. In CSV and TSV without a header: its number, counted from
    1, together with that of --label-column. A first line that has both numbers as names is a header all the same."""

    label_column: Annotated[str, arg(metavar="NAME")] = "label"
    """Column of the label: its name, or its number."""

    min_words: OptionalNumber = None
    """Leave out shorter texts. (Jain & Wallace: 6.)"""

    max_words: OptionalNumber = None
    """Leave out longer texts. What some tests take grows with the square of the length."""

    limit: OptionalNumber = None
    """Test on so many texts only, drawn by a hash. Training is not limited."""

    tests: Annotated[tuple[str, ...] | None, arg(metavar="NAME [NAME ...]")] = None
    """Which tests, separated by blanks or commas: correlation, permutation, adversarial, uniform, seeds, guided,
    imitation (adversaries that are trained: takes long), erasure, removal, single-token, eraser, regularizers; or all.
    Default: all but imitation."""

    encoder: Encoder = "lstm"
    """Of the classifier: lstm (both directions), cnn, average (word by word, "MLP"), none (the embeddings)."""

    attention: Literal["additive", "dot"] = "additive"
    """additive: v · tanh(W h + b). dot: w · h."""

    regularizer: Regularizer = "none"
    """For the classifier that is tested. The test 'regularizers' compares all of them with it."""

    strength: OptionalReal = None
    """Weight of the penalty of tying, mlm and conicity."""

    vectors: Annotated[Path | None, arg(metavar="FILE")] = None
    """Word vectors that embeddings begin with: GloVe, word2vec or fastText as text; plain, .gz or .zip. Default: random
    numbers."""

    dimensions: Annotated[int, arg(metavar="N")] = 100
    """Of random embeddings. (The papers' are trained on other texts and have 200 or 300.)"""

    min_count: Annotated[int, arg(metavar="N")] = 1
    """Words that occur less often in training are unknown words."""

    model: Annotated[str | None, arg(metavar="MODEL")] = None
    """A transformer instead: folder, Hugging Face Hub id, or 'demo'. Or a classifier saved by an earlier run
    (classifier.safetensors)."""

    revision: Annotated[str | None, arg(metavar="REVISION")] = None
    """Branch, tag or commit on the Hub."""

    finetune: bool = False
    """Train the transformer on --data, with a new classification head."""

    layer: OptionalNumber = None
    """Of the transformer: whose attention is tested, counted from 1; default the last."""

    query: Literal["cls", "all"] = "cls"
    """cls: the row of [CLS]. all: every row of the layer (slow)."""

    heads: Annotated[tuple[str, ...], arg(metavar="N [N ...]")] = ("all",)
    """Heads of that layer, counted from 1, or all; the others stay as they are."""

    special: Literal["keep", "renormalise"] = "keep"
    """Attention to special tokens: keep it and move weights among words only, or scale it along with them."""

    score: Annotated[str, arg(metavar="KIND")] = "weight"
    """What is taken as a word's importance where words are ranked: weight, norm, attnresln, rollout, …, see analyze
    --help."""

    epochs: OptionalNumber = None
    """Of training; default 8, of fine-tuning 2. The best by the dev texts is taken."""

    learning_rate: OptionalReal = None
    """Default 0.001, of fine-tuning 0.00003."""

    seeds: OptionalNumber = None
    """How many models that differ in the seed to compare with; default 8, of fine-tuned transformers 2."""

    lambdas: Annotated[tuple[float, ...] | None, arg(metavar="X [X ...]")] = None
    """Of the trained adversaries; 0 is always added. Default: 0.0001 0.0005 0.001 0.005 0.01."""

    divergence: Literal["kl", "jsd"] = "kl"
    """Of the attention of trained adversaries: as published, or bounded."""

    adversary_epochs: OptionalNumber = None
    """At most so many for trained adversaries; default 80, stopping after 10 without progress; of fine-tuning 2."""

    epsilon: Annotated[float, arg(metavar="X")] = 0.05
    """Change of the output (TVD) that counts as none. (Jain & Wallace write 0.01, their figures are made with 0.05.)"""

    draws: Annotated[int, arg(metavar="N")] = 100
    """Shuffles per text."""

    steps: Annotated[int, arg(metavar="N")] = 500
    """Of Adam in the search for adversarial attention; 0: only the exact solution, where there is one."""

    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Results folder; default runs/explain-MODEL-DATA."""

    overwrite: bool = False
    """Replace the results folder of an earlier run."""

    cache: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Where trained models are kept, for this run and later ones; default 'cache' beside the results folder. May be
    deleted at any time."""

    replicates: Annotated[int, arg(metavar="N")] = 1000
    """Bootstrap replicates for the intervals; 0 for none, and then nothing is decided."""

    seed: Annotated[int, arg(metavar="N")] = 0
    """Of everything that is drawn."""

    json: bool = False
    """Print the summary as JSON instead of a table."""

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Do it; returns the exit status."""
        check(self)
        tested = self.test or self.data or ()
        named = default_folder(self.model or self.encoder, tested)
        out = self.out or named.with_name(f"explain-{named.name}")
        cache = cache_folder(self.cache, out)
        from attentionology.reports.page import write_report
        from attentionology.reports.run_folder import RunFolder
        from attentionology.scripts.explaining import Explaining

        reads = paths_read(self.model, self.data, self.dev, self.test, self.vectors)
        with RunFolder(out, overwrite=self.overwrite, reads=reads) as folder:
            run, section, show = Explaining(self, folder.path, cache, Stages())(arguments, out)
            write_report(folder.path, run=run, sections=[section])
        print_results(run, [(section.summary, show)], out, as_json=self.json)
        return 0

    def chosen(self) -> list[str]:
        """Names of the tests, in order."""
        named = [name for part in self.tests or () for name in part.split(",") if name]
        if self.tests is not None and not named:
            raise UsageError("--tests needs at least one name")
        if unknown := next((name for name in named if name not in (*TESTS, "all")), None):
            raise UsageError(f"unknown test {unknown!r}; choose from: {', '.join(TESTS)}, all")
        if "all" in named:
            named = list(TESTS)
        return [name for name in TESTS if name in (named or [t for t in TESTS if t != "imitation"])]

    def trains(self) -> bool:
        """Whether models are trained in this run."""
        return self.model is None or self.finetune

    def chosen_heads(self) -> list[int] | Literal["all"]:
        """0-based."""
        named = [name for part in self.heads for name in part.split(",") if name]
        if named == ["all"]:
            return "all"
        if not all(map(WHOLE_NUMBER.fullmatch, named)):
            raise UsageError("--heads takes numbers from 1, or all")
        heads = [int(name) - 1 for name in named]
        if not heads or min(heads) < 0 or len(set(heads)) < len(heads):
            raise UsageError("--heads takes numbers from 1, none of them twice, or all")
        return heads

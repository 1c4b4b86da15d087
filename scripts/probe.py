"""``attentionology probe``: what all heads of a model know together of syntax."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from attentionology.analyses.shared.builtin import DEMO, SAMPLE, check_revision, corpus_path
from attentionology.analyses.shared.options import copies_of
from attentionology.corpora_loaders import CorpusError
from attentionology.reports.progress import Stages
from attentionology.scripts.closing import print_results
from attentionology.scripts.errors import UsageError
from attentionology.scripts.options import (
    OptionalNumber,
    OptionalReal,
    cache_folder,
    check_seed,
    default_folder,
    paths_read,
)

CONTROLS = ("task", "random-init")
_NAMES = ("attention", "attention+words", "words+distances")

RecipeName = Literal["auto", "paper", "tuned"]


@dataclass(frozen=True)
class Probe:
    """Train probes that predict syntactic heads from the attention maps of all heads together.

    attention: one learned weight per attention head and direction. attention+words: weights that depend on the vectors
    of the two words. words+distances: a network that sees words and distances and no attention, as a baseline (all
    Clark et al. 2019, section 5). Beside them, in one table: always the next word, the best fixed offset, the best
    offset for every relation, the best single head; the same probes on a network with random weights; and a control
    task that has nothing to do with language (Hewitt & Liang 2019).

    The word maps of a treebank are made once and kept in a cache. A run that was interrupted goes on where it stopped
    when the same command is given again, and comes to the same result.

    Without --train the treebank of --test is cut into folds; each is predicted by probes trained on the others.
    """

    model: Annotated[str, arg(metavar="MODEL")] = DEMO
    """Folder with config.json, a tokenizer and *.safetensors; or a Hugging Face Hub id; or 'demo'."""

    revision: Annotated[str | None, arg(metavar="REVISION")] = None
    """Branch, tag or commit on the Hub."""

    train: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Treebank to train on: one or more CoNLL-U files (.gz is fine), all after one --train."""

    test: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Treebank to test on. Default: the sample treebank, 'sample'."""

    dev: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Treebank to watch training with, and to stop by with the recipe tuned. Default there: a tenth of the training
    treebank, by documents where it has enough of them."""

    folds: Annotated[int, arg(metavar="K")] = 5
    """Without --train: how many folds to cut the test treebank into, by documents where it has enough of them."""

    probe: Annotated[tuple[str, ...] | None, arg(metavar="NAME [NAME ...]")] = None
    """What to train, separated by blanks or commas: attention, attention+words, words+distances. Default: attention,
    and with --vectors all three."""

    vectors: Annotated[Path | None, arg(metavar="FILE")] = None
    """Word vectors as text: GloVe, word2vec or fastText .vec; plain, .gz or .zip (one of several files in it:
    glove.6B.zip/glove.6B.100d.txt). A word is looked up as it is written, then in lower case."""

    controls: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = CONTROLS
    """task: the control task. random-init or random-init:K: the attention probes on 1 or K copies of the model with
    random weights that keep the embeddings, each with every seed. none: neither."""

    recipe: RecipeName = "auto"
    """paper: one epoch in the order of the file, Adam with learning rate 0.002, one sentence at a time. tuned: up to 20
    epochs in random order with weight decay, until the score on the dev sentences has not risen for more than two
    epochs. auto: paper, but tuned where one epoch has fewer than 3,000 steps, which is too few (unless --epochs is
    given). The results say which recipe was used."""

    epochs: OptionalNumber = None
    """Another number of epochs (with --recipe tuned: at most; with auto: of the recipe of the paper)."""

    learning_rate: OptionalReal = None
    """Another learning rate of Adam."""

    weight_decay: OptionalReal = None
    """Another weight decay."""

    seeds: Annotated[int, arg(metavar="N")] = 3
    """Train every probe so many times from other initial weights; scores are means over them."""

    tree: bool = False
    """Also decode the maximum spanning tree with one root, beside the best head of each word alone. Takes the extra
    'tree' of the package."""

    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Results folder; default runs/probe-MODEL-TREEBANK."""

    overwrite: bool = False
    """Replace the results folder of an earlier run."""

    cache: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Where word maps are kept, for this run and later ones; default 'cache' beside the results folder. May be
    deleted at any time. Maps take words per sentence² × layers × heads × 4 bytes: 1.8 GB for 200,000 words of English
    and 72 heads."""

    cache_type: Literal["float32", "float16"] = "float32"
    """float16 takes half the space and keeps three digits of each weight."""

    map: Annotated[str, arg(metavar="KIND")] = "weight"
    """What flows from token to token: weight (attention weights), norm, attn, attnresln, …, see analyze --help."""

    merge: Literal["norm", "vector"] = "norm"
    """How pieces become words in maps of norms: add up their norms, or the vectors themselves before the norm."""

    normalize: Literal["none", "row"] = "none"
    """row divides each row of the map by its sum."""

    ff_bias: Literal["input", "fixed"] = "input"
    """For maps that pass the feed-forward block: its bias is an input like the tokens, or there from the start."""

    tokens: Literal["syntactic", "surface"] = "syntactic"
    """What the model reads as words: the syntactic words of the trees, or surface tokens."""

    limit: OptionalNumber = None
    """Read only the first so many sentences of each treebank."""

    max_length: OptionalNumber = None
    """Leave out sentences of more pieces, [CLS] and [SEP] included (the paper: 128)."""

    min_count: Annotated[int, arg(metavar="N")] = 50
    """Relations with fewer words are greyed in the report; tables always hold all."""

    replicates: Annotated[int, arg(metavar="N")] = 1000
    """Bootstrap replicates for the intervals; 0 for none."""

    device: Annotated[str, arg(metavar="DEVICE")] = "cpu"
    """Where the model computes: cpu, cuda, cuda:1, mps. Probes are trained on the CPU."""

    batch_cells: OptionalNumber = None
    """Bound on sentences × pieces² per batch of the model; lower it if memory is short."""

    seed: Annotated[int, arg(metavar="N")] = 0
    """The first seed; also of the control task, the random weights and the bootstrap."""

    json: bool = False
    """Print the summary as JSON instead of a table."""

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Do it; returns the exit status."""
        self._check()
        tested = self.test or (SAMPLE,)
        named = default_folder(self.model, tested)
        out = self.out or named.with_name(f"probe-{named.name}")
        cache = cache_folder(self.cache, out)
        from attentionology.reports.page import write_report
        from attentionology.reports.run_folder import RunFolder
        from attentionology.scripts.probing import Probing

        reads = paths_read(self.model, self.train, self.dev, self.test, self.vectors)
        with RunFolder(out, overwrite=self.overwrite, reads=reads) as folder:
            probing = Probing(self, folder.path, cache, Stages())
            run, section, show = probing(arguments, out)
            write_report(folder.path, run=run, sections=[section])
        probing.forget_checkpoints()
        print_results(run, [(section.summary, show)], out, as_json=self.json)
        return 0

    def chosen(self) -> list[str]:
        """Names of the probes, in the order of the table."""
        named = _names(self.probe or ())
        if self.probe is not None and not named:
            raise UsageError("--probe needs at least one name")
        if unknown := next((name for name in named if name not in _NAMES), None):
            raise UsageError(f"unknown probe {unknown!r}; choose from: {', '.join(_NAMES)}")
        if not named:
            named = list(_NAMES if self.vectors else _NAMES[:1])
        if not self.vectors and (needy := next((name for name in named if "words" in name), None)):
            raise UsageError(f"the probe {needy} reads word vectors; give --vectors FILE (GloVe, word2vec, fastText)")
        return [name for name in _NAMES if name in named]

    def control_task(self) -> bool:
        """Whether to train on the control task."""
        return "task" in _names(self.controls)

    def copies(self) -> int:
        """How many copies of the model with random weights to probe; none if no probe reads attention."""
        copies = sum(copies_of(name) for name in _names(self.controls) if name not in ("task", "none"))
        return copies if any(name.startswith("attention") for name in self.chosen()) else 0

    def treebanks(self) -> dict[str, list[str]]:
        """Files of each treebank, by role."""
        given = {"train": self.train, "dev": self.dev, "test": self.test or (SAMPLE,)}
        return {role: [corpus_path(name) for name in names] for role, names in given.items() if names}

    def _check(self) -> None:
        """Refuse impossible options before anything slow happens."""
        check_revision(self.model, self.revision)
        for name in ("train", "dev", "test"):
            if getattr(self, name) == ():
                raise UsageError(f"--{name} needs at least one file")
        if self.train and not self.test:
            raise UsageError("--train needs --test; to train and test on one treebank in folds, give --test alone")
        chosen = self.chosen()
        if self.vectors and chosen == ["attention"]:
            raise UsageError("--vectors is for the probes attention+words and words+distances, which are not asked for")
        controls = _names(self.controls)
        kinds = [name.split(":", 1)[0] for name in controls]
        if not controls or len(set(kinds)) < len(kinds) or ("none" in kinds and len(kinds) > 1):
            raise UsageError("--controls takes task, random-init[:K], both, or none")
        self.copies()
        if not self.train and self.folds < 2:
            raise UsageError(f"--folds must be at least 2, not {self.folds}")
        if self.train and self.folds != Probe.folds:
            raise UsageError("--folds is for one treebank; with --train the test treebank is not cut")
        if self.ff_bias != "input" and "atbff" not in self.map:
            raise UsageError("--ff-bias is for maps that pass the feed-forward block (atbff…)")
        for name in ("seeds", "epochs", "limit", "max_length", "batch_cells", "min_count"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
        for name, lowest in (("learning_rate", "above 0"), ("weight_decay", "at least 0")):
            value = getattr(self, name)
            if value is not None and not (0 < value < math.inf or (value == 0 and lowest == "at least 0")):
                raise UsageError(f"--{name.replace('_', '-')} must be finite and {lowest}, not {value}")
        if self.tree and find_spec("ufal") is None:
            raise UsageError("--tree takes the library ufal.chu_liu_edmonds: pip install 'attentionology[tree]'")
        if self.replicates < 0:
            raise UsageError(f"--replicates must not be negative, not {self.replicates}")
        check_seed(self.seed)
        vectors = [] if self.vectors is None else [self.vectors]
        from attentionology.corpora_loaders.lines import archive_of

        for file in [*(Path(f) for files in self.treebanks().values() for f in files), *map(archive_of, vectors)]:
            if not file.exists():
                raise CorpusError("there is no such file", file=file)


def _names(given: Sequence[str]) -> list[str]:
    return [name for part in given for name in part.split(",") if name]

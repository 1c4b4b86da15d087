"""``attentionology analyze``: a treebank and a model in, a report on every head out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from attentionology.corpora_loaders import Corpus, PlainText
from attentionology.scripts import clusters, coreference, dependency, norms, surface
from attentionology.scripts.builtin import DEMO, SAMPLE, check_revision, load_encoder
from attentionology.scripts.closing import print_results
from attentionology.scripts.clusters import ClustersOptions
from attentionology.scripts.control import ControlOptions
from attentionology.scripts.coreference import CoreferenceOptions
from attentionology.scripts.corpus import check_corpus, corpus_files, cut_text, has_trees, read_corpus
from attentionology.scripts.dependency import DependencyOptions
from attentionology.scripts.errors import UsageError
from attentionology.scripts.job import Job, Outcome
from attentionology.scripts.norms import NormsOptions
from attentionology.scripts.options import OptionalNumber, check_seed, default_folder, paths_read
from attentionology.scripts.progress import Stages
from attentionology.scripts.record import (
    describe_command,
    describe_corpus,
    describe_model,
    describe_reading,
    warnings_of,
)
from attentionology.scripts.surface import ReadingOptions, SurfaceOptions

ANALYSES = {
    "dependency": dependency.run,
    "surface": surface.run,
    "clusters": clusters.run,
    "norms": norms.run,
    "coreference": coreference.run,
}
"""In the order in which they are run: later ones may build on earlier ones."""

_DEFAULT = ("dependency", "surface", "clusters")
_WITHOUT_TREES = ("surface", "clusters")
_OF_MAPS = (*_DEFAULT, "coreference")
_READ_BY = {
    "map": _OF_MAPS,
    "merge": _OF_MAPS,
    "normalize": _OF_MAPS,
    "controls": ("dependency", "coreference"),
    "min_count": ("dependency", "coreference"),
    "replicates": ("dependency", "coreference"),
    "dependency": ("dependency",),
    "reading": ("surface", "clusters"),
    "surface": ("surface",),
    "clusters": ("clusters",),
    "norms": ("norms",),
    "coreference": ("coreference",),
}
"""Options and groups of options, and the analyses that read them."""


@dataclass(frozen=True)
class Analyze:
    """Report what the attention heads of a model do on a treebank, a coreference corpus or a plain text.

    dependency: for every word the most attended other word is taken as a guess at its syntactic head (Clark et al.
    2019, section 4.2). surface: neighbours, special tokens, punctuation, entropy, and what of it matters to the loss
    (section 3). clusters: which heads attend alike (section 6). norms: where attention goes by weight and by the norm
    of what it moves, how much context each layer mixes in, and what the feed-forward block changes (Kobayashi et al.
    2020, 2021, 2024). coreference: for every mention the most attended other mention is taken as a guess at its
    antecedent (Clark et al. 2019, section 4.3).

    The results folder holds report.html to read first, tables with every count as CSV, figures as SVG and PNG, and
    run.json with all it takes to repeat the run. Without options it runs the demo model on the sample treebank.
    """

    model: Annotated[str, arg(metavar="MODEL")] = DEMO
    """Folder with config.json, a tokenizer and *.safetensors; or a Hugging Face Hub id such as
    google-bert/bert-base-uncased; or 'demo', the model of the demo extra."""

    revision: Annotated[str | None, arg(metavar="REVISION")] = None
    """Branch, tag or commit on the Hub."""

    corpus: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """One or more CoNLL-U files (.gz is fine), all after one --corpus; CoNLL-X works too. For coreference CoNLL-U with
    entities (CorefUD, GUM), CoNLL-2012 columns (OntoNotes, WinoBias, LitBank) or GAP; the format is detected. Default:
    the sample treebank, 'sample'."""

    text: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Plain text in place of a treebank: one paragraph per line, a blank line between documents. Every paragraph is
    read by itself, or see --segments."""

    segments: OptionalNumber = None
    """Cut the text into segments of two consecutive stretches, [CLS] a [SEP] b [SEP], and draw so many of them at
    random (the paper: 1,000, of which 992 were released); if there are fewer, all. 128 pieces each, or --max-length."""

    segment_ids: Literal["zeros", "pair"] = "zeros"
    """Segment ids of b: zeros as in the paper's maps, or those of a pair as the tokenizer gives them."""

    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Results folder; default runs/MODEL-CORPUS."""

    overwrite: bool = False
    """Replace the results folder of an earlier run."""

    analyses: Annotated[tuple[str, ...] | None, arg(metavar="NAME [NAME ...]")] = None
    """What to compute, separated by blanks or commas: dependency, surface, clusters, norms, coreference. Default: the
    first three; with --text surface and clusters; for CoNLL-2012 and GAP files coreference."""

    map: Annotated[str, arg(metavar="KIND")] = "weight"
    """What flows from token to token, for all analyses but norms. weight: attention weights. Per head, times the norm
    of the vector: norm. All heads of a layer together, from the attention block on to the whole layer: attn, attnres,
    attnresln, atbff, atbffres, atbffresln; and globenc, alti, alti-l2, value-zeroing. Over the layers: rollout, or
    rollout:KIND."""

    merge: Literal["norm", "vector"] = "norm"
    """How pieces become words in maps of norms: add up their norms, or the vectors themselves before the norm."""

    normalize: Literal["none", "row"] = "none"
    """row divides each row of the map by its sum (weight, rollout, alti and value-zeroing sum to 1 as they are)."""

    ff_bias: Literal["input", "fixed"] = "input"
    """For all that passes the feed-forward block: its bias is an input like the tokens, or there from the start."""

    tokens: Literal["syntactic", "surface"] = "syntactic"
    """What the model reads as words: the syntactic words of the trees (French 'de le'), or surface tokens ('du')
    with the words of a multiword token merged into one node."""

    limit: OptionalNumber = None
    """Read only the first so many sentences (of a text: paragraphs; for coreference, and of CoNLL-2012 and GAP files:
    documents)."""

    max_length: OptionalNumber = None
    """Skip sentences of more pieces, [CLS] and [SEP] included, although the model takes them (the paper: 128). For
    coreference: how many pieces of a document to read."""

    too_long: Literal["skip", "error"] = "skip"
    """What to do with sentences that are too long: leave out and report them, or stop."""

    min_count: Annotated[int, arg(metavar="N")] = 50
    """Relations with fewer words, and types with fewer mentions, are greyed in the report; tables always hold all."""

    lenient: bool = False
    """Ignore malformed brackets of mentions and parses, and count them, instead of stopping."""

    replicates: Annotated[int, arg(metavar="N")] = 1000
    """Bootstrap replicates for the intervals; 0 for none."""

    device: Annotated[str, arg(metavar="DEVICE")] = "cpu"
    """Where to compute: cpu, cuda, cuda:1, mps."""

    batch_cells: OptionalNumber = None
    """Bound on sentences × pieces² per batch; lower it if memory is short. Results do not depend on it."""

    seed: Annotated[int, arg(metavar="N")] = 0
    """Of everything random: bootstrap, halvings, control, masks, segments, the map of heads."""

    json: bool = False
    """Print the summary as JSON instead of a table."""

    controls: ControlOptions = field(default_factory=ControlOptions)
    dependency: DependencyOptions = field(default_factory=DependencyOptions)
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    surface: SurfaceOptions = field(default_factory=SurfaceOptions)
    clusters: ClustersOptions = field(default_factory=ClustersOptions)
    norms: NormsOptions = field(default_factory=NormsOptions)
    coreference: CoreferenceOptions = field(default_factory=CoreferenceOptions)

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Do it; returns the exit status."""
        self._check()
        out = self.out or default_folder(self.model, self.text or self.corpus or (SAMPLE,))
        from attentionology.reports.run_folder import RunFolder

        reads = paths_read(self.model, self.corpus, self.text, self.norms.frequencies)
        with RunFolder(out, overwrite=self.overwrite, reads=reads) as folder:
            run, outcomes = self._analyze(folder.path, out, arguments)
        parts = [(outcome.section.summary, outcome.show) for outcome in outcomes]
        print_results(run, parts, out, as_json=self.json)
        return 0

    def chosen(self) -> list[str]:
        """Names of the analyses, in the order of `ANALYSES`."""
        named = [name for given in self.analyses or () for name in given.split(",") if name]
        if self.analyses is not None and not named:
            raise UsageError("--analyses needs at least one name")
        if unknown := next((name for name in named if name not in ANALYSES), None):
            raise UsageError(f"unknown analysis {unknown!r}; choose from: {', '.join(ANALYSES)}")
        if len(set(named)) < len(named):
            raise UsageError("an analysis is named twice")
        if not named:
            named = list(_WITHOUT_TREES if self.text else _DEFAULT if has_trees(self) else ("coreference",))
        return [name for name in ANALYSES if name in named]

    def _check(self) -> None:
        """Refuse impossible options before anything slow happens."""
        check_revision(self.model, self.revision)
        check_corpus(self)
        chosen, default = self.chosen(), Analyze()
        for option, readers in _READ_BY.items():
            own, usual = getattr(self, option), getattr(default, option)
            if own == usual or set(readers) & set(chosen):
                continue
            if is_dataclass(own):
                option = next(f.name for f in fields(own) if getattr(own, f.name) != getattr(usual, f.name))
            raise UsageError(
                f"--{option.replace('_', '-')} is for {' or '.join(readers)}, not among --analyses {' '.join(chosen)}"
            )
        if self.ff_bias != "input" and "norms" not in chosen and "atbff" not in self.map:
            raise UsageError("--ff-bias is for maps that pass the feed-forward block (atbff…) and for norms")
        by_word = {"dependency", "coreference"} & set(chosen)
        if self.merge != "norm" and self.reading.level == "token" and not by_word:
            raise UsageError("--merge is for words; choose --level word")
        for name in ("segments", "limit", "max_length", "batch_cells", "min_count"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
        if self.replicates < 0:
            raise UsageError(f"--replicates must not be negative, not {self.replicates}")
        check_seed(self.seed)
        for name in ("controls", "reading", "surface", "clusters", "norms", "coreference"):
            getattr(self, name).check()

    def _analyze(self, folder: Path, out: Path, arguments: Sequence[str]) -> tuple[dict[str, Any], list[Outcome]]:
        """Fill the folder; returns the run record and what was found."""
        stages = Stages()
        with stages("read the corpus"):
            corpus = read_corpus(self)
        with stages("load the model"):
            from attentionology.extractors import MapMaker, get_kind
            from attentionology.reports.page import write_report

            try:
                MapMaker(get_kind(self.map), "word", self.merge, self.normalize, self.ff_bias)
            except ValueError as error:
                raise UsageError(str(error)) from None
            encoder = load_encoder(self.model, revision=self.revision, device=self.device)
        if isinstance(corpus, PlainText) and self.segments is not None:
            with stages("cut the text"):
                corpus = cut_text(self, corpus, encoder, folder)
        job = Job(self, encoder, corpus, folder, stages)
        preparations = {
            "dependency": dependency.prepare,
            "surface": surface.prepare,
            "coreference": coreference.prepare,
        }
        for name in self.chosen():
            if prepare := preparations.get(name):
                prepare(job)
        outcomes = [ANALYSES[name](job) for name in self.chosen()]
        corpus = outcomes[0].corpus or corpus
        reading = describe_reading(corpus, outcomes[0].log)
        run = {
            **describe_command(
                self,
                arguments,
                stages,
                out=str(out),
                corpus=[] if self.text else corpus_files(self),
                analyses=self.chosen(),
                frequencies=self.norms.frequencies and str(self.norms.frequencies),
            ),
            "model": describe_model(encoder),
            "corpus": describe_corpus(corpus),
            "sentences": reading,
            "warnings": encoder.warnings + warnings_of(reading) + self._fewer_than_asked(corpus),
        }
        for outcome in outcomes:
            run |= outcome.record
            run["warnings"] += outcome.warnings
        write_report(folder, run=run, sections=[outcome.section for outcome in outcomes])
        return run, outcomes

    def _fewer_than_asked(self, corpus: Corpus) -> list[str]:
        unread = [*(self.text or corpus_files(self))][len(corpus.files) :]
        if unread:
            return [f"--limit was reached before these files were read: {', '.join(unread)}."]
        if self.segments is None or len(corpus) >= self.segments:
            return []
        return [f"{self.segments:,} segments were asked for; the text gives {len(corpus):,}."]

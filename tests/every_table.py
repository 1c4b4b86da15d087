"""A small run of every command, for the names of all tables, of their columns, and of what is in records."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import transformers

from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.scripts.cli import main
from tests import tiny
from tests.acceptance.explain.explaining import texts

GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
SHORT = ("--replicates", 20)
EXPLAIN = (
    *("--encoder", "average", "--dimensions", 8, "--epochs", 2, "--learning-rate", 0.01, "--draws", 5, "--steps", 3),
    *("--tests", "all", "--seeds", 2, "--adversary-epochs", 2, "--lambdas", 0.01),
)


@dataclass(frozen=True)
class Written:
    """What the runs have written.

    Attributes:
        columns: the columns of each table by its name.
        headers: the name of every CSV and LaTeX file without its kind of map, and its columns in their order.
        records: the content of every ``run.json``.
        summaries: the content of every ``summary.json``.
        latex: the LaTeX files.
    """

    columns: dict[str, list[str]] = field(default_factory=dict)
    headers: list[tuple[str, list[str]]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    summaries: list[dict[str, Any]] = field(default_factory=list)
    latex: list[Path] = field(default_factory=list)

    def add(self, folder: Path) -> None:
        """Add what a results folder holds."""
        for path in sorted(folder.rglob("*.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                header = next(csv.reader(file))
            known = self.columns.setdefault(path.stem, [])
            known += [name for name in header if name not in known]
            self.headers.append((path.name, header))
        for path in sorted(folder.rglob("*.tex")):
            heading = path.read_text(encoding="utf-8").partition("\\toprule\n")[2].partition(r" \\")[0]
            self.latex.append(path)
            self.headers.append((re.sub("-(weight|norm)", "", path.name), heading.split(" & ")))
        self.records.append(json.loads((folder / "run.json").read_text(encoding="utf-8")))
        self.summaries.append(json.loads((folder / "summary.json").read_text(encoding="utf-8")))


def everything_written(folder: Path) -> Written:
    """Run every command that writes a results folder.

    Args:
        folder: an empty folder for models, corpora and results.

    Raises:
        AssertionError: a command fails.
    """
    # Three checkpoints of one model, for which a survey has training curves.
    model, other, third = (_model(folder / f"checkpoint-{seed}", seed) for seed in range(3))
    sentences = SAMPLE_TREEBANK.read_text(encoding="utf-8").strip().split("\n\n")
    for name, few in (("first.conllu", sentences[:12]), ("second.conllu", sentences[12:24])):
        (folder / name).write_text("\n\n".join(few) + "\n\n", encoding="utf-8")
    for name, count in (("train.txt", 60), ("test.txt", 20)):
        (folder / name).write_text("\n".join(texts(count, seed=count)) + "\n", encoding="utf-8")
    (folder / "text.txt").write_text("The cat saw a dog in the garden. It ran.\n" * 60, encoding="utf-8")
    (folder / "gap.tsv").write_text(GAP + "".join(map(_question, range(8))), encoding="utf-8")
    first, second = folder / "first.conllu", folder / "second.conllu"
    masked = _model(folder / "masked", 2)
    transformers.BertForMaskedLM(transformers.AutoConfig.from_pretrained(masked)).save_pretrained(masked)
    written = Written()

    def run(command: str, *options: object) -> Path:
        out = folder / f"run{len(list(folder.glob('run*')))}"
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            status = main([command, *map(str, options), "--out", str(out)])
        assert status == 0, said.getvalue()
        written.add(out)
        return out

    analyses = ("--analyses", "dependency", "surface", "clusters", "norms", "--gradients", "hidden")
    runs = [
        run("analyze", "--model", name, "--corpus", first, *analyses, "--control", "random-init", *SHORT)
        for name in (model, other)
    ]
    run("analyze", "--model", model, "--corpus", first, "--map", "weight", "norm", "--failures", "best", *SHORT)
    trees = ("--ensembles", 2, "--spanning-trees")
    run("analyze", "--model", model, "--corpus", first, "--analyses", "dependency", *trees, *SHORT)
    basic = [line.split("\t") for line in first.read_text(encoding="utf-8").split("\n")]
    graph = ["\t".join([*row[:8], f"{row[6]}:{row[7]}", row[9]] if row[0].isdigit() else row) for row in basic]
    (folder / "graph.conllu").write_text("\n".join(graph), encoding="utf-8")
    run("analyze", "--model", model, "--corpus", folder / "graph.conllu", "--trees", "enhanced", *SHORT)
    ablation = ("--analyses", "dependency", "ablation", "--pruning-sentences", 3, "--min-count", 1)
    run("analyze", "--model", masked, "--corpus", first, *ablation, *SHORT)
    surface = ("--analyses", "surface", "--detectors", 2)
    run("analyze", "--model", model, "--corpus", first, *surface, *SHORT)
    named = [
        line for line in SAMPLE_TREEBANK.with_name("minimal_pairs.jsonl").open(encoding="utf-8") if "words" in line
    ]
    (folder / "pairs.jsonl").write_text("".join(named[:2]), encoding="utf-8")
    run("analyze", "--model", masked, "--minimal-pairs", folder / "pairs.jsonl", "--needed-heads", 1)
    run("analyze", "--model", model, "--minimal-pairs", folder / "pairs.jsonl", "--map", "weight", "norm")
    run("analyze", "--model", model, "--text", folder / "text.txt", "--segments", 3)
    of_mentions = ("--ensembles", 2, "--control", "random-init", "--failures", "best")
    run("analyze", "--model", model, "--corpus", folder / "gap.tsv", *of_mentions, *SHORT)
    other_text = run("analyze", "--model", model, "--corpus", second, *analyses, "--control", "random-init", *SHORT)
    run("merge", runs[0], other_text)
    run("compare", *runs)
    grid = ("--models", model, other, third, "--treebanks", first, second, "--maps", "weight", "norm")
    run("survey", *grid, "--control", "random-init", *SHORT)
    again = [_model(folder / f"again-{seed}", seed + 3) for seed in range(2)]
    seeds = ("--seeds", "first=checkpoint-*", "again=again-*")
    run("survey", "--models", model, other, *again, "--treebanks", first, *seeds, "--min-count", 5, *SHORT)
    run("probe", "--model", model, "--train", first, "--test", second, "--epochs", 1, "--seeds", 1, "--tree", *SHORT)
    of_states = ("--probe", "attention", "arcs", "distance", "label:upos", "--layers", 0, "mix", "--rank", 4)
    run("probe", "--model", model, "--train", first, "--test", second, "--seeds", 1, *of_states, "--codelength", *SHORT)
    run("explain", "--data", folder / "train.txt", "--test", folder / "test.txt", *EXPLAIN, *SHORT)
    run("align", "--limit", 5, "--controls", 1, *SHORT)
    links = SAMPLE_TREEBANK.parent / "translation" / "gold.talp"
    run("align", "--hypothesis", f"first={links}", f"again={links}", "--gold", links, *SHORT)
    return written


def _model(folder: Path, seed: int) -> str:
    return tiny.save(folder, seed=seed, mask="[MASK]", max_position_embeddings=512)  # for gradients


def _question(number: int) -> str:
    """A row of GAP: the pronoun is *she* in every second one, and refers to the first name in two of four."""
    pronoun, names = (("she", ("Ann", "Eve")), ("he", ("Bob", "Max")))[number % 2]
    text = f"{names[0]} met {names[1]} in the garden, and {pronoun} ran."
    right = ("TRUE", "FALSE") if number % 4 < 2 else ("FALSE", "TRUE")
    answers = [field for name, answer in zip(names, right, strict=True) for field in (name, text.index(name), answer)]
    row = (f"gap-{number}", text, pronoun, text.index(f" {pronoun} ") + 1, *answers, "http://localhost")
    return "\t".join(map(str, row)) + "\n"

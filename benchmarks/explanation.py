"""What the tests of attention as an explanation cost, against reading the texts once, in one run.

    python -m benchmarks.explanation [--data FILE] [--texts 300] [--rounds 3] [--models lstm transformer]

Contestants take turns; ratios are medians of the ratios within a round. The classifier is an LSTM with random weights
on texts of label and words (the sample treebank, if there are none); the transformer is the demo model with a new head,
on a tenth of the texts.
"naive" is one text and one change of its attention at a time. Peak memory is that of a fresh process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, islice

import torch
from rich.console import Console
from rich.table import Table

from attentionology.analyses.explanation.attention.batch import TextBatch, examine, read
from attentionology.analyses.explanation.methods.adversarial import by_gradient, exact_adversary
from attentionology.analyses.explanation.methods.correlation import correlation
from attentionology.analyses.explanation.methods.eraser import rationales
from attentionology.analyses.explanation.methods.erasure import single_weight
from attentionology.analyses.explanation.methods.permutation import permutation
from attentionology.analyses.explanation.methods.removal import removal
from attentionology.analyses.explanation.methods.single_token import single_token
from attentionology.corpora_loaders import load_labeled, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import AttentionModel, TransformerAttention, Words, load_classifier, probabilities
from attentionology.extractors.model.loading import load_tokenizer
from attentionology.extractors.model.named import DEMO, model_location
from attentionology.probes.classifiers import AttentionClassifier, Vocabulary
from benchmarks.dependency import DATA
from benchmarks.measuring import peak_memory, ratio, take_turns

SST = DATA.parent / "classification" / "sst2.dev.txt"
DRAWS = 100


def corpus(file: str | None, n: int) -> list[Words]:
    """The first n texts, over and over if there are fewer."""
    chosen = file or (str(SST) if SST.exists() else None)
    found = load_labeled(chosen) if chosen else load_treebank(SAMPLE_TREEBANK)
    return [text.words for text in islice(cycle(found), n)]


def lstm(texts: Sequence[Words]) -> AttentionClassifier:
    """As the command makes it, untrained."""
    return AttentionClassifier("lstm").build(Vocabulary.of(texts), ["0", "1"]).eval()


def transformer() -> TransformerAttention:
    """The demo model with a new head."""
    torch.manual_seed(0)
    model, _ = load_classifier(model_location(DEMO), labels=["0", "1"])
    return TransformerAttention(model, load_tokenizer(model_location(DEMO)))


def ask(model: AttentionModel, texts: Sequence[Words], test: Callable[[TextBatch], object]) -> None:
    """One test on all texts, as the command runs it."""
    ids = [str(place) for place in range(len(texts))]

    def run(batch: TextBatch) -> dict[str, object]:
        test(batch)
        return {}

    examine(model, ids, texts, {"test": run})  # type: ignore[dict-item]


def one_at_a_time(model: AttentionModel, texts: Sequence[Words]) -> None:
    """Shuffled attention as one would write it first."""
    with torch.no_grad():
        for place, text in enumerate(texts):
            state = model.encode([text])
            batch = read(model, [str(place)], [text])
            for _ in range(DRAWS):
                order = torch.randperm(state.alpha.shape[-1])
                (batch.decoded(state.alpha[:, None][..., order]) - batch.probabilities[:, None]).abs()


TESTS: dict[str, Callable[[TextBatch], object]] = {
    "shuffled attention": partial(permutation, draws=DRAWS),
    "exact adversary": exact_adversary,
    "adversary by gradient": by_gradient,
    "correlations": correlation,
    "one weight taken out": single_weight,
    "weights taken out one by one": removal,
    "single words": single_token,
    "ERASER": rationales,
}


def contestants(kind: str, n: int, file: str | None) -> dict[str, Callable[[], object]]:
    """By name, reading the texts first."""
    texts = corpus(file, n if kind == "lstm" else max(1, n // 10))
    model: AttentionModel = lstm(texts) if kind == "lstm" else transformer()
    tests = dict(TESTS)
    if kind != "lstm":
        del tests["exact adversary"], tests["adversary by gradient"]
    return {
        "reading the texts": lambda: probabilities(model, texts),
        **{name: partial(ask, model, texts, test) for name, test in tests.items()},
        "shuffled attention, naive": lambda: one_at_a_time(model, texts),
    }


def memory_of(kind: str, name: str, arguments: Sequence[str]) -> float:
    """Peak memory of one contestant in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.explanation", "--only", json.dumps([kind, name]), *arguments]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", nargs="+", default=["lstm", "transformer"], choices=["lstm", "transformer"])
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        kind, name = json.loads(options.only)
        contestants(kind, options.texts, options.data)[name]()
        print(peak_memory())
        return
    arguments = ["--texts", str(options.texts)] + (["--data", options.data] if options.data else [])
    for kind in options.models:
        runs = contestants(kind, options.texts, options.data)
        seconds = take_turns(runs, options.rounds)
        texts = options.texts if kind == "lstm" else max(1, options.texts // 10)
        title = f"{kind}, {texts} texts, {torch.get_num_threads()} threads"
        table = Table(title=title, title_justify="left")
        for column in ("", "seconds", "× reading", "peak MB"):
            table.add_column(column, justify="left" if not column else "right")
        base = seconds["reading the texts"]
        for name, own in seconds.items():
            peak = memory_of(kind, name, arguments)
            table.add_row(name, f"{statistics.median(own):.2f}", f"{ratio(own, base):.1f}", f"{peak:,.0f}")
        Console().print(table)
        naive = ratio(seconds["shuffled attention, naive"], seconds["shuffled attention"])
        print(f"shuffled attention one at a time takes {naive:.1f} times as long")
        if kind == "lstm":
            faster = ratio(seconds["adversary by gradient"], seconds["exact adversary"])
            print(f"the search by gradient takes {faster:.1f} times as long as the exact solution")


if __name__ == "__main__":
    main()

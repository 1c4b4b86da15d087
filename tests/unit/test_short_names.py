"""Names are shortened to what differs, and stay different."""

from __future__ import annotations

import pytest

from attentionology.analyses.contract import Titles
from attentionology.engine.compared_run import ComparedRun, names_of
from attentionology.storage.short_names import distinguishing


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["/a/b/step-100", "/a/b/step-200"], ["step-100", "step-200"]),  # a number alone says nothing
        (["/a/model", "/b/model"], ["a", "b"]),
        (["google-bert/bert-base-cased", "FacebookAI/roberta-base"], ["bert-base-cased", "roberta-base"]),
        (["x/bert-base-cased", "x/bert-base-uncased"], ["bert-base-cased", "bert-base-uncased"]),
        (["my-very-long-name-of-a-model-cased", "my-very-long-name-of-a-model-uncased"], ["cased", "uncased"]),
        (["ud:en_ewt:dev", "ud:fr_gsd:dev"], ["ud:en_ewt:dev", "ud:fr_gsd:dev"]),
        (["dev.conllu", "dev.conllu, first 9 words"], ["dev", "dev.conllu, first 9 words"]),
        (["a.conllu.gz", "b.conllu.bz2"], ["a", "b"]),
        (["a.conllu", "a.tsv"], ["a.conllu", "a.tsv"]),
        (["/data/only.conllu"], ["only.conllu"]),
        (["", "x"], ["", "x"]),
        ([], []),
    ],
)
def test_names_are_shortened_to_what_differs(names: list[str], short: list[str]) -> None:
    found = distinguishing(names)
    assert list(found) == names
    assert len(set(found.values())) == len(set(names))
    assert list(found.values()) == short


def run(model: str = "m", corpus: str = "c", kinds: tuple[str, ...] = ("weight",), **options: object) -> ComparedRun:
    families = {("dependency", kind): () for kind in kinds}
    return ComparedRun(Titles(model, corpus), {"options": options}, families)


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ([run("x/a-base"), run("x/b-base")], ["a", "b"]),
        ([run(kinds=("weight",)), run(kinds=("norm",))], ["weight", "norm"]),
        ([run(kinds=("weight", "norm")), run(kinds=("weight",))], ["a", "b"]),
        ([run(corpus="a.conllu"), run(corpus="b.conllu, first 9 sentences")], ["a", "b"]),
        ([run(limit=100), run(limit=200)], ["limit 100", "limit 200"]),
        ([run(out="x"), run(out="y"), run(out="z")], ["a", "b", "c"]),  # where results go is no difference
        ([run("m", "x.tsv"), run("n", "y.tsv")], ["m, x", "n, y"]),
    ],
)
def test_runs_are_named_by_what_differs(runs: list[ComparedRun], names: list[str]) -> None:
    assert names_of(runs) == names

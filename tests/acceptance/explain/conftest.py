"""Texts, models and one finished run, which the tests of ``attentionology explain`` share."""

from __future__ import annotations

import pytest

from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from tests import tiny
from tests.acceptance.explain.explaining import everything, run, texts


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Training, dev and test texts of two classes."""
    folder = tmp_path_factory.mktemp("texts")
    for name, count, seed in (("train", 160, 0), ("dev", 40, 1), ("test", 40, 2)):
        (folder / f"{name}.txt").write_text("\n".join(texts(count, seed)) + "\n")
    return folder


@pytest.fixture(scope="module")
def done(files, tmp_path_factory):
    """A finished run of all tests, and its cache."""
    folder = tmp_path_factory.mktemp("done")
    assert run(*everything(files), "--out", folder / "run") == 0
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A tiny classifier of three classes on disk that reads up to 64 pieces."""
    folder = tmp_path_factory.mktemp("bert")
    tiny.classifier("bert").save_pretrained(folder)
    tiny.fresh_tokenizer("wordpiece").save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    """The beginnings of sentences with a label each; the last is too long for the tiny model."""
    words = [sentence.words[:5] for sentence in load_treebank(SAMPLE_TREEBANK, limit=12)]
    path = tmp_path_factory.mktemp("sentences") / "sentences.tsv"
    labels = [("no", "maybe", "yes")[i % 3] for i in range(len(words))]
    lines = [f"{label}\t{' '.join(own)}" for label, own in zip(labels, words, strict=True)]
    path.write_text("\n".join(["label\ttext", *lines, f"yes\t{'the ' * 80}"]) + "\n")
    return path

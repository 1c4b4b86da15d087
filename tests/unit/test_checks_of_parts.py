"""The checks of kinds of maps, formats, probes and explanation tests notice the mistakes that they look for."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.analyses import Column, ExplanationTest
from attentionology.corpora_loaders import CorpusError, Sentence, formats
from attentionology.corpora_loaders.formats import FORMATS, format_of_reader
from attentionology.extractors import MapKind
from attentionology.probes import Probe, Scorer, list_probes
from attentionology.storage.nearest import UnknownNameError
from attentionology.storage.plugins import RegistryError
from attentionology.testing import check_explanation_test, check_format, check_kind, check_probe


def kind(layer_map: Any, **properties: Any) -> MapKind:
    return MapKind("made-up", "for this test", layer_map, **properties)


def halved(layer):
    return layer.alpha / 2


def rounded(layer):
    return layer.alpha * 1.001 if layer.alpha.dtype == torch.float32 else layer.alpha


DRAWS = itertools.count()


@pytest.mark.parametrize(
    ("layer_map", "message"),
    [
        (lambda layer: layer.alpha / layer.alpha.shape[-1], "in larger batches .* Let nothing depend on padding"),
        (lambda layer: layer.alpha * (1 + 1e-3 * next(DRAWS)), "Two calls give other maps"),
        (rounded, "from those of float64 .* Declare a larger noise"),
        (lambda layer: layer.alpha.float() * 2, "maps are of torch.float32 in float64"),
        (lambda layer: layer.alpha.log(), "are NaN or infinite"),
        (lambda layer: layer.alpha[:, :2], r"have the shape \(2, 2, .* \(batch, heads, n, n\)"),
        (lambda layer: layer.alpha.new_ones(1) - layer.alpha, "Something above the diagonal is not 0"),
        (lambda layer: layer.alpha * layer.x.norm(dim=-1)[:, None, None], "refuses to work .* reads_weights=True"),
        (lambda layer: layer.alpha.no_such_thing, "fails for a model of 2 × 3 heads with AttributeError"),
    ],
)
def test_kinds(layer_map, message):
    with pytest.raises(AssertionError, match=message):
        check_kind(kind(layer_map))


def test_good_kinds():
    check_kind(kind(halved))
    check_kind(kind(lambda layer: layer.alpha.mean(1, keepdim=True)))
    with pytest.raises(UnknownNameError):
        check_kind("made-up")


EXAMPLE = "the/2/det cat/3/nsubj chased/0/root a/5/det mouse/3/obj\n" * 2 + "the/2/det film/0/root\n"


def read_slashes(path):
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  # as in the guide
        for number, line in enumerate(file, start=1):
            cells = [cell.split("/") for cell in line.split()]
            if not cells or any(len(cell) != 3 or not cell[1].isdigit() for cell in cells):
                raise CorpusError("expected words such as cats/2/nsubj", file=path, line=number)
            words, heads, relations = zip(*cells, strict=True)
            tree: Any = {"heads": tuple(map(int, heads)), "relations": relations}
            yield Sentence(f"line-{number}", words, **tree, file=str(path), line=number)


def carelessly(path):
    for number, line in enumerate(Path(path).read_bytes().decode().split("\n")[:-1]):
        words, heads, relations = zip(*(cell.split("/") for cell in line.split()), strict=True)
        yield Sentence(f"line-{number}", words, tuple(map(int, heads)), relations)


def placeless(**place: Any) -> Any:
    def read(path):
        try:
            yield from read_slashes(path)
        except CorpusError as error:
            given = {"file": path, "line": error.line, **place}
            raise CorpusError(error.reason, **given) from error

    return read


def edited(change: Any) -> Any:
    def read(path):
        for sentence in read_slashes(path):
            yield change(sentence)

    return read


def windows_only(path):
    with open(path, encoding="utf-8", newline="\n") as file:  # noqa: PTH123
        for number, line in enumerate(file):
            words = line.removesuffix("\n").split(" ")
            yield Sentence(f"line-{number}", tuple(words))


SEEN = itertools.count()


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda path: list(read_slashes(path)), "returns a list. Yield sentence by sentence"),
        (carelessly, "fails if .* with ValueError.* Raise CorpusError with file and line"),
        (placeless(file=None), "does not name the file if"),
        (placeless(line=None), "does not name the line if"),
        (edited(lambda sentence: replace(sentence, id=f"{next(SEEN)}")), "read otherwise the second time"),
        (edited(lambda one: replace(one, words=tuple(word.format() for word in one.words))), "if a word is {x}"),
        (edited(lambda one: replace(one, words=tuple(word.strip("{}") for word in one.words))), "{x} is not read"),
        (windows_only, "line ends CR LF has other words"),
        (edited(lambda sentence: 1 / 0), "fails on the example with ZeroDivisionError"),
    ],
)  # fmt: skip
def test_formats(read, message):
    with pytest.raises(AssertionError, match=message):
        check_format(read, EXAMPLE)


def test_a_good_format(tmp_path):
    check_format(read_slashes, EXAMPLE)
    path = tmp_path / "example"
    path.write_text(EXAMPLE, encoding="utf-8")
    check_format(format_of_reader("slashes", read_slashes), path)
    with pytest.raises(AssertionError, match="The example has no sentences"):
        check_format(read_slashes, "")


CONLL2012, CONLLU, GAP, *_ = FORMATS
COLUMNS = "".join(f"#begin document (d{n})\nAnn (0)\nslept -\n\nshe (0)\n#end document\n" for n in range(3))


def from_the_start(path, account, *, lenient, place):
    yield from CONLL2012.read_documents(path, account, lenient=lenient, place=None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"read_documents": from_the_start}, "from the place after document 1 is not the rest"),
        ({"name": "own"}, "format conll2012 recognizes the example, too"),
        ({"recognize": lambda beginning: bool(beginning.row)}, "recognizes files of the format conllu"),
        ({"recognize": lambda beginning: False}, "does not recognize its example"),
    ],
)
def test_formats_with_documents(changes, message, monkeypatch):
    check_format(CONLL2012, COLUMNS)
    changed = replace(CONLL2012, **changes)
    if "name" not in changes:  # it stands in the place of the format of this name
        monkeypatch.setattr(formats, "FORMATS", (changed, CONLLU, GAP))
    with pytest.raises(AssertionError, match=message):
        check_format(changed, COLUMNS)


class WeightsScorer(Scorer):
    """One weight per layer and direction."""

    def __init__(self, first: torch.Tensor, read: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(first)
        self.read = read

    def forward(self, example):
        return self.read(self, example)


def scores(scorer, example):
    maps = example.maps[:, example.words, example.words].mean(0)
    return torch.nn.functional.pad(scorer.weight[0] * maps + scorer.weight[1] * maps.T, (1, 0))


class GoodProbe(Probe):
    """A probe of two weights."""

    name = "good"

    def first(self):
        return 0.1 * torch.randn(2, generator=self.generator())

    def make_scorer(self, shape):
        return WeightsScorer(self.first(), self.read)

    def read(self, scorer, example):
        return scores(scorer, example)


class WithSize(GoodProbe):
    name = "sized"

    def __init__(self, size=1, **options):
        super().__init__(**options)
        self.size = size


class WithHidden(GoodProbe):
    name = "hidden"

    def __init__(self, size=1, **options):
        super().__init__(**options)


def changed(**methods: Any) -> type[Probe]:
    return type("Changed", (GoodProbe,), {"name": "changed", **methods})


FITS = itertools.count()


def remembers(self, scorer, example):
    scorer.seen = getattr(scorer, "seen", 0) + 1
    return scores(scorer, example) * (1 + scorer.seen)


def undefined(self, scorer, example):
    return scores(scorer, example) / (len(example.sentence) - 1)


def unsaved(self, scorer, example):
    if torch.is_grad_enabled():
        scorer.learned = 5.0
    return scores(scorer, example) * getattr(scorer, "learned", 1.0)


@pytest.mark.parametrize(
    ("probe", "message"),
    [
        (changed(first=lambda self: torch.randn(2)), "trained again with the same random_state"),
        (changed(first=lambda self: torch.arange(2.0)), "initial weights are the same for every random_state"),
        (changed(first=lambda self: torch.full((2,), 0.1 * next(FITS))), "trained again with the same random_state"),
        (changed(read=lambda self, scorer, example: scores(scorer, example)[:, 1:]), "have the shape"),
        (changed(read=lambda self, scorer, example: scores(scorer, example) / 0), "refuses to work .* TrainingError"),
        (changed(read=remembers), "in larger batches"),
        (changed(read=unsaved), "saved and loaded"),
        (changed(reads_attention=False), "for other maps, which it does not read"),
        (WithSize, r"arguments\(\) lacks 'size'"),
        (WithHidden, "argument 'size' of the constructor is no attribute"),
        (changed(read=undefined), "of one word"),
    ],
)  # fmt: skip
def test_probes(probe, message):
    before = list_probes()
    with pytest.raises(AssertionError, match=message):
        check_probe(probe)
    assert list_probes() == before


def test_good_probes():
    check_probe(GoodProbe)
    check_probe(changed(first=lambda self: torch.zeros(2)))
    with pytest.raises(RegistryError, match="not a subclass of Probe"):
        check_probe(int)  # type: ignore[arg-type]
    with pytest.raises(RegistryError, match="'attention' is already registered"):
        check_probe(changed(name="attention"))


def weight(batch, options):
    return {"top": batch.weights.max(-1).values.double().numpy()}


GOOD = ExplanationTest(name="top", heading="?", columns={"top": Column("weight", "probability")}, examine=weight)


@pytest.mark.parametrize(
    ("examine", "message"),
    [
        (lambda batch, options: {"top": np.full(len(batch), batch.mask.shape[1])}, "unit 'probability'"),
        (lambda batch, options: {"top": np.full(len(batch), 1 / batch.mask.shape[1])}, "is a batch of its own"),
        (lambda batch, options: {"top": np.array([float(name[0] == "t") for name in batch.ids])}, "have other ids"),
        (lambda batch, options: {"top": np.random.default_rng().random(len(batch))}, "other values if it is run again"),
        (lambda batch, options: {"top": np.full(len(batch), np.inf)}, "infinite"),
        (lambda batch, options: {"top": np.zeros(len(batch) - 1)}, "has .* values for .* texts"),
        (lambda batch, options: 1 / 0, "fails on short texts with ZeroDivisionError"),
    ],
)  # fmt: skip
def test_explanation_tests(examine, message):
    with pytest.raises(AssertionError, match=message):
        check_explanation_test(replace(GOOD, examine=examine))


def test_good_explanation_tests():
    check_explanation_test(GOOD)
    with pytest.raises(RegistryError, match="that it does not declare"):
        check_explanation_test(replace(GOOD, columns={}))
    with pytest.raises(RegistryError, match="no ExplanationTest"):
        check_explanation_test(weight)  # type: ignore[arg-type]

"""Packages that add things: a tiny one in a folder on the import path, with what pip writes beside it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from attentionology import (
    OptionError,
    Sentence,
    Treebank,
    analyze,
    explain,
    extract,
    list_kinds,
    load_treebank,
    probe,
)
from attentionology.analyses import ProbeOptions, ProbeTrainingOptions
from attentionology.analyses.explanation.contract.registry import registered_tests
from attentionology.analyses.surface.analysis import Surface
from attentionology.corpora_loaders import CorpusError, formats, get_format, list_formats
from attentionology.extractors import get_kind
from attentionology.extractors.kinds import registry
from attentionology.probes import AttentionProbe
from attentionology.probes import registry as probe_registry
from attentionology.scripts.cli import main
from attentionology.storage import plugins
from attentionology.storage.plugins import RegistryError, extensions, name_extension
from attentionology.testing import check_analysis, check_probe
from tests import tiny
from tests.packages import install

CODE = '''
from attentionology import CorpusError, Sentence, register_kind
from attentionology.probes import AttentionProbe

@register_kind("halved", "attention weights divided by two")
def halved(layer):
    return layer.alpha / 2

@register_kind("broken", "a kind with a mistake")
def broken(layer):
    return layer.alpha.no_such_thing

def misnamed(layer):
    return layer.alpha

def read_pairs(path):
    """One sentence per line: WORD/HEAD/RELATION."""
    for number, line in enumerate(open(path), start=1):
        cells = [cell.split("/") for cell in line.split()]
        if any(len(cell) != 3 for cell in cells):
            raise CorpusError("expected WORD/HEAD/RELATION", file=path, line=number)
        words, heads, relations = zip(*cells)
        yield Sentence(f"s{number}", words, heads=tuple(map(int, heads)), relations=relations)

def fail(path):
    raise KeyError("no such column")

NUMBER = 3

class FragileProbe(AttentionProbe):
    name = "fragile"

    def scores(self, batches):
        raise ZeroDivisionError
'''

POINTS = """
[attentionology.map_kinds]
halved = tiny_kit:halved
broken = tiny_kit:broken
other = tiny_kit:misnamed

[attentionology.corpus_formats]
pairs = tiny_kit:read_pairs
failing = tiny_kit:fail
number = tiny_kit:NUMBER

[attentionology.probes]
fragile = tiny_kit:FragileProbe
"""


def forget() -> None:
    """Look for packages again, and forget what they have registered."""
    for cached in (plugins.points_of, formats.get_format, probe_registry._from_packages):
        cached.cache_clear()
    for name in ("halved", "broken"):
        registry._KINDS.pop(name, None)
    sys.modules.pop("tiny_kit", None)


@pytest.fixture(autouse=True)
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which the package is."""
    site = install(tmp_path / "site", "tiny_kit", {"tiny_kit.py": CODE}, POINTS, "1.2")
    monkeypatch.syspath_prepend(site)
    forget()
    yield site
    monkeypatch.undo()
    forget()


def test_a_package_adds_kinds_of_maps():
    assert {"halved", "weight", "rollout"} < set(list_kinds())
    assert get_kind("rollout:halved").description == "attention rollout of halved (Abnar & Zuidema 2020)"
    encoder, sentence = tiny.encoder("bert"), Sentence("s", ("the", "cat", "sleeps"))
    (weights,), (halves,) = extract(encoder, [sentence]), extract(encoder, [sentence], kind="halved")
    assert (halves.maps == weights.maps / 2).all()
    with pytest.raises(ValueError, match=r"unknown map kind 'halve'; .*halved.*; did you mean 'halved'"):
        get_kind("halve")
    with pytest.raises(RegistryError, match=r"package tiny-kit, tiny_kit:misnamed has no @register_kind\('other', …\)"):
        get_kind("other")


def test_a_kind_of_a_package_cannot_take_a_name_of_the_toolkit(kit):
    points = kit / "tiny_kit-1.2.dist-info" / "entry_points.txt"
    points.write_text(POINTS.replace("halved =", "norm ="), encoding="utf-8")
    forget()
    with pytest.raises(RegistryError, match=r"the map kind 'norm' of .*tiny-kit, .* has a name that is taken"):
        list_kinds()


def test_a_package_adds_formats_of_treebanks(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("cats/2/nsubj sleep/0/root\nshe/2/nsubj sings/0/root\n", encoding="utf-8")
    assert list_formats() == [*(each.name for each in formats.FORMATS), "failing", "number", "pairs"]
    treebank = load_treebank(path, format="pairs")
    assert [(each.words, each.heads, each.relations) for each in treebank] == [
        (("cats", "sleep"), (2, 0), ("nsubj", "root")),
        (("she", "sings"), (2, 0), ("nsubj", "root")),
    ]
    assert load_treebank(from_string="cats/2/nsubj sleep/0/root", format="pairs")[0].words == ("cats", "sleep")
    path.write_text("cats/2/nsubj sleep/0/root\nshe/2\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"corpus\.txt:2: expected WORD/HEAD/RELATION"):
        load_treebank(path, format="pairs")
    with pytest.raises(RegistryError, match="tiny_kit:NUMBER is neither a function of a path nor a CorpusFormat"):
        get_format("number")
    with pytest.raises(ValueError, match=r"unknown format 'pair'; choose from: .*did you mean 'pairs'"):
        load_treebank(path, format="pair")


def adds(statement: str, kit: Path) -> str:
    """The end of a note: the package, and the line of the code with a statement."""
    line = 1 + [text.strip() for text in CODE.splitlines()].index(statement)
    return f"which the package tiny-kit 1.2 adds, in line {line} of {kit / 'tiny_kit.py'}."


def test_errors_of_a_package_name_it_and_the_line(tmp_path, kit):
    path = tmp_path / "corpus.txt"
    path.write_text("cats", encoding="utf-8")
    with pytest.raises(KeyError) as failed:
        load_treebank(path, format="failing")
    of_format = f"This happened in reading {path} of the corpus format 'failing', "
    assert failed.value.__notes__ == [of_format + adds('raise KeyError("no such column")', kit)]
    with pytest.raises(AttributeError) as broken:
        list(extract(tiny.encoder("bert"), [Sentence("s", ("a",))], kind="broken"))
    of_kind = "This happened in the function of the map kind 'broken', "
    assert broken.value.__notes__ == [of_kind + adds("return layer.alpha.no_such_thing", kit)]
    options = [ProbeOptions(controls=("none",)), ProbeTrainingOptions(seeds=1, epochs=1)]
    with pytest.raises(ZeroDivisionError) as fragile:
        probe(tiny.encoder("bert"), test=Treebank(load_treebank("sample", limit=10)), probes="fragile", options=options)
    of_probe = "This happened in scores() of the probe 'fragile', "
    assert fragile.value.__notes__ == [of_probe + adds("raise ZeroDivisionError", kit)]
    with pytest.raises(ZeroDivisionError) as own, name_extension("map kind", "weight", "the function"):
        print(1 / 0)
    assert not hasattr(own.value, "__notes__")


def test_the_command_takes_both_and_the_record_names_the_package(tmp_path):
    tiny.save(tmp_path / "model")
    path, out = tmp_path / "corpus.txt", tmp_path / "run"
    path.write_text("cats/2/nsubj sleep/0/root\nshe/2/nsubj sings/0/root\n", encoding="utf-8")
    command = ["analyze", "--model", str(tmp_path / "model"), "--corpus", str(path), "--format", "pairs"]
    options = ["--analyses", "dependency", "--map", "weight", "rollout:halved", "--replicates", "0"]
    assert main([*command, *options, "--out", str(out)]) == 0
    record = json.loads((out / "run.json").read_bytes())
    package = {"package": "tiny-kit", "version": "1.2"}
    assert record["extensions"] == [
        {"what": "map kind", "name": "halved", **package},
        {"what": "corpus format", "name": "pairs", **package},
    ]
    assert record["corpus"]["relations"] == {"nsubj": 2, "root": 2}
    assert main([*command[:-1], "pears", *options, "--out", str(tmp_path / "other")]) == 2


def test_analyses_of_a_package_are_found_by_their_module(kit):
    points = kit / "tiny_kit-1.2.dist-info" / "entry_points.txt"
    points.write_text("[attentionology.analyses]\nentry = tiny_kit.analysis:Analysis\n", encoding="utf-8")
    used = [("analysis", "another name", "tiny_kit.analysis"), ("analysis", "surface", "attentionology.analyses")]
    expected = {"what": "analysis", "name": "another name", "package": "tiny-kit", "version": "1.2"}
    assert extensions(used) == [expected]


def test_things_in_place_of_their_names_are_refused_with_what_to_do():
    model, text = tiny.encoder("bert"), [Sentence.from_text("Cats sleep.")]
    for call in (
        lambda: analyze(model, text, analyses=Surface),
        lambda: analyze(model, text, analyses=[Surface]),
        lambda: analyze(model, text, maps=len),
        lambda: probe(model, test=text, probes=[AttentionProbe()]),
        lambda: explain(text, tests=[registered_tests()["erasure"]]),
        lambda: explain([["a fine film", "a dull film"], ["1", "0"]]),
        lambda: extract(model, text, kind=len),
    ):
        with pytest.raises(ValueError, match=r"^expected (a|the) name.*, not .*; .*regist"):
            call()
    with pytest.raises(OptionError, match=r"^expected a name, not the class Surface; .* it is registered$"):
        analyze(model, text, analyses=Surface)
    with pytest.raises(OptionError, match=r"^expected a name, not a value of the type AttentionProbe; "):
        probe(model, test=text, probes=AttentionProbe())
    for check, thing in ((check_probe, AttentionProbe()), (check_analysis, Surface())):
        with pytest.raises(RegistryError, match="give its class, and the arguments of its constructor apart"):
            check(thing)

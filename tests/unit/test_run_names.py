"""What a run, and the package, offer by name."""

from importlib import import_module
from importlib.metadata import version
from typing import Any, get_overloads

import pytest

import attentionology
from attentionology import CountOptions, Run, analyze, load_treebank
from attentionology.analyses.registry import registered_analyses
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from tests import tiny


def test_a_run_has_its_results_tables_and_figures_by_name(tmp_path):
    corpus, options = load_treebank(SAMPLE_TREEBANK, limit=3), [CountOptions(replicates=0)]
    encoder, names, folder = tiny.encoder("bert"), ["dependency", "surface"], tmp_path / "run"
    written = analyze(encoder, corpus, analyses=names, maps=["weight", "norm"], options=options, out=folder)
    run = analyze(encoder, corpus, analyses=names, maps=["weight", "norm"], options=options)
    assert set(run.tables) == set(written.tables) == {path.stem for path in (folder / "tables").glob("*.csv")}
    assert set(run.figures) == set(written.figures) == {path.stem for path in (folder / "figures").glob("*.svg")}
    best = run.tables["dependency_best"]
    of_norms = best[best["map"] == "norm"].drop(columns="map").reset_index(drop=True)
    assert of_norms.equals(run["dependency", "norm"].best)
    with pytest.raises(AttributeError, match=r"several results for 'surface'; choose from: .*\('surface', 'norm'\)"):
        run.surface  # noqa: B018
    assert not hasattr(run, "coreference")
    single = analyze(encoder, corpus, analyses="dependency", options=options)
    assert single.dependency is single["dependency"] is single["dependency", "weight"]


def test_every_analysis_that_comes_with_the_toolkit_has_typed_results():
    members = {name: member.fget for name, member in vars(Run).items() if isinstance(member, property)}
    typed = {name for name, member in members.items() if member.__annotations__["return"].endswith("Results")}
    assert typed == {*registered_analyses(), "alignment"}
    assert len(get_overloads(Run.__getitem__)) == len(typed) + 1


def test_the_package_lists_public_names_only():
    assert dir(attentionology) == sorted([*attentionology.__all__, "__version__"])
    assert attentionology.__version__ == version("attentionology")


def test_few_names_are_at_the_root_and_those_that_moved_warn():
    assert len(dir(attentionology)) <= 40
    places = vars(attentionology)["_MOVED"]
    assert not set(places) & set(attentionology.__all__)
    for name, place in places.items():
        room = import_module(f"attentionology.{place}")
        moved = f"^attentionology.{name} has moved to attentionology.{place}.{name}$"
        with pytest.warns(DeprecationWarning, match=moved):
            assert getattr(attentionology, name) is getattr(room, name)
        assert name in room.__all__


def test_type_checkers_find_the_names_of_before_too():
    assert set(vars(attentionology)["_known"]) == {*attentionology.__all__, *vars(attentionology)["_MOVED"]}


def test_the_lists_are_those_that_the_commands_choose_from():
    lists: dict[str, Any] = {
        "dependency": attentionology.list_analyses(),
        "weight": attentionology.list_kinds(),
        "attention": attentionology.list_probes(),
        "permutation": attentionology.list_tests(),
    }
    assert all(name in names for name, names in lists.items())
    assert "states" not in lists["permutation"]  # it describes the model and cannot be chosen

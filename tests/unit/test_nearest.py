"""Messages about unknown names ask for the nearest one, wherever names are given."""

from __future__ import annotations

import numpy as np
import pytest

from attentionology.analyses.alignment.symmetrization import symmetrized
from attentionology.analyses.explanation.options import ExplanationTestOptions
from attentionology.engine.run import Run
from attentionology.extractors import get_kind
from attentionology.extractors.translation import CrossMapMaker
from attentionology.probes import make_probe
from attentionology.scripts.cli import main
from attentionology.storage.nearest import did_you_mean


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["analyse"], "analyze"),
        (["analyze", "--analyses", "dependancy"], "dependency"),
        (["analyze", "--map", "wieght"], "weight"),
        (["analyze", "--map", "rollout:wieght"], "rollout:weight"),
        (["analyze", "--control", "random_init"], "random-init"),
        (["analyze", "--model", "demoo"], "demo"),
        (["analyze", "--model", "Demo"], "demo"),
        (["analyze", "--corpus", "sampel"], "sample"),
        (["analyze", "--corpus", "ud:en_ewt:tset"], "ud:en_ewt:test"),
        (["analyze", "--corpus", "ud:en_ewtt:test"], "en_ewt"),
        (["analyze", "--corpus", "ud:xx_pud:test"], "zh_pud"),
        (["align", "--model", "sampl"], "sample"),
        (["align", "--model", "dem", "--method", "similarity"], "demo"),
        (["doctor", "--model", "demmo"], "demo"),
        (["show", "Cats sleep.", "--head", "3-9", "--map", "altii"], "alti"),
        (["probe", "--test", "sample", "--probe", "atention"], "attention"),
        (["probe", "--test", "sample", "--map", "altii"], "alti"),
        (["explain", "--data", "texts", "--tests", "permutations"], "permutation"),
        (["explain", "--test", "texts", "--model", "demoo"], "demo"),
        (["survey", "--maps", "altii"], "alti"),
        (["treebanks", "Frensh"], "French"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[:3]),
)
def test_commands_ask_for_the_nearest_name(arguments, nearest, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UD_HOME", raising=False)
    (tmp_path / "texts").write_text("1 a good film\n0 a bad film\n" * 4)
    assert main(arguments) in (1, 2)
    assert f"did you mean {nearest!r}?" in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["texts"]


@pytest.mark.parametrize(
    ("call", "nearest"),
    [
        (lambda: get_kind("atnn"), "attn"),
        (lambda: make_probe("attention+word"), "attention+words"),
        (lambda: ExplanationTestOptions(tests=("al",)).named(), "all"),
        (lambda: CrossMapMaker("nrom"), "norm"),
        (lambda: symmetrized(np.eye(2) > 0, np.eye(2) > 0, "grow-dig"), "grow-diag"),
    ],
    ids=["map kind", "probe", "test", "cross-attention", "symmetrization"],
)
def test_python_asks_for_the_nearest_name(call, nearest):
    with pytest.raises(Exception, match=f"choose from: .*; did you mean '{nearest.replace('+', '[+]')}'[?]$"):
        call()


def test_a_folder_that_looks_like_the_name_of_a_built_in_model_is_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demoo").mkdir()
    assert main(["analyze", "--model", "demoo"]) == 1
    assert "cannot read 'demoo/config.json'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("kind", ["rollout:", "rollout:rollout", "rollout:weight:", ":weight", ""])
def test_a_rollout_names_its_kind(kind):
    with pytest.raises(ValueError, match=r"unknown map kind .*choose from: alti, .*rollout:KIND"):
        get_kind(kind)


def test_nothing_near_is_not_asked_for():
    assert did_you_mean("colour", ["weight", "norm"]) == ""
    assert did_you_mean("NORM", ["weight", "norm"], 3) == "; did you mean 'norm'?"
    assert did_you_mean("s-1", ["s-11", "s-12", "t"], 2) == "; did you mean 's-12' or 's-11'?"
    with pytest.raises(KeyError, match="no results for 'x'"):
        _ = Run(())["x"]

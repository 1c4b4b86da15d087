"""``attentionology show`` with the demo model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attentionology import CorpusError, OptionError, Sentence, extract, load_treebank, show
from attentionology.analyses import DependencyAccuracy
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine import Shown
from attentionology.scripts.cli import main

TEXT = "The keys to the cabinet are on the table."


def test_values_are_those_of_extract(demo_encoder, tmp_path, capsys):
    out = tmp_path / "keys.csv"
    command = ["show", TEXT, "--head", "3-9", "5-8", "--map", "weight", "norm", "--out", str(out)]
    assert main(command) == 0
    assert "heads 3-9, 3-9 (norm), 5-8 and 5-8 (norm)" in capsys.readouterr().out
    table = pd.read_csv(out)
    for kind in ("weight", "norm"):
        [batch] = extract(demo_encoder, [Sentence.from_text(TEXT)], kind)
        for layer, head in ((3, 9), (5, 8)):
            chosen = table[(table["map"] == kind) & (table["layer"] == layer) & (table["head"] == head)]
            values = chosen.pivot_table(index="from", columns="to", values="value").to_numpy()
            assert np.allclose(values, batch.maps[0, layer - 1, head - 1], rtol=0, atol=1e-6)
    words = table.loc[(table["map"] == "weight") & (table["head"] == 9) & (table["from"] == 1), "to_word"]
    assert list(words) == ["[CLS]", *Sentence.from_text(TEXT).words, "[SEP]"]


@pytest.mark.slow
def test_formats(demo_encoder, tmp_path):
    starts = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG", "html": b"<!doctype html>", "txt": b"Head 3-9"}
    shown = show(demo_encoder, [TEXT, "<b>A & B</b>"], head="3-9")
    for suffix, start in starts.items():
        out = tmp_path / f"keys.{suffix}"
        shown.save(out)
        content = out.read_bytes()
        assert content.startswith(start)
        assert suffix not in ("svg", "html") or (b"cabinet" in content and b"<b>" not in content)
    command = ["show", TEXT, "<b>A & B</b>", "--head", "3-9", "--out", str(out)]
    assert main(command) == 1
    assert main([*command, "--overwrite"]) == 0
    assert out.read_bytes() == content


def test_sentences_of_a_treebank_have_their_heads(capsys):
    sentence = load_treebank(SAMPLE_TREEBANK, limit=5)[4]
    assert main(["show", "--corpus", "sample", "--sentence", sentence.id, "--head", "3-9"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:-1]
    shown = show("demo", sentence, head="3-9")
    [[view]] = shown.views
    for line, word, head, guess in zip(lines, sentence.words, sentence.heads, view.guesses[1:], strict=False):
        assert line[2:].startswith(word)
        assert line[0] == (" " if head == 0 else "+" if head == guess else "-")
    assert {line[0] for line in lines} == {"+", "-", " "}


def test_guesses_are_those_that_the_tables_count(demo_encoder):
    sentences = list(load_treebank(SAMPLE_TREEBANK, limit=4))
    relations = sorted({relation for sentence in sentences for relation in sentence.relations if relation})
    metric = DependencyAccuracy(relations, 6, 12, replicates=0)
    for batch in extract(demo_encoder, sentences, "weight"):
        metric.update(batch)
    cells = metric.compute().cells
    counted = cells[(cells["relation"] == "all") & (cells["direction"] == "dep->head")]
    heads = list(zip(counted["layer"].tolist(), counted["head"].tolist(), strict=True))
    shown = show(demo_encoder, sentences, head=heads)
    of_heads = list(zip(*shown.views, strict=True))
    right = [sum(view.is_right(row) is True for view in views for row in range(len(view.words))) for views in of_heads]
    assert counted["correct"].tolist() == right
    for view in (view for of_sentence in shown.views for view in of_sentence):
        for row, guess in enumerate(view.guesses):
            assert (guess is None) == view.special[row]
            assert guess is None or (guess != row and not view.special[guess])


def test_surface_tokens(tmp_path):
    treebank = load_treebank(SAMPLE_TREEBANK, tokens="surface")
    lengths = {sentence.id: len(sentence) for sentence in load_treebank(SAMPLE_TREEBANK)}
    merged = next(sentence for sentence in treebank if len(sentence) < lengths[sentence.id])
    out = tmp_path / "s.csv"
    command = ["show", "--corpus", "sample", "--sentence", merged.id, "--tokens", "surface", "--words-only"]
    assert main([*command, "--head", "3-9", "--out", str(out)]) == 0
    table = pd.read_csv(out, keep_default_na=False)
    assert tuple(table.loc[table["from"] == 1, "to_word"]) == merged.words


def test_a_kind_without_heads_is_drawn_once_for_each_layer(demo_encoder):
    shown = show(demo_encoder, "Cats sleep.", head=["3-9", "3-10", "4-1"], maps=["weight", "attn"])
    assert [view.title for view in shown.views[0]] == ["3-9", "layer 3 (attn)", "3-10", "4-1", "layer 4 (attn)"]


def test_in_a_notebook(demo_encoder):
    shown = show(demo_encoder, "Cats sleep.", head=(3, 9))
    assert isinstance(shown, Shown)
    assert repr(shown) == "Shown(head 3-9 of all-MiniLM-L6-v2 on 1 sentence)"
    cells = [shown._repr_html_() for _ in range(2)]
    assert all("<svg" in cell and ">sleep</text>" in cell for cell in cells)  # where scripts do not run
    assert cells[0] != cells[1]  # each has an element of its own
    [sentence] = shown.explorer().sample.sentences  # type: ignore[union-attr]
    assert sentence.rows == ("[CLS]", "Cats", "sleep", ".", "[SEP]")
    assert str(shown) == shown.text()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--head", "3-9"], 2, "give sentences either as text or"),
        ([TEXT], 2, "name a head"),
        ([TEXT, "--head", "7-1"], 2, "6 layers with 12 heads"),
        ([TEXT, "--head", "3-13"], 2, "no head 3-13"),
        ([TEXT, "--head", "0-1"], 2, "LAYER-HEAD, counted from 1"),
        ([TEXT, "--head", "3-9", "3-9"], 2, "given twice"),
        ([TEXT, "--head", "3-9", "--map", "nothing"], 2, "nothing"),
        ([TEXT, "--head", "3-9", "--out", "keys.gif"], 2, "must end in .svg"),
        ([TEXT, "--head", "3-9", "--corpus", "sample"], 2, "need each other"),
        (["  ", "--head", "3-9"], 1, "a text with a word"),
        (["word " * 600, "--head", "3-9"], 1, "pieces"),
        (["--corpus", "sample", "--sentence", "garden-5", "--head", "3-9"], 1, "did you mean 'garden-05'"),
    ],
)
def test_what_cannot_be_shown(arguments, status, message, capsys):
    assert main(["show", *arguments]) == status
    assert message in capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal(capsys):
    assert main(["show", "A\x1b[31mred word", "--head", "3-9"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_errors_in_python(demo_encoder):
    with pytest.raises(OptionError, match="counted from 1"):
        show(demo_encoder, TEXT, head=(0, 1))
    with pytest.raises(OptionError, match="layout"):
        show(demo_encoder, TEXT, head=(3, 9), layout="circle")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="no sentence"):
        show(demo_encoder, [], head=(3, 9))
    with pytest.raises(CorpusError, match="a text with a word"):
        show(demo_encoder, "", head=(3, 9))

"""``attentionology explore`` with the demo model."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from attentionology import OptionError, Sentence, explore, extract
from attentionology.extractors import ExtractionError
from attentionology.scripts.cli import main
from tests.maps import inflate

TEXTS = ("The keys to the cabinet are on the table.", "It rained.", "She said that </script><b> was late.")


def test_the_page_holds_the_maps_of_a_plain_forward_pass(demo_encoder, tmp_path, capsys):
    """Each stored value of each head is the value of `extract`, up to half of one of 255 levels."""
    out = tmp_path / "own.html"
    assert main(["explore", *TEXTS, "--map", "weight", "norm", "--out", str(out)]) == 0
    assert "all-MiniLM-L6-v2 on 3 sentences, 18 measures of 72 heads" in " ".join(capsys.readouterr().out.split())
    mounted = re.search(r'getElementById\("explorer"\), (\{.*\}), \{"hash"', out.read_text(encoding="utf-8"))
    assert mounted is not None
    [data] = json.loads(mounted[1])["runs"]
    stored = data["sample"]["sentences"]
    assert data["sample"]["kinds"] == ["weight", "norm"]
    assert data["findings"] == []
    assert data["sample"]["note"].startswith("All 3 inputs.")
    for text, sentence in zip(TEXTS, stored, strict=True):
        assert sentence["rows"] == ["[CLS]", *Sentence.from_text(text).words, "[SEP]"]
        rows = len(sentence["rows"])
        for kind in ("weight", "norm"):
            [batch] = extract(demo_encoder, [Sentence.from_text(text)], kind)
            levels = np.frombuffer(inflate(sentence["maps"][kind]["data"]), dtype=np.uint8)
            scales = np.array(sentence["maps"][kind]["scales"]).reshape(6, 12, 1, 1)
            values = levels.reshape(6, 12, rows, rows) / 255 * scales
            assert (abs(values - batch.maps[0].numpy()) <= scales / 255 / 2 + 1e-6).all()


def test_files_give_the_same_page_as_sentences(tmp_path):
    text, pages = tmp_path / "own.txt", [tmp_path / "a.html", tmp_path / "b.html"]
    text.write_text("\n".join(TEXTS[:2]) + "\n", encoding="utf-8")
    assert main(["explore", "--text", str(text), "--out", str(pages[0])]) == 0
    explore([*TEXTS[:2]]).save(pages[1])
    sentences = [re.findall(r'"rows":(\[.*?\]).*?"data":"(.*?)"', page.read_text(encoding="utf-8")) for page in pages]
    assert len(sentences[0]) == 2
    assert sentences[0] == sentences[1]


def test_a_notebook_shows_what_the_page_shows(demo_encoder):
    """Sentences keep their order, also if two are the same, and the cell holds the stored maps."""
    view = explore([TEXTS[1], TEXTS[0], TEXTS[1]], model=demo_encoder)
    assert view.explorer.sample is not None
    kept = view.explorer.sample.sentences
    assert [sentence.rows[1] for sentence in kept] == ["It", "The", "It"]
    assert len({sentence.id for sentence in kept}) == 3
    cell = view._repr_html_()
    assert all(sentence.maps["weight"].data in cell for sentence in kept)
    assert repr(view) == "ExplorerView(all-MiniLM-L6-v2 on 3 sentences, 9 measures of 72 heads)"


def test_what_cannot_be_explored_is_refused(demo_encoder, tmp_path, capsys):
    with pytest.raises(OptionError, match="there is no sentence to explore"):
        explore([], model=demo_encoder)
    with pytest.raises(ExtractionError, match="too long: 602 pieces, the limit is 512"):
        explore("word " * 600, model=demo_encoder)
    with pytest.raises(OptionError, match="short enough to be drawn"):
        explore("word " * 300, model=demo_encoder)
    assert main(["explore", "--out", str(tmp_path / "own.html")]) == 2
    assert main(["explore", TEXTS[0], "--out", str(tmp_path / "own.svg")]) == 2
    (tmp_path / "own.html").write_text("kept", encoding="utf-8")
    assert main(["explore", TEXTS[0], "--out", str(tmp_path / "own.html")]) == 1
    assert "use --overwrite to replace it" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "own.html").read_text(encoding="utf-8") == "kept"

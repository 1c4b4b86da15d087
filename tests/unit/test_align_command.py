"""The command ``align``: what it writes and refuses; the sample, and the pattern of the paper in its numbers."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from attentionology.analyses import ExampleOptions
from attentionology.analyses.alignment import analysis
from attentionology.analyses.alignment.options import AlignmentOptions
from attentionology.corpora_loaders.alignment import load_bitext, load_links
from attentionology.corpora_loaders.sample.translation import SAMPLE_GOLD, SAMPLE_PAIRS, SAMPLE_TRANSLATOR
from attentionology.engine.align import align
from attentionology.engine.results.run import Run
from attentionology.scripts.cli import main
from benchmarks.made_up_pair import SEED, make_pair
from benchmarks.sample_translator import unseen_sentences
from tests.shown_tables import assert_declared


def command(tmp_path: Path, *arguments: str) -> int:
    return main(["align", "--out", str(tmp_path / "out"), "--replicates", "20", *arguments])


def test_links_outside_their_pair_are_reported(tmp_path, capsys):
    gold = tmp_path / "gold.talp"
    lines = SAMPLE_GOLD.read_text("utf-8").splitlines()
    gold.write_text("\n".join([f"{lines[0]} 40-0 0p41", *lines[1:], "", ""]), "utf-8")
    arguments = ["--source", str(SAMPLE_PAIRS), "--gold", str(gold), "--limit", "4"]
    assert command(tmp_path, *arguments) == 1
    assert f"{gold}:1: link 40-0 is outside its sentence pair" in " ".join(capsys.readouterr().err.split())
    assert command(tmp_path, *arguments, "--lenient") == 0
    remark = f"Links of gold ({gold}) that are outside their sentence pairs, left out: 2 of "
    assert f"Warning: {remark}" in capsys.readouterr().out.replace("\n", " ")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["alignment"]["gold"]["outside"] == 2
    assert [text.startswith(remark) for text in (*record["warnings"], *record["corpus"]["remarks"])] == [True, True]
    left_out = (tmp_path / "out" / "report.html").read_text().partition("What was left out</h2>")[2]
    assert "outside their sentence pairs, left out: 2 of" in left_out.partition("Provenance")[0]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--source", str(SAMPLE_PAIRS), "--one-based"], 2, "--one-based has no effect without gold links"),
        (["--source", str(SAMPLE_PAIRS), "--controls", "1"], 2, "--controls has no effect without gold links"),
        (["--source", str(SAMPLE_PAIRS), "--lenient"], 2, "--lenient has no effect without gold links"),
        (["--symmetrize", "itermax", "--direction", "both"], 2, "--symmetrize itermax is for similar words"),
        (["--symmetrize", "union"], 2, "--symmetrize needs links of both directions"),
        (["--write", "nowhere/links.talp"], 2, "there is no folder nowhere"),
        (["--gold", str(SAMPLE_GOLD)], 2, "the sample has its own translations and gold links"),
        (["--baseline", "giza"], 2, "--baseline takes NAME=FILE, not 'giza'"),
        (["--dtype", "bfloat16"], 2, "--dtype is for encoders and decoders"),
        (["--prepend", "<s>"], 2, "--prepend is for encoders and decoders"),
        (
            ["--source", str(SAMPLE_PAIRS), "--gold", str(SAMPLE_GOLD), "--one-based"],
            1,
            "counted from 0: use one_based",
        ),
        (["--source", str(SAMPLE_PAIRS), "--gold", str(SAMPLE_PAIRS)], 1, "expected links such as 3-4"),
    ],
)
def test_wrong_options_and_files_are_refused(tmp_path, capsys, arguments, status, message):
    assert command(tmp_path, *arguments) == status
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def run() -> Run:
    return align(options=[AlignmentOptions(replicates=0), ExampleOptions(1)])


def check_pattern(run: Run) -> None:
    """AWI is good in layer 1 and AWO is not; in layer 2, norms are better than weights, which rest on the end."""
    cells = run["alignment"].cells.query("heads == 'all'").set_index(["layer", "setting", "measure"])
    rates, specials = cells["error_rate"], cells["on_special"]
    for measure in ("weight", "norm"):
        assert rates[1, "AWI", measure] < 0.15
        assert rates[1, "AWO", measure] > 0.35
    assert rates[2, "AWO", "norm"] < rates[2, "AWO", "weight"]
    assert specials[2, "AWI", "norm"] < specials[2, "AWI", "weight"]


def test_the_trained_model_shows_the_pattern_of_the_paper(run):
    check_pattern(run)
    assert run.record["sentences"]["read"] == 200
    assert not run.record["sentences"]["unknown_words"]


def test_choices_without_gold_and_baselines_are_reported(run):
    results = run["alignment"]
    best = results.best.set_index(["setting", "measure", "heads"])
    assert best.loc[("AWI", "norm", "all"), "layer"] == 1
    assert best.loc[("AWI", "norm", "all"), "heldout_error_rate"] < 0.15
    diagonal, same = results.baselines["error_rate"]
    assert best["error_rate"].min() < same < diagonal
    of_all = results.best.astype(dict.fromkeys(("largest_layer", "largest_head"), "Int64"))
    names = ("best", "contrasts", "correlations", "baselines")
    written = {f"alignment_{name}": results.answers[name] for name in names}
    written |= {
        "alignment": results.cells,
        "alignment_best": of_all,
        "alignment_controls": of_all.assign(copy=1),
    }
    assert_declared(written, analysis.SCHEMAS)


def test_pairs_and_links_are_those_of_the_maker():
    bitext = load_bitext(SAMPLE_PAIRS)
    gold = load_links(SAMPLE_GOLD, bitext)
    made = unseen_sentences(make_pair(SEED))
    assert [(pair.source, pair.words) for pair in bitext.pairs] == [(pair.source, pair.target) for pair in made]
    assert [links.sure for links in gold.links] == [frozenset(pair.links) for pair in made]
    assert (SAMPLE_TRANSLATOR / "model.safetensors").stat().st_size <= 2**20


def test_translations_follow_the_rules():
    pair = make_pair(SEED)
    words = list(pair.lexicon)
    opener = next(word for word in words if pair.lexicon[word].block == 3)
    plain = [word for word in words if pair.lexicon[word].block == 1][:4]
    source = [plain[0], opener, *plain[1:]]

    class Kept(random.Random):
        def random(self) -> float:
            return 1.0  # no word is left out

    translation = pair.translate(source, Kept())
    order = list(dict.fromkeys(link[0] for link in translation.links))
    assert order == [0, 3, 2, 1, 4]
    assert translation.target == tuple(word for k in order for word in pair.lexicon[source[k]].translation)
    assert len({*pair.lexicon}) == 300

"""Whether a model fits a text: counts against those of the tokenizer alone, the rule, sums, and what people read."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from unicodedata import normalize

import pytest

from attentionology import CountOptions, Sentence, analyze, load_treebank, survey
from attentionology.analyses.shared.record import closing_lines
from attentionology.analyses.survey.cells import SURVEY_CELLS, fit_table
from attentionology.analyses.survey.results import in_terminal
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors.tokens.pieces import Pieces
from attentionology.extractors.tokens.text_fit import TextFit
from attentionology.reports.format import rows_of
from attentionology.scripts.cli import main
from tests import tiny
from tests.corpora import chain
from tests.shown_tables import in_latex, on_page, read_terminal
from tests.shown_tables import in_terminal as cells_in_terminal

STRANGE = (
    Sentence("arabic", ("كِتابٌ", "جديد", ".", "the")),
    Sentence("chinese", ("漢字", "2010年", "的", "garden")),
    Sentence("odd", ("\u200b", "cafe\u0301", "garde\u0301n", "50 000", "[SEP]", "naïve", "a\u0300")),
)


def naive(tokenizer, sentences):
    """The counts of words that are tokenized one by one, from the characters that each known piece covers."""
    counts = {"pieces": 0, "split": 0, "unknown": 0, "unknown_pieces": 0, "characters": 0, "lost_characters": 0}
    special = set(tokenizer.all_special_ids)
    for word in (word for sentence in sentences for word in sentence.words):
        # Byte-level tokenizers read each word after a space.
        text = " " + word
        read = tokenizer(text, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True)
        pieces = list(zip(read["input_ids"], read["offset_mapping"], strict=True)) or [(None, (0, 0))]
        unknown = [piece in special or piece is None for piece, _ in pieces]
        covered = {
            at for (_, (start, end)), bad in zip(pieces, unknown, strict=True) if not bad for at in range(start, end)
        }
        letters: list[int] = []
        for at, character in enumerate(text):  # a mark belongs to its letter if both are one character when composed
            if not character.isspace() and not (letters and len(normalize("NFC", text[letters[-1] : at + 1])) == 1):
                letters.append(at)
        counts["pieces"] += len(pieces)
        counts["split"] += len(pieces) > 1
        counts["unknown"] += any(unknown)
        counts["unknown_pieces"] += sum(unknown)
        counts["characters"] += len(letters)
        counts["lost_characters"] += sum(at not in covered for at in letters)
    return counts


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
def test_counts_are_those_of_the_tokenizer_word_by_word(family):
    encoder = tiny.encoder(family)
    sentences = [*load_treebank(SAMPLE_TREEBANK)[:20], *STRANGE]
    aligned = [pieces for pieces in encoder.align(sentences) if isinstance(pieces, Pieces)]
    fit = TextFit.of(zip(sentences, aligned, strict=True))
    expected = naive(encoder.tokenizer, sentences)
    assert {name: getattr(fit, name) for name in expected} == expected
    assert fit.words == sum(map(len, sentences))
    assert expected["split"] > 20
    if family != "roberta":  # every character has bytes
        assert expected["unknown_pieces"] > 5
        assert expected["lost_characters"] > 10
    assert sum((TextFit.of([pair]) for pair in zip(sentences, aligned, strict=True)), TextFit()) == fit
    assert TextFit.read_record(json.loads(json.dumps(fit.record()))) == fit


FITTING = TextFit(words=100, unknown=10, split=30, pieces=150, unknown_pieces=18, characters=400, lost_characters=100,
                  spelled=80, spelled_pieces=120)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "fits", "verdict"),
    [
        ({}, "yes", "the vocabulary of the model fits this text"),
        ({"spelled_pieces": 121}, "poorly", "the vocabulary of the model fits this text poorly"),
        ({"spelled_pieces": 320}, "poorly", "the vocabulary of the model fits this text poorly"),
        ({"spelled_pieces": 321}, "no", "this model was hardly made for this language"),
        ({"unknown": 11}, "no", "this model was hardly made for this language"),
    ],
)
def test_the_rule_at_its_bounds(changes, fits, verdict):
    fit = replace(FITTING, **changes)
    assert (fit.fits, fit.verdict) == (fits, verdict)
    assert fit.summary().endswith(f"; {verdict}.")


HARDLY, POORLY = "This model was hardly made for this language: ", "The vocabulary of the model fits this text poorly: "


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({}, ""),
        ({"spelled_pieces": 240}, ""),  # three pieces per word
        ({"spelled_pieces": 241}, f"{POORLY}words go to 3.0 pieces each, 25 % of the characters are lost. What"),
        ({"spelled_pieces": 400, "lost_characters": 0}, f"{HARDLY}words go to 5.0 pieces each. What"),
        ({"unknown": 11}, f"{HARDLY}11 % of the words have unknown pieces, 25 % of the characters are lost. What"),
        ({"words": 0, "unknown": 0}, ""),  # nothing was read
    ],
)
def test_a_warning_has_one_rule(changes, warned):
    warning = replace(FITTING, **changes).warning
    assert warning.startswith(warned)
    assert bool(warning) == bool(warned)


def test_the_shares_are_those_of_the_counts():
    assert FITTING.shares == {
        "pieces_per_word": 1.5, "split_words": 0.3, "unknown_words": 0.1, "unknown_pieces": 0.12,
        "lost_characters": 0.25,
    }  # fmt: skip
    assert FITTING.summary().startswith(
        "Pieces per word: 1.50; split words: 30.0 %, unknown pieces: 12.0 %, lost characters: 25.0 %; "
    )


def written(sentences, path):
    path.write_text("".join(chain(each.words, each.id) for each in sentences))


@pytest.fixture
def files(tmp_path):
    """A model, two files of words that it does not know, and one that it knows."""
    tiny.save(tmp_path / "model", max_position_embeddings=200)
    strange = [replace(sentence, id=f"{sentence.id}{n}") for n in range(30) for sentence in STRANGE]
    for name, sentences in {"first": strange[:40], "second": strange[40:]}.items():
        written(sentences, tmp_path / f"{name}.conllu")
    known = [Sentence(each.id, each.words) for each in load_treebank(SAMPLE_TREEBANK)[:10]]
    written(known, tmp_path / "known.conllu")
    return tmp_path


@pytest.mark.slow
def test_a_run_says_whether_the_model_fits_and_parts_and_merged_runs_add_up(files, capsys):
    options = ["--model", str(files / "model"), "--analyses", "dependency", "--replicates", "0"]
    first, second = str(files / "first.conllu"), str(files / "second.conllu")
    for name, chosen in {
        "whole": [first, second],
        "parts": [first, second, "--parts", str(files / "p")],
        "workers": [first, second, "--parts", str(files / "w"), "--workers", "2"],
        "a": [first],
        "b": [second],
    }.items():
        assert main(["analyze", *options, "--corpus", *chosen, "--out", str(files / name)]) == 0
    terminal = " ".join(capsys.readouterr().out.split())
    assert main(["merge", str(files / "a"), str(files / "b"), "--out", str(files / "merged")]) == 0
    assert main(["report", str(files / "whole"), "--out", str(files / "again")]) == 0
    names = ("whole", "parts", "workers", "merged", "again", "a", "b")
    records = {name: json.loads((files / name / "run.json").read_text()) for name in names}
    sentences = load_treebank([first, second])
    expected = naive(tiny.tokenizer("wordpiece"), sentences)
    for name in names[:5]:
        assert {key: records[name]["text_fit"][key] for key in expected} == expected, name
        assert records[name]["text_fit"] == records["whole"]["text_fit"]
    warning = TextFit.read_record(records["whole"]["text_fit"]).warning
    for name in ("whole", "parts", "workers", "merged", "again"):
        assert records[name]["warnings"][0] == warning, name
        assert sum("of the words have unknown pieces" in each for each in records[name]["warnings"]) == 1
    summary = records["whole"]["text_fit"]["summary"]
    assert summary.endswith("; this model was hardly made for this language.")
    assert summary in terminal
    for name in ("whole", "merged", "again"):
        assert f'<p class="careful">{summary}</p>' in (files / name / "report.html").read_text()
    assert summary in closing_lines(records["whole"], files)


def test_a_survey_has_the_numbers_of_single_runs_and_shows_them(files):
    model, options = str(files / "model"), [CountOptions(replicates=0)]
    treebanks = [str(files / f"{name}.conllu") for name in ("first", "known", "absent")]
    surveyed = survey(model, treebanks, maps=["weight", "norm"], options=options)
    cells = surveyed.cells_table
    assert list(cells) == SURVEY_CELLS.names
    added = ["pieces_per_word", "split_words", "unknown_words", "unknown_pieces", "lost_characters"]
    assert list(cells)[-6:] == [*added, "fits"]
    for path, verdict in zip(treebanks[:2], ("no", "poorly"), strict=True):
        alone = analyze(model, path, analyses="dependency", options=options).record["text_fit"]
        rows = cells[cells["treebank"] == path.rpartition("/")[2].removesuffix(".conllu")]
        assert len(rows) == 2
        for row in rows_of(rows):
            assert {name: row[name] for name in added} == pytest.approx(TextFit.read_record(alone).shares)
            assert row["fits"] == alone["fits"] == verdict
    failed = cells[cells["status"] == "failed"]
    assert failed[added].isna().all(axis=None)
    shown = fit_table(surveyed)
    assert [row["treebank"] for row in shown.rows] == ["first", "known"]
    for cells_of in (on_page, in_latex, partial(cells_in_terminal, width=200)):
        for cells_shown, expected in zip(cells_of(shown), shown.rows, strict=True):
            values = {heading.removesuffix(" %").removesuffix(r" \%"): text for heading, text in cells_shown.items()}
            assert values["treebank"] == expected["treebank"]
            assert float(values["pieces per word"]) == pytest.approx(expected["pieces_per_word"], abs=0.005)
            for heading in ("split words", "unknown words", "unknown pieces", "lost characters"):
                assert float(values[heading]) == pytest.approx(100 * expected[heading.replace(" ", "_")], abs=0.05), (
                    heading
                )
            verdict = {"first": "hardly made for this language", "known": "fits poorly"}[expected["treebank"]]
            assert values["verdict"] == verdict
    assert "hardly made for this language" in read_terminal(in_terminal(surveyed, 200), 200)

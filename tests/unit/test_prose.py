"""The check of prose: which phrases it finds, where it looks for them, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import prose

MODULE = """\
# The colour of a comment,
# which nobody says twice.
CHOICES = ("renormalise", "colour")


def analyse(colour, told):
    '''Of the analysis.

    At most so
    many texts; see `colour`, ``analyse`` and --special renormalise.
    '''
    raise ValueError(f"the behaviour {colour['colour']} is 'colour', {told!r} of so many")
"""


def phrases(name: str, source: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.phrase) for finding in prose.findings(name, source)]


def test_prose_of_a_module_is_read_and_its_code_is_not():
    assert phrases("engine/module.py", MODULE) == [
        (1, "colour"),
        (2, "nobody says"),
        (7, "Of the"),
        (9, "so many"),
        (12, "behaviour"),
        (12, "so many"),
    ]


def test_strings_of_tests_are_data_but_docstrings_are_not():
    assert phrases("tests/unit/test_module.py", MODULE) == [
        (1, "colour"), (2, "nobody says"), (7, "Of the"), (9, "so many")
    ]  # fmt: skip


def test_messages_of_the_explanation_tests_are_prose():
    assert phrases("analyses/explanation/tests/eraser.py", "x = 'so many words'\n") == [(1, "so many")]


def test_a_docstring_below_a_field_is_one():
    source = "class Options:\n    limit: int = 1\n    '''so many'''\n\n    other = 'two colours'\n"
    assert phrases("tests/options.py", source) == [(3, "so many")]
    assert phrases("engine/options.py", source) == [(3, "so many"), (5, "colours")]


def test_phrases_do_not_reach_across_strings():
    assert phrases("a.py", "x = f('it is so', 'many words')  # told\n") == [(1, "told")]


@pytest.mark.parametrize("prefix", ["", "r", "b", "f", "rf"])
def test_prefixes_of_strings(prefix):
    assert phrases("a.py", f"x = {prefix}'''one\n{{analyse}} of so many'''\n")[-1] == (2, "so many")


def test_characters_of_several_bytes_move_nothing():
    assert phrases("a.py", "é = 'ünd so many'  # größer, but for ß\n") == [(1, "so many"), (1, "but for")]


def test_a_page_is_read_but_its_code_and_its_addresses_are_not():
    page = (
        "# The colour\n\n```\nso many colours\n```\n`<colour>` [so\nmany](docs/colour.md), told\n"
        "<https://example.org/colour> ![but for](colour.png)\n"
    )
    assert phrases("docs/page.md", page) == [(1, "colour"), (6, "so many"), (7, "told"), (8, "but for")]


def test_a_template_is_read_but_its_tags_are_not():
    template = (
        '<style>a { colour: red }</style>\n<p class="colour">{{ colour }} so many</p>\n'
        "{# a colour #}<code>told</code>{% if told %}\n"
    )
    assert phrases("analyses/section.html.j2", template) == [(2, "so many"), (3, "colour")]


@pytest.mark.parametrize(
    "good",
    [
        "The best head of the control.",
        "The selected heads, 0-based.",
        "Heads are told apart by their numbers.",
        "so many that they do not fit",
        "analyses of texts, each with its own analysis",
        "An hour of four contours, a promise to comprise precise premises, and capitalist realists",
        "mere acres of ogres",
        "Options of the coreference analysis.",
        "labels, models, and cells are filled and called",
    ],
)
def test_good_prose_is_left_alone(good):
    assert phrases("page.md", good) == []
    assert phrases("a.py", f"'''{good}'''\n") == []


@pytest.mark.parametrize(
    "bad",
    [
        "Of the analysis coreference.", "Of all words.", "0-based.", "Do it; returns the exit status.",
        "Refuse what is impossible.", "What there is.", "The same but sorted.", "The same, but sorted.",
        "and so it is.", "so they do.", "Careful: slow", "at most so many", "is told by", "says nothing to GAP",
        "all but for one", "drawn by a hash", "where nobody says", "lost without a word", "in the place of the weights",
        "colour", "neighbours", "unfavourable", "Behaviour", "normalised", "renormalised", "regularisers",
        "tokenisation", "optimisable", "analysed", "Analyse", "reanalysing", "centred", "metres",
        "modelling", "grey", "artefacts", "licence",
    ],
)  # fmt: skip
def test_bad_prose_is_found(bad):
    for name, source in (("page.md", bad), ("a.py", f"'''{bad}'''\n"), ("tests/a.py", f"x = 1\n'''{bad}'''\n")):
        assert len(prose.findings(name, source)) == 1


def test_findings_are_printed_with_their_line(tmp_path, capsys):
    (tmp_path / "good.md").write_text("All is well.\n")
    (tmp_path / "bad.md").write_text("One line,\nand colour.\n")
    (tmp_path / "data.csv").write_text("colour\n")
    assert prose.main([str(tmp_path / "good.md"), str(tmp_path / "data.csv")]) == 0
    assert capsys.readouterr().out == ""
    assert prose.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{tmp_path}/bad.md:2: colour → American spelling, -or\n"


def test_without_arguments_the_whole_repository_is_read():
    names = {path.relative_to(prose.REPOSITORY).as_posix() for path in prose.files_of([])}
    assert {
        "README.md", "docs/how-to/write-an-analysis.md", "engine/analyze.py", "analyses/norms/section.html.j2",
        "tests/tiny.py", "src/attentionology/__init__.py", "benchmarks/norms.py",
    } <= names  # fmt: skip
    assert not names & set(prose.THEMSELVES)
    assert all((prose.REPOSITORY / name).is_file() for name in prose.THEMSELVES)
    assert all(Path(folder).name in {path.name for path in prose.REPOSITORY.rglob(folder)} for folder in prose.FOLDERS)

"""What a paper says of a run names its model, corpus, versions and options, and cites what was used."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
import yaml

from attentionology.engine.cite import bibtex, methods
from attentionology.scripts.cli import main
from tests.documentation import REPOSITORY, USER_PAGES

RECORD: Any = {
    "command": "attentionology analyze --map norm rollout:globenc",
    "seed": 3,
    "git_commit": None,
    "options": {
        "analyses": ["dependency"], "map": ["norm", "rollout:globenc"], "replicates": 500, "ensembles": 0,
        "relations": ["nsubj", "obj"], "group": ["core=nsubj,obj"], "control": "random-init:2",
    },
    "versions": {"attentionology": "9.8", "transformers": "5.1", "torch": "2.5"},
    "model": {"name": "org/model", "revision": "abc123", "layers": 6, "heads": 12, "weights_sha256": "f" * 64},
    "corpus": {
        "unit": "sentences",
        "counts": {"sentences": 1236, "words": 60000},  # with those that were left out
        "files": [
            {"name": "a.conllu", "sha256": "1" * 64, "source": {"name": "ud:en_ewt:dev", "release": "2.16"}},
            {"name": "mine.conllu", "sha256": "2" * 64, "source": {}},
        ],
    },
    "sentences": {"read": 1234, "words": 56789, "skipped": [{}, {}]},
}  # fmt: skip


def test_methods_name_everything_that_a_reader_needs():
    text = methods(RECORD)
    for part in (
        "1,234 sentences (56,789 words)",
        "ud:en_ewt:dev (Universal Dependencies 2.16) and mine.conllu (SHA-256 222222222222)",
        "org/model (revision abc123, 6 layers of 12 heads, SHA-256 of the weights ffffffffffff)",
        "norm, rollout:globenc with attentionology 9.8, transformers 5.1 and torch 2.5.",
        "2 sentences were left out.",
        "Before the run, we chose the relations nsubj, obj.",
        "Groups of relations are core=nsubj,obj.",
        "500 bootstrap replicates (seed 3)",
        "The control is random-init:2.",
        "The command was: attentionology analyze --map norm rollout:globenc",
    ):
        assert part in text


def test_methods_name_one_of_a_thing_in_the_singular():
    model = {**RECORD["model"], "layers": 1, "heads": 1}
    options = {**RECORD["options"], "replicates": 1}
    text = methods(
        {**RECORD, "model": model, "options": options, "sentences": {"read": 1, "words": 1, "skipped": [{}]}}
    )
    assert text.startswith("We read 1 sentence (1 word) of ud:en_ewt:dev")
    assert "1 layer of 1 head, SHA-256" in text
    assert "Intervals are from 1 bootstrap replicate (seed" in text
    assert "1 sentence was left out." in text


def test_methods_say_how_much_of_documents_was_read():
    coreference = {
        "account": {"anaphors": 2960, "scored": 255},
        "notes": ["Read of each document: the first 128 pieces.", "Agreement: tags."],
    }
    text = methods({**RECORD, "coreference": coreference})
    said = "the first 128 pieces. 255 of the 2,960 mentions that have an antecedent were scored."
    assert said in text
    assert "Agreement" not in text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"clark", "kobayashi-etal-2020", "abnar", "modarressi", "de-marneffe"}),
        ({"map": "weight", "ensembles": 4}, {"clark", "limisiewicz", "ravishankar", "de-marneffe"}),
        ({"map": "weight", "spanning_trees": True}, {"clark", "ravishankar", "de-marneffe"}),
        ({"map": "alti", "analyses": ["norms"]}, {"ferrando", "kobayashi-etal-2020", "kobayashi-etal-2021", "de-m"}),
    ],
)  # fmt: skip
def test_bibtex_has_what_was_used(options, expected):
    entries = bibtex({**RECORD, "options": {**RECORD["options"], **options}})
    keys = re.findall(r"@\w+\{(.*),", entries)
    assert keys.pop() == "attentionology"
    assert "version = {9.8}" in entries
    assert len(keys) == len(expected)
    assert all(any(key.startswith(name) for name in expected) for key in keys)
    assert entries.count("{") == entries.count("}")


@pytest.mark.parametrize(
    ("probes", "added"),
    [
        (["arcs", "label:upos"], set()),
        (["distance"], {"hewitt-manning-2019-structural"}),
        (["depth", "relation:coarse"], {"hewitt-manning-2019-structural", "tenney-etal-2019-you"}),
    ],
)
def test_bibtex_has_the_papers_of_probes_of_states(probes, added):
    keys = [
        set(re.findall(r"@\w+\{(.*),", bibtex(record))) for record in (RECORD, {**RECORD, "states": {"probes": probes}})
    ]
    assert keys[1] - keys[0] == added


def test_bibtex_of_the_toolkit_has_what_the_citation_file_and_the_changelog_say(citation):
    released = dict(
        re.findall(r"^## \[(.+)\] - (\d{4})-", (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    )
    assert citation["version"] in released
    assert str(citation["date-released"]).startswith(released[citation["version"]])
    for version, year in {**released, "9.8": None}.items():
        *_, entry = bibtex({**RECORD, "versions": {"attentionology": version}}).split("\n\n")
        assert entry.startswith("@software{attentionology,\n")
        given = dict(re.findall(r"^  (\w+) *= \{(.*)\},?$", entry, re.MULTILINE))
        assert given == {
            "title": f"{{{citation['title']}}}",
            "author": f"{{{citation['authors'][0]['name']}}}",
            **({"year": year} if year else {}),
            "version": version,
        }


def test_papers_are_those_of_the_citation_file():
    file = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    entries = (REPOSITORY / "engine" / "papers.bib").read_text(encoding="utf-8").split("\n@")
    fields = [dict(re.findall(r"^  (\w+) *= \{(.*)\},?$", entry, re.MULTILINE)) for entry in entries]
    papers = {paper["title"].strip("{}"): paper for paper in fields if paper}
    corpora = {"Universal Dependencies"}  # which are cited as their authors ask
    assert {reference["title"] for reference in file["references"]} == papers.keys() - corpora
    for reference in file["references"]:
        paper = papers[reference["title"]]
        names = [f"{author['family-names']}, {author['given-names']}" for author in reference["authors"]]
        assert paper["author"].split(" and ") == names
        place = paper.get("booktitle", paper.get("journal"))
        assert (int(paper["year"]), place) == (reference["year"], reference["collection-title"])


def test_the_command_prints_both_parts(tmp_path, capsys):
    (tmp_path / "run.json").write_text(json.dumps(RECORD), encoding="utf-8")
    assert main(["cite", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{methods(RECORD)}\n\n{bibtex(RECORD)}\n"
    assert main(["cite", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"methods": methods(RECORD), "bibtex": bibtex(RECORD)}


@pytest.fixture
def citation():
    return yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "nowhere does not exist, or is no folder"),
        ("", "is not the folder of a run"),
        ("survey", "no run of one model on one corpus, which can be cited, but of the command attentionology survey"),
    ],
)
def test_what_cannot_be_cited_is_refused(tmp_path, name, message, capsys):
    record = {"command": "attentionology survey --models a b", "versions": {"attentionology": "0.3.0"}}
    (tmp_path / "survey").mkdir()
    (tmp_path / "survey" / "run.json").write_text(json.dumps(record))
    assert main(["cite", str(tmp_path / name)]) == 1
    assert message in " ".join(capsys.readouterr().err.split())


def test_it_agrees_with_the_project_file(citation):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert citation["keywords"] == project["keywords"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
    assert citation["authors"][0]["name"] in (REPOSITORY / "LICENSE").read_text(encoding="utf-8")


def test_the_documentation_names_the_references(citation):
    pages = "".join(page.read_text(encoding="utf-8") for page in USER_PAGES)
    cited = {(paper["authors"][0]["family-names"], paper["year"]) for paper in citation["references"]}
    for name, year in cited:
        assert isinstance(year, int)
        assert name in pages
    assert {("Clark", 2019), ("Kobayashi", 2020), ("Kobayashi", 2021), ("Kobayashi", 2024), ("DeYoung", 2020)} <= cited

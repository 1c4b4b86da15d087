"""A coreference corpus that is read again from its files, and its windows, against the same corpus in memory."""

from __future__ import annotations

import gzip
import tempfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attentionology.analyses.coreference.decisions import account, choices
from attentionology.corpora_loaders import CorpusError, documents
from attentionology.corpora_loaders.coreference.document import beginning_of
from attentionology.corpora_loaders.documents import Documents, load_documents
from attentionology.engine.counting.parts import content_of_inputs
from attentionology.extractors import make_windows
from tests import tiny
from tests.corpora import assert_same
from tests.unit.coreference.test_benchmarks import HEADER as GAP_HEADER
from tests.unit.coreference.test_benchmarks import row as gap_row
from tests.unit.coreference.test_entities import token
from tests.unit.test_streamed_treebank import in_files


def in_memory(paths, **options):
    """The corpus with all documents in memory, and their sentences made by hand."""
    with patch.object(documents, "HELD_IN_DOCUMENTS", 10**9):
        held = load_documents(paths, **options)
    read = tuple(held.documents)
    sentences = tuple(sentence for document in read for sentence in document.sentences)
    return Documents(sentences, held.files, read, held.account, held.renamed)


def check_same(paths, **options):
    """Compare a corpus in its files with one in memory, unless it has an error, which the same code finds."""
    try:
        load_documents(paths, **options)
    except CorpusError:
        return
    held, lazy = in_memory(paths, **options), load_documents(paths, **options)
    assert_same(lazy, held)
    assert list(lazy.documents) == list(held.documents)
    backwards = range(len(lazy.documents) - 1, -1, -1)
    assert [lazy.documents[position] for position in backwards] == list(held.documents)[::-1]
    assert lazy.facts == held.facts


def columns(name, sentences, *, begin=True, end=True):
    """A document in CoNLL-2012 columns; each sentence is a list of brackets."""
    rows = "\n".join("".join(f"word{k} {cell}\n" for k, cell in enumerate(cells)) for cells in sentences)
    return (f"#begin document ({name})\n" if begin else "") + rows + ("\n#end document\n" if end else "")


def entities(name, sentences, *, header=True):
    """A document in CoNLL-U; each sentence is a list of brackets, in which - stands for none."""
    text = f"# newdoc id = {name}\n" if name else "# newdoc\n"
    text += "# global.Entity = eid-etype-head\n" if header else ""
    for cells in sentences:
        for number, cell in enumerate(cells, start=1):
            text += token(number, f"word{number}", head=number - 1, misc="_" if cell == "-" else f"Entity={cell}")
        text += "\n"
    return text


CELLS = {
    "columns": ["-", "(1)", "(2)", "(1", "1)", "(3)|(1)"],
    "entities": ["-", "(e1-x-1)", "(e2-x-1)", "(e1-x-1", "e1)"],
}
NAMES = st.sampled_from(["a", "b", "a#2", ""])


@st.composite
def files(draw, form):
    """The text of a file with some documents, of which some have faults."""
    cells = st.sampled_from(CELLS[form][:3] + (CELLS[form] if draw(st.booleans()) else []))
    sentences = st.lists(st.lists(cells, min_size=1, max_size=3), min_size=1, max_size=3)
    documents = draw(st.lists(st.tuples(NAMES, sentences, st.booleans()), min_size=1, max_size=5))
    if form == "columns":
        complete = draw(st.booleans())  # a document that is not ended is a fault
        return "".join(columns(name, of_document, end=flag or complete) for name, of_document, flag in documents)
    return "".join(
        entities(name, of_document, header=flag or not number)
        for number, (name, of_document, flag) in enumerate(documents)
    )


@pytest.mark.parametrize("form", ["columns", "entities"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), size=st.integers(1, 4), lenient=st.booleans(), limit=st.none() | st.integers(1, 6))
def test_everything_is_the_same(form, data, size, lenient, limit):
    contents = data.draw(st.lists(files(form), min_size=1, max_size=3))
    with tempfile.TemporaryDirectory() as folder, in_files(size):
        paths = [Path(folder, f"{number}.conll") for number in range(len(contents))]
        for number, (path, content) in enumerate(zip(paths, contents, strict=True)):
            path.write_bytes(gzip.compress(content.encode()) if number == 1 else content.encode())
        check_same(paths, lenient=lenient, limit=limit, mentions_needed=data.draw(st.booleans()))


FILES = {
    "one document without begin": columns("", [["(1)", "-"], ["(1)"]], begin=False, end=False),
    "a hash as a word": columns("a", [["(1)"]]) + "\n#begin document (b)\n# (2)\nword (2)\n#end document\n",
    "sentences before the first document": entities("", [["(e1-x-1)"]])[9:]
    + entities("d", [["(e1-x-1)"]], header=False),
    "GAP": GAP_HEADER + "".join(gap_row(f"g-{number % 3}") for number in range(5)),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("limit", [None, 2])
def test_files_of_all_formats_are_the_same(name, limit, tmp_path):
    (tmp_path / "file").write_text(FILES[name])
    with in_files(2):
        check_same([tmp_path / "file"], limit=limit)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coref/ontogum_dev.v4_gold_conll", "coref/gap-development.tsv"])
def test_real_corpora_are_the_same(name, data_file):
    with in_files(200):
        check_same([data_file(name), data_file("coref/dev_type1_anti.v4_auto_conll")], limit=100)


@cache
def encoder():
    return tiny.encoder("bert", max_position_embeddings=200)


def long_documents(number):
    """Documents in which an entity of the beginning is mentioned again after the first window."""
    first = [["(e1-x-1)", "(e2-x-1)", "-"], ["(e1-x-1)", "(e3-x-1", "-"]]
    second = [["-", "e3)", "(e2-x-1)"], ["(e4-x-1)", "(e1-x-1)"]]
    cells = [first[0], *second[1:], *first[1:], *second, ["-"] * 4]
    return "".join(entities(f"d{k % 7}", cells[k % 2 :]) for k in range(number))


@pytest.mark.parametrize("stride", [0, 3])
def test_windows_are_those_of_loaded_documents(stride, tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(long_documents(12))
    corpus = in_memory(path)
    loaded = make_windows(encoder(), corpus, length=12, stride=stride)
    with in_files(4):
        source = load_documents(path)
        lazy = make_windows(encoder(), source, length=12, stride=stride)
        assert (lazy.counts(), lazy.remarks(), lazy.cut) == (loaded.counts(), loaded.remarks(), loaded.cut)
        assert lazy == make_windows(encoder(), load_documents(path), length=12, stride=stride)
        assert content_of_inputs(lazy) == content_of_inputs(loaded), "the keys of parts"
        assert content_of_inputs(lazy.sentences[3:8]) == content_of_inputs(loaded[3:8])
        for mine, theirs in zip(lazy.sentences, loaded.sentences, strict=True):
            assert (mine.id, mine.words, mine.start, mine.seen) == (theirs.id, theirs.words, theirs.start, theirs.seen)
            assert (mine.document, mine.file, mine.line) == (theirs.document, theirs.file, theirs.line)
            for singletons in (True, False):
                expected = list(choices(theirs, singletons=singletons))
                assert list(choices(mine, singletons=singletons)) == expected
        assert account(source, lazy.sentences) == account(corpus, loaded.sentences)
        assert (lazy[-1].id, lazy.sentences[3:5][1].id) == (loaded[-1].id, loaded[4].id)


@pytest.mark.parametrize("stop", range(1, 11))
def test_the_beginning_of_a_document_decides_as_all_of_it(stop, tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(long_documents(1))
    [document] = load_documents(path).documents
    beginning = beginning_of(document, stop)
    before = document.starting(0, stop)
    assert beginning.words == document.words[: len(beginning.words)]
    assert len(beginning.words) >= stop
    assert beginning.mentions == document.mentions[: before.stop]
    assert beginning.anaphors == {index for index in document.anaphors if index in before}
    for mention in beginning.mentions:
        assert beginning.is_singleton(mention) == document.is_singleton(mention)
        assert beginning.text(mention) == document.text(mention)


def test_kept_windows_have_only_the_beginnings_of_documents(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(entities("a", [["(e1-x-1)", "-"]] * 50) * 20)
    with in_files(50):
        held = list(make_windows(encoder(), load_documents(path), length=12, stride=0).sentences)
    assert [len(window.source.sentences) for window in held] == [-(-window.stop // 2) for window in held]
    assert max(window.stop for window in held) < 12

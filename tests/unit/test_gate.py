"""What a corpus must have so that it can be analyzed, whoever loads it."""

from __future__ import annotations

import re

import pytest

from attentionology import (
    CorpusError,
    CountOptions,
    Sentence,
    Treebank,
    analyze,
    load_labeled,
    load_text,
    load_treebank,
    probe,
    survey,
)
from attentionology.corpora_loaders.alignment import load_bitext
from attentionology.corpora_loaders.documents import load_documents
from attentionology.corpora_loaders.gate import MOST_BLANK, blank_words
from tests import tiny
from tests.corpora import chain, word

WORDS = ("Nous", "lisons", "de", "vieux", "livres")


def treebank_of(n_blank: int, n_sentences: int = 20, form: str = "_") -> str:
    """Sentences of five words, ``n_blank`` of which are blank, one in each of the last sentences."""
    full = n_sentences - n_blank
    return "".join(chain(WORDS if n < full else ("Nous", form, *WORDS[2:]), f"s{n}") for n in range(n_sentences))


# blank words


@pytest.mark.parametrize(("n_blank", "refused"), [(10, False), (11, True)])
def test_the_share_of_blank_words_decides(write, n_blank, refused):
    """Of 100 words, a tenth may be blank."""
    path = write(treebank_of(n_blank))
    assert MOST_BLANK == 0.1
    if refused:
        with pytest.raises(
            CorpusError, match=r"11\.0 % of the words are blank \(11 of 100, most of them '_'\)"
        ) as caught:
            load_treebank(path)
        assert caught.value.file == path
        assert "the README of the treebank says where it can be had" in str(caught.value)
    else:
        assert load_treebank(path).counts()["blank_words"] == 10


def test_few_blank_words_are_read_counted_said_and_not_scored(write):
    bank = load_treebank(write(treebank_of(2)))
    assert bank[19].words == ("Nous", "_", *WORDS[2:])
    assert bank[19].heads == (0, None, 2, 3, 4)
    assert bank[0].heads == (0, 1, 2, 3, 4)
    assert dict(bank.relations) == {"dep": 20 * 4 - 2, "root": 20}
    assert bank.remarks()[-1] == "Blank words (_ or [WORD]), of which none is scored: 2 of 100, 2 %."
    assert "blank_words" not in load_treebank(write(treebank_of(0))).counts()


def test_an_underscore_is_a_word_where_the_treebank_says_so():
    words = ("_", "_", "_", "[WORD]", " ", "a")
    assert blank_words(Sentence("s", words)) == (0, 1, 2, 3, 4)
    assert blank_words(Sentence("s", words, tags=("PUNCT", "SYM", "NOUN", "X", "X", "X"))) == (2, 3, 4)
    assert blank_words(Sentence("s", words, multiword=((1, 2, "du"), (3, 4, "_")))) == (2, 3, 4)


NAMES = [
    pytest.param("en_ewt-train", marks=pytest.mark.slow),
    "en_ewt-dev",
    "tr_imst-dev",
    "en_gum-dev",
    "zh_gsdsimp-dev",
]


@pytest.mark.parametrize("name", NAMES)
def test_real_treebanks_have_no_blank_words(data_file, name):
    """Five underscores of EWT are punctuation, and one word of IMST has its text in its multiword token."""
    bank = load_treebank(data_file(f"ud/{name}.conllu"))
    assert "blank_words" not in bank.counts()


def test_underscores_that_are_words_are_no_blank_words(data_file, write):
    """The sentences of a large treebank that have them."""
    blocks = data_file("ud/en_ewt-train.conllu").read_text(encoding="utf-8").split("\n\n")
    found = [block for block in blocks if re.search(r"(?m)^\d+\t_\t", block)]
    assert len(found) > 1
    assert "blank_words" not in load_treebank(write("\n\n".join(found) + "\n\n")).counts()


def blank_files(folder):
    """Files of all formats, most of whose words are blank."""
    blank, pairs = ["Nous", "_", "_", "."], [f"Nous _ _ ||| We _ {n}\n" for n in range(9)]
    rows = "".join(
        f"d\t0\t{number}\t[WORD]\tNN\t*\t-\t-\t-\t-\t*\t{'(1)' if number < 2 else '-'}\n" for number in range(4)
    )
    contents = {
        "a.conllu": (load_treebank, chain(blank)),
        "b.txt": (load_text, "Nous _ _ .\n"),
        "c.conll": (load_documents, f"#begin document (d); part 000\n{rows}\n#end document\n"),
        "d.tsv": (load_labeled, "label\ttext\n1\tNous _ _ .\n0\t_ _ .\n"),
        "e.pairs": (load_bitext, "".join(pairs)),
    }
    for name, (load, content) in contents.items():
        (folder / name).write_text(content)
        yield folder / name, load


def test_every_loader_asks(tmp_path):
    refused = {}
    for path, load in blank_files(tmp_path):
        with pytest.raises(CorpusError, match="this corpus was released without its words") as caught:
            load(path)
        assert caught.value.file is not None
        refused[path.name] = str(caught.value)
    assert len(refused) == 5
    assert "LDC2013T19" in refused["c.conll"]
    assert "every form is '[WORD]'" in refused["c.conll"]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        (
            "UD_French-FTB/fr_ftb-ud-dev.conllu",
            "UD_French-FTB needs the text of the original corpus: the French Treebank",
        ),
        (
            "data/ar_nyuad-ud-dev.conllu",
            "UD_Arabic-NYUAD needs the text of the original corpus: the Penn Arabic Treebank",
        ),
        ("UD_Finnish-FTB/fi_ftb-ud-dev.conllu", "UD_Finnish-FTB needs the text of the original corpus; the README"),
        ("my_bank.conllu", "it needs the text of the original corpus; the README"),
    ],
)
def test_the_error_says_where_the_text_can_be_had(tmp_path, name, source):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(treebank_of(15))
    with pytest.raises(CorpusError) as caught:
        load_treebank(path)
    assert source in str(caught.value)


def test_a_readme_beside_the_file_is_named_if_it_says_that_there_is_no_text(write):
    path = write(treebank_of(15))
    path.with_name("README.md").write_text("# Get it\n\nIncludes text: no\n")
    with pytest.raises(CorpusError, match=rf"original corpus; {path.with_name('README.md')} says how it is merged"):
        load_treebank(path)


def test_mentions_whose_head_is_blank_are_not_scored(write):
    names = ["Ann", "slept", "."] * 6
    cells = ["(1)", "-", "-"] * 6
    names[3] = "[WORD]"
    rows = "".join(f"{name}\t{cell}\n" for name, cell in zip(names, cells, strict=True))
    documents = load_documents(write(f"#begin document (d)\n{rows}#end document\n", "d.conll"))
    assert [mention.head for mention in documents.documents[0].mentions] == [0, None, 6, 9, 12, 15]
    assert documents.counts()["blank_words"] == 1
    assert "Blank words (_ or [WORD]), of which none is scored: 1 of 18, 6 %." in documents.remarks()


# trees


def roots(words=WORDS, name="") -> str:
    """A sentence whose words are all roots, as in an export without a parse."""
    rows = [word(number, form, 0, "_" if form != "." else "punct") for number, form in enumerate(words, start=1)]
    return "".join([f"# sent_id = {name}\n", *rows, "\n"])


@pytest.fixture
def refused_without_trees(write, encoder):
    """A function that checks that a treebank is refused wherever trees are needed, and nowhere else."""

    def check(text: str, message: str) -> None:
        path = write(text)
        options = [CountOptions(replicates=0)]
        bank = load_treebank(path)
        for needs_trees in (
            lambda: analyze(encoder, path, analyses="dependency", options=options),
            lambda: analyze(encoder, bank, analyses="dependency", options=options),
            lambda: analyze(encoder, list(bank), analyses=["surface", "dependency"], options=options),
            lambda: probe(encoder, test=path),
            lambda: probe(encoder, test=bank, train=load_treebank(from_string=chain(WORDS))),
        ):
            with pytest.raises(CorpusError, match=message) as caught:
                needs_trees()
            assert caught.value.file in (str(path), None)  # sentences from Python have no file
        cells = survey("demo", path, options=options).cells_table
        assert cells["status"].tolist() == ["failed"]
        assert "no word has a head in its sentence" in cells["reason"].tolist()[0]
        assert analyze(encoder, path, analyses="surface", options=options).surface.tables.counts["inputs"].max() > 0

    return check


def test_an_export_without_a_parse_is_refused_by_what_needs_trees(refused_without_trees):
    every_head_is_0 = "no word has a head in its sentence, which .* needs; every head is 0, as in an export without a"
    refused_without_trees("".join(roots(name=f"s{n}") for n in range(5)), every_head_is_0)


def test_heads_that_are_not_given_are_refused_by_what_needs_trees(refused_without_trees):
    rows = [word(number, form, "_", "dep") for number, form in enumerate(WORDS, start=1)]
    refused_without_trees("".join([*rows, "\n"]) * 3, "no word has a head in its sentence, which")


def test_sentences_of_roots_alone_are_read_beside_others_and_so_are_single_words(write, encoder):
    options = CountOptions(replicates=0)
    for text, words in ((roots() + chain(WORDS), 10), (roots(["Go"]) + roots(["Stop"], "b"), 2)):
        best = analyze(encoder, write(text), analyses="dependency", options=options).dependency.best
        assert best.set_index("relation").loc["all", "total"] == words


def test_heads_of_mentions_are_not_those_of_an_export_without_a_parse(write):
    cells = {1: "Entity=(e1-person-", 2: "Entity=e1)", 4: "Entity=(e1-person-)"}
    forms = ["the", "dog", "saw", "it"]
    tags = ["DET", "NOUN", "VERB", "PRON"]
    heads = {"parsed": (2, 3, 0, 3), "roots": (0, 0, 0, 0)}
    rules = {}
    for name, heads_of_words in heads.items():
        rows = [
            word(n, form, head, "dep", upos=tag, misc=cells.get(n, "_"))
            for n, (form, tag, head) in enumerate(zip(forms, tags, heads_of_words, strict=True), start=1)
        ]
        text = "".join(["# global.Entity = eid-etype-\n", *rows, "\n"])
        (document,) = load_documents(write(text, f"{name}.conllu")).documents
        assert [mention.head for mention in document.mentions] == [1, 3]
        rules[name] = document.head_rule
    assert rules["parsed"] == "the word whose syntactic head is outside the mention"
    assert rules["roots"].startswith("the last word of the first simple noun phrase")


# from Python


def made(text: str) -> Treebank:
    """The sentences of a treebank as if they had been made by hand."""
    rows = [[line.split("\t") for line in block.split("\n") if "\t" in line] for block in text.strip().split("\n\n")]
    return Treebank(
        tuple(
            Sentence(f"s{n}", tuple(r[1] for r in row), tuple(int(r[6]) for r in row), tuple(r[7] for r in row))
            for n, row in enumerate(rows)
        )
    )


@pytest.fixture(scope="module")
def encoder():
    return tiny.encoder("bert")


def test_sentences_from_python_are_held_to_the_same(encoder):
    options = CountOptions(replicates=0)
    for refused in (
        lambda corpus: analyze(encoder, corpus, analyses="surface", options=options),
        lambda corpus: analyze(encoder, list(corpus), analyses="dependency", options=options),
        lambda corpus: probe(encoder, test=corpus),
    ):
        with pytest.raises(CorpusError, match=r"15\.0 % of the words are blank"):
            refused(made(treebank_of(15)))
    run = analyze(encoder, made(treebank_of(2)), analyses="dependency", options=options)
    best = run.dependency.best.set_index("relation")["total"]
    assert (best["all"], best["dep"]) == (98, 78)
    assert run.record["corpus"]["counts"]["blank_words"] == 2


def test_a_cycle_from_python_is_an_error_that_names_the_sentence(encoder):
    good = Sentence("good", ("a", "b"), (0, 1), ("root", "dep"))
    turning = Sentence("turning", ("so", "it", "goes", "on"), (0, 4, 2, 3), ("root", "dep", "dep", "dep"))
    with pytest.raises(
        CorpusError, match=r"^sentence 'turning': the heads form a cycle: 2 'it' → 4 'on' → 3 'goes' → 2 'it'$"
    ):
        analyze(encoder, [good, turning], analyses="dependency", options=CountOptions(replicates=0))
    with pytest.raises(CorpusError, match="sentence 'turning': the heads form a cycle"):
        probe(encoder, test=Treebank((good, turning)))

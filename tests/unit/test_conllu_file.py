"""CoNLL-U files: what is read from them, and their mistakes, which are reported together."""

import bz2
import gzip
import lzma

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attentionology.corpora_loaders import CorpusError, load_treebank, read_conllu
from attentionology.corpora_loaders.documents import load_documents
from tests.corpora import word


@pytest.fixture
def read(write):
    return lambda *file: list(read_conllu(write(*file)))


GOOD = "# sent_id = good\n" + word(1, "Yes") + "\n"


def test_each_column_goes_into_its_field(read):
    line = "1\tform\tlemma\tUPOS\txpos\tFeat=A\t0\troot\t0:root\tMisc=B\n"
    [sentence] = read("# sent_id = s1\n# text = form\n# genre = letter\n" + line)
    assert (sentence.words, sentence.lemmas, sentence.tags) == (("form",), ("lemma",), ("UPOS",))
    assert (sentence.xpos, sentence.feats, sentence.heads) == (("xpos",), ("Feat=A",), (0,))
    assert (sentence.relations, sentence.deps, sentence.misc) == (("root",), ("0:root",), ("Misc=B",))
    assert (sentence.id, sentence.text) == ("s1", "form")
    assert sentence.comments == {"sent_id": "s1", "text": "form", "genre": "letter"}


def test_empty_columns_stay_underscores_and_a_missing_head_is_none(read):
    [sentence] = read(word(1, head="_", relation="_") + word(2))
    assert sentence.heads == (None, 0)
    assert sentence.relations == ("_", "dep")
    assert sentence.lemmas == sentence.tags == sentence.feats == sentence.deps == ("_", "_")


def test_multiword_tokens_are_kept_beside_their_words(read):
    rows = word("1-2", "du", "_") + word(1, "de") + word(2, "le") + word(3, "lit") + word("4-5", "aux", "_")
    [sentence] = read(rows + word(4, "à") + word(5, "les"))
    assert sentence.words == ("de", "le", "lit", "à", "les")
    assert sentence.multiword == ((1, 2, "du"), (4, 5, "aux"))


def test_empty_nodes_are_not_words(read):
    numbers = ["0.1", *range(1, 9), "8.1", "8.2", 9]
    [sentence] = read("".join(word(n, f"w{n}", "_" if "." in str(n) else "0", deps="8:dep") for n in numbers))
    assert sentence.words == tuple(f"w{n}" for n in range(1, 10))
    assert sentence.empty_nodes == ("0.1", "8.1", "8.2")


def test_enhanced_dependencies_stay_text(read):
    [sentence] = read(word(1, deps="0:root|3.1:conj:and") + word(2, head=1, deps="1:nmod:of:gen"))
    assert sentence.deps == ("0:root|3.1:conj:and", "1:nmod:of:gen")


def test_a_document_lasts_until_the_next_one(read, tmp_path):
    """One may be announced in a block of comments, and may have no id or an empty one."""
    blocks = GOOD + "# newdoc id = a b\n\n" + GOOD + GOOD + "# newdoc\n" + GOOD + GOOD + "#newdoc id=c\n" + GOOD
    sentences = read(blocks + "# newdoc id =\n" + GOOD)
    path = str(tmp_path / "file.conllu")
    assert [s.document for s in sentences] == [None, "a b", "a b", *[f"{path}:doc2"] * 2, "c", f"{path}:doc4"]
    assert [(s.file, s.line) for s in sentences[:3]] == [(path, 1), (path, 6), (path, 9)]


def test_sentences_without_id_are_numbered_in_their_file(read):
    unnamed = word(1) + "\n"
    sentences = read(unnamed + GOOD + "# only a comment\n\n" + unnamed)
    assert [s.id for s in sentences] == ["file.conllu:1", "good", "file.conllu:3"]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n"), min_size=1).filter(str.strip))
@example("20 000  0")
@example("20\u00a0000\u2028b\x85b\x0bb")
@example("#")
@example("1-2")
def test_any_form_and_text_without_tab_and_line_end_survives(tmp_path_factory, form):
    path = tmp_path_factory.mktemp("forms") / "file.conllu"
    path.write_bytes(f"# text = {form}.\n{word(1, form)}{word(2, 'next', 1)}".encode())
    [sentence] = read_conllu(path)
    assert sentence.words == (form, "next")
    assert sentence.text == f"{form}.".lstrip()


def test_equals_signs_and_spaces_in_values_survive(read):
    feats, misc = "A=B=C|D=E  F", "Gloss=to  be = x|Ref==|SpacesAfter=\u00a0 "
    [sentence] = read("# text = a = b  c\n" + word(1, feats=feats, misc=misc))
    assert (sentence.feats, sentence.misc, sentence.text) == ((feats,), (misc,), "a = b  c")


@pytest.mark.parametrize(
    "content",
    [
        GOOD + word(1, "No"),
        GOOD + word(1, "No").rstrip("\n"),
        "\n\n" + GOOD + "\n \n\t\n" + word(1, "No") + "\n\n\n",
        "# a remark\n\n" + GOOD + "# sentence none\n\n" + word(1, "No") + "\n# the end\n",
        "\ufeff" + GOOD + word(1, "No"),
        (GOOD + word(1, "No")).replace("\n", "\r\n"),
        gzip.compress((GOOD + word(1, "No")).encode()),
        gzip.compress(("\ufeff" + GOOD + word(1, "No")).encode()),
        bz2.compress(("\ufeff" + GOOD + word(1, "No")).encode()),
        lzma.compress(("\ufeff" + GOOD + word(1, "No")).encode()),
    ],
    ids=[
        "no blank at end",
        "no line end",
        "many blanks",
        "comments alone",
        "BOM",
        "CRLF",
        "gzip",
        "gzip with BOM",
        "bzip2 with BOM",
        "xz with BOM",
    ],
)
def test_file_variants_hold_the_same_two_sentences(read, content):
    first, second = read(content)
    assert (first.id, first.words, first.misc) == ("good", ("Yes",), ("_",))
    assert (second.id, second.words, second.misc) == ("file.conllu:2", ("No",), ("_",))


def test_a_file_named_gz_need_not_be_compressed(read):
    assert [s.id for s in read(GOOD, "plain.conllu.gz")] == ["good"]


def test_conll_x(read):
    first, second = read(
        "1\tCathy\tCathy\tN\tN\teigen|ev\t2\tsu\t_\t_\n2\tzag\tzie\tV\tV\ttrans\t0\tROOT\t0\tROOT\n\n"
        "1\then\then\tPron\tPron\tper|3\t0\tROOT\t_\t_\n"
    )
    assert first.words == ("Cathy", "zag")
    assert first.tags == ("N", "V")
    assert (first.heads, first.relations) == ((2, 0), ("su", "ROOT"))
    assert (first.deps, first.misc) == (("_", "0"), ("_", "ROOT"))  # PHEAD and PDEPREL
    assert (first.id, first.document, first.text) == ("file.conllu:1", None, None)
    assert second.id == "file.conllu:2"


ROW = word(1).rstrip("\n")
BAD = {  # rows after line 4, the line to blame, what the message says
    "nine columns": (ROW.removesuffix("\t_"), 5, "expected 10 tab-separated columns, found 9"),
    "fourteen columns": (word(1) + ROW.replace("1", "2", 1) + "\t_" * 4, 6, "columns, found 14"),
    "spaces": (ROW.replace("\t", "    "), 5, "found 1; are the columns separated by spaces"),
    "id skipped": (word(1) + word(3), 6, "expected word id 2, found '3'"),
    "id not from one": (word(0), 5, "expected word id 1, found '0'"),
    "id repeated": (word(1) + word(2) + word(2), 7, "expected word id 3, found '2'"),
    "id missing": (word(1) + word("_"), 6, "expected word id 2, found '_'"),
    "id a word": (word(1) + word("two"), 6, r"id \(column 1\) 'two' is not a number"),
    "range backwards": (word("2-1") + word(1) + word(2), 5, r"id \(column 1\) '2-1'"),
    "head a word": (word(1) + word(2, head="root"), 6, r"head \(column 7\) of word 2 is 'root', not a number"),
    "head empty": (word(1, head=""), 5, "of word 1 is '', not a number"),
    "head beyond": (word(1) + "# note\n" + word(2, head=3), 7, "head of word 2 is 3, which is outside 0 … 2"),
    "head negative": (word(1) + word(2, head=-1), 6, "head of word 2 is -1, which is outside 0 … 2"),
    "form empty": (word(1) + word(2, form=""), 6, r"form \(column 2\) is empty"),
    "row of tabs": (word(1) + "\t" * 9 + "\n" + word(2), 6, r"form \(column 2\) is empty"),
    "relation empty": (word(1, relation=""), 5, "the relation .column 8. of word 1 is ''"),
    "relation padded": (word(1, relation=" nsubj"), 5, "not a name or _"),
    "comments of no sentence": ("# text = lost\n\n", 4, "the sentence has comments but no words"),
    "endless number": (word("9" * 5000), 5, "is not a number, range or decimal"),
    "cycle": (
        word(1, "a", 3) + word(2) + word(3, "b", 4) + word(4, "c", 1),
        5,
        r"cycle: 1 'a' \(line 5\) → 3 'b' \(line 7\) → 4 'c' \(line 8\) → 1 'a' \(line 5\)$",
    ),
    "cycle above": (
        word(1, head=3) + word(2, "up", 3) + "# note\n" + word(3, "on", 2) + word(4),
        6,
        r"cycle: 2 'up' \(line 6\) → 3 'on' \(line 8\) → 2 'up' \(line 6\)$",
    ),
    "self-loop": (word(1) + word(2, "me", 2), 6, r"cycle: 2 'me' \(line 6\) → 2 'me' \(line 6\)$"),
    "ranges overlap": (word("1-2") + word(1) + word("2-3") + word(2) + word(3), 7, "2-3 overlaps"),
    "range repeated": (word("1-2") + word("1-2") + word(1) + word(2), 6, "1-2 overlaps"),
    "range early": (word(1) + word("3-4") + word(2) + word(3) + word(4), 6, "3-4 .* out of order"),
    "range late": (word(1) + word("1-2") + word(2), 6, "1-2 .* out of order"),
    "no words": (word("1-2"), 4, "no words"),
    "empty nodes only": (word("0.1"), 4, "no words"),
}


@pytest.mark.parametrize(("rows", "line", "message"), BAD.values(), ids=BAD)
def test_error_names_file_line_and_sentence(read, tmp_path, rows, line, message):
    with pytest.raises(CorpusError, match=message) as caught:
        read(GOOD + "# sent_id = bad\n" + rows)
    path = tmp_path / "file.conllu"
    assert (caught.value.file, caught.value.line, caught.value.sentence) == (path, line, "bad")
    assert str(caught.value).startswith(f"{path}:{line}: sentence 'bad': ")


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_error_names_the_line_that_is_not_utf8(read, pack):
    with pytest.raises(CorpusError, match="not UTF-8") as caught:
        read(pack(GOOD.encode() + word(1, "déjà").encode("latin-1")))
    assert caught.value.line == 4


@pytest.mark.parametrize(
    ("name", "packed", "line"),
    [
        ("gzip", gzip.compress(GOOD.encode(), mtime=0)[:-8], 4),  # the checksum is missing, the three lines are not
        ("xz", lzma.compress(GOOD.encode())[:-8], 4),
        ("bzip2", bz2.compress(GOOD.encode()) + bz2.compress(GOOD.encode())[:-8], 7),
    ],
    ids=["gzip", "xz", "bzip2"],
)
def test_error_names_the_line_where_a_compressed_file_breaks_off(read, name, packed, line):
    with pytest.raises(CorpusError, match=f"the {name} file is broken: ") as caught:
        read(packed)
    assert caught.value.line == line


@pytest.mark.parametrize("damaged", [slice(2, 3), slice(10, 20), slice(-8, -4)], ids=["header", "data", "checksum"])
def test_damaged_gzip(read, damaged):
    packed = bytearray(gzip.compress(GOOD.encode()))
    packed[damaged] = b"\xff" * len(packed[damaged])
    with pytest.raises(CorpusError, match="the gzip file is broken"):
        read(bytes(packed))


@pytest.mark.parametrize(
    ("name", "message"), [("none.conllu", "there is no such file"), (".", "a folder; name the files in it")]
)
def test_missing_files_and_folders(tmp_path, name, message):
    with pytest.raises(CorpusError, match=message) as caught:
        list(read_conllu(tmp_path / name))
    assert (caught.value.file, caught.value.line) == (tmp_path / name, None)


@pytest.fixture
def mistakes(read):
    """Read a file, and return the lines of the error without the path of the file."""

    def lines_of_error(content):
        with pytest.raises(CorpusError) as caught:
            read(content)
        return str(caught.value).replace(f"{caught.value.file}:", "").split("\n")

    return lines_of_error


def test_the_mistakes_of_a_file_are_reported_together(mistakes):
    content = (
        GOOD
        + (word(1, "a", "x") + word(2, "b", 9) + word(3, "c", 0, "") + word(5, "d") + "\n")
        + ("# sent_id = s3\n" + word(1, "e", 2) + word(2, "f", 1) + word(3, "g", 7) + word(4, "h", 4) + "\n")
        + ("# sent_id = lost\n\n" + GOOD + "one column\n" + word(1, "i") + "\n" + word("1-3", "j") + word(1, "j"))
    )
    assert mistakes(content) == [
        "4: sentence 'file.conllu:2': the head (column 7) of word 1 is 'x', not a number",
        "6: sentence 'file.conllu:2': the relation (column 8) of word 3 is '', not a name or _",
        "7: sentence 'file.conllu:2': expected word id 4, found '5'",
        "10: sentence 's3': the heads form a cycle: 1 'e' (line 10) → 2 'f' (line 11) → 1 'e' (line 10)",
        "12: sentence 's3': the head of word 3 is 7, which is outside 0 … 4; the blank line 14 ended the sentence",
        "13: sentence 's3': the heads form a cycle: 4 'h' (line 13) → 4 'h' (line 13)",
        "15: sentence 'lost': the sentence has comments but no words; the blank line 16 ended it; "
        "is the file complete?",
        "20: sentence 'file.conllu:5': expected 10 tab-separated columns, found 1; "
        "are the columns separated by spaces?",
        "23: sentence 'file.conllu:6': multiword token 1-3 ends after the last word",
    ]


@pytest.mark.parametrize("number", [2, 10, 11, 500])
def test_ten_mistakes_are_listed(mistakes, number):
    expected = [
        f"{5 * each - 1}: sentence 'file.conllu:{2 * each}': the head of word 1 is 5, which is outside 0 … 1; "
        f"the blank line {5 * each} ended the sentence"
        for each in range(1, number + 1)
    ]
    lines = mistakes("".join(GOOD + word(1, "a", 5) + "\n" for _ in range(number)))
    assert lines == expected[:10] + ["… only the first 10 mistakes are listed"] * (number > 10)


def test_a_mistake_causes_no_others(mistakes):
    skipped = word(1) + word(3, head=5) + word(4, head=1) + word(5, head=4)  # word 2 is missing
    spaces = word(1) + word(2).replace("\t", " ") + word("3.1") + word("4-5") + word(4, head=5) + word(5, head=1)
    assert mistakes(skipped + "\n" + spaces) == [
        "2: sentence 'file.conllu:1': expected word id 2, found '3'",
        "7: sentence 'file.conllu:2': expected 10 tab-separated columns, found 1; are the columns separated by spaces?",
    ]


def test_a_stray_blank_line_is_named_where_the_sentence_breaks(mistakes):
    content = GOOD + word(1, "The", 3) + word(2, "cats", 3) + "\n" + word(3, "sleep", 0) + word(4, ".", 3) + "\n" + GOOD
    assert mistakes(content) == [
        "4: sentence 'file.conllu:2': the head of word 1 is 3, which is outside 0 … 2; the blank line 6 ended the "
        "sentence",
        "5: sentence 'file.conllu:2': the head of word 2 is 3, which is outside 0 … 2; the blank line 6 ended the "
        "sentence",
        "7: sentence 'file.conllu:3': expected word id 1, found '3'; the blank line 6 ended the sentence before",
    ]


@pytest.mark.parametrize("row", [word("3-4", "du"), word("3.1", "e")], ids=["multiword token", "empty node"])
def test_a_stray_blank_line_before_a_row_that_is_no_word(mistakes, row):
    line, *_ = mistakes(GOOD + word(1) + word(2) + "\n\n" + row + word(4) + word(5))
    assert line.startswith("8: sentence 'file.conllu:3': ")
    assert line.endswith("; the blank line 6 ended the sentence before")


def test_a_mistake_and_then_bytes_that_are_not_utf8(mistakes):
    first, second = mistakes((GOOD + word(1, "a", 5) + "\n").encode() + word(1, "é").encode("latin-1"))
    assert first.startswith("4: sentence 'file.conllu:2': the head of word 1 is 5")
    assert second.startswith("6: the file is not UTF-8")


def test_what_is_before_the_first_mistake_can_be_read(write):
    path = write(GOOD + GOOD + word(1, "a", 5) + "\n" + word(1, "a", 6))
    assert len(load_treebank(path, limit=2)) == 2
    for read in (load_treebank, load_documents):
        with pytest.raises(CorpusError, match=r":7: .* is 5, [^\0]*\n.*:9: .* is 6, ") as caught:
            read(path)
        assert (caught.value.file, caught.value.line, caught.value.sentence) == (path, 7, "file.conllu:3")

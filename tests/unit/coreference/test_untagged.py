"""Head words of mentions without tags, above all of names."""

from __future__ import annotations

import numpy as np
import pytest

from attentionology.corpora_loaders.coreference import load_documents
from attentionology.corpora_loaders.coreference.benchmarks import COLUMNS
from attentionology.corpora_loaders.coreference.untagged import untagged_head


@pytest.mark.parametrize(
    ("text", "head"),
    [
        # initials, with the full stop as a part of the word or as a word
        ("Howard M . Colvin", "Colvin"),
        ("Howard M. Colvin", "Colvin"),
        ("George H.W . Bush", "Bush"),
        ("G.K . Moopanar", "Moopanar"),
        ("Mrs R . I . Steyn", "Steyn"),
        ("Deborah L . ` ` Debi", "Deborah"),
        ("J.R .", "J.R"),
        ("the U.S . Congress", "Congress"),
        # quotations and apostrophes inside a name
        ("James ' ' Whitey ' ' Bulger", "Bulger"),
        ("James '' Whitey '' Bulger Jr .", "Bulger"),
        ("Arthur ` ` Big Boy ' ' Crudup of Forest", "Crudup"),
        ("William “ Bill ” Rancic", "Rancic"),
        ("Bonnie 'Prince ' Billy", "Billy"),
        ("Catherine de ' Medici", "Medici"),
        ("Catherine de ' Medici , the queen", "Medici"),
        ('Earvin " Magic "', "Earvin"),
        ('The song " Yesterday " Paul wrote', "song"),
        ('a friend " Bob " Smith', "friend"),
        ('Ann " as ever " said', "Ann"),
        ("Ann ' s", "Ann"),
        # titles, and other abbreviations
        ("Dr . Magnus", "Magnus"),
        ("a Dr. Bailey", "Bailey"),
        ("St . Louis", "Louis"),
        ("the No . 4 seed", "seed"),
        ("Warner Bros . Pictures", "Pictures"),
        ("Dr .", "Dr"),
        # what follows a name
        ("John Hibbett DeWitt Jr .", "DeWitt"),
        ("Robert Downey Jr", "Downey"),
        ("Nicholas E . Gonner Jr .", "Gonner"),
        ("Arch Hall , Sr .", "Hall"),
        ("Paul III . Bernini", "Paul"),
        ("Valdemar IV of Denmark", "Valdemar"),
        ("Charles V , Holy Roman Emperor", "Charles"),
        ("Edward I of England", "Edward"),
        ("Richard Rainshaw Rothwell I", "Rothwell"),
        ("World War II veterans", "veterans"),
        # names that are function words too
        ("Stella May Tackett", "Tackett"),
        ("Theresa May", "May"),
        ("the May election", "election"),
        ("Will Smith", "Smith"),
        ("Mary Will Jones", "Jones"),
        ("Carol Off", "Off"),
        ("Emmett Till 's", "Till"),
        # numbers
        ("1 , 000 people", "people"),
        ("Matthew 12 : 40", "Matthew"),
        ("July 2003", "July"),
        ("January 8 , 1880", "8"),
        ("8 - May - 2006", "8"),
        ("the last 20", "20"),
        ("about 20 of them", "20"),
        ("Figure 1.5", "Figure"),
        # what still ends a phrase
        ("the man I saw", "man"),
        ("the man may leave", "man"),
        ("the girl will see", "girl"),
        ("the day off work", "day"),
        ("The House We Own", "House"),
        ("Rome , Italy", "Rome"),
        ("the king . Bernini", "king"),
        ("Martha Wayles Jefferson . Then", "Jefferson"),
        ("20 , Rome", "20"),
        ("Ann 's", "Ann"),
        ("Ann 's big house", "house"),
        ("S", "S"),
        (". . .", "."),
    ],
)
def test_heads(text, head):
    forms = text.split()
    assert forms[untagged_head(forms)] == head


def test_of_common_nouns_it_is_the_last_word_before_a_punctuation_mark_or_function_word():
    rng = np.random.default_rng(0)
    vocabulary = "the old man sea of may will we who 's , ; - ( four".split()
    for _ in range(2000):
        forms = [str(form) for form in rng.choice(vocabulary, size=rng.integers(1, 7))]
        last = None
        for at, form in enumerate(forms):
            if form in (",", ";", "("):
                if last is not None:
                    break
            elif last is not None and form in ("of", "may", "will", "we", "who"):
                break
            elif form != "-" and (last is None or form != "'s" or at < len(forms) - 1):
                last = at
        assert untagged_head(forms) == (len(forms) - 1 if last is None else last), forms


@pytest.mark.parametrize(
    ("first", "second", "heads"),
    [
        ("Dr. Magnus", "Howard M. Colvin", ["Magnus", "Colvin"]),
        ("Jolie G*bor", "Jos* de San Mart*n", ["G*bor", "Mart*n"]),
        ("Ivan *argo", "Charlotte Bront*", ["*argo", "Bront*"]),
        ("*af**ov*", "Jack *", ["*af**ov*", "Jack"]),
        ("Mar*a Ruiz-Garc*a", "Sof*a", ["Ruiz-Garc*a", "Sof*a"]),
        ("James '' Whitey '' Bulger", "Catherine de' Medici", ["Bulger", "Medici"]),
        ("Arthur ``Big Boy'' Crudup", "Bront*'s friend", ["Crudup", "friend"]),
    ],
)
def test_in_a_gap_file(tmp_path, first, second, heads):
    text = f"{first} met {second} (***) before he left."
    row = ["g", text, "he", str(text.index("he left")), first, "0", "FALSE"]
    row += [second, str(len(f"{first} met ")), "TRUE", "http://x"]
    (tmp_path / "gap.tsv").write_text("\t".join(COLUMNS) + "\n" + "\t".join(row) + "\n", encoding="utf-8")
    [document] = load_documents(tmp_path / "gap.tsv").documents
    assert [document.words[m.head or 0] for m in document.mentions] == [*heads, "he"]
    assert document.words[-9:] == ("(", "*", "*", "*", ")", "before", "he", "left", ".")
    assert all(mention.type == "proper" for mention in document.mentions[:2] if not second.endswith("friend"))

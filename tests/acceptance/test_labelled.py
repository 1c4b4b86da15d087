"""SST-2 as lines of label and text, from the data folder."""

import re

from attentionology.corpora_loaders import load_labelled


def test_sst2(data_file):
    path = data_file("classification/sst2.train.txt")
    raw = path.read_text(encoding="utf-8")
    texts = load_labelled(path)
    assert len(texts) == 6920
    assert texts.classes == ("0", "1")
    assert texts.balance() == {label: len(re.findall(f"^{label} ", raw, re.MULTILINE)) for label in "01"}
    assert texts.counts()["words"] == len(raw.split()) - 6920
    assert texts[0].words[:3] == ("a", "stirring", ",")
    assert (texts.blank, texts.wordless) == (0, ())

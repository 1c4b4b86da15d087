"""CoNLL-2009 files → sentences: the columns of the shared task on dependency trees and semantic roles.

A row is ID FORM LEMMA PLEMMA POS PPOS FEAT PFEAT HEAD PHEAD DEPREL PDEPREL FILLPRED PRED, and one column APRED for each
predicate of the sentence (https://ufal.mff.cuni.cz/conll2009-st/task-description.html). Columns whose names begin with
P, but for PRED, are predictions of other programs. The columns of annotators are read. Predicates and their arguments
are no part of a tree, and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from .conllu_file import placed_sentences
from .sentence import Sentence
from .sentence_lines import Columns

# There is one part of speech, which stands for both of CoNLL-U, as coarse and fine tags of CoNLL-X often are the same.
_COLUMNS = Columns((0, 1, 2, 4, 4, 6, 8, 10, None, None), number=14, more=True, words_only=True)

placed_conll2009 = partial(placed_sentences, columns=_COLUMNS)
"""`attentionology.corpora_loaders.conllu_file.placed_sentences` for CoNLL-2009."""


def read_conll2009(path: str | Path) -> Iterator[Sentence]:
    """Yield the sentences of one CoNLL-2009 file, which may be compressed with gzip, bzip2, xz or zip.

    The K-th sentence of the file NAME has the id ``NAME:K``.

    Raises:
        CorpusError: a row has fewer than 14 columns, or another number than the first of its sentence; for the other
            mistakes, see `read_conllu`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.conll2009 import read_conll2009
        >>> rows = ["1 Birds bird bird N N _ _ 2 2 SBJ SBJ _ _", "2 sing sing sing V V _ _ 0 0 ROOT ROOT _ _"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (path := Path(folder, "birds.txt")).write_text("\\n".join(rows).replace(" ", "\\t"))
        ...     [sentence] = read_conll2009(path)
        >>> sentence.words, sentence.heads, sentence.relations, sentence.tags
        (('Birds', 'sing'), (2, 0), ('SBJ', 'ROOT'), ('N', 'V'))
    """
    for sentence, _ in placed_conll2009(path):
        yield sentence

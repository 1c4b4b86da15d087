from .conllu_file import read_conllu as read_conllu
from .corpus import Corpus as Corpus
from .corpus import CorpusFile as CorpusFile
from .errors import AttentionologyError as AttentionologyError
from .errors import CorpusError as CorpusError
from .frequencies import read_frequencies as read_frequencies
from .labelled import LabelledTexts as LabelledTexts
from .labelled import load_labelled as load_labelled
from .pairs import Pair as Pair
from .pairs import pair_paragraphs as pair_paragraphs
from .sentence import Sentence as Sentence
from .text import LazyText as LazyText
from .text import PlainText as PlainText
from .text import load_text as load_text
from .text import open_text as open_text
from .tree import OFFSETS as OFFSETS
from .tree import coarse_relation as coarse_relation
from .tree import is_punct as is_punct
from .treebank import LazyTreebank as LazyTreebank
from .treebank import Treebank as Treebank
from .treebank import load_treebank as load_treebank
from .treebank import open_treebank as open_treebank
from .treebank import surface_sentence as surface_sentence
from .vectors import WordVectors as WordVectors
from .vectors import load_vectors as load_vectors

__all__: list[str]

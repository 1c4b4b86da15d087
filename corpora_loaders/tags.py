"""The part-of-speech tags of two tag sets: Universal Dependencies (UPOS), and the Penn Treebank with OntoNotes."""

from __future__ import annotations

UPOS = frozenset("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
PTB = frozenset(
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG "
    "VBN VBP VBZ WDT WP WP$ WRB . , : `` '' -LRB- -RRB- HYPH NFP ADD AFX GW XX $ #".split()
)

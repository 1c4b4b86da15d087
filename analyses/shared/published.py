"""Numbers of the papers, which the report shows beside the results if the model is the same."""

from __future__ import annotations

COREFERENCE = {
    "nearest": {"all": 27, "pronoun": 29, "proper": 29, "nominal": 19},
    "head match": {"all": 52, "pronoun": 47, "proper": 67, "nominal": 40},
    "rule-based": {"all": 69, "pronoun": 70, "proper": 77, "nominal": 60},
    "head 5-4": {"all": 65, "pronoun": 64, "proper": 73, "nominal": 58},
}
"""Antecedent selection accuracy in percent of BERT-base on CoNLL-2012 English (Clark et al. 2019, Table 2)."""

PROBES = {
    "right-branching": 26,
    "words+distances": 58,
    "attention+words, random weights": 30,
    "attention": 61,
    "attention+words": 77,
}
"""Unlabeled attachment score in percent of probes of BERT-base on the dev part of the Penn Treebank with Stanford
dependencies and GloVe vectors (Clark et al. 2019, Table 3; there the words are called GloVe)."""

_MODELS = frozenset(
    f"{owner}{name}" for owner in ("", "google-bert/") for name in ("bert-base-uncased", "bert-base-cased")
)


def published_coreference(model: str) -> dict[str, dict[str, int]] | None:
    """Return Table 2 of the paper if a model of this name may be the one of the paper, else None."""
    # The paper does not say whether its model was the cased or the uncased one, so both get the table.
    return COREFERENCE if model.rstrip("/") in _MODELS else None


def published_probes(model: str) -> dict[str, int] | None:
    """Return Table 3 of the paper if a model of this name may be the one of the paper, else None."""
    return PROBES if model.rstrip("/") in _MODELS else None

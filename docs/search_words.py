"""What people type into the search box, and where the answer is.

The search of Sphinx finds the words of a page, but not always the page that answers, and words such as *own* are left
out of it. Each phrase here becomes an entry of the index, which the search lists first.
"""

from __future__ import annotations

import re

PHRASES: dict[str, dict[str, tuple[str, ...]]] = {
    "how-to/treebank-and-model": {
        "": ("which head finds objects", "which head finds subjects", "my treebank", "own treebank"),
        "What comes out?": ("parquet", "pdf figures", "latex tables", "csv"),
        "What does one head do?": (
            "accuracy of one head",
            "concordance",
            "decisions of a head",
            "wrong decisions",
            "accuracy of a given head",
        ),
    },
    "how-to/python": {
        "What can be given": (
            "own model",
            "my own model",
            "transformers model object",
            "pair of texts",
            "question and context",
            "hugging face dataset",
            "row of a dataset",
            "conllu tokenlist",
            "stanza",
            "udapi",
            "pandas",
            "data frame",
            "dataframe",
            "xarray",
            "list of sentences",
        ),
        "Step by step": ("cross_val_score", "scikit-learn", "metric"),
    },
    "how-to/coming-from": {"": ("bertviz", "transformerlens", "inseq", "captum", "spacy", "displacy")},
    "how-to/treebanks-by-name": {
        "": ("universal dependencies", "download a treebank"),
        "Which files are read, and is mine sound?": (
            "cupt",
            "parseme",
            "conll-u plus",
            "conll-2009",
            "conll-x",
            "malt-tab",
            "file formats",
        ),
    },
    "how-to/coreference": {
        "What can be read?": (
            "json lines",
            "jsonlines",
            "coreference jsonl",
            "ontonotes",
            "conll-2012",
            "semeval-2010",
        )
    },
    "reference/definitions/dependency": {
        "Any pairs of words": ("contact map", "pairs as gold", "multiword expressions", "semantic roles", "own gold")
    },
    "how-to/show": {"": ("draw a sentence", "heat map", "visualize attention", "attention plot")},
    "how-to/serve": {
        "": ("type a sentence", "predict a masked word"),
        "What changes if a head is switched off?": ("switch a head off", "prediction without a head"),
    },
    "how-to/ablation": {
        "": ("ablation", "prune heads", "switch heads off"),
        "What does it take?": ("model without a head",),
    },
    "how-to/surface": {
        "": ("attention sink", "entropy", "entropy by layer", "attention to [sep]", "attention to [cls]"),
        "Which heads find an earlier copy of a word?": ("induction", "induction head", "duplicate token head"),
    },
    "how-to/norms": {"": ("kobayashi", "value zeroing", "rollout", "norm-based analysis")},
    "how-to/states": {"": ("hidden states", "structural probe", "attention against hidden states")},
    "how-to/pairs": {"": ("minimal pairs", "blimp", "acceptability")},
    "how-to/explain": {
        "": ("is attention explanation", "faithfulness"),
        "What can be read?": ("texts and labels", "csv of texts and labels", "labeled texts"),
    },
    "how-to/alignment": {
        "": ("word alignment", "parallel sentences"),
        "Can I score the links of other systems alone?": (
            "score links",
            "alignment error rate",
            "links without a model",
        ),
    },
    "how-to/compare": {"": ("compare two runs", "compare two models", "significance")},
    "how-to/survey": {
        "Is it a fact about the model, or about the seed?": ("seed", "seeds", "many seeds", "multiberts"),
        "When do the heads of a model learn a relation?": ("checkpoints", "training steps"),
    },
    "how-to/cluster": {
        "": ("resume", "killed run", "continue a run", "interrupted run"),
        "A job array": ("slurm",),
    },
    "how-to/runs": {"In Python and in a notebook": ("read a run", "load a run", "run of a colleague")},
    "how-to/cite-and-record": {"": ("cite", "bibtex", "reproducibility")},
    "how-to/extend": {
        "": ("extension", "plugin", "own analysis", "own metric", "own map"),
        "A format of treebanks": ("own format",),
        "A probe": ("own probe",),
        "An explanation test": ("own test",),
    },
    "how-to/report": {"What are the parts of the explorer?": ("explorer", "concordance of the page")},
    "explanation/cost": {"": ("cost", "how long does it take", "runtime"), "Memory": ("memory", "out of memory")},
}
"""For each page, and each heading on it (the title if it is empty), phrases in small letters."""

_HEADING = r"^#+ +{}[ \t]*$"


def with_entries(page: str, text: str) -> str:
    """Return the text of a page with an entry of the index below each heading that answers a phrase.

    Raises:
        ValueError: the page does not have a heading.
    """
    for heading, phrases in PHRASES.get(page, {}).items():
        pattern = re.compile(_HEADING.format(re.escape(heading) if heading else ".+"), re.MULTILINE)
        found = pattern.search(text)
        if found is None:
            raise ValueError(f"{page} has no heading {heading!r}")
        entries = ", ".join(f"! {phrase}" for phrase in phrases)
        text = f"{text[: found.end()]}\n\n```{{index}} {entries}\n```\n{text[found.end() :]}"
    return text

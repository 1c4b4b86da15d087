"""Does the task need attention? The same weight for every word (Wiegreffe & Pinter 2019, §3.2)"""

from __future__ import annotations

from attentionology.analyses.explanation.batch import Rows, TextBatch, single_words_out
from attentionology.analyses.explanation.interventions import answers
from attentionology.analyses.explanation.measures import jsd, tvd
from attentionology.analyses.explanation.readings import uniform_rows


def uniform_attention(batch: TextBatch) -> Rows:
    """The same weight for every word, put into the trained model (not trained with it: that is another test).

    Returns:
        ``uniform_tvd`` of the output, ``uniform_flip`` (1: another class), ``uniform_jsd`` of the attention. NaN for
        texts of fewer than two words.
    """
    even = uniform_rows(batch.state)
    p, original = answers(batch, 1, lambda _: even[:, None])[:, 0], batch.probabilities.double()
    return single_words_out(
        batch,
        {
            "uniform_tvd": tvd(p, original).numpy(),
            "uniform_flip": (p.argmax(-1) != original.argmax(-1)).double().numpy(),
            "uniform_jsd": jsd(even, batch.alpha).mean(-1).double().numpy(),
        },
    )

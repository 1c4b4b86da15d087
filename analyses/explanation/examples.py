"""Examples: a few texts with the weights of their words, as a reader looks at them."""

from __future__ import annotations

import numpy as np

from ...extractors.replaceable.attention_model import query_of
from ..counting.resampling import sentence_keys
from .attention.batch import read
from .attention.exact_adversary import exact_attention, is_solvable
from .attention.measures import jsd
from .attention.two_words import decoders, farthest_on_two_words, has_decoder
from .contract.results import Highlight, HighlightedText
from .examination.subject import Tested
from .methods.correlation import gradient_importance
from .methods.single_token import TEST as SINGLE
from .methods.single_token import in_context

_EXAMPLES = 4
_SHORTEST, _LONGEST = 5, 25  # in words; such texts can be read at a glance


def highlight_texts(tested: Tested) -> tuple[HighlightedText, ...]:
    """Return a few texts with the weights of their words: attention, gradients, and other attention with one output."""
    # The texts are sampled deterministically by a hash of their ids. They have 5 to 25 words if there are such texts.
    texts = tested.texts.test
    fitting = [index for index, text in enumerate(texts) if _SHORTEST <= len(text) <= _LONGEST]
    fitting = fitting or [index for index, text in enumerate(texts) if len(text) > 1]
    keys = sentence_keys([texts[index].id for index in fitting], tested.options.seed)
    sampled = np.argsort(keys, kind="stable")[:_EXAMPLES].tolist()
    return tuple(_highlight(tested, fitting[position]) for position in sampled)


def _highlight(tested: Tested, index: int) -> HighlightedText:
    """Return the tested text at an index with the weights of its words."""
    model, epsilon = tested.model, tested.options.tests.epsilon
    text = tested.texts.test[index]
    batch = read(model, [text.id], [tested.words[index]], tested.options.seed)
    n = len(text)
    label, predicted = tested.labels[index], int(batch.predicted[0])
    panels = [
        Highlight("attention", tuple(batch.scores[0, :n].tolist())),
        Highlight("gradient × input", tuple(gradient_importance(model, batch.texts)[0, :n].tolist())),
    ]
    if is_solvable(model):
        other_alpha = exact_attention(batch, 0, epsilon=epsilon)
        far = jsd(other_alpha, batch.alpha[0, 0, :n].double()).item()
        note = f"JSD {far:.2f}; the probability changes by {epsilon:g} at most"
        panels.append(Highlight("other attention, same output", tuple(other_alpha.tolist()), note))
    elif has_decoder(model):
        ((decoder, alpha),) = decoders(batch)
        other = farthest_on_two_words(decoder, alpha, epsilon)
        if other.jsd > 0:
            note = f"JSD {other.jsd:.2f}; the output changes by {epsilon:g} at most"
            panels.append(Highlight("other attention, same output", tuple(other.attention.tolist()), note))
    predicts_from_words = any(test.name == SINGLE.name for test in tested.tests)
    return HighlightedText(
        words=text.words,
        query=query_of(tested.words[index]),
        probability_of_label=float(batch.probabilities[0, label]),
        from_word=tuple(in_context(batch)[0, :n, label].tolist()) if predicts_from_words else (),
        label=model.classes[label],
        predicted=model.classes[predicted],
        probability=float(batch.probabilities[0, predicted]),
        panels=tuple(panels),
    )

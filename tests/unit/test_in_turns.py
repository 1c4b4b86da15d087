"""Forward passes that have the attention of a few layers in memory at a time: the same bits, and less memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapMaker, extract, extract_many, get_kind
from attentionology.extractors.model import in_turns
from attentionology.extractors.model.in_turns import InTurns
from attentionology.extractors.tokens.pieces import Pieces
from tests import tiny

SENTENCES = [
    Sentence("a", ("an", "unbelievably", "old", "dog", "barks", ".")),
    Sentence("b", ("hi", "you")),
    Sentence("c", ("a", "very", "long", "and", "winding", "road", "leads", "home")),
]
WHOLE = ("bert", "bloom", "falcon")
FAMILIES = ("gpt2", *(family for family in tiny.DECODERS if family not in WHOLE))


@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_maps_in_turns_are_the_same_bits(family, together, monkeypatch):
    """With one layer at a time and with two of three, in float32 and in float64."""
    encoder = tiny.randomised(family)
    makers = [MapMaker(get_kind(kind)) for kind in ("weight", "norm", "attnresln", "alti")]
    whole = next(extract_many(encoder, SENTENCES, makers, batch_cells=2**16))
    exact = [batch.exact([0, 2], 2) for batch in whole]
    n = max(len(pieces) for pieces in encoder.align(SENTENCES) if isinstance(pieces, Pieces))
    monkeypatch.setattr(in_turns, "MOST", together * 4 * encoder.n_heads * len(SENTENCES) * n**2)
    pieces = [each for each in encoder.align(SENTENCES) if isinstance(each, Pieces)]
    forward = encoder.forward(pieces)
    assert isinstance(forward.attentions, InTurns)
    assert [len(alpha) for alpha in forward.attentions] == [len(SENTENCES)] * 3
    in_parts = next(extract_many(encoder, SENTENCES, makers, batch_cells=2**16))
    for one, other, doubles in zip(whole, in_parts, exact, strict=True):
        assert torch.equal(one.maps, other.maps)
        for expected, double in zip(doubles, other.exact([0, 2], 2), strict=True):
            assert torch.equal(expected, double)


@pytest.mark.parametrize("family", WHOLE)
def test_other_families_are_read_as_a_whole(family, monkeypatch):
    monkeypatch.setattr(in_turns, "MOST", 1)
    encoder = tiny.encoder(family)
    pieces = [each for each in encoder.align(SENTENCES) if isinstance(each, Pieces)]
    assert isinstance(encoder.forward(pieces).attentions, list)
    assert len(next(extract(encoder, SENTENCES))) == 3


PROGRAM = """
    import resource, torch
    from attentionology.corpora_loaders import Sentence
    from attentionology.extractors import extract
    from attentionology.extractors.model import in_turns
    from tests import tiny
    torch.set_num_threads(1)
    encoder = tiny.encoder("llama", num_hidden_layers=12, max_position_embeddings=2048)
    sentence = Sentence("s", tuple("dog" for _ in range(500)))
    list(extract(encoder, [Sentence("t", ("a", "dog"))], "attnresln"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    in_turns.MOST = {most}
    (batch,) = extract(encoder, [sentence], "attnresln")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, float(batch.maps.double().sum()))
"""


@pytest.mark.slow
def test_layers_in_turns_take_a_part_of_the_memory():
    """Twelve layers of four heads have 190 MB of attention to 1,000 pieces, and a kind without heads 12 MB of maps."""
    taken, sums = [], []
    for most in (2**40, 1):
        program = textwrap.dedent(PROGRAM).format(most=most)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        kilobytes, total = done.stdout.split()[-2:]
        taken.append(int(kilobytes) / 1000)
        sums.append(total)
    assert sums[0] == sums[1]
    assert taken[1] < taken[0] - 120

"""Hidden states of words: against a plain pass of transformers, in one pass with maps, and on disk."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from safetensors import safe_open

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import (
    ExtractionError,
    ExtractionLog,
    ModelError,
    StateMaker,
    extract,
    extract_many,
    extract_states,
    store_states,
)
from attentionology.extractors.layers import ARCHITECTURES
from attentionology.extractors.model import turns
from attentionology.extractors.states import store as module
from attentionology.storage.cache_log import CacheLog
from tests import tiny
from tests.unit.map_store.stores import SENTENCES

POOLED = {
    "mean": lambda rows: rows.mean(0),
    "first": lambda rows: rows[0],
    "last": lambda rows: rows[-1],
}


def plain_states(encoder, sentence: Sentence, pooling: str) -> np.ndarray:
    """Read a sentence alone with the model itself, and pool by hand: layers, words, dim."""
    [pieces] = encoder.align([sentence])
    with torch.inference_mode():
        output = encoder.model(input_ids=torch.tensor([pieces.ids]), output_hidden_states=True)
    hidden = torch.stack(output.hidden_states)[:, 0]
    word_of = np.array(pieces.word_of)
    words = [POOLED[pooling](hidden[:, word_of == word].transpose(0, 1)) for word in range(len(sentence))]
    return torch.stack(words, 1).numpy()


@pytest.mark.parametrize("pooling", POOLED)
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "albert", "modernbert", "mpnet", "bart"])
def test_states_are_those_of_the_model_and_one_for_each_word(family, pooling):
    encoder = tiny.encoder(family)
    log = ExtractionLog()
    seen = 0
    for batch in extract_states(encoder, SENTENCES, pooling=pooling, log=log):
        assert batch.layers == tuple(range(encoder.n_layers + 1))
        assert not batch.states.transpose(1, 2)[~batch.words].any()
        for sentence, states in batch.unpadded():
            expected = plain_states(encoder, sentence, pooling)
            assert states.shape == (4, len(sentence), 24)
            np.testing.assert_allclose(states, expected, atol=2e-5)
            seen += 1
    assert seen == log.read == len(SENTENCES)


def test_states_and_maps_come_from_one_pass(monkeypatch):
    encoder = tiny.encoder()
    passes = []
    run = encoder._run

    def counted(*arguments: Any, **options: Any) -> Any:
        passes.append(1)
        return run(*arguments, **options)

    monkeypatch.setattr(encoder, "_run", counted)
    [(maps, states)] = extract_many(encoder, SENTENCES[:3], ["weight", StateMaker((1, 3), "last")])
    assert len(passes) == 1
    [alone] = extract(encoder, SENTENCES[:3], progress=False)
    [states_alone] = extract_states(encoder, SENTENCES[:3], layers=[3, 1, 3], pooling="last")
    assert torch.equal(maps.maps, alone.maps)
    assert states.layers == states_alone.layers == (1, 3)
    assert torch.equal(states.states, states_alone.states)
    assert torch.equal(states.layer(3), states.states[:, 1])


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_layers_in_turns_give_the_same_states_after_the_final_norm(family, monkeypatch):
    encoder = tiny.encoder(family)
    [whole] = extract_states(encoder, SENTENCES[:4])
    monkeypatch.setattr(turns, "MOST", 1)
    [in_turns] = extract_states(encoder, SENTENCES[:4])
    assert torch.equal(whole.states, in_turns.states)


def test_a_model_of_unknown_architecture_gives_states(monkeypatch):
    encoder = tiny.encoder()
    monkeypatch.delitem(ARCHITECTURES, "bert")
    with pytest.raises(ModelError):
        _ = encoder.layers
    assert len(list(extract_states(encoder, SENTENCES[:1]))) == 1
    with pytest.raises(ModelError, match="its layers cannot be told from the rest"):
        encoder.random_layers(0)


@pytest.mark.parametrize("layers", [[4], [-1], [0, 9]])
def test_layers_that_the_model_lacks_are_named(layers, tmp_path):
    with pytest.raises(ModelError, match=r"layers of states are 0 to 3; there is no layer"):
        list(extract_states(tiny.encoder(), SENTENCES, layers=layers))
    with pytest.raises(ModelError, match="there is no layer"):
        store_states(tiny.encoder(), SENTENCES, tmp_path, layers=layers)


def test_random_layers_keep_layer_0_to_the_bit():
    for family in ("bert", "gpt2", "albert", "modernbert"):
        encoder = tiny.randomize(family)
        copy = encoder.random_layers(seed=3)
        [own] = extract_states(encoder, SENTENCES[:4])
        [random] = extract_states(copy, SENTENCES[:4])
        assert torch.equal(own.layer(0), random.layer(0))
        assert not torch.allclose(own.layer(1), random.layer(1), atol=1e-3)
        [other] = extract_states(encoder.random_layers(seed=4), SENTENCES[:4])
        assert not torch.equal(other.layer(1), random.layer(1))


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(module, "part_size", lambda _: 4)


def store(folder, encoder=None, sentences=SENTENCES, **options):
    return store_states(encoder or tiny.encoder(), sentences, folder, **options)


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.safetensors")}


@pytest.mark.usefixtures("small_parts")
def test_stored_states_are_those_that_are_extracted(tmp_path):
    twice = [*SENTENCES, SENTENCES[2]]
    stored = store(tmp_path, sentences=twice, layers=[0, 2])
    assert stored.made == len(stored) == len(twice)
    assert stored.dim == 24
    expected = {id(s): states for batch in extract_states(tiny.encoder(), SENTENCES) for s, states in batch.unpadded()}
    for sentence, batch in zip(twice, stored, strict=True):
        assert batch.sentences == (sentence,)
        np.testing.assert_allclose(batch.states[0].numpy(), expected[id(sentence)][[0, 2]], atol=2e-6)
    assert [batch.layers for batch in stored.layer(2)[:2]] == [(2,), (2,)]
    assert torch.equal(stored.layer(2)[5].states, stored[5].states[:, 1:])
    with pytest.raises(ValueError, match="the stored layers are 0, 2, not 1"):
        stored.layer(1)
    copy = pickle.loads(pickle.dumps(stored))  # noqa: S301  (as between processes)
    assert torch.equal(copy[9].states, stored[9].states)
    assert [len(batch.sentences[0]) for batch in stored.subset([4, 1])] == [12, 1]


@pytest.mark.parametrize("options", [{}, {"max_length": 8}, {"dtype": "float16", "pooling": "last"}])
@pytest.mark.usefixtures("small_parts")
def test_a_file_is_what_safetensors_writes_of_the_states_in_the_order_of_the_corpus(tmp_path, options):
    stored = store(tmp_path, layers=[2], **options)
    dtype = getattr(torch, options.get("dtype", "float32"))
    made = {key: value for key, value in options.items() if key != "dtype"}
    log = ExtractionLog()
    states: dict[str, torch.Tensor] = {}
    for part in range(3):  # as batches of other sentences may change the last bits
        for batch in extract_states(tiny.encoder(), SENTENCES[4 * part : 4 * part + 4], layers=[2], log=log, **made):
            states |= {sentence.id: torch.from_numpy(rows[0]) for sentence, rows in batch.unpadded()}
        path = stored.folders[2] / f"{part:04d}.safetensors"
        with safe_open(path, "pt") as file:
            metadata = file.metadata()
        rows = [states[sentence.id] for sentence in SENTENCES[4 * part : 4 * part + 4] if sentence.id in states]
        whole = {"states": torch.cat([torch.empty(0, 24), *rows]).to(dtype)}
        assert path.read_bytes() == safetensors.torch.save(whole, metadata)
    assert bool(log.skipped) == ("max_length" in options)


@pytest.mark.usefixtures("small_parts")
def test_a_layer_has_the_same_bytes_alone_and_is_added_without_another_pass_for_others(tmp_path):
    store(tmp_path / "all")
    together = contents(tmp_path / "all")
    assert len(together) == 4 * 3  # layers, parts
    store(tmp_path / "one", layers=[1])
    alone = contents(tmp_path / "one")
    assert len(alone) == 3
    assert alone.items() <= together.items()
    assert store(tmp_path / "one", layers=[1]).made == 0
    assert store(tmp_path / "one").made == len(SENTENCES)  # for the other layers
    assert contents(tmp_path / "one") == together


@pytest.mark.usefixtures("small_parts")
def test_a_damaged_part_is_noted_and_made_again(tmp_path):
    store(tmp_path, layers=[1, 3])
    before = contents(tmp_path)
    damaged = sorted(tmp_path.rglob("0001.safetensors"))[0]
    content = bytearray(damaged.read_bytes())
    content[-5] ^= 1
    damaged.write_bytes(content)
    log = CacheLog()
    assert store(tmp_path, layers=[1, 3], cache_log=log).made == 4
    assert [discarded.path for discarded in log.discarded] == [damaged]
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("small_parts")
def test_a_file_that_is_exchanged_later_is_not_read(tmp_path):
    stored = store(tmp_path, layers=[1])
    _ = stored[0]
    folder = stored.folders[1]
    (folder / "0001.safetensors").write_bytes((folder / "0002.safetensors").read_bytes())
    with pytest.raises(ExtractionError, match="have changed since they were checked"):
        _ = stored[4]


def test_skipped_sentences_are_counted_once_and_have_no_states(tmp_path):
    stored = store(tmp_path, max_length=8, layers=[0, 1])
    assert len(stored) < len(SENTENCES)
    assert stored.log.read == len(stored)
    assert stored.log.read + len(stored.log.skipped) == len(SENTENCES)
    again = store(tmp_path, max_length=8, layers=[0])
    assert [s.reason for s in again.log.skipped] == [s.reason for s in stored.log.skipped]
    assert again.log.words == stored.log.words == sum(map(len, stored.sentences))
    with pytest.raises(ExtractionError, match="none of the 10 sentences could be read"):
        store(tmp_path, max_length=1)


def test_other_words_pooling_or_type_are_another_store(tmp_path):
    stored = store(tmp_path, layers=[1])
    half = store(tmp_path, layers=[1], dtype="float16")
    assert half.made == store(tmp_path, layers=[1], pooling="last").made == len(SENTENCES)
    assert store(tmp_path, layers=[1], sentences=SENTENCES[:4]).made == 4
    torch.testing.assert_close(half[2].states, stored[2].states, atol=2e-3, rtol=2e-3)
    assert half[2].states.dtype == torch.float32


def test_a_state_that_is_too_large_for_float16_is_refused(tmp_path):
    encoder = tiny.encoder()
    with torch.no_grad():
        encoder.model.encoder.layer[-1].output.LayerNorm.weight.mul_(1e5)
    assert len(store(tmp_path, encoder)) == len(SENTENCES)
    with pytest.raises(ExtractionError, match="too large for float16; use float32"):
        store(tmp_path, encoder, dtype="float16")


def test_a_state_that_is_no_number_is_refused():
    encoder = tiny.encoder()
    with torch.no_grad():
        encoder.model.encoder.layer[-1].output.LayerNorm.weight[3] = float("inf")
    with pytest.raises(ModelError, match="a hidden state is not a finite number"):
        list(extract_states(encoder, SENTENCES))


def test_relabeled_states_have_the_same_words(tmp_path):
    stored = store(tmp_path, layers=[1])
    renamed = [Sentence(f"new {i}", sentence.words) for i, sentence in enumerate(stored.sentences)]
    assert stored.relabeled(renamed)[3].sentences[0].id == "new 3"
    with pytest.raises(ValueError, match="not the sentences whose states are stored"):
        stored.relabeled(renamed[::-1])


def test_changed_states_are_computed_from_those_that_are_stored(tmp_path):
    stored = store(tmp_path, layers=[0, 2])
    seen = []

    def doubled(rows):
        seen.append(tuple(rows.shape))
        return 2 * rows

    changed = stored.changed(doubled).changed(lambda rows: rows + 1)  # in this order
    assert [batch.sentences for batch in changed] == [batch.sentences for batch in stored]
    for before, after in zip(stored, changed, strict=True):
        assert torch.equal(after.states, 2 * before.states + 1)
    assert set(seen) == {(len(sentence), stored.dim) for sentence in stored.sentences}
    assert torch.equal(changed.layer(2).subset([1])[0].states, 2 * stored.layer(2)[1].states + 1)
    assert repr(stored) in repr(changed).replace(", changed 2 times", "")
    again = store(tmp_path, layers=[0, 2])
    assert again.made == 0
    assert torch.equal(again[0].states, stored[0].states)


@pytest.mark.parametrize("change", [lambda rows: rows[1:], lambda rows: rows[:, 1:], lambda rows: rows / 0])
def test_a_change_gives_finite_numbers_of_the_same_shape(change, tmp_path):
    changed = store(tmp_path, layers=[0]).changed(change)
    with pytest.raises(ValueError, match="finite numbers of the same shape"):
        changed[0]


def test_parts_of_large_models_are_smaller():
    encoder = tiny.encoder()
    assert module.part_size(encoder) == 1024
    encoder.width, encoder.n_layers = 4096, 32
    assert module.part_size(encoder) == 32

"""Translation models: what encoder and decoder read, which rows belong to a word, and what is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import processors

from attentionology.corpora_loaders.alignment import SentencePair
from attentionology.extractors import Architecture, CrossAttention, ExtractionError, ExtractionLog, ModelError
from attentionology.extractors.layers import ARCHITECTURES
from attentionology.extractors.model import float64_copy
from attentionology.extractors.translation import CrossMapMaker, PairPieces, Translator, extract_cross
from tests import tiny, tiny_translation

PAIR = SentencePair(id="1", source=("the", "night", "train"), words=("old", "bread"))


def pieces_of(translator: Translator, pair: SentencePair = PAIR) -> PairPieces:
    [pieces] = translator.align([pair])
    assert isinstance(pieces, PairPieces)
    return pieces


def slow(family: str, folder: Path) -> Any:
    """A tokenizer of SentencePiece, trained on a few lines."""
    sentencepiece = pytest.importorskip("sentencepiece")
    (folder / "text.txt").write_text("the old night train is late\nbread and butter\nthe lighthouse is closed\n" * 20)
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text.txt"), model_prefix=str(folder / "spm"), vocab_size=26, minloglevel=2
    )
    spm = str(folder / "spm.model")
    vocabulary = folder / "vocab.json"
    processor = sentencepiece.SentencePieceProcessor(model_file=spm)
    names = map(processor.id_to_piece, range(processor.get_piece_size()))
    entries = dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", *names])
    vocabulary.write_text(json.dumps({name: number for number, name in enumerate(entries)}))
    if family == "marian":
        return transformers.MarianTokenizer(spm, spm, str(vocabulary))
    return transformers.M2M100Tokenizer(str(vocabulary), spm, src_lang="de", tgt_lang="en")


@pytest.mark.slow
@pytest.mark.parametrize("family", tiny_translation.FAMILIES)
def test_float64_gives_the_bits_of_a_converted_copy_and_converts_no_table_of_words(family, monkeypatch):
    translator = tiny_translation.translator(family)
    pieces, n_words = [pieces_of(translator)], len(translator.tokenizer)
    converted = Translator(copy.deepcopy(translator.model).double(), translator.tokenizer).decode(pieces)
    ours = translator.double.decode(pieces)
    assert all(torch.equal(a, b) for a, b in zip(ours.attentions, converted.attentions, strict=True))
    shapes: list[torch.Size] = []
    in_float64 = float64_copy.in_float64

    def recorded(stored: torch.Tensor) -> torch.Tensor:
        shapes.append(stored.shape)
        return in_float64(stored)

    monkeypatch.setattr(float64_copy, "in_float64", recorded)
    translator.double.decode(pieces, values=True)
    assert shapes
    assert not [shape for shape in shapes if len(shape) == 2 and shape[0] == n_words]


def test_a_row_that_does_not_fit_gives_weights_all_the_same(monkeypatch):
    translator = tiny_translation.translator("marian")
    pieces = [pieces_of(translator)]
    before = translator.decode(pieces).attentions
    for names in (CrossAttention(layers="nowhere.layers"), CrossAttention(ff_in="nowhere"), CrossAttention(head="no")):
        monkeypatch.setitem(ARCHITECTURES, "marian", Architecture(layers="", cross=names))
        for depth in (None, 2):
            attentions = translator.decode(pieces, depth=depth).attentions
            assert len(attentions) == (2 if depth and names.layers == "decoder.layers" else 3)
            assert all(torch.equal(a, b) for a, b in zip(attentions, before, strict=False))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["marian", "m2m_100"])
def test_slow_tokenizers_write_each_side_in_its_own_way(family, tmp_path):
    tokenizer = slow(family, tmp_path)
    size = 400  # M2M100 has ids for 100 languages after those of its vocabulary
    ids = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
    start = ids["pad_token_id"] if family == "marian" else ids["eos_token_id"]
    model = tiny_translation.model(family, vocab_size=size, decoder_start_token_id=start, **ids)
    pieces = pieces_of(Translator(model, tokenizer))
    words = {
        side: [piece for word in words for piece in tokenizer.tokenize(word)]
        for side, words in (("source", PAIR.source), ("target", PAIR.words))
    }
    before, lead = ([], ["<pad>"]) if family == "marian" else (["__de__"], ["</s>", "__en__"])
    assert pieces.source.tokens == [*before, *words["source"], "</s>"]
    assert pieces.target.tokens == [*lead, *words["target"]]
    assert pieces.source.special == [*[True] * len(before), False, False, False, True]
    assert pieces.target.special == [*[True] * len(lead), False, False]
    assert not pieces.unknown


def test_the_language_code_stands_first_where_the_model_moves_it_there():
    """mBART labels end with the code, and its decoder reads it first; q is found by the piece, not by an offset."""
    tokenizer = tiny_translation.tokenizer("mbart")
    code = tokenizer.convert_tokens_to_ids("<mask>")
    end = tokenizer.eos_token_id
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s> <mask>", special_tokens=[("</s>", end), ("<mask>", code)]
    )
    target = pieces_of(Translator(tiny_translation.model("mbart"), tokenizer)).target
    assert (target.tokens[0], target.tokens[-1]) == ("<mask>", "</s>")
    assert target.special == [True, False, False, True]


def test_a_target_without_an_end_token_is_still_read_whole():
    tokenizer = tiny_translation.tokenizer("t5")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A", special_tokens=[])
    target = pieces_of(Translator(tiny_translation.model("t5"), tokenizer)).target
    assert target.special == [True, False, False]
    assert tokenizer.decode(target.ids[1:]).replace(" ", "").replace("##", "") == "oldbread"


def test_text_before_the_source_is_special():
    model, tokenizer = tiny_translation.model("t5"), tiny_translation.tokenizer("t5")
    plain, led = (pieces_of(Translator(model, tokenizer, lead=lead)).source for lead in ("", "the old train:"))
    added = len(led) - len(plain)
    assert led.ids[0] == plain.ids[0]
    assert led.ids[1 + added :] == plain.ids[1:]
    assert led.special == [True] * added + plain.special
    assert tokenizer.decode(led.ids[1 : 1 + added]).replace(" ", "").replace("##", "") == "theoldtrain:"


def test_special_tokens_in_the_text_are_text():
    translator = tiny_translation.translator("t5")
    pair = SentencePair(id="1", source=("[SEP]", "old"), words=("[PAD]", "\u200b"))
    pieces = pieces_of(translator, pair)
    special = {translator.tokenizer.convert_tokens_to_ids(token) for token in ("[SEP]", "[PAD]", "[CLS]")}
    inside = [
        piece for piece, position in zip(pieces.source.ids, pieces.source.positions, strict=True) if position == 1
    ]
    assert not special & set(inside)
    assert (pieces.target.substituted, pieces.target.special) == (1, [True, True, False, False])


def test_token_maps_keep_pieces_apart():
    translator = tiny_translation.translator("marian")
    pieces = pieces_of(translator)
    makers = [CrossMapMaker("weight", setting, "token") for setting in ("AWI", "AWO")]
    [(awi, awo)] = extract_cross(translator, [PAIR], makers)
    whole = torch.stack(list(translator.decode([pieces]).attentions), 1)
    first, n = 2, len(pieces.target)
    assert torch.equal(awi.maps, whole[..., first:, :])
    assert torch.equal(awo.maps, whole[..., first - 1 : n - 1, :])
    assert awi.labels[0] == tuple(pieces.target.tokens[first:])
    assert awi.columns is not None
    assert awi.columns.labels[0] == tuple(pieces.source.tokens)
    assert awi.columns.special[0].tolist() == [True, *[False] * (len(pieces.source) - 2), True]


def test_a_model_that_does_more_than_its_row_says_is_refused():
    translator = tiny_translation.translator("marian")
    block = translator.model.model.decoder.layers[1].encoder_attn
    inner = block.v_proj.forward
    block.v_proj.forward = lambda x: inner(x) + 0.5 * x.flip(-1)
    list(extract_cross(translator, [PAIR], [CrossMapMaker("weight")]))
    with pytest.raises(
        ModelError, match=r"'marian' decoder layer 2: cross-attention recomputed from weights .* differs"
    ):
        list(extract_cross(translator, [PAIR], [CrossMapMaker("norm")]))


def test_weights_that_are_written_to_are_read_again():
    translator = tiny_translation.translator("bart")
    [(before,)] = extract_cross(translator, [PAIR], [CrossMapMaker("attn")])
    with torch.no_grad():
        translator.model.model.decoder.layers[-1].encoder_attn.out_proj.weight.mul_(2)
    [(after,)] = extract_cross(translator, [PAIR], [CrossMapMaker("attn")])
    torch.testing.assert_close(after.maps[:, -1], 2 * before.maps[:, -1])


def test_random_weights_keep_the_embeddings():
    translator = tiny_translation.translator("marian")
    random = translator.random_init(3)
    assert torch.equal(random.model.model.shared.weight, translator.model.model.shared.weight)
    other = random.model.model.decoder.layers[0].encoder_attn.v_proj.weight
    assert not torch.equal(other, translator.model.model.decoder.layers[0].encoder_attn.v_proj.weight)
    assert random.name == "tiny marian random-init seed 3"


def test_decoders_without_their_weights_are_refused(tmp_path):
    from safetensors.torch import load_file, save_file

    model = tiny_translation.model("marian")
    model.save_pretrained(tmp_path)
    tiny_translation.tokenizer("marian").save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if "layers.1.encoder_attn.v_proj" not in name}
    save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="lacks 2 weights of its architecture"):
        Translator.from_pretrained(tmp_path)


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ModelError, match="it is not an encoder–decoder"):
        Translator(tiny.model("bert"), tiny.fresh_tokenizer("wordpiece"), "tiny")
    with pytest.raises(ModelError, match="the tokenizer knows no languages"):
        Translator(tiny_translation.model("marian"), tiny_translation.tokenizer("marian"), source_language="de")
    with pytest.raises(ValueError, match="no maps of kind 'alti'; choose from: weight, norm, attn"):
        CrossMapMaker("alti")
    with pytest.raises(ValueError, match="use merge='norm'"):
        CrossMapMaker("weight", merge="vector")


def test_families_without_a_row_have_weights_only(monkeypatch):
    translator = tiny_translation.translator("pegasus")
    monkeypatch.delitem(ARCHITECTURES, "pegasus")
    list(extract_cross(translator, [PAIR], [CrossMapMaker("weight")]))
    with pytest.raises(ModelError, match=r"where 'pegasus' models keep .* known families are: bart, .* umt5\."):
        list(extract_cross(translator, [PAIR], [CrossMapMaker("norm")]))


def test_pairs_that_are_too_long_are_logged_or_refused():
    translator = tiny_translation.translator("marian")
    long = SentencePair(id="long", source=("a",), words=("bread",) * 40, file="pairs.txt", line=7)
    log = ExtractionLog()
    batches = list(extract_cross(translator, [long, PAIR], [CrossMapMaker()], log=log))
    assert [pair.id for (batch,) in batches for pair in batch.sentences] == ["1"]
    assert (log.read, log.words) == (1, len(PAIR.source) + len(PAIR.words))
    assert [skipped.sentence.id for skipped in log.skipped] == ["long"]
    assert "target pieces, the limit is 64" in log.skipped[0].reason
    with pytest.raises(ExtractionError, match=r"pairs\.txt:7: sentence pair 'long': too long"):
        list(extract_cross(translator, [long], [CrossMapMaker()], too_long="error"))

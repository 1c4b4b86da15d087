"""What a model that stays loaded draws: maps, guesses, predictions, and every use of a head in a corpus."""

from __future__ import annotations

import base64
import zlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from attentionology import analyze, explore
from attentionology.analyses.ablation.effects import AblationMaker
from attentionology.analyses.ablation.predictions import PredictionMaker
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.serving.concordance import Question, uses
from attentionology.engine.serving.errors import RequestError
from attentionology.engine.serving.live_model import LiveModel
from attentionology.engine.serving.texts import MOST_CHARACTERS, TypedSentence, typed_texts
from attentionology.extractors import extract, shared_batches
from tests import tiny
from tests.unit.test_ablation import without

TEXT = "The keys to the cabinet are on the table."
ROWS = "1\tCats\tcat\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tsleep\tsleep\tVERB\tVBP\t_\t0\troot\t_\t_\n"
HEAD = (1, 2)


@pytest.fixture(scope="module")
def live() -> Any:
    """A tiny masked-LM that stays loaded."""
    encoder = tiny.randomize("bert")
    encoder.tokenizer.mask_token = "[MASK]"
    lm = tiny.language_model(encoder, "MaskedLM")
    encoder.model.load_state_dict(lm.bert.state_dict(), strict=False)
    return LiveModel(encoder, lm=lm)


def maps_of(sentence: Any, kind: str, live: LiveModel) -> np.ndarray:
    """The maps of a drawing as bytes, of shape (layers, heads, rows, columns)."""
    content = zlib.decompress(base64.b64decode(sentence.maps[kind].data), -15)
    return np.frombuffer(content, np.uint8).reshape(live.encoder.n_layers, -1, *[len(sentence.rows)] * 2)


def guesses_of(sentence: Any, name: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(sentence.guesses[name]), -15), "<u2")


def typed(text: str) -> TypedSentence:
    (only,) = typed_texts(text)
    return only


@pytest.mark.parametrize(
    ("text", "words", "masked"),
    [
        (TEXT, TEXT.replace(".", " .").split(), ()),
        ("do n't go , now", ["do", "n't", "go", ",", "now"], ()),  # a comma between spaces: these are the words
        ("Don't [go], ok?", ["Don't", "go", ",", "ok", "?"], (1,)),
        ("[U.S.] [a b]", ["U.S", ".", "[", "a", "b", "]"], (0, 1)),
        ("我[学]习", ["我", "学", "习"], (1,)),
        ("[MASK] it", ["MASK", "it"], (0,)),
    ],
)
def test_words_are_those_that_were_typed(text, words, masked):
    assert (list(typed(text).sentence.words), typed(text).masked) == (words, masked)


def test_pairs_and_rows_are_read():
    one, other = typed_texts("The key is here. ||| The keys [are] here.")
    assert (one.sentence.words[1], other.sentence.words[1], other.masked) == ("key", "keys", (2,))
    one, other = typed_texts(f"# sent_id = a\n{ROWS}\n# sent_id = b\r\n{ROWS}")
    assert (one.sentence.heads, one.sentence.relations, one.sentence.tags) == (
        (2, 0),
        ("nsubj", "root"),
        ("NOUN", "VERB"),
    )
    assert (other.sentence.id, other.sentence.file) == ("b", None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("  ", "no word"),
        ("a ||| ", "no word"),
        ("a ||| b ||| c", "or two"),
        (f"{ROWS}\n{ROWS}\n{ROWS}\n", "or two"),
        (ROWS.replace("\t2\t", "\t7\t"), "text:1"),
        ("x" * (MOST_CHARACTERS + 1), "Shorten"),
        ("a \ud800 b", "surrogate"),
    ],
)
def test_what_is_no_sentence_is_refused(text, why):
    with pytest.raises(RequestError, match=why):
        typed_texts(text)


def test_a_drawing_is_that_of_explore(live):
    kinds = ("weight", "norm", "rollout")
    sample = explore(TEXT, model=live.encoder, maps=kinds).explorer.sample
    assert sample is not None
    (expected,) = sample.sentences
    drawn = live.draw(typed(TEXT), kinds).sentence
    for name in ("rows", "special", "writing", "heads", "file", "mentions"):
        assert getattr(drawn, name) == getattr(expected, name)
    for kind in kinds:
        assert drawn.maps[kind].heads == expected.maps[kind].heads
        assert drawn.maps[kind].scales == pytest.approx(expected.maps[kind].scales, rel=1e-5)
        difference = maps_of(drawn, kind, live).astype(int) - maps_of(expected, kind, live)
        assert abs(difference).max() <= 1


def test_drawings_of_different_texts_and_heads_have_different_ids(live):
    ids = [
        live.draw(typed(text), ["weight"], off).sentence.id
        for text, off in ((TEXT, ()), (TEXT, [HEAD]), (TEXT, ()), (TEXT.replace("are", "[are]"), ()), ("Other.", ()))
    ]
    assert ids[0] == ids[2]
    assert len(set(ids)) == 4


def test_rows_of_a_tree_are_drawn_with_it_and_gold_guesses_are_exact(live):
    drawn = live.draw(typed(ROWS), ["weight"]).sentence
    assert (drawn.heads, drawn.relations) == ((None, 2, -1, None), (None, "nsubj", "root", None))
    guesses = guesses_of(drawn, "weight/dep->head").reshape(3, 4, 4)
    assert (guesses[..., 1] == 2).all()  # of two words, each has the other as its only candidate
    assert (guesses[..., 0] == 65535).all()


def test_heads_that_are_off_are_those_of_edited_weights(live):
    """What comes before is as it was; what comes after is that of a model whose head has no values."""
    encoder = live.encoder
    edited = LiveModel(encoder, lm=live.lm)
    edited.encoder = type(encoder)(without(encoder.model, *HEAD), encoder.tokenizer, encoder.name)
    kinds = ["weight", "norm", "attention-x-gradient"]
    plain, off, expected = (
        live.draw(typed(TEXT), kinds),
        live.draw(typed(TEXT), kinds, [HEAD]),
        edited.draw(typed(TEXT), kinds),
    )
    for kind in kinds[:2]:
        before, without_head, by_hand = (
            maps_of(each.sentence, kind, live).astype(int) for each in (plain, off, expected)
        )
        assert (without_head[:1] == before[:1]).all()
        assert abs(without_head[2:] - before[2:]).max() > 5
        assert abs(without_head[2:] - by_hand[2:]).max() <= 1
    gradient = maps_of(off.sentence, kinds[2], live)
    assert not gradient[HEAD].any()  # nothing depends on the head
    assert gradient[0].any()


def test_close_decisions_are_made_again_without_the_heads(live):
    pieces = live.pieces(typed(TEXT))
    for off in ((), [HEAD]):
        for batch in live.batches(typed(TEXT).sentence, pieces, ["weight", "norm"], off):
            (exact,) = batch.exact([0])
            assert exact.dtype == torch.float64
            assert torch.allclose(exact.float(), batch.maps[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("off", [(), [HEAD]])
def test_predictions_are_those_of_the_analysis(live, off):
    """One masked word at a time, with all heads and without one."""
    sentence = typed(TEXT).sentence
    maker = PredictionMaker((HEAD,), AblationMaker((HEAD,), live.encoder.n_layers, lm=live.lm))
    [found] = [maker.of(batch) for batch in shared_batches(live.encoder, [sentence])]
    expected = found[bool(off)]
    for word in (0, 5):
        drawn = live.draw(TypedSentence(sentence, (word,)), ["weight"], off)
        assert drawn.masked == (word + 1,)  # after [CLS]
        assert drawn.sentence.rows[word + 1] == f"[{sentence.words[word]}]"
        assert drawn.predictions.log_p[word] == pytest.approx(expected.log_p[word], abs=2e-4)
        names, chances = zip(*drawn.predictions.likeliest[word], strict=True)
        assert names[:3] == tuple(name for name, _ in expected.likeliest[word])
        assert chances[:3] == pytest.approx([chance for _, chance in expected.likeliest[word]], abs=2e-4)
        assert [value is None for value in drawn.predictions.log_p].count(False) == 1
    assert found[0].log_p[5] != pytest.approx(found[1].log_p[5], abs=1e-3)


def test_masked_words_are_predicted_by_one_pass_of_the_model(live):
    """Two words that are masked do not see each other. Maps are those of the masked text."""
    text = typed("The [keys] to the cabinet [are] on the table.")
    pieces = tiny.pieces(live.encoder, text.sentence)
    at = [index for index, word in enumerate(pieces.word_of) if word in (1, 5)]
    ids = torch.tensor([[live.encoder.tokenizer.mask_token_id if i in at else id_ for i, id_ in enumerate(pieces.ids)]])
    with torch.inference_mode():
        result = live.lm(input_ids=ids, output_attentions=True)
    log_p = torch.log_softmax(result.logits[0].double(), -1)
    drawn = live.draw(text, ["weight"])
    for word in (1, 5):
        own = [index for index in at if pieces.word_of[index] == word]
        assert drawn.predictions.log_p[word] == pytest.approx(
            sum(float(log_p[i, pieces.ids[i]]) for i in own), abs=2e-4
        )
        chance = drawn.predictions.likeliest[word][0][1]
        assert chance == pytest.approx(float(log_p[own[0]].exp().max()), abs=2e-4)
    to_first = result.attentions[0][0, :, :, 0].numpy()  # [CLS] is one piece, so only rows are merged
    rows = [int(np.flatnonzero(np.array(pieces.positions) == row)[0]) for row in (0, len(drawn.sentence.rows) - 1)]
    assert maps_of(drawn.sentence, "weight", live)[0][:, [0, -1], 0] == pytest.approx(255 * to_first[:, rows], abs=0.6)


def test_a_causal_model_predicts_each_word_and_masks_none():
    encoder = tiny.randomize("gpt2")
    model: Any = LiveModel(encoder, lm=tiny.language_model(encoder, "CausalLM"))
    plain, asked = model.draw(typed(TEXT), ["weight"]), model.draw(typed(TEXT.replace("are", "[are]")), ["weight"])
    assert plain.predictions.log_p == asked.predictions.log_p
    assert asked.masked == (5,)
    pieces = tiny.pieces(encoder, typed(TEXT).sentence)
    with torch.inference_mode():
        log_p = torch.log_softmax(model.lm(input_ids=torch.tensor([pieces.ids])).logits[0].double(), -1)
    own = [index for index, word in enumerate(pieces.word_of) if word == 5]
    assert plain.predictions.log_p[5] == pytest.approx(sum(float(log_p[i - 1, pieces.ids[i]]) for i in own), abs=2e-4)
    assert plain.predictions.log_p[0] is None
    assert "weight/both" in plain.sentence.guesses


def test_what_cannot_be_drawn_is_refused(live):
    long = TypedSentence(Sentence("long", ("a",) * 20_000))
    for text, words in ((long, "20,000 words"), (typed("cabinet " * 30), "pieces")):
        with pytest.raises(RequestError, match=f"has .*{words}.*64 pieces") as refused:
            live.draw(text, ["weight"])
        assert refused.value.status == 422
    for kinds, off, why in (
        (["magic"], (), "cannot draw"),
        (["rollout"], [HEAD], "rollout"),
        (["attn"], [HEAD], "attn"),
    ):
        with pytest.raises(RequestError, match=why):
            live.draw(typed(TEXT), kinds, off)
    unmasking = LiveModel(tiny.encoder("bert"), lm=SimpleNamespace(to=lambda _: SimpleNamespace(eval=lambda: None)))
    with pytest.raises(RequestError, match="mask token"):
        unmasking.draw(typed("[a] b"), ["weight"])


def test_a_concordance_counts_what_the_tables_count(live):
    treebank = load_treebank(SAMPLE_TREEBANK, limit=25)
    run = analyze(live.encoder, treebank, analyses="dependency", options=CountOptions(replicates=0, min_count=1))
    table = run.dependency.cells.set_index(["relation", "direction", "layer", "head"])
    for layer, head, relation, direction in (
        (1, 0, "nsubj", "dep->head"),
        (2, 3, "det", "head->dep"),
        (0, 1, "all-nopunct", "dep->head"),
    ):
        question = Question((layer, head), "weight", relation, direction)
        found = list(uses(live, treebank, question))
        assert found[-1][0] == run.record["sentences"]["read"] == 22  # others are too long
        rows = [use for _, of_batch in found for use in of_batch]
        key: Any = (relation, direction, layer + 1, head + 1)
        row: Any = table.loc[key]
        assert (sum(use.verdict == "right" for use in rows), len(rows)) == (row["correct"], row["total"])
        assert {bool(use.mistake) for use in rows if use.verdict == "wrong"} == {True}


def test_a_use_says_what_the_head_picks(live):
    """An argmax over the other words, of maps that were made by another function."""
    sentences = [*load_treebank(SAMPLE_TREEBANK, limit=3)]
    bare = [Sentence(each.id, each.words) for each in sentences]
    maps = {sentence.id: values for batch in extract(live.encoder, bare) for sentence, values in batch.unpadded()}
    for direction in ("dep->head", "head->dep", "both"):
        question = Question((2, 1), "weight", None, direction)
        rows = {(use.sentence, use.word): use for _, of_batch in uses(live, bare, question) for use in of_batch}
        assert len(rows) == sum(map(len, bare))
        for sentence in bare:
            values = maps[sentence.id][2, 1, 1:-1, 1:-1]
            values = {"dep->head": values, "head->dep": values.T, "both": values + values.T}[direction].copy()
            np.fill_diagonal(values, -1)
            for word, of_word in enumerate(values):
                use = rows[sentence.id, word]
                assert (use.form, use.picked) == (sentence.words[word], sentence.words[use.picked_index])
                assert of_word[use.picked_index] == pytest.approx(of_word.max(), rel=1e-5) == pytest.approx(use.weight)
                assert (use.distance, use.verdict, use.gold) == (use.picked_index - word, None, None)
                assert use.row == word + 1  # behind [CLS]
    first = rows[bare[0].id, 8]
    assert (first.left.split(), first.right.split()) == ([*bare[0].words[:8]], [*bare[0].words[9:]])

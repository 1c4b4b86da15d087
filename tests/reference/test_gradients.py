"""Gradients with respect to attention weights against differences of losses, and what is made of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers
from torch.nn import functional
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask
from transformers.models.bert.modeling_bert import eager_attention_forward

from attentionology.analyses.surface.gradients import GradientImportance
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import (
    TOKEN_CLASSES,
    Encoder,
    GradientMaker,
    ModelError,
    extract,
    load_causal_lm,
    load_masked_lm,
)
from attentionology.extractors.maps.shared_pass import mask_pieces
from attentionology.extractors.tokens.pieces import Pieces
from tests import tiny

SENTENCES = [Sentence("a", ("the", "and", ",", "was")), Sentence("b", ("the", "garden", "was", "the", "sea", "."))]


def with_mask(encoder: Encoder) -> Encoder:
    """Tiny WordPiece tokenizers know their mask token only as a word."""
    encoder.tokenizer.mask_token = "[MASK]" if "[MASK]" in encoder.tokenizer.get_vocab() else "<mask>"
    return encoder


def double_bert() -> tuple[Encoder, transformers.BertForMaskedLM]:
    encoder = with_mask(tiny.randomize("bert"))
    encoder.model.double()
    torch.manual_seed(0)
    head = transformers.AutoModelForMaskedLM.from_config(encoder.model.config, attn_implementation="eager").double()
    head.bert.load_state_dict(encoder.model.state_dict(), strict=False)
    return encoder, head.eval()


def loss_with(model, kind: str, encoder: Encoder, sentence: Sentence, nudge: dict[str, float]) -> float:
    """The loss when one attention weight is a little larger than it is."""
    seen = {"layer": -1}

    def nudged(module, query, key, value, attention_mask, **options):
        seen["layer"] += 1
        alpha = eager_attention_forward(module, query, key, value, attention_mask, **options)[1].clone()
        if nudge and nudge["layer"] == seen["layer"]:
            alpha[0, nudge["head"], nudge["i"], nudge["j"]] += nudge["by"]
        return torch.matmul(alpha, value).transpose(1, 2).contiguous(), alpha

    AttentionInterface.register("nudged", nudged)
    AttentionMaskInterface.register("nudged", eager_mask)
    (pieces,) = encoder.align([sentence])
    assert isinstance(pieces, Pieces)
    masked, places = mask_pieces(encoder, pieces, 0.15, f"0 {sentence.id}", one_at_least=True)
    try:
        model.set_attn_implementation("nudged")
        with torch.no_grad():
            output = model(input_ids=torch.tensor([masked.ids]))
            if kind == "mlm":
                targets = torch.tensor([pieces.ids[i] for i in places])
                return float(functional.cross_entropy(output.logits[0, places], targets))
            seen["layer"], kept = -100, output.last_hidden_state
            clean = model(input_ids=torch.tensor([pieces.ids])).last_hidden_state
            return float((kept - clean)[0, places].square().mean(-1).mean())
    finally:
        model.set_attn_implementation("eager")


@pytest.mark.parametrize("kind", ["mlm", "hidden"])
def test_against_differences_of_losses(kind):
    encoder, head = double_bert()
    (batch,) = tiny.batches(GradientMaker(kind, head if kind == "mlm" else None), encoder, SENTENCES)
    rng = np.random.default_rng(0)
    step = 1e-5
    model = head if kind == "mlm" else encoder.model
    for row, sentence in enumerate(batch.sentences):
        n = int((batch.classes[row] >= 0).sum())
        assert float(batch.losses[row]) == pytest.approx(loss_with(model, kind, encoder, sentence, {}), rel=1e-9)
        for _ in range(12):
            layer, h, i, j = rng.integers([3, 4, n, n]).tolist()
            place = {"layer": layer, "head": h, "i": i, "j": j}
            up, down = (loss_with(model, kind, encoder, sentence, {**place, "by": by}) for by in (step, -step))
            expected = abs(up - down) / (2 * step)
            assert float(batch.gradients[row, layer, h, i, j]) == pytest.approx(expected, rel=1e-4, abs=1e-9)
        assert (batch.gradients[row, ..., n:] == 0).all()
        assert (batch.gradients[row, ..., n:, :] == 0).all()
        assert batch.alpha[row, ..., :n, :n].sum(-1).numpy() == pytest.approx(1)


@pytest.mark.parametrize("family", [f for f in tiny.FAMILIES if f != "gpt2"])
def test_every_family_has_gradients_in_every_layer(family):
    encoder = with_mask(tiny.encoder(family))
    for batch in tiny.batches(GradientMaker("hidden"), encoder, SENTENCES):
        assert (batch.gradients.amax((2, 3, 4)) > 0).all()
        assert batch.gradients.isfinite().all()


def test_batches_and_frozen_parameters_do_not_matter():
    encoder = with_mask(tiny.encoder("bert"))
    (together,) = tiny.batches(GradientMaker("hidden"), encoder, SENTENCES)
    for parameter in encoder.model.parameters():
        parameter.requires_grad_(False)
    alone = {b.sentences[0].id: b for b in tiny.batches(GradientMaker("hidden"), encoder, SENTENCES, batch_cells=1)}
    for row, sentence in enumerate(together.sentences):
        n = alone[sentence.id].alpha.shape[-1]
        mine, theirs = together.gradients[row, ..., :n, :n], alone[sentence.id].gradients[0]
        assert torch.allclose(mine, theirs, rtol=1e-3, atol=2e-6)  # float32, of gradients up to 1
    assert not any(p.grad is not None for p in encoder.model.parameters())


@pytest.mark.slow
def test_masks_depend_on_sentence_and_seed_alone():
    encoder = with_mask(tiny.encoder("bert"))
    mask = TOKEN_CLASSES.index("[MASK]")

    def masked(seed: int, sentences: list[Sentence]) -> dict[str, list[int]]:
        batches = tiny.batches(GradientMaker("hidden", seed=seed), encoder, sentences)
        return {
            s.id: (row == mask).nonzero().flatten().tolist()
            for b in batches
            for s, row in zip(b.sentences, b.classes, strict=True)
        }

    assert masked(0, SENTENCES) == masked(0, SENTENCES[::-1]) == masked(0, SENTENCES[:1]) | masked(0, SENTENCES[1:])
    assert all(masked(seed, SENTENCES)["a"] for seed in range(20))  # one at least
    assert len({tuple(masked(seed, SENTENCES)["b"]) for seed in range(20)}) > 5


def test_importance_against_means_written_out():
    encoder = with_mask(tiny.encoder("bert"))
    batches = list(tiny.batches(GradientMaker("hidden"), encoder, SENTENCES, batch_cells=1))
    metric = GradientImportance(3, 4)
    for batch in batches:
        metric.update(batch)
    table = metric.compute()
    assert len(table) == 3 * 4 * len(set(table["class"]))
    for row in table.to_dict("records"):
        c = TOKEN_CLASSES.index(row["class"])
        by_input, pooled, attention = [], [], []
        for batch in batches:
            columns = [j for j, k in enumerate(batch.classes[0].tolist()) if k == c]
            g = batch.gradients[0, row["layer"] - 1, row["head"] - 1].double().numpy()
            a = batch.alpha[0, row["layer"] - 1, row["head"] - 1].double().numpy()
            attention.append(a[:, columns].sum() / len(a))
            if columns:
                by_input.append(g[:, columns].mean())
                pooled += g[:, columns].flatten().tolist()
        assert row["gradient"] == pytest.approx(np.mean(by_input))
        assert row["gradient_pooled"] == pytest.approx(np.mean(pooled))
        assert row["attention"] == pytest.approx(np.mean(attention))
        assert (row["inputs"], row["weights"]) == (len(by_input), len(pooled))
        assert row["loss"] == pytest.approx(np.mean([float(b.losses[0]) for b in batches]))
    shares = table.groupby(["layer", "head"])["attention"].sum()
    assert shares.to_numpy() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("head_class", [transformers.BertForMaskedLM, transformers.BertForPreTraining])
def test_the_head_comes_from_the_checkpoint(tmp_path, head_class):
    trained = head_class(tiny.encoder("bert").model.config)
    trained.save_pretrained(tmp_path)
    found = load_masked_lm(tmp_path)
    assert found is not None
    bias = found.cls.predictions.decoder.bias
    assert torch.equal(bias, trained.cls.predictions.decoder.bias)
    assert torch.equal(found.cls.predictions.transform.dense.weight, trained.cls.predictions.transform.dense.weight)
    assert not found.training


def test_only_a_model_that_reads_what_precedes_predicts_the_next_piece(tmp_path):
    """`BertLMHeadModel` loads from any BERT, but reads the piece that it would have to predict."""
    for folder, auto_class, family in (
        ("masked", transformers.AutoModelForMaskedLM, "bert"),
        ("causal", transformers.AutoModelForCausalLM, "gpt2"),
    ):
        auto_class.from_config(tiny.model(family).config).save_pretrained(tmp_path / folder)
    assert load_causal_lm(tmp_path / "masked") is None
    found = load_causal_lm(tmp_path / "causal")
    assert found is not None
    with torch.inference_mode():
        first, second = (found(input_ids=torch.tensor([ids])).logits[0] for ids in ([5, 6, 7], [5, 6, 8]))
    assert torch.equal(first[:2], second[:2])


@pytest.mark.parametrize("family", ["bert", "gpt2", "bart"])
def test_checkpoints_without_such_a_head(tmp_path, family):
    """Their head would be random numbers."""
    tiny.model(family).save_pretrained(tmp_path)
    assert load_masked_lm(tmp_path) is None


@pytest.mark.parametrize("loss", ["mlm", "hidden"])
@pytest.mark.parametrize("where", ["encoder.layer.2.output.dense", "encoder.layer.2.intermediate.dense"])
def test_a_loss_that_is_not_a_number_is_an_error(loss, where):
    encoder, head = double_bert()
    for body in (encoder.model, head.bert):
        body.get_submodule(where).bias.data[3] = float("nan")  # behind the last attention, which stays as it is
    for batch in extract(encoder, SENTENCES):
        assert batch.maps.isfinite().all()
    with pytest.raises(ModelError, match=f"'{loss}' loss is NaN"):
        list(tiny.batches(GradientMaker(loss, head if loss == "mlm" else None), encoder, SENTENCES))


def test_a_gradient_that_is_not_a_number_is_an_error():
    encoder = with_mask(tiny.encoder())
    # The square root of a constant 0 has the value 0 and an infinite slope, which times 0 is NaN.
    encoder.model.register_forward_hook(lambda _module, _inputs, output: _with_bad_slope(output))
    with pytest.raises(ModelError, match=r"gradients are NaN .*'a'"):
        list(tiny.batches(GradientMaker("hidden"), encoder, [Sentence("a", ("one", "two"))]))


def _with_bad_slope(output):
    output["last_hidden_state"] = output["last_hidden_state"] + (output["last_hidden_state"] * 0).sqrt()
    return output


def test_what_has_no_gradient():
    encoder = with_mask(tiny.encoder("bert"))
    with pytest.raises(ValueError, match="needs a model with a masked-LM head"):
        GradientMaker("mlm")
    with pytest.raises(ValueError, match="mask_rate"):
        GradientMaker("hidden", mask_rate=0.0)
    with pytest.raises(ModelError, match="no mask token"):
        list(tiny.batches(GradientMaker("hidden"), tiny.encoder("gpt2"), SENTENCES))
    honest = encoder.model.forward

    def detached(**inputs):
        output = honest(**inputs)
        output.attentions = tuple(alpha.detach().requires_grad_() for alpha in output.attentions)
        return output

    encoder.model.forward = detached
    with pytest.raises(ModelError, match="does not depend on the attention weights"):
        list(tiny.batches(GradientMaker("hidden"), encoder, SENTENCES))

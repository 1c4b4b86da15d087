"""What an encoder promises, on tiny models of many families."""

from __future__ import annotations

import copy
import itertools
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.models.bert.modeling_bert import eager_attention_forward

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import Encoder, GradientMaker, ModelError, extract
from attentionology.extractors.model.loading import load_from
from attentionology.extractors.tokens.pieces import Pieces
from tests import documentation, tiny

FAMILIES = list(tiny.FAMILIES)


def pieces_of_length(encoder: Encoder, n: int) -> Pieces:
    """Exactly n pieces."""
    (one,) = encoder.align([Sentence("s", ("a",))])
    assert isinstance(one, Pieces)
    filler = one.ids[one.special.index(False)]
    return Pieces([filler] * n, ["a"] * n, list(range(n)), [False] * n, 0, 0)


@pytest.mark.parametrize(
    "family", ["bert", "electra", "distilbert", "roberta", "xlm-roberta", "albert", "mpnet", "bart", "gpt2"]
)
def test_max_length_is_the_longest_input_that_the_position_table_allows(family):
    encoder = tiny.encoder(family)
    limit = encoder.max_length
    assert limit is not None
    assert encoder.forward([pieces_of_length(encoder, limit)]).attentions[0].shape[-1] == limit
    with pytest.raises((IndexError, RuntimeError)):
        encoder.forward([pieces_of_length(encoder, limit + 1)])


WITH_OTHER_KERNELS = [family for family in FAMILIES if family not in ("deberta", "deberta-v2", "mpnet")]
"""The others know eager attention only."""


@pytest.mark.parametrize("family", WITH_OTHER_KERNELS)
def test_a_model_of_the_default_implementation_is_switched_to_eager_attention(family):
    sentences = [Sentence("1", ("The", "old", "house", "burned", ".")), Sentence("2", ("Go", "!"))]
    eager = tiny.encoder(family)
    expected = next(extract(eager, sentences)).maps
    model = eager.model
    model.set_attn_implementation("sdpa")
    assert model.config._attn_implementation == "sdpa"
    encoder = Encoder(model, eager.tokenizer)
    assert encoder.model.config._attn_implementation == "eager"
    assert torch.equal(next(extract(encoder, sentences)).maps, expected)


def masked_lm(encoder: Encoder) -> Any:
    torch.manual_seed(0)
    head = transformers.AutoModelForMaskedLM.from_config(copy.deepcopy(encoder.model.config)).eval()
    head.base_model.load_state_dict(encoder.model.state_dict(), strict=False)
    return head


def test_a_masked_language_model_is_switched_to_eager_attention_too():
    encoder = tiny.encoder()
    encoder.tokenizer.mask_token = "[MASK]"
    eager, default = masked_lm(encoder), masked_lm(encoder)
    default.set_attn_implementation("sdpa")
    sentences = [Sentence("1", ("Green", "ideas", "sleep", "."))]
    expected = next(tiny.batches(GradientMaker("mlm", eager), encoder, sentences)).gradients
    given = next(tiny.batches(GradientMaker("mlm", default), encoder, sentences)).gradients
    assert expected.max() > 0
    assert torch.equal(given, expected)
    default.register_forward_hook(lambda _module, _inputs, output: setattr(output, "attentions", None))
    with pytest.raises(ModelError, match=r"0 of 3 layers gave attention weights"):
        next(tiny.batches(GradientMaker("mlm", default), encoder, sentences))


def test_an_implementation_that_gives_weights_is_left_as_it_is():
    def doubled(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        return eager_attention_forward(module, query, 2 * key, value, mask, **options)

    transformers.AttentionInterface.register("doubled", doubled)
    AttentionMaskInterface.register("doubled", eager_mask)
    model = tiny.model("bert")
    model.set_attn_implementation("doubled")
    encoder = Encoder(model, tiny.fresh_tokenizer("wordpiece"))
    assert encoder.model.config._attn_implementation == "doubled"
    sentences = [Sentence("1", ("Green", "ideas", "sleep", "."))]
    ours, eager = next(extract(encoder, sentences)).maps, next(extract(tiny.encoder(), sentences)).maps
    assert (ours - eager).abs().max() > 0.01


@pytest.mark.parametrize("cause", ["it is not switched", "it gives none"])
def test_a_model_that_gives_no_weights_is_refused(monkeypatch, cause):
    model = tiny.model("bert")
    model.set_attn_implementation("sdpa")
    if cause == "it gives none":
        model.register_forward_hook(lambda _module, _inputs, output: setattr(output, "attentions", ()))
    else:
        monkeypatch.setattr(type(model), "_can_set_attn_implementation", lambda *_: False)
    with pytest.raises(ModelError, match=r"0 of 3 layers .* attn_implementation='eager'"):
        Encoder(model, tiny.fresh_tokenizer("wordpiece"))


def test_tokenizer_of_another_model_is_refused():
    with pytest.raises(ModelError, match="do not match"):
        Encoder(tiny.model("bert", vocab_size=50), tiny.fresh_tokenizer("wordpiece"))


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "distilbert", "gpt2", "deberta-v2"])
def test_random_init_keeps_embedding_tables_and_nothing_else(family):
    encoder = tiny.encoder(family)
    twin = encoder.random_init(seed=1)
    assert twin.model.config.to_dict() == encoder.model.config.to_dict()
    tables = {name for name, module in encoder.model.named_modules() if isinstance(module, nn.Embedding)}
    assert tables
    trained = dict(encoder.model.named_parameters())
    for name, weight in twin.model.named_parameters():
        if name.rsplit(".", 1)[0] in tables:
            assert torch.equal(weight, trained[name]), name
        elif weight.dim() > 1:  # biases start at zero in both
            assert not torch.equal(weight, trained[name]), name


def test_random_init_depends_on_its_seed_alone():
    encoder = tiny.encoder()
    torch.manual_seed(1)
    one = encoder.random_init(seed=3).weights_sha256()
    torch.manual_seed(2)
    before = torch.get_rng_state()
    assert encoder.random_init(seed=3).weights_sha256() == one
    assert torch.equal(torch.get_rng_state(), before)
    assert encoder.random_init(seed=4).weights_sha256() != one
    assert encoder.weights_sha256() != one


VARIANTS: dict[str, dict[str, Any]] = {
    **{family: {} for family in FAMILIES},
    "albert in two groups": {"num_hidden_layers": 4, "num_hidden_groups": 2},
    "bert in chunks": {"chunk_size_feed_forward": 1},
    "deberta-v2 with a convolution": {"conv_kernel_size": 3},
    "modernbert with biases": {"mlp_bias": True, "attention_bias": True, "norm_bias": True},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_double_gives_the_bits_of_a_model_that_is_all_float64_and_holds_no_second_copy_of_the_weights(variant):
    encoder = tiny.randomize(variant.split(" ")[0], **VARIANTS[variant])
    before = {name: parameter.clone() for name, parameter in encoder.model.named_parameters()}
    converted = Encoder(copy.deepcopy(encoder.model).double(), encoder.tokenizer)
    for length in (3, 60):
        batch = [pieces_of_length(encoder, length)]
        ours, theirs = (one.forward(batch).attentions for one in (encoder.double, converted))
        assert len(ours) == encoder.n_layers
        for alpha, expected in zip(ours, theirs, strict=True):
            assert alpha.dtype == torch.float64
            assert torch.equal(alpha, expected)
    assert encoder.dtype == torch.float32
    assert encoder.double.dtype == torch.float64
    assert encoder.double.double is encoder.double
    stored = {parameter.data_ptr() for parameter in encoder.model.parameters()}
    assert {parameter.data_ptr() for parameter in encoder.double.model.parameters()} <= stored
    assert list(before) == [name for name, _ in encoder.model.named_parameters()]
    for name, parameter in encoder.model.named_parameters():
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, before[name])


def test_double_follows_parameters_that_are_written_to_and_replaced():
    encoder = tiny.randomize("bert")
    batch = [pieces_of_length(encoder, 9)]

    def attention(of: Encoder) -> torch.Tensor:
        return torch.stack(list(of.forward(batch).attentions))

    query = encoder.model.encoder.layer[1].attention.self.query
    seen = [attention(encoder.double)]
    query.weight.data[0] += 1
    seen.append(attention(encoder.double))
    query.weight.data = query.weight.data * 0.5
    seen.append(attention(encoder.double))
    query.weight = nn.Parameter(query.weight.detach() * 3)
    seen.append(attention(encoder.double))
    assert not any(torch.equal(one, other) for one, other in itertools.combinations(seen, 2))
    assert torch.equal(seen[-1], attention(Encoder(copy.deepcopy(encoder.model).double(), encoder.tokenizer)))


def test_layers_are_read_again_after_a_change_alone():
    """They are verified when they are read, which the making of a float64 view needs not repeat."""
    encoder = tiny.randomize("bert")
    layers = encoder.layers
    assert encoder.double.layers is not layers
    assert encoder.layers is layers
    with torch.no_grad():
        encoder.model.encoder.layer[1].attention.self.query.weight[0] += 1
    changed = encoder.layers
    assert changed is not layers
    with torch.no_grad():
        encoder.model.encoder.layer[1].attention.self.query.weight[0] += 1
    encoder.model.encoder.layer[0].attention.self.query.weight = nn.Parameter(
        encoder.model.encoder.layer[0].attention.self.query.weight.detach() * 3
    )
    assert encoder.double.layers is not layers  # a view of the new parameters
    assert encoder.layers is not changed


def test_pickled_weights_are_converted_as_the_page_says(tmp_path, monkeypatch):
    encoder, folder = tiny.encoder(), tmp_path / "my-model"
    encoder.model.config.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)
    weights = dict(encoder.model.state_dict())
    weights["cls.predictions.decoder.weight"] = weights["embeddings.word_embeddings.weight"]  # tied, so they are shared
    weights["cls.predictions.transform.dense.weight"] = torch.ones(4, 2).T
    first, second = list(weights)[::2], list(weights)[1::2]
    for number, names in enumerate((first, second)):
        torch.save({name: weights[name] for name in names}, folder / f"pytorch_model-0000{number + 1}-of-00002.bin")
    with pytest.raises(ModelError, match=r"read as safetensors or, .* weights_only=True"):  # as they have no index
        Encoder.from_pretrained(folder)
    monkeypatch.chdir(tmp_path)
    (code,) = (block for block in documentation.blocks("docs/how-to/hub.md", "python") if "torch.load" in block)
    exec(code, {})  # noqa: S102 the code of this project
    loaded = Encoder.from_pretrained(folder).model.state_dict()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in encoder.model.state_dict().items())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dtype": torch.float16}, ValueError, "dtype must be"),  # too low to compare values
        ({"dtype": torch.int8}, ValueError, "dtype must be"),
        ({"device": "cuda:9"}, ModelError, "cannot use device"),
        ({"device": "meta"}, ModelError, "cannot use device"),
    ],
)
def test_types_and_devices_that_cannot_be_used_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        tiny.encoder_from_folder(**options)


def test_models_that_are_loaded_at_once_wait_for_each_other():
    """Transformers puts the tensors of all threads on no device while it builds a model."""
    running: list[int] = []
    most: list[int] = []
    files: Any = SimpleNamespace(folder="f", name="m")

    class Slow:
        @staticmethod
        def from_pretrained(*_arguments: Any, **_options: Any) -> Any:
            running.append(1)
            time.sleep(0.02)
            most.append(len(running))
            running.pop()
            raise OSError("no such model")

    def load() -> None:
        with pytest.raises(ModelError):
            load_from(Slow, files, torch.float32)

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1]

"""The names of the modules that a layer is made of: one row per family of models.

To add a family, register a row. `extractors.layers.verification` shows on the first sentence whether the row is right.
The page ``docs/how-to/architectures.md`` walks through an example.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Fused = Literal["no", "last third", "third of each head"]


@dataclass(frozen=True)
class CrossAttention:
    """Names of the modules of cross-attention: those of the layers seen from the model, the others from one layer.

    Attributes:
        layers: the list of the decoder's layers.
        block: the cross-attention block of a layer.
        value, output: the projections of a block to value vectors (W_V) and back to the hidden size (W_O).
        ff_in, ff_out: the linear maps of the feed-forward block of a layer, which need not be computed after the last
            cross-attention. Both are empty where the block also reads their weights, so that it cannot be skipped.
        head: the language-model head, seen from the model, where the model cannot be run without it.
        time_first: whether what the block gives has the positions before the inputs of the batch.
        noise: the relative difference below which two float32 values of its maps must not be compared. Where scores are
            not divided by the square root of the dimension, their rounding is larger.

    Example:
        >>> from attentionology.extractors import CrossAttention
        >>> CrossAttention(value="value").output  # all other names are those of BART
        'out_proj'
    """

    layers: str = "decoder.layers"
    block: str = "encoder_attn"
    value: str = "v_proj"
    output: str = "out_proj"
    ff_in: str = "fc1"
    ff_out: str = "fc2"
    head: str = ""
    time_first: bool = False
    noise: float = 2e-5


@dataclass(frozen=True)
class Architecture:
    """Names of modules, seen from the base model (``layers``) or from one layer (the rest).

    Attributes:
        layers: the list of layers; ``*`` stands for every item of a list. If there are fewer modules than layers, the
            layers share them, in order. It is empty if only the cross-attention of the family has names here.
        value: the projection to value vectors (W_V).
        output: the projection of all heads back to the hidden size (W_O).
        norm_1: the layer norm after attention (post-LN), or the one before it (pre-LN). Several names, separated by
            ``|``, are alternatives, of which the first that exists is taken. It is empty where there is none.
        ff_in, activation, ff_out: the feed-forward block. They are empty for a mixture of experts, whose weights are
            not read; then only kinds of maps that do not pass the block are there.
        norm_2: the layer norm after the feed-forward block (post-LN), or the one before it (pre-LN).
        pre_norm: whether layer norms come before the blocks (GPT-2) instead of after them (BERT), or the name of the
            entry of the configuration that says so.
        gated: whether ``ff_in`` gives two halves u and w, and the activation is g(u) · w. If they are two modules,
            ``ff_in`` has both names, separated by a space.
        fused: how the value projection is packed with those of query and key. Where several heads share their keys and
            values, it is less than a third.
        value_bias: a bias parameter that is separate from the projection.
        attention_norm, ff_norm: the norm of what the attention or the feed-forward block adds, before it is added to
            the residual stream (pre-LN only, as in Gemma 2); empty where there is none.
        parallel: whether both blocks read the input of the layer (pre-LN only), or the name of the entry of the
            configuration that says so.
        cross: the cross-attention of an encoder-decoder; None if the family has none.

    Example:
        >>> from attentionology.extractors import Architecture
        >>> Architecture(layers="blocks", value="attention.v_proj").output  # all other names are those of BERT
        'attention.output.dense'
    """

    layers: str = "encoder.layer"
    value: str = "attention.self.value"
    output: str = "attention.output.dense"
    norm_1: str = "attention.output.LayerNorm"
    ff_in: str = "intermediate.dense"
    activation: str = "intermediate.intermediate_act_fn"
    ff_out: str = "output.dense"
    norm_2: str = "output.LayerNorm"
    pre_norm: bool | str = False
    gated: bool = False
    fused: Fused = "no"
    value_bias: str | None = None
    attention_norm: str = ""
    ff_norm: str = ""
    parallel: bool | str = False
    cross: CrossAttention | None = None


_BERT = Architecture()
_BART = Architecture(
    layers="layers",
    value="self_attn.v_proj",
    output="self_attn.out_proj",
    norm_1="self_attn_layer_norm",
    ff_in="fc1",
    activation="activation_fn",
    ff_out="fc2",
    norm_2="final_layer_norm",
    cross=CrossAttention(),
)
_LLAMA = Architecture(
    layers="layers",
    value="self_attn.v_proj",
    output="self_attn.o_proj",
    norm_1="input_layernorm",
    ff_in="mlp.gate_proj mlp.up_proj",
    activation="mlp.act_fn",
    ff_out="mlp.down_proj",
    norm_2="post_attention_layernorm",
    pre_norm=True,
    gated=True,
)
_EXPERTS = replace(_LLAMA, ff_in="", activation="", ff_out="")
_GEMMA = replace(
    _LLAMA,
    norm_2="pre_feedforward_layernorm",
    attention_norm="post_attention_layernorm",
    ff_norm="post_feedforward_layernorm",
)
_GPT_NEOX = Architecture(
    layers="layers",
    value="attention.query_key_value",
    output="attention.dense",
    norm_1="input_layernorm",
    ff_in="mlp.dense_h_to_4h",
    activation="mlp.act",
    ff_out="mlp.dense_4h_to_h",
    norm_2="post_attention_layernorm",
    pre_norm=True,
    fused="third of each head",
    parallel="use_parallel_residual",
)
_ONLY_CROSS = Architecture(layers="", cross=CrossAttention())
_T5 = Architecture(
    layers="",
    cross=CrossAttention(
        "decoder.block",
        block="layer.1.EncDecAttention",
        value="v",
        output="o",
        ff_in="",
        ff_out="",
        head="lm_head",
        noise=1e-4,
    ),
)

ARCHITECTURES: dict[str, Architecture] = {
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "camembert": _BERT,
    "electra": _BERT,
    "distilbert": Architecture(
        layers="transformer.layer",
        value="attention.v_lin",
        output="attention.out_lin",
        norm_1="sa_layer_norm",
        ff_in="ffn.lin1",
        activation="ffn.activation",
        ff_out="ffn.lin2",
        norm_2="output_layer_norm",
    ),
    "albert": Architecture(
        layers="encoder.albert_layer_groups.*.albert_layers.*",
        value="attention.value",
        output="attention.dense",
        norm_1="attention.LayerNorm",
        ff_in="ffn",
        activation="activation",
        ff_out="ffn_output",
        norm_2="full_layer_layer_norm",
    ),
    "mpnet": replace(_BERT, value="attention.attn.v", output="attention.attn.o", norm_1="attention.LayerNorm"),
    "deberta": replace(
        _BERT, value="attention.self.in_proj", fused="third of each head", value_bias="attention.self.v_bias"
    ),
    "deberta-v2": replace(_BERT, value="attention.self.value_proj"),
    "bart": _BART,
    "gpt2": Architecture(
        layers="h",
        value="attn.c_attn",
        output="attn.c_proj",
        norm_1="ln_1",
        ff_in="mlp.c_fc",
        activation="mlp.act",
        ff_out="mlp.c_proj",
        norm_2="ln_2",
        pre_norm=True,
        fused="last third",
    ),
    "modernbert": Architecture(
        layers="layers",
        value="attn.Wqkv",
        output="attn.Wo",
        norm_1="attn_norm",
        ff_in="mlp.Wi",
        activation="mlp.act",
        ff_out="mlp.Wo",
        norm_2="mlp_norm",
        pre_norm=True,
        gated=True,
        fused="last third",
    ),
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "phi3": replace(
        _LLAMA,
        value="self_attn.qkv_proj",
        fused="last third",
        ff_in="mlp.gate_up_proj",
        activation="mlp.activation_fn",
    ),
    "gemma2": _GEMMA,
    "gemma3_text": _GEMMA,
    "olmo2": replace(_GEMMA, norm_1="", norm_2=""),
    "opt": replace(_BART, layers="decoder.layers", pre_norm="do_layer_norm_before", cross=None),
    "gpt_neox": _GPT_NEOX,
    "gpt_oss": _EXPERTS,
    "bloom": replace(
        _GPT_NEOX,
        layers="h",
        value="self_attention.query_key_value",
        output="self_attention.dense",
        activation="mlp.gelu_impl",
        parallel=False,
    ),
    "falcon": replace(
        _GPT_NEOX,
        layers="h",
        value="self_attention.query_key_value",
        output="self_attention.dense",
        norm_1="ln_attn|input_layernorm",
        norm_2="ln_mlp|post_attention_layernorm|input_layernorm",
        parallel="parallel_attn",
    ),
    "blenderbot": _ONLY_CROSS,
    "blenderbot-small": _ONLY_CROSS,
    "fsmt": replace(_ONLY_CROSS, cross=CrossAttention(head="decoder.output_projection", time_first=True)),
    "m2m_100": _ONLY_CROSS,
    "marian": _ONLY_CROSS,
    "mbart": _ONLY_CROSS,
    "mt5": _T5,
    "pegasus": _ONLY_CROSS,
    "plbart": _ONLY_CROSS,
    "t5": _T5,
    "umt5": _T5,
}
"""The rows by ``config.model_type``. Every row is tested with random parameters against the model's own layers."""


def register_architecture(family: str, architecture: Architecture) -> None:
    """Add the row of a family, so that the map kinds that read weights work for it.

    Args:
        family: the ``config.model_type`` of its models.
        architecture: the names of its modules.

    Raises:
        ValueError: the family has a row already.

    Example:
        >>> from attentionology.extractors import Architecture, register_architecture
        >>> register_architecture("my-bert", Architecture(value="attention.self.v"))
    """
    if family in ARCHITECTURES:
        raise ValueError(f"there already is a row for {family!r}")
    ARCHITECTURES[family] = architecture

"""Value Zeroing (Mohebbi et al. 2023): how much a layer's output changes when a key's value vector is zeroed."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from attentionology.extractors.kinds.registry import register_kind
from attentionology.extractors.kinds.rows import distributions
from attentionology.extractors.layers import Layer
from attentionology.extractors.layers.contributions import contribution_blocks


@register_kind(
    "value-zeroing",
    "cosine distance of the layer's output when a key's value is zeroed (Mohebbi et al. 2023)",
    rows_sum_to_one=True,
    reads_weights=True,
    residual=True,
    noise=2e-4,  # at most 7.8e-5 over 70,000 values close to the best of their row or column
)
def value_zeroing(layer: Layer) -> Float[Tensor, "batch 1 n n"]:
    """``1 − cos(x'_i, x'_i without v_j)`` with v_j zeroed in all heads and the residual kept; rows sum to 1.

    Not by n forward passes but from the sums before the first layer norm, of which the contribution of the key
    is taken away. The distance is half the squared distance of unit vectors, because ``1 − cos`` cancels to nothing in
    float32.
    """
    weights = layer.weights
    projections = [weights.w_o, *weights.to_units()]
    distances = layer.new_map()
    for b, one in enumerate(layer.sentences()):
        p, output = one.p[0], functional.normalize(one.output[0], dim=-1)
        normed = weights.norm.linear(p)
        from_p = [normed @ w for w, _ in weights.ff_in]
        constant = [weights.norm.beta @ w + bias for w, bias in weights.ff_in]
        for block in contribution_blocks(one, projections):
            taken, *from_taken = block.vectors
            rest = p[block.queries] - taken
            scale = 1 / weights.norm.deviation(rest)
            u = tuple(
                (whole[block.queries] - part).mul_(scale).add_(bias)
                for whole, part, bias in zip(from_p, from_taken, constant, strict=True)
            )
            around = rest if weights.pre_norm else weights.norm(rest)
            without = weights.feed_forward(u).add_(around)
            if weights.norm_out is not None:
                without = weights.norm_out(without)
            # Where a query pays nothing to a key (causal models) there is nothing but rounding.
            seen = one.alpha[0, :, block.queries, block.keys].amax(0) > 0
            off = functional.normalize(without, dim=-1).sub_(output[block.queries])
            distances[b, 0, block.queries, block.keys] = off.square_().sum(-1).T / 2 * seen
    return distributions(distances)

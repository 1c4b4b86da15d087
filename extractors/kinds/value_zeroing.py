"""Value Zeroing (Mohebbi et al. 2023): how much a layer's output changes when a key's value vector is zeroed.

The authors run the layer once per key. Here the layer is taken apart instead: before its first layer norm, the output
of query i is a sum over keys, so zeroing the value of key j subtracts one known vector from it (`contribution_blocks`),
and only what follows that sum has to be computed again. Unlike the other kinds this uses the true layer norms and the
true activation of the changed sum, with nothing linearized.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from ..layers import Layer
from ..layers.contributions import contribution_blocks
from .registry import register_kind
from .rollout import distributions


@register_kind(
    "value-zeroing",
    "cosine distance of the layer's output when a key's value is zeroed (Mohebbi et al. 2023)",
    rows_sum_to_one=True,
    reads_weights=True,
    residual=True,
    noise=2e-4,  # at most 7.8e-5 over 70,000 values close to the best of their row or column
)
def value_zeroing(layer: Layer) -> Float[Tensor, "batch 1 n n"]:
    """``1 − cos(x'_i, x'_i without v_j)``, with v_j zeroed in all heads and the residual kept; rows sum to 1.

    The distance is computed as half the squared distance of the unit vectors, which equals it. Most cosines differ from
    1 by little more than the rounding of float32, so that ``1 − cos`` would keep hardly a correct digit.
    """
    weights = layer.weights
    projections = [weights.w_o, *weights.to_units()]
    distances = layer.new_map()
    for b, sentence in enumerate(layer.sentences()):
        p, output = sentence.p[0], functional.normalize(sentence.output[0], dim=-1)
        normed = weights.norm.linear(p)
        from_p = [normed @ w for w, _ in weights.ff_in]
        constant = [weights.norm.beta @ w + bias for w, bias in weights.ff_in]
        for block in contribution_blocks(sentence, projections):
            removed, *from_removed = block.vectors
            rest = p[block.queries] - removed
            # The layer norm before W_1 is linear except for its division, so its linear part has been applied already,
            # to the whole sum and to the removed part; only the division by the deviation of the rest is left to do.
            scale = 1 / weights.norm.deviation(rest)
            u = tuple(
                (whole[block.queries] - part).mul_(scale).add_(bias)
                for whole, part, bias in zip(from_p, from_removed, constant, strict=True)
            )
            around = rest if weights.pre_norm else weights.norm(rest)
            without = weights.feed_forward(u).add_(around)
            if weights.norm_out is not None:
                without = weights.norm_out(without)
            # Where a query does not attend to a key at all (in causal models), the distance is rounding noise.
            attended = sentence.alpha[0, :, block.queries, block.keys].amax(0) > 0
            change = functional.normalize(without, dim=-1).sub_(output[block.queries])
            distances[b, 0, block.queries, block.keys] = change.square_().sum(-1).T / 2 * attended
    return distributions(distances)

#pragma once

#include <span>

#include "models/program.hpp"
#include "runtime/kernels/operands.hpp"

/// Softmax attention, bidirectional, per image and head, on timm's fused qkv
/// [batch, tokens, 3, heads, head_dimension]. Scores are scaled by 1 / √head_dimension.
namespace paceline::runtime::kernels {

/// P = softmax of the rows of scale · Q·Kᵀ, kept in probabilities[batch, heads, tokens, tokens];
/// out[batch, tokens, heads, head_dimension] = P·V.
template <class Scalar>
void attention(const models::AttentionShape& shape, std::span<const Scalar> qkv,
               std::span<Scalar> out, std::span<Scalar> probabilities, models::WorkCount& count);

/// dV = Pᵀ·dO, dP = dO·Vᵀ, dS = scale · P ∘ (dP - row sums of P ∘ dP), dQ = dS·K, dK = dSᵀ·Q.
/// `workspace` [tokens²] holds dP and dS of one head; it is not counted, since it stays in the
/// cache. With several threads the first one uses it and each other allocates its own.
template <class Scalar>
void attention_gradient(const models::AttentionShape& shape, std::span<const Scalar> d_out,
                        std::span<const Scalar> qkv, std::span<const Scalar> probabilities,
                        std::span<Scalar> d_qkv, std::span<Scalar> workspace,
                        models::WorkCount& count);

}  // namespace paceline::runtime::kernels

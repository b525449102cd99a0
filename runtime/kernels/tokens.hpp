#pragma once

#include <span>

#include "models/program.hpp"
#include "runtime/kernels/operands.hpp"

/// Rearranging images into tokens and tokens into the class token. Row 0 of an image's tokens is
/// its class token, where the model has one; a model without one has a patch in each row.
namespace paceline::runtime::kernels {

/// patches[image, row of patches, column of patches][channel, y, x] = images[image, channel, …].
template <class Scalar>
void patchify(const models::PatchShape& shape, std::span<const Scalar> images,
              std::span<Scalar> patches, models::WorkCount& count);

/// x[image, 0] = cls_token + pos_embed[0]; x[image, 1 + p] = patch_tokens[image, p] +
/// pos_embed[1 + p]. With an empty `cls_token` x[image, p] = patch_tokens[image, p] + pos_embed[p].
template <class Scalar>
void embed_tokens(const models::TokensShape& shape, std::span<const Scalar> patch_tokens,
                  std::span<const Scalar> cls_token, std::span<const Scalar> pos_embed,
                  std::span<Scalar> x, models::WorkCount& count);

/// `write` applies to the parameters' gradients, never to d_patch_tokens. `d_cls_token` is empty
/// where the model has none.
template <class Scalar>
void embed_tokens_gradient(const models::TokensShape& shape, std::span<const Scalar> dx,
                           std::span<Scalar> d_patch_tokens, std::span<Scalar> d_cls_token,
                           std::span<Scalar> d_pos_embed, Write write, models::WorkCount& count);

/// rows[image] = x[image, 0]. Only these rows count as read.
template <class Scalar>
void select_class_token(const models::TokensShape& shape, std::span<const Scalar> x,
                        std::span<Scalar> rows, models::WorkCount& count);

/// dx[image, 0] = d_rows[image], zero elsewhere.
template <class Scalar>
void select_class_token_gradient(const models::TokensShape& shape, std::span<const Scalar> d_rows,
                                 std::span<Scalar> dx, models::WorkCount& count);

/// rows[image] = mean over tokens of x[image].
template <class Scalar>
void mean_pool(const models::TokensShape& shape, std::span<const Scalar> x, std::span<Scalar> rows,
               models::WorkCount& count);

/// dx[image, token] = d_rows[image] / tokens.
template <class Scalar>
void mean_pool_gradient(const models::TokensShape& shape, std::span<const Scalar> d_rows,
                        std::span<Scalar> dx, models::WorkCount& count);

}  // namespace paceline::runtime::kernels

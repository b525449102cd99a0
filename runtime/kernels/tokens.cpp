#include "runtime/kernels/tokens.hpp"

#include <algorithm>

#include "runtime/kernels/blocks.hpp"

namespace paceline::runtime::kernels {
namespace {

template <class Scalar>
void add_rows(const Scalar* a, const Scalar* b, std::int64_t width, Scalar* sum) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) sum[j] = a[j] + b[j];
}

template <class Scalar>
void patchify_image(const models::PatchShape& s, const Scalar* image, Scalar* patches) {
  const std::int64_t side = s.image_size / s.patch_size;
  Scalar* target = patches;
  for (std::int64_t row = 0; row < side; ++row) {
    for (std::int64_t column = 0; column < side; ++column) {
      for (std::int64_t channel = 0; channel < s.channels; ++channel) {
        for (std::int64_t y = 0; y < s.patch_size; ++y) {
          const std::int64_t line = channel * s.image_size + row * s.patch_size + y;
          const Scalar* const source = image + line * s.image_size + column * s.patch_size;
          target = std::copy(source, source + s.patch_size, target);
        }
      }
    }
  }
}

}  // namespace

template <class Scalar>
void patchify(const models::PatchShape& shape, std::span<const Scalar> images,
              std::span<Scalar> patches, models::WorkCount& count) {
  const std::int64_t side = shape.image_size / shape.patch_size;
  const std::int64_t image_values = shape.channels * shape.image_size * shape.image_size;
  const std::int64_t patch_values = shape.channels * shape.patch_size * shape.patch_size;
  require_size("patchify", "images", images, shape.images * image_values);
  require_size("patchify", "patches", patches, shape.images * side * side * patch_values);
  for_each_block(shape.images, rows_per_block(image_values),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t image = begin; image < end; ++image) {
                     patchify_image(shape, images.data() + image * image_values,
                                    patches.data() + image * side * side * patch_values);
                   }
                 });
  ++count.calls;
  count_read(count, images);
  count_written(count, patches);
}

template <class Scalar>
void embed_tokens(const models::TokensShape& shape, std::span<const Scalar> patch_tokens,
                  std::span<const Scalar> cls_token, std::span<const Scalar> pos_embed,
                  std::span<Scalar> x, models::WorkCount& count) {
  const std::int64_t width = shape.width;
  const std::int64_t class_tokens = cls_token.empty() ? 0 : 1;
  const std::int64_t patches = shape.tokens - class_tokens;
  require_size("embed_tokens", "patch_tokens", patch_tokens, shape.images * patches * width);
  require_size("embed_tokens", "cls_token", cls_token, class_tokens * width);
  require_size("embed_tokens", "pos_embed", pos_embed, shape.tokens * width);
  require_size("embed_tokens", "x", x, shape.images * shape.tokens * width);
  const auto embed_image = [&](std::int64_t image) {
    Scalar* const target = x.data() + image * shape.tokens * width;
    const std::int64_t before = class_tokens * width;
    add_rows(cls_token.data(), pos_embed.data(), before, target);
    add_rows(patch_tokens.data() + image * patches * width, pos_embed.data() + before,
             patches * width, target + before);
  };
  for_each_block(shape.images, rows_per_block(shape.tokens * width),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t image = begin; image < end; ++image) embed_image(image);
                 });
  ++count.calls;
  count_read(count, patch_tokens, cls_token, pos_embed);
  count_written(count, x);
}

template <class Scalar>
void embed_tokens_gradient(const models::TokensShape& shape, std::span<const Scalar> dx,
                           std::span<Scalar> d_patch_tokens, std::span<Scalar> d_cls_token,
                           std::span<Scalar> d_pos_embed, Write write, models::WorkCount& count) {
  const std::int64_t width = shape.width;
  const std::int64_t class_tokens = d_cls_token.empty() ? 0 : 1;
  const std::int64_t patches = shape.tokens - class_tokens;
  require_size("embed_tokens_gradient", "dx", dx, shape.images * shape.tokens * width);
  require_size("embed_tokens_gradient", "d_patch_tokens", d_patch_tokens,
               shape.images * patches * width);
  require_size("embed_tokens_gradient", "d_cls_token", d_cls_token, class_tokens * width);
  require_size("embed_tokens_gradient", "d_pos_embed", d_pos_embed, shape.tokens * width);
  if (write == Write::overwrite) {
    std::fill(d_cls_token.begin(), d_cls_token.end(), Scalar(0));
    std::fill(d_pos_embed.begin(), d_pos_embed.end(), Scalar(0));
  }
  // A thread owns a token of all images, so that no two add to one position.
  const auto token_gradient = [&](std::int64_t token) {
    Scalar* const position = d_pos_embed.data() + token * width;
    for (std::int64_t image = 0; image < shape.images; ++image) {
      const Scalar* const source = dx.data() + (image * shape.tokens + token) * width;
      add_rows(source, position, width, position);
      if (token < class_tokens) {
        add_rows(source, d_cls_token.data(), width, d_cls_token.data());
      } else {
        std::copy(source, source + width,
                  d_patch_tokens.data() + (image * patches + token - class_tokens) * width);
      }
    }
  };
  for_each_block(shape.tokens, rows_per_block(shape.images * width),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t token = begin; token < end; ++token) token_gradient(token);
                 });
  ++count.calls;
  count_read(count, dx);
  count_written(count, d_patch_tokens);
  count_updated(count, write, d_cls_token, d_pos_embed);
}

template <class Scalar>
void select_class_token(const models::TokensShape& shape, std::span<const Scalar> x,
                        std::span<Scalar> rows, models::WorkCount& count) {
  require_size("select_class_token", "x", x, shape.images * shape.tokens * shape.width);
  require_size("select_class_token", "rows", rows, shape.images * shape.width);
  for (std::int64_t image = 0; image < shape.images; ++image) {
    const auto row = x.subspan(static_cast<std::size_t>(image * shape.tokens * shape.width),
                               static_cast<std::size_t>(shape.width));
    std::copy(row.begin(), row.end(), rows.data() + image * shape.width);
    count_read(count, row);
  }
  ++count.calls;
  count_written(count, rows);
}

template <class Scalar>
void select_class_token_gradient(const models::TokensShape& shape, std::span<const Scalar> d_rows,
                                 std::span<Scalar> dx, models::WorkCount& count) {
  const std::int64_t image_values = shape.tokens * shape.width;
  require_size("select_class_token_gradient", "d_rows", d_rows, shape.images * shape.width);
  require_size("select_class_token_gradient", "dx", dx, shape.images * image_values);
  const auto place_image = [&](std::int64_t image) {
    const Scalar* const source = d_rows.data() + image * shape.width;
    Scalar* const target = dx.data() + image * image_values;
    std::copy(source, source + shape.width, target);
    std::fill(target + shape.width, target + image_values, Scalar(0));
  };
  for_each_block(shape.images, rows_per_block(image_values),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t image = begin; image < end; ++image) place_image(image);
                 });
  ++count.calls;
  count_read(count, d_rows);
  count_written(count, dx);
}

template <class Scalar>
void mean_pool(const models::TokensShape& shape, std::span<const Scalar> x, std::span<Scalar> rows,
               models::WorkCount& count) {
  const std::int64_t width = shape.width;
  require_size("mean_pool", "x", x, shape.images * shape.tokens * width);
  require_size("mean_pool", "rows", rows, shape.images * width);
  const auto tokens = static_cast<Scalar>(shape.tokens);
  const auto pool_image = [&](std::int64_t image) {
    Scalar* const sum = rows.data() + image * width;
    std::fill(sum, sum + width, Scalar(0));
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
      add_rows(x.data() + (image * shape.tokens + token) * width, sum, width, sum);
    }
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) sum[j] /= tokens;
  };
  for_each_block(shape.images, rows_per_block(shape.tokens * width),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t image = begin; image < end; ++image) pool_image(image);
                 });
  ++count.calls;
  count_read(count, x);
  count_written(count, rows);
}

template <class Scalar>
void mean_pool_gradient(const models::TokensShape& shape, std::span<const Scalar> d_rows,
                        std::span<Scalar> dx, models::WorkCount& count) {
  const std::int64_t width = shape.width;
  require_size("mean_pool_gradient", "d_rows", d_rows, shape.images * width);
  require_size("mean_pool_gradient", "dx", dx, shape.images * shape.tokens * width);
  const auto tokens = static_cast<Scalar>(shape.tokens);
  const auto spread_image = [&](std::int64_t image) {
    const Scalar* const source = d_rows.data() + image * width;
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
      Scalar* const target = dx.data() + (image * shape.tokens + token) * width;
#pragma omp simd
      for (std::int64_t j = 0; j < width; ++j) target[j] = source[j] / tokens;
    }
  };
  for_each_block(shape.images, rows_per_block(shape.tokens * width),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t image = begin; image < end; ++image) spread_image(image);
                 });
  ++count.calls;
  count_read(count, d_rows);
  count_written(count, dx);
}

template decltype(patchify<float>) patchify<float>;
template decltype(patchify<double>) patchify<double>;
template decltype(embed_tokens<float>) embed_tokens<float>;
template decltype(embed_tokens<double>) embed_tokens<double>;
template decltype(embed_tokens_gradient<float>) embed_tokens_gradient<float>;
template decltype(embed_tokens_gradient<double>) embed_tokens_gradient<double>;
template decltype(select_class_token<float>) select_class_token<float>;
template decltype(select_class_token<double>) select_class_token<double>;
template decltype(select_class_token_gradient<float>) select_class_token_gradient<float>;
template decltype(select_class_token_gradient<double>) select_class_token_gradient<double>;
template decltype(mean_pool<float>) mean_pool<float>;
template decltype(mean_pool<double>) mean_pool<double>;
template decltype(mean_pool_gradient<float>) mean_pool_gradient<float>;
template decltype(mean_pool_gradient<double>) mean_pool_gradient<double>;

}  // namespace paceline::runtime::kernels

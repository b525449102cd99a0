#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "core/vocabulary.hpp"

namespace paceline::models {

/// A plain Vision Transformer (Dosovitskiy et al., arXiv 2010.11929) as timm builds it: patch
/// embedding, class token (or none), learned positions, pre-norm blocks, final norm, linear head.
struct VitArchitecture {
  std::string id;
  std::int64_t image_size = 224;  // pixels a side
  std::int64_t patch_size = 16;   // pixels a side
  std::int64_t channels = 3;
  std::int64_t width = 768;  // embedding dimension
  std::int64_t depth = 12;   // blocks
  std::int64_t heads = 12;
  std::int64_t mlp_hidden = 3072;
  std::int64_t classes = 1000;
  /// False: no class token; the head reads the mean of the normalised tokens (timm's
  /// `class_token=False, global_pool="avg", fc_norm=False`).
  bool class_token = true;
  core::GeluForm gelu = core::GeluForm::exact;
  double layer_norm_epsilon = 1e-6;

  [[nodiscard]] std::int64_t patches() const {
    return (image_size / patch_size) * (image_size / patch_size);
  }
  /// Sequence length: patches and the class token.
  [[nodiscard]] std::int64_t tokens() const { return patches() + (class_token ? 1 : 0); }
  [[nodiscard]] std::int64_t patch_values() const { return channels * patch_size * patch_size; }
  [[nodiscard]] std::int64_t head_dimension() const { return width / heads; }
};

/// One trainable tensor, named as in timm's state_dict.
struct ParameterSpec {
  std::string_view role;  // without the "blocks.N." prefix
  int layer = -1;         // block, or -1 outside the blocks
  std::vector<std::int64_t> shape;

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::string name() const;
};

/// All parameters in timm's order of registration, which is the order of the forward pass.
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const VitArchitecture& architecture);

[[nodiscard]] std::int64_t parameter_count(const VitArchitecture& architecture);

/// FLOPs of one forward pass over `images`: products only, attention bidirectional.
/// Fits 64 bits for one image of an architecture without `faults_of`.
/// Source: docs/formulas.md, "FLOPs".
[[nodiscard]] core::Flops forward_flops(const VitArchitecture& architecture, std::int64_t images);

/// Counts stay within 64 bits: most FLOPs of a step, on one rank.
inline constexpr double most_step_flops = 1e18;

/// What is impossible about an architecture, each as "key: problem"; empty if nothing is.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> faults_of(
    const VitArchitecture& architecture);

}  // namespace paceline::models
